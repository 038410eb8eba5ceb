package sqlstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Round trips to PostgreSQL, one for each statement, take most of the time of a
// small write. So a transaction queues statements whose results do not matter, its
// begin among them, and sends them in one batch with the next one whose result does.
// That one returns the error of any of them.

// maxQueued limits the statements of a batch, and maxQueuedValues their arguments.
const (
	maxQueued       = 16
	maxQueuedValues = 10_000
)

// rollbackTime is how long a rollback may take. A connection on which it takes
// longer is closed.
const rollbackTime = 5 * time.Second

// postgresTx is a transaction that queues statements.
type postgresTx struct {
	conn   *pgxpool.Conn // nil: the transaction is over
	queue  *pgx.Batch
	values int   // in the queue
	sent   bool  // the begin was sent
	failed error // nothing is sent after an error: the transaction may have ended
}

func (e *postgresEngine) begin(ctx context.Context, statement string) (*postgresTx, error) {
	c, err := e.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	t := &postgresTx{conn: c, queue: &pgx.Batch{}}
	t.queue.Queue(statement)
	return t, nil
}

func (t *postgresTx) exec(ctx context.Context, wait bool, query string, args []any) (int64, error) {
	t.add(query, args)
	if !wait && t.queue.Len() < maxQueued && t.values < maxQueuedValues {
		return 0, nil
	}
	tag, err := t.flush(ctx)
	return tag.RowsAffected(), err
}

func (t *postgresTx) query(ctx context.Context, query string, args []any, each func(row) error) error {
	t.add(query, args)
	var stopped error // by the caller: the transaction has not failed
	err := t.send(ctx, func(results pgx.BatchResults) error {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		return eachRow(rows, func(r row) error {
			stopped = each(r)
			return stopped
		})
	})
	if stopped != nil {
		t.failed = nil
	}
	return err
}

// commit sends the rest of the transaction.
func (t *postgresTx) commit(ctx context.Context) error {
	if !t.sent && t.queue.Len() == 1 { // nothing was done
		t.release()
		return nil
	}
	t.add("commit", nil)
	tag, err := t.flush(ctx)
	switch {
	case err != nil:
		return err
	case tag.String() != "COMMIT": // something had failed before
		return pgx.ErrTxCommitRollback
	}
	t.release()
	return nil
}

// rollback ends the transaction unless it is over. The pool closes a connection
// that is still in one.
func (t *postgresTx) rollback(ctx context.Context) {
	if t.conn == nil {
		return
	}
	defer t.release()
	if !t.sent || t.conn.Conn().IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	if _, err := t.conn.Exec(ctx, "rollback"); err != nil {
		_ = t.conn.Conn().Close(ctx) // its state is unknown
	}
}

func (t *postgresTx) release() {
	t.conn.Release()
	t.conn = nil
}

func (t *postgresTx) add(query string, args []any) {
	t.queue.Queue(rebind(query), arguments(args)...)
	t.values += len(args)
}

// flush sends what is queued, and returns the result of the last statement.
func (t *postgresTx) flush(ctx context.Context) (tag pgconn.CommandTag, err error) {
	err = t.send(ctx, func(results pgx.BatchResults) (err error) {
		tag, err = results.Exec()
		return err
	})
	return tag, err
}

// send sends the queue, and lets a function read the result of the last statement.
func (t *postgresTx) send(ctx context.Context, read func(pgx.BatchResults) error) error {
	if t.failed != nil {
		return t.failed
	}
	batch := t.queue
	t.queue, t.values, t.sent = &pgx.Batch{}, 0, true
	results := t.conn.SendBatch(ctx, batch)
	for i := 0; i < batch.Len()-1 && t.failed == nil; i++ {
		_, t.failed = results.Exec()
	}
	if t.failed == nil {
		t.failed = read(results)
	}
	if err := results.Close(); t.failed == nil {
		t.failed = err
	}
	return t.failed
}
