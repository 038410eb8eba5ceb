package httpapi_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/pgtest"
	"galley/internal/ratelimit"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

// keyWatch passes on the one query that a key may cost, and notes it. Any other
// use of the store is a nil dereference, which the edge answers with 500.
type keyWatch struct {
	service.Store
	real  cms.Store
	asked []cms.KeyHash
}

func (w *keyWatch) AppByKey(ctx context.Context, hash cms.KeyHash, now time.Time) (cms.App, *time.Time, error) {
	w.asked = append(w.asked, hash)
	return w.real.AppByKey(ctx, hash, now)
}

// badKeys are App keys that are well-formed and do not work, and what is there
// to find out about each.
func badKeys(tb testing.TB, svc *service.Service, store cms.Store, working string) map[string]cms.AppKey {
	tb.Helper()
	newApp := func() service.NewApp {
		made, err := svc.CreateOperatorApp(tb.Context(), service.OperatorApp{Name: "App", Scopes: cms.Scopes})
		if err != nil {
			tb.Fatal(err)
		}
		return made
	}
	revoked, expired := newApp(), newApp()
	if _, err := svc.RevokeOperatorApp(tb.Context(), revoked.App.ID); err != nil {
		tb.Fatal(err)
	}
	err := store.InTx(tb.Context(), func(tx cms.Tx) error {
		past := time.Now().Add(-time.Hour)
		expired.App.ExpiresAt = &past
		return tx.UpdateApp(tb.Context(), expired.App)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return map[string]cms.AppKey{
		"unknown": cms.NewAppKey(), "near-miss": nearMiss(tb, cms.AppKey(working)), "revoked": revoked.Key, "expired": expired.Key,
	}
}

// nearMiss is a key that is like another in all but its last random digit, and
// the checksum that belongs to it.
func nearMiss(tb testing.TB, key cms.AppKey) cms.AppKey {
	tb.Helper()
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	body := []byte(key[:len(key)-6])
	last := &body[len(body)-1]
	*last = digits[(strings.IndexByte(digits, *last)+1)%len(digits)]
	checksum := make([]byte, 6)
	sum := crc32.ChecksumIEEE(body)
	for i := range checksum {
		checksum[len(checksum)-1-i] = digits[sum%62]
		sum /= 62
	}
	near, ok := cms.ParseAppKey(string(body) + string(checksum))
	if !ok || near == key {
		tb.Fatalf("%s is no near miss of %s", near, key)
	}
	return near
}

// keyHandler is the edge on a service.
func keyHandler(svc *service.Service) http.Handler {
	return httpapi.New(httpapi.Options{
		Service: svc, Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(), Version: "test",
		Limits: httpapi.Limits{Buckets: ratelimit.Local{Memory: ratelimit.NewMemory()}},
	})
}

func showKey(h http.Handler, key cms.AppKey) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/v2/sites", nil)
	r.Header.Set("X-Api-Key", string(key))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// What is found out about a key costs the same whatever it is: one query, for
// the hash of the key, by equality on the primary key of the table of hashes
// (TestEveryQueryUsesAnIndex). No key is ever compared with another, so how
// alike two are can't be felt. BenchmarkKeyTiming shows the times.
func TestKeysThatDoNotWorkCostTheSame(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		watch := &keyWatch{real: s.store}
		handler := keyHandler(service.New(watch, clock, httpapi.AuditState))
		var bodies []string
		for name, key := range badKeys(t, s.svc, s.store, s.key) {
			watch.asked = nil
			w := showKey(handler, key)
			if w.Code != http.StatusUnauthorized {
				t.Errorf("%s: got %d\n%s", name, w.Code, w.Body)
			}
			if !slices.Equal(watch.asked, []cms.KeyHash{key.Hash()}) {
				t.Errorf("%s: the store was asked for %x, want once for the hash", name, watch.asked)
			}
			w.Header().Del("X-Request-Id")
			bodies = append(bodies, fmt.Sprint(w.Header(), w.Body))
		}
		if len(slices.Compact(bodies)) != 1 {
			t.Errorf("the answers differ: %q", bodies)
		}
	})
}

// BenchmarkKeyTiming shows each kind of key in turn, so that whatever slows the
// machine slows all of them, and reports the median of each.
func BenchmarkKeyTiming(b *testing.B) {
	for name, open := range map[string]func() (*sqlstore.Store, error){
		"sqlite":   func() (*sqlstore.Store, error) { return sqlstore.OpenSQLite(b.TempDir(), nil) },
		"postgres": func() (*sqlstore.Store, error) { return sqlstore.OpenPostgres(pgtest.URL(b), nil) },
	} {
		b.Run(name, func(b *testing.B) {
			store, err := open()
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			if _, err := store.Migrate(b.Context()); err != nil {
				b.Fatal(err)
			}
			svc := service.New(store, time.Now, httpapi.AuditState)
			first, err := svc.FirstStart(b.Context(), service.Bootstrap{})
			if err != nil {
				b.Fatal(err)
			}
			keys, handler := badKeys(b, svc, store, string(first.Key)), keyHandler(svc)
			took := map[string][]time.Duration{}
			for b.Loop() {
				for name, key := range keys { // in another order each time
					start := time.Now()
					showKey(handler, key)
					took[name] = append(took[name], time.Since(start))
				}
			}
			for name, times := range took {
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), name+"-ns")
			}
		})
	}
}
