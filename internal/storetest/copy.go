package storetest

import (
	"fmt"
	"testing"

	"galley/internal/cms"
)

// copied is when copies are made.
var copied = later(60)

// copySite copies a site as a caller would: the new site and its locales
// first. It returns the copy and where each locale went.
func copySite(t *testing.T, store cms.Store, site cms.Site) (cms.Site, map[cms.ID]cms.ID) {
	t.Helper()
	twin, moved := newSite(site.WorkspaceID), map[cms.ID]cms.ID{}
	write(t, store, func(tx cms.Tx) error {
		locales, err := tx.Locales(t.Context(), site.ID)
		if err != nil {
			return err
		}
		moved[site.DefaultLocaleID] = twin.DefaultLocaleID
		if err := tx.CreateSite(t.Context(), twin); err != nil {
			return err
		}
		err = each(locales, func(l cms.Locale) error {
			if l.DeletedAt != nil {
				return nil
			}
			if moved[l.ID] == cms.NoID {
				moved[l.ID] = cms.NewID()
			}
			l.ID, l.SiteID = moved[l.ID], twin.ID
			return tx.CreateLocale(t.Context(), l)
		})
		if err != nil {
			return err
		}
		_, err = tx.CopySite(t.Context(), site.ID, twin.ID, moved, copied)
		return err
	})
	return twin, moved
}

// copyOf is a page as its copy must be.
func copyOf(p cms.Page, id cms.ID, twin cms.Site, moved map[cms.ID]cms.ID) cms.Page {
	old := p.Localizations
	p.ID, p.SiteID, p.CreatedAt, p.UpdatedAt = id, twin.ID, copied, copied
	if p.PublishedAt != nil {
		p.PublishedAt = &copied
	}
	if p.Version == cms.Live {
		p.Since = 1 // what the copy has live counts as its first publish
	}
	p.Localizations = map[cms.ID]cms.Localization{}
	for locale, l := range old {
		if moved[locale] != cms.NoID {
			p.Localizations[moved[locale]] = l
		}
	}
	return p
}

// pageIDs are the ids of a site's pages by pathname.
func pageIDs(t *testing.T, store cms.Store, siteID cms.ID, version cms.Version) map[string]cms.ID {
	t.Helper()
	found := map[string]cms.ID{}
	for _, r := range listed(t, store, cms.PageQuery{SiteID: siteID, Version: version, IncludeOffline: true}) {
		found[r.Values.Pathname] = r.ID
	}
	return found
}

func copyWhole(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	full, plain := fullPage(site.ID, french, german), newPage(site.ID, "/plain")
	live := localize(full, french, pathnamePatch("/publié"))
	live.Version, live.Title = cms.Live, new("As published")
	routes := []cms.Route{newRoute(site.ID, "/r1"), newRoute(site.ID, "/r2")}
	createPages(t, store, full, plain)
	putLive(t, store, live)
	createRoutes(t, store, routes...)
	names := []string{full.Pathname, "/über-uns", "/publié", "/plain", "/r1", "/r2"}
	claims := allClaims(t, store, site.ID, names...)

	twin, moved := copySite(t, store, site)
	ids := pageIDs(t, store, twin.ID, cms.Draft)
	if len(ids) != 2 || len(pageIDs(t, store, twin.ID, cms.Live)) != 1 {
		t.Fatalf("the copy has the pages %v", ids)
	}
	for _, p := range []cms.Page{full, plain, live} {
		id := ids[p.Pathname]
		same(t, "copy of "+p.Pathname, value(store.Page(t.Context(), twin.ID, p.Version, id))(t), copyOf(p, id, twin, moved))
		same(t, "SiteOf the copy", value(store.SiteOf(t.Context(), cms.KindPage, id))(t), twin.ID)
		same(t, "the original", value(store.Page(t.Context(), site.ID, p.Version, p.ID))(t), p)
	}

	owners := map[cms.ID]cms.ID{full.ID: ids[full.Pathname], plain.ID: ids["/plain"]}
	twins := value(store.Routes(t.Context(), twin.ID, "", cms.ListQuery{Limit: 10}))(t)
	for i, r := range twins {
		want := routes[i]
		owners[want.ID] = r.ID
		want.ID, want.SiteID, want.CreatedAt = r.ID, twin.ID, copied
		same(t, "copy of a route", r, want)
		same(t, "SiteOf a copied route", value(store.SiteOf(t.Context(), cms.KindRoute, r.ID))(t), twin.ID)
	}
	same(t, "the original's claims", allClaims(t, store, site.ID, names...), claims)
	for i := range claims {
		claims[i].Owner = owners[claims[i].Owner]
		if claims[i].LocaleID != cms.NoID {
			claims[i].LocaleID = moved[claims[i].LocaleID]
		}
	}
	sortClaims(claims)
	same(t, "claims", allClaims(t, store, twin.ID, names...), claims)
}

func copyHiddenLocales(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	page := fullPage(site.ID, french, german)
	createPages(t, store, page)
	putLive(t, store, page)
	locale, _ := value(store.Locales(t.Context(), site.ID))(t).ByID(german)
	locale.DeletedAt = new(at)
	write(t, store, func(tx cms.Tx) error {
		if err := tx.UpdateLocale(t.Context(), locale); err != nil {
			return err
		}
		return tx.HideLocale(t.Context(), site.ID, german)
	})

	twin, moved := copySite(t, store, site)
	for _, version := range []cms.Version{cms.Draft, cms.Live} {
		id := pageIDs(t, store, twin.ID, version)[page.Pathname]
		page.Version = version
		want := copyOf(page, id, twin, moved)
		if len(want.Localizations) != 1 {
			t.Fatalf("the copy should have one localization: %s", show(want))
		}
		same(t, "copy", value(store.Page(t.Context(), twin.ID, version, id))(t), want)
	}
	sameList(t, "claims in the hidden locale", allClaims(t, store, twin.ID, "/über-uns"), nil)
	if n := len(value(store.Locales(t.Context(), twin.ID))(t)); n != 2 {
		t.Errorf("the copy has %d locales, want 2", n)
	}
}

func copyDeleted(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	gone, stillLive := newPage(site.ID, "/gone"), newPage(site.ID, "/live")
	stillLive.PublishedAt = new(at)
	live := stillLive
	live.Version = cms.Live
	gone.DeletedAt, stillLive.DeletedAt = new(later(1)), new(later(1))
	route := newRoute(site.ID, "/r")
	route.DeletedAt = new(at)
	createPages(t, store, gone, stillLive)
	putLive(t, store, live)
	createRoutes(t, store, route)

	twin, moved := copySite(t, store, site)
	id := pageIDs(t, store, twin.ID, cms.Live)["/live"]
	same(t, "live", value(store.Page(t.Context(), twin.ID, cms.Live, id))(t), copyOf(live, id, twin, moved))
	draft := value(store.Page(t.Context(), twin.ID, cms.Draft, id))(t)
	if draft.DeletedAt == nil {
		t.Error("a page deleted from the draft came back in the copy")
	}
	sameList(t, "draft list", listed(t, store, cms.PageQuery{SiteID: twin.ID, IncludeOffline: true}), nil)
	sameList(t, "routes", value(store.Routes(t.Context(), twin.ID, "", cms.ListQuery{Limit: 10}))(t), nil)
	same(t, "claims", allClaims(t, store, twin.ID, "/gone", "/live", "/r"), []cms.Claim{{Version: cms.Live, Pathname: "/live", Owner: id}})
}

func copyMany(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	pages, routes := make([]cms.Page, 1001), make([]cms.Route, 501)
	for i := range pages {
		pages[i] = newPage(site.ID, fmt.Sprintf("/p/%d", i))
	}
	for i := range routes {
		routes[i] = newRoute(site.ID, fmt.Sprintf("/r/%d", i))
	}
	createPages(t, store, pages...)
	createRoutes(t, store, routes...)
	twin, _ := copySite(t, store, site)
	copies := pageIDs(t, store, twin.ID, cms.Draft)
	if len(copies) != len(pages) {
		t.Errorf("%d pages were copied, want %d", len(copies), len(pages))
	}
	distinct := map[cms.ID]bool{}
	for _, id := range copies {
		distinct[id] = true
	}
	if len(distinct) != len(pages) {
		t.Errorf("the copies have %d different ids", len(distinct))
	}
	n := 0
	for after := cms.NoID; ; {
		list := cms.CutList(value(store.Routes(t.Context(), twin.ID, "", cms.ListQuery{After: after, Limit: 100}))(t), 100)
		n += len(list.Items)
		if !list.HasMore {
			break
		}
		after = list.Items[len(list.Items)-1].ID
	}
	if n != len(routes) {
		t.Errorf("%d routes were copied, want %d", n, len(routes))
	}
}
