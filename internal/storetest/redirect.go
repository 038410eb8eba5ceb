package storetest

import (
	"slices"
	"testing"

	"galley/internal/cms"
)

func newRedirect(siteID cms.ID, source, target string) cms.Redirect {
	return cms.Redirect{ID: cms.NewID(), SiteID: siteID, Source: source, Target: target, Status: 308, CreatedAt: at, UpdatedAt: at, Dirty: true}
}

// saveRedirects stores redirects with the sources that they hold.
func saveRedirects(t *testing.T, store cms.Store, redirects ...cms.Redirect) {
	t.Helper()
	write(t, store, func(tx cms.Tx) error {
		if err := tx.SaveRedirects(t.Context(), redirects...); err != nil {
			return err
		}
		return each(redirects, func(r cms.Redirect) error {
			locales, err := tx.Locales(t.Context(), r.SiteID)
			if err != nil {
				return err
			}
			return tx.TakePathnames(t.Context(), r.SiteID, r.Claims(locales))
		})
	})
}

// sourcesOf are the sources and targets of redirects.
func sourcesOf(redirects []cms.Redirect) []string {
	list := make([]string, len(redirects))
	for i, r := range redirects {
		list[i] = r.Source + " " + r.Target
	}
	return list
}

func redirectKept(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	want := newRedirect(site.ID, "/é'\U0001F6D2/*", "https://example.com/*?a=b")
	want.LocaleID, want.Status, want.IsAutomatic, want.PublishedAt = site.DefaultLocaleID, 302, true, new(later(1))
	saveRedirects(t, store, want)
	same(t, "Redirect", value(store.Redirect(t.Context(), site.ID, cms.Draft, want.ID))(t), want)
	same(t, "SiteOf", value(store.SiteOf(t.Context(), cms.KindRedirect, want.ID))(t), site.ID)
	sameList(t, "Known", value(store.Known(t.Context(), site.ID, cms.KindRedirect, []cms.ID{want.ID, cms.NewID()}))(t), []cms.ID{want.ID})
	for name, ask := range map[string][2]cms.ID{"unknown": {site.ID, cms.NewID()}, "of another site": {other.ID, want.ID}} {
		_, err := store.Redirect(t.Context(), ask[0], cms.Draft, ask[1])
		wantNotFound(t, name, cms.KindRedirect, err)
	}
	_, err := store.Redirect(t.Context(), site.ID, cms.Live, want.ID)
	wantNotFound(t, "live", cms.KindRedirect, err)

	live := want
	live.Version, live.Since, live.Dirty = cms.Live, 1, false
	changed := want
	changed.Source, changed.Target, changed.LocaleID, changed.IsAutomatic, changed.DeletedAt, changed.Dirty = "/x", "/y", cms.NoID, false, new(later(2)), false
	write(t, store, func(tx cms.Tx) error { return tx.SaveRedirects(t.Context(), live, changed) })
	same(t, "changed", value(store.Redirect(t.Context(), site.ID, cms.Draft, want.ID))(t), changed)
	same(t, "live", value(store.RedirectsByID(t.Context(), site.ID, cms.Live, []cms.ID{want.ID, cms.NewID()}))(t), map[cms.ID]*cms.Redirect{want.ID: &live})
}

func redirectList(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	fr := aLocale(t, store, site.ID, "fr")
	var all []cms.Redirect
	for _, source := range []string{"/b", "/a/*", "/Z", "/a", "/é", "/a/b", "/b"} {
		all = append(all, newRedirect(site.ID, source, "/t"))
	}
	all[6].LocaleID = fr
	gone := newRedirect(site.ID, "/c", "/t")
	gone.DeletedAt = new(at)
	saveRedirects(t, store, append(slices.Clone(all), gone)...)
	saveRedirects(t, store, newRedirect(aSite(t, store).ID, "/a", "/t"))
	list := func(q cms.RedirectQuery) []string {
		t.Helper()
		q.SiteID = site.ID
		return sourcesOf(value(store.Redirects(t.Context(), q))(t))
	}
	want := []string{"/Z /t", "/a /t", "/a/* /t", "/a/b /t", "/b /t", "/b /t", "/é /t"}
	sameList(t, "all", list(cms.RedirectQuery{Limit: 10}), want)
	sameList(t, "one more than the limit", list(cms.RedirectQuery{Limit: 2}), want[:3])
	sameList(t, "below a prefix", list(cms.RedirectQuery{Limit: 10, SourcePrefix: "/a"}), want[1:4])
	sameList(t, "of every locale", list(cms.RedirectQuery{Limit: 10, LocaleIDs: []cms.ID{cms.NoID}}), slices.Delete(slices.Clone(want), 4, 5))
	sameList(t, "of a locale", list(cms.RedirectQuery{Limit: 10, LocaleIDs: []cms.ID{fr, site.DefaultLocaleID}}), want[4:5])
	sameList(t, "after one of the same source", list(cms.RedirectQuery{Limit: 10, After: new(all[0].Position())}), want[5:])
	sameList(t, "after the last of them", list(cms.RedirectQuery{Limit: 10, After: new(all[6].Position())}), want[6:])
	sameList(t, "live", list(cms.RedirectQuery{Limit: 10, Version: cms.Live}), nil)
}

func redirectFound(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	fr := aLocale(t, store, site.ID, "fr")
	a, aFr, wild, below := newRedirect(site.ID, "/a", "/t"), newRedirect(site.ID, "/a", "/t"), newRedirect(site.ID, "/a/*", "https://example.com"), newRedirect(site.ID, "/a/b/*", "/u")
	aFr.LocaleID, aFr.IsAutomatic = fr, true
	gone := newRedirect(site.ID, "/a/c", "/t")
	gone.DeletedAt = new(at)
	saveRedirects(t, store, a, aFr, wild, below, gone, newRedirect(site.ID, "/ab", "/t"))
	sorted := func(redirects []cms.Redirect, err error) []cms.ID {
		t.Helper()
		must(t, err)
		return cms.SortIDs(ids(redirects, func(r cms.Redirect) cms.ID { return r.ID }))
	}
	for _, version := range []cms.Version{cms.Draft, cms.Live} {
		want := func(redirects ...cms.Redirect) []cms.ID {
			if version == cms.Live {
				return nil
			}
			return cms.SortIDs(ids(redirects, func(r cms.Redirect) cms.ID { return r.ID }))
		}
		sameList(t, "from", sorted(store.RedirectsFrom(t.Context(), site.ID, version, []string{"/a", "/a/*", "/a/c", "/x"})), want(a, aFr, wild))
		sameList(t, "below", sorted(store.RedirectsBelow(t.Context(), site.ID, version, "/a")), want(below))
		sameList(t, "to", sorted(store.RedirectsTo(t.Context(), site.ID, version, []string{"/t", "/x"})), want(aFr))
		sameList(t, "in", sorted(store.RedirectsIn(t.Context(), site.ID, version, fr)), want(aFr))
		sameList(t, "away", sorted(store.RedirectsAway(t.Context(), site.ID, version)), want(wild))
		same(t, "wild", value(store.HasWildRedirects(t.Context(), site.ID, version))(t), version == cms.Draft)
		same(t, "count", value(store.CountRedirects(t.Context(), site.ID, version))(t), map[cms.Version]int{cms.Draft: 5}[version])
	}
	sameList(t, "below the root", sorted(store.RedirectsBelow(t.Context(), site.ID, cms.Draft, "/")), cms.SortIDs(sorted(store.Redirects(t.Context(), cms.RedirectQuery{SiteID: site.ID, Limit: 10}))))
	a.Dirty = false
	write(t, store, func(tx cms.Tx) error { return tx.SaveRedirects(t.Context(), a) })
	sameList(t, "dirty", value(store.DirtyRedirects(t.Context(), site.ID))(t)[:2], []cms.ID{aFr.ID, wild.ID})
}

func redirectHistory(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	one, two := newRedirect(site.ID, "/1", "/a"), newRedirect(site.ID, "/2", "/a")
	saveRedirects(t, store, one, two)
	publish := func(seq int64, changes ...cms.RedirectChange) {
		t.Helper()
		for _, c := range changes {
			if c.After != nil {
				c.After.Version, c.After.Since, c.After.Dirty, c.After.PublishedAt = cms.Live, seq, false, new(later(int(seq)))
			}
		}
		write(t, store, func(tx cms.Tx) error {
			p := cms.Publish{ID: cms.NewID(), SiteID: site.ID, Seq: seq, Status: cms.StatusPublished, PublishedAt: new(later(int(seq))), CreatedAt: at}
			if err := tx.CreatePublish(t.Context(), p); err != nil {
				return err
			}
			return tx.ReplaceLiveRedirects(t.Context(), site.ID, seq, changes)
		})
	}
	first, second, third := one, one, two
	second.Target = "/b"
	publish(1, cms.RedirectChange{After: &first})
	publish(2, cms.RedirectChange{Before: &first, After: &second}, cms.RedirectChange{After: &third})
	publish(3, cms.RedirectChange{Before: &second})
	for version, want := range map[cms.Version][]string{
		cms.AfterPublish(1): {"/1 /a"}, cms.AfterPublish(2): {"/1 /b", "/2 /a"}, cms.AfterPublish(3): {"/2 /a"}, cms.Live: {"/2 /a"},
	} {
		sameList(t, "list", sourcesOf(value(store.Redirects(t.Context(), cms.RedirectQuery{SiteID: site.ID, Version: version, Limit: 10}))(t)), want)
		found := sourcesOf(value(store.RedirectsFrom(t.Context(), site.ID, version, []string{"/1", "/2"}))(t))
		slices.Sort(found)
		sameList(t, "from", found, want)
	}
	same(t, "as it was", value(store.Redirect(t.Context(), site.ID, cms.AfterPublish(1), one.ID))(t), first)
	same(t, "last live", value(store.LastLiveRedirect(t.Context(), site.ID, one.ID))(t), second)
	_, err := store.LastLiveRedirect(t.Context(), site.ID, two.ID)
	wantNotFound(t, "one that is live", cms.KindRedirect, err)
	for seq, want := range map[int64][]cms.ID{1: {one.ID}, 2: {one.ID, two.ID}, 3: {one.ID}, 4: nil} {
		sameList(t, "published", value(store.PublishedRedirects(t.Context(), site.ID, seq, cms.NoID, 10))(t), want)
	}
	sameList(t, "published after one", value(store.PublishedRedirects(t.Context(), site.ID, 2, one.ID, 10))(t), []cms.ID{two.ID})
	sameList(t, "since", value(store.RedirectsSince(t.Context(), site.ID, 1))(t), []cms.ID{one.ID, two.ID})
	sameList(t, "since the last but one", value(store.RedirectsSince(t.Context(), site.ID, 2))(t), []cms.ID{one.ID})
	write(t, store, func(tx cms.Tx) error { return tx.PurgeHistory(t.Context(), site.ID, 3) })
	_, err = store.Redirect(t.Context(), site.ID, cms.AfterPublish(1), one.ID)
	wantNotFound(t, "purged", cms.KindRedirect, err)
	same(t, "what the third took away is kept", value(store.LastLiveRedirect(t.Context(), site.ID, one.ID))(t), second)
}

func redirectCopied(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	fr, hidden := aLocale(t, store, site.ID, "fr"), newLocale(site.ID, "de")
	hidden.DeletedAt = new(at)
	write(t, store, func(tx cms.Tx) error { return tx.CreateLocale(t.Context(), hidden) })
	every, french, german, gone := newRedirect(site.ID, "/a", "/t"), newRedirect(site.ID, "/a", "/u"), newRedirect(site.ID, "/b", "/t"), newRedirect(site.ID, "/c", "/t")
	french.LocaleID, french.IsAutomatic, german.LocaleID, gone.DeletedAt = fr, true, hidden.ID, new(at)
	every.Dirty = false
	live := every
	live.Version, live.Since = cms.Live, 3
	saveRedirects(t, store, every, live, french, german, gone)
	twin := newSite(site.WorkspaceID)
	createSite(t, store, twin)
	twinFr := aLocale(t, store, twin.ID, "fr")
	localeIDs := map[cms.ID]cms.ID{site.DefaultLocaleID: twin.DefaultLocaleID, fr: twinFr}
	write(t, store, func(tx cms.Tx) error {
		_, err := tx.CopySite(t.Context(), site.ID, twin.ID, localeIDs, later(5))
		return err
	})
	list := func(version cms.Version) []cms.Redirect {
		return value(store.Redirects(t.Context(), cms.RedirectQuery{SiteID: twin.ID, Version: version, Limit: 10}))(t)
	}
	drafts, lives := list(cms.Draft), list(cms.Live)
	sameList(t, "drafts", sourcesOf(drafts), []string{"/a /t", "/a /u"})
	sameList(t, "live", sourcesOf(lives), []string{"/a /t"})
	same(t, "locale", drafts[1].LocaleID, twinFr)
	same(t, "since", lives[0].Since, int64(1))
	same(t, "dirty", []bool{drafts[0].Dirty, drafts[1].Dirty}, []bool{false, true})
	claims := value(store.Claims(t.Context(), twin.ID, cms.Draft, []string{"/a", "/b", "/c"}))(t)
	same(t, "claims", len(claims), 2)
	same(t, "SiteOf", value(store.SiteOf(t.Context(), cms.KindRedirect, drafts[0].ID))(t), twin.ID)

	site.DeletedAt = new(at)
	write(t, store, func(tx cms.Tx) error { return tx.UpdateSite(t.Context(), site) })
	write(t, store, func(tx cms.Tx) error { _, err := tx.PurgeSites(t.Context(), later(1), 10); return err })
	_, err := store.Redirect(t.Context(), site.ID, cms.Draft, every.ID)
	wantNotFound(t, "purged", cms.KindRedirect, err)
	_, err = store.SiteOf(t.Context(), cms.KindRedirect, every.ID)
	wantNotFound(t, "SiteOf a purged one", cms.KindRedirect, err)
	sameList(t, "the copy stays", sourcesOf(list(cms.Draft)), []string{"/a /t", "/a /u"})
}
