package storetest

import (
	"testing"

	"galley/internal/cms"
)

// fullPage has a value in every field, and one of everything in two locales:
// an own value, an own null and an inherited value.
func fullPage(siteID, french, german cms.ID) cms.Page {
	p := newPage(siteID, "/über/uns")
	p.Name, p.Title, p.Description = new("Name"), new("Title"), new("")
	p.CanonicalURL, p.SocialImageURL = new("https://example.com/a?b=c"), new("https://example.com/i.png")
	p.SitemapPriority, p.SitemapFrequency = new(0.1), new(cms.Frequency("weekly"))
	p.IsOnline, p.ExcludedFromSearchEngines = false, new(true)
	p.Content = new(cms.NewContent([]byte(`{"full":true}`)).Digest)
	p.UpdatedAt, p.PublishedAt = later(1), new(later(2))
	p = localize(p, french, cms.PagePatch{
		Content: cms.Some(new(cms.NewContent([]byte(`{"plein":true}`)))), Title: cms.Some(new("Titre")), IsOnline: cms.Some(new(true)), ExcludedFromSearchEngines: cms.Some(new(false)),
	})
	p = localize(p, german, pathnamePatch("/über-uns"))
	ownNull := p.Localizations[german]
	ownNull.Own |= cms.FieldDescription | cms.FieldSitemapPriority | cms.FieldContent
	ownNull.Description, ownNull.SitemapPriority, ownNull.Content = nil, nil, nil
	p.Localizations[german] = ownNull
	return p
}

// twoLocales makes a site with locales beside the default one.
func twoLocales(t *testing.T, store cms.Store) (site cms.Site, french, german cms.ID) {
	t.Helper()
	site = aSite(t, store)
	return site, aLocale(t, store, site.ID, "fr"), aLocale(t, store, site.ID, "de")
}

func pageKept(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	for name, want := range map[string]cms.Page{
		"full": fullPage(site.ID, french, german),
		"bare": newPage(site.ID, "/bare"),
	} {
		createPages(t, store, want)
		same(t, name+": Page", value(store.Page(t.Context(), site.ID, cms.Draft, want.ID))(t), want)
		write(t, store, func(tx cms.Tx) error {
			locked, err := tx.LockPage(t.Context(), site.ID, cms.Draft, want.ID)
			same(t, name+": LockPage", locked, want)
			return err
		})
	}
}

func pageAbsent(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	page := newPage(site.ID, "/p")
	createPages(t, store, page)
	for _, c := range []struct {
		name       string
		siteID, id cms.ID
		version    cms.Version
	}{
		{"unknown", site.ID, cms.NewID(), cms.Draft},
		{"of another site", other.ID, page.ID, cms.Draft},
		{"never published", site.ID, page.ID, cms.Live},
	} {
		_, err := store.Page(t.Context(), c.siteID, c.version, c.id)
		wantNotFound(t, c.name, cms.KindPage, err)
		err = store.InTx(t.Context(), func(tx cms.Tx) error {
			_, err := tx.LockPage(t.Context(), c.siteID, c.version, c.id)
			return err
		})
		wantNotFound(t, c.name+", locked", cms.KindPage, err)
	}
}

func pageDeletedFound(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	page := fullPage(site.ID, french, german)
	createPages(t, store, page)
	gone := page
	gone.DeletedAt = new(later(3))
	write(t, store, func(tx cms.Tx) error { return tx.UpdatePage(t.Context(), page, gone) })
	same(t, "Page", value(store.Page(t.Context(), site.ID, cms.Draft, page.ID))(t), gone)
	same(t, "SiteOf", value(store.SiteOf(t.Context(), cms.KindPage, page.ID))(t), site.ID)
	for _, locale := range []cms.ID{cms.NoID, french, german} {
		sameList(t, "listed", listed(t, store, cms.PageQuery{SiteID: site.ID, LocaleID: locale, IncludeOffline: true}), nil)
	}

	write(t, store, func(tx cms.Tx) error { return tx.UpdatePage(t.Context(), gone, page) })
	same(t, "Page restored", value(store.Page(t.Context(), site.ID, cms.Draft, page.ID))(t), page)
}

func pageVersions(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	draft := fullPage(site.ID, french, german)
	live := draft
	live.Version, live.Title = cms.Live, new("As published")
	createPages(t, store, draft)
	putLive(t, store, live)
	same(t, "draft", value(store.Page(t.Context(), site.ID, cms.Draft, draft.ID))(t), draft)
	same(t, "live", value(store.Page(t.Context(), site.ID, cms.Live, draft.ID))(t), live)
	same(t, "SiteOf", value(store.SiteOf(t.Context(), cms.KindPage, draft.ID))(t), site.ID)
}

func pageUpdate(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	full := fullPage(site.ID, french, german)
	bare := newPage(site.ID, "/other")
	bare.ID = full.ID
	bystander := newPage(site.ID, "/bystander")
	live := full
	live.Version = cms.Live
	createPages(t, store, full, bystander)
	putLive(t, store, live)

	for _, step := range []struct{ before, after cms.Page }{{full, bare}, {bare, full}, {full, full}} {
		write(t, store, func(tx cms.Tx) error { return tx.UpdatePage(t.Context(), step.before, step.after) })
		same(t, "Page", value(store.Page(t.Context(), site.ID, cms.Draft, full.ID))(t), step.after)
	}
	same(t, "live version", value(store.Page(t.Context(), site.ID, cms.Live, full.ID))(t), live)
	same(t, "another page", value(store.Page(t.Context(), site.ID, cms.Draft, bystander.ID))(t), bystander)
}

func pageUpdateLocalizations(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	page := newPage(site.ID, "/p")
	both := localize(localize(page, french, titlePatch("Titre")), german, titlePatch("Titel"))
	createPages(t, store, page)
	before := page
	for _, step := range []struct {
		name  string
		after cms.Page
	}{
		{"added", both},
		{"one changed", localize(both, french, titlePatch("Autre"))},
		{"one removed", both.Delocalize(french)},
		{"the other removed, one added", both.Delocalize(german)},
		{"a default that both inherit", pathnamePatch("/moved").Apply(both, cms.NoID)},
		{"all removed", page},
	} {
		write(t, store, func(tx cms.Tx) error { return tx.UpdatePage(t.Context(), before, step.after) })
		same(t, step.name, value(store.Page(t.Context(), site.ID, cms.Draft, page.ID))(t), step.after)
		before = step.after
	}
}

func pagePaths(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	own := localize(newPage(site.ID, "/own"), french, pathnamePatch("/propre"))
	both := localize(localize(newPage(site.ID, "/both"), french, titlePatch("Titre")), german, pathnamePatch("/beide"))
	plain := newPage(site.ID, "/plain")
	createPages(t, store, own, both, plain)
	putLive(t, store, localize(own, french, pathnamePatch("/publié")))
	write(t, store, func(tx cms.Tx) error { return tx.HideLocale(t.Context(), site.ID, french) })

	for _, locale := range []cms.ID{cms.NoID, french, german} {
		q := cms.PageQuery{SiteID: site.ID, LocaleID: locale, Sort: cms.SortPath, Limit: 10}
		same(t, "draft", pathsOf(t, store, q), map[cms.ID]map[cms.ID]string{
			own.ID:   {french: "/propre"},
			both.ID:  {french: "/both", german: "/beide"},
			plain.ID: nil,
		})
		q.Version = cms.Live
		same(t, "live", pathsOf(t, store, q), map[cms.ID]map[cms.ID]string{own.ID: {french: "/publié"}})
		for _, l := range value(store.Pages(t.Context(), q, false))(t) {
			if l.Paths != nil {
				t.Errorf("paths that were not asked for: %s", show(l.Paths))
			}
		}
	}
}

// pathsOf are the pathnames of a list's pages in locales that override
// something, by page and locale.
func pathsOf(t *testing.T, store cms.Store, q cms.PageQuery) map[cms.ID]map[cms.ID]string {
	t.Helper()
	paths := map[cms.ID]map[cms.ID]string{}
	for _, l := range value(store.Pages(t.Context(), q, true))(t) {
		paths[l.ID] = l.Paths
	}
	return paths
}

func pageLocalized(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	var pages []cms.Page
	for _, pathname := range []string{"/a", "/b", "/c"} {
		pages = append(pages, localize(newPage(site.ID, pathname), french, titlePatch("T")))
	}
	pages[1].DeletedAt = new(at)
	want := ids(pages, func(p cms.Page) cms.ID { return p.ID })
	pages = append(pages, localize(newPage(site.ID, "/d"), german, titlePatch("T")), newPage(site.ID, "/e"))
	createPages(t, store, pages...)
	putLive(t, store, pages[0])

	get := func(version cms.Version, locale cms.ID) []cms.ID {
		t.Helper()
		return value(store.LocalizedPages(t.Context(), site.ID, version, locale))(t)
	}
	same(t, "draft", get(cms.Draft, french), want)
	same(t, "live", get(cms.Live, french), want[:1])
	sameList(t, "of a locale with none", get(cms.Draft, site.DefaultLocaleID), nil)
}
