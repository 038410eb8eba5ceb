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
	moment  int64 // before it was read
}

// forms remembers the forms of sites.
type forms struct {
	mu    sync.RWMutex
	known map[cms.ID]form
}

// maxForms bounds what is remembered.
const maxForms = 20_000

// last returns the form that a site had when it was last looked at.
func (f *forms) last(siteID cms.ID) (form, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	known, ok := f.known[siteID]
	return known, ok
}

// isCurrent tells whether a form is the one of the shape that a site has. After a failover that lost
// something, a shape may come a second time with other content: whatever makes
// everything doubtful makes forms so, too.
func (s *Service) isCurrent(f form, shape int64) bool {
	return f.shape == shape && s.changes.unchanged(f.moment)
}

// knownForm returns the form that a site has in a shape, if it is remembered.
func (s *Service) knownForm(siteID cms.ID, shape int64) (form, bool) {
	known, ok := s.forms.last(siteID)
	return known, ok && s.isCurrent(known, shape)
}

// form returns the form that a site has in a shape, unless it has another by
// now.
func (s *Service) form(ctx context.Context, from source, siteID cms.ID, shape int64) (form, bool) {
	known, ok := s.knownForm(siteID, shape)
	if !ok {
		known, ok = s.learnForm(ctx, from, siteID)
	}
	return known, ok && known.shape == shape
}

// learnForm reads the form that a site has now, and remembers it.
func (s *Service) learnForm(ctx context.Context, from source, siteID cms.ID) (known form, ok bool) {
	moment := s.changes.moment()
	err := from.View(ctx, func(r cms.Reader) (err error) {
		known, err = readForm(ctx, r, siteID)
		return err
	})
	if err != nil {
		return known, false
	}
	known.moment = moment
	s.forms.keep(known)
	return known, true
}

// formIn is the form of a site that exists and that the caller may reach, as a
// view has it that began after a moment.
func (s *Service) formIn(ctx context.Context, r cms.Reader, who Caller, siteID cms.ID, moment int64) (form, error) {
	shape, err := r.Shape(ctx, siteID)
	if err != nil {
		return form{}, err
	}
	known, ok := s.knownForm(siteID, shape)
	if !ok {
		if known, err = readForm(ctx, r, siteID); err != nil {
			return known, err
		}
		known.moment = moment
		s.forms.keep(known)
	}
	_, err = who.checkSite(known.site, nil)
	return known, err
}

// lockForm locks a site that exists and that the caller may reach, and returns
// its form.
func (s *Service) lockForm(ctx context.Context, tx cms.Tx, who Caller, siteID cms.ID, lock cms.Lock) (form, error) {
	if who.mayReach(siteID) {
		shape, err := tx.LockShape(ctx, who.WorkspaceID(), siteID, lock)
		if err == nil {
			return s.lockedForm(ctx, tx, who, siteID, shape)
		}
		if cms.CodeOf(err) != cms.CodeNotFound {
			return form{}, err
		}
	}
	if _, err := who.lockSite(ctx, tx, siteID, lock); err != nil { // it knows why
		return form{}, err
	}
	return readForm(ctx, tx, siteID)
}

func (s *Service) lockedForm(ctx context.Context, tx cms.Tx, who Caller, siteID cms.ID, shape int64) (form, error) {
	known, ok := s.knownForm(siteID, shape)
	if !ok {
		var err error
		// It is not kept: the transaction may be the one that changed it. What is
		// then committed is read for those who come next.
		if known, err = readForm(ctx, tx, siteID); err != nil {
			return known, err
		}
		if watched, ok := tx.(*watchedTx); ok {
			watched.unknown = siteID
		}
	}
	_, err := who.checkSite(known.site, nil)
	return known, err
}

// lockPageForm is lockForm for the site of a page that is named by its id. What
// is not plainly there and allowed is left to the thorough way.
func (s *Service) lockPageForm(ctx context.Context, tx cms.Tx, who Caller, ref Ref, lock cms.Lock) (form, error) {
	if ref.ID != cms.NoID && ref.SiteID == cms.NoID && (who.App == nil || who.App.SiteIDs == nil) {
		var known form
		siteID, shape, err := tx.LockShapeOf(ctx, who.WorkspaceID(), cms.KindPage, ref.ID, lock)
		if err == nil {
			known, err = s.lockedForm(ctx, tx, who, siteID, shape)
		}
		if code := cms.CodeOf(err); code != cms.CodeNotFound && code != cms.CodeForbidden {
			return known, err
		}
	}
	site, err := who.lockChildSite(ctx, tx, cms.KindPage, ref, pageExists(cms.Draft), lock)
	if err != nil {
		return form{}, err
	}
	return readForm(ctx, tx, site.ID)
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
	spoken := speech{id: f.site.DefaultLocaleID, code: f.site.DefaultLocale.Code, locales: f.locales}
	if idOrCode == "" {
		return spoken, nil
	}
	return spoken.in(f.site, idOrCode)
}

// quickPage reads a page in one look.
func (s *Service) quickPage(ctx context.Context, from source, who Caller, q ReadPage) (PageView, bool) {
	if q.Version.Publish != cms.NoID {
		return PageView{}, false
	}
	if q.Ref.ID != cms.NoID {
		found, err := from.FindPage(ctx, q.Version.Version, q.Ref.ID)
		if err != nil || found.DeletedAt != nil || (q.Ref.SiteID != cms.NoID && q.Ref.SiteID != found.SiteID) {
			return PageView{}, false
		}
		f, ok := s.form(ctx, from, found.SiteID, found.Shape)
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
	found, err := from.FindPages(ctx, q.Ref.SiteID, q.Version.Version, pathname)
	if err != nil || len(found) == 0 {
		return PageView{}, false
	}
	f, ok := s.form(ctx, from, q.Ref.SiteID, found[0].Shape)
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

// localized tells whether pages may have more than one pathname.
func (f form) localized() bool { return len(f.locales) > 1 }

// quickPages lists pages in one look, or two if it has to find out where the
// cursor stands. Which locale is asked for is read from the form that the site
// last had: what the look finds tells whether it still has.
func (s *Service) quickPages(ctx context.Context, from source, who Caller, ask ReadPages) (PageList, bool) {
	f, ok := s.forms.last(ask.Query.SiteID)
	if !ok || ask.Version.Publish != cms.NoID {
		return PageList{}, false
	}
	spoken, err := f.speak(ask.Locale)
	if err != nil {
		return PageList{}, false
	}
	q := ask.Query
	q.Version, q.LocaleID = ask.Version.Version, spoken.localeID
	list := PageList{Pure: true}
	moment := s.changes.moment()
	if ask.After != cms.NoID {
		if known, ok := s.whereItWas(walkOf(who, q, spoken), ask.After); ok {
			q.After, list.Pure = &known.PagePosition, s.changes.unchanged(known.moment, cms.SubjectsOf(q.SiteID, q.Version)...)
		} else {
			cursor, err := from.FindPage(ctx, q.Version, ask.After)
			if err != nil || cursor.SiteID != q.SiteID {
				return PageList{}, false
			}
			q.After = new(cursor.In(q.LocaleID).Position(q.Sort))
		}
	}
	listed, err := from.Pages(ctx, q, f.localized())
	if err != nil || len(listed) == 0 || !s.isCurrent(f, listed[0].Shape) || !f.admits(who, ask.Version) {
		return PageList{}, false
	}
	list.List = spoken.viewList(listed, q.Limit)
	list.from = listRead{f, spoken, q, moment}
	s.endsAt(&list, who)
	return list, true
}

// endsAt notes where a list ends, for the walk to go on from there.
func (s *Service) endsAt(list *PageList, who Caller) {
	list.GiveOut = func() {}
	if n, in := len(list.Items), list.from; n > 0 {
		list.GiveOut = s.goOnFrom(walkOf(who, in.query, in.spoken), position{list.Items[n-1].Position(in.query.Sort), in.moment})
	}
}

// goOnFrom is what remembers where a walk stands.
func (s *Service) goOnFrom(w walk, last position) func() {
	return func() { s.positions.remember(w, last, s.clock()) }
}

// whereItWas is where a walk's last item was when it was given out.
func (s *Service) whereItWas(w walk, after cms.ID) (position, bool) {
	return s.positions.recall(w, after, !s.store.Shared(), s.clock())
}
