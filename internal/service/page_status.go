package service

import (
	"context"
	"slices"
	"strings"

	"galley/internal/cms"
)

// statuses compares listed pages of the draft with what is live. Only those that may
// differ from what was live are read.
func (lv localeView) statuses(ctx context.Context, r cms.Reader, q cms.PageQuery, listed []cms.ListedPage) (map[cms.ID]cms.PageStatus, error) {
	if q.Version != cms.Draft {
		return nil, nil //nolint:nilnil // an empty map
	}
	statuses := make(map[cms.ID]cms.PageStatus, len(listed))
	var unknown []cms.ID
	for _, l := range listed {
		switch {
		case l.DeletedAt != nil:
			statuses[l.ID] = cms.PageDeleted
		case !l.Dirty:
			statuses[l.ID] = cms.PageLive
		case l.PublishedAt == nil:
			statuses[l.ID] = cms.PageNew
		default:
			unknown = append(unknown, l.ID)
		}
	}
	if len(unknown) == 0 {
		return statuses, nil
	}
	drafts, lives, err := draftsAndLives(ctx, r, q.SiteID, unknown)
	for id, draft := range drafts {
		statuses[id] = cms.StatusOf(*draft, lives[id], lv.locales)
	}
	return statuses, err
}

func draftsAndLives(ctx context.Context, r cms.Reader, siteID cms.ID, ids []cms.ID) (drafts, lives map[cms.ID]*cms.Page, err error) {
	if drafts, err = r.PagesByID(ctx, siteID, cms.Draft, ids); err == nil {
		lives, err = r.PagesByID(ctx, siteID, cms.Live, ids)
	}
	return drafts, lives, err
}

const (
	// fewDirty is how many changed pages are sorted in memory. If there are more, the
	// list is read in its order, since it meets one soon.
	fewDirty = 1000
	// filterChunk is how many pages a filtered list reads at a time.
	filterChunk = 100
)

// listPages lists pages by their status, too, which the store knows only roughly.
func (f siteSnapshot) listPages(ctx context.Context, r cms.Reader, q cms.PageQuery, lv localeView) ([]cms.ListedPage, map[cms.ID]cms.PageStatus, error) {
	if q.Status != 0 && q.Status&^(cms.FilterNew|cms.FilterChanged) == 0 {
		ids, err := r.DirtyPages(ctx, q.SiteID, cms.NoID, fewDirty+1)
		if err != nil || len(ids) <= fewDirty {
			return f.listDirty(ctx, r, q, lv, ids, err)
		}
	}
	if q.Status == 0 {
		listed, err := r.Pages(ctx, q, f.localized())
		if err != nil {
			return nil, nil, err
		}
		statuses, err := lv.statuses(ctx, r, q, listed)
		return listed, statuses, err
	}
	var found []cms.ListedPage
	known := map[cms.ID]cms.PageStatus{}
	for chunk := q; ; {
		chunk.Limit = max(q.Limit, filterChunk)
		listed, err := r.Pages(ctx, chunk, f.localized())
		if err != nil {
			return nil, nil, err
		}
		statuses, err := lv.statuses(ctx, r, q, listed)
		if err != nil {
			return nil, nil, err
		}
		for _, l := range listed {
			if q.Status.Admits(statuses[l.ID], l.Values.IsOnline) {
				found = append(found, l)
				known[l.ID] = statuses[l.ID]
			}
		}
		if len(found) > q.Limit || len(listed) <= chunk.Limit {
			return found[:min(len(found), q.Limit+1)], known, nil
		}
		chunk.After = new(listed[len(listed)-1].Position(q.Sort))
	}
}

// listDirty lists pages among those that may differ from what is live.
func (f siteSnapshot) listDirty(ctx context.Context, r cms.Reader, q cms.PageQuery, lv localeView, ids []cms.ID, err error) ([]cms.ListedPage, map[cms.ID]cms.PageStatus, error) {
	if err != nil {
		return nil, nil, err
	}
	drafts, lives, err := draftsAndLives(ctx, r, q.SiteID, ids)
	if err != nil {
		return nil, nil, err
	}
	var found []cms.ListedPage
	known := map[cms.ID]cms.PageStatus{}
	for id, draft := range drafts {
		status, row := cms.StatusOf(*draft, lives[id], lv.locales), draft.In(lv.localeID)
		if !q.Status.Admits(status, true) || (!q.IncludeOffline && !row.Values.IsOnline) || !strings.HasPrefix(row.Values.Pathname, q.PathPrefix) || !q.Finds(row) {
			continue
		}
		if q.After != nil && q.Compare(row.Position(q.Sort), *q.After) <= 0 {
			continue
		}
		listed := cms.ListedPage{PageRow: row, Paths: draft.Paths()}
		found, known[id] = append(found, listed), status
	}
	slices.SortFunc(found, func(a, b cms.ListedPage) int { return q.Compare(a.Position(q.Sort), b.Position(q.Sort)) })
	return found[:min(len(found), q.Limit+1)], known, nil
}
