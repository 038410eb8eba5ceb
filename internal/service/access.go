package service

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"galley/internal/cms"
)

// Caller is the sender of a request: an app, or the holder of a Site key or of a
// preview token.
type Caller struct {
	App     *cms.App
	Site    *cms.Site    // set for a Site key and for a preview
	Preview *cms.Preview // set for a preview
	Session *cms.Session // set for an app that somebody is signed in to the console with

	Ends    *time.Time // when the key stops working; nil: it does not
	Request Request    // for the audit trail
}

// ID is the credential's id, for logs and limits; never the key itself.
func (c Caller) ID() cms.ID {
	switch {
	case c.App != nil:
		return c.App.ID
	case c.Preview != nil:
		return c.Preview.ID
	}
	return c.Site.ID
}

// Subjects are those whose changes invalidate what is known of the caller.
func (c Caller) Subjects() []cms.Subject {
	if c.Preview != nil {
		return []cms.Subject{{ID: c.Preview.ID}, {ID: c.Site.ID}}
	}
	if c.Session != nil {
		return []cms.Subject{{ID: c.App.ID}, {ID: c.Session.ID}}
	}
	return []cms.Subject{{ID: c.ID()}}
}

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
	s.usage.note(known.Caller, now)
	return known.Caller, nil
}

// Recognize finds the owner of a key in memory, if it is sure to be current.
func (s *Service) Recognize(key string) (Caller, bool) {
	now := s.now()
	known, ok := s.callers.GetIfPresent(cms.AppKey(key).Hash()) // keys are not kept in memory
	if !ok || !now.Before(known.until) || !s.changes.unchanged(known.asOf, known.about...) {
		return Caller{}, false
	}
	s.usage.note(known.Caller, now)
	return known.Caller, true
}

// knownCaller is the owner of a key.
type knownCaller struct {
	Caller
	about []cms.Subject
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
	var err error
	if appKey, ok := cms.ParseAppKey(key); ok {
		known.App = new(cms.App)
		*known.App, known.Ends, err = s.store.AppByKey(ctx, appKey.Hash(), now)
	} else if siteKey, ok := cms.ParseSiteKey(key); ok {
		known.Site = new(cms.Site)
		*known.Site, known.Ends, err = s.store.SiteByKey(ctx, siteKey, now)
	} else if token, ok := cms.ParsePreviewToken(key); ok {
		known.Preview, known.Site = new(cms.Preview), new(cms.Site)
		if *known.Preview, err = s.store.PreviewByToken(ctx, token.Hash(), now); err == nil {
			known.Ends = &known.Preview.ExpiresAt
			*known.Site, err = s.store.Site(ctx, known.Preview.SiteID)
		}
	} else if token, ok := cms.ParseSessionToken(key); ok {
		known.App, known.Session, known.Ends, err = s.findSession(ctx, token, now)
	}
	switch {
	case cms.CodeOf(err) == cms.CodeNotFound, known.App == nil && (known.Site == nil || known.Site.DeletedAt != nil):
		return known, cms.ErrUnauthorized
	case known.Ends != nil && known.Ends.Before(known.until):
		known.until = *known.Ends
	}
	known.about = known.Subjects()
	return known, err
}

// usage remembers when apps, sessions and previews were last used, so that a request need
// not write it.
type usage struct {
	mu   sync.Mutex
	used map[cms.ID]use
}

type use struct {
	kind    cms.Kind
	ownerID cms.ID // the workspace of an app or a session, the site of a preview
	appID   cms.ID // of a session
	at      time.Time
}

// note notes the use of an app, a session or a preview. The use of a Site key is not
// noted.
func (u *usage) note(who Caller, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case who.App != nil:
		u.used[who.App.ID] = use{kind: cms.KindApp, ownerID: who.App.WorkspaceID, at: at}
		if who.Session != nil {
			u.used[who.Session.ID] = use{kind: cms.KindSession, ownerID: who.App.WorkspaceID, appID: who.App.ID, at: at}
		}
	case who.Preview != nil:
		u.used[who.Preview.ID] = use{kind: cms.KindPreview, ownerID: who.Site.ID, at: at}
	}
}

// last is when something was used that is not stored yet.
func (u *usage) last(id cms.ID) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.used[id].at
}

func (u use) save(ctx context.Context, tx cms.Tx, id cms.ID) error {
	switch u.kind {
	case cms.KindSession:
		return tx.TouchSession(ctx, u.ownerID, u.appID, id, u.at)
	case cms.KindPreview:
		return tx.TouchPreview(ctx, u.ownerID, id, u.at)
	}
	return tx.TouchApp(ctx, u.ownerID, id, u.at)
}

// SaveUsage stores when apps, sessions and previews were last used.
func (s *Service) SaveUsage(ctx context.Context) error {
	s.usage.mu.Lock()
	used := s.usage.used
	s.usage.used = map[cms.ID]use{}
	s.usage.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	return s.write(ctx, func(tx cms.Tx) error {
		// All nodes use one order, or two could deadlock.
		for _, id := range cms.SortIDs(slices.Collect(maps.Keys(used))) {
			if err := used[id].save(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Audience is the kinds of credentials that may make a request, each with those
// before it.
type Audience int

// The audiences.
const (
	Apps Audience = iota
	SiteKeys
	Previews
	Anyone // whatever its scopes
)

// Allow checks the caller's scope, whatever the resource. Site keys and previews
// have no scopes: they read, where an endpoint allows it. Without a scope, only Site
// keys do.
func (c Caller) Allow(scope cms.Scope, audience Audience) error {
	switch {
	case audience == Anyone:
		return nil
	case c.App != nil && scope == "":
		return cms.Forbidden("An App key can't do this, use the key of the site")
	case c.Preview != nil && audience < Previews:
		return cms.Forbidden("A preview can't do this")
	case c.App == nil && audience < SiteKeys:
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

// SiteIDs are the only sites that the caller may reach; nil: all of its workspace.
func (c Caller) SiteIDs() []cms.ID {
	if c.App != nil {
		return c.App.SiteIDs
	}
	return []cms.ID{c.Site.ID}
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
// withdrawn. A preview reads its own version.
func (c Caller) mayRead(site cms.Site, ref VersionRef) error {
	if c.Preview != nil {
		if ref != c.DefaultVersion() {
			return cms.Forbidden("This preview is of another version, leave versionRef out")
		}
		return nil
	}
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
	if c.Preview != nil && c.Preview.PublishID != cms.NoID {
		return VersionRef{Version: cms.Live, Publish: c.Preview.PublishID}
	}
	if c.Preview == nil && c.App == nil && c.Site.KeyAccess == cms.AccessLive {
		return VersionRef{Version: cms.Live}
	}
	return VersionRef{Version: cms.Draft}
}

// DefaultLocale is the id of the locale in which the caller reads unless it names
// one; "" is that of the site.
func (c Caller) DefaultLocale() string {
	if c.Preview == nil || c.Preview.LocaleID == cms.NoID {
		return ""
	}
	return c.Preview.LocaleID.String()
}

var errOutside = cms.Forbidden("This is outside of the preview")

// maySee checks the right to a pathname of a site that the caller may reach.
func (c Caller) maySee(pathname string) error {
	if c.Preview != nil && !c.Preview.Covers(pathname) {
		return errOutside
	}
	return nil
}

// mayLookUp checks the right to what a reference names by its pathname, before it is
// looked up. A site that the caller may not reach is refused elsewhere.
func (c Caller) mayLookUp(ref Ref) error {
	if c.Preview == nil || ref.ID != cms.NoID || ref.SiteID != c.Site.ID {
		return nil
	}
	pathname, err := cms.CanonicalPathname(ref.Name)
	if err != nil {
		return nil //nolint:nilerr // no resource has it, which is reported elsewhere
	}
	return c.maySee(pathname)
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

func ofPreview(id cms.ID) target {
	return target{kind: cms.KindPreview, ref: Ref{ID: id}, exists: func(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
		_, err := existingPreview(r.Preview(ctx, siteID, id))
		return err
	}}
}

func ofPublish(id cms.ID) target { return target{kind: cms.KindPublish, ref: Ref{ID: id}} }
