package service

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"galley/internal/cms"
)

// Reads may go to a replica of the store when it has everything that they are
// about: every change of the site and of the caller that this node knows of.
// Whatever is not so, or fails there, goes to the store itself.

// Replica is a copy of the store that is followed, to know how far it is.
type Replica struct {
	// MaxBehind is how long the replica may lack what was committed before it
	// is not used at all.
	MaxBehind time.Duration

	from cms.Replica
	tell ReplicaEvents

	mu    sync.Mutex // held by who changes what follows
	state ReplicaState
	sight atomic.Pointer[sight] // nil: it is not used
	lost  time.Time             // when it last failed a reader

	last mark // known to the one who follows alone
}

// ReplicaEvents are told what becomes of a replica.
type ReplicaEvents struct {
	// Read is told where a read that may go to the replica was answered.
	Read func(fromReplica bool)
	// State is told when the state changes, and why if that was an error.
	State func(state ReplicaState, why error)
}

// ReplicaState is what a replica is good for.
type ReplicaState string

// States of a replica.
const (
	ReplicaInUse  ReplicaState = "in use"
	ReplicaAway   ReplicaState = "away"
	ReplicaBehind ReplicaState = "too far behind"
	ReplicaNone   ReplicaState = "no replica" // it takes writes of its own
)

// NewReplica makes a replica known. It is used while it is followed.
func NewReplica(from cms.Replica, tell ReplicaEvents) *Replica {
	return &Replica{MaxBehind: maxBehind, from: from, tell: tell}
}

// sight is how far a replica that is in use has been seen.
type sight struct {
	asOf int64 // it has every change up to this one
	// use ends when the replica is given up, and with it every read that
	// still waits for it.
	use    context.Context //nolint:containedctx // it is not a request's: it is the replica's own life
	giveUp context.CancelFunc
}

// source is where reads go: the store or its replica.
type source interface {
	cms.Reader
	View(ctx context.Context, read func(cms.Reader) error) error
}

var (
	errNotUsed = errors.New("the replica is not used")
	errBehind  = errors.New("the replica may lack a change")
)

// read reads what is about one site. The site may be found out by the read
// itself, which must then set it. The read may run a second time, on the store,
// since only a success of the replica counts.
func (s *Service) read(ctx context.Context, who Caller, siteID *cms.ID, read func(context.Context, source) error) error {
	if s.Replica == nil {
		return read(ctx, s.store)
	}
	err := s.readReplica(ctx, who, siteID, read)
	s.Replica.tell.Read(err == nil)
	if err == nil {
		return nil
	}
	return read(ctx, s.store)
}

// readReplica reads from the replica, if that has all that the read is about.
//
// The order makes it right: how far the replica is, is looked up first, then
// comes the read, and then the question whether anything changed since. So the
// replica had every change of the site and of the caller that was known when
// the question was answered. In particular it had those from before any moment
// that was taken before, and a change that is known later is a change after
// that moment: what is kept under the moment is as right as if it came from
// the store.
func (s *Service) readReplica(ctx context.Context, who Caller, siteID *cms.ID, read func(context.Context, source) error) error {
	seen := s.Replica.sight.Load()
	if seen == nil || !s.Listening() {
		return errNotUsed
	}
	has := func(siteID cms.ID) bool {
		return s.changes.unchanged(seen.asOf, append(cms.SubjectsOf(siteID, cms.Draft), who.Subject())...)
	}
	if !has(*siteID) {
		return errBehind // it would be read in vain
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(seen.use, cancel)()
	if err := read(reading, s.Replica.from); err != nil {
		if cms.CodeOf(err) == cms.CodeUnavailable && ctx.Err() == nil {
			s.Replica.lose(seen, err)
		}
		return err
	}
	if *siteID == cms.NoID || !has(*siteID) {
		return errBehind
	}
	return nil
}

// view is read for what takes several looks, all of one moment.
func (s *Service) view(ctx context.Context, who Caller, siteID *cms.ID, read func(context.Context, cms.Reader) error) error {
	return s.read(ctx, who, siteID, func(ctx context.Context, from source) error {
		return from.View(ctx, func(r cms.Reader) error { return read(ctx, r) })
	})
}

// mark is the last one that was made in the store.
type mark struct {
	asOf int64     // every change up to this one was committed before it
	at   time.Time // when it was made
	had  bool      // the replica had it at the last look
	late bool      // and had taken too long: it tells nothing
}

const (
	// lookOften is how often a replica is looked at while there is something
	// new for it, and lookSeldom how often otherwise.
	lookOften  = 20 * time.Millisecond
	lookSeldom = 200 * time.Millisecond
	// lookPatience is how long a look may take before the replica is away.
	lookPatience = time.Second
	// maxBehind is MaxBehind, unless a test sets another.
	maxBehind = 5 * time.Second
	// lossRest is how long a replica that failed a reader is not used: what
	// fails reads may let looks through.
	lossRest = 3 * time.Second
	// renewMark is how long a mark is good for: the store forgets old ones.
	renewMark = time.Hour
)

// FollowReplica keeps an eye on the replica, if there is one, until the context
// ends.
func (s *Service) FollowReplica(ctx context.Context) {
	r := s.Replica
	if r == nil {
		return
	}
	defer r.rest()
	ticker := time.NewTicker(lookOften)
	defer ticker.Stop()
	var looked time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// One that is away is not asked all the time, whatever is new.
		eager := r.sight.Load() != nil && (!r.last.had || s.changes.version() != r.last.asOf)
		if !eager && time.Since(looked) < lookSeldom {
			continue
		}
		looked = time.Now()
		looking, cancel := context.WithTimeout(ctx, lookPatience)
		r.look(looking, &s.changes)
		cancel()
	}
}

// look makes a new mark if the replica has had the last one, and finds out
// whether it has it now.
func (r *Replica) look(ctx context.Context, c *changes) {
	now := time.Now()
	asOf := c.version() // what is committed by now is committed before the mark
	stale := r.last.late || now.Sub(r.last.at) > renewMark
	if stale || (r.last.had && asOf != r.last.asOf) {
		if r.from.Mark(ctx) != nil {
			r.last.late = true // that is the store's trouble: the next one tells
			return
		}
		r.last = mark{asOf: asOf, at: now}
	}
	has, err := r.from.Marked(ctx)
	had, behind := r.last.had, time.Since(r.last.at) > r.MaxBehind
	r.last.had = has
	switch {
	case errors.Is(err, cms.ErrNoReplica):
		r.leave(ReplicaNone, err)
	case err != nil:
		r.leave(ReplicaAway, err)
	case !has && (had || behind):
		r.leave(ReplicaBehind, nil) // had: it began anew, further back
	case has && !had && behind:
		r.last.late = true // the next one tells
	case has:
		r.see(r.last.asOf)
	}
}

// see notes how far the replica is.
func (r *Replica) see(asOf int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.lost) < lossRest {
		return
	}
	next := sight{asOf: asOf}
	if now := r.sight.Load(); now != nil {
		next.use, next.giveUp = now.use, now.giveUp
	} else {
		next.use, next.giveUp = context.WithCancel(context.Background())
	}
	r.sight.Store(&next)
	r.enter(ReplicaInUse, nil)
}

// leave stops using the replica.
func (r *Replica) leave(state ReplicaState, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
	r.enter(state, why)
}

// rest stops using the replica without a word: nobody follows it any more.
func (r *Replica) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
}

// lose stops using a replica that failed a reader, unless somebody else has
// done so since.
func (r *Replica) lose(seen *sight, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seen.use.Err() != nil {
		return
	}
	r.drop()
	r.lost = time.Now()
	r.enter(ReplicaAway, why)
}

// drop ends every read that still waits for the replica. The caller holds the
// lock.
func (r *Replica) drop() {
	if now := r.sight.Swap(nil); now != nil {
		now.giveUp()
	}
}

// enter tells a new state, once.
func (r *Replica) enter(state ReplicaState, why error) {
	if state != r.state {
		r.state = state
		r.tell.State(state, why)
	}
}
