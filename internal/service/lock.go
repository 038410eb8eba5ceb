package service

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"

	"galley/internal/cms"
)

// siteWriters is how many writers of one site have a transaction at a time, and
// so a connection each. One that needs the site to itself takes all of it.
const siteWriters = 8

// Bounds on the requests that hold one semaphore or wait for it: each takes a
// place in admission.
const (
	maxSiteUsers   = 64
	maxReviewUsers = 48
	maxBigJobs     = 8
)

var errWaiting = errors.New("too many requests wait for the same lock")

// semaphores keeps a semaphore for each id that is in use. Those who wait for one
// are served in the order in which they came.
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
	sem, err := s.use(id)
	if err != nil {
		return nil, err
	}
	if err := sem.Acquire(ctx, n); err != nil {
		s.leave(id, sem)
		return nil, cms.Unavailable(err)
	}
	return func() { sem.Release(n); s.leave(id, sem) }, nil
}

// tryAcquire is acquire without waiting.
func (s *semaphores) tryAcquire(id cms.ID, n int64) (release func(), ok bool) {
	sem, err := s.use(id)
	if err != nil {
		return nil, false
	}
	if !sem.TryAcquire(n) {
		s.leave(id, sem)
		return nil, false
	}
	return func() { sem.Release(n); s.leave(id, sem) }, true
}

func (s *semaphores) use(id cms.ID) (*countedSemaphore, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sem := s.inUse[id]
	if sem == nil {
		sem = &countedSemaphore{Weighted: semaphore.NewWeighted(s.size)}
		s.inUse[id] = sem
	}
	if sem.users >= s.maxUsers {
		return nil, cms.Unavailable(errWaiting)
	}
	sem.users++
	return sem, nil
}

func (s *semaphores) leave(id cms.ID, sem *countedSemaphore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sem.users--; sem.users == 0 {
		delete(s.inUse, id)
	}
}

// inSite is inTx for writers of one site, which is that of a resource or named
// by its own id. They wait for each other here, without a connection; a writer on
// another node is waited for in the database.
func (s *Service) inSite(ctx context.Context, who Caller, kind cms.Kind, ref Ref, lock cms.Lock, write func(cms.Tx) error) error {
	siteID, workspaceID, err := s.locate(ctx, kind, ref)
	if err != nil || workspaceID != who.WorkspaceID() {
		return s.inTx(ctx, write) // it is refused, and does not wait for a site of others
	}
	return s.holdSite(ctx, siteID, lock, func() error { return s.inTx(ctx, write) })
}

// holdSite runs a function while this node holds a site for it. A keyed request
// has a transaction open already, and holds the site until that ends.
func (s *Service) holdSite(ctx context.Context, siteID cms.ID, lock cms.Lock, run func() error) error {
	if !s.store.Shared() {
		return run() // the store of a single node has one writer
	}
	units := int64(1)
	if lock == cms.LockExclusive {
		units = siteWriters
	}
	if open, ok := ctx.Value(openTxKey{}).(*openTx); ok {
		return open.hold(s.sites, siteID, units, run)
	}
	release, err := s.sites.acquire(ctx, siteID, units)
	if err != nil {
		return err
	}
	defer release()
	return run()
}

// openTx is the transaction of a keyed request, which writes within it join, and
// the site that it holds.
type openTx struct {
	tx      cms.Tx
	needs   cms.Needs
	siteID  cms.ID
	units   int64
	release func() // nil: it holds no site
}

type openTxKey struct{}

func (o *openTx) hold(sites *semaphores, siteID cms.ID, units int64, run func() error) error {
	if o.siteID != siteID || o.units < units {
		release, ok := sites.tryAcquire(siteID, units)
		if !ok {
			return &siteNeededError{siteID, units}
		}
		o.take(siteID, units, release)
	}
	return run()
}

func (o *openTx) take(siteID cms.ID, units int64, release func()) {
	o.end()
	o.siteID, o.units, o.release = siteID, units, release
}

// end releases the site.
func (o *openTx) end() {
	if o.release != nil {
		o.release()
	}
	o.siteID, o.units, o.release = cms.NoID, 0, nil
}

// siteNeededError asks for an open transaction to be run again with a site held:
// one that waited with its connection could keep the holder from having one.
type siteNeededError struct {
	siteID cms.ID
	units  int64
}

func (*siteNeededError) Error() string { return "the site has to be held first" }

// writeOpen is write for a transaction that others join by its context.
func (s *Service) writeOpen(ctx context.Context, do func(ctx context.Context, tx cms.Tx) error) error {
	open := &openTx{}
	defer func() { open.end() }()
	for {
		err := s.write(ctx, func(tx cms.Tx) error {
			open.tx, open.needs = tx, cms.Needs{}
			return do(context.WithValue(ctx, openTxKey{}, open), tx)
		})
		needed, ok := errors.AsType[*siteNeededError](err)
		if !ok {
			return err
		}
		open.end()
		release, err := s.sites.acquire(ctx, needed.siteID, needed.units)
		if err != nil {
			return err
		}
		open.take(needed.siteID, needed.units, release)
	}
}

// inTx runs a callback in a transaction: the one that the context carries, or
// else a new one.
func (s *Service) inTx(ctx context.Context, write func(cms.Tx) error) error {
	if open, ok := ctx.Value(openTxKey{}).(*openTx); ok {
		return write(open.tx)
	}
	return s.write(ctx, write)
}

// locate finds the site of a resource and the workspace of the site, which never
// change.
func (s *Service) locate(ctx context.Context, kind cms.Kind, ref Ref) (siteID, workspaceID cms.ID, err error) {
	id := ref.ID
	if id == cms.NoID {
		kind, id = cms.KindSite, ref.SiteID
	}
	if known, ok := s.locations.GetIfPresent(id); ok {
		return known.siteID, known.workspaceID, nil
	}
	siteID = id
	if kind != cms.KindSite {
		if siteID, err = s.store.SiteOf(ctx, kind, id); err != nil {
			return siteID, workspaceID, err
		}
	}
	site, err := s.store.Site(ctx, siteID)
	if err == nil {
		s.locations.Set(id, location{siteID, site.WorkspaceID})
	}
	return siteID, site.WorkspaceID, err
}

type location struct{ siteID, workspaceID cms.ID }

// maxLocations bounds what is remembered of where resources are.
const maxLocations = 100_000

// maxReviews is how many lists of changes are worked out at a time: each holds a
// connection for long. One workspace has at most all but one of them.
var maxReviews = int64(min(max(2, runtime.GOMAXPROCS(0)/2), 6))

// acquireReview waits for the right to work out a list of changes.
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
