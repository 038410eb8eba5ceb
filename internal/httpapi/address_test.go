package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/ratelimit"
	"galley/internal/service"
)

func networks(t *testing.T, texts ...string) []netip.Prefix {
	t.Helper()
	var list []netip.Prefix
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, network)
	}
	return list
}

func TestClientAddress(t *testing.T) {
	trusted := networks(t, "10.0.0.0/8", "192.168.1.1/32", "fd00::/8")
	for _, c := range []struct {
		name, connection string
		forwarded        []string
		want             string
	}{
		{"no header", "203.0.113.9:1234", nil, "203.0.113.9"},
		{"header of a stranger", "203.0.113.9:1234", []string{"198.51.100.1"}, "203.0.113.9"},
		{"proxy without a header", "10.0.0.1:1234", nil, "10.0.0.1"},
		{"proxy with an empty header", "10.0.0.1:1234", []string{""}, "10.0.0.1"},
		{"one proxy", "10.0.0.1:1234", []string{"198.51.100.1"}, "198.51.100.1"},
		{"client that claims another", "10.0.0.1:1234", []string{"1.2.3.4, 198.51.100.1"}, "198.51.100.1"},
		{"client that claims a proxy", "10.0.0.1:1234", []string{"10.9.9.9, 198.51.100.1"}, "198.51.100.1"},
		{"two proxies", "10.0.0.1:1234", []string{"1.2.3.4, 198.51.100.1, 192.168.1.1"}, "198.51.100.1"},
		{"two lines", "10.0.0.1:1234", []string{"1.2.3.4", "198.51.100.1", "10.2.2.2"}, "198.51.100.1"},
		{"only proxies", "10.0.0.1:1234", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"neighbour of a proxy", "192.168.1.2:1234", []string{"198.51.100.1"}, "192.168.1.2"},
		{"rubbish", "10.0.0.1:1234", []string{"rubbish"}, "10.0.0.1"},
		{"rubbish before a proxy", "10.0.0.1:1234", []string{"198.51.100.1, rubbish, 10.0.0.2"}, "10.0.0.2"},
		{"rubbish further left", "10.0.0.1:1234", []string{"rubbish, 198.51.100.1"}, "198.51.100.1"},
		{"gap", "10.0.0.1:1234", []string{"198.51.100.1,,10.0.0.2"}, "10.0.0.2"},
		{"with a port", "10.0.0.1:1234", []string{"198.51.100.1:4567"}, "198.51.100.1"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:1234", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"IPv6", "[2001:db8:1:2:3:4:5:6]:1234", nil, "2001:db8:1:2::/64"},
		{"IPv6 neighbour", "[2001:db8:1:2:ffff::1]:1234", nil, "2001:db8:1:2::/64"},
		{"IPv6 elsewhere", "[2001:db8:1:3::1]:1234", nil, "2001:db8:1:3::/64"},
		{"IPv6 with a zone", "[fe80::1%eth0]:1234", nil, "fe80::/64"},
		{"IPv6 behind a proxy", "[fd00::1]:1234", []string{"2001:db8::1"}, "2001:db8::/64"},
		{"IPv6 with a port", "[fd00::1]:1234", []string{"[2001:db8::1]:80"}, "2001:db8::/64"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.connection
		r.Header["X-Forwarded-For"] = c.forwarded
		if got := httpapi.Household(trusted, r); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Who is trusted with addresses decides whose failures count together.
func TestStrangersBehindAProxyAreCountedApart(t *testing.T) {
	const allowed = 3
	behindProxy := func(o *httpapi.Options) {
		o.Limits.Auth = ratelimit.Rate{Requests: allowed, Period: 24 * time.Hour}
		o.TrustedProxies = networks(t, "127.0.0.0/8", "::1/128")
	}
	onBothEnginesWith(t, behindProxy, func(t *testing.T, s *system) {
		for client := range 3 {
			for n := range allowed + 2 {
				want := 401
				if n >= allowed {
					want = 429
				}
				// What stands left of the proxy's own entry is the client's invention.
				forwarded := fmt.Sprintf("192.0.2.%d, 198.51.100.%d", n, client)
				if r := s.send(t, "", "GET", "/v2/sites", "", "X-Forwarded-For", forwarded); r.status != want {
					t.Errorf("client %d, request %d: %d, want %d", client, n, r.status, want)
				}
			}
		}
		// A key is not held back by strangers at its address.
		if r := s.send(t, s.key, "GET", "/v2/sites", "", "X-Forwarded-For", "198.51.100.0"); r.status != 200 {
			t.Errorf("status %d with a key", r.status)
		}
	})
}

// Every answer about a credential tells what is left of its limit.
func TestEveryAnswerTellsTheLimit(t *testing.T) {
	day := func(n int) ratelimit.Rate { return ratelimit.Rate{Requests: n, Period: 24 * time.Hour} }
	limited := func(o *httpapi.Options) { o.Limits.App, o.Limits.Site, o.Limits.Auth = day(1001), day(2002), day(3003) }
	onBothEnginesWith(t, limited, func(t *testing.T, s *system) {
		site, siteKey := s.newSite(t)
		page := s.newPage(t, site, "/about")
		tag := s.must(t, 200, "GET", "/v6/pages/"+page, "").header.Get("ETag")
		create := `{"siteId":"` + site + `","pathname":"/once"}`
		for _, c := range []struct {
			status              int
			key, method, target string
			body                string
			headers             []string
			limit               string
		}{
			{200, s.key, "GET", "/v2/sites", "", nil, "1001"},
			{200, s.key, "HEAD", "/v2/sites", "", nil, "1001"},
			{200, siteKey, "GET", "/v2/sites/" + site, "", nil, "2002"},
			{201, s.key, "POST", "/v6/pages", create, []string{"Idempotency-Key", "1"}, "1001"},
			{201, s.key, "POST", "/v6/pages", create, []string{"Idempotency-Key", "1"}, "1001"}, // repeated
			{304, s.key, "GET", "/v6/pages/" + page, "", []string{"If-None-Match", tag}, "1001"},
			{400, s.key, "GET", "/v2/sites?limit=0", "", nil, "1001"},
			{400, s.key, "POST", "/v2/sites", "{", nil, "1001"},
			{400, s.key, "GET", "/v2/sites", "", []string{"Authorization", "Bearer " + s.key}, "3003"},
			{401, "", "GET", "/v2/sites", "", nil, "3003"},
			{401, "wrong", "POST", "/v2/sites", "{}", nil, "3003"},
			{403, siteKey, "GET", "/v2/sites", "", nil, "2002"},
			{404, s.key, "GET", "/v2/nothing", "", nil, "1001"},
			{405, s.key, "PUT", "/v2/sites", "{}", nil, "1001"},
			{409, s.key, "POST", "/v6/pages", create, nil, "1001"},
			{412, s.key, "DELETE", "/v6/pages/" + page, "", []string{"If-Match", `"x"`}, "1001"},
			{413, s.key, "POST", "/v2/sites", strings.Repeat(" ", 1<<20+1), nil, "1001"},
			{415, s.key, "POST", "/v2/sites", "{}", []string{"Content-Type", "text/plain"}, "1001"},
			{204, s.key, "DELETE", "/v6/pages/" + page, "", nil, "1001"},
			{200, s.key, "GET", "/metrics", "", nil, "1001"},
			{200, "", "GET", "/healthz", "", nil, ""},
			{200, "", "GET", "/openapi.json", "", nil, ""},
		} {
			r := s.send(t, c.key, c.method, c.target, c.body, c.headers...)
			if r.status != c.status || r.header.Get("X-RateLimit-Limit") != c.limit {
				t.Errorf("%s %s: status %d and limit %q, want %d and %q\n%.200s", c.method, c.target, r.status, r.header.Get("X-RateLimit-Limit"), c.status, c.limit, r.body)
			}
			for _, name := range []string{"RateLimit", "RateLimit-Policy", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
				if (r.header.Get(name) != "") != (c.limit != "") {
					t.Errorf("%s %s, %d: %s is %q", c.method, c.target, r.status, name, r.header.Get(name))
				}
			}
		}
	})
}

func TestAppHasItsOwnRate(t *testing.T) {
	limited := func(o *httpapi.Options) {
		o.Limits.App = ratelimit.Rate{Requests: 1000, Period: 24 * time.Hour}
	}
	onBothEnginesWith(t, limited, func(t *testing.T, s *system) {
		limitOf := func(key string) string {
			return s.send(t, key, "GET", "/v2/sites", "").header.Get("X-RateLimit-Limit")
		}
		// One that the operator created: those that an app creates share its rate.
		other, err := s.svc.CreateOperatorApp(t.Context(), service.OperatorApp{Name: "Other", Scopes: cms.Scopes, WorkspaceID: s.first.WorkspaceID})
		if err != nil {
			t.Fatal(err)
		}
		for rate, want := range map[string]string{"7/86400": "7", "off": "", "": "1000", "nonsense": "1000", "5/0": "1000"} {
			if _, err := s.svc.SetAppRate(t.Context(), s.first.ID, rate); err != nil {
				t.Fatal(err)
			}
			if got := limitOf(s.key); got != want {
				t.Errorf("rate %q: limit %q, want %q", rate, got, want)
			}
			if got := limitOf(string(other.Key)); got != "1000" {
				t.Errorf("rate %q is another app's too: %q", rate, got)
			}
		}
	})
}

// Raising a limit lets an app in that used its old one up.
func TestRaisedRateCountsAtOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for _, step := range []struct {
			rate string
			want []int
		}{
			{"1/86400", []int{200, 429}}, {"3/86400", []int{200, 200, 200, 429}}, {"off", []int{200, 200}},
		} {
			if _, err := s.svc.SetAppRate(t.Context(), s.first.ID, step.rate); err != nil {
				t.Fatal(err)
			}
			for n, want := range step.want {
				if r := s.call(t, "GET", "/v2/sites", ""); r.status != want {
					t.Errorf("%s, request %d: %d, want %d", step.rate, n, r.status, want)
				}
			}
		}
	})
}
