package sqlstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Most of what a small write waits for is the round trip to PostgreSQL, once for
// each statement. So a transaction queues statements whose results do not matter,
// its beginning among them, and sends them in one batch with the next one whose
// result does. An error of one is returned then, and nothing after it is done.

// maxQueued is how many statements, and values in them, wait to be sent.
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
	sent   bool  // the beginning was
	failed error // why nothing more is sent: it might not be in the transaction
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
	var stopped error // by the caller: that is no failure of the transaction
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

// commit sends what is left of the transaction and its end.
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

// rollback ends the transaction unless it is over, and leaves nothing of it. The
// pool closes a connection that is still in a transaction.
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
		_ = t.conn.Conn().Close(ctx) // it is of no more use
	}
}

func (t *postgresTx) release() {
	t.conn.Release()
	t.conn = nil
}

func (t *postgresTx) add(query string, args []any) {
	t.queue.Queue(query, args...)
	t.values += len(args)
}

// flush sends what is queued, and returns what the last statement did.
func (t *postgresTx) flush(ctx context.Context) (tag pgconn.CommandTag, err error) {
	err = t.send(ctx, func(results pgx.BatchResults) (err error) {
		tag, err = results.Exec()
		return err
	})
	return tag, err
}

// send sends what is queued, and has a function read the result of the last
// statement.
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
