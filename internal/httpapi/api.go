// Package httpapi is the REST API: it translates requests into calls of the
// service, and results into JSON. All wire types are here.
package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
	"galley/internal/service"
)

// Options configure an API.
type Options struct {
	Service  *service.Service
	Log      *slog.Logger
	Registry *prometheus.Registry
	Limits   Limits
	// Ready returns why the server should not be sent requests, or nil. It must
	// not block.
	Ready func() error
	// CacheBytes bounds the cache of responses; 0 disables it.
	CacheBytes int64
	// Version of the program, for the OpenAPI document.
	Version string
	// TrustedProxies are the networks whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Origins are the origins whose scripts may read with a Site key, or AnyOrigin.
	Origins []string
	// MaxInFlight is how many requests are handled at a time; 0: 64.
	MaxInFlight int
	// MaxContent is the largest content of a page, in bytes; 0: 1 MiB.
	MaxContent int64
	// MaxStreams is how many streams of events may be open; 0: 1,000.
	MaxStreams int
	// Stopping is closed when the server stops, which ends all streams; nil: never.
	Stopping <-chan struct{}
	// Crowded reports whether idle connections should be closed; nil: never.
	Crowded func() bool
}

// API is the handler of all paths.
type API struct {
	svc        *service.Service
	log        *slog.Logger
	metrics    *metrics
	cache      *cache
	limits     Limits
	proxies    proxies
	origins    origins
	headers    []header // of every response
	admission  *admission
	streams    *eventStreams
	maxContent int64
	crowded    func() bool
	ready      func() error
	table      []*endpoint
	router     router
	open       map[string]http.HandlerFunc // paths that need no key
	internal   map[string]operator         // paths for operators
}

// New creates the handler.
func New(o Options) *API {
	a := &API{
		svc: o.Service, log: o.Log, metrics: newMetrics(o.Registry), limits: o.Limits, ready: o.Ready,
		proxies: o.TrustedProxies, origins: o.Origins, crowded: o.Crowded, maxContent: cmp.Or(o.MaxContent, mebibyte),
		headers:   append(slices.Clone(fixedHeaders), header{"Vary", []string{origins(o.Origins).vary()}}),
		admission: newAdmission(cmp.Or(o.MaxInFlight, defaultInFlight), o.Registry),
	}
	a.streams = newEventStreams(o)
	a.cache = newCache(o.Service, o.CacheBytes, o.Registry)
	a.table = a.endpoints()
	a.router = newRouter(a.table)
	a.internal = operators(o.Registry)
	a.open = a.openHandlers(Document(o.Version))
	return a
}

// request is a request with what is known about it.
type request struct {
	*http.Request
	id         string
	start      time.Time
	credential string // the key as sent: never logged, never stored
	who        service.Caller
	endpoint   *endpoint
	pattern    string            // of the path, for logs and metrics
	values     map[string]string // in the path
	pathID     cms.ID            // of the values, the one that must be an id
	query      *query            // nil until it is parsed
	site       cms.ID            // NoID: not known
	body       body
	unread     bool  // there is a body, and not all of it was read
	refused    bool  // the server was busy
	version    int64 // of the store before anything was read
}

// header has a name in canonical form, and values that responses share and never
// change in place.
type header struct {
	name   string
	values []string
}

var fixedHeaders = []header{
	{"Cache-Control", []string{"private, no-cache"}},
	{"Content-Security-Policy", []string{"default-src 'none'; frame-ancestors 'none'"}},
	{"Cross-Origin-Resource-Policy", []string{"same-origin"}},
	{"Referrer-Policy", []string{"no-referrer"}},
	{"X-Content-Type-Options", []string{"nosniff"}},
	{"X-Frame-Options", []string{"DENY"}},
}

// ServeHTTP handles a request and records it in the log and the metrics.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	req := &request{Request: r, id: cms.NewID().String(), start: start, pattern: unmatched, unread: r.ContentLength != 0}
	out := &responseWriter{ResponseWriter: w, request: req, admission: a.admission}
	h := w.Header()
	for _, fixed := range a.headers {
		h[fixed.name] = fixed.values
	}
	h["X-Request-Id"] = []string{req.id}
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	// A body of unknown length may smuggle a second request past a proxy, so the
	// connection is not used again.
	if len(r.TransferEncoding) > 0 || (a.crowded != nil && a.crowded()) {
		h.Set("Connection", "close")
	}
	defer func() {
		if cause := recover(); cause != nil && cause != http.ErrAbortHandler { //nolint:errorlint // the documented sentinel is compared, not wrapped
			a.log.Error("panic", "requestId", req.id, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			if !out.wrote {
				a.fail(out, req, fmt.Errorf("panic: %v", cause))
			}
		}
		a.observe(req, out.status, time.Since(start))
	}()
	a.serve(out, req)
}

func (a *API) serve(w *responseWriter, r *request) {
	path := r.URL.EscapedPath()
	if open, ok := a.open[path]; ok {
		r.pattern = path
		if !readOnly(r.Method) {
			a.fail(w, r, methodNotAllowed(w, []string{http.MethodGet}))
			return
		}
		w.shared = true
		open(w, r.Request)
		return
	}
	if len(a.origins) > 0 {
		if a.preflight(w, r, path) {
			return
		}
		a.origins.share(w.Header(), r.Request)
	}
	if readOnly(r.Method) && a.serveCached(w, r) {
		return
	}
	if a.admission.full(!readOnly(r.Method)) {
		a.refuse(w, r, errBusy)
		return
	}
	// A request is completed even if its client disconnects.
	original := r.Request
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), requestTimeout)
	defer cancel()
	r.Request = r.WithContext(ctx)
	if operator, ok := a.internal[path]; ok {
		r.pattern = path
		err := a.admission.do(ctx, false, func() error { return a.operate(w, r, original, operator) })
		if err != nil {
			a.refuse(w, r, err)
		}
		return
	}
	if r.endpoint, r.values, _ = a.router.route(methodOf(r), path); r.endpoint != nil {
		r.pattern = r.endpoint.path()
	}
	response, err := a.work(w, r)
	switch {
	case err != nil:
		a.refuse(w, r, err)
	case response.events != nil:
		a.streamEvents(original.Context(), w, r, *response.events)
	default:
		a.write(w, r, response)
	}
}

// methodOf is the method that a request is handled by: HEAD is GET.
func methodOf(r *request) string {
	if r.Method == http.MethodHead {
		return http.MethodGet
	}
	return r.Method
}

// pathKinds are the values of a path that must be ids, and what they identify.
var pathKinds = map[string]cms.Kind{
	"appId": cms.KindApp, "siteId": cms.KindSite, "publishId": cms.KindPublish, "pageId": cms.KindPage,
	"redirectId": cms.KindRedirect, "previewId": cms.KindPreview,
	"webhookId": cms.KindWebhook, "deliveryId": cms.KindDelivery,
}

// respond checks everything about the request that does not depend on a resource,
// and handles it.
func (a *API) respond(w http.ResponseWriter, r *request) (response, error) {
	if r.endpoint == nil {
		if _, _, allow := a.router.route(methodOf(r), r.URL.EscapedPath()); allow != nil {
			return response{}, methodNotAllowed(w, allow)
		}
		return response{}, &cms.Error{Code: cms.CodeNotFound, Message: "There is nothing at this address"}
	}
	actor, err := actorOf(r.Request)
	if err != nil {
		return response{}, err
	}
	r.who.Request = service.Request{ID: r.id, Operation: r.endpoint.name, Actor: actor}
	if r.query, err = parseQuery(r.URL.RawQuery, r.endpoint.params, r.named()); err != nil {
		return response{}, err
	}
	if !r.query.versionGiven && !r.query.deleted && r.query.status == 0 { // those are about the draft
		r.query.version = r.who.DefaultVersion()
	}
	r.query.locale = cmp.Or(r.query.locale, r.who.DefaultLocale())
	scope := r.endpoint.scope
	if r.endpoint.name == "publishSite" {
		scope = publishScope(r)
	}
	allowed := r.who.Allow(scope, r.endpoint.audience)
	if scope, also := alsoNeeds[r.endpoint.name]; also && allowed == nil {
		allowed = r.who.Allow(scope, appsOnly)
	}
	if err := cmp.Or(allowed, r.parsePath()); err != nil {
		return response{}, err
	}
	return a.handle(r)
}

// parsePath parses the ids in the path. A value that is no id identifies nothing.
func (r *request) parsePath() error {
	r.site = r.query.siteID
	for name, value := range r.values {
		kind, isID := pathKinds[name]
		if !isID {
			continue
		}
		if r.pathID, isID = cms.ParseID(value); !isID {
			return cms.NotFound(kind)
		}
		if kind == cms.KindSite {
			r.site = r.pathID
		}
	}
	return nil
}

// alsoNeeds are scopes that operations need besides their own, since an app gives no
// right that it lacks.
var alsoNeeds = map[string]cms.Scope{"createPreview": cms.ScopeRead}

// bigWork are the operations that each workspace runs one at a time.
var bigWork = map[string]bool{"duplicateSite": true, "publishSite": true, "restorePublish": true, "discardSite": true, "batchPages": true, "batchRedirects": true}

// smallBatch is the size of a body below which a batch is not big work: about a
// hundred operations.
const smallBatch = 16 << 10

// handle runs the endpoint, and counts the rows that it writes. Big work waits
// here, before an idempotent request begins its transaction.
func (a *API) handle(r *request) (response, error) {
	if readOnly(r.Method) {
		return r.endpoint.handle(r)
	}
	if bigWork[r.endpoint.name] && (!strings.HasPrefix(r.endpoint.name, "batch") || r.ContentLength < 0 || r.ContentLength > smallBatch) {
		done, err := a.svc.BigWork(r.Context(), r.who)
		if err != nil {
			return response{}, err
		}
		defer done()
	}
	ctx, rows := service.CountRows(r.Context())
	r.Request = r.WithContext(ctx)
	defer func() { a.limits.chargeRows(r, rows.Load()) }()
	if key := r.Header.Values(idempotencyHeader); len(key) > 0 && r.Method == http.MethodPost {
		return a.once(r, key)
	}
	return r.endpoint.handle(r)
}

// requestTimeout bounds the time that a request takes in the store. It is shorter
// than the server's write timeout, so that the client gets a response.
const requestTimeout = 45 * time.Second

func readOnly(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func methodNotAllowed(w http.ResponseWriter, allow []string) error {
	for _, m := range allow {
		w.Header().Add("Allow", m)
		if m == http.MethodGet {
			w.Header().Add("Allow", http.MethodHead)
		}
	}
	w.Header().Set("Allow", strings.Join(w.Header().Values("Allow"), ", "))
	return &cms.Error{Code: codeMethodNotAllowed, Message: "This address does not have this method"}
}

// responseWriter records the status and limits how long a client takes.
type responseWriter struct {
	http.ResponseWriter
	request   *request
	admission *admission
	shared    bool // the body is in memory once for all requests
	status    int
	wrote     bool
}

func (w *responseWriter) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
		if w.request.unread { // net/http reads the rest of the body before it sends the response
			_ = http.NewResponseController(w.ResponseWriter).SetReadDeadline(time.Now().Add(restTimeout))
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) Write(b []byte) (int, error) {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	return w.admission.send(w.ResponseWriter, b, w.shared)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
