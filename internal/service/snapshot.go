package service

import (
	"context"
	"sync"

	"galley/internal/cms"
)

// form is a site with its locales. Most reads and writes of pages need it, and
// it seldom changes: the statement that finds a page also returns the number of
// its site's form, by which the one in memory is known to be current.
type form struct {
	site    cms.Site
	locales cms.Locales
	shape   int64
	moment  int64 // the version of the store before it was read
}

// forms remembers the forms of sites.
type forms struct {
	mu    sync.RWMutex
	known map[cms.ID]form
}

// maxForms bounds what is remembered.
const maxForms = 20_000

// last returns the form that a site had when it was last read.
func (f *forms) last(siteID cms.ID) (form, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	known, ok := f.known[siteID]
	return known, ok
}

func (f *forms) keep(known form) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxForms {
		f.known = map[cms.ID]form{}
	}
	f.known[known.site.ID] = known
}

// isCurrent reports whether a form has the number that its site has now. After a
// failover that lost commits a number may come a second time, with another form:
// then everything counts as changed.
func (s *Service) isCurrent(f form, shape int64) bool {
	return f.shape == shape && s.changes.unchanged(f.moment)
}

// form returns the form with a number, unless the site has another by now.
func (s *Service) form(ctx context.Context, from source, siteID cms.ID, shape int64) (form, bool) {
	known, ok := s.forms.last(siteID)
	if ok && s.isCurrent(known, shape) {
		return known, true
	}
	moment := s.changes.version()
	err := from.View(ctx, func(r cms.Reader) (err error) {
		known, err = readForm(ctx, r, siteID)
		return err
	})
	if err != nil {
		return known, false
	}
	known.moment = moment
	s.forms.keep(known)
	return known, known.shape == shape
}

// formIn returns the form of a site that the caller may reach, read in a view that
// began after a version of the store.
func (s *Service) formIn(ctx context.Context, r cms.Reader, who Caller, siteID cms.ID, moment int64) (form, error) {
	known, err := readForm(ctx, r, siteID)
	if err != nil {
		return known, err
	}
	known.moment = moment
	s.forms.keep(known)
	_, err = who.checkSite(known.site, nil)
	return known, err
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

// lockForm locks a site that the caller may reach, and returns its form.
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
	if _, err := who.lockSite(ctx, tx, siteID, lock); err != nil { // it tells which error it is
		return form{}, err
	}
	return readForm(ctx, tx, siteID)
}

func (s *Service) lockedForm(ctx context.Context, tx cms.Tx, who Caller, siteID cms.ID, shape int64) (form, error) {
	need(ctx, func(n *cms.Needs) { n.Site = &siteID })
	known, ok := s.forms.last(siteID)
	if !ok || !s.isCurrent(known, shape) {
		moment := s.changes.version()
		var err error
		if known, err = readForm(ctx, tx, siteID); err != nil {
			return known, err
		}
		known.moment = moment
		// A transaction that is shared with others may have changes of theirs: the
		// form is kept once they are committed.
		if recording, ok := tx.(*recordingTx); ok {
			recording.read = &known
		}
	}
	_, err := who.checkSite(known.site, nil)
	return known, err
}

// lockPageForm is lockForm for the site of a page.
func (s *Service) lockPageForm(ctx context.Context, tx cms.Tx, who Caller, ref Ref, lock cms.Lock) (form, error) {
	if siteID, workspaceID, err := s.locate(ctx, cms.KindPage, ref); err == nil && workspaceID == who.WorkspaceID() &&
		who.mayReach(siteID) && (ref.SiteID == cms.NoID || ref.SiteID == siteID) {
		known, err := s.lockForm(ctx, tx, who, siteID, lock)
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

// admits reports whether the caller may read a version of the site.
func (f form) admits(who Caller, ref VersionRef) bool {
	_, err := who.checkSite(f.site, nil)
	return err == nil && who.mayRead(f.site, ref) == nil
}

// localized reports whether pages may have more than one pathname.
func (f form) localized() bool { return len(f.locales) > 1 }

// speak finds the locale that a request is about.
func (f form) speak(idOrCode string) (speech, error) {
	spoken := speech{id: f.site.DefaultLocaleID, code: f.site.DefaultLocale.Code, locales: f.locales}
	if idOrCode == "" {
		return spoken, nil
	}
	return spoken.in(f.site, idOrCode)
}
