// Package httpapi is the REST edge: it turns requests into calls of the
// service and what comes back into JSON. Wire types live here and nowhere
// else, so that each version of the interface can change apart.
package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
	"galley/internal/service"
)

// Options are what the edge needs to know.
type Options struct {
	Service  *service.Service
	Log      *slog.Logger
	Registry *prometheus.Registry
	Limits   Limits
	// Ready returns why the server should not be sent requests, or nil. It must
	// not block.
	Ready func() error
	// CacheBytes bounds the answers kept in memory; 0 keeps none.
	CacheBytes int64
	// Version of the program, for the interface document.
	Version string
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// Origins are those whose scripts may read with a Site key, or AnyOrigin.
	Origins []string
	// MaxInFlight is how many requests are worked on at a time; 0: 128.
	MaxInFlight int
	// Crowded tells that connections are not to be kept; nil: they always are.
	Crowded func() bool
}

// API is the handler of every address.
type API struct {
	svc       *service.Service
	log       *slog.Logger
	metrics   *metrics
	cache     *cache
	limits    Limits
	proxies   proxies
	origins   origins
	vary      []string // the header of every answer
	admission *admission
	crowded   func() bool
	ready     func() error
	table     []*endpoint
	router    router
	open      map[string]http.HandlerFunc // addresses that need no key
	internal  map[string]operator         // addresses for operators
}

// New makes the handler.
func New(o Options) *API {
	a := &API{
		svc: o.Service, log: o.Log, metrics: newMetrics(o.Registry), limits: o.Limits, ready: o.Ready,
		proxies: o.TrustedProxies, origins: o.Origins, vary: []string{origins(o.Origins).vary()}, crowded: o.Crowded,
		admission: newAdmission(cmp.Or(o.MaxInFlight, defaultInFlight), o.Registry),
	}
	a.cache = newCache(o.Service, o.CacheBytes, o.Registry)
	a.table = a.endpoints()
	a.router = newRouter(a.table)
	a.internal = operators(o.Registry)
	a.open = a.openHandlers(Document(o.Version))
	return a
}

// request is one request on its way through the edge.
type request struct {
	*http.Request
	id         string
	start      time.Time
	credential string // the key as it was sent: never logged, never stored
	who        service.Caller
	endpoint   *endpoint
	pattern    string // of the address, for logs and metrics
	values     map[string]string
	query      query
	site       cms.ID // NoID: not known
	unread     bool   // there is a body, and not all of it was read
	version    int64  // of the store before anything was read for it
}

// ServeHTTP answers every request there is, with JSON where the interface is
// concerned, and tells the log and the metrics about it.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	req := &request{Request: r, id: cms.NewID().String(), start: start, pattern: unmatched, unread: r.ContentLength != 0}
	out := &responseWriter{ResponseWriter: w, request: req, admission: a.admission}
	h := w.Header()
	protect(h, r)
	h["X-Request-Id"] = []string{req.id}
	h["Cache-Control"] = cacheControl
	h["Vary"] = a.vary
	// A body whose end is not told in advance may hide a second request: nothing
	// after it is trusted. In a crowd, connections that do nothing are too dear.
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
	if a.preflight(w, r, path) {
		return
	}
	a.origins.share(w.Header(), r.Request)
	if a.recall(w, r) {
		return // this costs no more than to turn it away
	}
	// What was asked for is done even if the caller leaves: a request that is
	// cut off halfway would tell less about what happened.
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
	answer, err := a.work(w, r, path)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	a.write(w, r, answer)
}

// methodOf is a request's method, by which it is handled: HEAD is GET.
func methodOf(r *request) string {
	if r.Method == http.MethodHead {
		return http.MethodGet
	}
	return r.Method
}

// answer finds the endpoint, checks the parts of the request that come before
// any resource, and handles it.
func (a *API) answer(w http.ResponseWriter, r *request, path string) (answer, error) {
	var allow []string
	if r.endpoint, r.values, allow = a.router.route(methodOf(r), path); r.endpoint == nil {
		if allow != nil {
			return answer{}, methodNotAllowed(w, allow)
		}
		return answer{}, &cms.Error{Code: cms.CodeNotFound, Message: "There is nothing at this address"}
	}
	r.pattern = r.endpoint.path()
	actor, err := actorOf(r.Request)
	if err != nil {
		return answer{}, err
	}
	r.who.Request = service.Request{ID: r.id, Operation: r.endpoint.name, Actor: actor}
	if r.query, err = parseQuery(r.URL.RawQuery, r.endpoint.params, r.named()); err != nil {
		return answer{}, err
	}
	if !r.query.versionGiven {
		r.query.version = r.who.DefaultVersion()
	}
	if r.site = r.query.siteID; r.site == cms.NoID {
		r.site, _ = cms.ParseID(r.values["siteId"])
	}
	if err := r.who.Allow(r.endpoint.scope, r.endpoint.siteKey); err != nil {
		return answer{}, err
	}
	return a.handle(r)
}

// requestTimeout is how long the store may keep a request waiting: shorter
// than the server's write timeout, so that there is an answer.
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

// responseWriter notes what was answered.
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
		w.hurry()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) Write(b []byte) (int, error) {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	return w.admission.send(w.ResponseWriter, b, w.shared)
}

// hurry gives the rest of a body that was not read little time: net/http waits
// for it before it sends the answer.
func (w *responseWriter) hurry() {
	if w.request.unread {
		_ = http.NewResponseController(w.ResponseWriter).SetReadDeadline(time.Now().Add(restTimeout))
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
