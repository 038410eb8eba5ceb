package storetest

import (
	"testing"

	"galley/internal/cms"
)

func routeKept(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	want := newRoute(site.ID, "/products/[slug]\"'\U0001F6D2")
	createRoutes(t, store, want)
	same(t, "Route", value(store.Route(t.Context(), site.ID, want.ID))(t), want)
	write(t, store, func(tx cms.Tx) error {
		locked, err := tx.LockRoute(t.Context(), site.ID, want.ID)
		same(t, "LockRoute", locked, want)
		return err
	})
}

func routeAbsent(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	route := newRoute(site.ID, "/r")
	createRoutes(t, store, route)
	for name, ask := range map[string][2]cms.ID{
		"unknown":         {site.ID, cms.NewID()},
		"of another site": {other.ID, route.ID},
	} {
		_, err := store.Route(t.Context(), ask[0], ask[1])
		wantNotFound(t, name, cms.KindRoute, err)
		err = store.InTx(t.Context(), func(tx cms.Tx) error {
			_, err := tx.LockRoute(t.Context(), ask[0], ask[1])
			return err
		})
		wantNotFound(t, name+", locked", cms.KindRoute, err)
	}

	route.DeletedAt = new(later(1))
	write(t, store, func(tx cms.Tx) error { return tx.UpdateRoute(t.Context(), route) })
	same(t, "deleted", value(store.Route(t.Context(), site.ID, route.ID))(t), route)
	same(t, "SiteOf a deleted one", value(store.SiteOf(t.Context(), cms.KindRoute, route.ID))(t), site.ID)
}

func routeList(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	routes := make([]cms.Route, 6)
	for i, pathname := range []string{"/f", "/e", "/d", "/c", "/b", "/a"} {
		routes[i] = newRoute(site.ID, pathname)
		createRoutes(t, store, newRoute(other.ID, pathname))
	}
	routes[2].DeletedAt = new(at)
	for _, i := range []int{4, 1, 5, 0, 2, 3} {
		createRoutes(t, store, routes[i])
	}
	checkIDList(t, routes, 2, func(r cms.Route) cms.ID { return r.ID },
		func(q cms.ListQuery) ([]cms.Route, error) { return store.Routes(t.Context(), site.ID, "", q) })
}

func routeListUnder(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	for _, pathname := range []string{"/", "/blog", "/blog/a", "/blogger", "/blog-x", "/blog0", "/a/blog/b"} {
		createRoutes(t, store, newRoute(site.ID, pathname))
	}
	for under, want := range map[string]int{"": 7, "/": 7, "/blog": 2, "/blog/a": 1, "/other": 0} {
		if got := value(store.Routes(t.Context(), site.ID, under, cms.ListQuery{Limit: 10}))(t); len(got) != want {
			t.Errorf("below %q: %d, want %d", under, len(got), want)
		}
	}
}

func routeUpdate(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	route, bystander := newRoute(site.ID, "/r"), newRoute(site.ID, "/bystander")
	createRoutes(t, store, route, bystander)
	changed := route
	changed.Pathname, changed.DeletedAt = "/other", new(later(1))
	for _, want := range []cms.Route{changed, route} {
		write(t, store, func(tx cms.Tx) error { return tx.UpdateRoute(t.Context(), want) })
		same(t, "Route", value(store.Route(t.Context(), site.ID, route.ID))(t), want)
	}
	same(t, "another route", value(store.Route(t.Context(), site.ID, bystander.ID))(t), bystander)
}
