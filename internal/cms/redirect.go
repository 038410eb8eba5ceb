package cms

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Redirect leads from a pathname of a site, or from everything below one, to another
// pathname or to a URL. It has a draft and a live version as pages have.
type Redirect struct {
	ID          ID
	SiteID      ID
	Version     Version
	LocaleID    ID // NoID: every locale
	Source      string
	Target      string
	Status      int
	IsAutomatic bool // a publish created it, and it was not edited since
	CreatedAt   time.Time
	UpdatedAt   time.Time
	PublishedAt *time.Time
	DeletedAt   *time.Time
	Since       int64 // live: the number of the publish that stored it
	Dirty       bool  // draft: it may differ from what is live
}

// DefaultRedirectStatus is the status of a redirect that names none.
const DefaultRedirectStatus = http.StatusPermanentRedirect

// RedirectStatuses lists all statuses.
var RedirectStatuses = []int{
	http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
}

// below ends a source that covers everything below a pathname, and a target that
// takes what the star of the source stands for.
const below = "/*"

// Below is the source that covers everything below a pathname.
func Below(pathname string) string { return strings.TrimSuffix(pathname, "/") + below }

// IsWild reports whether the redirect covers everything below a pathname.
func (r Redirect) IsWild() bool { return strings.HasSuffix(r.Source, below) }

// base is the pathname of the source, without the star.
func (r Redirect) base() string {
	if !r.IsWild() {
		return r.Source
	}
	return rooted(strings.TrimSuffix(r.Source, below))
}

// rooted is a path that is not empty.
func rooted(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// hasScheme matches what a URL parser reads as an absolute address.
var hasScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

var errStar = errors.New("may have a * only as its whole last segment")

// ParseSource reads the source of a redirect.
func ParseSource(s string) (string, error) {
	source, err := ParsePathname(s)
	if err == nil && strings.Contains(strings.TrimSuffix(source, below), "*") {
		err = errStar
	}
	return source, err
}

// ParseTarget reads the target of a redirect: a pathname, or an absolute http or https
// URL.
func ParseTarget(s string) (string, error) {
	if !hasScheme.MatchString(s) {
		return ParseSource(s)
	}
	_, path, _, err := SplitURL(s)
	switch {
	case err != nil:
		return "", errors.New("must be a pathname or an absolute http or https URL")
	case strings.Contains(s, `\`):
		return "", errors.New("must not have a backslash")
	case strings.Contains(strings.TrimSuffix(path, below), "*"):
		return "", errStar
	}
	return s, nil
}

// isAbsolute reports whether a target is a URL.
func isAbsolute(target string) bool { return !strings.HasPrefix(target, "/") }

// takesStar reports whether a target takes what the star of the source stands for.
func takesStar(target string) bool {
	if isAbsolute(target) {
		_, path, _, err := SplitURL(target)
		return err == nil && strings.HasSuffix(path, below)
	}
	return strings.HasSuffix(target, below)
}

// IsBelow reports whether the source is below a pathname, but not all of it.
func (r Redirect) IsBelow(pathname string) bool {
	return strings.HasPrefix(r.Source, strings.TrimSuffix(pathname, "/")+"/") && r.Source != Below(pathname) && r.Source != pathname
}

// Check returns what is wrong with the values together.
func (r Redirect) Check() error {
	if takesStar(r.Target) && !r.IsWild() {
		return BadField("target", "may end in /* only if the source does")
	}
	return nil
}

// Matches reports whether a redirect covers a pathname.
func (r Redirect) Matches(pathname string) bool {
	if !r.IsWild() {
		return r.Source == pathname
	}
	return strings.HasPrefix(pathname, strings.TrimSuffix(r.Source, "*")) && len(pathname) > len(r.Source)-1
}

// Expand returns the target for a pathname that the redirect covers, with the star
// filled in. A URL is percent-encoded, and a pathname is not.
func (r Redirect) Expand(pathname string) string {
	if !takesStar(r.Target) {
		return r.Target
	}
	rest := strings.TrimPrefix(pathname, strings.TrimSuffix(r.Source, below))
	if !isAbsolute(r.Target) {
		return strings.TrimSuffix(r.Target, below) + rest
	}
	before, after, _ := strings.Cut(r.Target, below) // its only star in the path
	return before + EscapePath(rest) + after
}

// SourcesFor are the sources of all redirects that cover a pathname, the first one
// to apply first: the pathname itself, then the longer star before the shorter.
func SourcesFor(pathname string) []string {
	sources := []string{pathname}
	for path := pathname; path != "/"; {
		path = rooted(path[:strings.LastIndexByte(path, '/')])
		sources = append(sources, Below(path))
	}
	return sources
}

// ActingRedirect returns the redirect that acts on a pathname in a locale. found are
// those with any of SourcesFor the pathname.
func ActingRedirect(found []Redirect, pathname string, localeID ID) (acting Redirect, ok bool) {
	bySource := map[string][]Redirect{}
	for _, r := range found {
		bySource[r.Source] = append(bySource[r.Source], r)
	}
	return firstActing(bySource, SourcesFor(pathname), localeID)
}

// firstActing finds the first source with a redirect that acts in a locale: the
// locale's own before that of every locale.
func firstActing(bySource map[string][]Redirect, sources []string, localeID ID) (Redirect, bool) {
	for _, source := range sources {
		for _, locale := range []ID{localeID, NoID} {
			if i := slices.IndexFunc(bySource[source], func(r Redirect) bool { return r.LocaleID == locale }); i >= 0 {
				return bySource[source][i], true
			}
		}
	}
	return Redirect{}, false
}

// Claims are the pathnames that a redirect holds: its source, if it is exact. Deleted
// redirects and those of hidden locales hold none.
func (r Redirect) Claims(locales Locales) []Claim {
	if r.ID == NoID || r.DeletedAt != nil || r.IsWild() || !locales.Shows(r.LocaleID) {
		return nil
	}
	return []Claim{{Version: r.Version, LocaleID: r.LocaleID, Pathname: r.Source, Owner: r.ID, ByRedirect: true}}
}

// SameContent reports whether two states of a redirect have the same values.
func (r Redirect) SameContent(o Redirect) bool {
	return r.LocaleID == o.LocaleID && r.Source == o.Source && r.Target == o.Target && r.Status == o.Status && r.IsAutomatic == o.IsAutomatic
}

// RedirectChange takes a redirect of the live version from one state to another. Nil is
// one that does not exist.
type RedirectChange struct{ Before, After *Redirect }

// ID is the redirect's.
func (c RedirectChange) ID() ID {
	if c.Before != nil {
		return c.Before.ID
	}
	return c.After.ID
}

// RedirectPatch changes a redirect. A null locale is every locale.
type RedirectPatch struct {
	Source Opt[string]
	Target Opt[string]
	Status Opt[int]
	Locale Opt[*string] // code or id
}

// Clean normalizes the values and notes what is wrong with them.
func (c *RedirectPatch) Clean(p *Problems) {
	clean(p, "source", &c.Source, ParseSource)
	clean(p, "target", &c.Target, ParseTarget)
	check(p, "status", c.Status, func(status int) error {
		if !slices.Contains(RedirectStatuses, status) {
			return errors.New("must be one of 301, 302, 307, 308")
		}
		return nil
	})
	check(p, "locale", c.Locale, func(locale *string) error {
		if locale == nil {
			return nil
		}
		return checkLocaleRef(*locale)
	})
}

// Apply returns the redirect as the patch leaves it: one that it changes is no longer
// automatic. localeID is that of the patch, if it has a locale.
func (c RedirectPatch) Apply(r Redirect, localeID ID) Redirect {
	before := r
	c.Source.ApplyTo(&r.Source)
	c.Target.ApplyTo(&r.Target)
	c.Status.ApplyTo(&r.Status)
	if c.Locale.Set {
		r.LocaleID = localeID
	}
	if !r.SameContent(before) {
		r.IsAutomatic = false
	}
	return r
}

// NewRedirect is what a redirect is created from.
type NewRedirect struct {
	SiteID Opt[ID]
	RedirectPatch
}

// Clean normalizes the values and notes what is wrong with them.
func (n *NewRedirect) Clean(p *Problems) {
	required(p, "siteId", n.SiteID)
	n.cleanNew(p)
}

// cleanNew is Clean for the values of a new redirect.
func (c *RedirectPatch) cleanNew(p *Problems) {
	required(p, "source", c.Source)
	required(p, "target", c.Target)
	c.Clean(p)
	if !p.Has("source") && !p.Has("target") {
		check(p, "target", c.Target, func(target string) error {
			if takesStar(target) && !strings.HasSuffix(c.Source.Value, below) {
				return errors.New("may end in /* only if the source does")
			}
			return nil
		})
	}
}

// RedirectQuery asks for one page of a list of redirects, which is ordered by source.
type RedirectQuery struct {
	SiteID       ID
	Version      Version
	LocaleIDs    []ID // nil: all
	SourcePrefix string
	Under        string // only sources at and below this pathname, by segments; "": all
	Deleted      bool   // the deleted ones of the draft instead
	After        *PagePosition
	Limit        int
}

// Position is the position of a redirect in a list.
func (r Redirect) Position() PagePosition { return PagePosition{SortKey{Text: r.Source}, r.ID} }
