package service

import (
	"context"
	"slices"
	"strings"
	"sync"

	"galley/internal/cms"
)

// CancelPublish cancels a scheduled publish.
func (s *Service) CancelPublish(ctx context.Context, who Caller, id cms.ID, match Match[cms.Publish]) error {
	return s.inTx(ctx, func(tx cms.Tx) error {
		site, err := who.lockChildSite(ctx, tx, cms.KindPublish, Ref{ID: id}, nil, cms.LockExclusive)
		if err != nil {
			return err
		}
		p, err := tx.LockPublish(ctx, site.ID, id)
		if err != nil {
			return err
		}
		if p.Status != cms.StatusScheduled {
			return cms.Conflict("Only a scheduled publish can be canceled, this one is " + string(p.Status))
		}
		if err := match.check(p); err != nil {
			return err
		}
		before := p
		p.Status = cms.StatusCanceled
		if err := tx.UpdatePublish(ctx, p); err != nil {
			return err
		}
		return s.record(ctx, tx, who.actor(), wrotePublish(p, before, p))
	})
}

// RunDuePublish runs one scheduled publish whose time has come, and returns it, or
// nil if there is none. It leaves out the sites given and those of which this node
// runs one already. The lock on the publish lasts until it is committed, so that
// one of any number of nodes runs it, and another one does if that node dies. A
// publish that is refused is marked as failed, with the reason.
func (s *Service) RunDuePublish(ctx context.Context, notOf ...cms.ID) (*cms.Publish, error) {
	var due *cms.Publish
	var site cms.ID
	defer func() { s.dueSites.giveBack(site) }()
	err := s.write(ctx, func(tx cms.Tx) error { // it runs again after a wait for the site
		due = nil
		p, err := s.takeDue(ctx, tx, &site, notOf)
		if err != nil {
			return err
		}
		due = &p
		return s.runDue(ctx, tx, due)
	})
	switch {
	case due == nil && cms.CodeOf(err) == cms.CodeNotFound:
		return nil, nil //nolint:nilnil // nothing is due
	case cms.CodeOf(err) == cms.CodeConflict || cms.CodeOf(err) == cms.CodeNotFound:
		return due, s.failPublish(ctx, due, err)
	}
	return due, err
}

// takeDue takes a due publish, and with it the site: the one that was taken
// before, or another.
func (s *Service) takeDue(ctx context.Context, tx cms.Tx, site *cms.ID, notOf []cms.ID) (cms.Publish, error) {
	for {
		p, err := tx.TakeDuePublish(ctx, s.now(), append(s.dueSites.but(*site), notOf...))
		if err != nil || p.SiteID == *site {
			return p, err
		}
		if s.dueSites.take(p.SiteID) {
			s.dueSites.giveBack(*site)
			*site = p.SiteID
			return p, nil
		}
	}
}

// dueSites are those of which a due publish is being run, or waits for its site.
type dueSites struct {
	mu    sync.Mutex
	taken []cms.ID
}

func (d *dueSites) take(site cms.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.taken, site) {
		return false
	}
	d.taken = append(d.taken, site)
	return true
}

func (d *dueSites) giveBack(site cms.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken = slices.DeleteFunc(d.taken, func(id cms.ID) bool { return id == site })
}

// but are all that are taken but one.
func (d *dueSites) but(site cms.ID) []cms.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.taken), func(id cms.ID) bool { return id == site })
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
	rel, err := prepare(ctx, tx, site, locales, p.Select, p.Plan)
	if err != nil {
		return err
	}
	before := *p
	if err := s.release(ctx, tx, locales, rel, p, tx.UpdatePublish); err != nil {
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
	return s.record(ctx, tx, scheduler(site, *p), wrotePublish(*p, before, *p))
}

// scheduler is who a scheduled publish runs for.
func scheduler(site cms.Site, p cms.Publish) actor {
	by := unasked(site.WorkspaceID, "runPublish")
	by.appID, by.Actor = p.CreatedBy, p.Actor
	return by
}

func (s *Service) failPublish(ctx context.Context, p *cms.Publish, cause error) error {
	return s.write(ctx, func(tx cms.Tx) error {
		now, err := tx.LockPublish(ctx, p.SiteID, p.ID)
		if err != nil {
			return err
		}
		if now.Status != cms.StatusScheduled {
			*p = now // another node has run or canceled it
			return nil
		}
		site, err := tx.Site(ctx, p.SiteID)
		if err != nil {
			return err
		}
		before := now
		now.Status, now.Reason = cms.StatusFailed, new(reasonOf(cause))
		*p = now
		if err := tx.UpdatePublish(ctx, now); err != nil {
			return err
		}
		return s.record(ctx, tx, scheduler(site, now), wrotePublish(now, before, now))
	})
}

func reasonOf(err error) string {
	message := err.Error()
	if _, after, ok := strings.Cut(message, ": "); ok {
		message = after // without the code
	}
	return message
}
