package storetest

import (
	"slices"
	"testing"

	"galley/internal/cms"
)

func localeKept(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	full := newLocale(site.ID, "fr")
	full.Domain, full.PathPrefix = new("https://fr.example.com"), new("française")
	root, gone := newLocale(site.ID, "de"), newLocale(site.ID, "it")
	root.PathPrefix = new("")
	gone.DeletedAt = new(later(1))
	aLocale(t, store, other.ID, "fr")
	want := cms.Locales{site.DefaultLocale, full, root, gone}
	write(t, store, func(tx cms.Tx) error {
		return each([]int{3, 1, 2}, func(i int) error { return tx.CreateLocale(t.Context(), want[i]) })
	})
	same(t, "Locales", value(store.Locales(t.Context(), site.ID))(t), want)
	sameList(t, "Locales of an unknown site", value(store.Locales(t.Context(), cms.NewID()))(t), nil)
}

// localeConflicts holds that a code is unique in a site, at any origin and path
// prefix. Where locales are served is for the service to check.
func localeConflicts(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	french, german := newLocale(site.ID, "fr"), newLocale(site.ID, "de")
	french.Domain = new("https://fr.example.com")
	german.Domain = french.Domain
	write(t, store, func(tx cms.Tx) error {
		return each([]cms.Locale{french, german}, func(l cms.Locale) error { return tx.CreateLocale(t.Context(), l) })
	})
	twin := newLocale(site.ID, "fr")
	twin.PathPrefix = new("other")
	err := store.InTx(t.Context(), func(tx cms.Tx) error { return tx.CreateLocale(t.Context(), twin) })
	wantCode(t, "create", cms.CodeConflict, err)
	german.Code = "fr"
	err = store.InTx(t.Context(), func(tx cms.Tx) error { return tx.UpdateLocale(t.Context(), german) })
	wantCode(t, "update", cms.CodeConflict, err)
}

func localeNoConflicts(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	holder := newLocale(site.ID, "fr")
	holder.Domain, holder.PathPrefix = new("https://fr.example.com"), new("fr-x")
	twin := func(siteID cms.ID) cms.Locale {
		l := holder
		l.ID, l.SiteID, l.DeletedAt = cms.NewID(), siteID, nil
		return l
	}
	write(t, store, func(tx cms.Tx) error { return tx.CreateLocale(t.Context(), holder) })
	write(t, store, func(tx cms.Tx) error { return tx.CreateLocale(t.Context(), twin(other.ID)) })

	holder.DeletedAt = new(at)
	write(t, store, func(tx cms.Tx) error { return tx.UpdateLocale(t.Context(), holder) })
	write(t, store, func(tx cms.Tx) error { return tx.CreateLocale(t.Context(), twin(site.ID)) })

	holder.DeletedAt = nil
	err := store.InTx(t.Context(), func(tx cms.Tx) error { return tx.UpdateLocale(t.Context(), holder) })
	wantCode(t, "coming back to what is taken", cms.CodeConflict, err)
}

func localeUpdate(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	l, bystander := newLocale(site.ID, "fr"), newLocale(site.ID, "de")
	l.Domain = new("https://fr.example.com")
	write(t, store, func(tx cms.Tx) error {
		return each([]cms.Locale{l, bystander}, func(l cms.Locale) error { return tx.CreateLocale(t.Context(), l) })
	})
	changed := l
	changed.Code, changed.Domain, changed.PathPrefix, changed.DeletedAt = "fr-CA", nil, new(""), new(later(1))
	for _, want := range []cms.Locale{changed, l} {
		write(t, store, func(tx cms.Tx) error { return tx.UpdateLocale(t.Context(), want) })
		same(t, "Locales", value(store.Locales(t.Context(), site.ID))(t), cms.Locales{site.DefaultLocale, want, bystander})
	}
}

// allClaims are the claims on some pathnames in both versions, in a fixed
// order.
func allClaims(t *testing.T, store cms.Store, siteID cms.ID, pathnames ...string) []cms.Claim {
	t.Helper()
	claims := append(value(store.Claims(t.Context(), siteID, cms.Draft, pathnames))(t),
		value(store.Claims(t.Context(), siteID, cms.Live, pathnames))(t)...)
	sortClaims(claims)
	return claims
}

func sortClaims(claims []cms.Claim) {
	slices.SortFunc(claims, func(a, b cms.Claim) int {
		if a.Version != b.Version {
			return int(a.Version) - int(b.Version)
		}
		if a.Pathname != b.Pathname {
			return slices.Compare([]byte(a.Pathname), []byte(b.Pathname))
		}
		return cms.CompareIDs(a.LocaleID, b.LocaleID)
	})
}

func localeHideShow(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	french, german, foreign := aLocale(t, store, site.ID, "fr"), aLocale(t, store, site.ID, "de"), aLocale(t, store, other.ID, "fr")
	own := localize(localize(newPage(site.ID, "/own"), french, pathnamePatch("/propre")), german, pathnamePatch("/eigen"))
	titled := localize(newPage(site.ID, "/titled"), french, titlePatch("Titre"))
	offline := localize(newPage(site.ID, "/offline"), french, pathnamePatch("/hors-ligne"))
	offline.IsOnline = false
	offline = localize(offline, french, cms.PagePatch{}) // inherits it
	gone := localize(newPage(site.ID, "/gone"), french, pathnamePatch("/parti"))
	gone.DeletedAt = new(later(1))
	createPages(t, store, own, titled, offline, gone, localize(newPage(other.ID, "/own"), foreign, pathnamePatch("/propre")))
	putLive(t, store, own)
	names := []string{"/own", "/propre", "/eigen", "/titled", "/offline", "/hors-ligne", "/gone", "/parti"}
	before, elsewhere := allClaims(t, store, site.ID, names...), allClaims(t, store, other.ID, names...)
	if len(before) != 9 { // own: three twice; titled: one; offline: two
		t.Fatalf("the pages hold %s", show(before))
	}

	write(t, store, func(tx cms.Tx) error { return tx.HideLocale(t.Context(), site.ID, french) })
	kept := slices.DeleteFunc(slices.Clone(before), func(c cms.Claim) bool { return c.LocaleID == french })
	same(t, "hidden", allClaims(t, store, site.ID, names...), kept)
	same(t, "another site's", allClaims(t, store, other.ID, names...), elsewhere)
	same(t, "the page keeps what is hidden", value(store.Page(t.Context(), site.ID, cms.Draft, own.ID))(t), own)

	write(t, store, func(tx cms.Tx) error { return tx.ShowLocale(t.Context(), site.ID, french) })
	same(t, "shown", allClaims(t, store, site.ID, names...), before)
}

func localeShowConflicts(t *testing.T, store cms.Store) {
	for _, c := range []struct {
		name  string
		after func(siteID, french, german cms.ID) (pages, live []cms.Page, routes []cms.Route)
		taken bool
	}{
		{"nothing", func(_, _, _ cms.ID) ([]cms.Page, []cms.Page, []cms.Route) { return nil, nil, nil }, false},
		{"a page that inherits the pathname", func(site, _, _ cms.ID) ([]cms.Page, []cms.Page, []cms.Route) {
			return []cms.Page{newPage(site, "/x")}, nil, nil
		}, true},
		{"a page that overrides another field", func(site, french, _ cms.ID) ([]cms.Page, []cms.Page, []cms.Route) {
			return []cms.Page{localize(newPage(site, "/x"), french, titlePatch("T"))}, nil, nil
		}, true},
		{"a page that has another pathname there", func(site, french, _ cms.ID) ([]cms.Page, []cms.Page, []cms.Route) {
			return []cms.Page{localize(newPage(site, "/x"), french, pathnamePatch("/y"))}, nil, nil
		}, false},
		{"a page that has it in a third locale", func(site, _, german cms.ID) ([]cms.Page, []cms.Page, []cms.Route) {
			return []cms.Page{localize(newPage(site, "/z"), german, pathnamePatch("/x"))}, nil, nil
		}, false},
		{"a page that came back with the same pathname of its own", func(site, french, _ cms.ID) ([]cms.Page, []cms.Page, []cms.Route) {
			return []cms.Page{localize(newPage(site, "/z"), french, pathnamePatch("/x"))}, nil, nil
		}, true},
		{"a deleted page", func(site, french, _ cms.ID) ([]cms.Page, []cms.Page, []cms.Route) {
			p := localize(newPage(site, "/z"), french, pathnamePatch("/x"))
			p.DeletedAt = new(at)
			return []cms.Page{p}, nil, nil
		}, false},
		{"a page in the live version", func(site, _, _ cms.ID) ([]cms.Page, []cms.Page, []cms.Route) {
			p := newPage(site, "/live-x")
			q := p
			q.Pathname = "/x-live"
			return []cms.Page{p}, []cms.Page{q}, nil
		}, true},
		{"a route", func(site, _, _ cms.ID) ([]cms.Page, []cms.Page, []cms.Route) {
			return nil, nil, []cms.Route{newRoute(site, "/x")}
		}, true},
	} {
		site := aSite(t, store)
		french, german := aLocale(t, store, site.ID, "fr"), aLocale(t, store, site.ID, "de")
		hidden := localize(newPage(site.ID, "/hidden"), french, pathnamePatch("/x"))
		createPages(t, store, hidden)
		putLive(t, store, localize(hidden, french, pathnamePatch("/x-live")))
		locale, _ := value(store.Locales(t.Context(), site.ID))(t).ByID(french)
		locale.DeletedAt = new(at)
		write(t, store, func(tx cms.Tx) error {
			if err := tx.UpdateLocale(t.Context(), locale); err != nil {
				return err
			}
			return tx.HideLocale(t.Context(), site.ID, french)
		})
		pages, live, routes := c.after(site.ID, french, german)
		createPages(t, store, pages...)
		putLive(t, store, live...)
		createRoutes(t, store, routes...)

		err := store.InTx(t.Context(), func(tx cms.Tx) error { return tx.ShowLocale(t.Context(), site.ID, french) })
		if c.taken {
			wantTaken(t, c.name, err)
		} else if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
