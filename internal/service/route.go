package service

import (
	"context"
	"reflect"
	"slices"

	"galley/internal/cms"
)

// Route reads a route.
func (s *Service) Route(ctx context.Context, who Caller, ref Ref) (cms.Route, error) {
	var route cms.Route
	siteID := ref.SiteID
	err := s.view(ctx, who, &siteID, func(ctx context.Context, r cms.Reader) error {
		site, err := who.childSite(ctx, r, cms.KindRoute, ref, routeExists)
		if err != nil {
			return err
		}
		siteID = site.ID
		id, err := findRoute(ctx, r, site, ref)
		if err != nil {
			return err
		}
		route, err = existingRoute(r.Route(ctx, site.ID, id))
		return err
	})
	return route, err
}

func existingRoute(route cms.Route, err error) (cms.Route, error) {
	if err == nil && route.DeletedAt != nil {
		err = cms.NotFound(cms.KindRoute)
	}
	return route, err
}

// findRoute turns a reference into a route's id. A pathname is looked up as
// it is written, as routes of another system's form are, and in its canonical
// form.
func findRoute(ctx context.Context, r cms.Reader, site cms.Site, ref Ref) (cms.ID, error) {
	if ref.ID != cms.NoID {
		return ref.ID, nil
	}
	var names []string
	if raw, err := cms.RawPathname(ref.Name); err == nil {
		names = append(names, raw, "/"+raw)
	}
	if canonical, err := cms.CanonicalPathname(ref.Name); err == nil {
		names = append(names, canonical)
	}
	claims, err := r.Claims(ctx, site.ID, cms.Draft, names)
	if err != nil {
		return cms.NoID, err
	}
	for _, name := range names {
		if i := slices.IndexFunc(claims, func(c cms.Claim) bool { return c.ByRoute && c.Pathname == name }); i >= 0 {
			return claims[i].Owner, nil
		}
	}
	return cms.NoID, cms.NotFound(cms.KindRoute)
}

// lockRoute finds a route and locks it. Who had it locked before may have given it
// another pathname than the one that it was found by.
func lockRoute(ctx context.Context, tx cms.Tx, site cms.Site, ref Ref) (cms.Route, error) {
	id, err := findRoute(ctx, tx, site, ref)
	for err == nil {
		var route cms.Route
		if route, err = existingRoute(tx.LockRoute(ctx, site.ID, id)); err != nil {
			return route, err
		}
		if id, err = findRoute(ctx, tx, site, ref); id == route.ID {
			return route, err
		}
	}
	return cms.Route{}, err
}

// Routes lists the routes of a site.
func (s *Service) Routes(ctx context.Context, who Caller, siteID cms.ID, q cms.ListQuery) (cms.List[cms.Route], error) {
	var list cms.List[cms.Route]
	err := s.view(ctx, who, &siteID, func(ctx context.Context, r cms.Reader) error {
		site, err := who.site(ctx, r, siteID)
		if err != nil {
			return err
		}
		if q.After != cms.NoID {
			if _, err := r.Route(ctx, site.ID, q.After); err != nil {
				return cursorError(err)
			}
		}
		routes, err := r.Routes(ctx, site.ID, q)
		list = cms.CutList(routes, q.Limit)
		return err
	})
	return list, err
}

// cursorError turns a cursor that names nothing into the bad request it is.
func cursorError(err error) error {
	if cms.CodeOf(err) == cms.CodeNotFound {
		return cms.ErrCursor
	}
	return err
}

// CreateRoute makes a route.
func (s *Service) CreateRoute(ctx context.Context, who Caller, in Input[cms.NewRoute]) (cms.Route, error) {
	n, err := in()
	if err != nil {
		return cms.Route{}, err
	}
	var route cms.Route
	err = s.inSite(ctx, who, cms.KindSite, Ref{ID: n.SiteID.Value}, cms.LockShared, func(tx cms.Tx) error {
		site, err := who.lockSite(ctx, tx, n.SiteID.Value, cms.LockShared)
		if err != nil {
			return err
		}
		route = cms.Route{ID: cms.NewID(), SiteID: site.ID, Pathname: n.Pathname.Value, CreatedAt: s.now()}
		if err := moveClaims(ctx, tx, site.ID, claimMove{after: route.Claims()}); err != nil {
			return err
		}
		if err := tx.CreateRoute(ctx, route); err != nil {
			return err
		}
		return s.record(ctx, tx, who.actor(), wroteRoute(route, nil, route))
	})
	return route, err
}

// UpdateRoute changes a route.
func (s *Service) UpdateRoute(ctx context.Context, who Caller, ref Ref, in Input[cms.RoutePatch], match Match[cms.Route]) (cms.Route, error) {
	return s.changeRoute(ctx, who, ref, match, func(route cms.Route) (cms.Route, error) {
		patch, err := in()
		patch.Pathname.ApplyTo(&route.Pathname)
		return route, err
	})
}

// DeleteRoute deletes a route.
func (s *Service) DeleteRoute(ctx context.Context, who Caller, ref Ref, match Match[cms.Route]) error {
	_, err := s.changeRoute(ctx, who, ref, match, func(route cms.Route) (cms.Route, error) {
		route.DeletedAt = new(s.now())
		return route, nil
	})
	return err
}

func (s *Service) changeRoute(ctx context.Context, who Caller, ref Ref, match Match[cms.Route], rule func(cms.Route) (cms.Route, error)) (cms.Route, error) {
	var after cms.Route
	err := s.inSite(ctx, who, cms.KindRoute, ref, cms.LockShared, func(tx cms.Tx) error {
		site, err := who.lockChildSite(ctx, tx, cms.KindRoute, ref, routeExists, cms.LockShared)
		if err != nil {
			return err
		}
		before, err := lockRoute(ctx, tx, site, ref)
		if err != nil {
			return err
		}
		if after, err = rule(before); err != nil {
			return err
		}
		if err := match.check(before); err != nil {
			return err
		}
		if reflect.DeepEqual(before, after) {
			return nil
		}
		if err := moveClaims(ctx, tx, site.ID, claimMove{before: before.Claims(), after: after.Claims()}); err != nil {
			return err
		}
		if err := tx.UpdateRoute(ctx, after); err != nil {
			return err
		}
		wrote := wroteRoute(after, before, after)
		if after.DeletedAt != nil {
			wrote.after = nil
		}
		return s.record(ctx, tx, who.actor(), wrote)
	})
	return after, err
}
