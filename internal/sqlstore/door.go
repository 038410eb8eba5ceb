package sqlstore

import (
	"context"
	"errors"
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

// maxAtDoor is how many may wait for one site: who waits has a worker of the
// server, and others need some.
const maxAtDoor = 64

var errCrowded = errors.New("too many wait for this site")

// doors are those at which somebody waits.
type doors struct {
	mu    sync.Mutex
	sites map[cms.ID]*door
}

type door struct {
	first   chan struct{} // held by who is to lock the site next
	waiting int           // with the first
	alone   int           // how many of them want the site to themselves
}

// enter waits until the caller is the first at a site's door. It must leave then,
// which lets the next one come.
func (d *doors) enter(ctx context.Context, site cms.ID, lock cms.Lock) (leave func(), err error) {
	d.mu.Lock()
	at := d.sites[site]
	if at == nil {
		at = &door{first: make(chan struct{}, 1)}
		d.sites[site] = at
	}
	if at.waiting >= maxAtDoor {
		d.mu.Unlock()
		return nil, cms.Unavailable(errCrowded)
	}
	at.count(lock, 1)
	d.mu.Unlock()
	select {
	case at.first <- struct{}{}:
		return sync.OnceFunc(func() {
			<-at.first
			d.depart(site, at, lock)
		}), nil
	case <-ctx.Done():
		d.depart(site, at, lock)
		return nil, cms.Unavailable(ctx.Err())
	}
}

func (d *doors) depart(site cms.ID, at *door, lock cms.Lock) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.count(lock, -1); at.waiting == 0 {
		delete(d.sites, site)
	}
}

func (at *door) count(lock cms.Lock, n int) {
	at.waiting += n
	if lock == cms.LockExclusive {
		at.alone += n
	}
}

// taken tells whether somebody is at the door who does not go well with a lock.
func (d *doors) taken(site cms.ID, lock cms.Lock) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.sites[site]
	return at != nil && (lock == cms.LockExclusive || at.alone > 0)
}

// visit is a transaction's way to the sites that it locks. Nil is that of an
// engine without doors.
type visit struct {
	doors  *doors
	waited bool   // at a door
	leave  func() // that door
	site   cms.ID // that it has locked
}

func (s *Store) newVisit() *visit {
	if s.doors == nil {
		return nil
	}
	return &visit{doors: s.doors, leave: func() {}}
}

// waitFor waits for the turn of a transaction that found a site locked.
func (s *Store) waitFor(ctx context.Context, wait *waitError) (*visit, error) {
	site := wait.site
	if site == cms.NoID {
		var err error
		if site, err = s.SiteOf(ctx, wait.kind, wait.id); err != nil {
			return nil, err // it was there a moment ago
		}
	}
	leave, err := s.doors.enter(ctx, site, wait.lock)
	return &visit{doors: s.doors, waited: true, leave: leave}, err
}

// end leaves the door, in case that the site was not locked.
func (v *visit) end() {
	if v != nil {
		v.leave()
	}
}

// mayWait tells whether the transaction may wait for locks. Nothing locks several
// sites; what would could not wait at two doors.
func (v *visit) mayWait() bool { return v == nil || v.waited }

// locked notes that the transaction has locked a site, or has it make way for
// those at the door.
func (v *visit) locked(site cms.ID, lock cms.Lock) error {
	switch {
	case v == nil || v.site == site:
	case v.waited:
		v.leave()
	case v.doors.taken(site, lock):
		return &waitError{site: site, lock: lock}
	default:
		v.site = site
	}
	return nil
}

// waitError asks for the transaction to be run again, once it is its turn to lock
// a site: the one named, or that of a resource.
type waitError struct {
	lock cms.Lock
	site cms.ID
	kind cms.Kind
	id   cms.ID
}

func (*waitError) Error() string { return "the site is locked" }
