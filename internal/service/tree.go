package service

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"galley/internal/cms"
)

// PathSegment is a pathname one segment below another, at which there is a page or a
// route, or below which there are some.
type PathSegment struct {
	Pathname string
	Page     *PageView
	RouteID  cms.ID // NoID: none
	Count    int    // of pages and routes below, up to MaxCount
}

// MaxCount is the largest number that counts of the tree reach.
const MaxCount = 1000

// ReadTree asks for the segments below a pathname.
type ReadTree struct {
	SiteID  cms.ID
	Under   string
	Version VersionRef
	Locale  string // id or code; "" is the default locale
	After   string // the cursor, a pathname; "": none
	Limit   int
}

// Tree lists the next segments below a pathname, in the order of their pathnames. It
// reads the index of pathnames once or a few times for each of them, and skips what
// is below.
func (s *Service) Tree(ctx context.Context, who Caller, ask ReadTree) (cms.List[PathSegment], error) {
	return viewSite(ctx, s, who, ofSite(ask.SiteID), func(ctx context.Context, r cms.Reader, f siteSnapshot) (list cms.List[PathSegment], err error) {
		version, err := f.version(ctx, r, who, ask.Version)
		if err != nil {
			return list, err
		}
		lv, err := f.in(ask.Locale)
		if err == nil {
			err = who.maySee(ask.Under)
		}
		if err != nil {
			return list, err
		}
		t := tree{Reader: r, f: f, lv: lv, base: strings.TrimSuffix(ask.Under, "/") + "/"}
		t.query = cms.PageQuery{SiteID: ask.SiteID, Version: version, LocaleID: lv.localeID, Sort: cms.SortPath, IncludeOffline: true, PathPrefix: t.base}
		if err := t.readRoutes(ctx); err != nil {
			return list, err
		}
		segments, err := t.segments(ctx, ask.After, ask.Limit)
		return cms.CutList(segments, ask.Limit), err
	})
}

// tree finds pathnames of a version in a locale.
type tree struct {
	cms.Reader
	f      siteSnapshot
	lv     localeView
	query  cms.PageQuery
	base   string // with a slash at its end
	routes []cms.Route
}

// readRoutes reads the routes of the site, which are few, in the order of their
// pathnames.
func (t *tree) readRoutes(ctx context.Context) error {
	for after := cms.NoID; ; {
		routes, err := t.Routes(ctx, t.query.SiteID, cmp.Or(strings.TrimSuffix(t.base, "/"), "/"), cms.ListQuery{After: after, Limit: dirtyChunk})
		for _, route := range routes {
			if strings.HasPrefix(route.Pathname, t.base) {
				t.routes = append(t.routes, route)
			}
		}
		if err != nil || len(routes) <= dirtyChunk {
			slices.SortFunc(t.routes, func(a, b cms.Route) int { return strings.Compare(a.Pathname, b.Pathname) })
			return err
		}
		after = routes[len(routes)-1].ID
	}
}

// found is the first pathname after a place, with what is there.
type found struct {
	pathname string
	page     *cms.ListedPage
	route    cms.ID
}

// next finds the first pathname after one, or from one on; "" if there is none.
func (t *tree) next(ctx context.Context, after string, inclusive bool) (at found, err error) {
	q := t.query
	q.After = &cms.PagePosition{Key: cms.SortKey{Text: after}, ID: cms.LastID}
	if inclusive {
		q.After.ID = cms.NoID
	}
	pages, err := t.Pages(ctx, q, false)
	if err != nil {
		return at, err
	}
	if len(pages) > 0 {
		at = found{pathname: pages[0].Values.Pathname, page: &pages[0]}
	}
	i, exact := t.routeFrom(after)
	if exact && !inclusive {
		i++
	}
	if i < len(t.routes) && (at.pathname == "" || t.routes[i].Pathname <= at.pathname) {
		if t.routes[i].Pathname < at.pathname {
			at.page = nil
		}
		at.pathname, at.route = t.routes[i].Pathname, t.routes[i].ID
	}
	return at, nil
}

func (t *tree) routeFrom(pathname string) (int, bool) {
	return slices.BinarySearchFunc(t.routes, pathname, func(r cms.Route, p string) int { return strings.Compare(r.Pathname, p) })
}

// segments lists one segment more than the limit after the cursor.
func (t *tree) segments(ctx context.Context, after string, limit int) ([]PathSegment, error) {
	var segments []PathSegment
	last := max(after, t.base) // the page at the base itself is not below it
	from, inclusive := last, false
	for len(segments) <= limit {
		at, err := t.next(ctx, from, inclusive)
		if err != nil || at.pathname == "" {
			return segments, err
		}
		name, _, _ := strings.Cut(at.pathname[len(t.base):], "/")
		pathname := t.base + name
		if pathname <= last { // it is below one that was listed, after others like it with - or .
			from, inclusive = pathname+afterSlash, true
			continue
		}
		if pathname, err = t.shortest(ctx, pathname, last); err != nil {
			return nil, err
		}
		segment, err := t.segment(ctx, pathname, at)
		if err != nil {
			return nil, err
		}
		segments = append(segments, segment)
		last, from, inclusive = pathname, pathname, false
	}
	return segments, nil
}

// afterSlash follows the slash: a pathname with it comes after all that are below the
// pathname.
const afterSlash = "0"

// shortest returns the first of the segments after last that are the beginning of
// one. It sorts before the whole, though what is below it comes after: /a-b is
// between /a and /a/x.
func (t *tree) shortest(ctx context.Context, pathname, last string) (string, error) {
	for i := len(t.base) + 1; i < len(pathname); i++ {
		if pathname[i] >= '/' || pathname[:i] <= last {
			continue
		}
		if n, err := t.countBelow(ctx, pathname[:i], 1); err != nil || n > 0 {
			return pathname[:i], err
		}
	}
	return pathname, nil
}

func (t *tree) segment(ctx context.Context, pathname string, at found) (segment PathSegment, err error) {
	segment.Pathname = pathname
	if at.pathname == pathname && at.page != nil {
		statuses, err := t.lv.statuses(ctx, t, t.query, []cms.ListedPage{*at.page})
		if err != nil {
			return segment, err
		}
		segment.Page = new(t.lv.viewRow(at.page.PageRow, nil))
		segment.Page.Status = statuses[at.page.ID]
	}
	if at.pathname == pathname {
		segment.RouteID = at.route
	}
	segment.Count, err = t.countBelow(ctx, pathname, MaxCount)
	return segment, err
}

// countBelow counts the pages and routes below a pathname, up to a number.
func (t *tree) countBelow(ctx context.Context, pathname string, most int) (int, error) {
	first, _ := t.routeFrom(pathname + "/")
	end, _ := t.routeFrom(pathname + afterSlash)
	q := t.query
	q.PathPrefix, q.Limit = pathname+"/", most-1
	pages, err := t.CountPaths(ctx, q)
	return min(pages+end-first, most), err
}
