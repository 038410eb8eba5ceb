package service

import (
	"context"
	"strings"
	"time"

	"galley/internal/cms"
)

// CancelPublish cancels a scheduled publish.
func (s *Service) CancelPublish(ctx context.Context, who Caller, id cms.ID, match Match[cms.Publish]) error {
	_, err := inSite(ctx, s, who, ofPublish(id), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (after cms.Publish, _ []written, err error) {
		before, err := tx.LockPublish(ctx, f.site.ID, id)
		if err == nil && before.Status != cms.StatusScheduled {
			err = cms.Conflict("Only a scheduled publish can be canceled, this one is " + string(before.Status))
		}
		if err == nil {
			err = match.check(before)
		}
		if err != nil {
			return after, nil, err
		}
		after = before
		after.Status = cms.StatusCanceled
		return after, wrotePublish(before, after), tx.UpdatePublish(ctx, after)
	})
	return err
}

// RunDuePublish runs one scheduled publish that is due, of another site than those
// given, and returns it, or nil if there is none. The transaction locks the
// publish, so that one node runs it, and another one does if that node dies. A
// publish that is refused is marked as failed, with the reason.
func (s *Service) RunDuePublish(ctx context.Context, notOf ...cms.ID) (*cms.Publish, error) {
	var due *cms.Publish
	err := s.writeOpen(ctx, func(ctx context.Context, tx cms.Tx) error {
		due = nil
		p, err := tx.TakeDuePublish(ctx, s.now(), notOf)
		if err != nil {
			return err
		}
		return s.holdSite(ctx, p.SiteID, cms.LockExclusive, func() error {
			due = &p
			return s.runDue(ctx, tx, due)
		})
	})
	switch {
	case due == nil && cms.CodeOf(err) == cms.CodeNotFound:
		return nil, nil //nolint:nilnil // nothing is due
	case cms.CodeOf(err) == cms.CodeConflict || cms.CodeOf(err) == cms.CodeNotFound:
		marked, err := s.failPublish(ctx, due, err)
		if err == nil && !marked {
			return s.RunDuePublish(ctx, notOf...) // this one was run or canceled meanwhile
		}
		return due, err
	}
	return due, err
}

func (s *Service) runDue(ctx context.Context, tx cms.Tx, p *cms.Publish) error {
	site, err := tx.LockSite(ctx, p.SiteID, cms.LockExclusive)
	if err != nil {
		return err
	}
	if site.DeletedAt != nil {
		return cms.Conflict("The site was deleted when this publish was due")
	}
	locales, err := tx.Locales(ctx, site.ID)
	if err != nil {
		return err
	}
	for _, id := range p.Select.Locales {
		if l, ok := locales.ByID(id); ok && l.DeletedAt != nil {
			return cms.NotFound(cms.KindLocale)
		}
	}
	rel, err := siteSnapshot{site: site, locales: locales}.prepare(ctx, tx, p.Select, p.Plan)
	if err != nil {
		return err
	}
	before := *p
	if err := s.release(ctx, tx, rel, p, tx.UpdatePublish); err != nil {
		return err
	}
	if p.ID == cms.NoID {
		// There was nothing to publish: it has run, and left what was live.
		p.ID, p.PublishedAt = before.ID, new(s.now())
		last, err := tx.LastPublish(ctx, p.SiteID)
		if err != nil && cms.CodeOf(err) != cms.CodeNotFound {
			return err
		}
		if err == nil {
			p.PreviousID = &last.ID
		}
		if err := tx.UpdatePublish(ctx, *p); err != nil {
			return err
		}
	}
	return s.record(ctx, tx, scheduler(site, *p), wrotePublish(before, *p)...)
}

// scheduler is the actor of a scheduled publish.
func scheduler(site cms.Site, p cms.Publish) actor {
	by := systemActor(site.WorkspaceID, "runPublish")
	by.appID, by.Actor = p.CreatedBy, p.Actor
	return by
}

// failPublish marks a publish as failed unless it is no longer scheduled.
func (s *Service) failPublish(ctx context.Context, p *cms.Publish, cause error) (marked bool, err error) {
	err = s.write(ctx, func(tx cms.Tx) error {
		marked = false
		now, err := tx.LockPublish(ctx, p.SiteID, p.ID)
		if err != nil {
			return err
		}
		if now.Status != cms.StatusScheduled {
			return nil
		}
		site, err := tx.Site(ctx, p.SiteID)
		if err != nil {
			return err
		}
		before := now
		reason := strings.TrimPrefix(cause.Error(), string(cms.CodeOf(cause))+": ")
		now.Status, now.Reason = cms.StatusFailed, &reason
		*p, marked = now, true
		if err := tx.UpdatePublish(ctx, now); err != nil {
			return err
		}
		return s.record(ctx, tx, scheduler(site, now), wrotePublish(before, now)...)
	})
	return marked, err
}

// PurgeHistory removes for good what is only seen by reading publishes older
// than the retention.
func (s *Service) PurgeHistory(ctx context.Context, retention time.Duration) error {
	old, err := s.store.OldHistory(ctx, s.now().Add(-retention))
	if err != nil {
		return err
	}
	for siteID, seq := range old {
		err := s.write(ctx, func(tx cms.Tx) error {
			// A restore of one of them takes the same lock, and finds all or nothing.
			if _, err := tx.LockSite(ctx, siteID, cms.LockExclusive); err != nil {
				return err
			}
			return tx.PurgeHistory(ctx, siteID, seq)
		})
		if err != nil && cms.CodeOf(err) != cms.CodeNotFound { // the site may be gone by now
			return err
		}
	}
	return nil
}
