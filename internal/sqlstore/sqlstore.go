// Package sqlstore stores everything in SQLite or PostgreSQL. It is the one
// implementation of cms.Store: SQL is written once, and a dialect holds what
// differs. It checks no permissions.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pressly/goose/v3"

	"galley/internal/cms"
)

// Observe receives the duration of each "view" or "tx".
type Observe func(use string, took time.Duration)

// Store is a cms.Store on a SQL database.
type Store struct {
	queries // single statements, each on a snapshot of its own
	engine  engine
	db      *sql.DB // for migrations
	observe Observe

	listen   func(ctx context.Context, changed func(...cms.Subject), listening func(bool))
	notifier *notifier // nil: there are no other nodes
	provider func() (*goose.Provider, error)

	analyzedFor statistics
}

// engine is a database. Its errors are those of the domain, except for those of
// single statements, which are the driver's.
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
	// exec runs a statement and returns how many rows it changed. One that need not
	// be waited for may be sent with the next one, which then returns its error.
	exec(ctx context.Context, wait bool, query string, args []any) (int64, error)
}

// row is a row of a result.
type row interface{ Scan(dest ...any) error }

// PoolStats is the state of a pool of connections.
type PoolStats struct {
	Max, Open, InUse int64
	Waits            int64         // how often a caller had to wait for a connection
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
	return value[int64](ctx, s.queries, s.dialect.size)
}

// Close closes every connection.
func (s *Store) Close() error {
	return errors.Join(s.db.Close(), s.engine.close())
}

// View reads everything from one snapshot.
func (s *Store) View(ctx context.Context, read func(cms.Reader) error) error {
	defer s.timed("view")()
	return s.engine.view(ctx, func(c conn) error { return read(queries{conn: c, dialect: s.dialect}) })
}

// maxTries limits how often a transaction runs again after a deadlock or a
// serialization failure.
const maxTries = 10

// InTx runs a callback in a transaction.
func (s *Store) InTx(ctx context.Context, write func(cms.Tx) error) error {
	defer s.timed("tx")()
	for try := 1; ; try++ {
		err := s.engine.tx(ctx, func(c conn) error {
			if err := write(queries{conn: c, dialect: s.dialect, statistics: &s.analyzedFor, analyzed: new(bool)}); err != nil {
				return err
			}
			return s.fail(ctx, ctx.Err()) // an abandoned request is rolled back
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

// retryError reports that the transaction may succeed when it runs again.
type retryError struct{ cause error }

func (e *retryError) Error() string { return e.cause.Error() }
func (e *retryError) Unwrap() error { return e.cause }

// queries runs the store's statements on a pool or in a transaction.
type queries struct {
	conn    conn
	dialect *dialect

	// Of transactions that write:
	statistics *statistics
	analyzed   *bool
}

var _ cms.Tx = queries{}

// exec runs a statement and returns how many rows it changed.
func (q queries) exec(ctx context.Context, query string, args ...any) (int64, error) {
	n, err := q.conn.exec(ctx, true, query, args)
	return n, q.fail(ctx, err)
}

// run is exec for statements whose count does not matter. The error of one may be
// returned by the next.
func (q queries) run(ctx context.Context, query string, args ...any) error {
	_, err := q.conn.exec(ctx, false, query, args)
	return q.fail(ctx, err)
}

// all returns every row of a query.
func all[T any](ctx context.Context, q queries, scan func(row) (T, error), query string, args ...any) ([]T, error) {
	var items []T
	err := q.conn.query(ctx, query, args, func(r row) error {
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

// one returns the first row of a query, or NotFound of a kind.
func one[T any](ctx context.Context, q queries, kind cms.Kind, scan func(row) (T, error), query string, args ...any) (T, error) {
	items, err := all(ctx, q, scan, query, args...)
	if err == nil && len(items) == 0 {
		err = cms.NotFound(kind)
	}
	if err != nil {
		var none T
		return none, err
	}
	return items[0], nil
}

// value returns the one value of a query that always has a row.
func value[T any](ctx context.Context, q queries, query string, args ...any) (T, error) {
	return one(ctx, q, "", scanValue[T], query, args...)
}

// values returns the first column of a query.
func values[T any](ctx context.Context, q queries, query string, args ...any) ([]T, error) {
	return all(ctx, q, scanValue[T], query, args...)
}

func scanValue[T any](r row) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

func (q queries) fail(ctx context.Context, err error) error { return q.dialect.fail(ctx, err) }

// idChunk is how many ids, and rowChunk how many rows, one statement names:
// both engines limit the number of its parameters.
const (
	idChunk  = 500
	rowChunk = 100
)

// insert adds rows of as many columns as width, many with one statement, and
// returns how many it added if that is to be waited for.
func (q queries) insert(ctx context.Context, wait bool, into string, width int, args []any, onConflict string) (n int64, err error) {
	for chunk := range slices.Chunk(args, rowChunk*width) {
		more, err := q.conn.exec(ctx, wait, `insert into `+into+` values `+repeated("("+marks(width)+")", ", ", len(chunk)/width)+onConflict, chunk)
		if err != nil {
			return 0, q.fail(ctx, err)
		}
		n += more
	}
	return n, nil
}

// deleteEach deletes the rows that a condition with as many parameters as width
// names.
func (q queries) deleteEach(ctx context.Context, from, condition string, width int, args []any) error {
	for chunk := range slices.Chunk(args, rowChunk*width) {
		if err := q.run(ctx, `delete from `+from+` where `+repeated("("+condition+")", " or ", len(chunk)/width), chunk...); err != nil {
			return err
		}
	}
	return nil
}

func repeated(text, separator string, n int) string {
	return strings.TrimSuffix(strings.Repeat(text+separator, n), separator)
}

// marks returns n placeholders for a list of values.
func marks(n int) string { return repeated("?", ", ", n) }

// atMost limits a query. The number is part of the text: SQLite prepares a
// statement again for each value of a bound limit.
func atMost(n int) string { return " limit " + strconv.Itoa(n) }

func anys[T any](values []T) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return list
}

// withColumns is a row with more columns than its scanner asks for.
func withColumns(r row, last ...any) row { return longerRow{r, last} }

type longerRow struct {
	row
	last []any
}

func (r longerRow) Scan(dest ...any) error { return r.row.Scan(append(dest, r.last...)...) }

// Times are stored as microseconds since 1970, since the engines' own types
// differ.

type timeScanner struct{ dst *time.Time }

func (s timeScanner) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return errors.New("a time is not a number")
	}
	*s.dst = time.UnixMicro(n).UTC()
	return nil
}

func scanTime(dst *time.Time) timeScanner { return timeScanner{dst} }

type nullTimeScanner struct{ dst **time.Time }

func (s nullTimeScanner) Scan(src any) error {
	if src == nil {
		*s.dst = nil
		return nil
	}
	*s.dst = new(time.Time)
	return timeScanner{*s.dst}.Scan(src)
}

func scanNullTime(dst **time.Time) nullTimeScanner { return nullTimeScanner{dst} }

// digestScanner reads a digest that may be null.
type digestScanner struct{ dst **cms.Digest }

func (s digestScanner) Scan(src any) error {
	*s.dst = nil
	if src == nil {
		return nil
	}
	b, _ := src.([]byte)
	if len(b) != len(cms.Digest{}) {
		return fmt.Errorf("a digest has %d bytes", len(b))
	}
	*s.dst = new(cms.Digest(b))
	return nil
}

func scanDigest(dst **cms.Digest) digestScanner { return digestScanner{dst} }

// argument converts a value of the domain to an id or a type that every driver takes.
func argument(v any) any {
	switch v := v.(type) {
	case string, []byte, int64, bool, nil, cms.ID, cms.Digest:
		return v
	case time.Time:
		return v.UnixMicro()
	case cms.KeyHash:
		return v[:]
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Pointer:
		if r.IsNil() {
			return nil
		}
		return argument(r.Elem().Interface())
	case reflect.String:
		return r.String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int64:
		return r.Int()
	case reflect.Uint16:
		return int64(r.Uint())
	case reflect.Bool:
		return r.Bool()
	case reflect.Float64:
		return r.Float()
	}
	return v
}
