package sqlstore

import (
	"context"
	"errors"
	"math"
	"sync"

	"galley/internal/cms"
)

// On PostgreSQL, who waits for a locked site would do so with a connection, and
// there are few: the writers of one site could keep everybody else out for as
// long as its publish takes. And a lock that is shared is given to whoever asks,
// past those who want the site to themselves: while there are enough writers,
// these would wait for ever. So nobody waits with a connection but the first: all
// others wait at the site's door, in the order in which they came. Who finds the
// site free makes way for those at the door, unless they would share it.
//
// Writers who share a site may still want the same page, or route. It has a door,
// too: who finds it locked waits there in the same way.

// maxAtDoor is how many may wait for one site: who waits has a worker of the
// server, and others need some. Those at the door of a page wait for small writes,
// and are as many as they are, until they come to the site's.
const maxAtDoor = 64

var errCrowded = errors.New("too many wait for this site")

// doors are those at which somebody waits, by the id of what is behind them.
type doors struct {
	mu sync.Mutex
	of map[cms.ID]*door
}

type door struct {
	first   chan struct{} // held by who is to lock next
	waiting int           // with the first
	alone   int           // how many of them do not share
}

// enter waits until the caller is the first at a door at which so many may wait.
// It must leave then, which lets the next one come.
func (d *doors) enter(ctx context.Context, id cms.ID, lock cms.Lock, most int) (leave func(), err error) {
	d.mu.Lock()
	at := d.of[id]
	if at == nil {
		at = &door{first: make(chan struct{}, 1)}
		d.of[id] = at
	}
	if at.waiting >= most {
		d.mu.Unlock()
		return nil, cms.Unavailable(errCrowded)
	}
	at.count(lock, 1)
	d.mu.Unlock()
	select {
	case at.first <- struct{}{}:
		return sync.OnceFunc(func() {
			<-at.first
			d.depart(id, at, lock)
		}), nil
	case <-ctx.Done():
		d.depart(id, at, lock)
		return nil, cms.Unavailable(ctx.Err())
	}
}

func (d *doors) depart(id cms.ID, at *door, lock cms.Lock) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.count(lock, -1); at.waiting == 0 {
		delete(d.of, id)
	}
}

func (at *door) count(lock cms.Lock, n int) {
	at.waiting += n
	if lock == cms.LockExclusive {
		at.alone += n
	}
}

// taken tells whether somebody is at the door who does not go well with a lock.
func (d *doors) taken(id cms.ID, lock cms.Lock) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.of[id]
	return at != nil && (lock == cms.LockExclusive || at.alone > 0)
}

// visit is a transaction's way to what it locks. Nil is that of an engine without
// doors.
type visit struct {
	doors  *doors
	atSite bool   // it waited at a site's door
	atRow  cms.ID // or at that of this page or route
	leave  func() // that door
	site   cms.ID // that it has locked
}

func (s *Store) newVisit() *visit {
	if s.doors == nil {
		return nil
	}
	return &visit{doors: s.doors, leave: func() {}}
}

// waitFor waits for the turn of a transaction that found something locked.
func (s *Store) waitFor(ctx context.Context, wait *waitError) (*visit, error) {
	if wait.row != cms.NoID {
		leave, err := s.doors.enter(ctx, wait.row, cms.LockExclusive, math.MaxInt)
		return &visit{doors: s.doors, atRow: wait.row, leave: leave}, err
	}
	site := wait.site
	if site == cms.NoID {
		var err error
		if site, err = s.SiteOf(ctx, wait.kind, wait.id); err != nil {
			return nil, err // it was there a moment ago
		}
	}
	leave, err := s.doors.enter(ctx, site, wait.lock, maxAtDoor)
	return &visit{doors: s.doors, atSite: true, leave: leave}, err
}

// end leaves the door, in case that nothing was locked.
func (v *visit) end() {
	if v != nil {
		v.leave()
	}
}

// mayWait tells whether the transaction may wait for a site in the database.
// Nothing locks several sites; what would could not wait at two doors.
func (v *visit) mayWait() bool { return v == nil || v.atSite }

// mayWaitFor tells the same for a page or route.
func (v *visit) mayWaitFor(row cms.ID) bool { return v == nil || v.atRow == row }

// locked notes that the transaction has locked a site, or has it make way for
// those at the door.
func (v *visit) locked(site cms.ID, lock cms.Lock) error {
	switch {
	case v == nil || v.site == site:
	case v.atSite:
		v.leave()
	case v.doors.taken(site, lock):
		return &waitError{site: site, lock: lock}
	default:
		v.site = site
	}
	return nil
}

// waitError asks for the transaction to be run again, once it is its turn to lock
// a site, the one named or that of a resource, or else a page or route.
type waitError struct {
	lock cms.Lock
	site cms.ID
	kind cms.Kind
	id   cms.ID
	row  cms.ID
}

func (*waitError) Error() string { return "something is locked" }

// lockRow locks a page or route by a select, and waits for it in the database
// only if it is this transaction's turn. Then it is read: both are sent at once,
// so what is wrong with the lock shows with that.
func lockRow[T any](ctx context.Context, q queries, id cms.ID, read func() (T, error), query string, args ...any) (T, error) {
	if q.dialect.lockUpdate == "" {
		return read()
	}
	query += q.dialect.lockUpdate
	if !q.visit.mayWaitFor(id) {
		query += " nowait"
	}
	var found T
	err := q.run(ctx, query, args...)
	if err == nil {
		found, err = read()
	}
	again, ok := errors.AsType[*retryError](err)
	switch {
	case ok && again.locked && !q.visit.mayWaitFor(id):
		return found, &waitError{row: id}
	case err == nil && q.visit != nil && q.visit.atRow == id:
		q.visit.leave()
	}
	return found, err
}
