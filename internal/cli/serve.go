package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"galley/internal/cms"
	"galley/internal/config"
	"galley/internal/httpapi"
	"galley/internal/ratelimit"
	"galley/internal/server"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

type serveCommand struct{ config.Server }

func (c *serveCommand) Help() string {
	return `Examples:
  galley serve
  galley serve --addr :80 --data /var/lib/galley
  galley serve --database-url postgres://galley:secret@db.internal/galley
  galley serve --config /etc/galley.yaml`
}

func (c *serveCommand) Run(t *terminal) (err error) {
	signal.Ignore(syscall.SIGPIPE) // the reader of the log may end
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	if err := errors.Join(config.CheckVariables(t.parser.Model, os.Environ()), c.check()); err != nil {
		return err
	}
	bootstrap, err := readBootstrap(c.Server)
	if err != nil {
		return err
	}
	log, flush := newLog(t.err, c.LogLevel)
	defer flush()
	encryption, err := c.encryption(log)
	if err != nil {
		return err
	}
	if warning := c.PassesOver(); warning != "" {
		log.Warn(warning, "data", c.Data)
	}

	// Whatever can be refused is, before the store is touched: it may be brought
	// up to date, which is for good, and its key is shown once.
	var opened closers
	started := false
	defer func() {
		if t.ctx.Err() != nil && !started { // whoever is told to stop has nothing to complain about
			err = nil
		}
		err = errors.Join(err, opened.close())
	}()
	listener, err := server.Listen(t.ctx, c.Addr)
	if err != nil {
		return err
	}
	opened.add(func() error { return closeListener(listener) })
	registry := prometheus.NewRegistry()
	buckets, closeBuckets, err := c.buckets(registry, log)
	if err != nil {
		return err
	}
	opened.add(closeBuckets)
	store, err := c.open(observeStore(registry))
	if err != nil {
		return err
	}
	opened.add(store.Close)
	for name, stats := range store.Pools() {
		observePool(registry, name, stats)
	}
	svc := service.New(store, now, httpapi.AuditState)
	svc.Guard = service.Guard{Share: c.GuardShare, Pages: c.GuardPages}
	closeReplica, err := c.useReplica(svc, store, registry, log)
	if err != nil {
		return err
	}
	opened.add(closeReplica)
	slow := time.AfterFunc(slowStart, func() { log.Info("still waiting for the database, or for another node's migration") })
	_, err = store.Migrate(t.ctx)
	slow.Stop()
	if err != nil {
		return explain(c.Store, err)
	}
	first, err := svc.FirstStart(t.ctx, bootstrap)
	if err != nil {
		return explain(c.Store, err)
	}
	if first == nil && bootstrap.Key != "" {
		checkBootstrapKey(t.ctx, store, bootstrap.Key, log)
	}
	started = true

	address := c.scheme() + "://" + listener.Addr().String()
	if first != nil {
		c.welcome(t, *first, address)
	}
	t.printf("Galley %s listens on %s (reference: %s/docs)\n", Version, address, address)
	if first != nil && c.BootstrapKey == "" && (t.lost != nil || goesNowhere(t.out)) {
		log.Error("the App key of the first start could not be printed: create another with 'galley apps create'")
	}
	t.lost = nil // the server goes on, and the log says the rest
	log.Info("listening", "address", address)
	srv := c.server(encryption, store.Ping, registry, log, c.jobs(svc, store, registry, log))
	stopWatching := watch(t.ctx, svc)
	defer stopWatching()
	return srv.Run(t.ctx, listener, c.handler(svc, buckets, srv, registry, log))
}

// garbagePercent is GOGC unless the environment sets another.
const garbagePercent = 100

// slowStart is how long a start may take before somebody wonders.
const slowStart = 2 * time.Second

// closers close what was opened, the last first.
type closers []func() error

func (c *closers) add(closer func() error) { *c = append(*c, closer) }

func (c *closers) close() error {
	var errs []error
	for _, closer := range slices.Backward(*c) {
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}

// closeListener closes it unless its server has.
func closeListener(listener net.Listener) error {
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// check refuses settings that make no sense.
func (c *serveCommand) check() error {
	return errors.Join(c.checkValues(), c.checkEdge(), c.checkReplica())
}

// checkValues refuses values that would do harm, or nothing.
func (c *serveCommand) checkValues() error {
	switch {
	case c.Addr == "":
		return errors.New("--addr must be HOST:PORT")
	case c.Data == "" && c.DatabaseURL == "":
		return errors.New("--data must be a folder")
	case c.GuardPages < 0 || !(c.GuardShare >= 0 && c.GuardShare <= 1): // it may be no number
		return errors.New("--guard-share must be from 0 to 1, where 0.5 is half of the pages, and --guard-pages must not be negative")
	case min(c.History, c.Audit, c.SiteRetention, c.DrainDelay) < 0:
		return errors.New("--history-retention, --audit-retention, --site-retention and --drain-delay must not be negative")
	case c.CacheSize < 0:
		return errors.New("--cache-size must not be negative: 0 turns the cache off")
	}
	return nil
}

// open opens the store, with its own way to hear from other nodes if there is
// one.
func (c *serveCommand) open(observe sqlstore.Observe) (*sqlstore.Store, error) {
	store, err := openStore(c.Store, observe)
	if err != nil || c.ListenURL == "" {
		return store, err
	}
	if err := store.ListenAt(c.ListenURL); err != nil {
		return nil, errors.Join(fmt.Errorf("--listen-url: %w", err), store.Close())
	}
	return store, nil
}

// watch lets the service hear of what others change until the server has
// answered its last request.
func watch(ctx context.Context, svc *service.Service) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	watching.Go(func() { svc.Listen(ctx) })
	watching.Go(func() { svc.FollowReplica(ctx) })
	return func() { cancel(); watching.Wait() }
}

// buckets counts requests in Redis, if there is one, and else in this process.
func (c *serveCommand) buckets(registry *prometheus.Registry, log *slog.Logger) (httpapi.Buckets, func() error, error) {
	if c.RedisURL == "" {
		return ratelimit.Local{Memory: ratelimit.NewMemory()}, func() error { return nil }, nil
	}
	away := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "galley_redis_away", Help: "1 while Redis is away and this node counts requests by itself.",
	})
	registry.MustRegister(away)
	buckets, err := ratelimit.NewRedis(c.RedisURL, func(err error) {
		if err == nil {
			away.Set(0)
			log.Info("Redis is back: nodes count requests together")
			return
		}
		away.Set(1)
		log.Warn("Redis is away: this node counts requests by itself", "error", err.Error())
	})
	if err != nil {
		return nil, nil, err
	}
	return buckets, buckets.Close, nil
}

func readBootstrap(c config.Server) (service.Bootstrap, error) {
	var b service.Bootstrap
	if c.BootstrapKey != "" {
		key, ok := cms.ParseAppKey(c.BootstrapKey)
		if !ok {
			return b, errors.New("GALLEY_BOOTSTRAP_KEY is not an App key: its form or checksum is wrong, create one with 'galley keygen'")
		}
		b.Key = key
	}
	if c.BootstrapWorkspaceID != "" {
		id, ok := cms.ParseID(c.BootstrapWorkspaceID)
		if !ok || strings.Trim(c.BootstrapWorkspaceID, "0-") == "" {
			return b, errors.New("GALLEY_BOOTSTRAP_WORKSPACE_ID is not an id: it must be a UUID")
		}
		b.WorkspaceID = id
	}
	return b, nil
}

// checkBootstrapKey warns of a key that does not work: only a first start makes
// it one of the store's.
func checkBootstrapKey(ctx context.Context, store *sqlstore.Store, key cms.AppKey, log *slog.Logger) {
	if _, _, err := store.AppByKey(ctx, key.Hash(), now()); cms.CodeOf(err) == cms.CodeNotFound {
		log.Warn("GALLEY_BOOTSTRAP_KEY is not a key of this store: it is used at the first start only; create a key with 'galley apps create'")
	}
}

// goesNowhere tells whether nobody reads an output. One that is closed is
// /dev/null to a Go program.
func goesNowhere(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil {
		return true
	}
	nowhere, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, nowhere)
}

// welcome tells a new user what the first start created, and what to do next.
func (c *serveCommand) welcome(t *terminal, first service.NewApp, address string) {
	data := "PostgreSQL"
	if c.DatabaseURL == "" {
		data = c.Data
		if folder, err := filepath.Abs(c.Data); err == nil {
			data = folder
		}
	}
	if c.BootstrapKey != "" {
		t.printf("First start: created workspace %s and an app with the given key (data: %s).\n", first.App.WorkspaceID, data)
		return
	}
	t.printf(`First start: created a workspace and an App key. Save the key, it is not shown again.

  Key        %s
  Workspace  %s
  Data       %s

Try it:

  curl -H 'x-api-key: %s' -H 'content-type: application/json' -d '{"name": "My site"}' %s/v2/sites

`, first.Key, first.App.WorkspaceID, data, first.Key, address)
}

func (c *serveCommand) handler(svc *service.Service, buckets httpapi.Buckets, srv *server.Server, registry *prometheus.Registry, log *slog.Logger) *httpapi.API {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "galley_build_info", Help: "Always 1; the labels tell which program runs.",
		ConstLabels: prometheus.Labels{"version": Version, "goversion": runtime.Version()},
	})
	info.Set(1)
	registry.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return httpapi.New(httpapi.Options{
		Service: svc, Log: log, Registry: registry, Version: Version, CacheBytes: c.CacheSize,
		Limits:         httpapi.Limits{App: c.AppRate, Site: c.SiteRate, Auth: c.AuthRate, Buckets: buckets},
		TrustedProxies: c.TrustedProxies, Origins: c.CORSOrigins, MaxInFlight: c.MaxInFlight, Crowded: srv.Crowded,
		Ready: srv.Ready,
	})
}

// oneNode is a job that one of several nodes does each time.
func oneNode(svc *service.Service, job server.Job) server.Job {
	run := job.Run
	job.First = time.Minute // nodes may be gone before their first turn would come
	job.Run = func(ctx context.Context) error {
		// Nodes' clocks and beats differ: whoever comes well before the next
		// time comes for this one.
		mine, err := svc.AcquireLease(ctx, job.Name, job.Every/2)
		if err != nil || !mine {
			return err
		}
		return run(ctx)
	}
	return job
}

// seeHearing tells of a node that stays deaf to what others change: its answers
// are right, and all come from the store.
func seeHearing(svc *service.Service, registry *prometheus.Registry, log *slog.Logger) func(context.Context) error {
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "galley_deaf", Help: "1 while this node does not hear what others change, and answers nothing from memory.",
	}, func() float64 {
		if svc.Listening() {
			return 0
		}
		return 1
	}))
	deaf := 0 // looks in a row
	return func(context.Context) error {
		if svc.Listening() {
			if deaf >= 2 {
				log.Info("this node hears what others change again")
			}
			deaf = 0
			return nil
		}
		if deaf++; deaf == 2 {
			log.Warn("this node does not hear what others change: nothing is answered from memory; 'galley doctor' tells why")
		}
		return nil
	}
}

// dueAtATime is how many scheduled publishes a node runs at a time, each of another
// site: one that has to wait for its site holds up no other.
const dueAtATime = 2

func (c *serveCommand) jobs(svc *service.Service, store *sqlstore.Store, registry *prometheus.Registry, log *slog.Logger) []server.Job {
	due := server.Job{Name: "publish what is due", Every: time.Second, Run: publishDue(svc, registry, log)}
	return append(slices.Repeat([]server.Job{due}, dueAtATime),
		server.Job{Name: "see whether others are heard", Every: 5 * time.Second, Run: seeHearing(svc, registry, log)},
		server.Job{Name: "measure the store", Every: time.Minute, First: time.Second, Run: measureStore(store, registry)},
		server.Job{Name: "save when apps were used", Every: time.Minute, Run: svc.SaveUsage, AtStop: true},
		oneNode(svc, server.Job{Name: "forget kept answers", Every: 10 * time.Minute, Run: svc.ForgetAnswers}),
		oneNode(svc, server.Job{Name: "purge deleted sites", Every: time.Hour, Run: func(ctx context.Context) error {
			n, err := svc.PurgeSites(ctx, c.SiteRetention)
			if n > 0 {
				log.Info("purged deleted sites", "sites", n)
			}
			return err
		}}),
		oneNode(svc, server.Job{Name: "purge past publishes", Every: time.Hour, Run: func(ctx context.Context) error {
			if c.History == 0 {
				return nil
			}
			return svc.PurgeHistory(ctx, c.History)
		}}),
		oneNode(svc, server.Job{Name: "purge the audit trail", Every: time.Hour, Run: func(ctx context.Context) error {
			return svc.PurgeAudit(ctx, c.Audit)
		}}),
	)
}

// measureStore keeps the metric of the store's size: it is too much work for
// each scrape.
func measureStore(store *sqlstore.Store, registry *prometheus.Registry) func(context.Context) error {
	size := prometheus.NewGauge(prometheus.GaugeOpts{Name: "galley_store_size_bytes", Help: "Size of the database."})
	registry.MustRegister(size)
	return func(ctx context.Context) error {
		bytes, err := store.Size(ctx)
		if err == nil {
			size.Set(float64(bytes))
		}
		return err
	}
}

// publishDue runs the scheduled publishes whose time has come, and tells what
// became of them.
func publishDue(svc *service.Service, registry *prometheus.Registry, log *slog.Logger) func(context.Context) error {
	runs := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "galley_scheduled_publishes_total", Help: "Scheduled publishes that this node ran, by what became of them.",
	}, []string{"status"})
	registry.MustRegister(runs)
	return func(ctx context.Context) error {
		var errs []error
		var stuck []cms.ID // the sites of those that could not be run now
		for {
			p, err := svc.RunDuePublish(ctx, stuck...)
			if err != nil {
				errs = append(errs, err)
			}
			if p == nil {
				return errors.Join(errs...)
			}
			if err != nil {
				stuck = append(stuck, p.SiteID)
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

// observePool adds the metrics of a pool of connections.
func observePool(registry *prometheus.Registry, name string, stats func() sqlstore.PoolStats) {
	labels := prometheus.Labels{"pool": name}
	gauge := func(metric, help string, value func(sqlstore.PoolStats) int64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metric, Help: help, ConstLabels: labels},
			func() float64 { return float64(value(stats())) }))
	}
	gauge("galley_store_connections_max", "Connections that a pool may have.", func(s sqlstore.PoolStats) int64 { return s.Max })
	gauge("galley_store_connections_open", "Connections that a pool has.", func(s sqlstore.PoolStats) int64 { return s.Open })
	gauge("galley_store_connections_in_use", "Connections in use.", func(s sqlstore.PoolStats) int64 { return s.InUse })
	registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "galley_store_connection_waits_total", Help: "Times that a connection had to be waited for.", ConstLabels: labels,
	}, func() float64 { return float64(stats().Waits) }), prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "galley_store_connection_wait_seconds_total", Help: "Time spent waiting for connections.", ConstLabels: labels,
	}, func() float64 { return stats().Waited.Seconds() }))
}

func observeStore(registry *prometheus.Registry) sqlstore.Observe {
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "galley_store_duration_seconds", Help: "How long the store took, by use: view reads, replica reads from one, tx writes.",
		Buckets: []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10},
	}, []string{"use"})
	registry.MustRegister(duration)
	return func(use string, took time.Duration) { duration.WithLabelValues(use).Observe(took.Seconds()) }
}

type openapiCommand struct{}

func (openapiCommand) Run(t *terminal) error {
	t.printf("%s", httpapi.Document(Version))
	return nil
}
