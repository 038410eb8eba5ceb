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
	// GiveOut remembers where the list ends, for the walk to go on from there.
	// It is to be called each time that the list is given out.
	OnSend func()
}

// Pages lists the pages of a site: in one statement, or two to find the cursor,
// where the caller may read it, and otherwise in a view.
func (s *Service) Pages(ctx context.Context, who Caller, ask ReadPages) (PageList, error) {
	var list PageList
	siteID := ask.Query.SiteID
	err := s.read(ctx, who, &siteID, func(ctx context.Context, from source) (err error) {
		var ok bool
		if list, ok = s.findPages(ctx, from, who, ask); !ok {
			list, err = s.pagesIn(ctx, from, who, ask)
		}
		return err
	})
	return list, err
}

// findPages lists pages outside of a view. The locale is looked up in the last
// known form of the site: the rows tell whether the site still has it.
func (s *Service) findPages(ctx context.Context, from source, who Caller, ask ReadPages) (PageList, bool) {
	f, ok := s.snapshots.last(ask.Query.SiteID)
	if !ok || ask.Version.Publish != cms.NoID {
		return PageList{}, false
	}
	lv, err := f.viewLocale(ask.Locale)
	if err != nil {
		return PageList{}, false
	}
	q := ask.Query
	q.Version, q.LocaleID = ask.Version.Version, lv.localeID
	asOf, pure := s.changes.version(), true
	if ask.After != cms.NoID {
		if known, ok := s.givenPosition(walkOf(who, q, lv), ask.After); ok {
			q.After, pure = &known.PagePosition, s.changes.unchanged(known.asOf, cms.SubjectsOf(q.SiteID, q.Version)...)
		} else {
			cursor, err := from.FindPage(ctx, q.Version, ask.After)
			if err != nil || cursor.SiteID != q.SiteID {
				return PageList{}, false
			}
			q.After = new(cursor.In(q.LocaleID).Position(q.Sort))
		}
	}
	listed, err := from.Pages(ctx, q, f.localized())
	if err != nil || len(listed) == 0 || !s.isCurrent(f, listed[0].Revision) || !f.admits(who, ask.Version) {
		return PageList{}, false
	}
	return s.newPageList(who, lv, q, listed, asOf, pure), true
}

// pagesIn lists pages in a view.
func (s *Service) pagesIn(ctx context.Context, from source, who Caller, ask ReadPages) (PageList, error) {
	var list PageList
	asOf := s.changes.version()
	err := from.View(ctx, func(r cms.Reader) error {
		q := ask.Query
		f, err := s.snapshotIn(ctx, r, who, q.SiteID, asOf)
		if err != nil {
			return err
		}
		if err := who.mayRead(f.site, ask.Version); err != nil {
			return err
		}
		if q.Version, err = s.version(ctx, r, f.site, ask.Version); err != nil {
			return err
		}
		lv, err := f.viewLocale(ask.Locale)
		if err != nil {
			return err
		}
		q.LocaleID = lv.localeID
		var pure bool
		if q.After, pure, err = s.pagePosition(ctx, r, walkOf(who, q, lv), q, ask.After); err != nil {
			return err
		}
		listed, err := r.Pages(ctx, q, f.localized())
		list = s.newPageList(who, lv, q, listed, asOf, pure)
		return err
	})
	return list, err
}

// newPageList makes a list from a read of one row more than the limit.
func (s *Service) newPageList(who Caller, lv localeView, q cms.PageQuery, listed []cms.ListedPage, asOf int64, pure bool) PageList {
	cut := cms.CutList(listed, q.Limit)
	list := PageList{List: cms.List[PageView]{Items: make([]PageView, len(cut.Items)), HasMore: cut.HasMore}, Pure: pure, OnSend: func() {}}
	for i, l := range cut.Items {
		list.Items[i] = lv.viewRow(l.PageRow, l.Paths)
	}
	if n := len(cut.Items); n > 0 {
		w, last := walkOf(who, q, lv), position{cut.Items[n-1].Position(q.Sort), asOf}
		list.OnSend = func() { s.positions.remember(w, last, s.clock()) }
	}
	return list
}

// givenPosition is where an item stood when a walk was given it.
func (s *Service) givenPosition(w walk, after cms.ID) (position, bool) {
	return s.positions.recall(w, after, !s.store.Shared(), s.clock())
}

// pagePosition turns a cursor into a position in the list, and reports whether
// the item is there now.
func (s *Service) pagePosition(ctx context.Context, r cms.Reader, w walk, q cms.PageQuery, after cms.ID) (at *cms.PagePosition, current bool, err error) {
	if after == cms.NoID {
		return nil, true, nil // from the beginning
	}
	if known, ok := s.givenPosition(w, after); ok {
		return &known.PagePosition, s.changes.unchanged(known.asOf, cms.SubjectsOf(q.SiteID, q.Version)...), nil
	}
	page, err := r.Page(ctx, q.SiteID, q.Version, after)
	if q.Version == cms.Live && cms.CodeOf(err) == cms.CodeNotFound {
		page, err = r.LastLive(ctx, q.SiteID, after)
	}
	if cms.CodeOf(err) == cms.CodeNotFound {
		return nil, false, cms.ErrCursor
	}
	if err != nil {
		return nil, false, err
	}
	return new(page.In(q.LocaleID).Position(q.Sort)), true, nil
}
