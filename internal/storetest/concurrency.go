package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/service"
)

// race runs n calls concurrently and returns their errors.
func race(n int, call func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			<-start
			errs[i] = call(i)
		})
	}
	close(start)
	running.Wait()
	return errs
}

// office is a service on a store, with a caller that may do everything in a
// site of its own.
type office struct {
	*service.Service
	who  service.Caller
	site cms.Site
}

func newOffice(t *testing.T, store cms.Store) office {
	t.Helper()
	site := aSite(t, store)
	app := newApp(site.WorkspaceID)
	createApp(t, store, app)
	shared, ok := store.(service.Store)
	if !ok {
		t.Fatalf("%T does not notify other nodes", store)
	}
	return office{service.New(shared, time.Now, func(any) []byte { return []byte("{}") }), service.Caller{App: &app}, site}
}

func (o office) create(t *testing.T, pathname string) (cms.ID, error) {
	page, err := o.CreatePage(t.Context(), o.who, service.Given(cms.NewPage{SiteID: cms.Some(o.site.ID), PagePatch: pathnamePatch(pathname)}))
	return page.ID, err
}

func (o office) patch(t *testing.T, id cms.ID, locale string, patch cms.PagePatch) error {
	_, err := o.UpdatePage(t.Context(), o.who, service.Ref{ID: id}, locale,
		func(bool) (cms.PagePatch, error) { return patch, nil }, nil)
	return err
}

// rivals are the ways to take a pathname. Each prepares its move for one that
// is free.
var rivals = []struct {
	name    string
	prepare func(t *testing.T, o office, pathname string) func() error
}{
	{"another new page", func(t *testing.T, o office, pathname string) func() error {
		return func() error { _, err := o.create(t, pathname); return err }
	}},
	{"a localized pathname", func(t *testing.T, o office, pathname string) func() error {
		id := value(o.create(t, "/other"))(t)
		return func() error { return o.patch(t, id, "fr", pathnamePatch(pathname)) }
	}},
	{"a page that moves", func(t *testing.T, o office, pathname string) func() error {
		id := value(o.create(t, "/other"))(t)
		return func() error { return o.patch(t, id, "", pathnamePatch(pathname)) }
	}},
	{"a page that comes back", func(t *testing.T, o office, pathname string) func() error {
		id := value(o.create(t, pathname))(t)
		must(t, o.DeletePage(t.Context(), o.who, service.Ref{ID: id}, "", nil))
		return func() error { _, err := o.RestorePage(t.Context(), o.who, id, nil); return err }
	}},
	{"a new route", func(t *testing.T, o office, pathname string) func() error {
		in := service.Given(cms.NewRoute{SiteID: cms.Some(o.site.ID), RoutePatch: cms.RoutePatch{Pathname: cms.Some(pathname)}})
		return func() error { _, err := o.CreateRoute(t.Context(), o.who, in); return err }
	}},
	{"a locale that comes back", func(t *testing.T, o office, pathname string) func() error {
		id := value(o.create(t, "/other"))(t)
		french := service.Ref{Name: "fr", SiteID: o.site.ID}
		must(t, o.patch(t, id, "fr", pathnamePatch(pathname)))
		must(t, o.DeleteLocale(t.Context(), o.who, french, nil))
		return func() error { _, err := o.RestoreLocale(t.Context(), o.who, french, nil); return err }
	}},
}

// racePathname lets a new page race with whatever else can take a pathname.
// The new page would be met under it in every locale, so one of the two must
// be refused.
func racePathname(t *testing.T, store cms.Store) {
	const rounds = 50
	for _, rival := range rivals {
		t.Run(rival.name, func(t *testing.T) {
			for round := range rounds {
				o := newOffice(t, store)
				aLocale(t, store, o.site.ID, "fr")
				move := rival.prepare(t, o, "/x")
				checkOneWins(t, race(2, func(i int) error {
					if i == round%2 { // neither has the better start
						return move()
					}
					_, err := o.create(t, "/x")
					return err
				}))
			}
		})
	}
}

func checkOneWins(t *testing.T, errs []error) {
	t.Helper()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, cms.ErrPathnameTaken):
			t.Errorf("got %v, want %v", err, cms.ErrPathnameTaken)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d got the pathname, want 1", won, len(errs))
	}
}

func raceWriters(t *testing.T, store cms.Store) {
	const writers, pages = 64, 4
	o := newOffice(t, store)
	errs := race(writers, func(i int) error {
		for n := range pages {
			id, err := o.create(t, fmt.Sprintf("/%02d/%d", i, n))
			if err != nil {
				return err
			}
			if err := o.patch(t, id, "", titlePatch(strconv.Itoa(i))); err != nil {
				return err
			}
		}
		return nil
	})
	for _, err := range errs {
		must(t, err)
	}
	rows := listed(t, store, cms.PageQuery{SiteID: o.site.ID, Sort: cms.SortPath})
	if len(rows) != writers*pages {
		t.Fatalf("%d pages are there, want %d", len(rows), writers*pages)
	}
	for i, row := range rows {
		same(t, "title of "+row.Values.Pathname, row.Values.Title, new(strconv.Itoa(i/pages)))
	}
}

// raceCounters adds one to a number in a row, again and again, from many
// sides. Who reads it before another's write is committed loses that write.
func raceCounters(t *testing.T, store cms.Store) {
	const sides, times = 16, 8
	site := aSite(t, store)
	app, page, route := newApp(site.WorkspaceID), newPage(site.ID, "/p"), newRoute(site.ID, "0")
	page.Title = new("0")
	app.Name = "0"
	site.Name = "0"
	createApp(t, store, app)
	createPages(t, store, page)
	createRoutes(t, store, route)
	write(t, store, func(tx cms.Tx) error { return tx.UpdateSite(t.Context(), site) })

	plusOne := func(s *string) {
		n, _ := strconv.Atoi(*s)
		*s = strconv.Itoa(n + 1)
	}
	for _, c := range []struct {
		name string
		add  func(tx cms.Tx) error
		read func() (string, error)
	}{
		{"page", func(tx cms.Tx) error {
			before, err := tx.LockPage(t.Context(), site.ID, cms.Draft, page.ID)
			if err != nil {
				return err
			}
			after := before
			after.Title = new(*before.Title)
			plusOne(after.Title)
			return tx.UpdatePage(t.Context(), before, after)
		}, func() (string, error) {
			p, err := store.Page(t.Context(), site.ID, cms.Draft, page.ID)
			return *p.Title, err
		}},
		{"app", func(tx cms.Tx) error {
			a, err := tx.LockApp(t.Context(), app.WorkspaceID, app.ID)
			if err != nil {
				return err
			}
			plusOne(&a.Name)
			return tx.UpdateApp(t.Context(), a)
		}, func() (string, error) { a, err := store.AppOf(t.Context(), app.ID); return a.Name, err }},
		{"route", func(tx cms.Tx) error {
			r, err := tx.LockRoute(t.Context(), site.ID, route.ID)
			if err != nil {
				return err
			}
			plusOne(&r.Pathname)
			return tx.UpdateRoute(t.Context(), r)
		}, func() (string, error) { r, err := store.Route(t.Context(), site.ID, route.ID); return r.Pathname, err }},
		{"site", func(tx cms.Tx) error {
			s, err := tx.LockSite(t.Context(), site.ID, cms.LockExclusive)
			if err != nil {
				return err
			}
			plusOne(&s.Name)
			return tx.UpdateSite(t.Context(), s)
		}, func() (string, error) { s, err := store.Site(t.Context(), site.ID); return s.Name, err }},
	} {
		for _, err := range race(sides, func(int) error {
			for range times {
				if err := store.InTx(t.Context(), c.add); err != nil {
					return err
				}
			}
			return nil
		}) {
			must(t, err)
		}
		same(t, c.name, value(c.read())(t), strconv.Itoa(sides*times))
	}
}
