package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/pgtest"
	"galley/internal/ratelimit"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// onBothEngines runs a test on a fresh SQLite and a fresh PostgreSQL.
func onBothEngines(t *testing.T, test func(t *testing.T, s *system)) {
	t.Run("sqlite", func(t *testing.T) {
		store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
		test(t, newSystem(t, store, err))
	})
	t.Run("postgres", func(t *testing.T) {
		store, err := sqlstore.OpenPostgres(pgtest.URL(t), nil)
		test(t, newSystem(t, store, err))
	})
}

// clock is the time, but nobody sets it back.
func clock() time.Time { return began.Add(time.Since(began)) }

var began = time.Now()

// system is the whole handler stack on a store, with a first app in it.
type system struct {
	store *sqlstore.Store
	svc   *service.Service
	api   *httpapi.API
	url   string
	key   string // App key of the first workspace, every scope
	first cms.App
}

func newSystem(t *testing.T, store *sqlstore.Store, err error, options ...func(*httpapi.Options)) *system {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	svc := service.New(store, clock, httpapi.AuditState)
	svc.SecretKey = func() ([]byte, error) { return make([]byte, 32), nil }
	svc.EncodeEvent = httpapi.EncodeEvent
	first, err := svc.FirstStart(t.Context(), service.Bootstrap{})
	if err != nil {
		t.Fatal(err)
	}
	o := httpapi.Options{
		Service: svc, Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
		Limits:     httpapi.Limits{Buckets: ratelimit.Local{Memory: ratelimit.NewMemory()}}, // off unless an option sets a rate
		CacheBytes: 16 << 20,
		Ready:      func() error { return store.Ping(context.Background()) }, Version: "test",
	}
	for _, option := range options {
		option(&o)
	}
	api := httpapi.New(o)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	watch(t, svc)
	s := &system{store: store, svc: svc, api: api, url: server.URL}
	if first != nil { // a second system on a store has the first one's app
		s.key, s.first = string(first.Key), first.App
	}
	return s
}

// watch lets a service know what others change, as a running server does, so
// that it keeps what it may in memory.
func watch(t *testing.T, svc *service.Service) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { svc.Listen(ctx) })
	watching.Go(func() { svc.FollowReplica(ctx) })
	watching.Go(func() { svc.FollowEvents(ctx, func(error) {}) })
	t.Cleanup(func() { stop(); watching.Wait() })
}

// reply is an answer that has been held against the interface document.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// json is the body as an object.
func (r reply) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(r.body, &v); err != nil {
		t.Fatalf("body is no JSON object: %v\n%s", err, r.body)
	}
	return v
}

// str is a string field of the body.
func (r reply) str(t *testing.T, field string) string {
	t.Helper()
	s, ok := r.json(t)[field].(string)
	if !ok {
		t.Fatalf("field %s is no string in %s", field, r.body)
	}
	return s
}

// call sends a request with the system's App key. body is sent as JSON unless
// it is "".
func (s *system) call(t *testing.T, method, target, body string, headers ...string) reply {
	t.Helper()
	return s.send(t, s.key, method, target, body, headers...)
}

// send sends a request with a key ("" for none) and extra headers, given as
// name, value, and checks the answer against the interface document.
func (s *system) send(t *testing.T, key, method, target, body string, headers ...string) reply {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+target, reader)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	return s.do(t, req)
}

func (s *system) do(t *testing.T, req *http.Request) reply {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var whole io.Reader = resp.Body
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		whole = io.LimitReader(whole, int64(len(": connected\n\n"))) // it has no end
	}
	body, err := io.ReadAll(whole)
	if err != nil {
		t.Fatal(err)
	}
	checkAnswer(t, req, resp, body)
	return reply{resp.StatusCode, resp.Header, body}
}

// roundTrip is do without the checks.
func (s *system) roundTrip(req *http.Request) (reply, error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, body}, err
}

// must is call for requests that have to succeed with a status.
func (s *system) must(t *testing.T, status int, method, target, body string, headers ...string) reply {
	t.Helper()
	r := s.call(t, method, target, body, headers...)
	if r.status != status {
		t.Fatalf("%s %s %s: got %d, want %d\n%s", method, target, body, r.status, status, r.body)
	}
	return r
}

// newSite makes a site and returns its id and Site key.
func (s *system) newSite(t *testing.T) (id, key string) {
	t.Helper()
	r := s.must(t, 201, "POST", "/v2/sites", `{"name":"Shop"}`)
	return r.str(t, "id"), r.str(t, "publicApiKey")
}

// newPage makes a page and returns its id.
func (s *system) newPage(t *testing.T, siteID, pathname string) string {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"siteId": siteID, "pathname": pathname})
	return s.must(t, 201, "POST", "/v6/pages", string(body)).str(t, "id")
}

var document = sync.OnceValues(func() (validator.Validator, error) {
	doc, err := libopenapi.NewDocument(httpapi.Document("test"))
	if err != nil {
		return nil, err
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return v, nil
})

var validating sync.Mutex // the validator is not safe for concurrent use

// checkAnswer holds what every answer must have, and the answer of every
// documented operation against the document.
func checkAnswer(t *testing.T, req *http.Request, resp *http.Response, body []byte) {
	t.Helper()
	if resp.Header.Get("X-Request-Id") == "" {
		t.Errorf("%s %s: no X-Request-Id", req.Method, req.URL)
	}
	if resp.StatusCode >= 500 {
		t.Errorf("%s %s: status %d\n%s", req.Method, req.URL, resp.StatusCode, body)
	}
	if resp.StatusCode >= 400 && req.Method != http.MethodHead {
		checkError(t, req, resp.StatusCode, body)
	}
	checkTagged(t, req, resp)
	template := documentedPath(req)
	// Preflights are for browsers, not for readers of the document.
	if template == "" || resp.StatusCode == http.StatusMethodNotAllowed || req.Method == http.MethodOptions {
		return
	}
	v, err := document()
	if err != nil {
		t.Fatal(err)
	}
	// The validator matches addresses by segments and does not know that a
	// pathname may have several, so it is shown the documented form.
	shown := req.Clone(context.Background())
	shown.URL.Path, shown.URL.RawPath = template, ""
	copied := *resp
	copied.Body = io.NopCloser(bytes.NewReader(body))
	copied.Request = shown
	validating.Lock()
	defer validating.Unlock()
	if ok, errs := v.ValidateHttpResponse(shown, &copied); !ok {
		for _, e := range errs {
			t.Errorf("%s %s answers %d, which the document does not allow: %s (%s)\n%s", req.Method, req.URL, resp.StatusCode, e.Message, e.Reason, body)
		}
	}
}

// checkTagged holds entity tags against the document, which tells where there are
// some.
func checkTagged(t *testing.T, req *http.Request, resp *http.Response) {
	t.Helper()
	// What has an entity tag is a resource or a list; App keys, tokens and secrets are
	// neither.
	keyShown := (strings.HasPrefix(req.URL.Path, "/v2/apps") || req.URL.Path == "/v2/previews" || req.URL.Path == "/v2/webhooks" ||
		strings.HasSuffix(req.URL.Path, "/rotate-secret")) && req.Method == http.MethodPost
	resource := resp.StatusCode/100 == 2 && req.URL.Path != "/v2/events/stream" && resp.StatusCode != http.StatusNoContent && documentedPath(req) != "" && req.Method != http.MethodOptions
	if has := resp.Header.Get("ETag") != ""; has != (resource && !keyShown) && resp.StatusCode != http.StatusNotModified {
		t.Errorf("%s %s answers %d, with an entity tag: %v", req.Method, req.URL, resp.StatusCode, has)
	}
}

func checkError(t *testing.T, req *http.Request, status int, body []byte) {
	t.Helper()
	var e struct {
		Object, Code, Message string
		Details               []struct{ Field, Message string }
	}
	if err := json.Unmarshal(body, &e); err != nil {
		t.Errorf("%s %s: the error is no JSON: %v\n%s", req.Method, req.URL, err, body)
		return
	}
	if e.Object != "error" || e.Code == "" || e.Message == "" {
		t.Errorf("%s %s: incomplete error %s", req.Method, req.URL, body)
	}
	// A batch has details for what its operations name and what is in conflict.
	batch := (status == http.StatusConflict || status == http.StatusNotFound) && strings.HasSuffix(req.URL.Path, "/batch")
	if got := len(e.Details) > 0; got != (status == http.StatusBadRequest) && !batch {
		t.Errorf("%s %s: status %d with details %v", req.Method, req.URL, status, e.Details)
	}
}

// documentedPath is the documented form of a request's address with an example
// for each value in it, or "" for an address that is not documented.
func documentedPath(req *http.Request) string {
	method := req.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	pattern := httpapi.PatternOf(method, req.URL.EscapedPath())
	return patternValue.ReplaceAllStringFunc(pattern, func(value string) string {
		switch {
		case value == "{localeIdOrCode}":
			return "fr"
		case strings.HasSuffix(strings.ToLower(value), "pathname}"):
			return "about"
		}
		return "01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b"
	})
}
