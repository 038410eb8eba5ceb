package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Most of what a small write waits for is the way to PostgreSQL and back, once
// for each statement. So a transaction keeps statements that nobody waits for,
// its beginning among them, until somebody does, and sends them all at once; its
// end takes the last ones along. What goes wrong with one shows then, and nothing
// that comes after it is done.

// maxQueued is how many statements, and values in them, wait to be sent.
const (
	maxQueued       = 16
	maxQueuedValues = 10_000
)

// rollbackTime is how long the end of a transaction that is given up may take. A
// connection on which it takes longer is given up, too.
const rollbackTime = 5 * time.Second

// queuedTx is a transaction that queues statements.
type queuedTx struct {
	*sql.Conn
	ctx    context.Context //nolint:containedctx // of its end, as database/sql has it
	queue  []queuedStatement
	values int // in the queue
	// writes tells that the queue has more than reads, and wrote that the server
	// has had some: it knows the transaction by a number since.
	writes, wrote bool
	sent          bool  // the beginning was
	failed        error // why nothing more is sent: what comes after might not be in the transaction
	over          bool
}

type queuedStatement struct {
	query string
	args  []any
}

// queueing begins transactions on a pool of connections by a statement.
func queueing(db *sql.DB, begin string) func(context.Context) (transaction, error) {
	return func(ctx context.Context) (transaction, error) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		return &queuedTx{Conn: conn, ctx: ctx, queue: []queuedStatement{{query: begin}}}, nil
	}
}

// later runs a statement before the next one that is waited for.
func (t *queuedTx) later(ctx context.Context, query string, args []any) error {
	t.add(query, args)
	t.writes = true
	if len(t.queue) < maxQueued && t.values < maxQueuedValues {
		return nil
	}
	_, err := t.sendAll(ctx)
	return err
}

// ExecContext runs a statement, and all before it.
func (t *queuedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	t.add(query, args)
	t.writes = true
	tag, err := t.sendAll(ctx)
	return driver.RowsAffected(tag.RowsAffected()), err
}

// QueryContext leaves a query to database/sql.
func (t *queuedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if _, err := t.sendAll(ctx); err != nil {
		return nil, err
	}
	return t.Conn.QueryContext(ctx, query, args...)
}

// each shows every row of a query, one after the other.
func (t *queuedTx) each(ctx context.Context, query string, args []any, show func(row) error) error {
	t.add(query, args)
	var stopped error // by who is shown them: that is no failure
	err := t.send(ctx, func(conn *pgx.Conn, results pgx.BatchResults) error {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		return showRows(conn, rows, func(r row) error {
			stopped = show(r)
			return stopped
		})
	})
	if stopped != nil {
		t.failed = nil
	}
	return err
}

// Commit ends the transaction, and sends what is left of it.
func (t *queuedTx) Commit() error {
	if t.over {
		return sql.ErrTxDone
	}
	if !t.sent && len(t.queue) == 1 { // nothing was done
		t.end()
		return nil
	}
	tag, err := t.commit()
	if err == nil && tag.String() != "COMMIT" { // something had failed before
		err = pgx.ErrTxCommitRollback
	}
	if err != nil {
		return errors.Join(err, t.Rollback())
	}
	t.end()
	return nil
}

// commit goes along with what is left, but not with all that was written: if its
// answer is lost, the announcer goes by the transactions that still run.
func (t *queuedTx) commit() (tag pgconn.CommandTag, err error) {
	if !t.wrote {
		if tag, err = t.sendAll(t.ctx); err != nil {
			return tag, err
		}
	}
	t.add("commit", nil)
	return t.sendAll(t.ctx)
}

// Rollback ends the transaction and leaves nothing of it.
func (t *queuedTx) Rollback() error {
	if t.over {
		return sql.ErrTxDone
	}
	defer t.end()
	if !t.sent {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), rollbackTime)
	defer cancel()
	return onDriver(t.Conn, func(conn *pgx.Conn) error {
		if conn.IsClosed() {
			return driver.ErrBadConn
		}
		if _, err := conn.Exec(ctx, "rollback"); err != nil {
			return errors.Join(driver.ErrBadConn, err) // nobody else may have it as it is
		}
		return nil
	})
}

// end gives the connection back.
func (t *queuedTx) end() {
	t.over = true
	_ = t.Close() // it was closed before if it is of no use
}

func (t *queuedTx) add(query string, args []any) {
	t.queue = append(t.queue, queuedStatement{query, args})
	t.values += len(args)
}

// sendAll sends what is queued, and returns what was done by the last of it.
func (t *queuedTx) sendAll(ctx context.Context) (tag pgconn.CommandTag, err error) {
	if len(t.queue) == 0 {
		return tag, t.failed
	}
	err = t.send(ctx, func(_ *pgx.Conn, results pgx.BatchResults) (err error) {
		tag, err = results.Exec()
		return err
	})
	return tag, err
}

// send sends what is queued, and has somebody take the results of the last.
func (t *queuedTx) send(ctx context.Context, take func(*pgx.Conn, pgx.BatchResults) error) error {
	if t.failed != nil {
		return t.failed
	}
	batch := &pgx.Batch{}
	for _, s := range t.queue {
		batch.Queue(s.query, s.args...)
	}
	t.wrote = t.wrote || t.writes
	t.queue, t.values, t.writes, t.sent = nil, 0, false, true
	t.failed = onDriver(t.Conn, func(conn *pgx.Conn) error {
		results := conn.SendBatch(ctx, batch)
		var err error
		for i := 0; i < batch.Len()-1 && err == nil; i++ {
			_, err = results.Exec()
		}
		if err == nil {
			err = take(conn, results)
		}
		if closed := results.Close(); err == nil {
			err = closed
		}
		return err
	})
	return t.failed
}
