package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"time"

	"galley/internal/cms"
)

// ChangeView is a change as a reader sees it.
type ChangeView struct {
	cms.Change
	Locale string // the code
}

// Review is one page of the list of what a publish would do, with the plan and
// summary of the whole list.
type Review struct {
	cms.List[ChangeView]
	reviewed
}

// reviewed is what describes a whole list of changes.
type reviewed struct {
	Plan    string // a hash of the list
	Summary Summary
	version int64 // of the store before it was read
	at      time.Time
}

// Summary counts the changes of a list. Kinds and locales without a change are
// left out.
type Summary struct {
	Total    int
	ByKind   map[cms.ChangeKind]int
	ByLocale map[string]int
}

// Changes lists what publishing the draft of a site, or a selection of it, would
// do.
func (s *Service) Changes(ctx context.Context, who Caller, siteID cms.ID, ask cms.SelectionRequest, q cms.ListQuery) (Review, error) {
	release, err := s.acquireReview(ctx, who.WorkspaceID())
	if err != nil {
		return Review{}, err
	}
	defer release()
	var list Review
	version, at, key := s.changes.version(), s.now(), fmt.Sprint(siteID, ask.PageIDs.Value, ask.Locales.Value)
	err = s.view(ctx, who, &siteID, func(ctx context.Context, r cms.Reader) error {
		site, err := who.site(ctx, r, siteID)
		if err != nil {
			return err
		}
		locales, err := r.Locales(ctx, site.ID)
		if err != nil {
			return err
		}
		selected, err := selection(ctx, r, site, locales, ask)
		if err != nil {
			return err
		}
		place, err := changePlace(ctx, r, site, locales, q.After)
		if err != nil {
			return err
		}
		// What is known of the list is looked up after the view has begun: then
		// nothing that it shows can be newer.
		if known, ok := s.knownReviews.GetIfPresent(key); ok && s.isCurrentReview(known, site.ID, at) {
			list.reviewed = known
			list.List, err = changesAfter(ctx, r, site, locales, selected, place, q.Limit)
			return err
		}
		list.List, list.reviewed, err = reviewAll(ctx, r, site, locales, selected, place, q.Limit)
		list.version, list.at = version, at
		return err
	})
	if err == nil {
		s.knownReviews.Set(key, list.reviewed)
	}
	return list, err
}

// isCurrentReview reports whether the plan and summary of a list still hold, so
// that a walk through the list computes them once.
func (s *Service) isCurrentReview(known reviewed, siteID cms.ID, now time.Time) bool {
	maxAge := s.MaxAge()
	return s.changes.unchanged(known.version, cms.SubjectsOf(siteID, cms.Draft)...) && (maxAge == 0 || now.Sub(known.at) < maxAge)
}

// changesAfter lists changes after a place.
func changesAfter(ctx context.Context, r cms.Reader, site cms.Site, locales cms.Locales, selected cms.Selection, place cms.ChangePlace, limit int) (cms.List[ChangeView], error) {
	var views []ChangeView
	err := eachChange(ctx, r, site, locales, selected, dirtyWalk{from: place.PageID, chunk: limit + 1}, func(c cms.Change) bool {
		if c.Place().Compare(place) > 0 {
			views = append(views, viewChange(c, site, locales))
		}
		return len(views) <= limit
	})
	return cms.CutList(views, limit), err
}

// reviewAll is changesAfter that reads the whole list, for its plan and summary.
func reviewAll(ctx context.Context, r cms.Reader, site cms.Site, locales cms.Locales, selected cms.Selection, place cms.ChangePlace, limit int) (cms.List[ChangeView], reviewed, error) {
	var views []ChangeView
	hash, sum := newPlanHash(), Summary{ByKind: map[cms.ChangeKind]int{}, ByLocale: map[string]int{}}
	err := eachChange(ctx, r, site, locales, selected, dirtyWalk{}, func(c cms.Change) bool {
		view := viewChange(c, site, locales)
		hash.add(c)
		sum.Total++
		sum.ByKind[c.Kind]++
		sum.ByLocale[view.Locale]++
		if len(views) <= limit && c.Place().Compare(place) > 0 {
			views = append(views, view)
		}
		return true
	})
	return cms.CutList(views, limit), reviewed{Plan: hash.plan(), Summary: sum}, err
}

// eachChange visits what publishing a selection would do, until visit returns
// false.
func eachChange(ctx context.Context, r cms.Reader, site cms.Site, locales cms.Locales, selected cms.Selection, walk dirtyWalk, visit func(cms.Change) bool) error {
	selected = selected.Applied(site.DefaultLocaleID)
	walk.only = selected.PageIDs
	return eachDirty(ctx, r, site.ID, walk, func(_ cms.ID, draft, live *cms.Page) bool {
		for _, c := range cms.Changes(live, cms.PublishPage(draft, live, selected, locales), locales) {
			if !visit(c) {
				return false
			}
		}
		return true
	})
}

// planHash makes the plan of a list of changes.
type planHash struct{ hash.Hash }

func newPlanHash() planHash { return planHash{sha256.New()} }

func (h planHash) add(c cms.Change) {
	enc := json.NewEncoder(h)
	for _, part := range c.Planned() {
		_ = enc.Encode(part) // plain values into a hash: neither fails
	}
}

func (h planHash) plan() string { return hex.EncodeToString(h.Sum(nil)) }

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
