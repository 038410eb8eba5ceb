package storetest

import (
	"testing"

	"galley/internal/cms"
)

func pageFound(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	full := fullPage(site.ID, french, german)
	plain := newPage(site.ID, "/plain")
	twin := localize(newPage(site.ID, "/twin"), french, pathnamePatch("/plain"))
	createPages(t, store, full, plain, twin)
	createRoutes(t, store, newRoute(site.ID, "/route"))
	revision := value(store.Revision(t.Context(), site.ID))(t)

	for _, want := range []cms.Page{full, plain} {
		found := value(store.FindPage(t.Context(), cms.Draft, want.ID))(t)
		same(t, "by id", found, cms.FoundPage{Page: want, Revision: revision, Dirty: want.Version == cms.Draft})
	}
	_, err := store.FindPage(t.Context(), cms.Live, full.ID)
	wantNotFound(t, "in a version that does not have it", cms.KindPage, err)
	_, err = store.FindPage(t.Context(), cms.Draft, cms.NewID())
	wantNotFound(t, "unknown", cms.KindPage, err)

	found := value(store.FindPages(t.Context(), site.ID, cms.Draft, "/plain"))(t)
	byLocale := map[cms.ID]cms.FoundPage{}
	for _, f := range found {
		byLocale[f.ClaimedIn] = f
	}
	same(t, "by pathname", byLocale, map[cms.ID]cms.FoundPage{
		cms.NoID: {Page: plain, Revision: revision, Dirty: true}, french: {Page: twin, Revision: revision, Dirty: true, ClaimedIn: french},
	})
	for _, pathname := range []string{"/route", "/Plain", "/none"} {
		sameList(t, pathname, value(store.FindPages(t.Context(), site.ID, cms.Draft, pathname))(t), nil)
	}
	sameList(t, "in another site", value(store.FindPages(t.Context(), aSite(t, store).ID, cms.Draft, "/plain"))(t), nil)
}
