package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
	"galley/internal/config"
	"galley/internal/httpapi"
	"galley/internal/outgoing"
	"galley/internal/ratelimit"
	"galley/internal/server"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

type serveCommand struct{ config.Server }

func (c *serveCommand) Run(t *terminal) (err error) {
	signal.Ignore(syscall.SIGPIPE) // the program that reads the log may end
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
	if warning := c.Warning(); warning != "" {
		log.Warn(warning, "data", c.Data)
	}
	started := false
	defer func() {
		if t.ctx.Err() != nil && !started { // a start that is stopped has not failed
			err = nil
		}
	}()
	// The store comes last: its migration can't be undone and its key is printed
	// once.
	listener, err := server.Listen(t.ctx, c.Addr)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // unless the server has
	registry := prometheus.NewRegistry()
	buckets, closeBuckets, err := c.buckets(registry, log)
	if err != nil {
		return err
	}
	defer closeBuckets()
	store, err := openStore(c.Store, true, observeStore(registry))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if c.ListenURL != "" {
		if err := store.ListenAt(c.ListenURL); err != nil {
			return fmt.Errorf("--listen-url: %w", err)
		}
	}
	secretKey, err := c.secretKey() // in the folder of the store
	if err != nil {
		return err
	}
	for name, stats := range store.Pools() {
		observePool(registry, name, stats)
	}
	svc := service.New(store, now, httpapi.AuditState)
	svc.Guard = service.Guard{Share: c.GuardShare, Pages: c.GuardPages}
	svc.EventRetention = c.Events
	svc.SecretKey, svc.EncodeEvent = secretKey, httpapi.EncodeEvent
	svc.Sender = outgoing.New("Galley/"+Version, c.WebhookAllowNetworks, nil)
	if c.ReplicaURL != "" {
		replica, err := store.OpenReplica(c.ReplicaURL)
		if err != nil {
			return fmt.Errorf("--replica-url: %w", err)
		}
		defer func() { _ = replica.Close() }() // it is only read
		observePool(registry, "replica", replica.PoolStats)
		svc.Replica = service.NewReplica(replica, replicaEvents(registry, log))
	}
	first, err := c.prepare(t.ctx, store, svc, bootstrap, log)
	if err != nil {
		return explain(c.Store, err)
	}
	started = true

	address := scheme(c.TLSCert, c.ACMEDomains) + "://" + listener.Addr().String()
	if first != nil {
		c.welcome(t, *first, address)
	}
	t.printf("Galley %s listens on %s (reference: %s/docs)\n", Version, address, address)
	if first != nil && c.BootstrapKey == "" && (t.lost != nil || isDiscarded(t.out)) {
		log.Error("the App key of the first start could not be printed: create another with 'galley apps create'")
	}
	t.lost = nil // the log has the same information
	log.Info("listening", "address", address)
	srv := c.server(encryption, store.Ping, registry, log, c.jobs(svc, store, registry, log))
	defer follow(t.ctx, svc, log)()
	return srv.Run(t.ctx, listener, c.handler(t.ctx.Done(), svc, buckets, srv, registry, log))
}

// prepare migrates the store, and on the first start creates its first app,
// which it returns.
func (c *serveCommand) prepare(ctx context.Context, store *sqlstore.Store, svc *service.Service, bootstrap service.Bootstrap, log *slog.Logger) (*service.NewApp, error) {
	slow := time.AfterFunc(2*time.Second, func() { log.Info("still waiting for the database, or for another node's migration") })
	defer slow.Stop()
	if _, err := store.Migrate(ctx); err != nil {
		return nil, err
	}
	first, err := svc.FirstStart(ctx, bootstrap)
	if err != nil || first != nil || bootstrap.Key == "" {
		return first, err
	}
	if _, _, err := store.AppByKey(ctx, bootstrap.Key.Hash(), now()); cms.CodeOf(err) == cms.CodeNotFound {
		log.Warn("GALLEY_BOOTSTRAP_KEY is not a key of this store: it is used at the first start only; create a key with 'galley apps create'")
	}
	return nil, nil //nolint:nilnil // it is not the first start
}

// check refuses settings that are wrong by themselves or together.
func (c *serveCommand) check() error {
	files, acme := c.TLSCert != "" || c.TLSKey != "", len(c.ACMEDomains) > 0
	var errs []error
	for _, rule := range []struct {
		broken  bool
		message string
	}{
		{c.Addr == "", "--addr must be HOST:PORT"},
		{c.Data == "" && c.DatabaseURL == "", "--data must be a folder"},
		{!(c.GuardShare >= 0 && c.GuardShare <= 1), "--guard-share must be from 0 to 1, where 0.5 is half of the pages"}, // NaN included
		{c.GuardPages < 0, "--guard-pages must not be negative"},
		{min(c.History, c.Audit, c.Events, c.SiteRetention, c.DrainDelay) < 0, "--history-retention, --audit-retention, --event-retention, --site-retention and --drain-delay must not be negative"},
		{c.MaxContent < 1 || c.MaxContent > 8<<20, "--max-content must be 1 to 8388608 bytes"},
		{c.CacheSize < 0, "--cache-size must not be negative: 0 turns the cache off"},
		{c.MaxConnections < 1 || c.MaxInFlight < 1, "--max-connections and --max-in-flight must be at least 1"},
		{(c.TLSCert == "") != (c.TLSKey == ""), "--tls-cert and --tls-key go together: pass both or neither"},
		{files && acme, "--tls-cert and --acme-domains exclude each other: choose one"},
		{!acme && (c.ACMEEmail != "" || c.ACMEDirectory != "" || c.ACMECache != ""), "the --acme settings need --acme-domains, the host names of the certificate"},
		{acme && c.ACMECache == "" && c.DatabaseURL != "", "--acme-domains with --database-url needs --acme-cache, a folder that is kept between starts"},
		{c.ListenURL != "" && c.DatabaseURL == "", "--listen-url needs --database-url: SQLite has no other nodes"},
		{c.ReplicaURL != "" && c.DatabaseURL == "", "--replica-url needs --database-url: SQLite has no standby"},
	} {
		if rule.broken {
			errs = append(errs, errors.New(rule.message))
		}
	}
	return errors.Join(errs...)
}

// follow keeps the service informed of changes by other nodes and of the state
// of the replica, and numbers events, until stop is called.
func follow(ctx context.Context, svc *service.Service, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var following sync.WaitGroup
	following.Go(func() { svc.Listen(ctx) })
	following.Go(func() { svc.FollowReplica(ctx) })
	following.Go(func() {
		var logged time.Time
		svc.FollowEvents(ctx, func(err error) {
			if time.Since(logged) > time.Minute {
				log.Warn("events can't be numbered, they are listed later", "error", err.Error())
				logged = time.Now()
			}
		})
	})
	return func() { cancel(); following.Wait() }
}

// buckets counts requests in Redis if --redis-url is set, and otherwise in this
// process.
func (c *serveCommand) buckets(registry *prometheus.Registry, log *slog.Logger) (buckets httpapi.Buckets, closeBuckets func(), err error) {
	if c.RedisURL == "" {
		return ratelimit.Local{Memory: ratelimit.NewMemory()}, func() {}, nil
	}
	away := newGauge(registry, "galley_redis_away", "1 while Redis is unavailable and this node counts requests by itself.")
	redis, err := ratelimit.NewRedis(c.RedisURL, func(err error) {
		if err == nil {
			away.Set(0)
			log.Info("Redis is back: nodes count requests together")
			return
		}
		away.Set(1)
		log.Warn("Redis is unavailable: this node counts requests by itself", "error", err.Error())
	})
	if err != nil {
		return nil, nil, err
	}
	return redis, func() { _ = redis.Close() }, nil
}

func readBootstrap(c config.Server) (b service.Bootstrap, err error) {
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

// isDiscarded reports whether an output is /dev/null, which Go also opens in
// place of a closed standard output.
func isDiscarded(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	discard, failed := os.Stat(os.DevNull)
	return err != nil || failed == nil && os.SameFile(info, discard)
}

// welcome prints what the first start created, and a request to try.
func (c *serveCommand) welcome(t *terminal, first service.NewApp, address string) {
	data := "PostgreSQL"
	if c.DatabaseURL == "" {
		folder, _ := filepath.Abs(c.Data) // "" if there is no current folder
		data = cmp.Or(folder, c.Data)
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
