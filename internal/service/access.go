package service

import (
	"context"
	"sync"
	"time"

	"galley/internal/cms"
)

// Caller is who sent a request: an app, or the holder of a site's own key.
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

// Subject is what all that is known about the caller follows from.
func (c Caller) Subject() cms.Subject { return cms.Subject{ID: c.ID()} }

// WorkspaceID is the workspace that the caller belongs to.
func (c Caller) WorkspaceID() cms.ID {
	if c.App != nil {
		return c.App.WorkspaceID
	}
	return c.Site.WorkspaceID
}

// Authenticate finds who a key belongs to. Whatever is wrong with the key,
// the answer is the same; a key that can't be one costs no look into the
// store.
func (s *Service) Authenticate(ctx context.Context, key string) (Caller, error) {
	if who, ok := s.Recognize(key); ok {
		return who, nil
	}
	now := s.now()
	known, err := s.findKey(ctx, key, now)
	if err != nil {
		return Caller{}, err
	}
	s.callers.keep(cms.AppKey(key).Hash(), known)
	s.usage.note(known.App, now)
	return known.Caller, nil
}

// Recognize finds who a key belongs to in memory, where that is sure to be
// right.
func (s *Service) Recognize(key string) (Caller, bool) {
	now := s.now()
	// The hash is of whatever was sent: nobody keeps keys in memory.
	known, ok := s.callers.find(cms.AppKey(key).Hash(), now)
	if !ok || !s.changes.unchanged(known.asOf, known.Subject()) {
		return Caller{}, false
	}
	s.usage.note(known.App, now)
	return known.Caller, true
}

func (s *Service) findKey(ctx context.Context, key string, now time.Time) (knownCaller, error) {
	known := knownCaller{asOf: s.changes.version(), until: now.Add(callerTTL)}
	var end *time.Time
	if appKey, ok := cms.ParseAppKey(key); ok {
		app, ends, err := s.store.AppByKey(ctx, appKey.Hash(), now)
		if err != nil {
			return known, unauthorized(err)
		}
		known.App, end = &app, ends
	} else if siteKey, ok := cms.ParseSiteKey(key); ok {
		site, ends, err := s.store.SiteByKey(ctx, siteKey, now)
		if err != nil {
			return known, unauthorized(err)
		}
		if site.DeletedAt != nil {
			return known, cms.ErrUnauthorized
		}
		known.Site, end = &site, ends
	} else {
		return known, cms.ErrUnauthorized
	}
	if end != nil && end.Before(known.until) {
		known.until = *end
	}
	return known, nil
}

// callerTTL bounds how long a key is taken for good without a look into the
// store, should word of its end be lost.
const callerTTL = time.Second

// callers remembers whose keys are whose, by the keys' hashes.
type callers struct {
	mu    sync.RWMutex
	known map[cms.KeyHash]knownCaller
}

type knownCaller struct {
	Caller
	asOf  int64     // when it was read
	until time.Time // looked up anew from then on
}

// maxCallers bounds what is remembered.
const maxCallers = 20_000

func (c *callers) find(hash cms.KeyHash, now time.Time) (knownCaller, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	known, ok := c.known[hash]
	return known, ok && now.Before(known.until)
}

func (c *callers) keep(hash cms.KeyHash, known knownCaller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCallers {
		c.known = map[cms.KeyHash]knownCaller{}
	}
	c.known[hash] = known
}

func unauthorized(err error) error {
	if cms.CodeOf(err) == cms.CodeNotFound {
		return cms.ErrUnauthorized
	}
	return err
}

// Allow checks the caller's scope, whatever the resource. Site keys have no
// scopes: they read, where an endpoint says that they may.
func (c Caller) Allow(scope cms.Scope, siteKeyToo bool) error {
	switch {
	case c.App == nil && !siteKeyToo:
		return cms.Forbidden("A Site key can't do this, use an App key")
	case c.App != nil && !c.App.Has(scope):
		return cms.Forbidden("The App key lacks the scope " + string(scope))
	}
	return nil
}

// reaches checks the right to a site that exists.
func (c Caller) reaches(site cms.Site) error {
	if c.WorkspaceID() != site.WorkspaceID || !c.mayReach(site.ID) {
		return cms.Forbidden("The API key has no access to this site")
	}
	return nil
}

// mayReach tells whether the caller has the right to a site, if that is of the
// same workspace.
func (c Caller) mayReach(siteID cms.ID) bool {
	if c.App != nil {
		return c.App.Reaches(siteID)
	}
	return c.Site.ID == siteID
}

// mayRead checks the right to a version of a site's pages. What was live once
// may have been taken away since, so a key that reads the live version alone
// does not read it.
func (c Caller) mayRead(site cms.Site, ref VersionRef) error {
	live := ref.Version == cms.Live && ref.Publish == cms.NoID
	if c.App == nil && !live && site.KeyAccess == cms.AccessLive {
		return cms.Forbidden("This Site key reads the live version only, pass versionRef=ref:live or leave it out")
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

// site loads a site that exists and that the caller may reach.
func (c Caller) site(ctx context.Context, r cms.Reader, id cms.ID) (cms.Site, error) {
	need(ctx, func(n *cms.Needs) { n.Site = &id })
	return c.checkSite(r.Site(ctx, id))
}

// lockSite is site for a transaction that writes. The right to the site comes
// before its lock: strangers must not wait for it.
func (c Caller) lockSite(ctx context.Context, tx cms.Tx, id cms.ID, lock cms.Lock) (cms.Site, error) {
	if site, err := c.site(ctx, tx, id); err != nil {
		return site, err
	}
	return c.checkSite(tx.LockSite(ctx, id, lock))
}

func (c Caller) checkSite(site cms.Site, err error) (cms.Site, error) {
	if err != nil {
		return cms.Site{}, err
	}
	if site.DeletedAt != nil {
		return cms.Site{}, cms.NotFound(cms.KindSite)
	}
	return site, c.reaches(site)
}

// siteOf finds the id of the site that a reference is about. A child that is
// named by an id of another site is not found.
func siteOf(ctx context.Context, r cms.Reader, kind cms.Kind, ref Ref) (cms.ID, error) {
	if ref.ID == cms.NoID {
		return ref.SiteID, nil
	}
	siteID, err := r.SiteOf(ctx, kind, ref.ID)
	if err == nil && ref.SiteID != cms.NoID && siteID != ref.SiteID {
		err = cms.NotFound(kind)
	}
	return siteID, err
}

// childSite loads the site that a reference is about. A site named in the
// request is answered for first, so that nothing is told about what is in it.
// Otherwise a child that does not exist is not found, whoever asks: exists
// tells, and is nil where a deleted child is what is asked for.
func (c Caller) childSite(ctx context.Context, r cms.Reader, kind cms.Kind, ref Ref, exists childExists) (cms.Site, error) {
	if ref.SiteID != cms.NoID {
		site, err := c.site(ctx, r, ref.SiteID)
		if err != nil {
			return site, err
		}
		_, err = siteOf(ctx, r, kind, ref)
		return site, err
	}
	siteID, err := siteOf(ctx, r, kind, ref)
	if err != nil {
		return cms.Site{}, err
	}
	site, err := c.site(ctx, r, siteID)
	switch cms.CodeOf(err) {
	case cms.CodeNotFound:
		return site, cms.NotFound(kind) // it went with its site
	case cms.CodeForbidden:
		if exists != nil {
			if gone := exists(ctx, r, siteID, ref.ID); gone != nil {
				return site, gone
			}
		}
	}
	return site, err
}

// childExists answers NotFound for a child that is deleted.
type childExists func(ctx context.Context, r cms.Reader, siteID, id cms.ID) error

func pageExists(version cms.Version) childExists {
	return func(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
		_, err := existingPage(r.Page(ctx, siteID, version, id))
		return err
	}
}

// pageEverExisted answers NotFound for a page that has no history, either.
func pageEverExisted(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
	err := hasDraftOrLive(ctx, r, siteID, id)
	if cms.CodeOf(err) == cms.CodeNotFound {
		_, err = r.LastLive(ctx, siteID, id)
	}
	return err
}

func routeExists(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
	_, err := existingRoute(r.Route(ctx, siteID, id))
	return err
}

func localeExists(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
	locales, err := r.Locales(ctx, siteID)
	if err != nil {
		return err
	}
	_, err = findLocale(locales, Ref{ID: id})
	return err
}

// lockChildSite is childSite for a transaction that writes.
func (c Caller) lockChildSite(ctx context.Context, tx cms.Tx, kind cms.Kind, ref Ref, exists childExists, lock cms.Lock) (cms.Site, error) {
	site, err := c.childSite(ctx, tx, kind, ref, exists)
	if err != nil {
		return site, err
	}
	return c.checkSite(tx.LockSite(ctx, site.ID, lock))
}
