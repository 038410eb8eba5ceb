package service

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"galley/internal/cms"
)

// changes knows when what answers follow from last changed, so that what is
// kept in memory is used only while it is right. Changes are numbered; what was
// read at a moment is right as long as what it was read from has not changed
// since.
type changes struct {
	mu      sync.RWMutex
	count   int64
	at      [changeSlots]int64 // the last change of any subject that has the slot
	writing map[cms.Subject]*writing
	secret  atomic.Int64 // of what is written, that of which nobody was told
	all     int64        // the last change of which nobody knows what it was about
	heard   bool         // others' changes are heard of
}

// changeSlots bounds what is remembered. Subjects that share a slot change
// together as far as anybody can know: something right is forgotten at times,
// and nothing wrong is kept.
const changeSlots = 1 << 16

// slot is where a subject's changes are noted: by the random end of its id.
func slot(s cms.Subject) uint16 {
	n := binary.BigEndian.Uint16(s.ID[len(s.ID)-2:])
	if s.Drafts {
		n = ^n
	}
	return n
}

// writing are the transactions that are about to change a subject: until they
// end, the store may show it before or after.
type writing struct {
	count int
	told  bool // somebody may have been told how it is after
}

// Moment names the present. It is to be taken before anything is read.
func (c *changes) moment() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.count
}

// unchanged tells whether none of these has changed since a moment, as far as
// anybody can know.
func (c *changes) unchanged(since int64, about ...cms.Subject) bool {
	return c.stands(since, about, false)
}

// asTold tells whether what was read about these at a moment may be told. While
// a commit takes its time, that is what was before it, unless somebody may have
// been told what comes after: nobody goes back in time.
func (c *changes) asTold(since int64, about ...cms.Subject) bool {
	return c.stands(since, about, true)
}

func (c *changes) stands(since int64, about []cms.Subject, untilTold bool) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.heard || c.all > since {
		return false
	}
	for _, what := range about {
		if c.at[slot(what)] > since {
			return false
		}
		if w := c.writing[what]; w != nil && (w.told || !untilTold) {
			return false
		}
	}
	return true
}

// begin says that a transaction is about to change these.
func (c *changes) begin(changed []cms.Subject) {
	if len(changed) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing == nil {
		c.writing = map[cms.Subject]*writing{}
	}
	for _, what := range changed {
		if c.writing[what] == nil {
			c.writing[what] = &writing{}
			c.secret.Add(1)
		}
		c.writing[what].count++
	}
}

// tell says that somebody is about to be told what the store had: it may be
// what any transaction under way has just committed.
func (c *changes) tell() {
	if c.secret.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.writing {
		w.told = true
	}
	c.secret.Store(0)
}

// end says that a transaction has ended, whichever way.
func (c *changes) end(changed []cms.Subject) {
	if len(changed) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, what := range changed {
		w := c.writing[what]
		if w.count--; w.count > 0 {
			continue
		}
		delete(c.writing, what)
		if !w.told {
			c.secret.Add(-1)
		}
	}
	c.note(changed)
}

func (c *changes) note(changed []cms.Subject) {
	c.count++
	for _, what := range changed {
		c.at[slot(what)] = c.count
	}
}

// Changed is told by the store what others changed; nothing named is
// everything.
func (c *changes) Changed(what ...cms.Subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(what)
	if len(what) == 0 {
		c.all = c.count
	}
}

// Deaf is told by the store whether others' changes are not heard of now.
func (c *changes) Deaf(deaf bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = !deaf
	c.note(nil)
	c.all = c.count
}

// Hears tells whether others' changes are heard of: otherwise nothing is answered
// from memory.
func (s *Service) Hears() bool {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	return s.changes.heard
}

// Watch listens for what others change in the store, until the context ends.
func (s *Service) Watch(ctx context.Context) { s.store.Watch(ctx, &s.changes) }

// Moment names the present, for Unchanged and AsTold. It is to be taken before
// anything is read.
func (s *Service) Moment() int64 { return s.changes.moment() }

// Unchanged tells whether nothing of this has changed since a moment: what was
// read after it may be kept.
func (s *Service) Unchanged(since int64, about ...cms.Subject) bool {
	return s.changes.unchanged(since, about...)
}

// AsTold tells whether what was kept about this at a moment may be told.
func (s *Service) AsTold(since int64, about ...cms.Subject) bool {
	return s.changes.asTold(since, about...)
}

// Tell is to be called before anybody is told anything that may come from the
// store: from then on, what a commit under way may have changed is not told
// from memory any more.
func (s *Service) Tell() { s.changes.tell() }

// watchedTx notices what a transaction changes: every write is audited.
type watchedTx struct {
	cms.Tx
	changed []cms.Subject
	unknown cms.ID // a site whose form had to be read
}

// maxNoticed is how much of what a transaction changes is told one by one: the
// rest goes by the whole site.
const maxNoticed = 32

func (w *watchedTx) Record(ctx context.Context, entries ...cms.AuditEntry) error {
	for _, e := range entries {
		switch {
		case e.Kind == cms.KindApp:
			w.notice(cms.Subject{ID: e.ResourceID})
		case e.Kind == cms.KindPage && len(w.changed) < maxNoticed:
			// Its draft: what is live is changed by publishes.
			w.notice(cms.Subject{ID: e.SiteID, Drafts: true})
			w.notice(cms.Subject{ID: e.ResourceID})
		case e.SiteID != cms.NoID:
			w.notice(cms.Subject{ID: e.SiteID})
		}
	}
	return w.Tx.Record(ctx, entries...)
}

func (w *watchedTx) PurgeHistory(ctx context.Context, siteID cms.ID, seq int64) error {
	w.notice(cms.Subject{ID: siteID})
	return w.Tx.PurgeHistory(ctx, siteID, seq)
}

func (w *watchedTx) notice(what cms.Subject) {
	if !slices.Contains(w.changed, what) {
		w.changed = append(w.changed, what)
	}
}

// write runs a callback in a transaction and tells this node and the others
// what it changed.
func (s *Service) write(ctx context.Context, do func(cms.Tx) error) error {
	var changed []cms.Subject
	var watched *watchedTx
	err := s.store.InTx(ctx, func(tx cms.Tx) error {
		s.changes.end(changed) // of a try before
		changed = nil
		watched = &watchedTx{Tx: tx}
		if err := do(watched); err != nil {
			return err
		}
		if len(watched.changed) == 0 {
			return nil
		}
		changed = watched.changed
		s.changes.begin(changed)
		return tx.Announce(ctx, changed)
	})
	s.changes.end(changed)
	if err == nil && watched.unknown != cms.NoID && s.changes.unchanged(s.changes.moment()) {
		s.learnForm(ctx, s.store, watched.unknown)
	}
	return err
}
