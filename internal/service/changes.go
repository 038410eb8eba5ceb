package service

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"galley/internal/cms"
)

// changes knows when sites and apps last changed, so that what is kept in
// memory is used only while it is right. Changes are numbered; what was read
// at a moment is right as long as what it was read from has not changed since.
type changes struct {
	mu      sync.RWMutex
	count   int64
	at      map[cms.ID]int64 // the last change of a site or app
	writing map[cms.ID]*writing
	secret  atomic.Int64 // of what is written, that of which nobody was told
	all     int64        // the last change of which nobody knows what it was about
	heard   bool         // others' changes are heard of
}

// writing are the transactions that are about to change a site or app: until
// they end, the store may show it before or after.
type writing struct {
	count int
	told  bool // somebody may have been told how it is after
}

// maxChanges bounds what is remembered; older changes become one of
// everything.
const maxChanges = 100_000

// Moment names the present. It is to be taken before anything is read.
func (c *changes) moment() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.count
}

// unchanged tells whether none of these sites and apps has changed since a
// moment, as far as anybody can know.
func (c *changes) unchanged(since int64, ids ...cms.ID) bool {
	return c.stands(since, ids, false)
}

// asTold tells whether what was read about these sites and apps at a moment may
// be told. While a commit takes its time, that is what was before it, unless
// somebody may have been told what comes after: nobody goes back in time.
func (c *changes) asTold(since int64, ids ...cms.ID) bool {
	return c.stands(since, ids, true)
}

func (c *changes) stands(since int64, ids []cms.ID, untilTold bool) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.heard || c.all > since {
		return false
	}
	for _, id := range ids {
		if c.at[id] > since {
			return false
		}
		if w := c.writing[id]; w != nil && (w.told || !untilTold) {
			return false
		}
	}
	return true
}

// begin says that a transaction is about to change these.
func (c *changes) begin(ids []cms.ID) {
	if len(ids) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing == nil {
		c.writing = map[cms.ID]*writing{}
	}
	for _, id := range ids {
		if c.writing[id] == nil {
			c.writing[id] = &writing{}
			c.secret.Add(1)
		}
		c.writing[id].count++
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
func (c *changes) end(ids []cms.ID) {
	if len(ids) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		w := c.writing[id]
		if w.count--; w.count > 0 {
			continue
		}
		delete(c.writing, id)
		if !w.told {
			c.secret.Add(-1)
		}
	}
	c.note(ids)
}

func (c *changes) note(ids []cms.ID) {
	c.count++
	if c.at == nil || len(c.at) > maxChanges {
		c.at = map[cms.ID]int64{}
		c.all = c.count
	}
	for _, id := range ids {
		c.at[id] = c.count
	}
}

// Changed is told by the store what others changed; nothing named is
// everything.
func (c *changes) Changed(ids ...cms.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(ids)
	if len(ids) == 0 {
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

// Watch listens for what others change in the store, until the context ends.
func (s *Service) Watch(ctx context.Context) { s.store.Watch(ctx, &s.changes) }

// Moment names the present, for Unchanged and AsTold. It is to be taken before
// anything is read.
func (s *Service) Moment() int64 { return s.changes.moment() }

// Unchanged tells whether nothing of a site, and nothing about a caller, has
// changed since a moment: what was read after it may be kept.
func (s *Service) Unchanged(since int64, siteID cms.ID, who Caller) bool {
	return s.changes.unchanged(since, siteID, who.ID())
}

// AsTold tells whether what was kept of a site for a caller at a moment may be
// told.
func (s *Service) AsTold(since int64, siteID cms.ID, who Caller) bool {
	return s.changes.asTold(since, siteID, who.ID())
}

// Tell is to be called before anybody is told anything that may come from the
// store: from then on, what a commit under way may have changed is not told
// from memory any more.
func (s *Service) Tell() { s.changes.tell() }

// watchedTx notices what a transaction changes: every write is audited.
type watchedTx struct {
	cms.Tx
	changed []cms.ID
	unknown cms.ID // a site whose form had to be read
}

func (w *watchedTx) Record(ctx context.Context, entries ...cms.AuditEntry) error {
	for _, e := range entries {
		if e.SiteID != cms.NoID {
			w.notice(e.SiteID)
		}
		if e.Kind == cms.KindApp {
			w.notice(e.ResourceID)
		}
	}
	return w.Tx.Record(ctx, entries...)
}

func (w *watchedTx) PurgeHistory(ctx context.Context, siteID cms.ID, seq int64) error {
	w.notice(siteID)
	return w.Tx.PurgeHistory(ctx, siteID, seq)
}

func (w *watchedTx) notice(id cms.ID) {
	if !slices.Contains(w.changed, id) {
		w.changed = append(w.changed, id)
	}
}

// write runs a callback in a transaction and tells this node and the others
// what it changed.
func (s *Service) write(ctx context.Context, do func(cms.Tx) error) error {
	var changed []cms.ID
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
