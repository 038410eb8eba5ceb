package service

import (
	"context"

	"galley/internal/cms"
)

// ReadPages asks for one page of a page list. Version, LocaleID and After of the
// query are filled in from the rest.
type ReadPages struct {
	Query   cms.PageQuery
	Version VersionRef
	Locale  string // id or code; "" is the default locale
	After   cms.ID
}

// PageList is one page of a page list.
type PageList struct {
	cms.List[PageView]
	// Pure reports that the list depends on the site alone, and not on what the
	// caller was shown before.
	Pure bool
	// OnSend remembers where the list ends, so that the next request continues
	// there. It must be called each time that the list is sent.
	OnSend func()
}

// Pages lists the pages of a site: in one statement, or two to find the cursor,
// if the caller may read it, and otherwise in a view.
func (s *Service) Pages(ctx context.Context, who Caller, ask ReadPages) (PageList, error) {
	var list PageList
	if err := who.maySeeTrash(ask.Query.Deleted || ask.Query.Status&cms.FilterDeleted != 0); err != nil {
		return list, err
	}
	siteID := ask.Query.SiteID
	if who.Preview != nil && siteID == who.Site.ID {
		var ok bool
		if ask.Query.PathPrefix, ask.Query.Under, ok = who.Preview.Within(ask.Query.PathPrefix); !ok {
			return list, errOutside
		}
	}
	err := s.read(ctx, who, &siteID, func(ctx context.Context, from cms.Source) (err error) {
		var ok bool
		if list, ok = s.findPages(ctx, from, who, ask); !ok {
			list, err = s.pagesIn(ctx, from, who, ask)
		}
		return err
	})
	return list, err
}

// findPages lists pages outside of a view. The locale is looked up in the last
// known snapshot of the site: the rows have the revision of the site.
func (s *Service) findPages(ctx context.Context, from cms.Source, who Caller, ask ReadPages) (PageList, bool) {
	f, ok := s.snapshots.GetIfPresent(ask.Query.SiteID)
	if !ok || ask.Version.Publish != cms.NoID || ask.Query.Status != 0 || ask.Query.Search != "" {
		return PageList{}, false
	}
	lv, err := f.in(ask.Locale)
	if err != nil {
		return PageList{}, false
	}
	q := ask.Query
	q.Version, q.LocaleID = ask.Version.Version, lv.localeID
	asOf := s.changes.version()
	pure, err := s.setPosition(who, &q, lv, ask.After, func() (cms.Page, error) {
		cursor, err := from.FindPage(ctx, q.Version, ask.After)
		if err == nil && cursor.SiteID != q.SiteID {
			err = cms.ErrCursor
		}
		return cursor.Page, err
	})
	if err != nil {
		return PageList{}, false
	}
	listed, err := from.Pages(ctx, q, f.localized())
	if err != nil || len(listed) == 0 || !s.isCurrent(f, listed[0].Revision) || !f.admits(who, ask.Version) {
		return PageList{}, false
	}
	statuses, err := lv.statuses(ctx, from, q, listed)
	return s.newPageList(who, lv, q, listed, statuses, asOf, pure), err == nil
}

// pagesIn lists pages in a view.
func (s *Service) pagesIn(ctx context.Context, from cms.Source, who Caller, ask ReadPages) (PageList, error) {
	var list PageList
	asOf := s.changes.version()
	err := from.View(ctx, func(r cms.Reader) error {
		q := ask.Query
		f, err := s.readSite(ctx, r, who, ofSite(q.SiteID), asOf)
		if err != nil {
			return err
		}
		if q.Version, err = f.version(ctx, r, who, ask.Version); err != nil {
			return err
		}
		lv, err := f.in(ask.Locale)
		if err != nil {
			return err
		}
		q.LocaleID = lv.localeID
		pure, err := s.setPosition(who, &q, lv, ask.After, func() (cms.Page, error) {
			page, err := r.Page(ctx, q.SiteID, q.Version, ask.After)
			if q.Version == cms.Live && cms.CodeOf(err) == cms.CodeNotFound {
				page, err = r.LastLive(ctx, q.SiteID, ask.After)
			}
			return page, cursorError(err)
		})
		if err != nil {
			return err
		}
		listed, statuses, err := f.listPages(ctx, r, q, lv)
		list = s.newPageList(who, lv, q, listed, statuses, asOf, pure)
		return err
	})
	return list, err
}

// setPosition turns a cursor into a position in the list: that at which the item
// was sent to the caller, or else its present one. It reports whether these are
// the same.
func (s *Service) setPosition(who Caller, q *cms.PageQuery, lv localeView, after cms.ID, find func() (cms.Page, error)) (current bool, err error) {
	if after == cms.NoID {
		return true, nil
	}
	if known, ok := s.positions.recall(walkOf(who, *q, lv), after, !s.store.Shared(), s.clock()); ok {
		q.After = &known.PagePosition
		return s.changes.unchanged(known.asOf, cms.SubjectsOf(q.SiteID, q.Version)...), nil
	}
	page, err := find()
	if err == nil {
		q.After = new(page.In(q.LocaleID).Position(q.Sort))
	}
	return true, err
}

// newPageList creates a list from one row more than the limit.
func (s *Service) newPageList(who Caller, lv localeView, q cms.PageQuery, listed []cms.ListedPage, statuses map[cms.ID]cms.PageStatus, asOf int64, pure bool) PageList {
	cut := cms.CutList(listed, q.Limit)
	list := PageList{List: cms.List[PageView]{Items: make([]PageView, len(cut.Items)), HasMore: cut.HasMore}, Pure: pure, OnSend: func() {}}
	for i, l := range cut.Items {
		list.Items[i] = lv.viewRow(l.PageRow, l.Paths)
		list.Items[i].Status = statuses[l.ID]
	}
	if n := len(cut.Items); n > 0 {
		w, last := walkOf(who, q, lv), position{cut.Items[n-1].Position(q.Sort), asOf}
		list.OnSend = func() { s.positions.remember(w, last, s.clock()) }
	}
	return list
}
