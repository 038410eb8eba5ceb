package storetest

import (
	"slices"
	"testing"

	"galley/internal/cms"
)

// history is a site with three publishes: the first put a, b and c live, the
// second changed a, the third took a away and changed b.
type history struct {
	site           cms.Site
	french, german cms.ID
	a1, a2, b1, b3 cms.Page
	c1             cms.Page
	publishes      []cms.Publish
}

func newHistory(t *testing.T, store cms.Store) history {
	t.Helper()
	h := history{}
	h.site, h.french, h.german = twoLocales(t, store)
	live := func(p cms.Page, seq int64) cms.Page {
		p.Version, p.Since, p.PublishedAt = cms.Live, seq, new(later(int(seq)))
		return p
	}
	a, b, c := fullPage(h.site.ID, h.french, h.german), newPage(h.site.ID, "/b"), newPage(h.site.ID, "/c")
	createPages(t, store, a, b, c)
	h.a1, h.b1, h.c1 = live(a, 1), live(localize(b, h.french, pathnamePatch("/fr")), 1), live(c, 1)
	h.a2 = live(localize(titlePatch("Second").Apply(a, cms.NoID).Delocalize(h.german), h.french, titlePatch("Deux")), 2)
	h.b3 = live(pathnamePatch("/b3").Apply(b, cms.NoID), 3)
	locales := value(store.Locales(t.Context(), h.site.ID))(t)
	for i, step := range [][]cms.PageChange{
		{{After: &h.a1}, {After: &h.b1}, {After: &h.c1}},
		{{Before: &h.a1, After: &h.a2}},
		{{Before: &h.a2}, {Before: &h.b1, After: &h.b3}},
	} {
		p := newPublish(h.site.ID, int64(i+1))
		h.publishes = append(h.publishes, p)
		write(t, store, func(tx cms.Tx) error {
			if err := tx.ReplaceLive(t.Context(), h.site.ID, p.Seq, step); err != nil {
				return err
			}
			for _, change := range step {
				if change.Before != nil {
					if err := tx.ReleasePathnames(t.Context(), h.site.ID, change.Before.Claims(locales)); err != nil {
						return err
					}
				}
				if change.After != nil {
					if err := tx.TakePathnames(t.Context(), h.site.ID, change.After.Claims(locales)); err != nil {
						return err
					}
				}
			}
			return tx.CreatePublish(t.Context(), p)
		})
	}
	return h
}

// versions are what was live after each publish, and is now, by version.
func (h history) versions() map[cms.Version][]cms.Page {
	return map[cms.Version][]cms.Page{
		cms.AfterPublish(0): {}, cms.AfterPublish(1): {h.a1, h.b1, h.c1}, cms.AfterPublish(2): {h.a2, h.b1, h.c1},
		cms.AfterPublish(3): {h.b3, h.c1}, cms.Live: {h.b3, h.c1},
	}
}

func historyPages(t *testing.T, store cms.Store) {
	h := newHistory(t, store)
	all := []cms.ID{h.a1.ID, h.b1.ID, h.c1.ID, cms.NewID()}
	for version, want := range h.versions() {
		got := value(store.PagesByID(t.Context(), h.site.ID, version, all))(t)
		if len(got) != len(want) {
			t.Errorf("version %d has %d pages, want %d", version, len(got), len(want))
		}
		for _, p := range want {
			if got[p.ID] == nil {
				t.Errorf("version %d lacks %s", version, p.Pathname)
				continue
			}
			same(t, "PagesByID", *got[p.ID], p)
			same(t, "Page", value(store.Page(t.Context(), h.site.ID, version, p.ID))(t), p)
		}
		checkPastLists(t, store, h, version, want)
		checkPastPaths(t, store, h, version, want)
	}
	same(t, "of no ids", len(value(store.PagesByID(t.Context(), h.site.ID, cms.Live, nil))(t)), 0)
	_, err := store.Page(t.Context(), h.site.ID, cms.AfterPublish(3), h.a1.ID)
	wantNotFound(t, "a page that went away", cms.KindPage, err)
}

func checkPastLists(t *testing.T, store cms.Store, h history, version cms.Version, pages []cms.Page) {
	t.Helper()
	for _, sort := range cms.PageSorts {
		for _, locale := range []cms.ID{cms.NoID, h.french, h.german} {
			q := cms.PageQuery{SiteID: h.site.ID, Version: version, LocaleID: locale, Sort: sort, IncludeOffline: true}
			var want []cms.PageRow
			for _, p := range pages {
				row := p.In(locale)
				row.Values.Content = nil // lists leave it out
				want = append(want, row)
			}
			slices.SortFunc(want, func(a, b cms.PageRow) int { return a.Position(sort).Compare(b.Position(sort)) })
			same(t, "list by "+string(sort), listed(t, store, q), want)
		}
	}
}

// checkPastPaths checks the pathnames that pages had: in every locale that overrides
// something, and under which pathnames they were found.
func checkPastPaths(t *testing.T, store cms.Store, h history, version cms.Version, pages []cms.Page) {
	t.Helper()
	locales := value(store.Locales(t.Context(), h.site.ID))(t)
	want, names := map[cms.ID]map[cms.ID]string{}, []string{"/unknown"}
	var wantClaims []cms.Claim
	for _, p := range pages {
		want[p.ID] = nil
		for locale, l := range p.Localizations {
			if want[p.ID] == nil {
				want[p.ID] = map[cms.ID]string{}
			}
			want[p.ID][locale] = l.Pathname
		}
		p.Version = version
		for _, c := range p.Claims(locales) {
			wantClaims, names = append(wantClaims, c), append(names, c.Pathname)
		}
	}
	for _, locale := range []cms.ID{cms.NoID, h.french} {
		q := cms.PageQuery{SiteID: h.site.ID, Version: version, LocaleID: locale, Sort: cms.SortTitle, IncludeOffline: true, Limit: 10}
		same(t, "paths", pathsOf(t, store, q), want)
	}
	claims := value(store.Claims(t.Context(), h.site.ID, version, names))(t)
	sortClaims(claims)
	sortClaims(wantClaims)
	same(t, "Claims", claims, wantClaims)
}

func historyOfPublishes(t *testing.T, store cms.Store) {
	h := newHistory(t, store)
	a, b, c := h.a1.ID, h.b1.ID, h.c1.ID
	for seq, want := range map[int64][]cms.ID{1: {a, b, c}, 2: {a}, 3: {a, b}, 4: nil} {
		sameList(t, "PublishedPages", value(store.PublishedPages(t.Context(), h.site.ID, seq, cms.NoID, 10))(t), want)
		var walked []cms.ID
		for after := cms.NoID; len(walked) < 9; after = walked[len(walked)-1] {
			next := value(store.PublishedPages(t.Context(), h.site.ID, seq, after, 1))(t)
			if len(next) == 0 {
				break
			}
			walked = append(walked, next...)
		}
		sameList(t, "PublishedPages one by one", walked, want)
	}
	for seq, want := range map[int64][]cms.ID{0: {a, b, c}, 1: {a, b}, 2: {a, b}, 3: nil} {
		sameList(t, "PagesSince", value(store.PagesSince(t.Context(), h.site.ID, seq))(t), want)
	}
	for id, want := range map[cms.ID][]int{a: {2, 1, 0}, b: {2, 0}, c: {0}, cms.NewID(): nil} {
		var publishes []cms.ID
		for _, i := range want {
			publishes = append(publishes, h.publishes[i].ID)
		}
		got := value(store.Publishes(t.Context(), h.site.ID, id, cms.ListQuery{Limit: 10}))(t)
		sameList(t, "Publishes of a page", ids(got, publishID), publishes)
		if len(publishes) > 1 {
			got = value(store.Publishes(t.Context(), h.site.ID, id, cms.ListQuery{After: publishes[0], Limit: 10}))(t)
			same(t, "after the first", ids(got, publishID), publishes[1:])
		}
	}
	pages, rows, err := store.CountPages(t.Context(), h.site.ID, cms.Live)
	same(t, "CountPages", []any{pages, rows, err}, []any{2, len(h.b3.Rows()) + len(h.c1.Rows()), nil})
	sameList(t, "Known", cms.SortIDs(value(store.Known(t.Context(), h.site.ID, cms.KindPage, []cms.ID{c, cms.NewID(), a, h.publishes[0].ID, b}))(t)), []cms.ID{a, b, c})
	sameList(t, "Known of another site", value(store.Known(t.Context(), aSite(t, store).ID, cms.KindPage, []cms.ID{a, b}))(t), nil)
	same(t, "LastLive", value(store.LastLive(t.Context(), h.site.ID, a))(t), h.a2)
	_, err = store.LastLive(t.Context(), h.site.ID, c)
	wantNotFound(t, "LastLive of one that never went", cms.KindPage, err)
	for minutes, want := range map[int]map[cms.ID]*cms.Page{2: {a: {Localizations: map[cms.ID]cms.Localization{h.french: h.a2.Localizations[h.french]}}}, 4: {}} {
		write(t, store, func(tx cms.Tx) error {
			locale, _ := value(tx.Locales(t.Context(), h.site.ID))(t).ByID(h.french)
			locale.DeletedAt = new(later(minutes))
			if err := tx.UpdateLocale(t.Context(), locale); err != nil {
				return err
			}
			got, err := tx.HiddenLive(t.Context(), h.site.ID, []cms.ID{a, c, cms.NewID()})
			same(t, "HiddenLive", got, want)
			return err
		})
	}
}

func historyRewritten(t *testing.T, store cms.Store) {
	h := newHistory(t, store)
	past := func(locale cms.ID) (found []cms.Page) {
		t.Helper()
		write(t, store, func(tx cms.Tx) error {
			ids, err := tx.PastLocalized(t.Context(), h.site.ID, locale)
			if err != nil {
				return err
			}
			found, err = tx.PastPages(t.Context(), h.site.ID, ids)
			return err
		})
		slices.SortFunc(found, func(a, b cms.Page) int { return int(a.Since-b.Since)*10 + cms.CompareIDs(a.ID, b.ID) })
		return found
	}
	same(t, "of pages in de", past(h.german), []cms.Page{h.a1, h.a2})
	same(t, "of pages in fr", past(h.french), []cms.Page{h.a1, h.b1, h.a2})
	sameList(t, "of no page", past(cms.NewID()), nil)
	a1 := localize(titlePatch("Rewritten").Apply(h.a1, cms.NoID).Delocalize(h.french), h.german, titlePatch("Neu"))
	b1 := h.b1.Delocalize(h.french)
	write(t, store, func(tx cms.Tx) error {
		return tx.UpdatePastPages(t.Context(), h.site.ID, []cms.PageChange{{Before: &h.a1, After: &a1}, {Before: &h.b1, After: &b1}})
	})
	h.a1, h.b1 = a1, b1
	for version, pages := range h.versions() {
		for _, p := range pages {
			same(t, "Page", value(store.Page(t.Context(), h.site.ID, version, p.ID))(t), p)
		}
		checkPastLists(t, store, h, version, pages)
	}
}

func historyPurged(t *testing.T, store cms.Store) {
	h, other := newHistory(t, store), newHistory(t, store)
	waiting := scheduled(h.site.ID, later(-100))
	// These found nothing to do: one left what is purged, the other what stays.
	idle := func(previous cms.Publish) cms.Publish {
		p := newPublish(h.site.ID, 0)
		p.PublishedAt, p.PreviousID, p.CreatedAt = new(later(40)), &previous.ID, later(-50)
		return p
	}
	goes, stays := idle(h.publishes[0]), idle(h.publishes[1])
	createPublishes(t, store, waiting, goes, stays)
	purge := func(minutes int) {
		t.Helper()
		for siteID, seq := range value(store.OldHistory(t.Context(), later(minutes)))(t) {
			write(t, store, func(tx cms.Tx) error { return tx.PurgeHistory(t.Context(), siteID, seq) })
		}
	}
	purge(1)
	same(t, "nothing is old", len(value(store.Publishes(t.Context(), h.site.ID, cms.NoID, cms.ListQuery{Limit: 10}))(t)), 6)
	write(t, store, func(tx cms.Tx) error {
		young := other.publishes[1]
		young.PublishedAt = new(later(50))
		return tx.UpdatePublish(t.Context(), young)
	})
	purge(3) // the second of the one site and the first of the other are the last that are old
	left := value(store.Publishes(t.Context(), h.site.ID, cms.NoID, cms.ListQuery{Limit: 10}))(t)
	same(t, "left", ids(left, publishID), []cms.ID{h.publishes[2].ID, h.publishes[1].ID, waiting.ID, stays.ID})
	for _, gone := range []cms.Publish{h.publishes[0], goes} {
		_, err := store.SiteOf(t.Context(), cms.KindPublish, gone.ID)
		wantCode(t, "its id leads nowhere", cms.CodeNotFound, err)
	}
	versions := h.versions()
	delete(versions, cms.AfterPublish(1))
	for version, pages := range versions {
		checkPastLists(t, store, h, version, pages)
	}
	for version, pages := range other.versions() {
		checkPastLists(t, store, other, version, pages)
	}
}

func dirtyPages(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	other := newPage(aSite(t, store).ID, "/other")
	pages := []cms.Page{newPage(site.ID, "/1"), newPage(site.ID, "/2"), fullPage(site.ID, french, german), newPage(site.ID, "/4")}
	createPages(t, store, append(pages, other)...)
	all := ids(pages, func(p cms.Page) cms.ID { return p.ID })
	dirty := func(after cms.ID, limit int) []cms.ID {
		t.Helper()
		return value(store.DirtyPages(t.Context(), site.ID, after, limit))(t)
	}
	mark := func(marked []cms.ID, is bool) {
		t.Helper()
		write(t, store, func(tx cms.Tx) error { return tx.MarkPages(t.Context(), site.ID, marked, nil, is) })
	}
	same(t, "new", dirty(cms.NoID, 10), all)
	same(t, "limit", dirty(all[0], 2), all[1:3])
	mark(nil, false)
	mark(all[:3], false)
	same(t, "marked", dirty(cms.NoID, 10), all[3:])
	mark(all[1:2], true)
	same(t, "marked again", dirty(cms.NoID, 10), []cms.ID{all[1], all[3]})
	same(t, "beside", value(store.Page(t.Context(), site.ID, cms.Draft, all[2]))(t), pages[2])
	edited := localize(pages[2], french, titlePatch("Autre"))
	write(t, store, func(tx cms.Tx) error { return tx.UpdatePage(t.Context(), pages[2], edited) })
	same(t, "edited", dirty(cms.NoID, 10), all[1:])
	putLive(t, store, pages[0])
	same(t, "the live version is not", dirty(cms.NoID, 10), all[1:])

	write(t, store, func(tx cms.Tx) error { return tx.MarkPages(t.Context(), site.ID, all[:3], new(later(7)), false) })
	edited.PublishedAt = new(later(7))
	same(t, "publishedAt", value(store.Page(t.Context(), site.ID, cms.Draft, all[2]))(t), edited)
	same(t, "of another page", value(store.Page(t.Context(), site.ID, cms.Draft, all[3]))(t), pages[3])
	same(t, "in another site", value(store.DirtyPages(t.Context(), other.SiteID, cms.NoID, 10))(t), []cms.ID{other.ID})
}

// liveAsDrafts makes pages live, and changes them, by what their drafts have.
func liveAsDrafts(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	h := history{site: site, french: french, german: german}
	full, plain, other := fullPage(site.ID, french, german), newPage(site.ID, "/plain"), newPage(site.ID, "/other")
	createPages(t, store, full, plain, other)
	publish := func(seq int64, before map[cms.ID]*cms.Page, drafts ...cms.Page) map[cms.ID]*cms.Page {
		changes, after := []cms.PageChange{}, map[cms.ID]*cms.Page{}
		for _, p := range drafts {
			p.Version, p.Since, p.PublishedAt = cms.Live, seq, new(later(int(seq)))
			after[p.ID] = &p
			changes = append(changes, cms.PageChange{Before: before[p.ID], After: &p, AsDraft: true})
		}
		write(t, store, func(tx cms.Tx) error { return tx.ReplaceLive(t.Context(), site.ID, seq, changes) })
		return after
	}
	first := publish(1, nil, full, plain)
	edited := localize(titlePatch("Second").Apply(full, cms.NoID).Delocalize(german), french, titlePatch("Deux"))
	edited.UpdatedAt = later(100)
	translated := localize(plain, german, pathnamePatch("/schlicht"))
	write(t, store, func(tx cms.Tx) error {
		return tx.UpdatePages(t.Context(), []cms.PageChange{{Before: &full, After: &edited}, {Before: &plain, After: &translated}})
	})
	second := publish(2, first, edited, translated)
	for version, want := range map[cms.Version][]cms.Page{
		cms.AfterPublish(1): {*first[full.ID], *first[plain.ID]},
		cms.Live:            {*second[full.ID], *second[plain.ID]},
		cms.Draft:           {edited, translated, other},
	} {
		for _, p := range want {
			same(t, "Page", value(store.Page(t.Context(), site.ID, version, p.ID))(t), p)
		}
		checkPastLists(t, store, h, version, want)
	}
	_, err := store.Page(t.Context(), site.ID, cms.Live, other.ID)
	wantNotFound(t, "a page that was not published", cms.KindPage, err)
	same(t, "that may differ", value(store.DirtyPages(t.Context(), site.ID, cms.NoID, 10))(t), cms.SortIDs([]cms.ID{full.ID, plain.ID, other.ID}))
}
