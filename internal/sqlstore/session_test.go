package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// writingSessions is a pool of one connection that writes to a database.
func writingSessions(t *testing.T, file string) *sessions {
	t.Helper()
	pool := newSessions(sqliteConnector(placeForTest(t, file), "immediate"), 1, "begin immediate")
	t.Cleanup(pool.close)
	return pool
}

// failingStmt is a statement that always fails.
type failingStmt struct{ sqliteStmt }

func (failingStmt) ExecContext(context.Context, []driver.NamedValue) (driver.Result, error) {
	return nil, errors.New("broken")
}

// A transaction that can neither be committed nor undone takes its connection
// with it, and the next one has another.
func TestBrokenConnectionIsGivenUp(t *testing.T) {
	for name, end := range map[string]func(*sessionTx){"commit": func(tx *sessionTx) { _ = tx.commit() }, "rollback": (*sessionTx).rollback} {
		t.Run(name, func(t *testing.T) {
			pool := writingSessions(t, filepath.Join(t.TempDir(), DatabaseFile))
			tx, err := pool.start(t.Context())
			do(t, err)
			broken := tx.session
			for _, statement := range []string{"commit", "rollback", "begin"} { // none of them works any more
				prepared, err := broken.prepare(t.Context(), statement)
				do(t, err)
				broken.prepared[statement] = failingStmt{prepared}
			}
			ended := make(chan struct{})
			go func() { end(tx); close(ended) }()
			select {
			case <-ended:
			case <-time.After(2 * time.Minute):
				t.Fatal("it never ends")
			}
			next, err := pool.start(t.Context())
			do(t, err)
			if next.session == broken {
				t.Error("the next one has the broken connection")
			}
			next.rollback()
		})
	}
}

// A connection is kept where another program is in the way for a moment, and
// where a caller has left; and what a new one sees is not taken for what an old
// one saw.
func TestConnectionIsKeptWhileOthersWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), DatabaseFile)
	pool, other := writingSessions(t, file), writingSessions(t, file)
	before, err := pool.dataVersion(t.Context())
	do(t, err)
	do(t, pool.use(t.Context(), func(s *session) error {
		_, err := s.exec(t.Context(), true, "pragma busy_timeout = 1", nil)
		return err
	}))
	theirs, err := other.start(t.Context())
	do(t, err)
	if _, err := pool.start(t.Context()); classifySQLite(err) != failBusy {
		t.Fatalf("not busy: %v", err)
	}
	theirs.rollback()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pool.start(gone); err == nil {
		t.Error("a caller who has left begins a transaction")
	}
	after, err := pool.dataVersion(t.Context())
	do(t, err)
	if before != after {
		t.Errorf("%v became %v, and nobody wrote", before, after)
	}
	tx, err := pool.start(t.Context())
	do(t, err)
	tx.over = true
	tx.session.end()
	<-tx.pool.slots
	anew, err := pool.dataVersion(t.Context())
	do(t, err)
	if anew == after {
		t.Errorf("another connection has the same version %v", anew)
	}
}
