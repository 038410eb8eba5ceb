package httpapi

import (
	"strings"

	"galley/internal/cms"
	"galley/internal/service"
)

// PathSegment is a pathname one segment below another.
type PathSegment struct {
	Object      string       `json:"object" enum:"pathSegment" doc:"Always pathSegment."`
	Pathname    string       `json:"pathname" doc:"The pathname; also the cursor." example:"/blog"`
	Page        *SegmentPage `json:"page" doc:"The page at the pathname."`
	RouteID     *cms.ID      `json:"routeId" doc:"The route at the pathname."`
	HasChildren bool         `json:"hasChildren" doc:"Whether there are pages or routes below." example:"true"`
	Count       int          `json:"count" doc:"How many pages and routes are below, offline ones too, up to 1,000." example:"12"`
}

// SegmentPage is a page of the tree.
type SegmentPage struct {
	ID       cms.ID          `json:"id" doc:"Identifier of the page."`
	Title    *string         `json:"title" doc:"Page title." example:"Blog"`
	Status   *cms.PageStatus `json:"status" doc:"How the draft compares with what is live; null in other versions."`
	IsOnline bool            `json:"isOnline" doc:"Whether the page is online." example:"true"`

	UpdatedAt timestamp `json:"updatedAt" doc:"Last update time."`
	Overrides []string  `json:"overrides,omitzero" doc:"In a locale other than the default: the fields that are its own." example:"[\"title\"]"`
}

func newPathSegment(s service.PathSegment) PathSegment {
	w := PathSegment{Object: "pathSegment", Pathname: s.Pathname, RouteID: nullID(s.RouteID), HasChildren: s.Count > 0, Count: s.Count}
	if s.Page != nil {
		page := newPage(*s.Page)
		w.Page = &SegmentPage{ID: page.ID, Title: page.Title, IsOnline: page.IsOnline, UpdatedAt: page.UpdatedAt, Overrides: page.Overrides}
		if page.Status != "" {
			w.Page.Status = &page.Status
		}
	}
	return w
}

// parseUnder reads the pathname below which segments are listed.
func parseUnder(q *query, v string) string {
	pathname, err := cms.ParsePathname(v)
	if err != nil {
		return err.Error()
	}
	q.under = pathname
	return ""
}

// parseSegment reads the cursor of a tree. Which pathname it is below is known when
// all parameters are.
func parseSegment(q *query, v string) string {
	if !strings.HasPrefix(v, "/") || strings.ContainsRune(v, 0) {
		return cms.ErrCursor.Details[0].Message
	}
	q.segment = v
	return ""
}

// segmentBelow reports whether a cursor is one segment below a pathname.
func segmentBelow(segment, under string) bool {
	rest, ok := strings.CutPrefix(segment, strings.TrimSuffix(under, "/")+"/")
	return ok && rest != "" && !strings.Contains(rest, "/")
}

func (a *API) getTree(r *request) (response, error) {
	q := r.query
	list, err := a.svc.Tree(r.Context(), r.who, service.ReadTree{
		SiteID: r.site, Under: q.under, Version: q.version, Locale: q.locale, After: q.segment, Limit: q.list.Limit,
	})
	return ok(newList(list, newPathSegment)), err
}
