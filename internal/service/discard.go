package service

import (
	"context"
	"reflect"
	"slices"

	"galley/internal/cms"
)

// Discarded counts the drafts that a discard changed.
type Discarded struct{ Pages, Redirects int }

// Discard takes the draft of a site, or a selection of it, back to what is live. What
// was never live is deleted.
func (s *Service) Discard(ctx context.Context, who Caller, siteID cms.ID, in Input[cms.DiscardRequest]) (Discarded, error) {
	return inSite(ctx, s, who, ofSite(siteID), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (counts Discarded, _ []written, err error) {
		ask, err := in()
		if err != nil {
			return counts, nil, err
		}
		selected, err := f.selection(ctx, tx, ask.SelectionRequest)
		if err != nil {
			return counts, nil, err
		}
		counts, err = s.discard(ctx, tx, who, f, selected, ask.Confirm.Value)
		return counts, nil, err
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
		if err != nil {
			return view, nil, err
		}
		live, err := liveOf(ctx, tx, page)
		return f.inDefault().draft(page, live), nil, err
	})
}

// discard takes a selection of the draft back to what is live. It holds the site
// lock.
func (s *Service) discard(ctx context.Context, tx cms.Tx, who Caller, f siteSnapshot, selected cms.Selection, confirm bool) (Discarded, error) {
	selected = selected.Applied(f.site.DefaultLocaleID)
	siteID, lv := f.site.ID, f.inDefault()
	var changes []cms.PageChange
	var clean []cms.ID
	lives := map[cms.ID]*cms.Page{}
	gone, now := 0, s.now()
	err := eachDirty(ctx, tx, siteID, dirtyWalk{only: selected.PageIDs}, func(id cms.ID, draft, live *cms.Page) bool {
		after := cms.DiscardPage(*draft, live, selected, f.locales, now)
		if cms.IsClean(&after, live, f.locales) {
			clean = append(clean, id)
		}
		if !reflect.DeepEqual(*draft, after) {
			changes = append(changes, cms.PageChange{Before: draft, After: &after})
			lives[id] = live
			if after.DeletedAt != nil {
				gone++
			}
		}
		return true
	})
	if err != nil {
		return Discarded{}, err
	}
	if err := s.checkGuard(ctx, tx, siteID, cms.Draft, gone, confirm); err != nil {
		return Discarded{}, err
	}
	ids, err := selectedRedirects(ctx, tx, siteID, selected)
	if err != nil {
		return Discarded{}, err
	}
	redirects, redirectWrites, err := s.discardedRedirects(ctx, tx, f, ids, func(r cms.Redirect) bool { return selected.HasRedirect(r, f.site.DefaultLocaleID) })
	if err != nil {
		return Discarded{}, err
	}
	taken, err := takenSources(ctx, tx, f, cms.Draft, redirects)
	if err == nil && len(taken) > 0 {
		err = cms.ErrRedirectTaken
	}
	if err != nil {
		return Discarded{}, err
	}
	moves := append(pageMoves(changes, f.locales), redirectMoves(redirects, f.locales)...)
	clashes, err := findClashes(ctx, tx, siteID, moves...)
	if err == nil {
		clashes, err = s.giveWay(ctx, tx, who.actor(), f, clashes)
	}
	if err == nil {
		err = refuseClashes(clashes)
	}
	if err == nil {
		err = storeMoves(ctx, tx, siteID, moves...)
	}
	if err != nil {
		return Discarded{}, err
	}
	if err := storeRedirects(ctx, tx, redirects); err != nil {
		return Discarded{}, err
	}
	if err := f.refuseCircles(ctx, tx, cms.Draft, redirects); err != nil {
		return Discarded{}, err
	}
	if err := s.record(ctx, tx, who.actor(), redirectWrites...); err != nil {
		return Discarded{}, err
	}
	if err := tx.UpdatePages(ctx, changes); err != nil {
		return Discarded{}, err
	}
	if err := tx.MarkPages(ctx, siteID, clean, nil, false); err != nil {
		return Discarded{}, err
	}
	for chunk := range slices.Chunk(changes, dirtyChunk) {
		var writes []written
		for _, c := range chunk {
			writes = append(writes, wrotePage(lv.draft(*c.Before, lives[c.ID()]), lv.draft(*c.After, lives[c.ID()]))...)
		}
		if err := s.record(ctx, tx, who.actor(), writes...); err != nil {
			return Discarded{}, err
		}
	}
	return Discarded{len(changes), len(redirectWrites)}, checkQuota(ctx, tx, who, cms.Usage{Pages: addedPages(changes)})
}
