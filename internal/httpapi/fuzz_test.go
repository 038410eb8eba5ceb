package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

// fuzzed is the real handler on a real store, called without a network between
// so that many inputs can be tried. Words in braces stand for what is there, as
// in hostile: inputs that were found in one run mean the same in the next.
type fuzzed struct {
	handler http.Handler
	key     string
	names   []string // what the words in braces stand for, in pairs
}

func newFuzzed(f testing.TB) *fuzzed {
	f.Helper()
	store, err := sqlstore.OpenSQLite(f.TempDir(), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(f.Context()); err != nil {
		f.Fatal(err)
	}
	svc := service.New(store, time.Now, httpapi.AuditState)
	first, err := svc.FirstStart(f.Context(), service.Bootstrap{})
	if err != nil {
		f.Fatal(err)
	}
	z := &fuzzed{key: string(first.Key), names: []string{"{nil}", cms.NoID.String(), "{unknown}", cms.NewID().String()}}
	z.handler = httpapi.New(httpapi.Options{
		Service: svc, Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
		Ready: func() error { return nil }, Version: "test",
	})
	z.make(f, "{site}", "/v2/sites", `{"name":"Shop"}`)
	z.make(f, "{other}", "/v2/sites", `{"name":"Other"}`)
	z.make(f, "{fr}", "/v2/locales", `{"siteId":"{site}","locale":"fr"}`)
	z.make(f, "{home}", "/v6/pages", `{"siteId":"{site}","pathname":"/"}`)
	z.make(f, "{about}", "/v6/pages", `{"siteId":"{site}","pathname":"/about"}`)
	z.make(f, "{otherPage}", "/v6/pages", `{"siteId":"{other}","pathname":"/about"}`)
	z.make(f, "{route}", "/v2/routes", `{"siteId":"{site}","pathname":"/checkout"}`)
	z.make(f, "{app}", "/v2/apps", `{"name":"App","scopes":["read"]}`)
	return z
}

func (z *fuzzed) fill(s string) string { return strings.NewReplacer(z.names...).Replace(s) }

// make creates what a word in braces is to stand for.
func (z *fuzzed) make(f testing.TB, word, target, body string) {
	f.Helper()
	answer := z.serve("POST", &url.URL{Path: target}, z.fill(body))
	var made struct{ ID string }
	if err := json.Unmarshal(answer.Body.Bytes(), &made); err != nil || answer.Code != 201 {
		f.Fatalf("POST %s: %d %v\n%s", target, answer.Code, err, answer.Body)
	}
	z.names = append(z.names, word, made.ID)
}

func (z *fuzzed) serve(method string, address *url.URL, body string) *httptest.ResponseRecorder {
	req := &http.Request{
		Method: method, URL: address, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: "localhost", RemoteAddr: "127.0.0.1:1",
		Header: http.Header{"X-Api-Key": {z.key}, "Content-Type": {"application/json"}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
	answer := httptest.NewRecorder()
	z.handler.ServeHTTP(answer, req.WithContext(context.Background()))
	return answer
}

// try sends a request and checks what holds for every answer: no fault of the
// service, soon, JSON, and errors in their form.
func (z *fuzzed) try(t *testing.T, method string, address *url.URL, body string) (int, []string) {
	t.Helper()
	begin := time.Now()
	answer := z.serve(method, address, body)
	if took := time.Since(begin); took > patience {
		t.Errorf("took %v", took)
	}
	if answer.Code >= 500 || answer.Code < 200 || answer.Header().Get("X-Request-Id") == "" {
		t.Fatalf("%s %s: status %d\n%.500s", method, address, answer.Code, answer.Body)
	}
	if answer.Code < 400 {
		reference := address.Path == "/" || strings.HasPrefix(address.Path, "/docs") // HTML
		if answer.Code != 204 && !reference && !json.Valid(answer.Body.Bytes()) {
			t.Fatalf("%s %s: no JSON\n%.500s", method, address, answer.Body)
		}
		return answer.Code, nil
	}
	return answer.Code, z.fields(t, answer)
}

func (z *fuzzed) fields(t *testing.T, answer *httptest.ResponseRecorder) []string {
	t.Helper()
	var e struct {
		Object, Code, Message string
		Details               []struct{ Field, Message string }
	}
	dec := json.NewDecoder(bytes.NewReader(answer.Body.Bytes()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil || e.Object != "error" || e.Code != hostileCodes[answer.Code] || e.Message == "" {
		t.Fatalf("status %d, %v\n%.500s", answer.Code, err, answer.Body)
	}
	var fields []string
	for _, d := range e.Details {
		if d.Message == "" || slices.Contains(fields, d.Field) {
			t.Fatalf("details without a message or twice for a field:\n%.500s", answer.Body)
		}
		fields = append(fields, d.Field)
	}
	if answer.Code == 400 && len(fields) == 0 {
		t.Fatalf("a bad request without details:\n%.500s", answer.Body)
	}
	return fields
}

var fuzzQueries = []string{
	"/v2/locales", "/v2/routes", "/v2/sites", "/v2/apps", "/v6/pages", "/v2/sites/{site}/pages", "/v6/pages/about", "/v6/pages/{about}", "/v2/locales/fr",
}

// seed is an input to start from: which address it is about, and what is sent
// there.
type seed struct {
	at   uint8
	text string
}

func querySeeds() []seed {
	var seeds []seed
	for _, table := range [][]hostile{hostileSiteIDs, hostileLists, hostileReads} {
		for _, c := range table {
			path, query, _ := strings.Cut(c.target, "?")
			if at := slices.Index(fuzzQueries, path); at >= 0 && len(query) < 200 {
				seeds = append(seeds, seed{uint8(at), query})
			}
		}
	}
	return seeds
}

func (z *fuzzed) tryQuery(t *testing.T, at uint8, query string) {
	path := fuzzQueries[int(at)%len(fuzzQueries)]
	z.try(t, "GET", &url.URL{Path: z.fill(path), RawQuery: z.fill(query)}, "")
}

func FuzzQuery(f *testing.F) { fuzz(f, querySeeds(), (*fuzzed).tryQuery) }

// fuzz runs a target on the real handler.
func fuzz(f *testing.F, seeds []seed, try func(*fuzzed, *testing.T, uint8, string)) {
	for _, s := range seeds {
		f.Add(s.at, s.text)
	}
	z := newFuzzed(f)
	f.Fuzz(func(t *testing.T, at uint8, text string) { try(z, t, at, text) })
}

var (
	fuzzLists = []string{"/v2/locales", "/v2/routes", "/v6/pages", "/v2/sites", "/v2/apps", "/v2/sites/{site}/changes", "/v2/sites/{site}/publishes"}
	fuzzSorts = []string{"path", "title", "description", "createdAt", "updatedAt"}
)

func cursorSeeds() []seed {
	var seeds []seed
	for at := range uint8(len(fuzzLists)) {
		for _, text := range []string{"abc", "{about}", "{otherPage}", "{fr}", "{route}", "{site}", "{app}", "{unknown}", "{nil}", "{{about}}", "\x00", "\xff", "-1"} {
			seeds = append(seeds, seed{at, text})
		}
	}
	return seeds
}

func (z *fuzzed) tryCursor(t *testing.T, at uint8, cursor string) {
	list := fuzzLists[int(at)%len(fuzzLists)]
	query := url.Values{
		"siteId": {z.fill("{site}")}, "startingAfter": {z.fill(cursor)}, "limit": {"1"},
		"sortBy": {fuzzSorts[int(at)%len(fuzzSorts)]}, "sortDirection": {[]string{"asc", "desc"}[at%2]},
	}
	status, fields := z.try(t, "GET", &url.URL{Path: z.fill(list), RawQuery: query.Encode()}, "")
	if status != 200 && status != 400 {
		t.Errorf("%s: status %d", list, status)
	}
	if _, ok := cms.ParseID(z.fill(cursor)); !ok && !slices.Contains(fields, "startingAfter") {
		t.Errorf("%s takes %q for a cursor", list, cursor)
	}
}

func FuzzCursor(f *testing.F) { fuzz(f, cursorSeeds(), (*fuzzed).tryCursor) }

var fuzzPaths = []struct{ method, prefix string }{
	{"GET", "/v6/pages/"}, {"GET", "/v2/routes/"}, {"PATCH", "/v6/pages/"}, {"PATCH", "/v2/routes/"}, {"GET", "/v2/locales/"}, {"GET", "/v2/sites/"},
	{"HEAD", "/v6/pages/"}, {"PUT", "/v6/pages/"}, {"GET", "/v2/"}, {"GET", "/"},
}

func pathSeeds() []seed {
	var seeds []seed
	for _, c := range hostilePathnames {
		path, _, _ := strings.Cut(c.target, "?")
		at := slices.IndexFunc(fuzzPaths, func(p struct{ method, prefix string }) bool { return strings.HasPrefix(path, p.prefix) })
		if rest := strings.TrimPrefix(path, fuzzPaths[at].prefix); len(rest) < 200 {
			seeds = append(seeds, seed{uint8(at), rest})
		}
	}
	for _, text := range []string{"{about}/restore", "{about}/localizations/fr", "batch", "{about}%2Frestore", "%", "%zz"} {
		seeds = append(seeds, seed{0, text})
	}
	return seeds
}

func (z *fuzzed) tryPath(t *testing.T, at uint8, rest string) {
	to := fuzzPaths[int(at)%len(fuzzPaths)]
	address, err := url.ParseRequestURI(to.prefix + z.fill(rest))
	if err != nil {
		return // net/http refuses it before any handler
	}
	address.RawQuery = z.fill("siteId={site}")
	z.try(t, to.method, address, "{}")
}

func FuzzPath(f *testing.F) { fuzz(f, pathSeeds(), (*fuzzed).tryPath) }

// fuzzBodies are the addresses that take a body and can be asked again and
// again.
var fuzzBodies = []struct{ method, target string }{
	{"PATCH", "/v6/pages/{about}"}, {"PATCH", "/v6/pages/{about}?locale=fr"}, {"POST", "/v6/pages"}, {"POST", "/v6/pages/batch"},
	{"PATCH", "/v2/sites/{other}"}, {"POST", "/v2/sites"}, {"PATCH", "/v2/locales/{fr}"}, {"POST", "/v2/locales"},
	{"PATCH", "/v2/routes/{route}"}, {"POST", "/v2/routes"}, {"POST", "/v2/routes?skipValidation=true"},
	{"PATCH", "/v2/apps/{app}"}, {"POST", "/v2/apps"}, {"POST", "/v2/sites/{other}/rotate-key"}, {"POST", "/v2/sites/{site}/publish"},
}

func bodySeeds() []seed {
	var seeds []seed
	for _, table := range [][]hostile{hostileBodies, hostileKept, hostileApps, hostileBatches, hostilePublishes} {
		for _, c := range table {
			if len(c.body) > 0 && len(c.body) < 200 {
				seeds = append(seeds, seed{uint8(fuzzBodyOf(c)), c.body})
			}
		}
	}
	return seeds
}

func (z *fuzzed) tryBody(t *testing.T, at uint8, body string) {
	to := fuzzBodies[int(at)%len(fuzzBodies)]
	address, err := url.ParseRequestURI(z.fill(to.target))
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := z.try(t, to.method, address, z.fill(body)); status >= 300 {
		return
	}
	// Whatever was taken in must come out again.
	z.try(t, "GET", &url.URL{Path: "/v6/pages", RawQuery: z.fill("siteId={site}&includeOffline=true&sortBy=title&locale={fr}")}, "")
	z.try(t, "GET", &url.URL{Path: z.fill("/v2/sites/{other}")}, "")
}

func FuzzBody(f *testing.F) { fuzz(f, bodySeeds(), (*fuzzed).tryBody) }

// fuzzBodyOf is the address that a case is about, or else the first.
func fuzzBodyOf(c hostile) int {
	i := slices.IndexFunc(fuzzBodies, func(to struct{ method, target string }) bool { return to.method == c.method && to.target == c.target })
	return max(i, 0)
}
