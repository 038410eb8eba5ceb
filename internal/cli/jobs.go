package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/server"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

// oneNode returns a job that one of several nodes runs each time.
func oneNode(svc *service.Service, name string, every time.Duration, run func(context.Context) error) server.Job {
	// Nodes may be restarted more often than the job runs, so it runs soon first.
	return server.Job{Name: name, Every: every, First: time.Minute, Run: func(ctx context.Context) error {
		// Half the interval allows for nodes whose clocks differ.
		acquired, err := svc.AcquireLease(ctx, name, every/2)
		if err != nil || !acquired {
			return err
		}
		return run(ctx)
	}}
}

// publishesAtATime is how many scheduled publishes a node runs at a time, each of
// another site.
const publishesAtATime = 2

func (c *serveCommand) jobs(svc *service.Service, store *sqlstore.Store, registry *prometheus.Registry, log *slog.Logger) []server.Job {
	publish := server.Job{Name: "run scheduled publishes", Every: time.Second, Run: runDuePublishes(svc, registry, log)}
	return append(slices.Repeat([]server.Job{publish}, publishesAtATime),
		server.Job{Name: "send to webhooks", Every: time.Second, First: time.Millisecond, Run: serveWebhooks(svc, log)},
		server.Job{Name: "check notifications", Every: 5 * time.Second, First: time.Second, Run: checkNotifications(svc, registry, log)},
		server.Job{Name: "measure the database", Every: time.Minute, First: time.Second, Run: measureStore(store, registry)},
		server.Job{Name: "index pages", Every: 5 * time.Second, First: time.Second, Run: svc.IndexPages},
		oneNode(svc, "purge ended previews", time.Hour, svc.PurgePreviews),
		server.Job{Name: "save when apps were used", Every: time.Minute, Run: svc.SaveUsage, AtStop: true},
		oneNode(svc, "delete old idempotency keys", 10*time.Minute, svc.ForgetAnswers),
		oneNode(svc, "purge deleted sites", time.Hour, func(ctx context.Context) error {
			n, err := svc.PurgeSites(ctx, c.SiteRetention)
			if n > 0 {
				log.Info("purged deleted sites", "sites", n)
			}
			return err
		}),
		oneNode(svc, "purge past publishes", time.Hour, func(ctx context.Context) error {
			if c.History == 0 {
				return nil
			}
			return svc.PurgeHistory(ctx, c.History)
		}),
		oneNode(svc, "purge unused contents", time.Hour, func(ctx context.Context) error {
			n, err := svc.PurgeContents(ctx)
			if n > 0 {
				log.Info("purged contents that no page refers to", "contents", n)
			}
			return err
		}),
		oneNode(svc, "purge events", time.Hour, svc.PurgeEvents),
		oneNode(svc, "purge deliveries", time.Hour, svc.PurgeDeliveries),
		oneNode(svc, "purge the audit log", time.Hour, func(ctx context.Context) error {
			return svc.PurgeAudit(ctx, c.Audit)
		}),
	)
}

// webhookErrors is how often an error of webhooks is logged.
const webhookErrors = 10 * time.Second

// serveWebhooks sends events to webhooks until the context ends.
func serveWebhooks(svc *service.Service, log *slog.Logger) func(context.Context) error {
	var logged atomic.Int64
	return func(ctx context.Context) error {
		svc.ServeWebhooks(ctx, func(err error) {
			now, last := time.Now().UnixNano(), logged.Load()
			if now-last > int64(webhookErrors) && logged.CompareAndSwap(last, now) {
				log.Error("webhooks are served later", "error", err.Error())
			}
		})
		return nil
	}
}

// checkNotifications exports whether this node receives notifications of other
// nodes' changes, and logs when it has not for two checks in a row.
func checkNotifications(svc *service.Service, registry *prometheus.Registry, log *slog.Logger) func(context.Context) error {
	connected := newGauge(registry, "galley_notifications_connected", "1 while this node receives notifications of other nodes' changes.")
	failures := 0
	return func(context.Context) error {
		if svc.Listening() {
			connected.Set(1)
			if failures > 1 {
				log.Info("the connection for notifications is back")
			}
			failures = 0
			return nil
		}
		connected.Set(0)
		if failures++; failures == 2 {
			log.Warn("no connection for notifications: responses are cached for at most a second; 'galley doctor' shows the reason")
		}
		return nil
	}
}

// measureStore exports the size of the database, which takes too long to measure
// for each scrape.
func measureStore(store *sqlstore.Store, registry *prometheus.Registry) func(context.Context) error {
	size := newGauge(registry, "galley_store_size_bytes", "Size of the database.")
	return func(ctx context.Context) error {
		bytes, err := store.Size(ctx)
		if err == nil {
			size.Set(float64(bytes))
		}
		return err
	}
}

// runDuePublishes runs the scheduled publishes that are due, and logs and counts
// their results.
func runDuePublishes(svc *service.Service, registry *prometheus.Registry, log *slog.Logger) func(context.Context) error {
	runs := promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
		Name: "galley_scheduled_publishes_total", Help: "Scheduled publishes that this node ran, by resulting status.",
	}, []string{"status"})
	return func(ctx context.Context) error {
		var errs []error
		var skip []cms.ID // sites whose publish could not be run now
		for {
			p, err := svc.RunDuePublish(ctx, skip...)
			errs = append(errs, err)
			if p == nil {
				return errors.Join(errs...)
			}
			if err != nil {
				skip = append(skip, p.SiteID)
				continue
			}
			runs.WithLabelValues(string(p.Status)).Inc()
			fields := []any{"publish", p.ID, "site", p.SiteID, "changes", p.ChangeCount}
			switch p.Status {
			case cms.StatusFailed:
				log.Error("a scheduled publish failed", append(fields, "reason", *p.Reason)...)
			case cms.StatusPublished:
				log.Info("a scheduled publish ran", fields...)
			}
		}
	}
}

// replicaEvents exports and logs the state of the replica.
func replicaEvents(registry *prometheus.Registry, log *slog.Logger) service.ReplicaEvents {
	usable := newGauge(registry, "galley_replica_usable", "1 while the replica is reachable and not too far behind.")
	reads := promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
		Name: "galley_replica_reads_total", Help: "Reads that may go to the replica, by the server that answered them.",
	}, []string{"target"})
	byReplica := map[bool]prometheus.Counter{true: reads.WithLabelValues("replica"), false: reads.WithLabelValues("primary")}
	return service.ReplicaEvents{
		Read: func(fromReplica bool) { byReplica[fromReplica].Inc() },
		State: func(state service.ReplicaState, why error) {
			if state == service.ReplicaInUse {
				usable.Set(1)
				log.Info("the replica is in use")
				return
			}
			usable.Set(0)
			log.Warn("the replica is not used", "state", string(state), "error", why)
		},
	}
}

// observePool exports the metrics of a pool of connections.
func observePool(registry *prometheus.Registry, name string, stats func() sqlstore.PoolStats) {
	metrics := promauto.With(prometheus.WrapRegistererWith(prometheus.Labels{"pool": name}, registry))
	gauge := func(metric, help string, value func() float64) {
		metrics.NewGaugeFunc(prometheus.GaugeOpts{Name: metric, Help: help}, value)
	}
	counter := func(metric, help string, value func() float64) {
		metrics.NewCounterFunc(prometheus.CounterOpts{Name: metric, Help: help}, value)
	}
	gauge("galley_store_connections_max", "Connections that the pool may have.", func() float64 { return float64(stats().Max) })
	gauge("galley_store_connections_open", "Connections that the pool has.", func() float64 { return float64(stats().Open) })
	gauge("galley_store_connections_in_use", "Connections in use.", func() float64 { return float64(stats().InUse) })
	counter("galley_store_connection_waits_total", "Waits for a connection.", func() float64 { return float64(stats().Waits) })
	counter("galley_store_connection_wait_seconds_total", "Time spent waiting for connections.", func() float64 { return stats().Waited.Seconds() })
}

func newGauge(registry *prometheus.Registry, name, help string) prometheus.Gauge {
	return promauto.With(registry).NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func observeStore(registry *prometheus.Registry) sqlstore.Observe {
	duration := promauto.With(registry).NewHistogramVec(prometheus.HistogramOpts{
		Name: "galley_store_duration_seconds", Help: "Duration of uses of the store: view reads, replica reads from a replica, tx writes.",
		Buckets: []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10},
	}, []string{"use"})
	return func(use string, took time.Duration) { duration.WithLabelValues(use).Observe(took.Seconds()) }
}

// server returns the server that the settings describe.
func (c *serveCommand) server(encryption *tls.Config, check func(context.Context) error, registry *prometheus.Registry, log *slog.Logger, jobs []server.Job) *server.Server {
	srv := server.New(log, c.DrainDelay, jobs...)
	srv.TLS, srv.Check, srv.ConnContext = encryption, check, httpapi.WithConn
	srv.MaxConnections = server.RoomFor(c.MaxConnections)
	if srv.MaxConnections < c.MaxConnections {
		log.Warn("the limit on open files allows fewer connections than --max-connections: raise it, or lower the setting",
			"connections", srv.MaxConnections, "wanted", c.MaxConnections)
	}
	promauto.With(registry).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "galley_http_connections", Help: "Open connections.",
	}, func() float64 { return float64(srv.Connections()) })
	return srv
}

// maxStreams is how many streams of events a node has open, if it has four times as many
// connections.
const maxStreams = 1000

func (c *serveCommand) handler(stopping <-chan struct{}, svc *service.Service, buckets httpapi.Buckets, srv *server.Server, registry *prometheus.Registry, log *slog.Logger) *httpapi.API {
	promauto.With(registry).NewGauge(prometheus.GaugeOpts{
		Name: "galley_build_info", Help: "Always 1; the labels have the version of the program.",
		ConstLabels: prometheus.Labels{"version": Version, "goversion": runtime.Version()},
	}).Set(1)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return httpapi.New(httpapi.Options{
		Service: svc, Log: log, Registry: registry, Version: Version, CacheBytes: c.CacheSize, MaxContent: c.MaxContent,
		Limits:         httpapi.Limits{App: c.AppRate, Site: c.SiteRate, Auth: c.AuthRate, Buckets: buckets},
		TrustedProxies: c.TrustedProxies, Origins: c.CORSOrigins, MaxInFlight: c.MaxInFlight, Crowded: srv.Crowded,
		Ready: srv.Ready, MaxStreams: max(1, min(maxStreams, srv.MaxConnections/4)), Stopping: stopping,
	})
}
