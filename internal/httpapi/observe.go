package httpapi

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
)

type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec

	mu    sync.RWMutex
	known map[labels]series // finding a metric by its labels costs more than counting
}

type labels struct {
	route, method string
	status        int
}

// series are the metrics that requests with the same labels are counted in.
type series struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

func newMetrics(registry *prometheus.Registry) *metrics {
	m := &metrics{
		known: map[labels]series{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "galley_http_requests_total", Help: "Requests, by route, method and status.",
		}, []string{"route", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "galley_http_request_duration_seconds", Help: "Durations of requests, by route and method.",
			Buckets: []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30},
		}, []string{"route", "method"}),
	}
	registry.MustRegister(m.requests, m.duration)
	return m
}

func (m *metrics) series(l labels) series {
	m.mu.RLock()
	found, ok := m.known[l]
	m.mu.RUnlock()
	if !ok {
		found = series{m.requests.WithLabelValues(l.route, l.method, strconv.Itoa(l.status)), m.duration.WithLabelValues(l.route, l.method)}
		m.mu.Lock()
		m.known[l] = found
		m.mu.Unlock()
	}
	return found
}

// unmatched is the pattern of a path without an endpoint, and of requests that are
// refused before they are routed.
const unmatched = "unmatched"

var knownMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// observe records a request in the metrics and in the log, without keys and
// bodies. Requests that a busy server refuses are not logged: there are many.
func (a *API) observe(r *request, status int, took time.Duration) {
	method := r.Method
	if !slices.Contains(knownMethods, method) {
		method = "other" // clients must not create metrics
	}
	counted := a.metrics.series(labels{r.pattern, method, status})
	counted.requests.Inc()
	counted.duration.Observe(took.Seconds())
	log := a.log.Handler()
	if r.refused || !log.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	// A slog.Logger would look up the source line, which costs time.
	line := slog.NewRecord(r.start.Add(took), slog.LevelInfo, "request", 0)
	attrs := append(make([]slog.Attr, 0, 8), slog.String("requestId", r.id), slog.String("client", a.proxies.client(r.Request).String()))
	site := r.site
	if r.who.App != nil || r.who.Site != nil {
		attrs = append(attrs, slog.String("credential", r.who.ID().String()))
	}
	if r.who.Site != nil {
		site = r.who.Site.ID
	}
	if site != cms.NoID {
		attrs = append(attrs, slog.String("siteId", site.String()))
	}
	line.AddAttrs(append(attrs, slog.String("method", method), slog.String("route", r.pattern), slog.Int("status", status),
		slog.Float64(DurationKey, float64(took.Microseconds())/1000))...)
	_ = log.Handle(r.Context(), line)
}

// DurationKey is the log attribute of a request's duration in milliseconds.
const DurationKey = "durationMs"
