package sqlstore

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"galley/internal/cms"
)

// Replica reads from a hot standby of a PostgreSQL store.
//
// A mark in the data shows how far it is, and not a position in the log: after a
// failover, positions of a standby that followed the old primary mean nothing to
// the new one. Only this node writes its mark, and each is one more than the last.
type Replica struct {
	queries // on the pool of reads
	store   *Store
	reads   *postgresEngine
	checks  *postgresEngine // one connection, which a full pool of reads does not block
	node    cms.ID
	marked  int64        // used by Mark and Marked, which have one caller
	renewed time.Time    // when old marks were last deleted
	has     atomic.Int64 // the last mark that the standby is known to have
}

var _ cms.Replica = (*Replica)(nil)

// OpenReplica opens a hot standby of the store by its URL. It does not connect
// yet.
func (s *Store) OpenReplica(url string) (*Replica, error) {
	if s.notifier == nil { // it is a file
		return nil, errors.New("only a store on PostgreSQL has a replica")
	}
	config, err := parsePostgres(url)
	if err != nil {
		return nil, err
	}
	for _, other := range config.ConnConfig.Fallbacks {
		if other.Host != config.ConnConfig.Host || other.Port != config.ConnConfig.Port {
			return nil, errors.New("the URL of a replica must name one server: the state of one says nothing about another")
		}
	}
	r := &Replica{store: s, node: cms.NewID()}
	if r.checks, err = newPostgres(config.Copy(), 1); err != nil {
		return nil, err
	}
	config.AfterConnect = r.checkMark
	if r.reads, err = newPostgres(config, maxPostgresConns); err != nil {
		return nil, errors.Join(err, r.checks.close())
	}
	r.queries = queries{conn: r.reads, dialect: s.dialect}
	return r, nil
}

// PoolStats is the state of the pool of reads, for metrics.
func (r *Replica) PoolStats() PoolStats { return r.reads.stats() }

// Close closes every connection.
func (r *Replica) Close() error { return errors.Join(r.reads.close(), r.checks.close()) }

// View reads everything from one snapshot.
func (r *Replica) View(ctx context.Context, read func(cms.Reader) error) error {
	defer r.store.timed("replica")()
	return r.reads.view(ctx, func(c conn) error { return read(queries{conn: c, dialect: r.dialect}) })
}

const (
	maxMarkAge  = 24 * time.Hour
	cleanMarked = time.Hour // how often marks of nodes that are gone are deleted
)

// Mark commits a new mark in the store. One that timed out may arrive after the
// next, which it must not undo.
func (r *Replica) Mark(ctx context.Context) error {
	r.marked++
	now := time.Now()
	err := r.store.run(ctx, `insert into replica_mark (node, mark, marked_at) values (?, ?, ?)
		on conflict (node) do update set mark = greatest(replica_mark.mark, excluded.mark), marked_at = excluded.marked_at`,
		r.node, r.marked, now)
	if err == nil && now.Sub(r.renewed) > cleanMarked {
		r.renewed = now
		err = r.store.run(ctx, `delete from replica_mark where marked_at < ? and node <> ?`, now.Add(-maxMarkAge), r.node)
	}
	return err
}

const findMark = `(select mark from replica_mark where node = ?)`

// Marked reports whether the standby has the last mark.
func (r *Replica) Marked(ctx context.Context) (bool, error) {
	follows, mark, err := standbyState[int64](ctx, r, findMark, r.node)
	switch {
	case err != nil:
		return false, err
	case !follows:
		return false, cms.ErrNoReplica
	case mark == nil || *mark < r.marked:
		return false, nil
	}
	r.has.Store(*mark)
	return true, nil
}

// standbyState reports whether a server follows another one, and a value that
// may be null.
func standbyState[T any](ctx context.Context, r *Replica, expression string, args ...any) (follows bool, v *T, err error) {
	follows, err = one(ctx, queries{conn: r.checks, dialect: r.dialect}, "", func(row row) (follows bool, err error) {
		err = row.Scan(&follows, &v)
		return follows, err
	}, `select pg_is_in_recovery(), `+expression, args...)
	return follows, v, err
}

// checkMark refuses a new connection to a server that is not as far as it was
// known to be. A server only goes back by restarting, which ends every
// connection, so that open ones need no check.
func (r *Replica) checkMark(ctx context.Context, conn *pgx.Conn) error {
	var mark *int64
	err := conn.QueryRow(ctx, rebind(`select `+findMark), r.node).Scan(&mark)
	if err == nil && (mark == nil || *mark < r.has.Load()) {
		err = errors.New("the standby is further behind than it was")
	}
	return err
}
