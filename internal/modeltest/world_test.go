package modeltest

import (
	"context"
	"flag"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/pgtest"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

// Unless the command line says otherwise a run is short. For a long one:
//
//	go test ./internal/modeltest -rapid.checks=2000 -rapid.steps=60 -timeout 2h
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "14", "rapid.steps": "25", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(pgtest.Run(m))
}

// guard is low, so that few pages are enough to reach it.
var guard = Guard{Share: 0.5, Pages: 3}

const maxSites = 2

// clock is a clock that only tests move.
type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time { return time.UnixMilli(c.ms.Load()).UTC() }

func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// engine is a service on a real store, shared by many worlds.
type engine struct {
	store *sqlstore.Store
	svc   *service.Service
	who   service.Caller
	key   cms.AppKey
	edge  http.Handler // keeps answers in memory
	clock *clock
}

// stores open an empty store of each engine.
var stores = map[string]func(*testing.T) (*sqlstore.Store, error){
	"sqlite":   func(t *testing.T) (*sqlstore.Store, error) { return sqlstore.OpenSQLite(t.TempDir(), nil) },
	"postgres": func(t *testing.T) (*sqlstore.Store, error) { return sqlstore.OpenPostgres(pgtest.URL(t), nil) },
}

func opened(t *testing.T, open func(*testing.T) (*sqlstore.Store, error)) *sqlstore.Store {
	t.Helper()
	store, err := open(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func eachEngine(t *testing.T, test func(*testing.T, *engine)) {
	t.Helper()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newEngine(t, opened(t, open), nil))
		})
	}
	t.Run("postgres with a standby", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		store, err := sqlstore.OpenPostgres(url, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		replica, err := store.OpenReplica(pgtest.NewStandby(t).URL(url))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = replica.Close() })
		var there, here atomic.Int64
		test(t, newEngine(t, store, service.NewReplica(replica, service.ReplicaEvents{
			Read: func(fromReplica bool) {
				if fromReplica {
					there.Add(1)
				} else {
					here.Add(1)
				}
			},
			State: func(service.ReplicaState, error) {},
		})))
		t.Logf("reads: %d from the standby, %d from the primary", there.Load(), here.Load())
	})
}

func newEngine(t *testing.T, store *sqlstore.Store, replica *service.Replica) *engine {
	t.Helper()
	e := &engine{clock: &clock{}}
	e.clock.ms.Store(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	if _, err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.start(t, store, replica)
	first, err := e.svc.FirstStart(t.Context(), service.Bootstrap{})
	if err != nil {
		t.Fatal(err)
	}
	e.who, e.key = service.Caller{App: &first.App}, first.Key
	return e
}

// start runs a service on a store.
func (e *engine) start(t *testing.T, store *sqlstore.Store, replica *service.Replica) {
	t.Helper()
	e.store = store
	e.svc = service.New(store, e.clock.now, httpapi.AuditState)
	e.svc.Replica = replica
	e.svc.Guard = service.Guard{Share: guard.Share, Pages: guard.Pages}
	e.edge = httpapi.New(httpapi.Options{
		Service: e.svc, Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(), CacheBytes: 16 << 20,
	})
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { e.svc.Listen(ctx) })
	watching.Go(func() { e.svc.FollowReplica(ctx) })
	t.Cleanup(func() { stop(); watching.Wait() })
}

// testT is a test of package testing or of rapid.
type testT interface {
	rapid.TB
	Context() context.Context
}

// world is a few sites, in the service and in the model.
type world struct {
	*engine
	t         testT
	sites     []*Site
	plans     map[cms.ID]reviewed
	names     int
	schedules int
	steps     int
}

// prelude is what every world begins with.
var prelude = []step{
	{op: "createLocale", code: "fr"},
	{op: "createPage", set: Fields{"pathname": "/a"}},
	{op: "createPage", set: Fields{"pathname": "/b", "title": "one"}},
}

func newWorld(t testT, e *engine) *world {
	w := &world{engine: e, t: t, plans: map[cms.ID]reviewed{}}
	site, err := w.svc.CreateSite(w.ctx(), w.who, service.Given(cms.NewSite{SitePatch: cms.SitePatch{Name: cms.Some("A site"), DefaultLocale: cms.Some("en"), HostOrigin: cms.Some(new(origin))}}))
	w.must(err)
	w.sites = []*Site{w.observes(NewSite(site.ID, site.DefaultLocaleID, "en"))}
	for _, st := range prelude {
		w.do(st)
	}
	return w
}

func (w *world) ctx() context.Context { return w.t.Context() }

func (w *world) now() time.Time { return w.clock.now() }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// do takes a step and compares what came of it.
func (w *world) do(st step) {
	w.t.Helper()
	w.clock.advance(time.Second)
	w.steps++
	s := pick(w.sites, st.site, nil)
	live, redirects := s.Live.clone(), maps.Clone(s.LiveRedirects)
	want, err := operations[st.op](w, s, st)
	if got := cms.CodeOf(err); got != want || (err != nil && got == "") {
		w.t.Fatalf("%v\nanswered %v, want code %q", st, err, want)
	}
	if slices.Contains(draftOnly, st.op) && (!cmp.Equal(live, s.Live) || !maps.Equal(redirects, s.LiveRedirects)) {
		w.t.Fatalf("%v\nchanged the live version of the model itself", st)
	}
	w.check()
}
