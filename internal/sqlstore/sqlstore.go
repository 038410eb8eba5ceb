// Package sqlstore keeps everything in SQLite or PostgreSQL. It is the one
// implementation of cms.Store: SQL is written once, and a dialect holds what
// differs. It decides nothing about who may do what.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"

	"galley/internal/cms"
)

// Observe is told how long each use of the store took: "view" or "tx".
type Observe func(use string, took time.Duration)

// Store is a cms.Store on a SQL database.
type Store struct {
	queries // on the read pool
	write   *sql.DB
	read    *sql.DB
	dialect *dialect
	observe Observe

	runTx     func(context.Context, func(conn) error) error
	listen    func(ctx context.Context, changed func(...cms.Subject), listening func(bool))
	notifier  *notifier // nil: there are no other nodes
	looks     *looks
	writer    *writer // nil: transactions do not wait for each other
	beginTx   func(context.Context) (transaction, error)
	beginView func(context.Context) (transaction, error)
	there     func() error // tells why the store is not where it was
	// closeSessions closes the connections that the pools have given away.
	closeSessions func()
	provider      func() (*goose.Provider, error)
}

// transaction is what database/sql calls one.
type transaction interface {
	conn
	Commit() error
	Rollback() error
}

var _ cms.Store = (*Store)(nil)

func newStore(d *dialect, write, read *sql.DB, observe Observe) *Store {
	if observe == nil {
		observe = func(string, time.Duration) {}
	}
	s := &Store{queries: queries{conn: read, dialect: d}, looks: &looks{}, write: write, read: read, dialect: d, observe: observe}
	s.runTx = s.runOwnTx
	s.there = func() error { return nil }
	s.beginTx = func(ctx context.Context) (transaction, error) { return write.BeginTx(ctx, nil) }
	s.beginView = func(ctx context.Context) (transaction, error) { return read.BeginTx(ctx, d.view) }
	s.provider = sync.OnceValues(s.newProvider)
	return s
}

// Pools are the connection pools by name, for metrics.
func (s *Store) Pools() map[string]*sql.DB {
	if s.read == s.write {
		return map[string]*sql.DB{"main": s.write}
	}
	return map[string]*sql.DB{"write": s.write, "read": s.read}
}

// Close gives up every connection.
func (s *Store) Close() error {
	if s.read == s.write {
		return s.write.Close()
	}
	s.closeSessions()
	return errors.Join(s.read.Close(), s.write.Close())
}

// View reads everything of one moment.
func (s *Store) View(ctx context.Context, read func(cms.Reader) error) error {
	defer s.timed("view")()
	tx, err := s.beginView(ctx)
	if err != nil {
		return s.queries.fail(ctx, err)
	}
	defer func() { _ = tx.Rollback() }() // nothing to keep
	return read(queries{conn: tx, dialect: s.dialect})
}

// maxTries bounds how often a transaction runs again after a deadlock or a
// serialization failure.
const maxTries = 10

// InTx writes, all or nothing.
func (s *Store) InTx(ctx context.Context, write func(cms.Tx) error) error {
	defer s.timed("tx")()
	for try := 1; ; try++ {
		err := s.runTx(ctx, func(c conn) error {
			if err := write(queries{conn: c, dialect: s.dialect, looks: s.looks}); err != nil {
				return err
			}
			return s.queries.fail(ctx, ctx.Err()) // the caller has left
		})
		if _, retries := errors.AsType[*retryError](err); !retries {
			return err
		}
		if try == maxTries {
			return cms.Unavailable(err)
		}
	}
}

// runOwnTx runs a callback in a transaction of its own.
func (s *Store) runOwnTx(ctx context.Context, write func(conn) error) error {
	tx, err := s.beginTx(ctx)
	if err != nil {
		return s.queries.fail(ctx, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if err := write(tx); err != nil {
		return err
	}
	return s.queries.fail(ctx, tx.Commit())
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

// conn is what a pool and a transaction have in common.
type conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// queries runs the store's statements on a pool or in a transaction.
type queries struct {
	conn    conn
	dialect *dialect
	looks   *looks   // of transactions
	finders *finders // of a pool far away; nil: reads share nothing
}

var _ cms.Tx = queries{}

// exec runs a statement and returns how many rows it touched.
func (q queries) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := q.conn.ExecContext(ctx, q.dialect.rebind(query), q.dialect.args(args)...)
	if err != nil {
		return 0, q.fail(ctx, err)
	}
	n, err := result.RowsAffected()
	return n, q.fail(ctx, err)
}

// run is exec for statements whose count does not matter. What goes wrong with one
// may show with the next.
func (q queries) run(ctx context.Context, query string, args ...any) error {
	if tx, ok := q.conn.(*queuedTx); ok {
		return q.fail(ctx, tx.later(ctx, q.dialect.rebind(query), q.dialect.args(args)))
	}
	_, err := q.exec(ctx, query, args...)
	return err
}

// row is what scanning needs of one.
type row interface{ Scan(dest ...any) error }

// all returns every row of a query.
func all[T any](ctx context.Context, q queries, scan func(row) (T, error), query string, args ...any) ([]T, error) {
	var items []T
	err := q.each(ctx, q.dialect.rebind(query), q.dialect.args(args), func(r row) error {
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

// each shows every row of a query, one after the other.
func (q queries) each(ctx context.Context, query string, args []any, show func(row) error) error {
	switch conn := q.conn.(type) {
	case *queuedTx:
		return conn.each(ctx, query, args, show)
	case rowPool:
		// What did not get through to the server is left to database/sql, which
		// tries again, and in the end on a new connection.
		if err := conn.each(ctx, query, args, show); !pgconn.SafeToRetry(err) {
			return err
		}
	}
	rows, err := q.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err tells what matters
	for rows.Next() {
		if err := show(rows); err != nil {
			return err
		}
	}
	return rows.Err()
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

// fail turns a driver's error into one that the caller of the store knows.
func (q queries) fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return cms.Unavailable(fmt.Errorf("%w: %w", ctx.Err(), err))
	}
	switch q.dialect.classify(err) {
	case failUnique:
		return cms.Conflict("A resource with these values already exists")
	case failRetry, failLocked:
		return &retryError{err}
	case failUnavailable, failBusy:
		return cms.Unavailable(err)
	}
	return fmt.Errorf("store: %w", err)
}
