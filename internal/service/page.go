package service

import (
	"context"
	"slices"
	"strings"

	"galley/internal/cms"
)

// PageView is a page as a reader sees it in one version and locale.
type PageView struct {
	cms.PageRow
	Locale        string // the code
	Localizations []PageLocalization
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
}

// Page reads a page: in one statement if it is there and the caller may read it,
// and otherwise in a view, which tells which error it is.
func (s *Service) Page(ctx context.Context, who Caller, q ReadPage) (PageView, error) {
	var view PageView
	siteID := q.Ref.SiteID
	err := s.read(ctx, who, &siteID, func(ctx context.Context, from source) (err error) {
		var ok bool
		if view, ok = s.findPageView(ctx, from, who, q); !ok {
			err = from.View(ctx, func(r cms.Reader) (err error) {
				view, err = s.pageIn(ctx, r, who, q)
				return err
			})
		}
		siteID = view.SiteID
		return err
	})
	return view, err
}

// findPageView reads a page in one statement.
func (s *Service) findPageView(ctx context.Context, from source, who Caller, q ReadPage) (PageView, bool) {
	if q.Version.Publish != cms.NoID {
		return PageView{}, false
	}
	if q.Ref.ID != cms.NoID {
		found, err := from.FindPage(ctx, q.Version.Version, q.Ref.ID)
		if err != nil || found.DeletedAt != nil || (q.Ref.SiteID != cms.NoID && q.Ref.SiteID != found.SiteID) {
			return PageView{}, false
		}
		f, ok := s.siteSnapshot(ctx, from, found.SiteID, found.Revision)
		if !ok || !f.admits(who, q.Version) {
			return PageView{}, false
		}
		lv, err := f.viewLocale(q.Locale)
		return lv.view(found.Page), err == nil
	}
	pathname, err := cms.CanonicalPathname(q.Ref.Name)
	if err != nil {
		return PageView{}, false
	}
	found, err := from.FindPages(ctx, q.Ref.SiteID, q.Version.Version, pathname)
	if err != nil || len(found) == 0 {
		return PageView{}, false
	}
	f, ok := s.siteSnapshot(ctx, from, q.Ref.SiteID, found[0].Revision)
	if !ok || !f.admits(who, q.Version) {
		return PageView{}, false
	}
	lv, err := f.viewLocale(q.Locale)
	if err != nil {
		return PageView{}, false
	}
	page, ok := effective(found, lv.localeID, pathname)
	return lv.view(page), ok && page.DeletedAt == nil
}

// effective is the page among those that hold a pathname by which it goes in a
// locale: by a pathname of its own there, or by the default one.
func effective(found []cms.FoundPage, localeID cms.ID, pathname string) (cms.Page, bool) {
	for _, claimedIn := range []cms.ID{localeID, cms.NoID} {
		i := slices.IndexFunc(found, func(f cms.FoundPage) bool { return f.ClaimedIn == claimedIn })
		if i >= 0 {
			return found[i].Page, found[i].In(localeID).Values.Pathname == pathname
		}
	}
	return cms.Page{}, false
}

// pageIn is a page as a view has it.
func (s *Service) pageIn(ctx context.Context, r cms.Reader, who Caller, q ReadPage) (PageView, error) {
	exists := pageExists(q.Version.Version)
	if q.Version.Publish != cms.NoID {
		exists = pageEverExisted
	}
	site, err := who.childSite(ctx, r, cms.KindPage, q.Ref, exists)
	if err != nil {
		return PageView{}, err
	}
	if err := who.mayRead(site, q.Version); err != nil {
		return PageView{}, err
	}
	version, err := s.version(ctx, r, site, q.Version)
	if err != nil {
		return PageView{}, err
	}
	lv, err := viewLocale(ctx, r, site, q.Locale)
	if err != nil {
		return PageView{}, err
	}
	id, err := findPage(ctx, r, site, lv, version, q.Ref)
	if err != nil {
		return PageView{}, err
	}
	page, err := existingPage(r.Page(ctx, site.ID, version, id))
	return lv.view(page), err
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
	if own := slices.IndexFunc(claims, func(c cms.Claim) bool { return c.LocaleID == lv.localeID && !c.ByRoute }); own >= 0 {
		return claims[own].Owner, nil
	}
	def := slices.IndexFunc(claims, func(c cms.Claim) bool { return c.LocaleID == cms.NoID && !c.ByRoute })
	if def < 0 {
		return cms.NoID, notFound
	}
	page, err := r.Page(ctx, site.ID, version, claims[def].Owner)
	if err == nil && page.In(lv.localeID).Values.Pathname != pathname {
		err = notFound // it goes by another pathname in this locale
	}
	return page.ID, err
}

// lockPage finds a page's draft and locks it. Who had it locked before may have
// given it another pathname than the one that it was found by.
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

// speech is the locale that a request is about, among those of its site.
type localeView struct {
	id       cms.ID // of the locale
	localeID cms.ID // of its rows; NoID: the default one
	code     string
	locales  cms.Locales
}

func viewLocale(ctx context.Context, r cms.Reader, site cms.Site, idOrCode string) (localeView, error) {
	locales, err := r.Locales(ctx, site.ID)
	if err != nil {
		return localeView{}, err
	}
	return siteSnapshot{site: site, locales: locales}.viewLocale(idOrCode)
}

// in is the same site in another locale.
func (sp localeView) in(site cms.Site, idOrCode string) (localeView, error) {
	locale, ok := sp.locales.Find(idOrCode)
	if !ok {
		return sp, cms.NotFound(cms.KindLocale)
	}
	if locale.ID == site.DefaultLocaleID {
		return localeView{id: locale.ID, code: locale.Code, locales: sp.locales}, nil
	}
	return localeView{locale.ID, locale.ID, locale.Code, sp.locales}, nil
}

func (sp localeView) view(p cms.Page) PageView {
	paths := make(map[cms.ID]string, len(p.Localizations))
	for id, l := range p.Localizations {
		paths[id] = l.Pathname
	}
	return sp.viewRow(p.In(sp.localeID), paths)
}

func (sp localeView) viewRow(row cms.PageRow, paths map[cms.ID]string) PageView {
	view := PageView{PageRow: row, Locale: sp.code, Localizations: []PageLocalization{}}
	if len(paths) == 0 {
		return view
	}
	for _, l := range sp.locales {
		if pathname, ok := paths[l.ID]; ok && l.DeletedAt == nil {
			view.Localizations = append(view.Localizations, PageLocalization{l.ID, l.Code, pathname})
		}
	}
	slices.SortFunc(view.Localizations, func(a, b PageLocalization) int { return strings.Compare(a.Locale, b.Locale) })
	return view
}

// CreatePage makes a page in the draft.
func (s *Service) CreatePage(ctx context.Context, who Caller, in Input[cms.NewPage]) (PageView, error) {
	n, err := in()
	if err != nil {
		return PageView{}, err
	}
	var view PageView
	err = s.inSite(ctx, who, cms.KindSite, Ref{ID: n.SiteID.Value}, cms.LockShared, func(tx cms.Tx) error {
		f, err := s.lockSnapshot(ctx, tx, who, n.SiteID.Value, cms.LockShared)
		if err != nil {
			return err
		}
		lv, err := f.viewLocale("")
		if err != nil {
			return err
		}
		page, err := s.createPage(ctx, tx, f.site, lv, n.PagePatch)
		if err != nil {
			return err
		}
		view = lv.view(page)
		return s.record(ctx, tx, who.actor(), wrotePage(page, nil, view))
	})
	return view, err
}

func (s *Service) newPage(site cms.Site, patch cms.PagePatch) cms.Page {
	now := s.now()
	blank := cms.Page{ID: cms.NewID(), SiteID: site.ID, Version: cms.Draft, CreatedAt: now, UpdatedAt: now}
	blank.IsOnline = true
	return patch.Apply(blank, cms.NoID)
}

func (s *Service) createPage(ctx context.Context, tx cms.Tx, site cms.Site, lv localeView, patch cms.PagePatch) (cms.Page, error) {
	page := s.newPage(site, patch)
	// A new page goes by one pathname in every locale, so whoever holds that is
	// in its way.
	for _, claim := range page.Claims(lv.locales) {
		if err := tx.TakeFreePathname(ctx, site.ID, claim); err != nil {
			return page, err
		}
	}
	return page, tx.CreatePages(ctx, page)
}

// PageInput is an Input for a page in its default locale or in another, which
// decides over what may be null.
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

// RestorePage brings a page that was deleted from the draft back.
func (s *Service) RestorePage(ctx context.Context, who Caller, id cms.ID, body Empty) (PageView, error) {
	var view PageView
	ref := Ref{ID: id}
	err := s.inSite(ctx, who, cms.KindPage, ref, cms.LockExclusive, func(tx cms.Tx) error {
		site, err := who.lockChildSite(ctx, tx, cms.KindPage, ref, nil, cms.LockExclusive)
		if err != nil {
			return err
		}
		lv, err := viewLocale(ctx, tx, site, "")
		if err != nil {
			return err
		}
		before, err := tx.LockPage(ctx, site.ID, cms.Draft, id)
		if err != nil {
			return err
		}
		if err := body.check(); err != nil {
			return err
		}
		if before.DeletedAt == nil {
			return cms.Conflict("The page is not deleted")
		}
		after := before
		after.DeletedAt = nil
		if _, err := s.savePage(ctx, tx, lv.locales, before, &after); err != nil {
			return err
		}
		view = lv.view(after)
		return s.record(ctx, tx, who.actor(), wrotePage(after, nil, view))
	})
	return view, err
}

type pageRule func(lv localeView, page cms.Page) (cms.Page, error)

// changePage loads a page's draft, applies a rule and saves what changed.
func (s *Service) changePage(ctx context.Context, who Caller, ref Ref, locale string, match Match[PageView], rule pageRule) (PageView, error) {
	lock := cms.LockShared
	if locale != "" {
		lock = cms.LockExclusive // a locale's pathnames are weighed against all others
	}
	var view PageView
	err := s.inSite(ctx, who, cms.KindPage, ref, lock, func(tx cms.Tx) error {
		f, err := s.lockPageSnapshot(ctx, tx, who, ref, lock)
		if err != nil {
			return err
		}
		site := f.site
		lv, err := f.viewLocale(locale)
		if err != nil {
			return err
		}
		// Without a locale in the request, a pathname is a default one.
		before, err := lockPage(ctx, tx, site, lv, ref)
		if err != nil {
			return err
		}
		after, err := rule(lv, before)
		if err != nil {
			return err
		}
		was := lv.view(before)
		if err := match.check(was); err != nil {
			return err
		}
		changed, err := s.savePage(ctx, tx, lv.locales, before, &after)
		view = lv.view(after)
		if err != nil || !changed {
			return err
		}
		return s.record(ctx, tx, who.actor(), wroteDraft(after, was, view))
	})
	return view, err
}

// savePage stores a page if anything about it changed, says when, and tells
// whether it did.
func (s *Service) savePage(ctx context.Context, tx cms.Tx, locales cms.Locales, before cms.Page, after *cms.Page) (bool, error) {
	if !s.stampChange(before, after) {
		return false, nil
	}
	if err := moveClaims(ctx, tx, after.SiteID, claimMove{*after, before.Claims(locales), after.Claims(locales)}); err != nil {
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

// wroteDraft is a change of a page's draft, which may be its end.
func wroteDraft(after cms.Page, was, is PageView) written {
	if after.DeletedAt != nil {
		return wrotePage(after, was, nil)
	}
	return wrotePage(after, was, is)
}
