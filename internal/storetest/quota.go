package storetest

import (
	"strings"
	"testing"

	"galley/internal/cms"
)

func quotaKept(t *testing.T, store cms.Store) {
	w := cms.Workspace{ID: cms.NewID(), Name: "W", CreatedAt: at}
	other := aWorkspace(t, store)
	app, key := newApp(w.ID), cms.NewAppKey()
	write(t, store, func(tx cms.Tx) error {
		if err := tx.CreateWorkspace(t.Context(), w); err != nil {
			return err
		}
		return tx.CreateApp(t.Context(), app, key.Hash())
	})
	for _, quota := range []cms.Quota{{Pages: new(0)}, {Sites: new(1), ContentBytes: new(1 << 40)}, {}} {
		w.Quota = quota
		write(t, store, func(tx cms.Tx) error {
			if err := tx.SetQuota(t.Context(), w); err != nil {
				return err
			}
			same(t, "LockWorkspace", value(tx.LockWorkspace(t.Context(), w.ID))(t), w)
			return nil
		})
		same(t, "Workspace", value(store.Workspace(t.Context(), w.ID))(t), w)
		found, _, err := store.AppByKey(t.Context(), key.Hash(), at)
		must(t, err)
		same(t, "quota of an app", found.Quota, quota)
	}
	same(t, "another", value(store.Workspace(t.Context(), other))(t).Quota, cms.Quota{})
	write(t, store, func(tx cms.Tx) error {
		_, err := tx.LockWorkspace(t.Context(), cms.NewID())
		wantNotFound(t, "unknown workspace", cms.KindWorkspace, err)
		return nil
	})
}

func usageCounted(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	twin, foreign := newSite(site.WorkspaceID), aSite(t, store)
	check := func(what string, sites, pages, bytes int) {
		t.Helper()
		same(t, what, value(store.Usage(t.Context(), site.WorkspaceID))(t), cms.Usage{Sites: sites, Pages: pages, ContentBytes: bytes})
	}
	size := func(siteID cms.ID) int { return value(store.SiteCounts(t.Context(), siteID))(t)[cms.NoID].ContentBytes }
	check("a site", 1, 0, 0)
	one, two := cms.NewContent([]byte(`{"one":"`+strings.Repeat("1", 1000)+`"}`)), cms.NewContent([]byte(`{"two":[2]}`))
	putContents(t, store, site.ID, at, one, one)
	small := len(one.Value)
	check("a content", 1, 0, small)
	putContents(t, store, site.ID, at, one)
	check("the same again", 1, 0, small)
	putContents(t, store, site.ID, later(90), one, two)
	both := small + len(two.Value)
	check("another", 1, 0, both)

	french := aLocale(t, store, site.ID, "fr")
	a, b := localize(newPage(site.ID, "/a"), french, titlePatch("Fr")), contentPatch(two).Apply(newPage(site.ID, "/b"), cms.NoID)
	b.IsOnline = false
	createPages(t, store, a, b)
	putLive(t, store, a)
	check("two pages", 1, 2, both)
	createSite(t, store, twin)
	write(t, store, func(tx cms.Tx) error {
		_, err := tx.CopySite(t.Context(), site.ID, twin.ID, map[cms.ID]cms.ID{site.DefaultLocaleID: twin.DefaultLocaleID}, at)
		return err
	})
	check("a copy", 2, 4, both+size(twin.ID))
	same(t, "the copy has what its pages have", size(twin.ID), both-small)

	putContents(t, store, foreign.ID, at, one)
	createPages(t, store, newPage(foreign.ID, "/a"))
	gone := b
	gone.DeletedAt = new(later(1))
	write(t, store, func(tx cms.Tx) error {
		if _, err := tx.PurgeContents(t.Context(), site.ID, later(91), []cms.Digest{one.Digest}); err != nil {
			return err
		}
		return tx.UpdatePage(t.Context(), b, gone)
	})
	check("a page deleted, a content purged", 2, 3, 2*(both-small))
	twin.DeletedAt = new(later(2))
	write(t, store, func(tx cms.Tx) error { return tx.UpdateSite(t.Context(), twin) })
	check("a site deleted", 1, 1, both-small)

	// What was counted by triggers stays as it is.
	sameList(t, "uncounted", value(store.UncountedSites(t.Context(), site.WorkspaceID))(t), cms.SortIDs([]cms.ID{site.ID, twin.ID}))
	write(t, store, func(tx cms.Tx) error {
		return each([]cms.ID{site.ID, twin.ID}, func(id cms.ID) error { return tx.CountSite(t.Context(), id) })
	})
	sameList(t, "counted", value(store.UncountedSites(t.Context(), site.WorkspaceID))(t), nil)
	check("counted", 1, 1, both-small)
	write(t, store, func(tx cms.Tx) error {
		_, err := tx.PurgeSites(t.Context(), later(3), 10)
		return err
	})
	check("a site purged", 1, 1, both-small)
	same(t, "of no workspace", value(store.Usage(t.Context(), cms.NewID()))(t), cms.Usage{})
}

// Of those who lock a workspace, each sees what the one before has done.
func quotaWaitedFor(t *testing.T, store cms.Store) {
	workspace := aWorkspace(t, store)
	const writers = 8
	for _, err := range race(writers, func(int) error {
		return store.InTx(t.Context(), func(tx cms.Tx) error {
			w, err := tx.LockWorkspace(t.Context(), workspace)
			if err != nil {
				return err
			}
			next := 1
			if w.Quota.Sites != nil {
				next += *w.Quota.Sites
			}
			w.Quota.Sites = &next
			return tx.SetQuota(t.Context(), w)
		})
	}) {
		must(t, err)
	}
	same(t, "writers", *value(store.Workspace(t.Context(), workspace))(t).Quota.Sites, writers)
}
