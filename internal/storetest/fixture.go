package storetest

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"galley/internal/cms"
)

// at is when things happen that no test has an opinion about.
var at = time.Date(2026, 3, 1, 12, 30, 15, 123_000_000, time.UTC)

// later is some minutes after at.
func later(minutes int) time.Time { return at.Add(time.Duration(minutes) * time.Minute) }

// same fails unless two values are deeply equal.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", what, show(got), show(want))
	}
}

// sameList is same for lists, which may be nil when they are empty.
func sameList[T any](t *testing.T, what string, got, want []T) {
	t.Helper()
	if len(got) > 0 || len(want) > 0 {
		same(t, what, got, want)
	}
}

// show follows pointers, which %v does not.
func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// must fails the test at once.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// value is the result of a call that has to succeed.
func value[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// wantNotFound checks that a call answered NotFound of a kind.
func wantNotFound(t *testing.T, what string, kind cms.Kind, err error) {
	t.Helper()
	got, ok := errors.AsType[*cms.Error](err)
	if !ok || got.Code != cms.CodeNotFound || got.Message != cms.NotFound(kind).Message {
		t.Errorf("%s: got %v, want %v", what, err, cms.NotFound(kind))
	}
}

func wantCode(t *testing.T, what string, code cms.Code, err error) {
	t.Helper()
	if cms.CodeOf(err) != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

func wantTaken(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, cms.ErrPathnameTaken) {
		t.Errorf("%s: got %v, want %v", what, err, cms.ErrPathnameTaken)
	}
}

// write runs a transaction that has to succeed.
func write(t *testing.T, store cms.Store, do func(tx cms.Tx) error) {
	t.Helper()
	must(t, store.InTx(t.Context(), do))
}

// each is a step of a transaction for each of some items.
func each[T any](items []T, do func(T) error) error {
	for _, item := range items {
		if err := do(item); err != nil {
			return err
		}
	}
	return nil
}

func aWorkspace(t *testing.T, store cms.Store) cms.ID {
	t.Helper()
	w := cms.Workspace{ID: cms.NewID(), Name: "Workspace", CreatedAt: at}
	write(t, store, func(tx cms.Tx) error { return tx.CreateWorkspace(t.Context(), w) })
	return w.ID
}

func newApp(workspaceID cms.ID) cms.App {
	return cms.App{
		ID: cms.NewID(), WorkspaceID: workspaceID, Name: "App", KeyHint: "abcd",
		Scopes: cms.Scopes, CreatedAt: at,
	}
}

// createApp stores an app and returns the hash of its key.
func createApp(t *testing.T, store cms.Store, a cms.App) cms.KeyHash {
	t.Helper()
	hash := cms.NewAppKey().Hash()
	write(t, store, func(tx cms.Tx) error { return tx.CreateApp(t.Context(), a, hash) })
	return hash
}

func newSite(workspaceID cms.ID) cms.Site {
	s := cms.Site{
		ID: cms.NewID(), WorkspaceID: workspaceID, Name: "Site", PublicAPIKey: cms.NewSiteKey(),
		KeyAccess: cms.AccessDraft, LocaleMode: cms.LocalesInternal, CreatedAt: at, UpdatedAt: at,
	}
	s.DefaultLocale = newLocale(s.ID, "en-US")
	s.DefaultLocaleID = s.DefaultLocale.ID
	return s
}

func createSite(t *testing.T, store cms.Store, sites ...cms.Site) {
	t.Helper()
	write(t, store, func(tx cms.Tx) error {
		return each(sites, func(s cms.Site) error {
			if err := tx.CreateSite(t.Context(), s); err != nil {
				return err
			}
			return tx.CreateLocale(t.Context(), s.DefaultLocale)
		})
	})
}

// aSite is a site of a workspace of its own.
func aSite(t *testing.T, store cms.Store) cms.Site {
	t.Helper()
	s := newSite(aWorkspace(t, store))
	createSite(t, store, s)
	return s
}

func newLocale(siteID cms.ID, code string) cms.Locale {
	return cms.Locale{ID: cms.NewID(), SiteID: siteID, Code: code, CreatedAt: at}
}

// aLocale is a locale of a site.
func aLocale(t *testing.T, store cms.Store, siteID cms.ID, code string) cms.ID {
	t.Helper()
	l := newLocale(siteID, code)
	write(t, store, func(tx cms.Tx) error { return tx.CreateLocale(t.Context(), l) })
	return l.ID
}

func newPage(siteID cms.ID, pathname string) cms.Page {
	p := cms.Page{ID: cms.NewID(), SiteID: siteID, CreatedAt: at, UpdatedAt: at, Localizations: map[cms.ID]cms.Localization{}}
	p.Pathname, p.IsOnline = pathname, true
	return p
}

// localize overrides some fields of a page in a locale.
func localize(p cms.Page, localeID cms.ID, patch cms.PagePatch) cms.Page {
	return patch.Apply(p, localeID)
}

func pathnamePatch(pathname string) cms.PagePatch {
	return cms.PagePatch{Pathname: cms.Some(&pathname)}
}

func titlePatch(title string) cms.PagePatch {
	return cms.PagePatch{Title: cms.Some(&title)}
}

// createPages stores pages with the pathnames that they hold.
func createPages(t *testing.T, store cms.Store, pages ...cms.Page) {
	t.Helper()
	writePages(t, store, pages, func(tx cms.Tx, p cms.Page) error { return tx.CreatePages(t.Context(), p) })
}

// putLive gives pages that are in the draft a live version.
func putLive(t *testing.T, store cms.Store, pages ...cms.Page) {
	t.Helper()
	pages = slices.Clone(pages)
	for i := range pages {
		pages[i].Version = cms.Live
	}
	writePages(t, store, pages, func(tx cms.Tx, p cms.Page) error { return tx.UpdatePage(t.Context(), cms.Page{}, p) })
}

func writePages(t *testing.T, store cms.Store, pages []cms.Page, do func(tx cms.Tx, p cms.Page) error) {
	t.Helper()
	locales := map[cms.ID]cms.Locales{}
	for _, p := range pages {
		if locales[p.SiteID] == nil {
			locales[p.SiteID] = value(store.Locales(t.Context(), p.SiteID))(t)
		}
	}
	write(t, store, func(tx cms.Tx) error {
		return each(pages, func(p cms.Page) error {
			if err := do(tx, p); err != nil {
				return err
			}
			return tx.TakePathnames(t.Context(), p.SiteID, p.Claims(locales[p.SiteID]))
		})
	})
}

func newRoute(siteID cms.ID, pathname string) cms.Route {
	return cms.Route{ID: cms.NewID(), SiteID: siteID, Pathname: pathname, CreatedAt: at}
}

// createRoutes stores routes with the pathnames that they hold.
func createRoutes(t *testing.T, store cms.Store, routes ...cms.Route) {
	t.Helper()
	write(t, store, func(tx cms.Tx) error {
		return each(routes, func(r cms.Route) error {
			if err := tx.CreateRoute(t.Context(), r); err != nil {
				return err
			}
			return tx.TakePathnames(t.Context(), r.SiteID, r.Claims())
		})
	})
}

// ids are the ids of some items, in their order.
func ids[T any](items []T, id func(T) cms.ID) []cms.ID {
	list := make([]cms.ID, len(items))
	for i, item := range items {
		list[i] = id(item)
	}
	return list
}

// appByKey is AppByKey for those who don't care when the key ends.
func appByKey(t *testing.T, store cms.Store, hash cms.KeyHash, now time.Time) (cms.App, error) {
	t.Helper()
	app, _, err := store.AppByKey(t.Context(), hash, now)
	return app, err
}

// siteByKey is SiteByKey for those who don't care when the key ends.
func siteByKey(t *testing.T, store cms.Store, key cms.ID, now time.Time) (cms.Site, error) {
	t.Helper()
	site, _, err := store.SiteByKey(t.Context(), key, now)
	return site, err
}
