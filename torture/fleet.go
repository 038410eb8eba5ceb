package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// fleet is all the writers of a run and what is known of their work.
type fleet struct {
	writers          []*writer
	trail            *trail
	missing, surplus int // audit entries
	wrong            int // pages that the lists tell otherwise
}

func newFleet(t *trial, addr string, writers, sites int) (*fleet, error) {
	f := &fleet{trail: &trail{client: newClient(addr, t.key), seen: map[string]bool{}}}
	for i := range sites {
		site, err := f.trail.client.newSite(fmt.Sprintf("Site %d", i))
		if err != nil {
			return nil, err
		}
		f.trail.sites = append(f.trail.sites, site)
	}
	for i := range writers {
		w := newWriter(t, i, f.trail.sites[i%sites])
		w.client.addr = addr
		f.writers = append(f.writers, w)
	}
	_, err := f.trail.fresh() // what was made so far is no writer's
	return f, err
}

func (f *fleet) sum(count func(*writer) int) (n int) {
	for _, w := range f.writers {
		n += count(w)
	}
	return n
}

func (f *fleet) acknowledged() int { return f.sum(func(w *writer) int { return w.acknowledged }) }

func (f *fleet) lost() int { return f.sum(func(w *writer) int { return w.lost }) }

// writeUntilKilled lets all writers write, and kills the server under them some
// moments after a number of writes was acknowledged.
func (f *fleet) writeUntilKilled(t *trial, s *server, quota int) error {
	var acknowledged atomic.Int64
	enough := make(chan struct{})
	over := make(chan struct{})
	errs := make([]error, len(f.writers))
	var writing sync.WaitGroup
	for i, w := range f.writers {
		writing.Go(func() {
			for {
				if err := w.step(); err != nil {
					errs[i] = err
					return
				}
				if acknowledged.Add(1) == int64(quota) {
					close(enough)
				}
			}
		})
	}
	go func() { writing.Wait(); close(over) }()
	select {
	case <-enough:
		time.Sleep(time.Duration(t.rng.IntN(20_000)) * time.Microsecond)
	case <-over: // by something else than the kill
	case <-t.ctx.Done():
	}
	s.kill()
	<-over
	for _, err := range errs {
		if errors.Is(err, errUnexpected) || errors.Is(err, errUnavailable) {
			return err
		}
	}
	return t.ctx.Err()
}

// errSitOut ends a writer's work until the next time.
var errSitOut = errors.New("sits out")

// whileWriting lets all writers write while something is done. What a writer
// meets is given to meet: if that has settled it, the writer goes on.
func (f *fleet) whileWriting(t *trial, meet func(*writer, error) error, do func() error) error {
	var over atomic.Bool
	errs := make([]error, len(f.writers)+1)
	var writing sync.WaitGroup
	for i, w := range f.writers {
		writing.Go(func() {
			for !over.Load() && t.ctx.Err() == nil && errs[i] == nil {
				if err := w.step(); err != nil {
					errs[i] = meet(w, err)
				}
			}
			if errors.Is(errs[i], errSitOut) {
				errs[i] = nil
			}
		})
	}
	errs[len(f.writers)] = do()
	over.Store(true)
	writing.Wait()
	return errors.Join(append(errs, t.ctx.Err())...)
}

// spread gives each writer one of the servers.
func (f *fleet) spread(servers []*server) {
	for i, w := range f.writers {
		w.use(servers[i%len(servers)].addr)
	}
}

// inspect finds out what became of the requests that were cut off, reads back
// what was written since the last time, and its audit entries.
func (f *fleet) inspect(t *trial, addr string) error {
	errs := make([]error, len(f.writers))
	var reading sync.WaitGroup
	for i, w := range f.writers {
		reading.Go(func() {
			w.use(addr)
			if errs[i] = w.settle(t); errs[i] == nil {
				errs[i] = w.verify(t)
			}
		})
	}
	reading.Wait()
	f.trail.client.close()
	f.trail.client.addr = addr
	missing, surplus, err := f.trail.check(t, f.writers)
	f.missing, f.surplus = f.missing+missing, f.surplus+surplus
	return errors.Join(append(errs, err)...)
}

// inspectAll holds every page of every site against the ledger.
func (f *fleet) inspectAll(t *trial) error {
	for _, site := range f.trail.sites {
		wrong, err := compareLists(t, f.trail.client, site, f.writers)
		f.wrong += wrong
		if err != nil {
			return err
		}
	}
	return nil
}

// figures tells what was found, and that it must be nothing bad.
func (f *fleet) figures(t *trial, least int) {
	acknowledged, lost := f.acknowledged(), f.lost()+f.wrong
	half := f.sum(func(w *writer) int { return w.half })
	t.got("acknowledged", acknowledged)
	t.got("cutOff", f.sum(func(w *writer) int { return w.cut }))
	t.got("retriedByKey", f.sum(func(w *writer) int { return w.retried }))
	t.got("answered503", f.sum(func(w *writer) int { return w.unavailable }))
	t.got("lost", lost)
	t.got("halfDone", half)
	t.got("auditEntries", f.trail.rows)
	t.got("auditMissing", f.missing)
	t.got("auditSurplus", f.surplus)
	t.want(acknowledged >= least, "only %d writes were acknowledged", acknowledged)
	t.want(lost+half+f.missing+f.surplus == 0, "%d lost, %d half done, %d audit entries missing, %d too many", lost, half, f.missing, f.surplus)
}
