package service

import (
	"context"

	"galley/internal/cms"
)

// siteSnapshot is a site with its locales. Most requests need it and it seldom
// changes: the statement that finds a page also returns the revision of its
// site, by which the snapshot in memory is checked.
type siteSnapshot struct {
	site     cms.Site
	locales  cms.Locales // shared: never changed in place
	revision int64
	asOf     int64 // the version of the store before it was read
}

const maxSnapshots = 20_000

// read reads from one site, on the replica if that is current. A read that finds
// the site itself must set siteID. It may run a second time, on the store.
func (s *Service) read(ctx context.Context, who Caller, siteID *cms.ID, read func(context.Context, cms.Source) error) error {
	if s.Replica != nil && s.readReplica(ctx, who, siteID, read) {
		return nil
	}
	return read(ctx, s.store)
}

// viewSite reads from the site of a target in one consistent view.
func viewSite[T any](ctx context.Context, s *Service, who Caller, t target, read func(context.Context, cms.Reader, siteSnapshot) (T, error)) (result T, err error) {
	siteID := t.ref.SiteID
	err = s.read(ctx, who, &siteID, func(ctx context.Context, from cms.Source) error {
		asOf := s.changes.version()
		return from.View(ctx, func(r cms.Reader) error {
			f, err := s.readSite(ctx, r, who, t, asOf)
			if err != nil {
				return err
			}
			siteID = f.site.ID
			result, err = read(ctx, r, f)
			return err
		})
	})
	return result, err
}

// view reads from the store in one consistent view.
func view[T any](ctx context.Context, s *Service, read func(cms.Reader) (T, error)) (result T, err error) {
	err = s.store.View(ctx, func(r cms.Reader) (err error) {
		result, err = read(r)
		return err
	})
	return result, err
}

// checkCursor returns ErrCursor if find does not find the cursor of a list.
func checkCursor(q cms.ListQuery, find func() error) error {
	if q.After == cms.NoID {
		return nil
	}
	return cursorError(find())
}

// cursorError turns a cursor that is not found into a bad request.
func cursorError(err error) error {
	if cms.CodeOf(err) == cms.CodeNotFound {
		return cms.ErrCursor
	}
	return err
}

// readSite returns the site of a target, or the error that the caller gets. It
// checks the right to a site that the request names before it looks for a child;
// a child that does not exist is not found, whether or not the caller may reach
// its site. The reader must have begun after asOf.
func (s *Service) readSite(ctx context.Context, r cms.Reader, who Caller, t target, asOf int64) (f siteSnapshot, err error) {
	siteID := t.ref.SiteID
	if siteID == cms.NoID {
		if siteID, err = r.SiteOf(ctx, t.kind, t.ref.ID); err != nil {
			return f, err
		}
	}
	revision, err := r.Revision(ctx, siteID)
	if err == nil {
		f, err = s.snapshot(ctx, r, siteID, revision, asOf)
	}
	if err == nil {
		err = t.check(who, f.site)
	}
	if t.ref.SiteID != cms.NoID {
		if err == nil && t.ref.ID != cms.NoID {
			siteID, err = r.SiteOf(ctx, t.kind, t.ref.ID)
			if err == nil && siteID != t.ref.SiteID {
				err = cms.NotFound(t.kind)
			}
		}
		return f, err
	}
	switch cms.CodeOf(err) {
	case cms.CodeNotFound:
		err = cms.NotFound(t.kind) // it was deleted with its site
	case cms.CodeForbidden:
		if t.exists != nil {
			if missing := t.exists(ctx, r, siteID, t.ref.ID); missing != nil {
				err = missing
			}
		}
	}
	return f, err
}

// lockSite locks the site of a target, which locate has found unless siteID is
// NoID. It checks the right to the site before it waits for the lock.
func (s *Service) lockSite(ctx context.Context, tx cms.Tx, who Caller, t target, siteID cms.ID, lock cms.Lock) (siteSnapshot, error) {
	asOf := s.changes.version()
	if siteID == cms.NoID {
		f, err := s.readSite(ctx, tx, who, t, asOf)
		if err != nil {
			return f, err
		}
		siteID = f.site.ID
	}
	var f siteSnapshot
	revision, err := tx.LockRevision(ctx, who.WorkspaceID(), siteID, lock)
	if err == nil {
		f, err = s.snapshot(ctx, tx, siteID, revision, asOf)
	}
	if err == nil {
		err = t.check(who, f.site)
	}
	if code := cms.CodeOf(err); code == cms.CodeNotFound || code == cms.CodeForbidden {
		if _, refused := s.readSite(ctx, tx, who, t, asOf); refused != nil {
			err = refused // as a read would be
		}
	}
	need(ctx, func(n *cms.Needs) { n.Site = &siteID })
	return f, err
}

// snapshot returns the snapshot of a site with the revision that a view or
// transaction has found. It must have begun after asOf.
func (s *Service) snapshot(ctx context.Context, r cms.Reader, siteID cms.ID, revision, asOf int64) (siteSnapshot, error) {
	if known, ok := s.snapshots.GetIfPresent(siteID); ok && s.isCurrent(known, revision) {
		return known, nil
	}
	f := siteSnapshot{revision: revision, asOf: asOf}
	var err error
	if f.site, err = r.Site(ctx, siteID); err != nil {
		return f, err
	}
	if f.locales, err = r.Locales(ctx, siteID); err != nil {
		return f, err
	}
	if tx, ok := r.(*recordingTx); ok {
		tx.read = &f // it may have uncommitted changes, and is kept with them
	} else {
		s.snapshots.Set(siteID, f)
	}
	return f, nil
}

// isCurrent reports whether a snapshot has the present revision of its site.
// After a failover that lost commits a revision may be used a second time: then
// everything counts as changed.
func (s *Service) isCurrent(f siteSnapshot, revision int64) bool {
	return f.revision == revision && s.changes.unchanged(f.asOf)
}

// snapshotOf returns the snapshot with a revision that was read outside of a
// view, unless the site has another by now.
func (s *Service) snapshotOf(ctx context.Context, from cms.Source, siteID cms.ID, revision int64) (siteSnapshot, bool) {
	if known, ok := s.snapshots.GetIfPresent(siteID); ok && s.isCurrent(known, revision) {
		return known, true
	}
	asOf := s.changes.version()
	var f siteSnapshot
	err := from.View(ctx, func(r cms.Reader) error {
		now, err := r.Revision(ctx, siteID)
		if err == nil {
			f, err = s.snapshot(ctx, r, siteID, now, asOf)
		}
		return err
	})
	return f, err == nil && f.revision == revision
}

// admits reports whether the caller may read a version of the site.
func (f siteSnapshot) admits(who Caller, ref VersionRef) bool {
	_, err := who.checkSite(f.site, nil)
	return err == nil && who.mayRead(f.site, ref) == nil
}

// localized reports whether pages may have more than one pathname.
func (f siteSnapshot) localized() bool { return len(f.locales) > 1 }

// in returns the locale that a request names; "" is the default one.
func (f siteSnapshot) in(idOrCode string) (localeView, error) {
	if idOrCode == "" {
		return f.inDefault(), nil
	}
	return f.find(idOrCode)
}

func (f siteSnapshot) find(idOrCode string) (localeView, error) {
	locale, ok := f.locales.Find(idOrCode)
	if !ok {
		return localeView{}, cms.NotFound(cms.KindLocale)
	}
	if locale.ID == f.site.DefaultLocaleID {
		return localeView{id: locale.ID, code: locale.Code, locales: f.locales}, nil
	}
	return localeView{locale.ID, locale.ID, locale.Code, f.locales}, nil
}

func (f siteSnapshot) inDefault() localeView {
	return localeView{id: f.site.DefaultLocaleID, code: f.site.DefaultLocale.Code, locales: f.locales}
}
