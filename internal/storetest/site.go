package storetest

import (
	"slices"
	"testing"
	"time"

	"galley/internal/cms"
)

func siteKept(t *testing.T, store cms.Store) {
	w := aWorkspace(t, store)
	full, bare := newSite(w), newSite(w)
	full.Name, full.HostOrigin = "Läden & Söhne", new("https://example.com")
	full.Labels = []string{"eu", "shop"}
	full.KeyAccess, full.LocaleMode, full.UpdatedAt = cms.AccessLive, cms.LocalesExternal, later(1)
	full.PreviewURLTemplate = new("https://example.com{pathname}?token={token}")
	full.DefaultLocale.Domain, full.DefaultLocale.PathPrefix = new("https://en.example.com"), new("")

	for name, want := range map[string]cms.Site{"full": full, "bare": bare} {
		createSite(t, store, want)
		same(t, name+": Site", value(store.Site(t.Context(), want.ID))(t), want)
		same(t, name+": SiteByKey", value(siteByKey(t, store, want.PublicAPIKey, at))(t), want)
		for _, lock := range []cms.Lock{cms.LockShared, cms.LockExclusive} {
			write(t, store, func(tx cms.Tx) error {
				locked, err := tx.LockSite(t.Context(), want.ID, lock)
				same(t, name+": LockSite", locked, want)
				return err
			})
		}
	}
}

func siteAbsent(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	_, err := store.Site(t.Context(), cms.NewID())
	wantNotFound(t, "unknown site", cms.KindSite, err)
	_, err = siteByKey(t, store, site.ID, at)
	wantNotFound(t, "a site's id is not its key", cms.KindSite, err)
	for _, lock := range []cms.Lock{cms.LockShared, cms.LockExclusive} {
		err = store.InTx(t.Context(), func(tx cms.Tx) error {
			_, err := tx.LockSite(t.Context(), cms.NewID(), lock)
			return err
		})
		wantNotFound(t, "unknown site, locked", cms.KindSite, err)
	}
}

func deleteSite(t *testing.T, store cms.Store, s cms.Site, at time.Time) cms.Site {
	t.Helper()
	s.DeletedAt = &at
	write(t, store, func(tx cms.Tx) error { return tx.UpdateSite(t.Context(), s) })
	return s
}

func siteDeletedFound(t *testing.T, store cms.Store) {
	site := deleteSite(t, store, aSite(t, store), later(1))
	same(t, "Site", value(store.Site(t.Context(), site.ID))(t), site)
	same(t, "SiteByKey", value(siteByKey(t, store, site.PublicAPIKey, at))(t), site)
	write(t, store, func(tx cms.Tx) error {
		locked, err := tx.LockSite(t.Context(), site.ID, cms.LockExclusive)
		same(t, "LockSite", locked, site)
		return err
	})
	same(t, "SiteOf its locale", value(store.SiteOf(t.Context(), cms.KindLocale, site.DefaultLocaleID))(t), site.ID)
}

func siteUpdate(t *testing.T, store cms.Store) {
	site, bystander := aSite(t, store), aSite(t, store)
	french := newLocale(site.ID, "fr")
	write(t, store, func(tx cms.Tx) error { return tx.CreateLocale(t.Context(), french) })

	changed := site
	changed.Name, changed.HostOrigin, changed.UpdatedAt = "Other", new("http://localhost:8080"), later(1)
	changed.KeyAccess, changed.LocaleMode = cms.AccessLive, cms.LocalesExternal
	changed.Labels = []string{"eu"}
	changed.DefaultLocaleID, changed.DefaultLocale = french.ID, french
	for _, want := range []cms.Site{changed, site} {
		write(t, store, func(tx cms.Tx) error { return tx.UpdateSite(t.Context(), want) })
		same(t, "Site", value(store.Site(t.Context(), site.ID))(t), want)
	}
	same(t, "another site", value(store.Site(t.Context(), bystander.ID))(t), bystander)
}

func siteKeyConflict(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	twin := newSite(site.WorkspaceID)
	twin.PublicAPIKey = site.PublicAPIKey
	err := store.InTx(t.Context(), func(tx cms.Tx) error { return tx.CreateSite(t.Context(), twin) })
	wantCode(t, "a key that is there", cms.CodeConflict, err)
	_, err = store.Site(t.Context(), twin.ID)
	wantNotFound(t, "the site that was refused", cms.KindSite, err)
}

// sixSites are created out of order; the third one is deleted.
func sixSites(t *testing.T, store cms.Store) []cms.Site {
	t.Helper()
	w := aWorkspace(t, store)
	sites := make([]cms.Site, 6)
	for i := range sites {
		sites[i] = newSite(w)
		aSite(t, store) // of another workspace, between them
	}
	for _, i := range []int{4, 1, 5, 0, 2, 3} {
		createSite(t, store, sites[i])
	}
	sites[2] = deleteSite(t, store, sites[2], at)
	return sites
}

func siteID(s cms.Site) cms.ID { return s.ID }

func siteList(t *testing.T, store cms.Store) {
	sites := sixSites(t, store)
	checkIDList(t, sites, 2, siteID, func(q cms.ListQuery) ([]cms.Site, error) {
		return store.Sites(t.Context(), sites[0].WorkspaceID, nil, cms.SiteQuery{ListQuery: q})
	})
}

func siteListOnly(t *testing.T, store cms.Store) {
	sites := sixSites(t, store)
	foreign := aSite(t, store)
	named := []cms.ID{sites[5].ID, sites[2].ID, foreign.ID, sites[1].ID, cms.NewID(), sites[3].ID}
	many := slices.Clone(named)
	for len(many) < cms.MaxAppSites {
		many = append(many, cms.NewID())
	}
	for _, c := range []struct {
		name string
		only []cms.ID
		q    cms.ListQuery
		want []cms.Site
	}{
		{"named", named, cms.ListQuery{Limit: 100}, []cms.Site{sites[1], sites[3], sites[5]}},
		{"as many as can be named", many, cms.ListQuery{Limit: 100}, []cms.Site{sites[1], sites[3], sites[5]}},
		{"one more than the limit", named, cms.ListQuery{Limit: 1}, []cms.Site{sites[1], sites[3]}},
		{"after one", named, cms.ListQuery{After: sites[1].ID, Limit: 100}, []cms.Site{sites[3], sites[5]}},
		{"none named", []cms.ID{}, cms.ListQuery{Limit: 100}, nil},
	} {
		got, err := store.Sites(t.Context(), sites[0].WorkspaceID, c.only, cms.SiteQuery{ListQuery: c.q})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		sameList(t, c.name, got, c.want)
	}
}

func siteFilter(t *testing.T, store cms.Store) {
	sites := sixSites(t, store)
	for i, name := range []string{"Shop", "The SHOP of Zoë", "Shop", "Blog", "Straße", "Workshop"} {
		sites[i].Name, sites[i].Labels = name, []string{"all", "odd"}[:1+i%2]
		write(t, store, func(tx cms.Tx) error { return tx.UpdateSite(t.Context(), sites[i]) })
	}
	list := cms.ListQuery{Limit: 2}
	after := cms.ListQuery{After: sites[1].ID, Limit: 100}
	for name, c := range map[string]struct {
		only []cms.ID
		q    cms.SiteQuery
		want []cms.Site
	}{
		"label":            {nil, cms.SiteQuery{ListQuery: list, Label: "odd"}, []cms.Site{sites[1], sites[3], sites[5]}},
		"label after one":  {nil, cms.SiteQuery{ListQuery: after, Label: "odd"}, []cms.Site{sites[3], sites[5]}},
		"label of some":    {[]cms.ID{sites[3].ID, sites[2].ID}, cms.SiteQuery{ListQuery: list, Label: "all"}, []cms.Site{sites[3]}},
		"deleted label":    {nil, cms.SiteQuery{ListQuery: list, Label: "all", Deleted: true}, []cms.Site{sites[2]}},
		"unknown label":    {nil, cms.SiteQuery{ListQuery: list, Label: "od"}, nil},
		"search":           {nil, cms.SiteQuery{ListQuery: list, Search: "shop"}, []cms.Site{sites[0], sites[1], sites[5]}},
		"search after one": {nil, cms.SiteQuery{ListQuery: after, Search: "shop"}, []cms.Site{sites[5]}},
		"search folded":    {nil, cms.SiteQuery{ListQuery: list, Search: cms.Fold("STRASSE")}, []cms.Site{sites[4]}},
		"search and label": {nil, cms.SiteQuery{ListQuery: list, Search: "zoë", Label: "odd"}, []cms.Site{sites[1]}},
		"deleted":          {nil, cms.SiteQuery{ListQuery: list, Deleted: true}, []cms.Site{sites[2]}},
	} {
		got, err := store.Sites(t.Context(), sites[0].WorkspaceID, c.only, c.q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sameList(t, name, got, c.want)
	}
}

func sitesOf(t *testing.T, store cms.Store) {
	sites := sixSites(t, store)
	foreign := aSite(t, store)
	ask := []cms.ID{sites[0].ID, sites[2].ID, foreign.ID, cms.NewID(), sites[0].ID}
	same(t, "SitesOf", value(store.SitesOf(t.Context(), ask))(t),
		map[cms.ID]cms.ID{sites[0].ID: sites[0].WorkspaceID, foreign.ID: foreign.WorkspaceID})
	if none := value(store.SitesOf(t.Context(), nil))(t); len(none) > 0 {
		t.Errorf("SitesOf none: %s", show(none))
	}
}

func siteOf(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	page, route := newPage(site.ID, "/p"), newRoute(site.ID, "/r")
	createPages(t, store, page, newPage(other.ID, "/p"))
	createRoutes(t, store, route, newRoute(other.ID, "/r"))
	children := map[cms.Kind]cms.ID{cms.KindLocale: site.DefaultLocaleID, cms.KindPage: page.ID, cms.KindRoute: route.ID}
	for kind := range children {
		for of, id := range children {
			got, err := store.SiteOf(t.Context(), kind, id)
			if kind != of {
				wantNotFound(t, string(of)+" as "+string(kind), kind, err)
				continue
			}
			must(t, err)
			same(t, "SiteOf "+string(kind), got, site.ID)
		}
		_, err := store.SiteOf(t.Context(), kind, cms.NewID())
		wantNotFound(t, "unknown "+string(kind), kind, err)
	}
}

func siteKeyRotation(t *testing.T, store cms.Store) {
	site, bystander := aSite(t, store), aSite(t, store)
	first := site.PublicAPIKey
	check := func(s cms.Site, key cms.ID, instants []instant) {
		t.Helper()
		for _, i := range instants {
			got, end, err := store.SiteByKey(t.Context(), key, i.at)
			if i.works {
				must(t, err)
				same(t, i.name, got, s)
				same(t, i.name+": its end", end, i.end)
			} else {
				wantNotFound(t, i.name, cms.KindSite, err)
			}
		}
	}
	rotate := func(end time.Time) cms.ID {
		site.PublicAPIKey, site.UpdatedAt = cms.NewSiteKey(), site.UpdatedAt.Add(time.Second)
		write(t, store, func(tx cms.Tx) error { return tx.RotateSiteKey(t.Context(), site, end) })
		return site.PublicAPIKey
	}
	forever := []instant{{"years later", at.AddDate(50, 0, 0), true, nil}}

	second := rotate(later(10))
	check(site, first, around(later(10)))
	check(site, second, forever)

	third := rotate(later(20)) // the first one has its end, which is not put off
	check(site, first, around(later(10)))
	check(site, second, around(later(20)))

	fourth := rotate(later(5)) // no grace is left for those that still worked
	check(site, first, around(later(5)))
	check(site, second, around(later(5)))
	check(site, third, around(later(5)))
	check(site, fourth, forever)
	check(bystander, bystander.PublicAPIKey, forever)
	same(t, "Site", value(store.Site(t.Context(), site.ID))(t), site)
}

// furnish gives a site one of everything.
func furnish(t *testing.T, store cms.Store, site cms.Site) (cms.Page, cms.Route) {
	t.Helper()
	french := aLocale(t, store, site.ID, "fr")
	page := localize(newPage(site.ID, "/about"), french, pathnamePatch("/a-propos"))
	route := newRoute(site.ID, "/shop")
	createPages(t, store, page)
	putLive(t, store, page)
	createRoutes(t, store, route)
	createPreview(t, store, newPreview(site.ID))
	site.PublicAPIKey = cms.NewSiteKey()
	write(t, store, func(tx cms.Tx) error { return tx.RotateSiteKey(t.Context(), site, later(10)) })
	return page, route
}

func purge(t *testing.T, store cms.Store, before time.Time, limit int) int {
	t.Helper()
	n := 0
	write(t, store, func(tx cms.Tx) error {
		sites, err := tx.PurgeSites(t.Context(), before, limit)
		n = len(sites)
		return err
	})
	return n
}

func sitePurge(t *testing.T, store cms.Store) {
	site, bystander := aSite(t, store), aSite(t, store)
	page, route := furnish(t, store, site)
	keptPage, keptRoute := furnish(t, store, bystander)
	site = deleteSite(t, store, value(store.Site(t.Context(), site.ID))(t), later(1))

	if n := purge(t, store, later(1), 10); n != 0 {
		t.Errorf("a site was purged that was not deleted before the given time")
	}
	if n := purge(t, store, later(1).Add(time.Millisecond), 10); n != 1 {
		t.Errorf("%d sites were purged, want 1", n)
	}
	_, err := store.Site(t.Context(), site.ID)
	wantNotFound(t, "Site", cms.KindSite, err)
	_, err = siteByKey(t, store, site.PublicAPIKey, at)
	wantNotFound(t, "SiteByKey", cms.KindSite, err)
	for kind, id := range map[cms.Kind]cms.ID{cms.KindLocale: site.DefaultLocaleID, cms.KindPage: page.ID, cms.KindRoute: route.ID} {
		_, err = store.SiteOf(t.Context(), kind, id)
		wantNotFound(t, "SiteOf "+string(kind), kind, err)
	}
	sameList(t, "Locales", value(store.Locales(t.Context(), site.ID))(t), nil)
	for _, version := range []cms.Version{cms.Draft, cms.Live} {
		_, err = store.Page(t.Context(), site.ID, version, page.ID)
		wantNotFound(t, "Page", cms.KindPage, err)
		sameList(t, "Claims", value(store.Claims(t.Context(), site.ID, version, []string{"/about", "/a-propos", "/shop"}))(t), nil)

		keptPage.Version = version
		same(t, "another site's page", value(store.Page(t.Context(), bystander.ID, version, keptPage.ID))(t), keptPage)
		if n := len(value(store.Claims(t.Context(), bystander.ID, version, []string{"/about", "/a-propos", "/shop"}))(t)); n != 3 {
			t.Errorf("another site has %d claims left, want 3", n)
		}
	}
	same(t, "another site's route", value(store.Route(t.Context(), bystander.ID, keptRoute.ID))(t), keptRoute)
	if n := len(value(store.Locales(t.Context(), bystander.ID))(t)); n != 2 {
		t.Errorf("another site has %d locales left, want 2", n)
	}
	value(siteByKey(t, store, bystander.PublicAPIKey, at))(t)
	for id, left := range map[cms.ID]int{site.ID: 0, bystander.ID: 1} {
		if n := len(value(store.Previews(t.Context(), id, cms.ListQuery{Limit: 10}))(t)); n != left {
			t.Errorf("%d previews are left, want %d", n, left)
		}
	}
}

func sitePurgeLimit(t *testing.T, store cms.Store) {
	w := aWorkspace(t, store)
	var sites []cms.Site
	for _, minute := range []int{3, 1, 2} {
		s := newSite(w)
		createSite(t, store, s)
		sites = append(sites, deleteSite(t, store, s, later(minute)))
	}
	if n := purge(t, store, later(60), 2); n != 2 {
		t.Errorf("%d sites were purged, want 2", n)
	}
	for i, gone := range []bool{false, true, true} {
		_, err := store.Site(t.Context(), sites[i].ID)
		if (err != nil) != gone {
			t.Errorf("site %d: %v, want it gone: %t", i, err, gone)
		}
	}
	if n := purge(t, store, later(60), 2); n != 1 {
		t.Errorf("%d sites were purged, want the one left", n)
	}
	if n := purge(t, store, later(60), 2); n != 0 {
		t.Errorf("%d sites were purged, want none", n)
	}
}

func siteShape(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	locale := newLocale(site.ID, "fr")
	last := value(store.Revision(t.Context(), site.ID))(t)
	for _, step := range []struct {
		name    string
		changes bool
		do      func(cms.Tx) error
	}{
		{"a new locale", true, func(tx cms.Tx) error { return tx.CreateLocale(t.Context(), locale) }},
		{"a changed locale", true, func(tx cms.Tx) error { return tx.UpdateLocale(t.Context(), locale) }},
		{"a changed site", true, func(tx cms.Tx) error { return tx.UpdateSite(t.Context(), site) }},
		{"a rotated key", true, func(tx cms.Tx) error {
			site.PublicAPIKey = cms.NewSiteKey()
			return tx.RotateSiteKey(t.Context(), site, at)
		}},
		{"a new page", false, func(tx cms.Tx) error { return tx.CreatePages(t.Context(), newPage(site.ID, "/p")) }},
	} {
		write(t, store, step.do)
		revision := value(store.Revision(t.Context(), site.ID))(t)
		if (revision != last) != step.changes {
			t.Errorf("%s: the shape went from %d to %d", step.name, last, revision)
		}
		last = revision
	}
	_, err := store.Revision(t.Context(), cms.NewID())
	wantNotFound(t, "unknown site", cms.KindSite, err)
	for _, lock := range []cms.Lock{cms.LockShared, cms.LockExclusive} {
		write(t, store, func(tx cms.Tx) error {
			same(t, "locked", value(tx.LockRevision(t.Context(), site.WorkspaceID, site.ID, lock))(t), last)
			_, err := tx.LockRevision(t.Context(), cms.NewID(), site.ID, lock)
			wantNotFound(t, "of another workspace", cms.KindSite, err)
			_, err = tx.LockRevision(t.Context(), site.WorkspaceID, cms.NewID(), lock)
			wantNotFound(t, "unknown site, locked", cms.KindSite, err)
			return nil
		})
	}
}
