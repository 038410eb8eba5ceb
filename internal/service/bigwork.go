package service

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"galley/internal/cms"
)

// A workspace does one big job at a time: others would wait behind many. Where
// the store has one writer, a job that kept others waiting is followed by a
// pause of its own length, in which they write.

// bigWork are the semaphores of the workspaces that have big jobs.
type bigWork struct {
	mu     sync.Mutex
	queues map[cms.ID]*bigQueue
	writes atomic.Int64 // that were begun, of any size
}

type bigQueue struct {
	*semaphore.Weighted
	jobs int // running, paused or waiting
}

// Bounds on who waits: each waiting request takes a place in admission.
const (
	maxBigJobs  = 8
	maxBigWait  = 20 * time.Second
	maxBigPause = 5 * time.Second
)

var errBigWork = errors.New("the workspace has other big work under way")

// BigWork waits until the workspace of the caller has no other big job. It must
// be called before the transaction of the job begins.
func (s *Service) BigWork(ctx context.Context, who Caller) (done func(), err error) {
	return s.bigWork.start(ctx, who.WorkspaceID(), !s.store.Shared())
}

func (b *bigWork) start(ctx context.Context, workspaceID cms.ID, oneWriter bool) (done func(), err error) {
	q, ok := b.join(workspaceID)
	if !ok {
		return nil, cms.Unavailable(errBigWork)
	}
	waiting, cancel := context.WithTimeout(ctx, maxBigWait)
	defer cancel()
	if err := q.Acquire(waiting, 1); err != nil {
		b.leave(workspaceID, q)
		return nil, cms.Unavailable(errBigWork)
	}
	began, writes := time.Now(), b.writes.Load()
	return func() {
		release := func() {
			q.Release(1)
			b.leave(workspaceID, q)
		}
		if others := b.writes.Load() - writes - 1; oneWriter && others > 0 {
			time.AfterFunc(min(time.Since(began), maxBigPause), release)
			return
		}
		release()
	}, nil
}

// join adds a job to the queue of a workspace, unless that is full.
func (b *bigWork) join(workspaceID cms.ID) (*bigQueue, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[workspaceID]
	if q == nil {
		if b.queues == nil {
			b.queues = map[cms.ID]*bigQueue{}
		}
		q = &bigQueue{Weighted: semaphore.NewWeighted(1)}
		b.queues[workspaceID] = q
	}
	if q.jobs == maxBigJobs {
		return nil, false
	}
	q.jobs++
	return q, true
}

func (b *bigWork) leave(workspaceID cms.ID, q *bigQueue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q.jobs--; q.jobs == 0 {
		delete(b.queues, workspaceID)
	}
}

type rowsKey struct{}

// CountRows returns a context in which the rows that a request touches are
// counted.
func CountRows(ctx context.Context) (context.Context, *atomic.Int64) {
	rows := new(atomic.Int64)
	return context.WithValue(ctx, rowsKey{}, rows), rows
}

// touched counts rows that a request has touched.
func touched(ctx context.Context, rows int) {
	if counter, ok := ctx.Value(rowsKey{}).(*atomic.Int64); ok {
		counter.Add(int64(rows))
	}
}
