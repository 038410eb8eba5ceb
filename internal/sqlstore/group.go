package sqlstore

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"galley/internal/cms"
)

// SQLite has one writer, and most of a small write is the sync at its end. So
// writers that wait for each other share a transaction: each runs in turn, and
// the last one that nobody waits behind commits for all. Nobody is answered
// before that commit is on the disk.

// A group is committed when it has this many members or is this old, even if
// others still wait.
const (
	maxGroup    = 128
	maxGroupAge = 10 * time.Millisecond
)

// writer is the one connection that writes.
type writer struct {
	begin   func(context.Context) (*sessionTx, error)
	fail    func(context.Context, error) error // turns a driver's error into ours
	turn    chan struct{}                      // held by the one whose turn it is
	waiting atomic.Int32                       // how many wait for their turn
	open    *group                             // the group that the next one joins; only for whose turn it is
}

// group is a transaction with several members.
type group struct {
	tx      *sessionTx
	members int
	since   time.Time
	done    chan struct{}
	err     error // of the commit
	undone  bool  // it was rolled back, so every member runs again
}

func newWriter(begin func(context.Context) (*sessionTx, error), fail func(context.Context, error) error) *writer {
	return &writer{begin: begin, fail: fail, turn: make(chan struct{}, 1)}
}

// run runs a callback in a transaction, which it may share, and returns once
// that is committed. The callback runs again when another member of its group
// failed after it had written something.
func (w *writer) run(ctx context.Context, write func(conn) error) error {
	for alone := false; ; alone = true {
		g, err := w.take(ctx, alone, write)
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

// take takes a turn. It returns the group that the caller is a member of and
// what the callback returned; no group if that is final.
func (w *writer) take(ctx context.Context, alone bool, write func(conn) error) (*group, error) {
	if err := w.await(ctx); err != nil {
		go w.closeUp()
		return nil, w.fail(ctx, err)
	}
	defer func() { <-w.turn }()

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
			return nil, err // it saw nothing of others
		}
		return g, err
	}
	g.members++
	if w.waiting.Load() == 0 {
		runtime.Gosched() // who is about to write joins: a sync costs as much as ten writes
	}
	if alone || w.waiting.Load() == 0 || g.members >= maxGroup || time.Since(g.since) > maxGroupAge {
		w.commit()
	}
	return g, err
}

// await waits for the turn. That may take as long as a publish.
func (w *writer) await(ctx context.Context) error {
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closeUp commits what was left to somebody who waited and has given up.
func (w *writer) closeUp() {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	if w.waiting.Load() == 0 {
		w.commit()
	}
}

// runMember runs the callback, unless its caller has left meanwhile, and tells
// whether it failed in a way that spoils the group's transaction: after it had
// written, or by an error of SQLite's, which may have ended the transaction. A
// panic takes that with it, too.
func (w *writer) runMember(ctx context.Context, write func(conn) error) (spoiled bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, w.fail(ctx, err)
	}
	member := &noticing{conn: w.open.tx}
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

// isRefusal tells whether an error is an answer, and nothing went wrong.
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

// noticing notices writes.
type noticing struct {
	conn
	wrote bool
}

// exec notices a statement that changed something, or that failed and may have. A
// pathname that is taken is found by one that changes nothing.
func (n *noticing) exec(ctx context.Context, wait bool, query string, args []any) (int64, error) {
	rows, err := n.conn.exec(ctx, wait, query, args)
	n.wrote = n.wrote || rows > 0 || err != nil
	return rows, err
}
