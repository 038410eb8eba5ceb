package main

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// fleet is all the writers of a run and what is known of their work.
type fleet struct {
	writers          []*writer
	trail            *trail
	done             atomic.Int64 // writes that were acknowledged in whileWriting
	active           atomic.Int64 // writers that are in whileWriting
	missing, surplus int          // audit entries
	wrong            int          // pages that differ in the lists
}

func newFleet(t *trial, addr string, writers, sites int) *fleet {
	f := &fleet{trail: &trail{client: newClient(addr, t.key), seen: map[string]bool{}}}
	for i := range sites {
		f.trail.sites = append(f.trail.sites, f.trail.client.newSite(fmt.Sprintf("Site %d", i)))
	}
	for i := range writers {
		w := newWriter(t, i, f.trail.sites[i%sites])
		w.client.addr = addr
		f.writers = append(f.writers, w)
	}
	f.trail.fresh() // the entries so far are no writer's
	return f
}

func (f *fleet) sum(count func(*writer) int) (n int) {
	for _, w := range f.writers {
		n += count(w)
	}
	return n
}

func (f *fleet) acknowledged() int { return f.sum(func(w *writer) int { return w.acknowledged }) }
func (f *fleet) lost() int         { return f.sum(func(w *writer) int { return w.lost }) }

// errSitOut ends a writer's work until the next whileWriting.
var errSitOut = errors.New("sits out")

// whileWriting lets all writers write while do runs. An error of a writer is
// passed to handle: if that returns nil, the writer continues.
func (f *fleet) whileWriting(t *trial, handle func(*writer, error) error, do func()) {
	var over atomic.Bool
	f.done.Store(0)
	f.active.Store(int64(len(f.writers)))
	write := func(w *writer) {
		defer f.active.Add(-1)
		for !over.Load() && t.ctx.Err() == nil {
			err := w.step()
			if err == nil {
				f.done.Add(1)
			} else if err = handle(w, err); errors.Is(err, errSitOut) {
				return
			}
			check(err)
		}
	}
	parallel(1+len(f.writers), func(i int) {
		if i > 0 {
			write(f.writers[i-1])
			return
		}
		defer over.Store(true)
		do()
	})
	check(t.ctx.Err())
}

// fails is for whileWriting: no write may fail.
func fails(_ *writer, err error) error { return err }

// waitForWrites waits, in whileWriting, until a number of writes was
// acknowledged, or no writer is left.
func (f *fleet) waitForWrites(t *trial, quota int) {
	t.poll("waiting for writes", nil, time.Millisecond, func() bool { return f.done.Load() >= int64(quota) || f.active.Load() == 0 })
}

// spread gives each writer one of the servers.
func (f *fleet) spread(servers []*server) {
	for i, w := range f.writers {
		w.use(servers[i%len(servers)].addr)
	}
}

// inspect finds out which of the interrupted requests were done, and reads back
// what was written since the last time and its audit entries.
func (f *fleet) inspect(t *trial, addr string) {
	parallel(len(f.writers), func(i int) {
		f.writers[i].use(addr)
		check(f.writers[i].settle(t))
		f.writers[i].verify(t)
	})
	f.trail.client.close()
	f.trail.client.addr = addr
	missing, surplus := f.trail.check(t, f.writers)
	f.missing, f.surplus = f.missing+missing, f.surplus+surplus
}

// inspectAll compares every page of every site with the ledger: a page that no
// writer made is as wrong as one that is missing.
func (f *fleet) inspectAll(t *trial) {
	for _, site := range f.trail.sites {
		got := pagesOf(f.trail.client, site)
		for _, w := range f.writers {
			for _, p := range w.pages {
				if w.site == site && got[p.pathname] != p.is {
					f.wrong++
					t.problem("%s must be %+v and is %+v", p.pathname, p.is, got[p.pathname])
				}
				delete(got, p.pathname)
			}
		}
		for pathname := range got {
			f.wrong++
			t.problem("no writer made %s", pathname)
		}
	}
}

// figures reports what was found, and fails the run if something is lost.
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
