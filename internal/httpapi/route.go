package httpapi

import "galley/internal/cms"

// Route is a pathname that another system serves.
type Route struct {
	Object   string `json:"object" enum:"route" doc:"Always route."`
	ID       cms.ID `json:"id" doc:"Identifier of the route."`
	SiteID   cms.ID `json:"siteId" doc:"The site that the route belongs to."`
	Pathname string `json:"pathname" minLength:"1" doc:"The pathname that another system serves." example:"/checkout"`
}

func newRoute(r cms.Route) Route {
	return Route{Object: "route", ID: r.ID, SiteID: r.SiteID, Pathname: r.Pathname}
}

// RouteCreate is the body that creates a route.
type RouteCreate struct {
	SiteID   cms.Opt[cms.ID] `json:"siteId" required:"true" doc:"The site that the route belongs to."`
	Pathname cms.Opt[string] `json:"pathname" required:"true" minLength:"1" doc:"The pathname that another system serves." example:"/checkout"`
}

// RoutePatch is the body that changes a route.
type RoutePatch struct {
	Pathname cms.Opt[string] `json:"pathname" minLength:"1" doc:"The pathname that another system serves." example:"/checkout"`
}

const routeValue = "routeIdOrPathname"

func (a *API) listRoutes(r *request) (response, error) {
	list, err := a.svc.Routes(r.Context(), r.who, r.query.siteID, r.query.list)
	return ok(newList(list, newRoute)).of(r.query.siteID), err
}

func (a *API) createRoute(r *request) (response, error) {
	route, err := a.svc.CreateRoute(r.Context(), r.who, input(r, func(b RouteCreate, p *cms.Problems) cms.NewRoute {
		n := cms.NewRoute{SiteID: b.SiteID, RoutePatch: cms.RoutePatch{Pathname: b.Pathname}}
		n.Clean(p, r.query.skipValidation)
		return n
	}))
	return created("/v2/routes/"+route.ID.String(), newRoute(route)), err
}

func (a *API) getRoute(r *request) (response, error) {
	route, err := a.svc.Route(r.Context(), r.who, r.ref(routeValue))
	return ok(newRoute(route)).of(route.SiteID), err
}

func (a *API) updateRoute(r *request) (response, error) {
	route, err := a.svc.UpdateRoute(r.Context(), r.who, r.ref(routeValue), input(r, func(b RoutePatch, p *cms.Problems) cms.RoutePatch {
		c := cms.RoutePatch(b)
		c.Clean(p, r.query.skipValidation)
		return c
	}), ifMatch(r, newRoute))
	return ok(newRoute(route)), err
}

func (a *API) deleteRoute(r *request) (response, error) {
	return noContent(), a.svc.DeleteRoute(r.Context(), r.who, r.ref(routeValue), ifMatch(r, newRoute))
}
