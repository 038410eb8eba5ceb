// Package sqlstore keeps everything in SQLite or PostgreSQL. It is the one
// implementation of cms.Store: SQL is written once, and a dialect holds what
// differs. It decides nothing about who may do what.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/pressly/goose/v3"

	"galley/internal/cms"
)

// Observe is told how long each use of the store took: "view" or "tx".
type Observe func(use string, took time.Duration)

// Store is a cms.Store on a SQL database.
type Store struct {
	queries // single statements, each of the state at its beginning
	engine  engine
	db      *sql.DB // for migrations
	observe Observe

	listen   func(ctx context.Context, changed func(...cms.Subject), listening func(bool))
	notifier *notifier // nil: there are no other nodes
	provider func() (*goose.Provider, error)

	analyzedFor statistics
}

// engine is a database. Its errors are those that the callers of a store know,
// but for those of single statements, which are the driver's.
type engine interface {
	conn

	// view runs a callback in a read-only transaction on one snapshot.
	view(ctx context.Context, read func(conn) error) error
	// tx runs a callback in a transaction, and commits it unless the callback
	// fails. The callback may run more than once.
	tx(ctx context.Context, write func(conn) error) error
	// check returns an error if the database is no longer the one that was opened.
	check() error
	pools() map[string]func() PoolStats
	close() error
}

// conn runs statements, which are in the dialect of the engine.
type conn interface {
	// query calls a function with each row of the result. The row is valid
	// until the function returns.
	query(ctx context.Context, query string, args []any, each func(row) error) error
	// exec runs a statement and returns how many rows it touched. One that need not
	// be waited for may be sent with the next one, which then returns its error.
	exec(ctx context.Context, wait bool, query string, args []any) (int64, error)
}

// row is what scanning needs of one.
type row interface{ Scan(dest ...any) error }

// PoolStats is the state of a pool of connections.
type PoolStats struct {
	Max, Open, InUse int64
	Waits            int64         // how often a connection had to be waited for
	Waited           time.Duration // how long in all
}

var _ cms.Store = (*Store)(nil)

func newStore(d *dialect, e engine, db *sql.DB, observe Observe) *Store {
	if observe == nil {
		observe = func(string, time.Duration) {}
	}
	s := &Store{queries: queries{conn: e, dialect: d}, engine: e, db: db, observe: observe}
	s.provider = sync.OnceValues(func() (*goose.Provider, error) { return newProvider(d, db) })
	return s
}

// Pools are the connection pools by name, for metrics.
func (s *Store) Pools() map[string]func() PoolStats { return s.engine.pools() }

// Size returns how many bytes the database takes.
func (s *Store) Size(ctx context.Context) (int64, error) {
	return one(ctx, s.queries, func(r row) (size int64, err error) { return size, r.Scan(&size) }, s.dialect.size)
}

// Close gives up every connection.
func (s *Store) Close() error {
	return errors.Join(s.db.Close(), s.engine.close())
}

// View reads everything of one snapshot.
func (s *Store) View(ctx context.Context, read func(cms.Reader) error) error {
	defer s.timed("view")()
	return s.engine.view(ctx, func(c conn) error { return read(queries{conn: c, dialect: s.dialect}) })
}

// maxTries bounds how often a transaction runs again after a deadlock or a
// serialization failure.
const maxTries = 10

// InTx writes, all or nothing.
func (s *Store) InTx(ctx context.Context, write func(cms.Tx) error) error {
	defer s.timed("tx")()
	for try := 1; ; try++ {
		err := s.engine.tx(ctx, func(c conn) error {
			if err := write(queries{conn: c, dialect: s.dialect, statistics: &s.analyzedFor, analyzed: new(bool)}); err != nil {
				return err
			}
			return s.fail(ctx, ctx.Err()) // the caller has left
		})
		if _, retries := errors.AsType[*retryError](err); !retries {
			return err
		}
		if try == maxTries {
			return cms.Unavailable(err)
		}
	}
}

func (s *Store) timed(use string) func() {
	start := time.Now()
	return func() { s.observe(use, time.Since(start)) }
}

// retryError asks for the transaction to be run again.
type retryError struct{ cause error }

func (e *retryError) Error() string { return e.cause.Error() }
func (e *retryError) Unwrap() error { return e.cause }

// errNoRows says that a query found nothing; callers turn it into NotFound.
var errNoRows = errors.New("no rows")

// queries runs the store's statements on a pool or in a transaction.
type queries struct {
	conn    conn
	dialect *dialect

	// Of transactions that write:
	statistics *statistics
	analyzed   *bool
}

var _ cms.Tx = queries{}

// exec runs a statement and returns how many rows it touched.
func (q queries) exec(ctx context.Context, query string, args ...any) (int64, error) {
	n, err := q.conn.exec(ctx, true, q.dialect.rebind(query), q.dialect.args(args))
	return n, q.fail(ctx, err)
}

// run is exec for statements whose count does not matter. The error of one may be
// returned by the next.
func (q queries) run(ctx context.Context, query string, args ...any) error {
	_, err := q.conn.exec(ctx, false, q.dialect.rebind(query), q.dialect.args(args))
	return q.fail(ctx, err)
}

// all returns every row of a query.
func all[T any](ctx context.Context, q queries, scan func(row) (T, error), query string, args ...any) ([]T, error) {
	var items []T
	err := q.conn.query(ctx, q.dialect.rebind(query), q.dialect.args(args), func(r row) error {
		item, err := scan(r)
		if err == nil {
			err = ctx.Err()
		}
		items = append(items, item)
		return err
	})
	if err != nil {
		return nil, q.fail(ctx, err)
	}
	return items, nil
}

// one returns the first row of a query, or errNoRows.
func one[T any](ctx context.Context, q queries, scan func(row) (T, error), query string, args ...any) (T, error) {
	items, err := all(ctx, q, scan, query, args...)
	if err == nil && len(items) == 0 {
		err = errNoRows
	}
	if err != nil {
		var none T
		return none, err
	}
	return items[0], nil
}

// found turns an empty result into NotFound of a kind.
func found[T any](kind cms.Kind, item T, err error) (T, error) {
	if errors.Is(err, errNoRows) {
		err = cms.NotFound(kind)
	}
	return item, err
}

func (q queries) fail(ctx context.Context, err error) error { return q.dialect.fail(ctx, err) }
