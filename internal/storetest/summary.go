package storetest

import (
	"sync"
	"testing"

	"galley/internal/cms"
)

func siteCounted(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	french := aLocale(t, store, site.ID, "fr")
	check := func(what string, siteID cms.ID, want map[cms.ID]cms.SiteCounts) {
		t.Helper()
		got := value(store.SiteCounts(t.Context(), siteID))(t)
		for id, counts := range got {
			if counts == (cms.SiteCounts{}) && id != cms.NoID {
				delete(got, id)
			}
		}
		same(t, what, got, want)
	}
	check("new", site.ID, map[cms.ID]cms.SiteCounts{cms.NoID: {}})
	plain, off, both := newPage(site.ID, "/plain"), newPage(site.ID, "/off"), localize(newPage(site.ID, "/both"), french, titlePatch("Fr"))
	off.IsOnline = false
	createPages(t, store, plain, off, both)
	check("pages", site.ID, map[cms.ID]cms.SiteCounts{cms.NoID: {Online: 2, Offline: 1, Dirty: 3}, french: {Online: 1}})
	every, alone := newRedirect(site.ID, "/every", "/x"), newRedirect(site.ID, "/alone", "/x")
	alone.LocaleID = french
	route := newRoute(site.ID, "/route")
	createRoutes(t, store, route, newRoute(site.ID, "/other"))
	write(t, store, func(tx cms.Tx) error { return tx.SaveRedirects(t.Context(), every, alone) })
	check("redirects and routes", site.ID, map[cms.ID]cms.SiteCounts{
		cms.NoID: {Online: 2, Offline: 1, Dirty: 3, Redirects: 1, Routes: 2}, french: {Online: 1, Redirects: 1},
	})

	putLive(t, store, plain, both)
	write(t, store, func(tx cms.Tx) error {
		every.LocaleID, alone.DeletedAt = french, new(later(1))
		if err := tx.SaveRedirects(t.Context(), every, alone); err != nil {
			return err
		}
		live := every
		live.Version, live.Since = cms.Live, 1
		if err := tx.ReplaceLiveRedirects(t.Context(), site.ID, 1, []cms.RedirectChange{{After: &live}}); err != nil {
			return err
		}
		route.DeletedAt = new(later(1))
		if err := tx.UpdateRoute(t.Context(), route); err != nil {
			return err
		}
		return tx.MarkPages(t.Context(), site.ID, []cms.ID{plain.ID, both.ID}, new(later(1)), false)
	})
	check("published", site.ID, map[cms.ID]cms.SiteCounts{
		cms.NoID: {Online: 2, Offline: 1, Dirty: 1, Routes: 1}, french: {Online: 1, Redirects: 1},
	})

	gone, on, bare := both, off, plain
	gone.DeletedAt, on.IsOnline, bare.Title = new(later(2)), true, new("Bare")
	write(t, store, func(tx cms.Tx) error {
		return tx.UpdatePages(t.Context(), []cms.PageChange{{Before: &both, After: &gone}, {Before: &off, After: &on}, {Before: &plain, After: &bare}})
	})
	check("deleted, online and edited", site.ID, map[cms.ID]cms.SiteCounts{
		cms.NoID: {Online: 2, Dirty: 3, Routes: 1}, french: {Redirects: 1},
	})
	back := gone.Delocalize(french)
	back.DeletedAt = nil
	write(t, store, func(tx cms.Tx) error { return tx.UpdatePage(t.Context(), gone, back) })
	check("restored without its override", site.ID, map[cms.ID]cms.SiteCounts{
		cms.NoID: {Online: 3, Dirty: 3, Routes: 1}, french: {Redirects: 1},
	})

	frenchCopy := aLocale(t, store, other.ID, "fr")
	write(t, store, func(tx cms.Tx) error {
		_, err := tx.CopySite(t.Context(), site.ID, other.ID, map[cms.ID]cms.ID{site.DefaultLocaleID: other.DefaultLocaleID, french: frenchCopy}, at)
		return err
	})
	check("copied", other.ID, map[cms.ID]cms.SiteCounts{cms.NoID: {Online: 3, Dirty: 3, Routes: 1}, frenchCopy: {Redirects: 1}})
	write(t, store, func(tx cms.Tx) error { return tx.CountSite(t.Context(), site.ID) })
	check("counted again", site.ID, map[cms.ID]cms.SiteCounts{
		cms.NoID: {Online: 3, Dirty: 3, Routes: 1}, french: {Redirects: 1},
	})

	other.DeletedAt = new(later(3))
	write(t, store, func(tx cms.Tx) error {
		if err := tx.UpdateSite(t.Context(), other); err != nil {
			return err
		}
		_, err := tx.PurgeSites(t.Context(), later(4), 10)
		return err
	})
	same(t, "purged", value(store.SiteCounts(t.Context(), other.ID))(t), map[cms.ID]cms.SiteCounts(nil))
}

// siteCountedByMany counts what many writers do at once.
func siteCountedByMany(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	const writers, each = 8, 20
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for i := range each {
				p := newPage(site.ID, "/"+cms.NewID().String())
				p.IsOnline = i%2 == 0
				if err := store.InTx(t.Context(), func(tx cms.Tx) error { return tx.CreatePages(t.Context(), p) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	same(t, "all", value(store.SiteCounts(t.Context(), site.ID))(t)[cms.NoID], cms.SiteCounts{Online: writers * each / 2, Offline: writers * each / 2, Dirty: writers * each})
}

func publishesScheduled(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	canceled := scheduled(site.ID, later(1))
	canceled.Status = cms.StatusCanceled
	count := func(want int) (minutes int) {
		t.Helper()
		n, next, err := store.Scheduled(t.Context(), site.ID)
		must(t, err)
		same(t, "count", n, want)
		if next != nil {
			minutes = int(next.Sub(at).Minutes())
		}
		return minutes
	}
	createPublishes(t, store, canceled, newPublish(site.ID, 1), scheduled(other.ID, later(2)))
	same(t, "none", count(0), 0)
	createPublishes(t, store, scheduled(site.ID, later(7)), scheduled(site.ID, later(5)))
	same(t, "the first", count(2), 5)
}
