package httpapi

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	profiles "runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"galley/internal/cms"
)

type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec

	mu    sync.RWMutex
	known map[outcome]observed
}

// outcome is what requests are counted by.
type outcome struct {
	route, method string
	status        int
}

// observed are the metrics of an outcome: to find them takes longer than to add
// to them.
type observed struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

// of finds the metrics of an outcome. There are few: routes, methods and
// statuses are ours.
func (m *metrics) of(o outcome) observed {
	m.mu.RLock()
	found, ok := m.known[o]
	m.mu.RUnlock()
	if !ok {
		found = observed{m.requests.WithLabelValues(o.route, o.method, strconv.Itoa(o.status)), m.duration.WithLabelValues(o.route, o.method)}
		m.mu.Lock()
		m.known[o] = found
		m.mu.Unlock()
	}
	return found
}

func newMetrics(registry *prometheus.Registry) *metrics {
	m := &metrics{
		known: map[outcome]observed{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "galley_http_requests_total", Help: "Requests answered, by address pattern, method and status.",
		}, []string{"route", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "galley_http_request_duration_seconds", Help: "How long requests took, by address pattern and method.",
			Buckets: []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30},
		}, []string{"route", "method"}),
	}
	registry.MustRegister(m.requests, m.duration)
	return m
}

// unmatched is the pattern of an address that nothing is at.
const unmatched = "unmatched"

var knownMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// observe notes a request in the metrics and in the log: one line, never a key
// or a body.
func (a *API) observe(r *request, status int, took time.Duration) {
	method := r.Method
	if !slices.Contains(knownMethods, method) {
		method = "other" // a made-up method must not make up a metric
	}
	if r.pattern == unmatched {
		// It was refused before anybody looked what it asks for.
		if endpoint, _, _ := a.router.route(methodOf(r), r.URL.EscapedPath()); endpoint != nil {
			r.pattern = endpoint.path()
		}
	}
	metrics := a.metrics.of(outcome{r.pattern, method, status})
	metrics.requests.Inc()
	metrics.duration.Observe(took.Seconds())
	log := a.log.Handler()
	if !log.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	// The logger itself would look up its caller each time.
	line := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0)
	line.AddAttrs(slog.String("requestId", r.id), slog.String("client", a.proxies.client(r.Request).String()))
	site := r.site
	if r.who.App != nil || r.who.Site != nil {
		line.AddAttrs(slog.String("credential", r.who.ID().String()))
	}
	if r.who.Site != nil {
		site = r.who.Site.ID
	}
	if site != cms.NoID {
		line.AddAttrs(slog.String("siteId", site.String()))
	}
	line.AddAttrs(slog.String("method", method), slog.String("route", r.pattern), slog.Int("status", status),
		slog.Float64(DurationKey, float64(took.Microseconds())/1000))
	_ = log.Handle(r.Context(), line) // there is no other place to report a log that can't be written
}

// DurationKey is the attribute of a request's line that has its duration in
// milliseconds.
const DurationKey = "durationMs"

// operator is an address for operators: it needs an App key with scope operator.
type operator struct {
	methods []string
	params  []string
	handler http.Handler
}

// operate authenticates and answers a request of an operator. The handler is
// given the request as net/http made it: a profile may take longer than others.
func (a *API) operate(w *responseWriter, r *request, original *http.Request, o operator) error {
	if err := a.authenticate(w.Header(), r); err != nil {
		return err
	}
	if !slices.Contains(o.methods, methodOf(r)) {
		return methodNotAllowed(w, o.methods)
	}
	if err := o.check(r.URL.RawQuery); err != nil {
		return err
	}
	if err := r.who.Allow(cms.ScopeOperator, false); err != nil {
		return err
	}
	o.handler.ServeHTTP(w, original)
	return nil
}

// check refuses parameters that the handler must not be given: gc=1, for one,
// would stop the whole server for a collection.
func (o operator) check(rawQuery string) error {
	var params []param
	for _, name := range o.params {
		params = append(params, param{name: name, parse: func(_ *query, v string) string {
			if n, err := strconv.ParseFloat(v, 64); err != nil || !(n >= 0 && n <= maxProfile) || n == 0 && name == "seconds" {
				return fmt.Sprintf("must be a number of at most %d", maxProfile)
			}
			return ""
		}})
	}
	_, err := parseQuery(rawQuery, params, false)
	return err
}

func operators(registry *prometheus.Registry) map[string]operator {
	get, seconds := []string{http.MethodGet}, []string{"seconds"}
	// Without cmdline: a flag may hold the database's password.
	addresses := map[string]operator{
		"/metrics":             {get, nil, promhttp.HandlerFor(registry, promhttp.HandlerOpts{})},
		"/debug/pprof/":        {get, nil, http.HandlerFunc(pprof.Index)},
		"/debug/pprof/profile": {get, seconds, http.HandlerFunc(pprof.Profile)},
		"/debug/pprof/symbol":  {append(get, http.MethodPost), nil, http.HandlerFunc(pprof.Symbol)},
		"/debug/pprof/trace":   {get, seconds, http.HandlerFunc(pprof.Trace)},
	}
	for _, profile := range profiles.Profiles() {
		addresses["/debug/pprof/"+profile.Name()] = operator{get, []string{"seconds", "debug"}, pprof.Handler(profile.Name())}
	}
	return addresses
}

// maxProfile is how long a profile may take, in seconds: there has to be time to
// send it.
const maxProfile = 45

// operatorPaths documents the addresses for operators.
func operatorPaths() map[string]schema {
	operation := func(name, summary, content string) schema {
		responses := schema{"200": schema{"description": "OK", "headers": commonHeaders(), "content": schema{content: schema{"schema": schema{"type": "string"}}}}}
		for _, status := range []int{400, 401, 403, 429, 500, 503} {
			responses[strconv.Itoa(status)] = ref("responses", errorName(status))
		}
		return schema{
			"operationId": name, "summary": summary, "description": "For App keys with scope `operator`.", "tags": []string{"Operations"}, "responses": responses,
		}
	}
	return map[string]schema{
		"/metrics":      operation("getMetrics", "What Prometheus collects", "text/plain"),
		"/debug/pprof/": operation("listProfiles", "Profiles of the program, by links", "text/html"),
	}
}
