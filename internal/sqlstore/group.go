package sqlstore

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"galley/internal/cms"
)

// SQLite has one writer, and the sync at the end is most of the cost of a small
// write. So concurrent writers share a transaction: they run one after another,
// the last one commits for all, and no write returns before that commit.

// A group is committed when it has this many members or is this old, even if
// others wait to join it.
const (
	maxGroup    = 128
	maxGroupAge = 10 * time.Millisecond
)

// writer is the one connection that writes.
type writer struct {
	begin   func(context.Context) (*sessionTx, error)
	fail    func(context.Context, error) error // converts a driver's error
	lock    chan struct{}                      // held while a member runs
	waiting atomic.Int32                       // for the lock
	open    *group                             // the next member joins it; guarded by lock
}

// group is a transaction with several members.
type group struct {
	tx      *sessionTx
	members int
	since   time.Time
	done    chan struct{}
	err     error // of the commit
	undone  bool  // it was rolled back, so that every member runs again
}

func newWriter(begin func(context.Context) (*sessionTx, error), fail func(context.Context, error) error) *writer {
	return &writer{begin: begin, fail: fail, lock: make(chan struct{}, 1)}
}

// run runs a callback in a transaction, which it may share, and returns after the
// commit. The callback runs again when another member of its group failed after it
// had written something.
func (w *writer) run(ctx context.Context, write func(conn) error) error {
	for alone := false; ; alone = true {
		g, err := w.join(ctx, alone, write)
		if g == nil {
			return err
		}
		<-g.done
		switch {
		case g.undone:
		case g.err != nil:
			return w.fail(ctx, g.err)
		default:
			return err
		}
	}
}

// join runs the callback as a member of a group. It returns the group and the
// callback's error; no group if the error is final.
func (w *writer) join(ctx context.Context, alone bool, write func(conn) error) (*group, error) {
	if err := w.await(ctx); err != nil {
		go w.commitIdle()
		return nil, w.fail(ctx, err)
	}
	defer func() { <-w.lock }()

	if alone {
		w.commit()
	}
	if w.open == nil {
		tx, err := w.begin(ctx)
		if err != nil {
			return nil, w.fail(ctx, err)
		}
		w.open = &group{tx: tx, since: time.Now(), done: make(chan struct{})}
	}
	g := w.open
	spoiled, err := w.runMember(ctx, write)
	if spoiled {
		first := g.members == 0
		w.undo()
		if first {
			return nil, err // it read nothing that was rolled back with it
		}
		return g, err
	}
	g.members++
	if w.waiting.Load() == 0 {
		runtime.Gosched() // lets writers that are ready join: a sync costs as much as ten writes
	}
	if alone || w.waiting.Load() == 0 || g.members >= maxGroup || time.Since(g.since) > maxGroupAge {
		w.commit()
	}
	return g, err
}

// await takes the lock. That may take as long as a publish.
func (w *writer) await(ctx context.Context) error {
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	select {
	case w.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commitIdle commits a group that was left open for a writer that gave up waiting.
func (w *writer) commitIdle() {
	w.lock <- struct{}{}
	defer func() { <-w.lock }()
	if w.waiting.Load() == 0 {
		w.commit()
	}
}

// runMember runs the callback, and reports whether the group has to be rolled
// back: the callback failed after it had written, or by an error of SQLite, which
// may have ended the transaction. A panic rolls it back, too.
func (w *writer) runMember(ctx context.Context, write func(conn) error) (spoiled bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, w.fail(ctx, err)
	}
	member := &writeTracker{conn: w.open.tx}
	finished := false
	defer func() {
		if !finished {
			w.undo()
		}
	}()
	err = write(member)
	finished = true
	return err != nil && (member.wrote || !isRefusal(err)), err
}

// isRefusal reports whether an error is about the request, and not a failure.
func isRefusal(err error) bool {
	refusal, ok := errors.AsType[*cms.Error](err)
	return ok && refusal.Code != cms.CodeUnavailable
}

func (w *writer) commit() {
	if w.open == nil {
		return
	}
	w.open.err = w.open.tx.commit()
	close(w.open.done)
	w.open = nil
}

func (w *writer) undo() {
	w.open.tx.rollback()
	w.open.undone = true
	close(w.open.done)
	w.open = nil
}

// writeTracker records whether a statement changed something, or failed and may
// have. One that finds a pathname taken changes nothing.
type writeTracker struct {
	conn
	wrote bool
}

func (t *writeTracker) exec(ctx context.Context, wait bool, query string, args []any) (int64, error) {
	rows, err := t.conn.exec(ctx, wait, query, args)
	t.wrote = t.wrote || rows > 0 || err != nil
	return rows, err
}
