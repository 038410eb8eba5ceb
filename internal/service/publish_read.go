package service

import (
	"context"
	"reflect"
	"time"

	"galley/internal/cms"
)

// GetPublish reads a publish.
func (s *Service) GetPublish(ctx context.Context, who Caller, id cms.ID) (cms.Publish, error) {
	var p cms.Publish
	var siteID cms.ID
	err := s.view(ctx, who, &siteID, func(ctx context.Context, r cms.Reader) error {
		site, err := who.childSite(ctx, r, cms.KindPublish, Ref{ID: id}, nil)
		if err != nil {
			return err
		}
		siteID = site.ID
		p, err = r.Publish(ctx, site.ID, id)
		return err
	})
	return p, err
}

// Publishes lists the publishes of a site, newest first.
func (s *Service) Publishes(ctx context.Context, who Caller, siteID cms.ID, q cms.ListQuery) (cms.List[cms.Publish], error) {
	var list cms.List[cms.Publish]
	err := s.view(ctx, who, &siteID, func(ctx context.Context, r cms.Reader) error {
		site, err := who.site(ctx, r, siteID)
		if err != nil {
			return err
		}
		if q.After != cms.NoID {
			if _, err := r.Publish(ctx, site.ID, q.After); err != nil {
				return cursorError(err)
			}
		}
		publishes, err := r.Publishes(ctx, site.ID, cms.NoID, q)
		list = cms.CutList(publishes, q.Limit)
		return err
	})
	return list, err
}

// PagePublishes lists the publishes that changed a page, newest first. A page
// that was ever live has a history, deleted or not.
func (s *Service) PagePublishes(ctx context.Context, who Caller, id cms.ID, q cms.ListQuery) (cms.List[cms.Publish], error) {
	var list cms.List[cms.Publish]
	var siteID cms.ID
	err := s.view(ctx, who, &siteID, func(ctx context.Context, r cms.Reader) error {
		site, err := who.childSite(ctx, r, cms.KindPage, Ref{ID: id}, pageExists(cms.Draft))
		if err != nil {
			return err
		}
		siteID = site.ID
		if q.After != cms.NoID {
			if err := changedPage(ctx, r, site.ID, q.After, id); err != nil {
				return cursorError(err)
			}
		}
		publishes, err := r.Publishes(ctx, site.ID, id, q)
		if err != nil {
			return err
		}
		list = cms.CutList(publishes, q.Limit)
		if len(publishes) > 0 || q.After != cms.NoID {
			return nil
		}
		return hasDraftOrLive(ctx, r, site.ID, id)
	})
	return list, err
}

// changedPage answers NotFound unless a publish changed a page.
func changedPage(ctx context.Context, r cms.Reader, siteID, publishID, pageID cms.ID) error {
	p, err := r.Publish(ctx, siteID, publishID)
	if err != nil {
		return err
	}
	after, err := liveAfter(ctx, r, siteID, p.Seq, []cms.ID{pageID})
	if err != nil {
		return err
	}
	before, err := liveAfter(ctx, r, siteID, max(p.Seq-1, 0), []cms.ID{pageID})
	if err != nil {
		return err
	}
	was, is := before[pageID], after[pageID]
	if (was == nil && is == nil) || (was != nil && is != nil && was.Since == is.Since) {
		return cms.NotFound(cms.KindPublish)
	}
	return nil
}

// version finds the version that a reader asks for: the draft, the live one, or
// what a publish left.
func (s *Service) version(ctx context.Context, r cms.Reader, site cms.Site, ref VersionRef) (cms.Version, error) {
	if ref.Publish == cms.NoID {
		return ref.Version, nil
	}
	p, err := r.Publish(ctx, site.ID, ref.Publish)
	if err != nil {
		return ref.Version, err
	}
	seq, err := leftBy(ctx, r, p)
	return cms.AfterPublish(seq), err
}

// leftBy is the number of the version that a publish left. One that found
// nothing to do left the one before.
func leftBy(ctx context.Context, r cms.Reader, p cms.Publish) (int64, error) {
	if p.Seq == 0 && p.Status == cms.StatusPublished && p.PreviousID != nil {
		var err error
		if p, err = r.Publish(ctx, p.SiteID, *p.PreviousID); err != nil {
			return 0, err
		}
	}
	if p.Seq == 0 {
		return 0, cms.NotFound(cms.KindPublish)
	}
	return p.Seq, nil
}

// VersionRef names a version: the draft or live one, or by the publish that
// left it.
type VersionRef struct {
	Version cms.Version
	Publish cms.ID
}

// PublishPage publishes one page alone.
func (s *Service) PublishPage(ctx context.Context, who Caller, id cms.ID, body Empty) (cms.Publish, error) {
	var p cms.Publish
	err := s.inTx(ctx, func(tx cms.Tx) error {
		site, err := who.childSite(ctx, tx, cms.KindPage, Ref{ID: id}, hasDraftOrLive)
		if err != nil {
			return err
		}
		if err := hasDraftOrLive(ctx, tx, site.ID, id); err != nil {
			return err
		}
		if err := body.check(); err != nil {
			return err
		}
		p, err = s.Publish(context.WithValue(ctx, txKey{}, tx), who, site.ID,
			Given(cms.PublishRequest{PageIDs: cms.Some([]cms.ID{id})}))
		return err
	})
	return p, err
}

// hasDraftOrLive answers NotFound for a page that neither version has.
func hasDraftOrLive(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
	_, err := existingPage(r.Page(ctx, siteID, cms.Draft, id))
	if cms.CodeOf(err) == cms.CodeNotFound {
		_, err = r.Page(ctx, siteID, cms.Live, id)
	}
	return err
}

// DiscardPage takes a page's draft, deleted or not, back to what is live. A
// page that was never live is deleted, and gone is true.
func (s *Service) DiscardPage(ctx context.Context, who Caller, id cms.ID, body Empty) (view PageView, gone bool, err error) {
	err = s.inTx(ctx, func(tx cms.Tx) error {
		site, err := who.lockChildSite(ctx, tx, cms.KindPage, Ref{ID: id}, hasDraftOrLive, cms.LockExclusive)
		if err != nil {
			return err
		}
		spoken, err := speak(ctx, tx, site, "")
		if err != nil {
			return err
		}
		draft, err := tx.LockPage(ctx, site.ID, cms.Draft, id)
		if err != nil {
			return err
		}
		live, err := tx.Page(ctx, site.ID, cms.Live, id)
		gone = cms.CodeOf(err) == cms.CodeNotFound
		if err != nil && (!gone || draft.DeletedAt != nil) {
			return err
		}
		if err := body.check(); err != nil {
			return err
		}
		if gone {
			after := draft
			after.DeletedAt = new(s.now())
			if _, err := s.savePage(ctx, tx, spoken.locales, draft, &after); err != nil {
				return err
			}
			return s.record(ctx, tx, who.actor(), wrotePage(draft, spoken.view(draft), nil))
		}
		after := cms.DiscardPage(draft, live, spoken.locales)
		view = spoken.view(after)
		if reflect.DeepEqual(after, draft) {
			return tx.MarkPages(ctx, site.ID, []cms.ID{id}, nil, false)
		}
		if err := moveClaims(ctx, tx, tx.Page, site.ID, after, draft.Claims(spoken.locales), after.Claims(spoken.locales)); err != nil {
			return err
		}
		if err := tx.UpdatePage(ctx, draft, after); err != nil {
			return err
		}
		if err := tx.MarkPages(ctx, site.ID, []cms.ID{id}, nil, false); err != nil {
			return err
		}
		wrote := wrotePage(after, spoken.view(draft), view)
		if draft.DeletedAt != nil {
			wrote.before = nil
		}
		return s.record(ctx, tx, who.actor(), wrote)
	})
	return view, gone, err
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
			// Who restores one of them has the site to himself, too, and finds all
			// of it or nothing.
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
