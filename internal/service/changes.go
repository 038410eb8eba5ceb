package service

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"galley/internal/cms"
)

// changes numbers the commits that this node knows of. A read is current while
// none of its subjects has a later number.
type changes struct {
	mu         sync.RWMutex
	number     int64
	at         [changeSlots]int64 // the last change of any subject that has the slot
	committing map[cms.Subject]int
	all        int64 // the last change that may have been of anything
	listening  bool  // changes by others are reported
}

// changeSlots bounds the memory. Subjects that share a slot change together, which
// may invalidate too much and never too little.
const changeSlots = 1 << 16

// slot is where a subject's changes are noted, by the random end of its id.
func slot(s cms.Subject) uint16 {
	n := binary.BigEndian.Uint16(s.ID[len(s.ID)-2:])
	if s.Drafts {
		n = ^n
	}
	return n
}

// version is the number of the last change. It must be taken before anything is
// read.
func (c *changes) version() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.number
}

// unchanged reports whether none of the subjects has changed since a version. A
// subject that a transaction is committing counts as changed.
func (c *changes) unchanged(since int64, about ...cms.Subject) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.all > since {
		return false
	}
	for _, subject := range about {
		if c.at[slot(subject)] > since || c.committing[subject] > 0 {
			return false
		}
	}
	return true
}

// begin notes that a transaction is about to commit a change of the subjects.
func (c *changes) begin(changed []cms.Subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.committing == nil {
		c.committing = map[cms.Subject]int{}
	}
	for _, subject := range changed {
		c.committing[subject]++
	}
}

// end notes that the transaction has ended, committed or not.
func (c *changes) end(changed []cms.Subject) {
	if len(changed) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, subject := range changed {
		if c.committing[subject]--; c.committing[subject] == 0 {
			delete(c.committing, subject)
		}
	}
	c.note(changed)
}

func (c *changes) note(changed []cms.Subject) {
	c.number++
	for _, subject := range changed {
		c.at[slot(subject)] = c.number
	}
	if len(changed) == 0 {
		c.all = c.number
	}
}

// changedByOthers notes what other programs changed; none named is everything.
func (c *changes) changedByOthers(changed ...cms.Subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(changed)
}

// setListening notes whether changes by others are reported from now on. Those
// made before may have been missed.
func (c *changes) setListening(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listening = on
	c.note(nil)
}

// Listening reports whether this node receives the changes of others.
func (s *Service) Listening() bool {
	s.changes.mu.RLock()
	defer s.changes.mu.RUnlock()
	return s.changes.listening
}

// Listen follows what others change in the store until the context ends.
func (s *Service) Listen(ctx context.Context) {
	defer s.changes.setListening(false)
	s.store.Listen(ctx, func(changed ...cms.Subject) {
		s.changes.changedByOthers(changed...)
		s.webhooks.note(changed...)
		s.events.note()
	}, s.changes.setListening)
}

// Version numbers the state of the store, for Unchanged. It must be taken before
// anything is read.
func (s *Service) Version() int64 { return s.changes.version() }

// Unchanged reports whether none of the subjects has changed since a version,
// as far as this node knows: MaxAge bounds what it may not know.
func (s *Service) Unchanged(since int64, about ...cms.Subject) bool {
	return s.changes.unchanged(since, about...)
}

// maxAge bounds how long a read is used where another node may change it: a
// notification is lost with the node that should have sent it.
const maxAge = time.Second

// MaxAge is how long what was read may be used without reading it again; 0 means
// that Unchanged alone decides.
func (s *Service) MaxAge() time.Duration {
	if s.store.Shared() || !s.Listening() {
		return maxAge
	}
	return 0
}

// recordingTx notes what a transaction changes: every write is audited.
type recordingTx struct {
	cms.Tx
	changed []cms.Subject
	webhook bool          // one of them is a webhook
	read    *siteSnapshot // kept after the commit; nil: none
}

// maxRecorded is how many subjects a transaction names. Beyond it the changes
// of pages and redirects are noted as one of the whole site.
const maxRecorded = 32

func (r *recordingTx) Record(ctx context.Context, entries ...cms.AuditEntry) error {
	for _, e := range entries {
		r.webhook = r.webhook || e.Kind == cms.KindWebhook
		if e.Kind == cms.KindSite || e.Kind == cms.KindLocale {
			r.note(cms.Subject{ID: e.WorkspaceID}) // which site has an origin
		}
		switch {
		case e.Kind == cms.KindApp || e.Kind == cms.KindPreview || e.Kind == cms.KindWebhook:
			r.note(cms.Subject{ID: e.ResourceID})
		case (e.Kind == cms.KindPage || e.Kind == cms.KindRedirect) && len(r.changed) < maxRecorded:
			r.note(cms.Subject{ID: e.SiteID, Drafts: true}) // only a publish changes what is live
			r.note(cms.Subject{ID: e.ResourceID})
		case e.SiteID != cms.NoID:
			r.note(cms.Subject{ID: e.SiteID})
		}
	}
	return r.Tx.Record(ctx, entries...)
}

func (r *recordingTx) PurgeHistory(ctx context.Context, siteID cms.ID, seq int64) error {
	r.note(cms.Subject{ID: siteID})
	return r.Tx.PurgeHistory(ctx, siteID, seq)
}

func (r *recordingTx) note(changed cms.Subject) {
	if !slices.Contains(r.changed, changed) {
		r.changed = append(r.changed, changed)
	}
}

// write runs a callback in a transaction, and invalidates on this node and the
// others what it changed.
func (s *Service) write(ctx context.Context, do func(cms.Tx) error) error {
	s.bigWork.writes.Add(1)
	var changed []cms.Subject
	var recording *recordingTx
	err := s.store.InTx(ctx, func(tx cms.Tx) error {
		s.changes.end(changed) // of an attempt before
		changed = nil
		recording = &recordingTx{Tx: tx}
		if err := do(recording); err != nil {
			return err
		}
		changed = recording.changed
		s.changes.begin(changed)
		return nil
	})
	s.changes.end(changed)
	if len(changed) > 0 { // also after an error: the commit may have succeeded
		s.store.Notify(changed)
		if recording.webhook {
			s.webhooks.note(changed...)
		}
		s.events.note()
	}
	if err == nil && recording.read != nil {
		s.snapshots.Set(recording.read.site.ID, *recording.read)
	}
	return err
}
