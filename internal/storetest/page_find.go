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
	shape := value(store.Shape(t.Context(), site.ID))(t)

	for _, want := range []cms.Page{full, plain} {
		found := value(store.FindPage(t.Context(), cms.Draft, want.ID))(t)
		same(t, "by id", found, cms.FoundPage{Page: want, Shape: shape})
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
		cms.NoID: {Page: plain, Shape: shape}, french: {Page: twin, Shape: shape, ClaimedIn: french},
	})
	for _, pathname := range []string{"/route", "/Plain", "/none"} {
		sameList(t, pathname, value(store.FindPages(t.Context(), site.ID, cms.Draft, pathname))(t), nil)
	}
	sameList(t, "in another site", value(store.FindPages(t.Context(), aSite(t, store).ID, cms.Draft, "/plain"))(t), nil)
}

func siteShape(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	locale := newLocale(site.ID, "fr")
	last := value(store.Shape(t.Context(), site.ID))(t)
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
		shape := value(store.Shape(t.Context(), site.ID))(t)
		if (shape != last) != step.changes {
			t.Errorf("%s: the shape went from %d to %d", step.name, last, shape)
		}
		last = shape
	}
	_, err := store.Shape(t.Context(), cms.NewID())
	wantNotFound(t, "unknown site", cms.KindSite, err)
	for _, lock := range []cms.Lock{cms.LockShared, cms.LockExclusive} {
		write(t, store, func(tx cms.Tx) error {
			same(t, "locked", value(tx.LockShape(t.Context(), site.WorkspaceID, site.ID, lock))(t), last)
			siteID, shape, err := tx.LockShapeOf(t.Context(), site.WorkspaceID, cms.KindLocale, locale.ID, lock)
			same(t, "of a locale", []any{siteID, shape}, []any{site.ID, last})
			if err != nil {
				return err
			}
			_, err = tx.LockShape(t.Context(), cms.NewID(), site.ID, lock)
			wantNotFound(t, "of another workspace", cms.KindSite, err)
			_, _, err = tx.LockShapeOf(t.Context(), cms.NewID(), cms.KindLocale, locale.ID, lock)
			wantNotFound(t, "of another workspace's locale", cms.KindLocale, err)
			_, err = tx.LockShape(t.Context(), site.WorkspaceID, cms.NewID(), lock)
			wantNotFound(t, "unknown site, locked", cms.KindSite, err)
			_, _, err = tx.LockShapeOf(t.Context(), site.WorkspaceID, cms.KindPage, locale.ID, lock)
			wantNotFound(t, "of another kind", cms.KindPage, err)
			return nil
		})
	}
}
