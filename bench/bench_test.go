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
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
	handler http.Handler
	key     string
	sites   []string
	pages   []page
	bigIDs  []string // see big_test.go
	rounds  int
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
	svc := service.New(store, time.Now, httpapi.Depict)
	first, err := svc.FirstStart(ctx, service.Bootstrap{})
	if err != nil {
		b.Fatal(err)
	}
	f := &fixture{key: string(first.Key)}
	f.handler = httpapi.New(httpapi.Options{
		Service: svc, Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), Registry: prometheus.NewRegistry(),
		Limits: httpapi.Limits{
			App:     ratelimit.Rate{Requests: 1e9, Period: time.Second},
			Buckets: ratelimit.Local{Memory: ratelimit.NewMemory()},
		},
		Ready: store.Ping, Version: "bench",
	})
	for range sites {
		f.fill(b)
	}
	return f
}

func (f *fixture) fill(b *testing.B) {
	b.Helper()
	var site struct{ ID string }
	f.call(b, "POST", "/v2/sites", `{"name":"Shop"}`, &site)
	f.sites = append(f.sites, site.ID)
	var operations []string
	for i := range pagesPerSite {
		operations = append(operations, fmt.Sprintf(`{"op":"create","pathname":"/p/%d","title":"Page %d","description":"Something about page %d"}`, i, i, i))
	}
	var batch struct{ Results []page }
	f.call(b, "POST", "/v6/pages/batch", fmt.Sprintf(`{"siteId":%q,"operations":[%s]}`, site.ID, strings.Join(operations, ",")), &batch)
	f.pages = append(f.pages, batch.Results...)
}

// call runs one request through the handler, and fails unless it succeeds.
func (f *fixture) call(b *testing.B, method, target, body string, into any) {
	req := httptest.NewRequest(method, target, strings.NewReader(body))
	req.Header.Set("X-Api-Key", f.key)
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	f.handler.ServeHTTP(rec, req)
	if rec.Code >= 300 {
		b.Fatalf("%s %s: %d %s", method, target, rec.Code, rec.Body)
	}
	if into != nil {
		if err := json.Unmarshal(rec.Body.Bytes(), into); err != nil {
			b.Fatal(err)
		}
	}
}

func (f *fixture) page() page { return f.pages[rand.IntN(len(f.pages))] }

func parallel(b *testing.B, do func()) {
	b.ReportAllocs()
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			do()
		}
	})
}

func BenchmarkGetByID(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		parallel(b, func() { f.call(b, "GET", "/v6/pages/"+f.page().ID, "", nil) })
	})
}

func BenchmarkGetByPathname(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		parallel(b, func() {
			p := f.page()
			f.call(b, "GET", "/v6/pages"+p.Pathname+"?siteId="+p.SiteID, "", nil)
		})
	})
}

func BenchmarkList20(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		parallel(b, func() {
			p := f.page()
			f.call(b, "GET", "/v6/pages?sortBy=title&siteId="+p.SiteID+"&startingAfter="+p.ID, "", nil)
		})
	})
}

func BenchmarkCreate(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		var n atomic.Int64
		parallel(b, func() {
			f.call(b, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/new/%d","title":"New"}`, f.page().SiteID, n.Add(1)), nil)
		})
	})
}

func BenchmarkUpdateTitle(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		var n atomic.Int64
		parallel(b, func() {
			f.call(b, "PATCH", "/v6/pages/"+f.page().ID, fmt.Sprintf(`{"title":"Title %d"}`, n.Add(1)), nil)
		})
	})
}

func BenchmarkBatch1000(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		round := 0
		for b.Loop() {
			round++
			var operations []string
			for i := range 1000 {
				operations = append(operations, fmt.Sprintf(`{"op":"create","pathname":"/batch/%d/%d"}`, round, i))
			}
			f.call(b, "POST", "/v6/pages/batch", fmt.Sprintf(`{"siteId":%q,"operations":[%s]}`, f.sites[0], strings.Join(operations, ",")), nil)
		}
		b.ReportMetric(float64(1000*b.N)/b.Elapsed().Seconds(), "pages/s")
	})
}
