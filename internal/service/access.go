package service

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"galley/internal/cms"
)

// Caller is the sender of a request: an app, or the holder of a Site key.
type Caller struct {
	App  *cms.App
	Site *cms.Site // set for a Site key

	Request Request // for the audit trail
}

// ID is the credential's id, for logs and limits; never the key itself.
func (c Caller) ID() cms.ID {
	if c.App != nil {
		return c.App.ID
	}
	return c.Site.ID
}

// Subject is the subject whose changes invalidate what is known of the caller.
func (c Caller) Subject() cms.Subject { return cms.Subject{ID: c.ID()} }

// WorkspaceID is the workspace that the caller belongs to.
func (c Caller) WorkspaceID() cms.ID {
	if c.App != nil {
		return c.App.WorkspaceID
	}
	return c.Site.WorkspaceID
}

// now is the time in the precision of responses, so that what is stored is what
// is shown.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Millisecond) }

// Authenticate finds the owner of a key. Every bad key gets the same error, and
// a malformed one costs no query.
func (s *Service) Authenticate(ctx context.Context, key string) (Caller, error) {
	if who, ok := s.Recognize(key); ok {
		return who, nil
	}
	now := s.now()
	known, err := s.findKey(ctx, key, now)
	if err != nil {
		return Caller{}, err
	}
	s.callers.Set(cms.AppKey(key).Hash(), known)
	s.usage.note(known.App, now)
	return known.Caller, nil
}

// Recognize finds the owner of a key in memory, if it is sure to be current.
func (s *Service) Recognize(key string) (Caller, bool) {
	now := s.now()
	known, ok := s.callers.GetIfPresent(cms.AppKey(key).Hash()) // keys are not kept in memory
	if !ok || !now.Before(known.until) || !s.changes.unchanged(known.asOf, known.Subject()) {
		return Caller{}, false
	}
	s.usage.note(known.App, now)
	return known.Caller, true
}

// knownCaller is the owner of a key.
type knownCaller struct {
	Caller
	asOf  int64     // the version of the store before it was read
	until time.Time // it has to be read again from then on
}

const (
	maxCallers = 20_000
	// callerTTL bounds how long a key is accepted without a query, in case the
	// notification of its end is lost.
	callerTTL = time.Second
)

func (s *Service) findKey(ctx context.Context, key string, now time.Time) (knownCaller, error) {
	known := knownCaller{asOf: s.changes.version(), until: now.Add(callerTTL)}
	var end *time.Time
	var err error
	if appKey, ok := cms.ParseAppKey(key); ok {
		known.App = new(cms.App)
		*known.App, end, err = s.store.AppByKey(ctx, appKey.Hash(), now)
	} else if siteKey, ok := cms.ParseSiteKey(key); ok {
		known.Site = new(cms.Site)
		*known.Site, end, err = s.store.SiteByKey(ctx, siteKey, now)
	}
	switch {
	case cms.CodeOf(err) == cms.CodeNotFound, known.App == nil && (known.Site == nil || known.Site.DeletedAt != nil):
		return known, cms.ErrUnauthorized
	case end != nil && end.Before(known.until):
		known.until = *end
	}
	return known, err
}

// usage remembers when apps were last used, so that a request need not write it.
type usage struct {
	mu   sync.Mutex
	apps map[cms.ID]appUse
}

type appUse struct {
	workspaceID cms.ID
	at          time.Time
}

// note notes the use of an app. The use of a Site key is not noted.
func (u *usage) note(app *cms.App, at time.Time) {
	if app == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.apps[app.ID] = appUse{app.WorkspaceID, at}
}

// SaveUsage stores when apps were last used.
func (s *Service) SaveUsage(ctx context.Context) error {
	s.usage.mu.Lock()
	used := s.usage.apps
	s.usage.apps = map[cms.ID]appUse{}
	s.usage.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	return s.write(ctx, func(tx cms.Tx) error {
		// All nodes use one order, or two could deadlock.
		for _, id := range cms.SortIDs(slices.Collect(maps.Keys(used))) {
			if err := tx.TouchApp(ctx, used[id].workspaceID, id, used[id].at); err != nil {
				return err
			}
		}
		return nil
	})
}

// Allow checks the caller's scope, whatever the resource. Site keys have no
// scopes: they read, where an endpoint allows it. Without a scope, only they do.
func (c Caller) Allow(scope cms.Scope, siteKeyToo bool) error {
	switch {
	case c.App != nil && scope == "":
		return cms.Forbidden("An App key can't do this, use the key of the site")
	case c.App == nil && !siteKeyToo:
		return cms.Forbidden("A Site key can't do this, use an App key")
	case c.App != nil && !c.App.Has(scope):
		return cms.Forbidden("The App key lacks the scope " + string(scope))
	}
	return nil
}

// reaches checks the right to a site, deleted or not.
func (c Caller) reaches(site cms.Site) error {
	if c.WorkspaceID() != site.WorkspaceID || !c.mayReach(site.ID) {
		return cms.Forbidden("The API key has no access to this site")
	}
	return nil
}

// mayReach reports whether the caller has the right to a site of its workspace.
func (c Caller) mayReach(siteID cms.ID) bool {
	if c.App != nil {
		return c.App.Reaches(siteID)
	}
	return c.Site.ID == siteID
}

// checkSite returns a site that exists and that the caller may reach. It takes
// what a read returns.
func (c Caller) checkSite(site cms.Site, err error) (cms.Site, error) {
	if err == nil && site.DeletedAt != nil {
		err = cms.NotFound(cms.KindSite)
	}
	if err != nil {
		return cms.Site{}, err
	}
	return site, c.reaches(site)
}

// mayRead checks the right to a version of a site's pages. A key that reads the
// live version alone does not read what was live before: it may have been
// withdrawn.
func (c Caller) mayRead(site cms.Site, ref VersionRef) error {
	live := ref.Version == cms.Live && ref.Publish == cms.NoID
	if c.App == nil && !live && site.KeyAccess == cms.AccessLive {
		return cms.Forbidden("This Site key reads the live version only, pass versionRef=ref:live or leave it out")
	}
	return nil
}

// maySeeTrash refuses the lists of what is deleted to Site keys, for which it does
// not exist.
func (c Caller) maySeeTrash(deleted bool) error {
	if deleted && c.App == nil {
		return cms.Forbidden("A Site key can't do this, use an App key")
	}
	return nil
}

// DefaultVersion is the version that the caller reads unless it names one.
func (c Caller) DefaultVersion() VersionRef {
	if c.App == nil && c.Site.KeyAccess == cms.AccessLive {
		return VersionRef{Version: cms.Live}
	}
	return VersionRef{Version: cms.Draft}
}

// target is the resource that a request addresses: a site, or a child of one.
type target struct {
	kind cms.Kind
	ref  Ref
	// exists returns NotFound for a child that is deleted. It is nil where a
	// deleted resource is addressed.
	exists func(ctx context.Context, r cms.Reader, siteID, id cms.ID) error
	// deleted is set where a deleted site is addressed.
	deleted bool
}

// ofSite addresses a site.
func ofSite(id cms.ID) target { return target{kind: cms.KindSite, ref: Ref{SiteID: id}} }

// check refuses a caller that may not reach the site of the target.
func (t target) check(who Caller, site cms.Site) error {
	if t.deleted {
		return who.reaches(site)
	}
	_, err := who.checkSite(site, nil)
	return err
}

// ofPage addresses a page that a version has.
func ofPage(ref Ref, version cms.Version) target {
	return target{kind: cms.KindPage, ref: ref, exists: func(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
		_, err := existingPage(r.Page(ctx, siteID, version, id))
		return err
	}}
}

// ofEditedPage addresses a page that the draft or the live version has.
func ofEditedPage(id cms.ID) target {
	return target{kind: cms.KindPage, ref: Ref{ID: id}, exists: hasDraftOrLive}
}

// hasDraftOrLive returns NotFound for a page that neither version has.
func hasDraftOrLive(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
	_, err := existingPage(r.Page(ctx, siteID, cms.Draft, id))
	if cms.CodeOf(err) == cms.CodeNotFound {
		_, err = r.Page(ctx, siteID, cms.Live, id)
	}
	return err
}

// pageEverExisted returns NotFound for a page that has no history, either.
func pageEverExisted(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
	err := hasDraftOrLive(ctx, r, siteID, id)
	if cms.CodeOf(err) == cms.CodeNotFound {
		_, err = r.LastLive(ctx, siteID, id)
	}
	return err
}

func ofRoute(ref Ref) target {
	return target{kind: cms.KindRoute, ref: ref, exists: func(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
		_, err := existingRoute(r.Route(ctx, siteID, id))
		return err
	}}
}

func ofLocale(ref Ref) target {
	return target{kind: cms.KindLocale, ref: ref, exists: func(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
		locales, err := r.Locales(ctx, siteID)
		if err == nil {
			_, err = findLocale(locales, Ref{ID: id})
		}
		return err
	}}
}

func ofPublish(id cms.ID) target { return target{kind: cms.KindPublish, ref: Ref{ID: id}} }
