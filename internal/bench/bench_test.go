// Package bench measures the hot paths through the whole handler stack:
// authentication, limits, metrics and logs included.
package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/pgtest"
	"galley/internal/ratelimit"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

const (
	sites        = 10
	pagesPerSite = 500
)

// fixture is a service with sites full of pages.
type fixture struct {
	svc     *service.Service
	handler http.Handler
	key     string
	sites   []string
	pages   []page
}

type page struct{ ID, SiteID, Pathname string }

func onBothEngines(b *testing.B, bench func(b *testing.B, f *fixture)) {
	b.Run("sqlite", func(b *testing.B) {
		store, err := sqlstore.OpenSQLite(b.TempDir(), nil)
		bench(b, newFixture(b, store, err))
	})
	b.Run("postgres", func(b *testing.B) {
		store, err := sqlstore.OpenPostgres(pgtest.URL(b), nil)
		bench(b, newFixture(b, store, err))
	})
}

func newFixture(b *testing.B, store *sqlstore.Store, err error) *fixture {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	ctx := context.Background()
	if _, err := store.Migrate(ctx); err != nil {
		b.Fatal(err)
	}
	svc := service.New(store, time.Now, httpapi.AuditState)
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { svc.Listen(watching) })
	watch.Go(func() { svc.FollowEvents(watching, func(error) {}) })
	b.Cleanup(func() { stop(); watch.Wait() }) // before the store is closed
	first, err := svc.FirstStart(ctx, service.Bootstrap{})
	if err != nil {
		b.Fatal(err)
	}
	f := &fixture{svc: svc, key: string(first.Key)}
	f.handler = newHandler(svc, 0)
	for range sites {
		f.fill(b)
	}
	return f
}

func newHandler(svc *service.Service, cacheBytes int64) http.Handler {
	return httpapi.New(httpapi.Options{
		Service: svc, Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), Registry: prometheus.NewRegistry(), CacheBytes: cacheBytes,
		Limits: httpapi.Limits{
			App:     ratelimit.Rate{Requests: 1e9, Period: time.Second},
			Buckets: ratelimit.Local{Memory: ratelimit.NewMemory()},
		},
		Ready: func() error { return nil }, Version: "bench",
	})
}

// fill makes a site of pages, some of them French, and publishes it.
func (f *fixture) fill(b *testing.B) {
	b.Helper()
	var site struct{ ID string }
	f.call(b, "POST", "/v2/sites", `{"name":"Shop"}`, &site)
	f.call(b, "POST", "/v2/locales", fmt.Sprintf(`{"siteId":%q,"locale":"fr"}`, site.ID), nil)
	f.sites = append(f.sites, site.ID)
	var operations []string
	for i := range pagesPerSite {
		operations = append(operations, fmt.Sprintf(`{"op":"create","pathname":"/p/%d","title":"Page %d","description":"Something about page %d"}`, i, i, i))
	}
	var made struct{ Results []page }
	f.call(b, "POST", "/v6/pages/batch", batch(site.ID, operations), &made)
	f.pages = append(f.pages, made.Results...)
	operations = nil
	for i := 0; i < pagesPerSite; i += 5 {
		operations = append(operations, fmt.Sprintf(`{"op":"update","pageId":%q,"locale":"fr","title":"Une page"}`, made.Results[i].ID))
	}
	f.call(b, "POST", "/v6/pages/batch", batch(site.ID, operations), nil)
	f.call(b, "POST", "/v2/sites/"+site.ID+"/publish", "{}", nil)
}

func batch(siteID string, operations []string) string {
	return fmt.Sprintf(`{"siteId":%q,"operations":[%s]}`, siteID, strings.Join(operations, ","))
}

// call runs one request through the handler and reads the answer.
func (f *fixture) call(b *testing.B, method, target, body string, into any) {
	b.Helper()
	rec := httptest.NewRecorder()
	f.handler.ServeHTTP(rec, f.request(b, method, target, body))
	if rec.Code >= 300 {
		b.Fatalf("%s %s: %d %s", method, target, rec.Code, rec.Body)
	}
	if into != nil {
		if err := json.Unmarshal(rec.Body.Bytes(), into); err != nil {
			b.Fatal(err)
		}
	}
}

func (f *fixture) request(b *testing.B, method, target, body string) *http.Request {
	b.Helper()
	req, err := http.NewRequest(method, target, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.RemoteAddr = "127.0.0.1:1234"
	req.Header["X-Api-Key"] = []string{f.key}
	req.Header["Content-Type"] = []string{"application/json"}
	return req
}

// send runs one request as the measured part of a benchmark: the answer goes
// nowhere, so that what is allocated is the service's.
func (f *fixture) send(b *testing.B, method, target, body string) {
	w := discard{header: http.Header{}}
	f.handler.ServeHTTP(&w, f.request(b, method, target, body))
	if w.status >= 300 {
		b.Errorf("%s %s: %d", method, target, w.status)
	}
}

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header            { return d.header }
func (d *discard) WriteHeader(status int)         { d.status = status }
func (d *discard) Write(body []byte) (int, error) { return len(body), nil }

func (f *fixture) page() page { return f.pages[rand.IntN(len(f.pages))] }

func parallel(b *testing.B, do func()) {
	b.Helper()
	b.ReportAllocs()
	b.SetParallelism(8)
	b.ResetTimer()
	start := cpu(b)
	defer func() { b.ReportMetric(float64((cpu(b)-start).Microseconds())/float64(b.N), "cpu-us/op") }()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			do()
		}
	})
}

// views are the ways to read a page.
var views = []struct{ name, query string }{
	{"draft", ""},
	{"live", "&versionRef=ref:live"},
	{"localized", "&versionRef=ref:live&locale=fr"},
}

// BenchmarkGetCached reads one page that is in the cache.
func BenchmarkGetCached(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		f.handler = newHandler(f.svc, 64<<20)
		target := "/v6/pages/" + f.page().ID
		b.ReportAllocs()
		for b.Loop() {
			f.send(b, "GET", target, "")
		}
	})
}

func BenchmarkGetByID(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		for _, view := range views {
			b.Run(view.name, func(b *testing.B) {
				parallel(b, func() { f.send(b, "GET", "/v6/pages/"+f.page().ID+"?"+strings.TrimPrefix(view.query, "&"), "") })
			})
		}
	})
}

func BenchmarkGetByPathname(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		for _, view := range views {
			b.Run(view.name, func(b *testing.B) {
				parallel(b, func() {
					p := f.page()
					f.send(b, "GET", "/v6/pages"+p.Pathname+"?siteId="+p.SiteID+view.query, "")
				})
			})
		}
	})
}

func BenchmarkList20(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		for _, view := range views {
			b.Run(view.name, func(b *testing.B) {
				parallel(b, func() {
					p := f.page()
					f.send(b, "GET", "/v6/pages?sortBy=title&siteId="+p.SiteID+"&startingAfter="+p.ID+view.query, "")
				})
			})
		}
	})
}

// BenchmarkListService lists 20 pages from the store through the service, after a
// random page, without a cache or an encoder.
func BenchmarkListService(b *testing.B) {
	ctx := context.Background()
	onBothEngines(b, func(b *testing.B, f *fixture) {
		who, err := f.svc.Authenticate(ctx, f.key)
		if err != nil {
			b.Fatal(err)
		}
		for _, locale := range []string{"", "fr"} {
			for _, sort := range []cms.PageSort{cms.SortPath, cms.SortTitle, cms.SortUpdatedAt} {
				b.Run(fmt.Sprintf("%v-%s", sort, locale), func(b *testing.B) {
					b.ReportAllocs()
					start := cpu(b)
					for b.Loop() {
						p := f.page()
						ask := service.ReadPages{Locale: locale, After: uuid.MustParse(p.ID), Query: cms.PageQuery{
							SiteID: uuid.MustParse(p.SiteID), Sort: sort, Limit: 20,
						}}
						if _, err := f.svc.Pages(ctx, who, ask); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64((cpu(b)-start).Microseconds())/float64(b.N), "cpu-us/op")
				})
			}
		}
	})
}

// cpu is the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkCreate(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		var n atomic.Int64
		parallel(b, func() {
			f.send(b, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/new/%d","title":"New"}`, f.page().SiteID, n.Add(1)))
		})
	})
}

func BenchmarkUpdateTitle(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		var n atomic.Int64
		parallel(b, func() {
			f.send(b, "PATCH", "/v6/pages/"+f.page().ID, fmt.Sprintf(`{"title":"Title %d"}`, n.Add(1)))
		})
	})
}

// BenchmarkPublishOne edits a page and publishes its site, in which nothing else
// has changed.
func BenchmarkPublishOne(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		b.ReportAllocs()
		round := 0
		for b.Loop() {
			round++
			p := f.page()
			f.send(b, "PATCH", "/v6/pages/"+p.ID, fmt.Sprintf(`{"title":"Edit %d"}`, round))
			f.send(b, "POST", "/v2/sites/"+p.SiteID+"/publish", `{}`)
		}
	})
}

func BenchmarkBatch1000(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		b.ReportAllocs()
		round := 0
		for b.Loop() {
			round++
			var operations []string
			for i := range 1000 {
				operations = append(operations, fmt.Sprintf(`{"op":"create","pathname":"/batch/%d/%d"}`, round, i))
			}
			f.send(b, "POST", "/v6/pages/batch", batch(f.sites[0], operations))
		}
		b.ReportMetric(float64(1000*b.N)/b.Elapsed().Seconds(), "pages/s")
	})
}
