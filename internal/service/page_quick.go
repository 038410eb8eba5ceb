package service

import (
	"context"
	"slices"
	"sync"

	"galley/internal/cms"
)

// Most reads are of pages that are there, by callers who may read them. Those
// take one look into the store: the page comes with the shape of its site, and
// the site and its locales are at hand for that shape. Whatever is not plainly
// so is left to the thorough way, which knows every answer.

// form is a site with its locales, as a shape had them.
type form struct {
	site    cms.Site
	locales cms.Locales
	shape   int64
}

// forms remembers the forms of sites.
type forms struct {
	mu    sync.RWMutex
	known map[cms.ID]form
}

// maxForms bounds what is remembered.
const maxForms = 20_000

// find returns the form that a site has in a shape.
func (f *forms) find(ctx context.Context, store cms.Store, siteID cms.ID, shape int64) (form, bool) {
	f.mu.RLock()
	known, ok := f.known[siteID]
	f.mu.RUnlock()
	if ok && known.shape == shape {
		return known, true
	}
	err := store.View(ctx, func(r cms.Reader) (err error) {
		known, err = readForm(ctx, r, siteID)
		return err
	})
	if err != nil {
		return known, false
	}
	f.keep(known)
	return known, known.shape == shape
}

func readForm(ctx context.Context, r cms.Reader, siteID cms.ID) (known form, err error) {
	if known.shape, err = r.Shape(ctx, siteID); err != nil {
		return known, err
	}
	if known.site, err = r.Site(ctx, siteID); err != nil {
		return known, err
	}
	known.locales, err = r.Locales(ctx, siteID)
	return known, err
}

func (f *forms) keep(known form) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxForms {
		f.known = map[cms.ID]form{}
	}
	f.known[known.site.ID] = known
}

// admits tells whether the caller may read a version of the site.
func (f form) admits(who Caller, ref VersionRef) bool {
	_, err := who.checkSite(f.site, nil)
	return err == nil && who.mayRead(f.site, ref) == nil
}

// speak finds the locale that a request is about.
func (f form) speak(idOrCode string) (speech, error) {
	spoken := speech{code: f.site.DefaultLocale.Code, locales: f.locales}
	if idOrCode == "" {
		return spoken, nil
	}
	return spoken.in(f.site, idOrCode)
}

// quickPage reads a page in one look.
func (s *Service) quickPage(ctx context.Context, who Caller, q ReadPage) (PageView, bool) {
	if q.Version.Publish != cms.NoID {
		return PageView{}, false
	}
	if q.Ref.ID != cms.NoID {
		found, err := s.store.FindPage(ctx, q.Version.Version, q.Ref.ID)
		if err != nil || found.DeletedAt != nil || (q.Ref.SiteID != cms.NoID && q.Ref.SiteID != found.SiteID) {
			return PageView{}, false
		}
		f, ok := s.forms.find(ctx, s.store, found.SiteID, found.Shape)
		if !ok || !f.admits(who, q.Version) {
			return PageView{}, false
		}
		spoken, err := f.speak(q.Locale)
		return spoken.view(found.Page), err == nil
	}
	pathname, err := cms.CanonicalPathname(q.Ref.Name)
	if err != nil {
		return PageView{}, false
	}
	found, err := s.store.FindPages(ctx, q.Ref.SiteID, q.Version.Version, pathname)
	if err != nil || len(found) == 0 {
		return PageView{}, false
	}
	f, ok := s.forms.find(ctx, s.store, q.Ref.SiteID, found[0].Shape)
	if !ok || !f.admits(who, q.Version) {
		return PageView{}, false
	}
	spoken, err := f.speak(q.Locale)
	if err != nil {
		return PageView{}, false
	}
	page, ok := effective(found, spoken.localeID, pathname)
	return spoken.view(page), ok && page.DeletedAt == nil
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

// quickPages lists pages of the default locale in one look. A cursor is taken
// only from memory.
func (s *Service) quickPages(ctx context.Context, who Caller, ask ReadPages) (PageList, bool) {
	q := ask.Query
	q.Version = ask.Version.Version
	if ask.Version.Publish != cms.NoID || q.IncludeOffline || ask.Locale != "" {
		return PageList{}, false
	}
	list := PageList{Pure: true}
	moment := s.changes.moment()
	if ask.After != cms.NoID {
		known, ok := s.positions.recall(who.ID(), q, ask.After)
		if !ok {
			return PageList{}, false
		}
		q.After, list.Pure = &known.PagePosition, s.changes.unchanged(known.moment, q.SiteID)
	}
	listed, err := s.store.ListPages(ctx, q)
	if err != nil || len(listed) == 0 {
		return PageList{}, false
	}
	f, ok := s.forms.find(ctx, s.store, q.SiteID, listed[0].Shape)
	if !ok || !f.admits(who, ask.Version) {
		return PageList{}, false
	}
	spoken, err := f.speak("")
	if err != nil {
		return PageList{}, false
	}
	cut := cms.CutList(listed, q.Limit)
	list.List = cms.List[PageView]{Items: make([]PageView, len(cut.Items)), HasMore: cut.HasMore}
	for i, l := range cut.Items {
		list.Items[i] = spoken.viewRow(l.PageRow, l.Paths)
	}
	s.endsAt(&list, who, q, moment)
	return list, true
}

// endsAt notes where a list ends, for the walk to go on from there.
func (s *Service) endsAt(list *PageList, who Caller, q cms.PageQuery, moment int64) {
	list.GiveOut = func() {}
	if n := len(list.Items); n > 0 {
		last := position{list.Items[n-1].Position(q.Sort), moment}
		list.GiveOut = func() { s.positions.remember(who.ID(), q, last) }
	}
}
