package cli

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/service"
	"galley/internal/sqlstore"
)

// checkReplica refuses a replica of a store that can't have one.
func (c *serveCommand) checkReplica() error {
	if c.ReplicaURL != "" && c.DatabaseURL == "" {
		return errors.New("--replica-url needs --database-url: SQLite has no standby")
	}
	return nil
}

// useReplica lets reads go to a hot standby, if there is one.
func (c *serveCommand) useReplica(svc *service.Service, store *sqlstore.Store, registry *prometheus.Registry, log *slog.Logger) (closeReplica func() error, err error) {
	if c.ReplicaURL == "" {
		return func() error { return nil }, nil
	}
	replica, err := store.OpenReplica(c.ReplicaURL)
	if err != nil {
		return nil, fmt.Errorf("--replica-url: %w", err)
	}
	observePool(registry, "replica", replica.PoolStats)
	svc.Replica = service.NewReplica(replica, replicaEvents(registry, log))
	return replica.Close, nil
}

// replicaEvents tells metrics and the log what becomes of a replica.
func replicaEvents(registry *prometheus.Registry, log *slog.Logger) service.ReplicaEvents {
	usable := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "galley_replica_usable", Help: "1 while the replica is there, follows and is not too far behind.",
	})
	reads := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "galley_replica_reads_total", Help: "Reads that may go to the replica, by where they were answered.",
	}, []string{"target"})
	registry.MustRegister(usable, reads)
	there, here := reads.WithLabelValues("replica"), reads.WithLabelValues("primary")
	return service.ReplicaEvents{
		Read: func(fromReplica bool) {
			if fromReplica {
				there.Inc()
			} else {
				here.Inc()
			}
		},
		State: func(state service.ReplicaState, why error) {
			if state == service.ReplicaInUse {
				usable.Set(1)
				log.Info("the replica is in use")
				return
			}
			usable.Set(0)
			fields := []any{"state", string(state)}
			if why != nil {
				fields = append(fields, "error", why.Error())
			}
			log.Warn("the replica is not used", fields...)
		},
	}
}
