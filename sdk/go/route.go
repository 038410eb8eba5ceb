package galley

import (
	"context"
	"iter"
	"net/http"
)

// Route is a pathname of a site that another system serves.
type Route struct {
	ID       string `json:"id"`
	SiteID   string `json:"siteId"`
	Pathname string `json:"pathname"`
}

// RouteCreate describes a new route.
type RouteCreate struct {
	SiteID   string `json:"siteId"`
	Pathname string `json:"pathname"`
}

// RoutePatch changes a route.
type RoutePatch struct {
	Pathname Opt[string] `json:"pathname,omitzero"`
}

// RouteQuery selects routes of a site.
type RouteQuery struct {
	ListOptions
	SiteID string `query:"siteId"`
}

// RouteRef says how to find and check a route. SiteID is needed with a pathname.
type RouteRef struct {
	SiteID         string `query:"siteId"`
	SkipValidation bool   `query:"skipValidation"` // admits a pathname of another system's form
}

// Routes are the external routes of sites.
type Routes struct{ c *Client }

// List returns one page of routes.
func (s *Routes) List(ctx context.Context, query RouteQuery, options ...RequestOption) (List[Route], error) {
	return get[List[Route]](ctx, s.c, "/v2/routes", query, options)
}

// All walks through the whole list.
func (s *Routes) All(ctx context.Context, query RouteQuery, options ...RequestOption) iter.Seq2[Route, error] {
	return walk(query.ListOptions, func(x Route) string { return x.ID }, func(page ListOptions) (List[Route], error) {
		query.ListOptions = page
		return s.List(ctx, query, options...)
	})
}

// Create creates a route.
func (s *Routes) Create(ctx context.Context, body RouteCreate, ref RouteRef, options ...RequestOption) (Route, error) {
	return send[Route](ctx, s.c, http.MethodPost, "/v2/routes", values(ref), body, options)
}

// Get returns a route by its id, or by its pathname and site.
func (s *Routes) Get(ctx context.Context, idOrPathname string, site SiteRef, options ...RequestOption) (Route, error) {
	return get[Route](ctx, s.c, path("v2", "routes", idOrPathname), site, options)
}

// Update changes a route.
func (s *Routes) Update(ctx context.Context, idOrPathname string, ref RouteRef, body RoutePatch, options ...RequestOption) (Route, error) {
	return send[Route](ctx, s.c, http.MethodPatch, path("v2", "routes", idOrPathname), values(ref), body, options)
}

// Delete deletes a route.
func (s *Routes) Delete(ctx context.Context, idOrPathname string, site SiteRef, options ...RequestOption) error {
	return s.c.remove(ctx, path("v2", "routes", idOrPathname), site, options)
}
