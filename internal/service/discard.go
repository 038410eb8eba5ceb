package service

import (
	"context"
	"reflect"
	"slices"

	"galley/internal/cms"
)

// Discard takes the draft of a site, or a selection of it, back to what is live,
// and returns how many pages that changes. Pages that were never live are
// deleted.
func (s *Service) Discard(ctx context.Context, who Caller, siteID cms.ID, in Input[cms.DiscardRequest]) (pages int, err error) {
	err = s.inSite(ctx, who, cms.KindSite, Ref{ID: siteID}, cms.LockExclusive, func(tx cms.Tx) error {
		site, err := who.lockSite(ctx, tx, siteID, cms.LockExclusive)
		if err != nil {
			return err
		}
		ask, err := in()
		if err != nil {
			return err
		}
		lv, err := viewLocale(ctx, tx, site, "")
		if err != nil {
			return err
		}
		selected, err := selection(ctx, tx, site, lv.locales, ask.SelectionRequest)
		if err != nil {
			return err
		}
		pages, err = s.discard(ctx, tx, who, site, lv, selected, ask.Confirm.Value)
		return err
	})
	return pages, err
}

// DiscardPage takes a page's draft, deleted or not, back to what is live. A
// page that was never live is deleted, and gone is true.
func (s *Service) DiscardPage(ctx context.Context, who Caller, id cms.ID, body Empty) (view PageView, gone bool, err error) {
	err = s.inSite(ctx, who, cms.KindPage, Ref{ID: id}, cms.LockExclusive, func(tx cms.Tx) error {
		site, err := who.lockChildSite(ctx, tx, cms.KindPage, Ref{ID: id}, hasDraftOrLive, cms.LockExclusive)
		if err != nil {
			return err
		}
		if err := hasDraftOrLive(ctx, tx, site.ID, id); err != nil {
			return err
		}
		if err := body.check(); err != nil {
			return err
		}
		lv, err := viewLocale(ctx, tx, site, "")
		if err != nil {
			return err
		}
		_, err = s.discard(ctx, tx, who, site, lv, cms.Selection{PageIDs: []cms.ID{id}}, true)
		if cms.CodeOf(err) == cms.CodeConflict {
			return cms.ErrPathnameTaken
		}
		if err != nil {
			return err
		}
		page, err := tx.Page(ctx, site.ID, cms.Draft, id)
		view, gone = lv.view(page), page.DeletedAt != nil
		return err
	})
	return view, gone, err
}

// discard takes a selection of the draft back to what is live. It holds the site
// lock.
func (s *Service) discard(ctx context.Context, tx cms.Tx, who Caller, site cms.Site, lv localeView, selected cms.Selection, confirm bool) (int, error) {
	selected = selected.Applied(site.DefaultLocaleID)
	var changes []cms.PageChange
	var clean []cms.ID
	gone, now := 0, s.now()
	err := eachDirty(ctx, tx, site.ID, dirtyWalk{only: selected.PageIDs}, func(id cms.ID, draft, live *cms.Page) bool {
		after := cms.DiscardPage(*draft, live, selected, lv.locales, now)
		if cms.IsClean(&after, live, lv.locales) {
			clean = append(clean, id)
		}
		if !reflect.DeepEqual(*draft, after) {
			changes = append(changes, cms.PageChange{Before: draft, After: &after})
			if after.DeletedAt != nil {
				gone++
			}
		}
		return true
	})
	if err != nil {
		return 0, err
	}
	if err := s.checkGuard(ctx, tx, site.ID, cms.Draft, gone, confirm); err != nil {
		return 0, err
	}
	if err := movePages(ctx, tx, site.ID, changes, lv.locales); err != nil {
		return 0, err
	}
	if err := tx.UpdatePages(ctx, changes); err != nil {
		return 0, err
	}
	if err := tx.MarkPages(ctx, site.ID, clean, nil, false); err != nil {
		return 0, err
	}
	for chunk := range slices.Chunk(changes, dirtyChunk) {
		writes := make([]written, len(chunk))
		for i, c := range chunk {
			writes[i] = wroteDraft(*c.After, lv.view(*c.Before), lv.view(*c.After))
			if c.Before.DeletedAt != nil {
				writes[i].before = nil
			}
		}
		if err := s.record(ctx, tx, who.actor(), writes...); err != nil {
			return 0, err
		}
	}
	return len(changes), nil
}
