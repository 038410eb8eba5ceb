package service

import (
	"cmp"
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
	Locale string // the code; "": a redirect of every locale
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

	redirects []cms.Change // the end of the list
}

// Summary counts the changes of a list. Kinds and locales without a change are
// left out.
type Summary struct {
	Total    int
	ByKind   map[cms.ChangeKind]int
	ByLocale map[string]int
}

func newSummary() Summary {
	return Summary{ByKind: map[cms.ChangeKind]int{}, ByLocale: map[string]int{}}
}

// add counts a change. A redirect of every locale counts as the default locale's.
func (s *Summary) add(c ChangeView, defaultLocale string) {
	s.Total++
	s.ByKind[c.Kind]++
	s.ByLocale[cmp.Or(c.Locale, defaultLocale)]++
}

// Changes lists what publishing the draft of a site, or a selection of it, would
// do.
func (s *Service) Changes(ctx context.Context, who Caller, siteID cms.ID, ask cms.SelectionRequest, q cms.ListQuery) (Review, error) {
	release, err := s.acquireReview(ctx, who.WorkspaceID())
	if err != nil {
		return Review{}, err
	}
	defer release()
	version, at, key := s.changes.version(), s.now(), fmt.Sprint(siteID, ask.PageIDs.Value, ask.RedirectIDs.Value, ask.Locales.Value)
	list, err := viewSite(ctx, s, who, ofSite(siteID), func(ctx context.Context, r cms.Reader, f siteSnapshot) (list Review, err error) {
		selected, err := f.selection(ctx, r, ask)
		if err != nil {
			return list, err
		}
		place, err := f.changePlace(ctx, r, q.After)
		if err != nil {
			return list, err
		}
		// This check follows the beginning of the view, which then has nothing newer.
		known, ok := s.knownReviews.GetIfPresent(key)
		if !ok || !s.isCurrentReview(known, siteID, at) {
			known = reviewed{version: version, at: at}
			list.List, err = f.reviewAll(ctx, r, selected, place, q.Limit, &known)
		} else {
			list.List, err = f.review(ctx, r, selected, place, q.Limit, known.redirects)
		}
		list.reviewed = known
		return list, err
	})
	if err == nil {
		s.knownReviews.Set(key, list.reviewed)
	}
	return list, err
}

// maxKnownReviews bounds the plans and summaries in memory.
const maxKnownReviews = 100

// isCurrentReview reports whether the plan and summary of a list still hold. The
// requests that page through the list then compute them once.
func (s *Service) isCurrentReview(known reviewed, siteID cms.ID, now time.Time) bool {
	maxAge := s.MaxAge()
	return s.changes.unchanged(known.version, cms.SubjectsOf(siteID, cms.Draft)...) && (maxAge == 0 || now.Sub(known.at) < maxAge)
}

// reviewAll lists changes after a place, and reads the whole list for its plan and
// summary.
func (f siteSnapshot) reviewAll(ctx context.Context, r cms.Reader, selected cms.Selection, place cms.ChangePlace, limit int, known *reviewed) (cms.List[ChangeView], error) {
	var views []ChangeView
	hash, sum := newPlanHash(), newSummary()
	err := f.everyChange(ctx, r, selected, func(c cms.Change) {
		view := f.viewChange(c)
		hash.add(c)
		sum.add(view, f.site.DefaultLocale.Code)
		if c.RedirectID != cms.NoID {
			known.redirects = append(known.redirects, c)
		}
		if len(views) <= limit && c.Place().Compare(place) > 0 {
			views = append(views, view)
		}
	})
	known.Plan, known.Summary = hash.plan(), sum
	return cms.CutList(views, limit), err
}

// review lists changes after a place. The changes of redirects are known.
func (f siteSnapshot) review(ctx context.Context, r cms.Reader, selected cms.Selection, place cms.ChangePlace, limit int, redirects []cms.Change) (cms.List[ChangeView], error) {
	var views []ChangeView
	note := func(c cms.Change) bool {
		if c.Place().Compare(place) > 0 {
			views = append(views, f.viewChange(c))
		}
		return len(views) <= limit
	}
	if place.RedirectID == cms.NoID {
		err := f.eachChange(ctx, r, selected, dirtyWalk{from: place.PageID, chunk: limit + 1}, func(_ cms.PageChange, changes []cms.Change) bool {
			return !slices.ContainsFunc(changes, func(c cms.Change) bool { return !note(c) })
		})
		if err != nil {
			return cms.List[ChangeView]{}, err
		}
	}
	for _, c := range redirects {
		if len(views) > limit || !note(c) {
			break
		}
	}
	return cms.CutList(views, limit), nil
}

// everyChange visits what publishing a selection would do, to pages and then to
// redirects.
func (f siteSnapshot) everyChange(ctx context.Context, r cms.Reader, selected cms.Selection, visit func(cms.Change)) error {
	var moved []cms.PageChange
	err := f.eachChange(ctx, r, selected, dirtyWalk{}, func(page cms.PageChange, changes []cms.Change) bool {
		for _, c := range changes {
			visit(c)
		}
		if len(changes) > 0 && len(pageMoves([]cms.PageChange{page}, f.locales)) > 0 {
			moved = append(moved, page)
		}
		return true
	})
	if err != nil {
		return err
	}
	plan, err := f.planRedirects(ctx, r, selected.Applied(f.site.DefaultLocaleID), moved)
	if err != nil {
		return err
	}
	for _, c := range plan.sorted() {
		if change, ok := c.Change(f.locales); ok {
			visit(change)
		}
	}
	return nil
}

// eachChange visits what publishing a selection would do to pages, until visit returns
// false.
func (f siteSnapshot) eachChange(ctx context.Context, r cms.Reader, selected cms.Selection, walk dirtyWalk, visit func(cms.PageChange, []cms.Change) bool) error {
	selected = selected.Applied(f.site.DefaultLocaleID)
	walk.only = selected.PageIDs
	return eachDirty(ctx, r, f.site.ID, walk, func(_ cms.ID, draft, live *cms.Page) bool {
		page := cms.PageChange{Before: live, After: cms.PublishPage(draft, live, selected, f.locales)}
		return visit(page, cms.Changes(page.Before, page.After, f.locales))
	})
}

// planHash computes the plan of a list of changes.
type planHash struct{ hash.Hash }

func newPlanHash() planHash { return planHash{sha256.New()} }

func (h planHash) add(c cms.Change) {
	enc := json.NewEncoder(h)
	for _, part := range c.Planned() {
		_ = enc.Encode(part) // plain values into a hash: neither fails
	}
}

func (h planHash) plan() string { return hex.EncodeToString(h.Sum(nil)) }

func (f siteSnapshot) viewChange(c cms.Change) ChangeView {
	code := f.site.DefaultLocale.Code
	if c.RedirectID != cms.NoID {
		code = ""
	}
	if l, ok := f.locales.ByID(c.LocaleID); ok {
		code = l.Code
	}
	return ChangeView{c, code}
}

// changePlace turns a cursor into a place in a list of changes. The change itself
// may be gone.
func (f siteSnapshot) changePlace(ctx context.Context, r cms.Reader, after cms.ID) (cms.ChangePlace, error) {
	if after == cms.NoID {
		return cms.ChangePlace{}, nil
	}
	places := cms.ChangePlaces(after, f.locales)
	ids := make([]cms.ID, len(places))
	for i, place := range places {
		ids[i] = place.PageID
	}
	known, err := r.Known(ctx, f.site.ID, cms.KindPage, ids)
	if err != nil {
		return cms.ChangePlace{}, err
	}
	for _, place := range places {
		if slices.Contains(known, place.PageID) {
			return place, nil
		}
	}
	redirects, err := r.Known(ctx, f.site.ID, cms.KindRedirect, []cms.ID{after})
	if err != nil {
		return cms.ChangePlace{}, err
	}
	if len(redirects) > 0 || cms.IsAutomaticID(f.site.ID, after) {
		return cms.ChangePlace{RedirectID: after}, nil
	}
	return cms.ChangePlace{}, cms.ErrCursor
}

// PublishChanges lists what a publish changed.
func (s *Service) PublishChanges(ctx context.Context, who Caller, id cms.ID, q cms.ListQuery) (cms.List[ChangeView], error) {
	return viewSite(ctx, s, who, ofPublish(id), func(ctx context.Context, r cms.Reader, f siteSnapshot) (list cms.List[ChangeView], err error) {
		p, err := r.Publish(ctx, f.site.ID, id)
		if err != nil {
			return list, err
		}
		place, err := f.changePlace(ctx, r, q.After)
		if err == nil {
			err = checkCursor(q, func() error { return changedBy(ctx, r, f.site.ID, id, place) })
		}
		if err != nil || p.Seq == 0 {
			return list, err
		}
		views, err := f.publishedChanges(ctx, r, p, place, q.Limit)
		return cms.CutList(views, q.Limit), err
	})
}

// publishedChanges computes more than limit changes after a place, if there are,
// from what was live before and after a publish.
func (f siteSnapshot) publishedChanges(ctx context.Context, r cms.Reader, p cms.Publish, place cms.ChangePlace, limit int) ([]ChangeView, error) {
	// Locales that were hidden after the publish are shown.
	f.locales = slices.Clone(f.locales)
	for i, l := range f.locales {
		if l.DeletedAt != nil && l.DeletedAt.After(*p.PublishedAt) {
			f.locales[i].DeletedAt = nil
		}
	}
	var views []ChangeView
	note := func(ids []cms.ID) error {
		before, err := liveAfter(ctx, r, f.site.ID, p.Seq-1, ids)
		if err != nil {
			return err
		}
		after, err := liveAfter(ctx, r, f.site.ID, p.Seq, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			for _, c := range cms.Changes(before[id], after[id], f.locales) {
				if c.Place().Compare(place) > 0 {
					views = append(views, f.viewChange(c))
				}
			}
		}
		return nil
	}
	if place.RedirectID != cms.NoID {
		return f.publishedRedirects(ctx, r, p, place.RedirectID, limit)
	}
	ids := []cms.ID{place.PageID} // it may have more changes after the place
	for len(ids) > 0 {
		if err := note(ids); err != nil || len(views) > limit {
			return views, err
		}
		var err error
		if ids, err = r.PublishedPages(ctx, f.site.ID, p.Seq, ids[len(ids)-1], limit); err != nil {
			return views, err
		}
	}
	redirects, err := f.publishedRedirects(ctx, r, p, cms.NoID, limit)
	return append(views, redirects...), err
}

// publishedRedirects computes more than limit changes of redirects after one, if there
// are, from what was live before and after a publish.
func (f siteSnapshot) publishedRedirects(ctx context.Context, r cms.Reader, p cms.Publish, after cms.ID, limit int) ([]ChangeView, error) {
	var views []ChangeView
	for len(views) <= limit {
		ids, err := r.PublishedRedirects(ctx, f.site.ID, p.Seq, after, limit+1)
		if err != nil || len(ids) == 0 {
			return views, err
		}
		before, err := redirectsLiveAfter(ctx, r, f.site.ID, p.Seq-1, ids)
		if err != nil {
			return nil, err
		}
		now, err := redirectsLiveAfter(ctx, r, f.site.ID, p.Seq, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			change := cms.RedirectChange{Before: before[id], After: now[id]}
			if change.Before == nil && change.After == nil {
				continue
			}
			if c, ok := change.Change(f.locales); ok && f.locales.Shows(c.LocaleID) {
				views = append(views, f.viewChange(c))
			}
		}
		after = ids[len(ids)-1]
	}
	return views, nil
}

// redirectsLiveAfter is liveAfter for redirects.
func redirectsLiveAfter(ctx context.Context, r cms.Reader, siteID cms.ID, seq int64, ids []cms.ID) (map[cms.ID]*cms.Redirect, error) {
	if seq == 0 {
		return map[cms.ID]*cms.Redirect{}, nil
	}
	return r.RedirectsByID(ctx, siteID, cms.AfterPublish(seq), ids)
}

// changedBy returns NotFound unless a publish changed what is at a place.
func changedBy(ctx context.Context, r cms.Reader, siteID, publishID cms.ID, place cms.ChangePlace) error {
	if place.RedirectID == cms.NoID {
		return changedPage(ctx, r, siteID, publishID, place.PageID)
	}
	p, err := r.Publish(ctx, siteID, publishID)
	if err != nil {
		return err
	}
	changed, err := r.PublishedRedirects(ctx, siteID, p.Seq, cms.IDBefore(place.RedirectID), 1)
	if err == nil && !slices.Contains(changed, place.RedirectID) {
		err = cms.NotFound(cms.KindPublish)
	}
	return err
}

// liveAfter are pages as they were live after a publish; before the first,
// none was.
func liveAfter(ctx context.Context, r cms.Reader, siteID cms.ID, seq int64, ids []cms.ID) (map[cms.ID]*cms.Page, error) {
	if seq == 0 {
		return map[cms.ID]*cms.Page{}, nil
	}
	return r.PagesByID(ctx, siteID, cms.AfterPublish(seq), ids)
}
