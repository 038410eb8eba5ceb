package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"sync/atomic"
	"time"
)

// SQLite parses a statement anew each time unless somebody keeps it prepared,
// and parsing costs about as much as running. database/sql can't keep
// statements for the transactions of a pool of one, so the pool is ours: a few
// connections, each with what it has prepared.

// maxPrepared bounds what a connection keeps: statements with lists of values
// come in many lengths.
const maxPrepared = 400

// session is one connection and its prepared statements. One goroutine uses it
// at a time.
type session struct {
	conn     *sql.Conn
	number   int64 // of those that the pool has opened
	prepared map[string]*sql.Stmt
	since    time.Time // when its transaction began
}

// shortWork is how long a transaction may take before somebody watches over its
// statements, to end them when their caller leaves. One that begins earlier runs
// to its end.
const shortWork = time.Second

// unwatched is a context for a statement that is not worth watching over: the
// driver and database/sql each start a goroutine for it, which takes as long as
// a small statement itself. That a caller has left is noticed between
// statements, and between rows.
func unwatched(ctx context.Context) (context.Context, error) {
	return context.WithoutCancel(ctx), ctx.Err()
}

// watched is the context for a statement of the session.
func (s *session) watched(ctx context.Context) (context.Context, error) {
	if time.Since(s.since) > shortWork {
		return ctx, nil
	}
	return unwatched(ctx)
}

func (s *session) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt, ok := s.prepared[query]; ok {
		return stmt, nil
	}
	if len(s.prepared) >= maxPrepared {
		for _, stmt := range s.prepared {
			_ = stmt.Close() // nothing is lost with it
		}
		clear(s.prepared)
	}
	stmt, err := s.conn.PrepareContext(ctx, query)
	if err == nil {
		s.prepared[query] = stmt
	}
	return stmt, err
}

// close closes the connection. Its statements come first: SQLite keeps a
// connection open, and all that is written in its log, while one is left.
func (s *session) close() {
	for _, stmt := range s.prepared {
		_ = stmt.Close() // the connection goes with it
	}
	// Were it merely closed, the pool below would keep it, with whatever goes on
	// in it.
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
}

func (s *session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, err := s.watched(ctx)
	if err != nil {
		return nil, err
	}
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

func (s *session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, err := s.watched(ctx)
	if err != nil {
		return nil, err
	}
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// sessions is a pool of connections, opened when they are first needed.
type sessions struct {
	db     *sql.DB
	begin  string
	free   chan *session // nil: not opened yet
	opened atomic.Int64
}

func newSessions(db *sql.DB, n int, begin string) *sessions {
	p := &sessions{db: db, begin: begin, free: make(chan *session, n)}
	for range n {
		p.free <- nil
	}
	return p
}

// start takes a connection, waiting for one if need be, and begins a
// transaction on it.
func (p *sessions) start(ctx context.Context) (transaction, error) {
	s, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	s.since = time.Now()
	tx := &sessionTx{session: s, pool: p}
	if _, err := s.ExecContext(ctx, p.begin); err != nil {
		tx.undo() // nothing is wrong with a connection that is busy
		return nil, err
	}
	return tx, nil
}

func (p *sessions) take(ctx context.Context) (*session, error) {
	var s *session
	select {
	case s = <-p.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s != nil {
		return s, nil
	}
	conn, err := p.db.Conn(ctx)
	if err != nil {
		p.free <- nil
		return nil, err
	}
	return &session{conn: conn, number: p.opened.Add(1), prepared: map[string]*sql.Stmt{}}, nil
}

// close closes every connection, each when it is free.
func (p *sessions) close() {
	for range cap(p.free) {
		if s := <-p.free; s != nil {
			s.close()
		}
	}
	for range cap(p.free) {
		p.free <- nil // who comes now finds the pool closed
	}
}

// dataVersion is a connection's number for what it sees: it changes whenever
// another one has written. Those of two connections can't be compared.
type dataVersion struct{ session, number int64 }

func (p *sessions) dataVersion(ctx context.Context) (version dataVersion, err error) {
	s, err := p.take(ctx)
	if err != nil {
		return version, err
	}
	defer func() { p.free <- s }()
	stmt, err := s.prepare(ctx, "pragma data_version")
	if err != nil {
		return version, err
	}
	version.session = s.number
	return version, stmt.QueryRowContext(ctx).Scan(&version.number)
}

// sessionTx is a transaction on a connection of the pool.
type sessionTx struct {
	*session
	pool *sessions
	once sync.Once
}

// Commit ends the transaction. A caller that has gone away does not stop it
// halfway.
func (t *sessionTx) Commit() error {
	err := sql.ErrTxDone
	t.once.Do(func() {
		if _, err = t.session.ExecContext(context.Background(), "commit"); err != nil {
			t.undo()
			return
		}
		t.pool.free <- t.session
	})
	return err
}

// Rollback ends the transaction and leaves nothing of it.
func (t *sessionTx) Rollback() error {
	t.once.Do(t.undo)
	return nil
}

// undo rolls back. SQLite may have done so by itself after an error; a
// connection in any other state is given up.
func (t *sessionTx) undo() {
	ctx := context.Background()
	if _, err := t.session.ExecContext(ctx, "rollback"); err != nil {
		if _, err := t.session.ExecContext(ctx, "begin"); err != nil {
			t.giveUp()
			return
		}
		if _, err := t.session.ExecContext(ctx, "rollback"); err != nil {
			t.giveUp()
			return
		}
	}
	t.pool.free <- t.session
}

// giveUp closes the connection; the next to need one opens another.
func (t *sessionTx) giveUp() {
	t.session.close()
	t.pool.free <- nil
}

// preparedDB runs single statements on a pool, and keeps them prepared.
type preparedDB struct {
	*sql.DB
	mu       sync.Mutex
	prepared map[string]*sql.Stmt
}

func newPreparedDB(db *sql.DB) *preparedDB {
	return &preparedDB{DB: db, prepared: map[string]*sql.Stmt{}}
}

// QueryContext runs a statement, prepared unless too many are already.
func (p *preparedDB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	// Who may have to wait for a connection can be called off.
	if pool := p.Stats(); pool.InUse < pool.MaxOpenConnections {
		var err error
		if ctx, err = unwatched(ctx); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	stmt, ok := p.prepared[query]
	full := len(p.prepared) >= maxPrepared
	p.mu.Unlock()
	switch {
	case ok:
		return stmt.QueryContext(ctx, args...)
	case full:
		return p.DB.QueryContext(ctx, query, args...)
	}
	stmt, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	if other, ok := p.prepared[query]; ok {
		_ = stmt.Close() // another was quicker
		stmt = other
	} else {
		p.prepared[query] = stmt
	}
	p.mu.Unlock()
	return stmt.QueryContext(ctx, args...)
}
