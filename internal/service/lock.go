package service

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"galley/internal/cms"
)

// siteWriters is how many writers of one site have a transaction, and so a
// connection, at a time. An exclusive writer takes all units.
const siteWriters = 8

// Bounds on the requests that hold one semaphore or wait for it. Each of them
// counts in the admission limit.
const (
	maxSiteUsers   = 64
	maxReviewUsers = 48
	maxBigJobs     = 8
)

var errWaiting = errors.New("too many requests wait for the same lock")

// semaphores has a semaphore for each id in use. Waiters are served in order.
type semaphores struct {
	size     int64
	maxUsers int

	mu    sync.Mutex
	inUse map[cms.ID]*countedSemaphore
}

type countedSemaphore struct {
	*semaphore.Weighted
	users int // holders and waiters
}

func newSemaphores(size int64, maxUsers int) *semaphores {
	return &semaphores{size: size, maxUsers: maxUsers, inUse: map[cms.ID]*countedSemaphore{}}
}

// acquire waits for n units of an id's semaphore. The caller must release them.
func (s *semaphores) acquire(ctx context.Context, id cms.ID, n int64) (release func(), err error) {
	sem := s.use(id)
	if sem == nil {
		return nil, cms.Unavailable(errWaiting)
	}
	if err := sem.Acquire(ctx, n); err != nil {
		s.leave(id, sem)
		return nil, cms.Unavailable(err)
	}
	return func() { sem.Release(n); s.leave(id, sem) }, nil
}

// tryAcquire is acquire without waiting.
func (s *semaphores) tryAcquire(id cms.ID, n int64) (release func(), ok bool) {
	sem := s.use(id)
	if sem == nil {
		return nil, false
	}
	if !sem.TryAcquire(n) {
		s.leave(id, sem)
		return nil, false
	}
	return func() { sem.Release(n); s.leave(id, sem) }, true
}

// use returns the semaphore of an id, or nil if that has too many users.
func (s *semaphores) use(id cms.ID) *countedSemaphore {
	s.mu.Lock()
	defer s.mu.Unlock()
	sem := s.inUse[id]
	if sem == nil {
		sem = &countedSemaphore{Weighted: semaphore.NewWeighted(s.size)}
		s.inUse[id] = sem
	}
	if sem.users >= s.maxUsers {
		return nil
	}
	sem.users++
	return sem
}

func (s *semaphores) leave(id cms.ID, sem *countedSemaphore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sem.users--; sem.users == 0 {
		delete(s.inUse, id)
	}
}

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

// maxReviews is how many lists of changes are computed at a time: each holds a
// connection for long. One workspace gets at most all but one of them.
var maxReviews = int64(min(max(2, runtime.GOMAXPROCS(0)/2), 6))

// acquireReview waits until a list of changes may be computed.
func (s *Service) acquireReview(ctx context.Context, workspaceID cms.ID) (release func(), err error) {
	leave, err := s.reviews.acquire(ctx, workspaceID, 1)
	if err != nil {
		return nil, err
	}
	if err := s.allReviews.Acquire(ctx, 1); err != nil {
		leave()
		return nil, cms.Unavailable(err)
	}
	return func() { s.allReviews.Release(1); leave() }, nil
}
