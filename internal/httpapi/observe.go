package httpapi

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
)

type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics(registry *prometheus.Registry) *metrics {
	m := &metrics{
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

// unmatched is the pattern of a path without an endpoint.
const unmatched = "unmatched"

var knownMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// observe records a request in the metrics and in the log, without keys and
// bodies.
func (a *API) observe(r *request, status int, took time.Duration) {
	method := r.Method
	if !slices.Contains(knownMethods, method) {
		method = "other" // clients must not create metrics
	}
	a.metrics.requests.WithLabelValues(r.pattern, method, strconv.Itoa(status)).Inc()
	a.metrics.duration.WithLabelValues(r.pattern, method).Observe(took.Seconds())
	log := a.log.Handler()
	if !log.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	// A slog.Logger would look up the source line, which costs time.
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
	_ = log.Handle(r.Context(), line)
}

// DurationKey is the log attribute of a request's duration in milliseconds.
const DurationKey = "durationMs"
