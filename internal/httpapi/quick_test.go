package httpapi_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"galley/internal/httpapi"
	"galley/internal/ratelimit"
	"galley/internal/sqlstore"
)

// plainly is a GET as clients send it, with further headers.
func plainly(key, target string, more ...string) string {
	return "GET " + target + " HTTP/1.1\r\n" + strings.Join(append([]string{"Host: 127.0.0.1:8080", "User-Agent: test/1.0 (a b)", "x-api-key: " + key}, more...), "\r\n") + "\r\n\r\n"
}

// fromText is an answer from the text of a request alone, if there is one.
func (s *system) fromText(t *testing.T, text string) (reply, bool) {
	t.Helper()
	out, ok := s.api.Quick(nil, []byte(text))
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

func TestQuickAnswersAreTheUsualOnes(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, siteKey := s.newSite(t)
		page := s.newPage(t, site, "/about")
		for _, target := range []string{"/v6/pages/" + page, "/v6/pages/about?siteId=" + site, "/v6/pages?siteId=" + site, "/v2/sites/" + site} {
			if _, ok := s.fromText(t, plainly(s.key, target)); ok {
				t.Errorf("%s is answered before anybody was", target)
			}
			s.warm(t, target)
			usual := s.must(t, 200, "GET", target, "")
			for _, more := range []string{"", "Accept: */*\r\naccept-encoding: gzip", "Connection: Keep-Alive", "X-Forwarded-For: 192.0.2.1"} {
				var headers []string
				if more != "" {
					headers = append(headers, more)
				}
				got, ok := s.fromText(t, plainly(s.key, target, headers...))
				if !ok {
					t.Fatalf("%s with %q is not answered quickly", target, more)
				}
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
				if _, ok := s.fromText(t, plainly(key, target)); ok {
					t.Errorf("%s is answered to another key", target)
				}
			}
		}
	})
}

func TestQuickAnswersAreNeverBehindAWrite(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for target, change := range readings(t, s) {
			s.warm(t, target)
			if _, ok := s.fromText(t, plainly(s.key, target)); !ok {
				t.Fatalf("%s is not answered quickly", target)
			}
			change()
			if r, ok := s.fromText(t, plainly(s.key, target)); ok {
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
	s.warm(t, target)
	good := plainly(s.key, target)
	if _, ok := s.fromText(t, good); !ok {
		t.Fatal("a plain request is not answered")
	}
	for name, text := range map[string]string{
		"another method":         strings.Replace(good, "GET", "HEAD", 1),
		"a method in lower case": strings.Replace(good, "GET", "get", 1),
		"another version":        strings.Replace(good, "HTTP/1.1", "HTTP/1.0", 1),
		"two spaces":             strings.Replace(good, "GET ", "GET  ", 1),
		"no host":                strings.Replace(good, "Host: 127.0.0.1:8080\r\n", "", 1),
		"an empty host":          strings.Replace(good, "127.0.0.1:8080", "", 1),
		"two hosts":              plainly(s.key, target, "Host: b"),
		"a strange host":         strings.Replace(good, "127.0.0.1:8080", "a/b", 1),
		"no key":                 strings.Replace(good, "x-api-key: "+s.key, "Accept: */*", 1),
		"two keys":               plainly(s.key, target, "X-Api-Key: "+s.key),
		"a key with a space":     strings.Replace(good, s.key, s.key[:9]+" "+s.key[9:], 1),
		"an authorization":       plainly(s.key, target, "Authorization: Bearer "+s.key),
		"a condition":            plainly(s.key, target, `If-None-Match: "x"`),
		"an origin":              plainly(s.key, target, "Origin: https://example.com"),
		"a body":                 plainly(s.key, target, "Content-Length: 0"),
		"chunks":                 plainly(s.key, target, "Transfer-Encoding: chunked"),
		"the last one":           plainly(s.key, target, "Connection: close"),
		"an expectation":         plainly(s.key, target, "Expect: 100-continue"),
		"an upgrade":             plainly(s.key, target, "Upgrade: h2c"),
		"an unknown header":      plainly(s.key, target, "X-Unknown: 1"),
		"a header's space":       plainly(s.key, target, "Accept : */*"),
		"a folded header":        plainly(s.key, target, "Accept: a\r\n b"),
		"no header":              plainly(s.key, target, "Accept"),
		"a control character":    plainly(s.key, target, "Accept: a\x01"),
		"a tab":                  plainly(s.key, target, "Accept: a\tb"),
		"an odd letter":          plainly(s.key, target, "Accept: é"),
		"a single line end":      strings.Replace(good, "\r\n", "\n", 1),
		"two requests":           good + good,
		"half a request":         good[:len(good)-2],
		"nothing":                "",
		"an address like it":     plainly(s.key, target+"?"),
		"an escape":              plainly(s.key, strings.Replace(target, "v6", "v%36", 1)),
	} {
		if _, ok := s.fromText(t, text); ok {
			t.Errorf("%s: %q is answered quickly", name, text)
		}
	}
}

func TestQuickAnswersCountAgainstTheLimit(t *testing.T) {
	const limit = 40
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err, func(o *httpapi.Options) { o.Limits.Site = ratelimit.Rate{Requests: limit, Period: time.Hour} })
	site, key := s.newSite(t)
	reader := *s
	reader.key = key
	target := "/v6/pages/" + s.newPage(t, site, "/about")
	answered := 0
	for range 3 * limit {
		if _, ok := s.fromText(t, plainly(key, target)); ok {
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
