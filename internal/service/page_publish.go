package service

import (
	"context"
	"reflect"

	"galley/internal/cms"
)

// PublishPage publishes one page alone.
func (s *Service) PublishPage(ctx context.Context, who Caller, id cms.ID, body Empty) (cms.Publish, error) {
	var siteID cms.ID
	check := func(r cms.Reader) error {
		site, err := who.childSite(ctx, r, cms.KindPage, Ref{ID: id}, hasDraftOrLive)
		if err != nil {
			return err
		}
		siteID = site.ID
		if err := hasDraftOrLive(ctx, r, site.ID, id); err != nil {
			return err
		}
		return body.check()
	}
	if err := s.store.View(ctx, check); err != nil {
		return cms.Publish{}, err
	}
	return s.Publish(ctx, who, siteID, Given(cms.PublishRequest{PageIDs: cms.Some([]cms.ID{id})}))
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
		if err := moveClaims(ctx, tx, site.ID, claimMove{after, draft.Claims(spoken.locales), after.Claims(spoken.locales)}); err != nil {
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
