package httpapi_test

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"galley/internal/httpapi"
	"galley/internal/ratelimit"
	"galley/internal/sqlstore"
)

// quickly is an answer from memory to a GET with some headers beside the usual
// ones, if there is one. The key "-" is none.
func (s *system) quickly(t *testing.T, key, target string, more ...string) (reply, bool) {
	t.Helper()
	headers := [][2]string{{"User-Agent", "test/1.0 (a b)"}}
	if key != "-" {
		headers = append(headers, [2]string{"X-Api-Key", key})
	}
	for i := 0; i < len(more); i += 2 {
		headers = append(headers, [2]string{more[i], more[i+1]})
	}
	out, ok := s.api.Quick(nil, target, headers)
	if !ok {
		if len(out) > 0 {
			t.Errorf("no answer, but %q", out)
		}
		return reply{}, false
	}
	in := bufio.NewReader(bytes.NewReader(out))
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if rest, _ := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Fatalf("%v, and after the answer comes %q", err, rest)
	}
	return reply{resp.StatusCode, resp.Header, body}, true
}

// mustQuickly waits until an address is answered quickly.
func (s *system) mustQuickly(t *testing.T, target string, more ...string) (answer reply) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s with %q is answered quickly", target, more), func() (ok bool) {
		s.must(t, 200, "GET", target, "")
		answer, ok = s.quickly(t, s.key, target, more...)
		return ok
	})
	return answer
}

func TestQuickAnswersAreTheUsualOnes(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, siteKey := s.newSite(t)
		page := s.newPage(t, site, "/about")
		for _, target := range []string{"/v6/pages/" + page, "/v6/pages/about?siteId=" + site, "/v6/pages?siteId=" + site, "/v2/sites/" + site} {
			if _, ok := s.quickly(t, s.key, target); ok {
				t.Errorf("%s is answered before anybody was", target)
			}
			usual := s.must(t, 200, "GET", target, "")
			for _, more := range [][]string{nil, {"Accept", "*/*", "Accept-Encoding", "gzip"}, {"Connection", "Keep-Alive"}, {"X-Forwarded-For", "192.0.2.1"}} {
				got := s.mustQuickly(t, target, more...)
				if got.status != usual.status || string(got.body) != string(usual.body) {
					t.Errorf("%s is answered %d %s", target, got.status, got.body)
				}
				for name := range usual.header {
					if got.header.Get(name) != usual.header.Get(name) && name != "Date" && name != "X-Request-Id" {
						t.Errorf("%s: %s is %q, quickly %q", target, name, usual.header.Get(name), got.header.Get(name))
					}
				}
				if len(got.header) != len(usual.header) || got.header.Get("X-Request-Id") == "" {
					t.Errorf("%s: the headers are %v, quickly %v", target, usual.header, got.header)
				}
				if at, err := http.ParseTime(got.header.Get("Date")); err != nil || time.Since(at) > time.Minute {
					t.Errorf("the date is %q", got.header.Get("Date"))
				}
			}
			for _, key := range []string{siteKey, s.key + "x", freshWorkspace(t, s).key} {
				if _, ok := s.quickly(t, key, target); ok {
					t.Errorf("%s is answered to another key", target)
				}
			}
		}
	})
}

func TestQuickAnswersAreNeverBehindAWrite(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for target, change := range readings(t, s) {
			s.mustQuickly(t, target)
			change()
			if r, ok := s.quickly(t, s.key, target); ok {
				t.Errorf("%s is still answered %s", target, r.body)
			}
		}
	})
}

// Whatever is out of the ordinary is left to those who know what to make of it.
func TestQuickAnswersAreForPlainRequests(t *testing.T) {
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err)
	site, _ := s.newSite(t)
	target := "/v6/pages/" + s.newPage(t, site, "/about")
	s.mustQuickly(t, target)
	for name, c := range map[string]struct {
		key, target string
		more        []string
	}{
		"no key":             {key: "-"},
		"an empty key":       {key: ""},
		"an empty key first": {more: []string{"X-Api-Key", s.key}, key: ""},
		"an empty key last":  {more: []string{"X-Api-Key", ""}, key: s.key},
		"two keys":           {more: []string{"X-Api-Key", s.key}, key: s.key},
		"a key with a space": {key: s.key[:9] + " " + s.key[9:]},
		"an authorization":   {more: []string{"Authorization", "Bearer " + s.key}, key: s.key},
		"a condition":        {more: []string{"If-None-Match", `"x"`}, key: s.key},
		"an origin":          {more: []string{"Origin", "https://example.com"}, key: s.key},
		"a length":           {more: []string{"Content-Length", "0"}, key: s.key},
		"an unknown header":  {more: []string{"X-Unknown", "1"}, key: s.key},
		"an address like it": {target: target + "?", key: s.key},
		"an escape":          {target: strings.Replace(target, "v6", "v%36", 1), key: s.key},
	} {
		if _, ok := s.quickly(t, c.key, cmp.Or(c.target, target), c.more...); ok {
			t.Errorf("%s is answered quickly", name)
		}
	}
}

func TestQuickAnswersCountAgainstTheLimit(t *testing.T) {
	const limit = 40
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err, func(o *httpapi.Options) { o.Limits.Site = ratelimit.Rate{Requests: limit, Period: 1000 * time.Hour} })
	site, key := s.newSite(t)
	reader := *s
	reader.key = key
	target := "/v6/pages/" + s.newPage(t, site, "/about")
	answered := 0
	for range 3 * limit {
		if _, ok := s.quickly(t, key, target); ok {
			answered++
		} else if r := reader.call(t, "GET", target, ""); r.status == 200 {
			answered++
		} else if r.status != 429 || r.header.Get("Retry-After") == "" {
			t.Fatalf("answered %d", r.status)
		}
	}
	if answered != limit {
		t.Errorf("%d were answered, want %d", answered, limit)
	}
}
