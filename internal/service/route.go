package service

import (
	"context"
	"slices"

	"galley/internal/cms"
)

// Route reads a route.
func (s *Service) Route(ctx context.Context, who Caller, ref Ref) (cms.Route, error) {
	if err := who.mayLookUp(ref); err != nil {
		return cms.Route{}, err
	}
	return viewSite(ctx, s, who, ofRoute(ref), func(ctx context.Context, r cms.Reader, f siteSnapshot) (cms.Route, error) {
		id, err := findRoute(ctx, r, f.site.ID, ref)
		if err != nil {
			return cms.Route{}, err
		}
		route, err := existingRoute(r.Route(ctx, f.site.ID, id))
		if err == nil {
			err = who.maySee(route.Pathname)
		}
		return route, err
	})
}

func existingRoute(route cms.Route, err error) (cms.Route, error) {
	if err == nil && route.DeletedAt != nil {
		err = cms.NotFound(cms.KindRoute)
	}
	return route, err
}

// findRoute turns a reference into a route's id. A pathname is looked up as it is
// written, since routes may have the form of another system, and in its canonical
// form.
func findRoute(ctx context.Context, r cms.Reader, siteID cms.ID, ref Ref) (cms.ID, error) {
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
	claims, err := r.Claims(ctx, siteID, cms.Draft, names)
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

// lockRoute finds a route and locks it. A transaction that had it locked may have
// changed the pathname by which it was found: then it is looked up again.
func lockRoute(ctx context.Context, tx cms.Tx, siteID cms.ID, ref Ref) (cms.Route, error) {
	id, err := findRoute(ctx, tx, siteID, ref)
	for err == nil {
		var route cms.Route
		if route, err = existingRoute(tx.LockRoute(ctx, siteID, id)); err != nil {
			return route, err
		}
		if id, err = findRoute(ctx, tx, siteID, ref); id == route.ID {
			return route, err
		}
	}
	return cms.Route{}, err
}

// Routes lists the routes of a site.
func (s *Service) Routes(ctx context.Context, who Caller, siteID cms.ID, q cms.ListQuery) (cms.List[cms.Route], error) {
	return viewSite(ctx, s, who, ofSite(siteID), func(ctx context.Context, r cms.Reader, _ siteSnapshot) (list cms.List[cms.Route], err error) {
		err = checkCursor(q, func() error {
			_, err := r.Route(ctx, siteID, q.After)
			return err
		})
		if err != nil {
			return list, err
		}
		under := ""
		if who.Preview != nil {
			under = who.Preview.PathPrefix
		}
		routes, err := r.Routes(ctx, siteID, under, q)
		return cms.CutList(routes, q.Limit), err
	})
}

// CreateRoute creates a route.
func (s *Service) CreateRoute(ctx context.Context, who Caller, in Input[cms.NewRoute]) (cms.Route, error) {
	n, err := in()
	if err != nil {
		return cms.Route{}, err
	}
	return inSite(ctx, s, who, ofSite(n.SiteID.Value), cms.LockShared, func(tx cms.Tx, f siteSnapshot) (cms.Route, []written, error) {
		route := cms.Route{ID: cms.NewID(), SiteID: f.site.ID, Pathname: n.Pathname.Value, CreatedAt: s.now()}
		if err := s.moveClaims(ctx, tx, who.actor(), f, claimMove{after: route.Claims()}); err != nil {
			return route, nil, err
		}
		return route, wroteRoute(nil, route), tx.CreateRoute(ctx, route)
	})
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
	return inSite(ctx, s, who, ofRoute(ref), cms.LockShared, func(tx cms.Tx, f siteSnapshot) (after cms.Route, _ []written, err error) {
		before, err := lockRoute(ctx, tx, f.site.ID, ref)
		if err != nil {
			return after, nil, err
		}
		after, changed, err := match.apply(before, rule)
		if err != nil || !changed {
			return after, nil, err
		}
		if err := s.moveClaims(ctx, tx, who.actor(), f, claimMove{before: before.Claims(), after: after.Claims()}); err != nil {
			return after, nil, err
		}
		return after, wroteRoute(before, after), tx.UpdateRoute(ctx, after)
	})
}

// wroteRoute is a write of a route; before is nil for a new one.
func wroteRoute(before any, after cms.Route) []written {
	return []written{{kind: cms.KindRoute, id: after.ID, siteID: after.SiteID, before: before, after: after}}
}
