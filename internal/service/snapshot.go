package service

import (
	"context"
	"sync"

	"galley/internal/cms"
)

// form is a site with its locales. Most reads and writes of pages need it, and
// it seldom changes: the statement that finds a page also returns the number of
// its site's form, by which the one in memory is known to be current.
type siteSnapshot struct {
	site     cms.Site
	locales  cms.Locales
	revision int64
	asOf     int64 // the version of the store before it was read
}

// forms remembers the forms of sites.
type snapshots struct {
	mu    sync.RWMutex
	known map[cms.ID]siteSnapshot
}

// maxForms bounds what is remembered.
const maxSnapshots = 20_000

// last returns the form that a site had when it was last read.
func (f *snapshots) last(siteID cms.ID) (siteSnapshot, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	known, ok := f.known[siteID]
	return known, ok
}

func (f *snapshots) keep(known siteSnapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxSnapshots {
		f.known = map[cms.ID]siteSnapshot{}
	}
	f.known[known.site.ID] = known
}

// isCurrent reports whether a form has the number that its site has now. After a
// failover that lost commits a number may come a second time, with another form:
// then everything counts as changed.
func (s *Service) isCurrent(f siteSnapshot, revision int64) bool {
	return f.revision == revision && s.changes.unchanged(f.asOf)
}

// form returns the form with a number, unless the site has another by now.
func (s *Service) siteSnapshot(ctx context.Context, from source, siteID cms.ID, revision int64) (siteSnapshot, bool) {
	known, ok := s.snapshots.last(siteID)
	if ok && s.isCurrent(known, revision) {
		return known, true
	}
	asOf := s.changes.version()
	err := from.View(ctx, func(r cms.Reader) (err error) {
		known, err = readSnapshot(ctx, r, siteID)
		return err
	})
	if err != nil {
		return known, false
	}
	known.asOf = asOf
	s.snapshots.keep(known)
	return known, known.revision == revision
}

// formIn returns the form of a site that the caller may reach, read in a view that
// began after a version of the store.
func (s *Service) snapshotIn(ctx context.Context, r cms.Reader, who Caller, siteID cms.ID, asOf int64) (siteSnapshot, error) {
	known, err := readSnapshot(ctx, r, siteID)
	if err != nil {
		return known, err
	}
	known.asOf = asOf
	s.snapshots.keep(known)
	_, err = who.checkSite(known.site, nil)
	return known, err
}

func readSnapshot(ctx context.Context, r cms.Reader, siteID cms.ID) (known siteSnapshot, err error) {
	if known.revision, err = r.Revision(ctx, siteID); err != nil {
		return known, err
	}
	if known.site, err = r.Site(ctx, siteID); err != nil {
		return known, err
	}
	known.locales, err = r.Locales(ctx, siteID)
	return known, err
}

// lockForm locks a site that the caller may reach, and returns its form.
func (s *Service) lockSnapshot(ctx context.Context, tx cms.Tx, who Caller, siteID cms.ID, lock cms.Lock) (siteSnapshot, error) {
	if who.mayReach(siteID) {
		revision, err := tx.LockRevision(ctx, who.WorkspaceID(), siteID, lock)
		if err == nil {
			return s.lockedSnapshot(ctx, tx, who, siteID, revision)
		}
		if cms.CodeOf(err) != cms.CodeNotFound {
			return siteSnapshot{}, err
		}
	}
	if _, err := who.lockSite(ctx, tx, siteID, lock); err != nil { // it tells which error it is
		return siteSnapshot{}, err
	}
	return readSnapshot(ctx, tx, siteID)
}

func (s *Service) lockedSnapshot(ctx context.Context, tx cms.Tx, who Caller, siteID cms.ID, revision int64) (siteSnapshot, error) {
	need(ctx, func(n *cms.Needs) { n.Site = &siteID })
	known, ok := s.snapshots.last(siteID)
	if !ok || !s.isCurrent(known, revision) {
		asOf := s.changes.version()
		var err error
		if known, err = readSnapshot(ctx, tx, siteID); err != nil {
			return known, err
		}
		known.asOf = asOf
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
func (s *Service) lockPageSnapshot(ctx context.Context, tx cms.Tx, who Caller, ref Ref, lock cms.Lock) (siteSnapshot, error) {
	if siteID, workspaceID, err := s.locate(ctx, cms.KindPage, ref); err == nil && workspaceID == who.WorkspaceID() &&
		who.mayReach(siteID) && (ref.SiteID == cms.NoID || ref.SiteID == siteID) {
		known, err := s.lockSnapshot(ctx, tx, who, siteID, lock)
		if code := cms.CodeOf(err); code != cms.CodeNotFound && code != cms.CodeForbidden {
			return known, err
		}
	}
	site, err := who.lockChildSite(ctx, tx, cms.KindPage, ref, pageExists(cms.Draft), lock)
	if err != nil {
		return siteSnapshot{}, err
	}
	return readSnapshot(ctx, tx, site.ID)
}

// admits reports whether the caller may read a version of the site.
func (f siteSnapshot) admits(who Caller, ref VersionRef) bool {
	_, err := who.checkSite(f.site, nil)
	return err == nil && who.mayRead(f.site, ref) == nil
}

// localized reports whether pages may have more than one pathname.
func (f siteSnapshot) localized() bool { return len(f.locales) > 1 }

// speak finds the locale that a request is about.
func (f siteSnapshot) viewLocale(idOrCode string) (localeView, error) {
	lv := localeView{id: f.site.DefaultLocaleID, code: f.site.DefaultLocale.Code, locales: f.locales}
	if idOrCode == "" {
		return lv, nil
	}
	return lv.in(f.site, idOrCode)
}
