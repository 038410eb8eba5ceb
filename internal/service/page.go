package service

import (
	"context"
	"errors"
	"slices"
	"strings"

	"galley/internal/cms"
)

// PageView is a page as a reader sees it in one version and locale.
type PageView struct {
	cms.PageRow
	Locale        string // the code
	Localized     bool   // the locale is not the default one
	Localizations []PageLocalization
	Content       []byte         // if asked for; nil: none
	Status        cms.PageStatus // "": the version is not the draft
	// Overrides are the fields that are the locale's own; nil for the default locale.
	Overrides []string
}

// PageLocalization is a locale, other than the default, that overrides
// something of a page.
type PageLocalization struct {
	LocaleID cms.ID
	Locale   string
	Pathname string
}

// ReadPage asks for one page.
type ReadPage struct {
	Ref     Ref
	Version VersionRef
	Locale  string // id or code; "" is the default locale
	Content bool   // whether to read the content, too
}

// Page reads a page: in one statement if it exists and the caller may read it,
// and otherwise in a view, which determines the error.
func (s *Service) Page(ctx context.Context, who Caller, q ReadPage) (PageView, error) {
	found, err := s.readPage(ctx, who, q)
	if err != nil {
		return PageView{}, err
	}
	view := found.lv.view(found.Page)
	view.Content, view.Status = found.content, found.status
	return view, nil
}

// localizedPage is a page with the locale in which it is read.
type localizedPage struct {
	cms.Page
	lv      localeView
	content []byte         // in the locale, if asked for
	status  cms.PageStatus // of a page of the draft
}

// readStatus compares a page of the draft with what is live, which is only read if
// they may differ.
func (p *localizedPage) readStatus(ctx context.Context, r cms.Reader, dirty bool) (err error) {
	p.status, err = statusOf(ctx, r, p.Page, dirty, p.lv.locales)
	return err
}

func (s *Service) readPage(ctx context.Context, who Caller, q ReadPage) (found localizedPage, err error) {
	if err := who.mayLookUp(q.Ref); err != nil {
		return found, err
	}
	siteID := q.Ref.SiteID
	err = s.read(ctx, who, &siteID, func(ctx context.Context, from cms.Source) (err error) {
		var ok bool
		if found, ok = s.findLocalizedPage(ctx, from, who, q); !ok {
			found, err = s.pageIn(ctx, from, who, q)
		}
		siteID = found.SiteID
		return err
	})
	if err == nil {
		err = who.maySee(found.In(found.lv.localeID).Values.Pathname)
	}
	return found, err
}

// findLocalizedPage reads a page in one statement, and its content in another.
func (s *Service) findLocalizedPage(ctx context.Context, from cms.Source, who Caller, q ReadPage) (page localizedPage, ok bool) {
	if q.Version.Publish != cms.NoID {
		return page, false
	}
	pathname, err := cms.CanonicalPathname(q.Ref.Name)
	found := make([]cms.FoundPage, 1)
	if q.Ref.ID != cms.NoID {
		found[0], err = from.FindPage(ctx, q.Version.Version, q.Ref.ID)
	} else if err == nil {
		found, err = from.FindPages(ctx, q.Ref.SiteID, q.Version.Version, pathname)
	}
	if err != nil || len(found) == 0 || (q.Ref.SiteID != cms.NoID && q.Ref.SiteID != found[0].SiteID) {
		return page, false
	}
	f, ok := s.snapshotOf(ctx, from, found[0].SiteID, found[0].Revision)
	if !ok || !f.admits(who, q.Version) {
		return page, false
	}
	page.lv, err = f.in(q.Locale)
	one := found[0]
	if q.Ref.ID == cms.NoID {
		one, ok = effective(found, page.lv.localeID, pathname)
	}
	page.Page = one.Page
	if !ok || err != nil || page.DeletedAt != nil {
		return page, false
	}
	if q.Content {
		err = page.readContent(ctx, from) // it may have been replaced, and purged
	}
	if err == nil {
		err = page.readStatus(ctx, from, one.Dirty)
	}
	return page, err == nil
}

// effective is the page that has a pathname in a locale, among those that claim
// it: by a pathname of its own there, or by its default one.
func effective(found []cms.FoundPage, localeID cms.ID, pathname string) (cms.FoundPage, bool) {
	for _, claimedIn := range []cms.ID{localeID, cms.NoID} {
		i := slices.IndexFunc(found, func(f cms.FoundPage) bool { return f.ClaimedIn == claimedIn })
		if i >= 0 {
			return found[i], found[i].In(localeID).Values.Pathname == pathname
		}
	}
	return cms.FoundPage{}, false
}

// pageIn reads a page in a view.
func (s *Service) pageIn(ctx context.Context, from cms.Source, who Caller, q ReadPage) (page localizedPage, err error) {
	t := ofPage(q.Ref, q.Version.Version)
	if q.Version.Publish != cms.NoID {
		t.exists = pageEverExisted
	}
	asOf := s.changes.version()
	err = from.View(ctx, func(r cms.Reader) error {
		f, err := s.readSite(ctx, r, who, t, asOf)
		if err != nil {
			return err
		}
		version, err := f.version(ctx, r, who, q.Version)
		if err != nil {
			return err
		}
		if page.lv, err = f.in(q.Locale); err != nil {
			return err
		}
		id, err := findPage(ctx, r, f.site, page.lv, version, q.Ref)
		if err != nil {
			return err
		}
		if page.Page, err = existingPage(r.Page(ctx, f.site.ID, version, id)); err == nil && q.Content {
			err = page.readContent(ctx, r)
		}
		if err == nil {
			err = page.readStatus(ctx, r, true)
		}
		return err
	})
	return page, err
}

// existingPage turns a deleted page into one that is not found.
func existingPage(page cms.Page, err error) (cms.Page, error) {
	if err == nil && page.DeletedAt != nil {
		err = cms.NotFound(cms.KindPage)
	}
	return page, err
}

// findPage turns a reference into a page's id. A pathname is looked up among
// those in effect in the locale.
func findPage(ctx context.Context, r cms.Reader, site cms.Site, lv localeView, version cms.Version, ref Ref) (cms.ID, error) {
	if ref.ID != cms.NoID {
		return ref.ID, nil
	}
	notFound := cms.NotFound(cms.KindPage)
	pathname, err := cms.CanonicalPathname(ref.Name)
	if err != nil {
		return cms.NoID, notFound
	}
	claims, err := r.Claims(ctx, site.ID, version, []string{pathname})
	if err != nil {
		return cms.NoID, err
	}
	if own := slices.IndexFunc(claims, func(c cms.Claim) bool { return c.LocaleID == lv.localeID && c.ByPage() }); own >= 0 {
		return claims[own].Owner, nil
	}
	def := slices.IndexFunc(claims, func(c cms.Claim) bool { return c.LocaleID == cms.NoID && c.ByPage() })
	if def < 0 {
		return cms.NoID, notFound
	}
	page, err := r.Page(ctx, site.ID, version, claims[def].Owner)
	if err == nil && page.In(lv.localeID).Values.Pathname != pathname {
		err = notFound // it has another pathname in this locale
	}
	return page.ID, err
}

// lockPage finds a page's draft and locks it. A transaction that had it locked
// may have changed the pathname by which it was found: then it is looked up again.
func lockPage(ctx context.Context, tx cms.Tx, site cms.Site, lv localeView, ref Ref) (cms.Page, error) {
	for {
		id, err := findPage(ctx, tx, site, lv, cms.Draft, ref)
		if err != nil {
			return cms.Page{}, err
		}
		page, err := existingPage(tx.LockPage(ctx, site.ID, cms.Draft, id))
		if err != nil || ref.ID != cms.NoID {
			return page, err
		}
		if asked, err := cms.CanonicalPathname(ref.Name); err != nil || page.In(lv.localeID).Values.Pathname == asked {
			return page, err
		}
	}
}

// localeView is the locale that a request is about, among those of its site.
type localeView struct {
	id       cms.ID // of the locale
	localeID cms.ID // of its rows; NoID: the default one
	code     string
	locales  cms.Locales
}

func (lv localeView) view(p cms.Page) PageView {
	return lv.viewRow(p.In(lv.localeID), p.Paths())
}

func (lv localeView) viewRow(row cms.PageRow, paths map[cms.ID]string) PageView {
	view := PageView{PageRow: row, Locale: lv.code, Localized: lv.localeID != cms.NoID, Localizations: []PageLocalization{}}
	if view.Localized {
		view.Overrides = []string{}
	}
	if view.Localized && row.LocaleID == lv.localeID {
		view.Overrides = row.Own.Names()
	}
	if len(paths) == 0 {
		return view
	}
	for _, l := range lv.locales {
		if pathname, ok := paths[l.ID]; ok && l.DeletedAt == nil {
			view.Localizations = append(view.Localizations, PageLocalization{l.ID, l.Code, pathname})
		}
	}
	slices.SortFunc(view.Localizations, func(a, b PageLocalization) int { return strings.Compare(a.Locale, b.Locale) })
	return view
}

// draft is a page of the draft as a reader sees it.
func (lv localeView) draft(p cms.Page, live *cms.Page) PageView {
	view := lv.view(p)
	view.Status = cms.StatusOf(p, live, lv.locales)
	return view
}

// statusOf is the status of a page of the draft. What is live is only read if they may
// differ.
func statusOf(ctx context.Context, r cms.Reader, page cms.Page, dirty bool, locales cms.Locales) (cms.PageStatus, error) {
	switch {
	case page.Version != cms.Draft:
		return "", nil
	case !dirty && page.DeletedAt == nil:
		return cms.PageLive, nil
	}
	live, err := liveOf(ctx, r, page)
	return cms.StatusOf(page, live, locales), err
}

// liveOf is what is live of a page of the draft; nil for nothing.
func liveOf(ctx context.Context, r cms.Reader, draft cms.Page) (*cms.Page, error) {
	if draft.PublishedAt == nil {
		return nil, nil //nolint:nilnil // it was never live
	}
	live, err := r.Page(ctx, draft.SiteID, cms.Live, draft.ID)
	if cms.CodeOf(err) == cms.CodeNotFound {
		return nil, nil //nolint:nilnil // it is live no longer
	}
	return &live, err
}

// CreatePage creates a page in the draft.
func (s *Service) CreatePage(ctx context.Context, who Caller, in Input[cms.NewPage]) (PageView, error) {
	n, err := in()
	if err != nil {
		return PageView{}, err
	}
	return inSite(ctx, s, who, ofSite(n.SiteID.Value), cms.LockShared, func(tx cms.Tx, f siteSnapshot) (view PageView, _ []written, err error) {
		page := s.newPage(f.site, n.PagePatch)
		// A new page has one pathname in every locale, so it conflicts with a
		// claim in any of them.
		claims := page.Claims(f.locales)
		err = tx.TakeFreePathname(ctx, f.site.ID, claims[0])
		if errors.Is(err, cms.ErrPathnameTaken) {
			err = s.moveClaims(ctx, tx, who.actor(), f, claimMove{page: &page, after: claims})
		}
		if err != nil {
			return view, nil, err
		}
		if err := tx.CreatePages(ctx, page); err != nil {
			return view, nil, err
		}
		view = f.inDefault().draft(page, nil)
		return view, wrotePage(nil, view), checkQuota(ctx, tx, who, cms.Usage{Pages: 1})
	})
}

func (s *Service) newPage(site cms.Site, patch cms.PagePatch) cms.Page {
	now := s.now()
	blank := cms.Page{ID: cms.NewID(), SiteID: site.ID, Version: cms.Draft, CreatedAt: now, UpdatedAt: now}
	blank.IsOnline = true
	return patch.Apply(blank, cms.NoID)
}

// PageInput is an Input for a page in its default locale or in another, which
// decides what may be null.
type PageInput func(localized bool) (cms.PagePatch, error)

// UpdatePage changes a page's draft, in the default locale or in another.
func (s *Service) UpdatePage(ctx context.Context, who Caller, ref Ref, locale string, in PageInput, match Match[PageView]) (PageView, error) {
	return s.changePage(ctx, who, ref, locale, match, func(lv localeView, page cms.Page) (cms.Page, error) {
		patch, err := in(lv.localeID != cms.NoID)
		if err != nil {
			return page, err
		}
		return patch.Apply(page, lv.localeID), nil
	})
}

// DeletePage deletes a page from the draft, in every locale. The locale is the
// one in which a pathname is looked up.
func (s *Service) DeletePage(ctx context.Context, who Caller, ref Ref, locale string, match Match[PageView]) error {
	_, err := s.changePage(ctx, who, ref, locale, match, func(_ localeView, page cms.Page) (cms.Page, error) {
		page.DeletedAt = new(s.now())
		return page, nil
	})
	return err
}

// DelocalizePage drops what a locale overrides of a page.
func (s *Service) DelocalizePage(ctx context.Context, who Caller, ref Ref, locale string, match Match[PageView]) error {
	_, err := s.changePage(ctx, who, ref, locale, match, func(lv localeView, page cms.Page) (cms.Page, error) {
		if lv.localeID == cms.NoID {
			return page, cms.BadField("locale", "must not be the default locale")
		}
		return page.Delocalize(lv.localeID), nil
	})
	return err
}

// RestorePage restores a page that was deleted from the draft.
func (s *Service) RestorePage(ctx context.Context, who Caller, id cms.ID, body Empty) (PageView, error) {
	t := target{kind: cms.KindPage, ref: Ref{ID: id}}
	return inSite(ctx, s, who, t, cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (view PageView, _ []written, err error) {
		before, err := tx.LockPage(ctx, f.site.ID, cms.Draft, id)
		if err == nil {
			err = body.check()
		}
		if err != nil {
			return view, nil, err
		}
		if before.DeletedAt == nil {
			return view, nil, cms.Conflict("The page is not deleted")
		}
		after := before
		after.DeletedAt = nil
		live, err := liveOf(ctx, tx, before)
		if err == nil {
			_, err = s.savePage(ctx, tx, who, f, before, &after)
		}
		if err == nil {
			err = checkQuota(ctx, tx, who, cms.Usage{Pages: 1})
		}
		view = f.inDefault().draft(after, live)
		return view, wrotePage(nil, view), err
	})
}

// changePage loads a page's draft, applies a rule and saves what changed.
func (s *Service) changePage(ctx context.Context, who Caller, ref Ref, locale string, match Match[PageView], rule func(localeView, cms.Page) (cms.Page, error)) (PageView, error) {
	lock := cms.LockShared
	if locale != "" {
		lock = cms.LockExclusive // a locale's pathnames may conflict with those of any page
	}
	return inSite(ctx, s, who, ofPage(ref, cms.Draft), lock, func(tx cms.Tx, f siteSnapshot) (view PageView, _ []written, err error) {
		lv, err := f.in(locale)
		if err != nil {
			return view, nil, err
		}
		before, err := lockPage(ctx, tx, f.site, lv, ref)
		if err != nil {
			return view, nil, err
		}
		live, err := liveOf(ctx, tx, before)
		if err != nil {
			return view, nil, err
		}
		after, err := rule(lv, before)
		was := lv.draft(before, live)
		if err == nil {
			err = match.check(was)
		}
		if err != nil {
			return view, nil, err
		}
		changed, err := s.savePage(ctx, tx, who, f, before, &after)
		view = lv.draft(after, live)
		if err != nil || !changed {
			return view, nil, err
		}
		if after.DeletedAt != nil { // in every locale
			lv = f.inDefault()
			was = lv.draft(before, live)
		}
		return view, wrotePage(was, lv.draft(after, live)), nil
	})
}

// savePage stores a page and the time of its change, and reports whether there
// was one.
func (s *Service) savePage(ctx context.Context, tx cms.Tx, who Caller, f siteSnapshot, before cms.Page, after *cms.Page) (bool, error) {
	if !s.stampChange(before, after) {
		return false, nil
	}
	move := claimMove{after, before.Claims(f.locales), after.Claims(f.locales)}
	if err := s.moveClaims(ctx, tx, who.actor(), f, move); err != nil {
		return false, err
	}
	return true, tx.UpdatePage(ctx, before, *after)
}

// stampChange sets the time of the change, if there is one.
func (s *Service) stampChange(before cms.Page, after *cms.Page) bool {
	if before.SameContent(*after) && (before.DeletedAt == nil) == (after.DeletedAt == nil) {
		return false
	}
	after.UpdatedAt = s.now()
	return true
}

// wrotePage is a write of a page; before is nil for a new one.
func wrotePage(before any, after PageView) []written {
	return []written{{kind: cms.KindPage, id: after.ID, siteID: after.SiteID, before: before, after: after}}
}
