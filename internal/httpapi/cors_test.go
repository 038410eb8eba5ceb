package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"galley/internal/httpapi"
	"galley/internal/ratelimit"
)

const (
	shopOrigin  = "https://shop.example"
	otherOrigin = "https://other.example"
)

// shared tells whether a script of an origin may read an answer, and that the
// headers agree about it.
func shared(t *testing.T, r reply, origin string) bool {
	t.Helper()
	if !slices.Contains([]string{"", origin}, r.header.Get("Access-Control-Allow-Origin")) {
		t.Errorf("Access-Control-Allow-Origin is %q to %q", r.header.Get("Access-Control-Allow-Origin"), origin)
	}
	is := r.header.Get("Access-Control-Allow-Origin") != ""
	policy := map[bool]string{true: "cross-origin", false: "same-origin"}[is]
	if r.status != 204 && r.header.Get("Cross-Origin-Resource-Policy") != policy {
		t.Errorf("Cross-Origin-Resource-Policy is %q, want %q", r.header.Get("Cross-Origin-Resource-Policy"), policy)
	}
	if r.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Error("cookies are asked for")
	}
	return is
}

func TestScriptsReadWithASiteKey(t *testing.T) {
	allowed := func(o *httpapi.Options) {
		o.Origins = []string{shopOrigin, "http://localhost:3000"}
		o.Limits.Auth = ratelimit.Rate{Requests: 1000, Period: time.Hour}
	}
	onBothEnginesWith(t, allowed, func(t *testing.T, s *system) {
		site, siteKey := s.newSite(t)
		for _, c := range []struct {
			name, key, method, target, origin string
			status                            int
			shared                            bool
		}{
			{"Site key", siteKey, "GET", "/v2/sites/" + site, shopOrigin, 200, true},
			{"Site key, HEAD", siteKey, "HEAD", "/v2/sites/" + site, shopOrigin, 200, true},
			{"second origin", siteKey, "GET", "/v6/pages?siteId=" + site, "http://localhost:3000", 200, true},
			{"what a Site key may not", siteKey, "GET", "/v2/sites", shopOrigin, 403, true},
			{"what is not there", siteKey, "GET", "/v6/pages/nothing?siteId=" + site, shopOrigin, 404, true},
			{"write", siteKey, "DELETE", "/v2/sites/" + site, shopOrigin, 403, false},
			{"no key", "", "GET", "/v2/sites/" + site, shopOrigin, 401, true},
			{"wrong key", "wrong", "GET", "/v2/sites/" + site, shopOrigin, 401, true},
			{"App key", s.key, "GET", "/v2/sites/" + site, shopOrigin, 200, false},
			{"App key, not found", s.key, "GET", "/v2/nothing", shopOrigin, 404, false},
			{"other origin", siteKey, "GET", "/v2/sites/" + site, otherOrigin, 200, false},
			{"other port", siteKey, "GET", "/v2/sites/" + site, shopOrigin + ":8443", 200, false},
			{"other scheme", siteKey, "GET", "/v2/sites/" + site, "http://shop.example", 200, false},
			{"longer name", siteKey, "GET", "/v2/sites/" + site, shopOrigin + ".evil.example", 200, false},
			{"upper case", siteKey, "GET", "/v2/sites/" + site, strings.ToUpper(shopOrigin), 200, false},
			{"null", siteKey, "GET", "/v2/sites/" + site, "null", 200, false},
			{"star", siteKey, "GET", "/v2/sites/" + site, "*", 200, false},
			{"no origin", siteKey, "GET", "/v2/sites/" + site, "", 200, false},
			{"open address", "", "GET", "/openapi.json", shopOrigin, 200, false},
			{"operators' address", s.key, "GET", "/metrics", shopOrigin, 200, false},
		} {
			r := s.send(t, c.key, c.method, c.target, "", "Origin", c.origin)
			if r.status != c.status || shared(t, r, c.origin) != c.shared {
				t.Errorf("%s: status %d, %v", c.name, r.status, r.header)
			}
			if r.header.Get("Vary") != "x-api-key, authorization, Origin" {
				t.Errorf("%s: Vary is %q", c.name, r.header.Get("Vary"))
			}
			exposed := r.header.Get("Access-Control-Expose-Headers")
			if c.shared != strings.Contains(exposed, "RateLimit") || c.shared != strings.Contains(exposed, "ETag") {
				t.Errorf("%s: exposes %q", c.name, exposed)
			}
		}
	})
}

// Two Origin headers are no browser's.
func TestTwoOriginsAreNone(t *testing.T) {
	onBothEnginesWith(t, func(o *httpapi.Options) { o.Origins = []string{httpapi.AnyOrigin} }, func(t *testing.T, s *system) {
		site, siteKey := s.newSite(t)
		req, err := http.NewRequest("GET", s.url+"/v2/sites/"+site, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"X-Api-Key": {siteKey}, "Origin": {shopOrigin, otherOrigin}}
		if r := s.do(t, req); r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("shared with %q", r.header.Get("Access-Control-Allow-Origin"))
		}
	})
}

func TestPreflight(t *testing.T) {
	allowed := func(o *httpapi.Options) {
		o.Origins = []string{shopOrigin}
		o.Limits.Auth = ratelimit.Rate{Requests: 1000, Period: 24 * time.Hour}
	}
	onBothEnginesWith(t, allowed, func(t *testing.T, s *system) {
		site, siteKey := s.newSite(t)
		for _, c := range []struct {
			name, key, target, origin, method string
			status                            int
		}{
			{"page", "", "/v6/pages/about?siteId=" + site, shopOrigin, "GET", 204},
			{"list", "", "/v6/pages", shopOrigin, "GET", 204},
			{"site", "", "/v2/sites/" + site, shopOrigin, "HEAD", 204},
			{"not for Site keys", "", "/v2/sites", shopOrigin, "GET", 401},
			{"operators' address", "", "/metrics", shopOrigin, "GET", 401},
			{"unknown address", "", "/v2/nothing", shopOrigin, "GET", 401},
			{"open address", "", "/healthz", shopOrigin, "GET", 405},
			{"write", "", "/v6/pages/about", shopOrigin, "PATCH", 401},
			{"other origin", "", "/v6/pages/about", otherOrigin, "GET", 401},
			{"no origin", "", "/v6/pages/about", "", "GET", 401},
			{"no method", "", "/v6/pages/about", shopOrigin, "", 401},
			{"with a key", siteKey, "/v6/pages/about", shopOrigin, "GET", 405},
			{"with a wrong key", "wrong", "/v6/pages/about", shopOrigin, "GET", 401},
		} {
			r := s.send(t, c.key, "OPTIONS", c.target, "", "Origin", c.origin, "Access-Control-Request-Method", c.method)
			if r.status != c.status || shared(t, r, c.origin) != (c.status == 204) {
				t.Errorf("%s: status %d, %v", c.name, r.status, r.header)
			}
			counted := r.header.Get("RateLimit") != ""
			if counted != (c.status == 401) {
				t.Errorf("%s, %d: counted %v", c.name, c.status, counted)
			}
			if c.status != 204 {
				continue
			}
			for name, want := range map[string]string{
				"Access-Control-Allow-Methods": "GET, HEAD", "Access-Control-Max-Age": "600", "Vary": "x-api-key, authorization, Origin",
				"Access-Control-Allow-Headers": "x-api-key, authorization, if-none-match",
			} {
				if r.header.Get(name) != want {
					t.Errorf("%s: %s is %q, want %q", c.name, name, r.header.Get(name), want)
				}
			}
		}
	})
}

func TestNothingIsSharedUnlessAskedFor(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, siteKey := s.newSite(t)
		for _, r := range []reply{
			s.send(t, siteKey, "GET", "/v2/sites/"+site, "", "Origin", shopOrigin),
			s.send(t, "", "GET", "/v2/sites/"+site, "", "Origin", shopOrigin),
			s.send(t, "", "OPTIONS", "/v2/sites/"+site, "", "Origin", shopOrigin, "Access-Control-Request-Method", "GET"),
		} {
			if shared(t, r, shopOrigin) || r.header.Get("Vary") != "x-api-key, authorization" {
				t.Errorf("status %d, %v", r.status, r.header)
			}
		}
	})
}

func TestEveryOriginCanBeAllowed(t *testing.T) {
	onBothEnginesWith(t, func(o *httpapi.Options) { o.Origins = []string{httpapi.AnyOrigin} }, func(t *testing.T, s *system) {
		site, siteKey := s.newSite(t)
		for _, origin := range []string{shopOrigin, otherOrigin, "null"} {
			if r := s.send(t, siteKey, "GET", "/v2/sites/"+site, "", "Origin", origin); !shared(t, r, origin) {
				t.Errorf("%s: %v", origin, r.header)
			}
		}
		if r := s.send(t, s.key, "GET", "/v2/sites/"+site, "", "Origin", shopOrigin); shared(t, r, shopOrigin) {
			t.Error("an App key's answer is shared")
		}
	})
}

// Browsers make nothing of an answer but what it is.
func TestEveryAnswerIsProtected(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		for _, r := range []reply{
			s.call(t, "GET", "/v2/sites/"+site, ""), s.call(t, "POST", "/v2/sites", "{"), s.call(t, "GET", "/v2//sites", ""),
			s.call(t, "PUT", "/v2/sites", ""), s.send(t, "", "GET", "/v2/sites", ""), s.send(t, "", "GET", "/healthz", ""),
			s.send(t, "", "GET", "/openapi.json", ""), s.send(t, "", "GET", "/docs", ""), s.call(t, "GET", "/metrics", ""),
			s.call(t, "DELETE", "/v2/sites/"+site, ""),
		} {
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
				"Cross-Origin-Resource-Policy": "same-origin", "Strict-Transport-Security": "", "Server": "",
			} {
				if r.header.Get(name) != want {
					t.Errorf("%d, %s: %s is %q, want %q", r.status, r.header.Get("Content-Type"), name, r.header.Get(name), want)
				}
			}
			policy := "default-src 'none'; frame-ancestors 'none'"
			isPage := strings.HasPrefix(r.header.Get("Content-Type"), "text/html")
			if got := r.header.Get("Content-Security-Policy"); (got == policy) == isPage || !strings.Contains(got, "default-src 'none'") {
				t.Errorf("%d, %s: policy %q", r.status, r.header.Get("Content-Type"), got)
			}
		}
	})
}
