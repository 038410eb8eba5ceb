package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/pgtest"
	"galley/internal/ratelimit"
	"galley/internal/sqlstore"
)

// onBothEnginesWith is onBothEngines with options of the edge.
func onBothEnginesWith(t *testing.T, option func(*httpapi.Options), test func(t *testing.T, s *system)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
		test(t, newSystem(t, store, err, option))
	})
	t.Run("postgres", func(t *testing.T) {
		store, err := sqlstore.OpenPostgres(pgtest.URL(t), nil)
		test(t, newSystem(t, store, err, option))
	})
}

// What net/http refuses by itself is refused: no handler sees it, and it
// changes nothing.
func TestBrokenRequestsAreNotServed(t *testing.T) {
	const key = "X-Api-Key: {key}"
	onBothEngines(t, func(t *testing.T, s *system) {
		w := newHostileWorld(t, s)
		before := w.look(t)
		for name, raw := range map[string]string{
			"broken escape":             rawRequest("GET /v6/pages/%zz?siteId={site}", key),
			"cut escape":                rawRequest("GET /v6/pages/a%2?siteId={site}", key),
			"blank in the address":      rawRequest("GET /v6/pages/a b?siteId={site}", key),
			"NUL in the address":        rawRequest("GET /v6/pages/a\x00b?siteId={site}", key),
			"NUL in a header":           rawRequest("DELETE /v2/sites/{site}", key, "X-Other: a\x00b"),
			"NUL in the key":            rawRequest("DELETE /v2/sites/{site}", key+"\x00"),
			"blank before the colon":    rawRequest("DELETE /v2/sites/{site}", "X-Api-Key : {key}"),
			"two lengths":               rawRequest("PATCH /v6/pages/{about}", key, "Content-Type: application/json", "Content-Length: 13", "Content-Length: 2") + `{"title":"x"}`,
			"signed length":             rawRequest("PATCH /v6/pages/{about}", key, "Content-Type: application/json", "Content-Length: +13") + `{"title":"x"}`,
			"negative length":           rawRequest("PATCH /v6/pages/{about}", key, "Content-Type: application/json", "Content-Length: -1") + `{"title":"x"}`,
			"unknown transfer encoding": rawRequest("PATCH /v6/pages/{about}", key, "Content-Type: application/json", "Transfer-Encoding: gzip, chunked") + "d\r\n{\"title\":\"x\"}\r\n0\r\n\r\n",
			"two hosts":                 rawRequest("DELETE /v2/sites/{site}", key, "Host: elsewhere.example"),
			"no host":                   "DELETE /v2/sites/{site} HTTP/1.1\r\nX-Api-Key: {key}\r\n\r\n",
			"unknown protocol":          "DELETE /v2/sites/{site} HTTP/3.1\r\nHost: x\r\nX-Api-Key: {key}\r\n\r\n",
		} {
			t.Run(name, func(t *testing.T) {
				replies := w.sendRaw(t, w.fill(hostile{raw: raw}).raw)
				if len(replies) != 1 || (replies[0].status/100 != 4 && replies[0].status != 501 && replies[0].status != 505) {
					t.Errorf("answered %v", replies)
				}
			})
		}
		if after := w.look(t); after != before {
			t.Error("something changed")
		}
	})
}

// A length beside chunks is how a second request is smuggled past a proxy that
// believes the other of the two.
func TestNothingIsServedAfterAnAmbiguousBody(t *testing.T) {
	const smuggled = "DELETE /v2/sites/{site} HTTP/1.1\r\nHost: {host}\r\nX-Api-Key: {key}\r\n\r\n"
	onBothEngines(t, func(t *testing.T, s *system) {
		w := newHostileWorld(t, s)
		before := w.look(t)
		for name, lines := range map[string]string{
			"length and chunks": "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
			"chunks and length": "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
		} {
			t.Run(name, func(t *testing.T) {
				raw := "PATCH /v6/pages/{about} HTTP/1.1\r\nHost: {host}\r\nX-Api-Key: {key}\r\nContent-Type: application/json\r\n" +
					lines + "\r\n2\r\n{}\r\n0\r\n\r\n" + smuggled
				if replies := w.sendRaw(t, w.fill(hostile{raw: raw}).raw); len(replies) != 1 {
					t.Errorf("%d answers, want 1", len(replies))
				}
			})
		}
		if after := w.look(t); after != before {
			t.Error("the smuggled request was served")
		}
	})
}

func TestABodyThatIsCutIsNotWritten(t *testing.T) {
	var options httpapi.Options
	onBothEnginesWith(t, func(o *httpapi.Options) { options = *o }, func(t *testing.T, s *system) {
		// The same handler behind a deadline that a test can wait for.
		options.Registry = prometheus.NewRegistry()
		server := httptest.NewUnstartedServer(httpapi.New(options))
		server.Config.ReadTimeout = time.Second
		server.Start()
		t.Cleanup(server.Close)
		w := newHostileWorld(t, s)
		w.rawURL = server.URL
		w.everything = w.look(t)
		for _, c := range hostileCuts {
			t.Run(c.name, func(t *testing.T) { w.check(t, c) })
		}
		t.Run("head", func(t *testing.T) {
			if replies := w.sendRaw(t, w.fill(hostile{raw: "DELETE /v2/sites/{site} HTTP/1.1\r\nX-Api-Key: {key}\r\n"}).raw); len(replies) > 0 && replies[0].status < 400 {
				t.Errorf("half a head is answered %d", replies[0].status)
			}
		})
		if w.look(t) != w.everything {
			t.Error("something changed")
		}
	})
}

func TestManyWrongKeysAreTooMany(t *testing.T) {
	const allowed = 300
	limited := func(o *httpapi.Options) {
		o.Limits.Auth = ratelimit.Rate{Requests: allowed, Period: time.Minute}
	}
	onBothEnginesWith(t, limited, func(t *testing.T, s *system) {
		begin := time.Now()
		counts := map[int]int{}
		var last *http.Response
		for i := range 1000 {
			req, err := http.NewRequest("GET", s.url+"/v2/sites", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Api-Key", []string{"wrong", "sk_" + strings.Repeat("0", 49), cms.NewID().String(), string(cms.NewAppKey())}[i%4])
			address := net.IPv4(10, 0, byte(i>>8), byte(i)).String()
			for _, name := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded", "True-Client-Ip"} {
				req.Header.Set(name, address)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			counts[resp.StatusCode]++
			last = resp
		}
		refill := int(time.Since(begin)/(time.Minute/allowed)) + 1
		if counts[401] < allowed || counts[401] > allowed+refill || counts[401]+counts[429] != 1000 {
			t.Errorf("answers %v, want %d to %d times 401 and else 429", counts, allowed, allowed+refill)
		}
		for _, name := range []string{"Retry-After", "RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id"} {
			if last.StatusCode == 429 && last.Header.Get(name) == "" {
				t.Errorf("a 429 has no %s", name)
			}
		}
	})
}

// A guess that can't be a key must cost nothing, so it is answered even where
// no store is.
func TestKeysThatCanBeNoneCostNoQuery(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		w := newHostileWorld(t, s)
		if err := s.store.Close(); err != nil {
			t.Fatal(err)
		}
		for _, c := range hostileKeyValues() {
			switch c.name {
			case "nil", "id of a site", "unknown site key", "revoked", "expired", "of a deleted site":
				continue // these have the form of a key, and must be looked up
			}
			t.Run(c.name, func(t *testing.T) {
				if r := w.sendHostile(t, w.fill(c)); r.status != 401 {
					t.Errorf("status %d", r.status)
				}
			})
		}
		req, err := http.NewRequest("GET", s.url+"/v2/sites", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", s.key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode < 500 {
			t.Errorf("a real key is answered %d: the store is not closed, and this test proves nothing", resp.StatusCode)
		}
	})
}

func TestNoKeyIsEverLogged(t *testing.T) {
	var log bytes.Buffer
	logged := func(o *httpapi.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	onBothEnginesWith(t, logged, func(t *testing.T, s *system) {
		log.Reset()
		w := newHostileWorld(t, s)
		for _, c := range hostileKeys {
			w.sendHostile(t, w.fill(c))
		}
		w.sendHostile(t, w.fill(hostile{method: "POST", target: "/v2/sites?key={key}", body: `{"name":"{key}"`}))
		w.sendHostile(t, w.fill(hostile{target: "/v6/pages/{key}?siteId={site}&locale={siteKey}"}))
		lines := log.String()
		if !strings.Contains(lines, "status=401") || !strings.Contains(lines, "status=400") {
			t.Fatal("the log does not tell of these requests at all")
		}
		for _, name := range []string{"{key}", "{siteKey}", "{readerKey}", "{revokedKey}", "{expiredKey}", "{foreignKey}", "{cutKey}", "{brokenKey}"} {
			if strings.Contains(lines, w.values[name]) {
				t.Errorf("the log has %s", name)
			}
		}
	})
}

func TestAFullPageOfAListIsTheLast(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		for i := range 100 {
			s.must(t, 201, "POST", "/v2/routes", fmt.Sprintf(`{"siteId":"%s","pathname":"/%d"}`, site, i))
			s.newPage(t, site, fmt.Sprintf("/page/%d", i))
		}
		for _, list := range []string{"/v2/routes?siteId=" + site, "/v6/pages?siteId=" + site} {
			for limit, more := range map[int]bool{100: false, 99: true} {
				r := s.must(t, 200, "GET", fmt.Sprintf("%s&limit=%d", list, limit), "").json(t)
				if n := len(r["data"].([]any)); n != limit || r["hasMore"] != more {
					t.Errorf("%s by %d: %d items, hasMore %v", list, limit, n, r["hasMore"])
				}
			}
		}
	})
}
