package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
)

var errAbandoned = errors.New("abandoned")

func txRollback(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	kept := newPage(site.ID, "/kept")
	createPages(t, store, kept)
	page, route := newPage(site.ID, "/p"), newRoute(site.ID, "/r")
	err := store.InTx(t.Context(), func(tx cms.Tx) error {
		renamed := site
		renamed.Name = "Renamed"
		gone := kept
		gone.DeletedAt = new(at)
		return errors.Join(
			tx.UpdateSite(t.Context(), renamed), tx.UpdatePage(t.Context(), kept, gone),
			tx.ReleasePathnames(t.Context(), site.ID, kept.Claims(nil)),
			tx.CreatePages(t.Context(), page), tx.CreateRoute(t.Context(), route),
			tx.TakePathnames(t.Context(), site.ID, route.Claims()), errAbandoned)
	})
	if !errors.Is(err, errAbandoned) {
		t.Fatalf("the callback's error is not what InTx returns: %v", err)
	}
	same(t, "Site", value(store.Site(t.Context(), site.ID))(t), site)
	same(t, "Page", value(store.Page(t.Context(), site.ID, cms.Draft, kept.ID))(t), kept)
	_, err = store.SiteOf(t.Context(), cms.KindPage, page.ID)
	wantNotFound(t, "SiteOf the page", cms.KindPage, err)
	_, err = store.Route(t.Context(), site.ID, route.ID)
	wantNotFound(t, "the route", cms.KindRoute, err)
	same(t, "claims", allClaims(t, store, site.ID, "/kept", "/p", "/r"), kept.Claims(nil))
}

func txPanic(t *testing.T, store cms.Store) {
	w := cms.Workspace{ID: cms.NewID(), Name: "W", CreatedAt: at}
	for range 40 { // more often than any pool has connections
		func() {
			defer func() { _ = recover() }()
			_ = store.InTx(t.Context(), func(tx cms.Tx) error {
				if err := tx.CreateWorkspace(t.Context(), w); err != nil {
					return err
				}
				panic("on purpose")
			})
			t.Error("the panic was swallowed")
		}()
		func() {
			defer func() { _ = recover() }()
			_ = store.View(t.Context(), func(cms.Reader) error { panic("on purpose") })
			t.Error("the panic was swallowed")
		}()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := store.Workspace(ctx, w.ID)
	wantNotFound(t, "what was written before the panic", cms.KindWorkspace, err)
	must(t, store.InTx(ctx, func(tx cms.Tx) error { return tx.CreateWorkspace(ctx, w) }))
}

func txReadsOwnWrites(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	page, route := newPage(site.ID, "/p"), newRoute(site.ID, "/r")
	write(t, store, func(tx cms.Tx) error {
		if err := errors.Join(tx.CreatePages(t.Context(), page), tx.CreateRoute(t.Context(), route),
			tx.TakePathnames(t.Context(), site.ID, page.Claims(nil))); err != nil {
			return err
		}
		same(t, "Page", value(tx.Page(t.Context(), site.ID, cms.Draft, page.ID))(t), page)
		same(t, "Route", value(tx.Route(t.Context(), site.ID, route.ID))(t), route)
		same(t, "SiteOf", value(tx.SiteOf(t.Context(), cms.KindPage, page.ID))(t), site.ID)
		same(t, "Claims", value(tx.Claims(t.Context(), site.ID, cms.Draft, []string{"/p"}))(t), page.Claims(nil))
		rows := rowsOf(t, tx, cms.PageQuery{SiteID: site.ID, Sort: cms.SortPath, Limit: 10})
		same(t, "Pages", pathnames(rows), []string{"/p"})
		return nil
	})
}

func txReaders(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	renamed := site
	renamed.Name = "Renamed"
	write(t, store, func(tx cms.Tx) error {
		if _, err := tx.LockSite(ctx, site.ID, cms.LockExclusive); err != nil {
			return err
		}
		if err := tx.UpdateSite(ctx, renamed); err != nil {
			return err
		}
		same(t, "read beside", value(store.Site(ctx, site.ID))(t), site)
		return store.View(ctx, func(r cms.Reader) error {
			same(t, "viewed beside", value(r.Site(ctx, site.ID))(t), site)
			return nil
		})
	})
	same(t, "read after", value(store.Site(ctx, site.ID))(t), renamed)
}

func txView(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	page := newPage(site.ID, "/p")
	createPages(t, store, page)
	q := cms.PageQuery{SiteID: site.ID, Sort: cms.SortPath, Limit: 10}
	must(t, store.View(t.Context(), func(r cms.Reader) error {
		before := rowsOf(t, r, q)
		gone := page
		gone.DeletedAt = new(at)
		renamed := site
		renamed.Name = "Renamed"
		write(t, store, func(tx cms.Tx) error {
			return errors.Join(tx.UpdatePage(t.Context(), page, gone), tx.UpdateSite(t.Context(), renamed),
				tx.CreatePages(t.Context(), newPage(site.ID, "/new")))
		})
		same(t, "Pages", rowsOf(t, r, q), before)
		same(t, "Page", value(r.Page(t.Context(), site.ID, cms.Draft, page.ID))(t), page)
		same(t, "Site", value(r.Site(t.Context(), site.ID))(t), site)
		return nil
	}))
	same(t, "Pages afterwards", pathnames(rowsOf(t, store, q)), []string{"/new"})

	if err := store.View(t.Context(), func(cms.Reader) error { return errAbandoned }); !errors.Is(err, errAbandoned) {
		t.Errorf("the callback's error is not what View returns: %v", err)
	}
}

func txCanceled(t *testing.T, store cms.Store) {
	w := cms.Workspace{ID: cms.NewID(), Name: "W", CreatedAt: at}
	before, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := store.Workspaces(before)
	wantCode(t, "read", cms.CodeUnavailable, err)
	err = store.View(before, func(cms.Reader) error { return nil })
	wantCode(t, "view", cms.CodeUnavailable, err)
	err = store.InTx(before, func(tx cms.Tx) error { return tx.CreateWorkspace(before, w) })
	wantCode(t, "transaction", cms.CodeUnavailable, err)

	midway, cancel := context.WithCancel(t.Context())
	err = store.InTx(midway, func(tx cms.Tx) error {
		err := tx.CreateWorkspace(midway, w)
		cancel()
		return err
	})
	wantCode(t, "canceled before the commit", cms.CodeUnavailable, err)
	_, err = store.Workspace(t.Context(), w.ID)
	wantNotFound(t, "what was written before", cms.KindWorkspace, err)
}

func txPing(t *testing.T, store cms.Store) {
	must(t, store.Ping(t.Context()))
}

func txValues(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	keep := func(what string, change func(p *cms.Page)) {
		t.Helper()
		p := newPage(site.ID, "/"+cms.NewID().String())
		change(&p)
		createPages(t, store, p)
		same(t, what, value(store.Page(t.Context(), site.ID, cms.Draft, p.ID))(t), p)
	}
	for _, text := range []string{
		"", " ", "'", `"`, `\`, `\x00`, "?", "$1", "%s", "%_", "null", "0", "1e3", "-- ", "a\tb\nc\r\n", "\x01\x7f\u0085",
		"e\u0301 is not é", "\uFEFFbom", "\u202Eoverride", "\uFFFD\uFFFE\uFFFF", "\U0001F468\u200D\U0001F469", "\U0010FFFF",
		strings.Repeat("long \U0001F4DA ", 20_000),
	} {
		keep(fmt.Sprintf("text %.40q", text), func(p *cms.Page) {
			p.Name, p.Description, p.CanonicalURL, p.SocialImageURL = &text, &text, &text, &text
		})
	}
	for _, title := range []string{"", "~", "=", "é", "\U0001F4DA"} {
		keep(fmt.Sprintf("title %q", title), func(p *cms.Page) { p.Title = &title })
	}
	for _, n := range []float64{0, 1, 0.1, 0.5, 1.0 / 3, 0.1 + 0.2, math.Nextafter(1, 0), math.SmallestNonzeroFloat64, 1e-17} {
		keep(fmt.Sprintf("number %g", n), func(p *cms.Page) { p.SitemapPriority = &n })
	}
	for _, moment := range []time.Time{
		time.UnixMilli(0), time.UnixMilli(1), time.UnixMilli(-1), time.UnixMilli(1_699_999_999_999),
		time.Date(1, 1, 1, 0, 0, 0, 1_000_000, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
	} {
		keep("time "+moment.String(), func(p *cms.Page) {
			p.CreatedAt, p.UpdatedAt, p.PublishedAt = moment.UTC(), moment.UTC(), new(moment.UTC())
		})
	}
}
