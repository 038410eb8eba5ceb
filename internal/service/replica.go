package service

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"galley/internal/cms"
)

// Replica is a copy of the store that serves reads while it has every change of
// the site and of the caller that this node knows of. All other reads, and those
// that fail there, go to the store.
type Replica struct {
	// MaxBehind is how long the replica may lack a commit before it is not used
	// at all.
	MaxBehind time.Duration

	from   cms.Replica
	events ReplicaEvents

	mu       sync.Mutex // guards state, failedAt and changes of progress
	state    ReplicaState
	failedAt time.Time                // when it last failed a read
	progress atomic.Pointer[progress] // nil: it is not used

	last mark // used by FollowReplica alone
}

// ReplicaEvents are called with what happens to a replica.
type ReplicaEvents struct {
	// Read is called after each read, with whether the replica served it.
	Read func(fromReplica bool)
	// State is called when the state changes, with the error that caused it.
	State func(state ReplicaState, why error)
}

// ReplicaState is whether a replica is used.
type ReplicaState string

// States of a replica.
const (
	ReplicaInUse  ReplicaState = "in use"
	ReplicaAway   ReplicaState = "away"
	ReplicaBehind ReplicaState = "too far behind"
	ReplicaNone   ReplicaState = "no replica" // it takes writes of its own
)

// NewReplica returns a replica. It is used while FollowReplica runs.
func NewReplica(from cms.Replica, events ReplicaEvents) *Replica {
	return &Replica{MaxBehind: maxBehind, from: from, events: events}
}

// progress is how far a replica in use is known to be.
type progress struct {
	asOf int64 // it has every change up to this version
	// inUse ends, with every read that waits for the replica, when that is no
	// longer used.
	inUse  context.Context //nolint:containedctx // it belongs to the replica, not to a request
	cancel context.CancelFunc
}

// readReplica reads from the replica, and reports whether the result counts.
//
// The order is essential: it loads the progress of the replica, then reads, and
// then checks that nothing has changed since that progress. So the replica had
// every change that was known by then, and the result may be cached under any
// version that was taken before, like one from the store.
func (s *Service) readReplica(ctx context.Context, who Caller, siteID *cms.ID, read func(context.Context, cms.Source) error) (ok bool) {
	defer func() { s.Replica.events.Read(ok) }()
	at := s.Replica.progress.Load()
	if at == nil || !s.Listening() {
		return false
	}
	current := func(siteID cms.ID) bool {
		return s.changes.unchanged(at.asOf, append(cms.SubjectsOf(siteID, cms.Draft), who.Subjects()...)...)
	}
	if !current(*siteID) {
		return false
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(at.inUse, cancel)()
	if err := read(reading, s.Replica.from); err != nil {
		if cms.CodeOf(err) == cms.CodeUnavailable && ctx.Err() == nil {
			s.Replica.fail(at, err)
		}
		return false
	}
	return *siteID != cms.NoID && current(*siteID)
}

// mark is the last one that was committed in the store.
type mark struct {
	asOf int64     // every change up to this version was committed before it
	at   time.Time // when it was committed
	had  bool      // the replica had it at the last check
	late bool      // the replica took too long to have it: a new one is needed
}

const (
	// checkOften is how often a replica is checked while it may lack a change,
	// and checkSeldom how often otherwise.
	checkOften  = 20 * time.Millisecond
	checkSeldom = 200 * time.Millisecond
	// checkTimeout is how long a check may take before the replica is away.
	checkTimeout = time.Second
	// maxBehind is MaxBehind, unless a test sets another.
	maxBehind = 5 * time.Second
	// failurePause is how long a replica that failed a read is not used: its
	// checks may succeed while reads fail.
	failurePause = 3 * time.Second
	// renewMark is how old a mark may be: the store drops old ones.
	renewMark = time.Hour
)

// FollowReplica checks the replica, if there is one, until the context ends.
func (s *Service) FollowReplica(ctx context.Context) {
	r := s.Replica
	if r == nil {
		return
	}
	defer r.stop("", nil)
	ticker := time.NewTicker(checkOften)
	defer ticker.Stop()
	var checked time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		lacking := r.progress.Load() != nil && (!r.last.had || s.changes.version() != r.last.asOf)
		if !lacking && time.Since(checked) < checkSeldom {
			continue
		}
		checked = time.Now()
		checking, cancel := context.WithTimeout(ctx, checkTimeout)
		r.check(checking, &s.changes)
		cancel()
	}
}

// check commits a new mark if the replica has the last one, and finds out whether
// the replica has it.
func (r *Replica) check(ctx context.Context, c *changes) {
	now := time.Now()
	asOf := c.version() // taken before the mark is committed
	stale := r.last.late || now.Sub(r.last.at) > renewMark
	if stale || (r.last.had && asOf != r.last.asOf) {
		if r.from.Mark(ctx) != nil {
			r.last.late = true // the store failed, which says nothing about the replica
			return
		}
		r.last = mark{asOf: asOf, at: now}
	}
	has, err := r.from.Marked(ctx)
	had, behind := r.last.had, time.Since(r.last.at) > r.MaxBehind
	r.last.had = has
	switch {
	case errors.Is(err, cms.ErrNoReplica):
		r.stop(ReplicaNone, err)
	case err != nil:
		r.stop(ReplicaAway, err)
	case !has && (had || behind):
		r.stop(ReplicaBehind, nil) // had: it restarted from an earlier state
	case has && !had && behind:
		r.last.late = true
	case has:
		r.advance(r.last.asOf)
	}
}

// advance notes that the replica has every change up to a version.
func (r *Replica) advance(asOf int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.failedAt) < failurePause {
		return
	}
	next := progress{asOf: asOf}
	if now := r.progress.Load(); now != nil {
		next.inUse, next.cancel = now.inUse, now.cancel
	} else {
		next.inUse, next.cancel = context.WithCancel(context.Background())
	}
	r.progress.Store(&next)
	r.setState(ReplicaInUse, nil)
}

// fail stops using a replica that failed a read, unless that was done since.
func (r *Replica) fail(at *progress, why error) {
	r.mu.Lock()
	if at.inUse.Err() != nil {
		r.mu.Unlock()
		return
	}
	r.failedAt = time.Now()
	r.mu.Unlock()
	r.stop(ReplicaAway, why)
}

// stop stops using the replica, and ends the reads that wait for it. "" leaves the
// state as it is.
func (r *Replica) stop(state ReplicaState, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.progress.Swap(nil); now != nil {
		now.cancel()
	}
	if state != "" {
		r.setState(state, why)
	}
}

// setState reports a new state. The caller holds the lock.
func (r *Replica) setState(state ReplicaState, why error) {
	if state != r.state {
		r.state = state
		r.events.State(state, why)
	}
}
