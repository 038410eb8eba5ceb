package service

import (
	"cmp"
	"context"
	"time"

	"galley/internal/cms"
)

// Request is what the audit trail records of the request of a write.
type Request struct {
	ID        string
	Operation string
	Actor     string // the person that X-Actor names; "": none
}

// actor is the author of a write: a caller, the operator or the service.
type actor struct {
	workspaceID cms.ID
	appID       cms.ID
	Request
}

func (c Caller) actor() actor { return actor{c.WorkspaceID(), c.ID(), c.Request} }

// systemActor is the actor of a write without a request.
func systemActor(workspaceID cms.ID, operation string) actor {
	return actor{workspaceID: workspaceID, Request: Request{Operation: operation}}
}

// written is what a write did to a resource. Before and after are the resource
// as readers see it; nil or a deleted one is recorded as none.
type written struct {
	kind          cms.Kind
	id            cms.ID
	siteID        cms.ID
	before, after any
	child         bool   // the effect of another write, which is the event
	entry         cms.ID // of the audit trail; NoID: a new one
}

// record notes writes in the audit trail, in their transaction.
func (s *Service) record(ctx context.Context, tx cms.Tx, by actor, writes ...written) error {
	entries := make([]cms.AuditEntry, len(writes))
	requestID, _ := cms.ParseID(by.ID)
	for i, w := range writes {
		e := cms.AuditEntry{
			ID: cmp.Or(w.entry, cms.NewID()), WorkspaceID: by.workspaceID, AppID: by.appID, Actor: by.Actor, RequestID: requestID, Operation: by.Operation,
			Kind: w.kind, ResourceID: w.id, SiteID: w.siteID, Before: s.auditState(w.before), After: s.auditState(w.after),
		}
		e.Type, e.Locale = w.event(by.Operation, e.Before != nil, e.After != nil)
		if e.Type.IsUpdate() {
			e.Fields = changedFields(by.Operation, w.before, w.after)
		}
		entries[i] = e
	}
	return tx.Record(ctx, entries...)
}

func (s *Service) auditState(resource any) []byte {
	var deletedAt *time.Time
	switch r := resource.(type) {
	case nil:
		return nil
	case cms.Site:
		deletedAt = r.DeletedAt
	case cms.App:
		deletedAt = r.DeletedAt
	case cms.Webhook:
		deletedAt = r.DeletedAt
	case cms.Route:
		deletedAt = r.DeletedAt
	case PreviewView:
		deletedAt = r.DeletedAt
	case LocaleView:
		deletedAt = r.DeletedAt
	case PageView:
		deletedAt = r.DeletedAt
	case RedirectView:
		deletedAt = r.DeletedAt
	}
	if deletedAt != nil {
		return nil
	}
	return s.encode(resource)
}

// Audit lists the audit trail of the caller's workspace, newest first. An app
// restricted to sites sees what happened in those.
func (s *Service) Audit(ctx context.Context, who Caller, q cms.AuditQuery) (cms.List[cms.AuditEntry], error) {
	q.WorkspaceID, q.Sites = who.WorkspaceID(), who.App.SiteIDs
	var list cms.List[cms.AuditEntry]
	err := s.store.View(ctx, func(r cms.Reader) error {
		if q.SiteID != cms.NoID {
			if _, err := who.checkSite(r.Site(ctx, q.SiteID)); err != nil {
				return err
			}
		}
		if q.AppID != cms.NoID {
			if err := who.everApp(ctx, r, q.AppID); err != nil {
				return err
			}
		}
		if q.After != cms.NoID {
			cursor, err := r.AuditEntry(ctx, q.WorkspaceID, q.After)
			if err != nil {
				return cursorError(err)
			}
			if !q.Admits(cursor) {
				return cms.ErrCursor
			}
		}
		entries, err := r.Audit(ctx, q)
		list = cms.CutList(entries, q.Limit)
		return err
	})
	return list, err
}

// everApp checks the right to an app, revoked or not: its entries remain.
func (c Caller) everApp(ctx context.Context, r cms.Reader, id cms.ID) error {
	app, err := r.AppOf(ctx, id)
	if err == nil && app.WorkspaceID != c.WorkspaceID() {
		err = errForeignApp
	}
	return err
}

// rowsChunk is how many rows one transaction removes, so that others can write
// in between.
const rowsChunk = 1000

// inChunks removes rows until fewer are left than one transaction may remove.
func (s *Service) inChunks(ctx context.Context, remove func(tx cms.Tx, limit int) (int, error)) error {
	for n := rowsChunk; n == rowsChunk; {
		err := s.write(ctx, func(tx cms.Tx) (err error) {
			n, err = remove(tx, rowsChunk)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// PurgeAudit converts entries of earlier versions, and removes for good those that
// are older than the retention, if there is one, and than that of events, whose data
// they have.
func (s *Service) PurgeAudit(ctx context.Context, retention time.Duration) error {
	workspaces, err := s.store.Workspaces(ctx)
	if err != nil {
		return err
	}
	before := s.now().Add(-max(retention, s.EventRetention))
	for _, w := range workspaces {
		err := s.inChunks(ctx, func(tx cms.Tx, limit int) (int, error) { return tx.MoveAudit(ctx, w.ID, limit) })
		if err == nil && retention > 0 && s.EventRetention > 0 {
			err = s.inChunks(ctx, func(tx cms.Tx, limit int) (int, error) { return tx.PurgeAudit(ctx, w.ID, before, limit) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}
