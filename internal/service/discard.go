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
	return inSite(ctx, s, who, ofSite(siteID), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (int, []written, error) {
		ask, err := in()
		if err != nil {
			return 0, nil, err
		}
		selected, err := f.selection(ctx, tx, ask.SelectionRequest)
		if err != nil {
			return 0, nil, err
		}
		pages, err := s.discard(ctx, tx, who, f, selected, ask.Confirm.Value)
		return pages, nil, err
	})
}

// DiscardPage takes a page's draft, deleted or not, back to what is live. A page
// that was never live is deleted.
func (s *Service) DiscardPage(ctx context.Context, who Caller, id cms.ID, body Empty) (PageView, error) {
	return inSite(ctx, s, who, ofEditedPage(id), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (view PageView, _ []written, err error) {
		err = hasDraftOrLive(ctx, tx, f.site.ID, id)
		if err == nil {
			err = body.check()
		}
		if err == nil {
			_, err = s.discard(ctx, tx, who, f, cms.Selection{PageIDs: []cms.ID{id}}, true)
		}
		if cms.CodeOf(err) == cms.CodeConflict {
			err = cms.ErrPathnameTaken
		}
		if err != nil {
			return view, nil, err
		}
		page, err := tx.Page(ctx, f.site.ID, cms.Draft, id)
		return f.inDefault().view(page), nil, err
	})
}

// discard takes a selection of the draft back to what is live. It holds the site
// lock.
func (s *Service) discard(ctx context.Context, tx cms.Tx, who Caller, f siteSnapshot, selected cms.Selection, confirm bool) (int, error) {
	selected = selected.Applied(f.site.DefaultLocaleID)
	siteID, lv := f.site.ID, f.inDefault()
	var changes []cms.PageChange
	var clean []cms.ID
	gone, now := 0, s.now()
	err := eachDirty(ctx, tx, siteID, dirtyWalk{only: selected.PageIDs}, func(id cms.ID, draft, live *cms.Page) bool {
		after := cms.DiscardPage(*draft, live, selected, f.locales, now)
		if cms.IsClean(&after, live, f.locales) {
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
	if err := s.checkGuard(ctx, tx, siteID, cms.Draft, gone, confirm); err != nil {
		return 0, err
	}
	if err := movePages(ctx, tx, siteID, changes, f.locales); err != nil {
		return 0, err
	}
	if err := tx.UpdatePages(ctx, changes); err != nil {
		return 0, err
	}
	if err := tx.MarkPages(ctx, siteID, clean, nil, false); err != nil {
		return 0, err
	}
	for chunk := range slices.Chunk(changes, dirtyChunk) {
		var writes []written
		for _, c := range chunk {
			writes = append(writes, wrotePage(lv.view(*c.Before), lv.view(*c.After))...)
		}
		if err := s.record(ctx, tx, who.actor(), writes...); err != nil {
			return 0, err
		}
	}
	return len(changes), nil
}
