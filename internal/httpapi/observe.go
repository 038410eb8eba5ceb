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
	credential := ""
	if r.who.App != nil || r.who.Site != nil {
		credential = r.who.ID().String()
	}
	log := a.log.Handler()
	if !log.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	// Made by hand: the logger would look for the place in the code each time.
	line := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0)
	line.AddAttrs(slog.String("requestId", r.id), slog.String("credential", credential), slog.String("method", method),
		slog.String("route", r.pattern), slog.Int("status", status), slog.Float64("duration", took.Seconds()))
	_ = log.Handle(r.Context(), line) // a log that can't be written has nobody to tell
}

// operator is an address for operators: it needs an App key with scope admin.
type operator struct {
	methods []string
	handler http.Handler
}

func operators(registry *prometheus.Registry) map[string]operator {
	get := []string{http.MethodGet}
	// Without cmdline: a flag may hold the database's password.
	addresses := map[string]operator{
		"/metrics":             {get, promhttp.HandlerFor(registry, promhttp.HandlerOpts{})},
		"/debug/pprof/":        {get, http.HandlerFunc(pprof.Index)},
		"/debug/pprof/profile": {get, http.HandlerFunc(pprof.Profile)},
		"/debug/pprof/symbol":  {append(get, http.MethodPost), http.HandlerFunc(pprof.Symbol)},
		"/debug/pprof/trace":   {get, http.HandlerFunc(pprof.Trace)},
	}
	for _, profile := range profiles.Profiles() {
		addresses["/debug/pprof/"+profile.Name()] = operator{get, pprof.Handler(profile.Name())}
	}
	return addresses
}

// maxProfile is how long a profile may take, in seconds: there has to be time to
// send it.
const maxProfile = 45

// checkSeconds refuses a time for which no profile is made.
func checkSeconds(values []string) error {
	for _, value := range values {
		if n, err := strconv.ParseFloat(value, 64); err != nil || !(n > 0 && n <= maxProfile) {
			return cms.BadField("seconds", fmt.Sprintf("must be a number of at most %d", maxProfile))
		}
	}
	return nil
}

// operatorPaths documents the addresses for operators.
func operatorPaths() map[string]schema {
	operation := func(name, summary, content string) schema {
		responses := schema{"200": schema{"description": "OK", "headers": commonHeaders(), "content": schema{content: schema{"schema": schema{"type": "string"}}}}}
		for _, status := range []int{400, 401, 403, 429, 500, 503} {
			responses[strconv.Itoa(status)] = ref("responses", errorName(status))
		}
		return schema{
			"operationId": name, "summary": summary, "description": "For App keys with scope `admin`.", "tags": []string{"Operations"}, "responses": responses,
		}
	}
	return map[string]schema{
		"/metrics":      operation("getMetrics", "What Prometheus collects", "text/plain"),
		"/debug/pprof/": operation("listProfiles", "Profiles of the program, by links", "text/html"),
	}
}
