package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"galley/internal/cms"
)

// Parsing a statement costs SQLite about as much as running it, and database/sql
// can't keep statements prepared for the transactions of a pool. So this is a pool
// of the driver's connections.

// sqliteEngine is a database file.
type sqliteEngine struct {
	place
	writing, reading *sessions
	writer           *writer
}

func (e *sqliteEngine) query(ctx context.Context, query string, args []any, each func(row) error) error {
	return e.reading.use(ctx, func(s *session) error { return s.query(ctx, query, args, each) })
}

func (e *sqliteEngine) exec(ctx context.Context, wait bool, query string, args []any) (n int64, err error) {
	err = e.writer.run(ctx, func(c conn) (err error) {
		n, err = c.exec(ctx, wait, query, args)
		return err
	})
	return n, err
}

func (e *sqliteEngine) view(ctx context.Context, read func(conn) error) error {
	tx, err := e.reading.start(ctx)
	if err != nil {
		return sqliteDialect.fail(ctx, err)
	}
	defer tx.rollback() // nothing to keep
	return read(tx)
}

func (e *sqliteEngine) tx(ctx context.Context, write func(conn) error) error {
	return e.writer.run(ctx, write)
}

func (e *sqliteEngine) pools() map[string]func() PoolStats {
	return map[string]func() PoolStats{"write": e.writing.stats, "read": e.reading.stats}
}

func (e *sqliteEngine) close() error {
	e.writing.close()
	e.reading.close()
	return nil
}

// maxPrepared limits the statements that a connection keeps: those with lists of
// values have many lengths.
const maxPrepared = 400

// session is one connection and its prepared statements. One goroutine uses it
// at a time.
type session struct {
	conn     driver.ConnPrepareContext
	close    func() error
	number   int64 // in the order in which the pool opened them
	prepared map[string]sqliteStmt
	bound    []driver.NamedValue // the parameters of the last statement
	ids      []byte              // among them
	since    time.Time           // when its transaction began
}

type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// newSession uses a connection of the driver.
func newSession(driverConn any) (*session, error) {
	c, ok := driverConn.(interface {
		driver.Conn
		driver.ConnPrepareContext
	})
	if !ok {
		return nil, fmt.Errorf("the driver has a %T", driverConn)
	}
	return &session{conn: c, close: c.Close, prepared: map[string]sqliteStmt{}}, nil
}

// shortWork is how long a transaction may take before its statements are
// interrupted when their context ends.
const shortWork = time.Second

// watched returns the context for a statement. The driver starts a goroutine for
// one that can be cancelled, which costs as much as a small statement. In a short
// transaction the context is checked between statements and rows instead.
func (s *session) watched(ctx context.Context) (context.Context, error) {
	if time.Since(s.since) > shortWork {
		return ctx, nil
	}
	return context.WithoutCancel(ctx), ctx.Err()
}

func (s *session) prepare(ctx context.Context, query string) (sqliteStmt, error) {
	if stmt, ok := s.prepared[query]; ok {
		return stmt, nil
	}
	if len(s.prepared) >= maxPrepared {
		s.closeStatements()
	}
	prepared, err := s.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	stmt, ok := prepared.(sqliteStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver has a %T", prepared), prepared.Close())
	}
	s.prepared[query] = stmt
	return stmt, nil
}

func (s *session) closeStatements() {
	for _, stmt := range s.prepared {
		_ = stmt.Close() // it holds no data
	}
	clear(s.prepared)
}

// end closes the connection, and its statements first: SQLite keeps a connection
// and its write-ahead log open while one is left.
func (s *session) end() {
	s.closeStatements()
	_ = s.close() // what is committed is on the disk
}

func (s *session) exec(ctx context.Context, _ bool, query string, args []any) (int64, error) {
	ctx, err := s.watched(ctx)
	if err != nil {
		return 0, err
	}
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, s.bind(args))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (s *session) query(ctx context.Context, query string, args []any, each func(row) error) (err error) {
	ctx, err = s.watched(ctx)
	if err != nil {
		return err
	}
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, s.bind(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	r := make(sqliteRow, len(rows.Columns()))
	for {
		if err := rows.Next(r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := each(r); err != nil {
			return err
		}
	}
}

// bind numbers the values for a statement's parameters. The driver copies them
// before it runs the statement.
func (s *session) bind(args []any) []driver.NamedValue {
	clear(s.bound)
	s.bound, s.ids = s.bound[:0], s.ids[:0]
	for i, arg := range args {
		arg = argument(arg)
		switch v := arg.(type) {
		case cms.ID:
			s.ids = append(s.ids, v[:]...)
			arg = s.ids[len(s.ids)-len(v):]
		case cms.Digest:
			arg = v[:]
		}
		s.bound = append(s.bound, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return s.bound
}

// sqliteRow is a row as the driver of SQLite has it.
type sqliteRow []driver.Value

// Scan copies the values.
func (r sqliteRow) Scan(dest ...any) error {
	if len(dest) != len(r) {
		return fmt.Errorf("a row has %d columns, want %d", len(r), len(dest))
	}
	for i, value := range r {
		if err := setValue(dest[i], value); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

// setValue handles the types of most columns without reflection.
func setValue(dest any, value driver.Value) error {
	ok := false
	switch dest := dest.(type) {
	case *cms.ID:
		b, _ := value.([]byte)
		ok = copy(dest[:], b) == len(dest)
	case *string:
		*dest, ok = value.(string)
	case **string:
		ok = scanPointer(dest, value, func(text string) string { return text })
	case **float64:
		ok = scanPointer(dest, value, func(n float64) float64 { return n })
	case **cms.Frequency:
		ok = scanPointer(dest, value, func(text string) cms.Frequency { return cms.Frequency(text) })
	case **bool:
		ok = scanPointer(dest, value, func(n int64) bool { return n != 0 })
	case *int64:
		*dest, ok = value.(int64)
	case *cms.FieldSet:
		n, isNumber := value.(int64)
		*dest, ok = cms.FieldSet(n), isNumber
	case *bool:
		n, isNumber := value.(int64)
		*dest, ok = n != 0, isNumber
	case sql.Scanner:
		return dest.Scan(value)
	}
	if ok {
		return nil
	}
	to := reflect.ValueOf(dest).Elem()
	if to.Kind() == reflect.Pointer {
		to.SetZero()
		if value == nil {
			return nil
		}
		to.Set(reflect.New(to.Type().Elem()))
		return setValue(to.Interface(), value)
	}
	from := reflect.ValueOf(value)
	switch {
	case value == nil && to.Kind() == reflect.Slice:
		to.SetZero()
	case value == nil:
		return fmt.Errorf("null does not fit a %T", dest)
	case from.Kind() == reflect.Int64 && to.Kind() == reflect.String:
		to.SetString(strconv.FormatInt(from.Int(), 10))
	case from.CanConvert(to.Type()):
		to.Set(from.Convert(to.Type()))
	default:
		return fmt.Errorf("a %T does not fit a %T", value, dest)
	}
	return nil
}

// scanPointer copies a value that may be null.
func scanPointer[T, V any](dest **T, value driver.Value, convert func(V) T) bool {
	*dest = nil
	v, ok := value.(V)
	if ok {
		*dest = new(convert(v))
	}
	return ok || value == nil
}

// sessions is a pool of connections, opened when they are first needed. The last
// one to be returned is used next, since its cache is warm.
type sessions struct {
	connector driver.Connector
	begin     string
	slots     chan struct{} // one for each connection in use
	opened    atomic.Int64
	waits     atomic.Int64
	waited    atomic.Int64 // nanoseconds

	mu     sync.Mutex
	idle   []*session
	closed bool
}

var errClosed = errors.New("the store is closed")

func newSessions(connector driver.Connector, n int, begin string) *sessions {
	return &sessions{connector: connector, begin: begin, slots: make(chan struct{}, n)}
}

// use runs a callback with a connection.
func (p *sessions) use(ctx context.Context, work func(*session) error) error {
	s, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer p.give(s)
	return work(s)
}

// start takes a connection, waiting for one if need be, and begins a
// transaction on it.
func (p *sessions) start(ctx context.Context) (*sessionTx, error) {
	s, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	tx := &sessionTx{session: s, pool: p}
	if _, err := s.exec(ctx, true, p.begin, nil); err != nil {
		tx.undo() // the connection may be fine: the database is busy
		return nil, err
	}
	return tx, nil
}

func (p *sessions) take(ctx context.Context) (*session, error) {
	select {
	case p.slots <- struct{}{}:
	default:
		start := time.Now()
		p.waits.Add(1)
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		p.waited.Add(int64(time.Since(start)))
	}
	s, err := p.idleOrNew(ctx)
	if err != nil {
		<-p.slots
		return nil, err
	}
	s.since = time.Now()
	return s, nil
}

func (p *sessions) idleOrNew(ctx context.Context) (*session, error) {
	p.mu.Lock()
	var s *session
	if last := len(p.idle) - 1; last >= 0 {
		s, p.idle = p.idle[last], p.idle[:last]
	}
	closed := p.closed
	p.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case s != nil:
		return s, nil
	}
	conn, err := p.connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if s, err = newSession(conn); err == nil {
		s.number = p.opened.Add(1)
	}
	return s, err
}

// give returns a connection to the pool.
func (p *sessions) give(s *session) {
	p.mu.Lock()
	p.idle = append(p.idle, s)
	p.mu.Unlock()
	<-p.slots
}

// close closes every connection, each when it is free.
func (p *sessions) close() {
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, s := range p.idle {
		s.end()
	}
	p.idle = nil
	for range cap(p.slots) {
		<-p.slots
	}
}

func (p *sessions) stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	used := int64(len(p.slots))
	return PoolStats{
		Max: int64(cap(p.slots)), Open: used + int64(len(p.idle)), InUse: used,
		Waits: p.waits.Load(), Waited: time.Duration(p.waited.Load()),
	}
}

// sessionTx is a transaction on a connection of the pool.
type sessionTx struct {
	*session
	pool *sessions
	over bool
}

// commit ends the transaction, even if its context has ended.
func (t *sessionTx) commit() error {
	_, err := t.exec(context.Background(), true, "commit", nil)
	if err != nil {
		t.undo()
		return err
	}
	t.over = true
	t.pool.give(t.session)
	return nil
}

// rollback ends the transaction unless it is committed.
func (t *sessionTx) rollback() {
	if !t.over {
		t.undo()
	}
}

// undo rolls back. SQLite may have done so itself after an error, which a new
// transaction shows; a connection in any other state is closed.
func (t *sessionTx) undo() {
	t.over = true
	run := func(statement string) error {
		_, err := t.exec(context.Background(), true, statement, nil)
		return err
	}
	if run("rollback") == nil || (run("begin") == nil && run("rollback") == nil) {
		t.pool.give(t.session)
		return
	}
	t.session.end() // the pool opens another one when it needs it
	<-t.pool.slots
}
