package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// SQLite parses a statement each time unless it is kept prepared, and parsing
// costs about as much as running. database/sql can't keep statements for the
// transactions of a pool, and converts each value twice, so this is a pool on the
// driver itself.

// maxPrepared bounds what a connection keeps: statements with lists of values
// come in many lengths.
const maxPrepared = 400

// session is one connection and its prepared statements. One goroutine uses it
// at a time.
type session struct {
	conn     driver.ConnPrepareContext
	close    func() error
	number   int64 // of those that the pool has opened
	prepared map[string]sqliteStmt
	since    time.Time // when its transaction began
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
// one that can end, which takes as long as a small statement: of those, the
// context is checked between statements and between rows.
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
		_ = stmt.Close() // nothing is lost with it
	}
	clear(s.prepared)
}

// end closes the connection. Its statements come first: SQLite keeps a
// connection open, and all that is written in its log, while one is left.
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
	result, err := stmt.ExecContext(ctx, bound(args))
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
	rows, err := stmt.QueryContext(ctx, bound(args))
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

// bound numbers the values for a statement's parameters.
func bound(args []any) []driver.NamedValue {
	values := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	return values
}

// sessions is a pool of connections, opened when they are first needed. The one
// that was used last is used next, since its cache is warm.
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
		tx.undo() // nothing is wrong with a connection that is busy
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

// dataVersion is a connection's number for what it sees: it changes whenever
// another one has written. Those of two connections can't be compared.
type dataVersion struct{ session, number int64 }

func (p *sessions) dataVersion(ctx context.Context) (version dataVersion, err error) {
	err = p.use(ctx, func(s *session) error {
		version.session = s.number
		return s.query(ctx, "pragma data_version", nil, func(r row) error { return r.Scan(&version.number) })
	})
	return version, err
}

// sessionTx is a transaction on a connection of the pool.
type sessionTx struct {
	*session
	pool *sessions
	over bool
}

// commit ends the transaction, even if the caller has left.
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

// rollback ends the transaction and leaves nothing of it.
func (t *sessionTx) rollback() {
	if !t.over {
		t.undo()
	}
}

// undo rolls back. SQLite may have done so by itself after an error; a
// connection in any other state is closed.
func (t *sessionTx) undo() {
	t.over = true
	for _, statement := range []string{"rollback", "begin", "rollback"} {
		_, err := t.exec(context.Background(), true, statement, nil)
		switch {
		case err == nil && statement == "rollback":
			t.pool.give(t.session)
			return
		case err != nil && statement == "begin":
			t.giveUp()
			return
		}
	}
	t.giveUp()
}

// giveUp closes the connection; the next to need one opens another.
func (t *sessionTx) giveUp() {
	t.session.end()
	<-t.pool.slots
}
