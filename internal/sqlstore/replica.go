package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"galley/internal/cms"
)

// Replica reads from a hot standby of a PostgreSQL store.
//
// How far it is, a mark in the data tells, and not a position in the log: after
// a failover, positions of a standby that followed the old primary mean nothing
// to the new one. Only this node writes its mark, and each is one more than the
// one before; at 50 a second the numbers last for a year. It is kept like an
// answer that this node gave itself, with the number for its status: no table
// is needed, and marks of nodes that are gone are forgotten with old answers.
type Replica struct {
	queries // on the pool of reads
	store   *Store
	reads   *postgresEngine
	looks   *sql.DB // looks must get through where reads may not
	node    cms.ID
	marked  int64        // only for the one who marks
	has     atomic.Int64 // the last mark that the standby was seen to have
}

var _ cms.Replica = (*Replica)(nil)

// markKey names a node's mark among what is kept.
const markKey = "replica mark"

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
			return nil, errors.New("the URL of a replica must name one server: what is seen of one tells nothing about another")
		}
	}
	r := &Replica{store: s, node: cms.NewID(), looks: stdlib.OpenDB(*config.ConnConfig)}
	r.looks.SetMaxOpenConns(1)
	config.AfterConnect = r.greet
	if r.reads, err = newPostgres(config); err != nil {
		return nil, err
	}
	r.queries = queries{conn: r.reads, dialect: s.dialect}
	return r, nil
}

// PoolStats is the state of the pool of reads, for metrics.
func (r *Replica) PoolStats() PoolStats { return r.reads.stats() }

// Close gives up every connection.
func (r *Replica) Close() error { return errors.Join(r.reads.close(), r.looks.Close()) }

// View reads everything of one snapshot.
func (r *Replica) View(ctx context.Context, read func(cms.Reader) error) error {
	defer r.store.timed("replica")()
	return r.reads.view(ctx, func(c conn) error { return read(queries{conn: c, dialect: r.dialect}) })
}

// renewMark is how old a mark's time may be. There is an index on it: each new
// time leaves a dead entry, which a standby has to pass by until it is cleared.
const renewMark = time.Hour

// Mark commits a new mark in the store. One that was given up may arrive after
// the next, which it must not take back.
func (r *Replica) Mark(ctx context.Context) error {
	r.marked++
	return r.store.run(ctx, `insert into kept_answer
		(credential_id, request_key, request_hash, status, location, body, sealed, created_at)
		values (`+marks(8)+`) on conflict (credential_id, request_key) do update set status = greatest(kept_answer.status, excluded.status),
		created_at = case when kept_answer.created_at < excluded.created_at - ? then excluded.created_at else kept_answer.created_at end`,
		r.node, markKey, []byte{}, r.marked, "", []byte{}, false, time.Now(), renewMark.Microseconds())
}

const findMark = `select status from kept_answer where credential_id = $1 and request_key = $2`

// Marked tells whether the standby has the last mark.
func (r *Replica) Marked(ctx context.Context) (bool, error) {
	var follows bool
	var mark sql.NullInt64
	row := r.looks.QueryRowContext(ctx, `select pg_is_in_recovery(), (`+findMark+`)`, r.dialect.id(r.node), markKey)
	switch err := row.Scan(&follows, &mark); {
	case err != nil:
		return false, r.fail(ctx, err)
	case !follows:
		return false, cms.ErrNoReplica
	case !mark.Valid || mark.Int64 < r.marked:
		return false, nil
	}
	r.has.Store(mark.Int64)
	return true, nil
}

// greet refuses a new connection to a server that is not as far as a look has
// seen it. A server only goes back by starting anew, and that ends every
// connection: so those that there are need not be asked again.
func (r *Replica) greet(ctx context.Context, conn *pgx.Conn) error {
	var mark int64
	err := conn.QueryRow(ctx, findMark, r.dialect.id(r.node), markKey).Scan(&mark)
	if err == nil && mark < r.has.Load() {
		err = errors.New("the standby is further behind than it was")
	}
	return err
}

// maxReplicaBehind is how much of the log a standby may lack at a look without
// a word about it.
const maxReplicaBehind = 16 << 20

// ExamineReplica looks at a standby of the store. It changes nothing.
func (s *Store) ExamineReplica(ctx context.Context, url string) Finding {
	const check = "replica"
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	r, err := s.OpenReplica(url)
	if err != nil {
		return Finding{check, LevelFail, err.Error(), "correct --replica-url"}
	}
	defer func() { _ = r.Close() }() // nothing was written
	var position string
	if err := s.db.QueryRowContext(ctx, `select pg_current_wal_flush_lsn()`).Scan(&position); err != nil {
		return broken(check, err)
	}
	var follows bool
	var behind sql.NullFloat64 // nothing was replayed yet
	row := r.looks.QueryRowContext(ctx, `select pg_is_in_recovery(), pg_wal_lsn_diff($1::text::pg_lsn, pg_last_wal_replay_lsn())::float8`, position)
	if err := row.Scan(&follows, &behind); err != nil {
		return Finding{check, LevelWarn, "it does not answer: " + err.Error(), "check --replica-url and that the standby runs; until then every read goes to the primary"}
	}
	return judgeReplica(follows, behind.Float64)
}

// ExamineListener looks at the way by which a server hears from other nodes: what
// the store is told has to be heard there. It changes nothing.
func (s *Store) ExamineListener(ctx context.Context, url string) Finding {
	const check = "listener"
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	config, err := parsePostgres(url)
	if err != nil {
		return Finding{check, LevelFail, err.Error(), "correct --listen-url"}
	}
	away := func(err error) Finding {
		why := strings.Join(strings.Fields(err.Error()), " ") // it may have several lines
		return Finding{check, LevelFail, "it does not answer: " + why, "check --listen-url: until it answers, nothing is answered from memory"}
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return away(err)
	}
	defer func() { _ = conn.Close(ctx) }() // nothing was written
	word := cms.NewID().String()
	if _, err := conn.Exec(ctx, `listen `+channel); err != nil {
		return away(err)
	}
	if _, err := s.db.ExecContext(ctx, notify, channel, word); err != nil {
		return broken(check, err)
	}
	waiting, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(waiting)
		switch {
		case err != nil && waiting.Err() == nil:
			return away(err)
		case err != nil:
			return Finding{
				check, LevelFail, "it answers, and does not hear what the store is told",
				"let --listen-url lead to the same database, past a pooler that lends connections by the transaction: until then, nothing is answered from memory",
			}
		case strings.HasPrefix(n.Payload, word):
			return fine(check, "it hears what the store is told")
		}
	}
}

func judgeReplica(follows bool, behind float64) Finding {
	const check = "replica"
	if !follows {
		return Finding{check, LevelFail, cms.ErrNoReplica.Error(), "let --replica-url lead to a standby of the database, and not to the primary"}
	}
	if behind > maxReplicaBehind {
		return Finding{
			check, LevelWarn, fmt.Sprintf("it lacks %.0f MB of the primary's log", behind/1e6),
			"if it stays so, look at the standby: reads go to the primary meanwhile",
		}
	}
	return fine(check, "it follows, and lacks %.0f kB of the primary's log", max(behind, 0)/1e3)
}
