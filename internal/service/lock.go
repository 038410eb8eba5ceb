package service

import (
	"context"
	"errors"
	"runtime"
	"sync"

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

// inSite runs a callback in a transaction that has locked the site of a target.
// Writers of one site wait for each other here, without a connection; for those
// of other nodes they wait in the database.
func (s *Service) inSite(ctx context.Context, who Caller, t target, lock cms.Lock, write func(cms.Tx, siteSnapshot) error) error {
	siteID, err := s.locate(ctx, who, t)
	run := func() error {
		return s.inTx(ctx, func(tx cms.Tx) error {
			f, err := s.lockSite(ctx, tx, who, t, siteID, lock)
			if err != nil {
				return err
			}
			return write(tx, f)
		})
	}
	if err != nil || siteID == cms.NoID {
		return run() // it is refused, and does not wait
	}
	return s.holdSite(ctx, siteID, lock, run)
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
	open, ok := ctx.Value(openTxKey{}).(*openTx)
	switch {
	case !ok:
		release, err := s.sites.acquire(ctx, siteID, units)
		if err != nil {
			return err
		}
		defer release()
	case open.siteID != siteID || open.units < units:
		release, free := s.sites.tryAcquire(siteID, units)
		if !free {
			return &siteNeededError{siteID, units}
		}
		open.hold(siteID, units, release)
	}
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

// hold releases the site that the transaction holds, and notes another or none.
func (o *openTx) hold(siteID cms.ID, units int64, release func()) {
	if o.release != nil {
		o.release()
	}
	o.siteID, o.units, o.release = siteID, units, release
}

// siteNeededError asks for an open transaction to be run again with a site held.
// If it waited with its connection, the holder might not get one.
type siteNeededError struct {
	siteID cms.ID
	units  int64
}

func (*siteNeededError) Error() string { return "the site has to be held first" }

// writeOpen is write for a transaction that others join by its context.
func (s *Service) writeOpen(ctx context.Context, do func(ctx context.Context, tx cms.Tx) error) error {
	open := &openTx{}
	defer func() { open.hold(cms.NoID, 0, nil) }()
	for {
		err := s.write(ctx, func(tx cms.Tx) error {
			open.tx, open.needs = tx, cms.Needs{}
			return do(context.WithValue(ctx, openTxKey{}, open), tx)
		})
		needed, ok := errors.AsType[*siteNeededError](err)
		if !ok {
			return err
		}
		open.hold(cms.NoID, 0, nil)
		release, err := s.sites.acquire(ctx, needed.siteID, needed.units)
		if err != nil {
			return err
		}
		open.hold(needed.siteID, needed.units, release)
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

// locate finds the site of a target, which never changes. It returns NoID where
// the caller may not reach the site or the target names another.
func (s *Service) locate(ctx context.Context, who Caller, t target) (cms.ID, error) {
	kind, id := t.kind, t.ref.ID
	if id == cms.NoID {
		kind, id = cms.KindSite, t.ref.SiteID
	}
	known, ok := s.locations.GetIfPresent(id)
	if !ok {
		var r cms.Reader = s.store
		if open, ok := ctx.Value(openTxKey{}).(*openTx); ok {
			r = open.tx // a second connection may not be free
		}
		known.siteID = id
		if kind != cms.KindSite {
			var err error
			if known.siteID, err = r.SiteOf(ctx, kind, id); err != nil {
				return cms.NoID, err
			}
		}
		site, err := r.Site(ctx, known.siteID)
		if err != nil {
			return cms.NoID, err
		}
		known.workspaceID = site.WorkspaceID
		s.locations.Set(id, known)
	}
	if known.workspaceID != who.WorkspaceID() || !who.mayReach(known.siteID) ||
		(t.ref.SiteID != cms.NoID && t.ref.SiteID != known.siteID) {
		return cms.NoID, nil
	}
	return known.siteID, nil
}

type location struct{ siteID, workspaceID cms.ID }

const maxLocations = 100_000

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
