package service

import (
	"context"
	"slices"

	"galley/internal/cms"
)

// ChangeView is a change as a reader sees it.
type ChangeView struct {
	cms.Change
	Locale string // the code
}

// Review is one page of the list of what a publish would do, and the plan: a
// name for the whole list.
type Review struct {
	cms.List[ChangeView]
	Plan string
}

// Changes lists what publishing the whole draft of a site would do.
func (s *Service) Changes(ctx context.Context, who Caller, siteID cms.ID, q cms.ListQuery) (Review, error) {
	release, err := s.acquireReview(ctx, who.WorkspaceID())
	if err != nil {
		return Review{}, err
	}
	defer release()
	var list Review
	err = s.view(ctx, who, &siteID, func(ctx context.Context, r cms.Reader) error {
		site, err := who.site(ctx, r, siteID)
		if err != nil {
			return err
		}
		locales, err := r.Locales(ctx, site.ID)
		if err != nil {
			return err
		}
		place, err := changePlace(ctx, r, site, locales, q.After)
		if err != nil {
			return err
		}
		var views []ChangeView
		list.Plan, err = review(ctx, r, site, locales, func(c cms.Change) {
			if len(views) <= q.Limit && c.Place().Compare(place) > 0 {
				views = append(views, viewChange(c, site, locales))
			}
		})
		list.List = cms.CutList(views, q.Limit)
		return err
	})
	return list, err
}

func viewChange(c cms.Change, site cms.Site, locales cms.Locales) ChangeView {
	code := site.DefaultLocale.Code
	if l, ok := locales.ByID(c.LocaleID); ok {
		code = l.Code
	}
	return ChangeView{c, code}
}

// changePlace turns a cursor into a place in a list of changes. A change that
// is no longer there still has one.
func changePlace(ctx context.Context, r cms.Reader, site cms.Site, locales cms.Locales, after cms.ID) (cms.ChangePlace, error) {
	if after == cms.NoID {
		return cms.ChangePlace{}, nil
	}
	places := cms.ChangePlaces(after, locales)
	ids := make([]cms.ID, len(places))
	for i, place := range places {
		ids[i] = place.PageID
	}
	known, err := r.KnownPages(ctx, site.ID, ids)
	if err != nil {
		return cms.ChangePlace{}, err
	}
	for _, place := range places {
		if slices.Contains(known, place.PageID) {
			return place, nil
		}
	}
	return cms.ChangePlace{}, cms.ErrCursor
}

// PublishChanges lists what a publish changed.
func (s *Service) PublishChanges(ctx context.Context, who Caller, id cms.ID, q cms.ListQuery) (cms.List[ChangeView], error) {
	var list cms.List[ChangeView]
	var siteID cms.ID
	err := s.view(ctx, who, &siteID, func(ctx context.Context, r cms.Reader) error {
		site, err := who.childSite(ctx, r, cms.KindPublish, Ref{ID: id}, nil)
		if err != nil {
			return err
		}
		siteID = site.ID
		p, err := r.Publish(ctx, site.ID, id)
		if err != nil {
			return err
		}
		locales, err := r.Locales(ctx, site.ID)
		if err != nil {
			return err
		}
		place, err := changePlace(ctx, r, site, locales, q.After)
		if err == nil && q.After != cms.NoID {
			err = cursorError(changedPage(ctx, r, site.ID, id, place.PageID))
		}
		if err != nil || p.Seq == 0 {
			return err
		}
		views, err := publishedChanges(ctx, r, site, locales, p, place, q.Limit)
		list = cms.CutList(views, q.Limit)
		return err
	})
	return list, err
}

// publishedChanges works out more than limit changes after a place, if there
// are, from what was live before and after a publish.
func publishedChanges(ctx context.Context, r cms.Reader, site cms.Site, locales cms.Locales, p cms.Publish, place cms.ChangePlace, limit int) ([]ChangeView, error) {
	// What was changed then is told, though a locale is hidden now; one that has
	// been hidden since before it had no part in it.
	seq, shown := p.Seq, make(cms.Locales, len(locales))
	for i, l := range locales {
		if l.DeletedAt != nil && l.DeletedAt.After(*p.PublishedAt) {
			l.DeletedAt = nil
		}
		shown[i] = l
	}
	var views []ChangeView
	note := func(ids []cms.ID) error {
		before, err := liveAfter(ctx, r, site.ID, seq-1, ids)
		if err != nil {
			return err
		}
		after, err := liveAfter(ctx, r, site.ID, seq, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			for _, c := range cms.Changes(before[id], after[id], shown) {
				if c.Place().Compare(place) > 0 {
					views = append(views, viewChange(c, site, shown))
				}
			}
		}
		return nil
	}
	ids := []cms.ID{place.PageID} // it may have more changes after the place
	for {
		if err := note(ids); err != nil || len(views) > limit {
			return views, err
		}
		var err error
		if ids, err = r.PublishedPages(ctx, site.ID, seq, ids[len(ids)-1], limit); err != nil || len(ids) == 0 {
			return views, err
		}
	}
}

// liveAfter are pages as they were live after a publish; before the first,
// none was.
func liveAfter(ctx context.Context, r cms.Reader, siteID cms.ID, seq int64, ids []cms.ID) (map[cms.ID]*cms.Page, error) {
	if seq == 0 {
		return map[cms.ID]*cms.Page{}, nil
	}
	return r.PagesByID(ctx, siteID, cms.AfterPublish(seq), ids)
}
