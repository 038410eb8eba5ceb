package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"galley/internal/cms"
)

// ResolutionKind is what a visitor of a URL gets.
type ResolutionKind string

// The kinds of resolutions.
const (
	ResolvedPage     ResolutionKind = "page"
	ResolvedRedirect ResolutionKind = "redirect"
	ResolvedRoute    ResolutionKind = "route"
	ResolvedNone     ResolutionKind = "none"
)

// ResolutionKinds lists all kinds.
var ResolutionKinds = []ResolutionKind{ResolvedPage, ResolvedRedirect, ResolvedRoute, ResolvedNone}

// Resolution is what a visitor of a URL gets, and why.
type Resolution struct {
	Kind       ResolutionKind
	SiteID     cms.ID
	Locale     string // the code; "": none is served at the URL
	Pathname   string // without prefix
	Page       *PageView
	Route      *cms.Route
	Redirect   *RedirectTarget
	URL        *string // the page's own
	Alternates []Alternate
	Steps      []ResolutionStep

	// About are the subjects of the resolution.
	About []cms.Subject
}

// RedirectTarget is where redirects lead: the id and status of the first, and the target of
// the last, with star and query filled in.
type RedirectTarget struct {
	ID     cms.ID
	Status int
	Target string
	URL    *string // nil: the site has no origin
}

// Alternate is the URL of a page in one locale, or x-default.
type Alternate struct{ Locale, URL string }

// ResolutionStep is a rule that had a part in a resolution.
type ResolutionStep struct{ Rule, Detail string }

func (res *Resolution) step(rule, format string, args ...any) {
	res.Steps = append(res.Steps, ResolutionStep{rule, fmt.Sprintf(format, args...)})
}

// ReadURL asks what a URL leads to.
type ReadURL struct {
	URL     string // absolute, or a path and query of the site
	SiteID  cms.ID // NoID: the site is found by the origin
	Version VersionRef
	Content bool // whether to read the content of the page, too
}

// address is a URL of a site.
type address struct{ origin, path, query string }

var errRelativeURL = cms.BadField("url", "must be an absolute http or https URL, or a path with siteId")

// parse splits the URL. The origin of a path is the site's.
func (q ReadURL) parse() (at address, absolute bool, err error) {
	if q.SiteID != cms.NoID && strings.HasPrefix(q.URL, "/") {
		path, _, _ := strings.Cut(q.URL, "#")
		at.path, at.query, _ = strings.Cut(path, "?")
		return at, false, nil
	}
	if at.origin, at.path, at.query, err = cms.SplitURL(q.URL); err != nil {
		return at, false, errRelativeURL
	}
	return at, true, nil
}

// Resolve returns what a visitor of a URL gets.
func (s *Service) Resolve(ctx context.Context, who Caller, q ReadURL) (Resolution, error) {
	at, absolute, err := q.parse()
	if err != nil {
		return Resolution{}, err
	}
	var about []cms.Subject
	if q.SiteID == cms.NoID {
		about = []cms.Subject{{ID: who.WorkspaceID()}}
		if q.SiteID, err = s.siteAt(ctx, who, at.origin); err != nil {
			return Resolution{}, err
		}
	}
	res, err := viewSite(ctx, s, who, ofSite(q.SiteID), func(ctx context.Context, r cms.Reader, f siteSnapshot) (none Resolution, err error) {
		version, err := f.version(ctx, r, who, q.Version)
		if err != nil {
			return none, err
		}
		switch {
		case !absolute && f.site.HostOrigin != nil:
			at.origin = *f.site.HostOrigin
		case absolute && !slices.Contains(f.locales.Origins(f.site), at.origin):
			return none, cms.NotFound(cms.KindSite)
		}
		res, err := f.resolve(ctx, r, who, version, at)
		if err == nil && q.Content && res.Page != nil {
			err = res.Page.readContent(ctx, r)
		}
		return res, err
	})
	res.About = append(cms.SubjectsOf(q.SiteID, q.Version.Version), about...)
	return res, err
}

// siteAt finds the one site with an origin that the caller may reach.
func (s *Service) siteAt(ctx context.Context, who Caller, origin string) (cms.ID, error) {
	ids, err := s.store.SitesByOrigin(ctx, who.WorkspaceID(), who.SiteIDs(), origin)
	switch {
	case err != nil:
		return cms.NoID, err
	case len(ids) == 0:
		return cms.NoID, cms.NotFound(cms.KindSite)
	case len(ids) > 1:
		return cms.NoID, cms.Conflict("Several sites have this origin, pass siteId")
	}
	return ids[0], nil
}

// resolve finds what an address of the site leads to in a version.
func (f siteSnapshot) resolve(ctx context.Context, r cms.Reader, who Caller, version cms.Version, at address) (Resolution, error) {
	res := Resolution{Kind: ResolvedNone, SiteID: f.site.ID, Alternates: []Alternate{}, Steps: []ResolutionStep{}}
	found, ok := f.locales.Locate(f.site, at.origin, at.path)
	if err := who.maySee(found.Pathname); err != nil {
		return res, err
	}
	if !ok {
		res.step("locale", "No locale of the site is served at this address")
		return res, nil
	}
	res.Locale, res.Pathname = found.Locale.Code, found.Pathname
	if place := f.site.Place(found.Locale); place.Prefix != "" {
		res.step("locale", "The path prefix %s is that of the locale %s", place.Prefix, found.Locale.Code)
	} else {
		res.step("locale", "The locale %s is served at the root of this origin", found.Locale.Code)
	}
	if found.Shadowed != nil {
		res.step("shadow", "The longer prefix wins: a page of the locale %s at this address is not reachable", found.Shadowed.Code)
	}
	if done, err := f.resolvePage(ctx, r, version, found, &res); done || err != nil {
		return res, err
	}
	if err := f.resolveRedirect(ctx, r, version, found, at.query, &res); res.Redirect != nil || err != nil {
		return res, err
	}
	res.step("none", "No page, route or redirect of the locale %s has the pathname %s", found.Locale.Code, found.Pathname)
	return res, nil
}

// resolvePage finds the page or route that holds the pathname, if any.
func (f siteSnapshot) resolvePage(ctx context.Context, r cms.Reader, version cms.Version, at cms.Located, res *Resolution) (bool, error) {
	lv, err := f.find(at.Locale.ID.String())
	if err != nil {
		return false, err
	}
	id, err := findPage(ctx, r, f.site, lv, version, Ref{Name: at.Pathname})
	switch {
	case cms.CodeOf(err) == cms.CodeNotFound:
		return f.resolveRoute(ctx, r, at, res)
	case err != nil:
		return false, err
	}
	page, err := r.Page(ctx, f.site.ID, version, id)
	if err != nil {
		return false, err
	}
	status, err := statusOf(ctx, r, page, true, f.locales)
	if err != nil {
		return false, err
	}
	if !page.In(lv.localeID).Values.IsOnline {
		res.step("page", "The page %s has this pathname and is offline", page.ID)
		return true, nil
	}
	res.step("page", "The page %s has this pathname", page.ID)
	res.Kind, res.Page = ResolvedPage, new(lv.view(page))
	res.Page.Status = status
	if own, ok := f.site.URL(at.Locale, at.Pathname); ok {
		res.URL = &own
	}
	res.Alternates = f.alternates(page)
	return true, nil
}

func (f siteSnapshot) resolveRoute(ctx context.Context, r cms.Reader, at cms.Located, res *Resolution) (bool, error) {
	claims, err := r.Claims(ctx, f.site.ID, cms.Live, []string{at.Pathname}) // routes have no versions
	i := slices.IndexFunc(claims, func(c cms.Claim) bool { return c.ByRoute })
	if err != nil || i < 0 {
		return false, err
	}
	route, err := r.Route(ctx, f.site.ID, claims[i].Owner)
	res.Kind, res.Route = ResolvedRoute, &route
	res.step("route", "The route %s has this pathname", route.ID)
	return true, err
}

// resolveRedirect follows redirects from a pathname, if there are any.
func (f siteSnapshot) resolveRedirect(ctx context.Context, r cms.Reader, version cms.Version, at cms.Located, query string, res *Resolution) error {
	type place struct {
		localeID cms.ID
		pathname string
	}
	for seen := map[place]bool{}; ; {
		here := place{at.Locale.ID, at.Pathname}
		if seen[here] {
			// Circles are refused, but for those of earlier versions with the origins of
			// today.
			res.step("none", "Following redirects comes round again")
			res.Kind, res.Redirect = ResolvedNone, nil
			return nil
		}
		seen[here] = true
		found, err := r.RedirectsFrom(ctx, f.site.ID, version, cms.SourcesFor(at.Pathname))
		if err != nil {
			return err
		}
		acting, ok := cms.ActingRedirect(found, at.Pathname, at.Locale.ID)
		if !ok {
			return nil
		}
		res.step("redirect", "The redirect %s leads from %s to %s", acting.ID, acting.Source, acting.Target)
		if res.Redirect == nil {
			res.Kind, res.Redirect = ResolvedRedirect, &RedirectTarget{ID: acting.ID, Status: acting.Status}
		}
		var inside bool
		if at, query, inside = f.follow(acting.Expand(at.Pathname), at, query, res.Redirect); !inside {
			return nil
		}
		if held, err := f.holds(ctx, r, version, at); held || err != nil {
			return err
		}
	}
}

// follow sets the target of a redirect, and returns the place and query that it leads to,
// if that is inside of the site.
func (f siteSnapshot) follow(target string, at cms.Located, query string, to *RedirectTarget) (next cms.Located, carried string, inside bool) {
	if strings.HasPrefix(target, "/") {
		at.Pathname = target
		to.Target, to.URL = cms.WithQuery(target, query), nil
		if url, ok := f.site.URL(at.Locale, target); ok {
			to.URL = new(cms.WithQuery(url, query))
		}
		return at, query, true
	}
	to.Target = cms.WithQuery(target, query)
	to.URL = &to.Target
	return f.locales.FollowURL(f.site, to.Target)
}

// holds reports whether a page or route has a pathname.
func (f siteSnapshot) holds(ctx context.Context, r cms.Reader, version cms.Version, at cms.Located) (bool, error) {
	var ignored Resolution
	return f.resolvePage(ctx, r, version, at, &ignored)
}

// alternates are the URLs of a page in every locale in which it is online, by
// locale, and x-default if it is online in the default one.
func (f siteSnapshot) alternates(page cms.Page) []Alternate {
	alternates := []Alternate{}
	for _, l := range f.locales {
		row := page.In(l.ID)
		url, ok := f.site.URL(l, row.Values.Pathname)
		if l.DeletedAt != nil || !row.Values.IsOnline || !ok {
			continue
		}
		alternates = append(alternates, Alternate{l.Code, url})
		if l.ID == f.site.DefaultLocaleID {
			alternates = append(alternates, Alternate{"x-default", url})
		}
	}
	slices.SortFunc(alternates, func(a, b Alternate) int { return strings.Compare(a.Locale, b.Locale) })
	return alternates
}
