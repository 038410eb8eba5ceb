package service

import (
	"context"
	"sync/atomic"
	"time"

	"galley/internal/cms"
)

// bigWork limits a workspace to one big job at a time. Where the store has one
// writer, a job that delayed others is followed by a pause of its own length.
type bigWork struct {
	jobs   *semaphores  // of workspaces
	writes atomic.Int64 // that were begun, of any size
}

const (
	maxBigWait  = 20 * time.Second
	maxBigPause = 5 * time.Second
)

// BigWork waits until the workspace of the caller has no other big job. It must
// be called before the transaction of the job begins.
func (s *Service) BigWork(ctx context.Context, who Caller) (done func(), err error) {
	return s.bigWork.start(ctx, who.WorkspaceID(), !s.store.Shared())
}

func (b *bigWork) start(ctx context.Context, workspaceID cms.ID, oneWriter bool) (done func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, maxBigWait)
	defer cancel()
	release, err := b.jobs.acquire(waiting, workspaceID, 1)
	if err != nil {
		return nil, err
	}
	began, writes := time.Now(), b.writes.Load()
	return func() {
		if others := b.writes.Load() - writes - 1; oneWriter && others > 0 {
			time.AfterFunc(min(time.Since(began), maxBigPause), release)
			return
		}
		release()
	}, nil
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
