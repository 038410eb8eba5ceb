// Package cms has the types of Galley (sites, locales, pages, routes, apps) and
// their rules. It has no SQL, HTTP or JSON; clocks, ids and storage are passed in.
package cms

import (
	"context"
	"errors"
	"time"
)

// Store is the database. The suite in storetest checks this contract on every
// engine.
//
// A method that finds nothing returns NotFound of its kind. Deleted resources are
// found, with DeletedAt set, but not listed. A store that can't be reached returns
// Unavailable.
type Store interface {
	Source

	// InTx runs a callback in one transaction, which is durable when InTx returns
	// nil. The callback may run more than once and must have no other effect.
	InTx(ctx context.Context, write func(Tx) error) error

	// Ping checks that the store can be reached and has the right schema.
	Ping(ctx context.Context) error

	// Close closes every connection.
	Close() error
}

// Replica is a copy of a store that is updated with a delay.
type Replica interface {
	Source

	// Mark commits a new mark in the store itself.
	Mark(ctx context.Context) error

	// Marked reports whether the copy has the last mark, and so everything that
	// was committed before. It returns ErrNoReplica for a promoted copy.
	Marked(ctx context.Context) (bool, error)
}

// Source is where reads go: a store or its replica.
type Source interface {
	Reader

	// View runs a callback whose reads all see the same state.
	View(ctx context.Context, read func(Reader) error) error
}

// ErrNoReplica says that a database follows no other one.
var ErrNoReplica = errors.New("it is no standby: it takes writes of its own")

// Reader has the reads of a store.
type Reader interface {
	Workspace(ctx context.Context, id ID) (Workspace, error)
	// Workspaces are all of them, oldest first.
	Workspaces(ctx context.Context) ([]Workspace, error)
	// Usage is how much a workspace has, if its sites have been counted, at a cost that
	// grows with its sites alone.
	Usage(ctx context.Context, workspaceID ID) (Usage, error)
	// UncountedSites are those of a workspace, deleted ones included, that CountSite is
	// to count before Usage.
	UncountedSites(ctx context.Context, workspaceID ID) ([]ID, error)

	App(ctx context.Context, workspaceID, id ID) (App, error)
	// AppOf finds an app of any workspace.
	AppOf(ctx context.Context, id ID) (App, error)
	// AppByKey finds the app of a valid key, and when the key expires, if it does.
	AppByKey(ctx context.Context, hash KeyHash, now time.Time) (App, *time.Time, error)
	// Apps lists up to q.Limit+1 apps after the cursor, by id.
	Apps(ctx context.Context, workspaceID ID, q ListQuery) ([]App, error)

	Site(ctx context.Context, id ID) (Site, error)
	// SiteByKey finds the site of a public key that works at the given time,
	// and when the key stops working, if it does.
	SiteByKey(ctx context.Context, key ID, now time.Time) (Site, *time.Time, error)
	// Sites lists up to q.Limit+1 sites after the cursor, by id; only those
	// named unless only is nil.
	Sites(ctx context.Context, workspaceID ID, only []ID, q SiteQuery) ([]Site, error)
	// SitesOf returns the workspaces of the sites that are not deleted.
	SitesOf(ctx context.Context, ids []ID) (map[ID]ID, error)
	// SitesByOrigin are up to two sites of a workspace with an origin, their own or
	// that of a locale; only those named unless only is nil.
	SitesByOrigin(ctx context.Context, workspaceID ID, only []ID, origin string) ([]ID, error)
	// SiteOf finds the site that a locale, page, route, publish or preview belongs to.
	SiteOf(ctx context.Context, kind Kind, id ID) (ID, error)

	// Locales are all locales of a site, deleted ones included, by id.
	Locales(ctx context.Context, siteID ID) (Locales, error)

	Page(ctx context.Context, siteID ID, version Version, id ID) (Page, error)
	// Known are those of the ids that are or were resources of a kind in a site.
	Known(ctx context.Context, siteID ID, kind Kind, ids []ID) ([]ID, error)
	// LastLive is a page that is not live now, as it last was.
	LastLive(ctx context.Context, siteID, id ID) (Page, error)
	// PagesByID are the pages that the version has, by id.
	PagesByID(ctx context.Context, siteID ID, version Version, ids []ID) (map[ID]*Page, error)
	// FindPage finds a page by its id alone, and FindPages those that hold a
	// pathname of a site in any locale, in one statement.
	FindPage(ctx context.Context, version Version, id ID) (FoundPage, error)
	FindPages(ctx context.Context, siteID ID, version Version, pathname string) ([]FoundPage, error)
	// Revision is a number that changes with the site and its locales.
	Revision(ctx context.Context, siteID ID) (int64, error)
	// Pages lists up to q.Limit+1 rows after the position, without their contents, in
	// one statement unless it searches.
	Pages(ctx context.Context, q PageQuery, withPaths bool) ([]ListedPage, error)
	// HiddenLive are the pages that were last live with locales that are hidden,
	// with the values of those locales alone.
	HiddenLive(ctx context.Context, siteID ID, ids []ID) (map[ID]*Page, error)
	// CountPaths counts the pages of a list, up to one more than q.Limit.
	CountPaths(ctx context.Context, q PageQuery) (int, error)
	// LocalizedPages are the ids of the pages, deleted ones included, that have
	// overrides of a locale.
	LocalizedPages(ctx context.Context, siteID ID, version Version, localeID ID) ([]ID, error)

	// Content is the value of a content that a page of the site refers to.
	Content(ctx context.Context, siteID ID, digest Digest) ([]byte, error)
	// ContentSite is the first site after one, by id, that has contents.
	ContentSite(ctx context.Context, after ID) (ID, error)
	// UnindexedSite is the first site after one, by id, that has pages which the index
	// of searches does not have yet.
	UnindexedSite(ctx context.Context, after ID) (ID, error)
	// UnusedContents are contents of a site from before the given time that no page
	// refers to, in any version.
	UnusedContents(ctx context.Context, siteID ID, before time.Time) ([]Digest, error)

	Route(ctx context.Context, siteID, id ID) (Route, error)
	// Routes lists up to q.Limit+1 routes after the cursor, by id; those at and
	// below a pathname, unless under is "" or "/".
	Routes(ctx context.Context, siteID ID, under string, q ListQuery) ([]Route, error)

	Preview(ctx context.Context, siteID, id ID) (Preview, error)
	// PreviewByToken finds the preview of a token that works at the given time.
	PreviewByToken(ctx context.Context, hash KeyHash, now time.Time) (Preview, error)
	// Previews lists up to q.Limit+1 previews after the cursor, by id.
	Previews(ctx context.Context, siteID ID, q ListQuery) ([]Preview, error)

	// Webhook finds a webhook of any workspace.
	Webhook(ctx context.Context, id ID) (Webhook, error)
	// Webhooks are all webhooks of a workspace, by id.
	Webhooks(ctx context.Context, workspaceID ID) ([]Webhook, error)
	// ServedWebhooks are those that a node serves.
	ServedWebhooks(ctx context.Context, node ID) ([]ServedWebhook, error)
	// Replays are the replays of a webhook that are not finished, oldest first.
	Replays(ctx context.Context, webhookID ID) ([]WebhookReplay, error)
	// EventKeys is Events without what happened: with the ids, sites, types and positions.
	EventKeys(ctx context.Context, q EventQuery) ([]Event, error)
	// CountEvents counts the events that a query asks for, whatever its limit, up to a
	// position.
	CountEvents(ctx context.Context, q EventQuery, until int64) (int, error)

	Delivery(ctx context.Context, id ID) (Delivery, error)
	DeliveriesByID(ctx context.Context, ids []ID) (map[ID]Delivery, error)
	// Deliveries lists up to q.Limit+1 deliveries after the cursor, newest first.
	Deliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error)
	// NextDeliveries are up to limit deliveries that have a next attempt, the earliest
	// first.
	NextDeliveries(ctx context.Context, webhookID ID, limit int) ([]Delivery, error)

	Redirect(ctx context.Context, siteID ID, version Version, id ID) (Redirect, error)
	// LastLiveRedirect is a redirect that is not live now, as it last was.
	LastLiveRedirect(ctx context.Context, siteID, id ID) (Redirect, error)
	// RedirectsByID are the redirects that the version has, by id.
	RedirectsByID(ctx context.Context, siteID ID, version Version, ids []ID) (map[ID]*Redirect, error)
	// Redirects lists up to q.Limit+1 redirects after the position, by source.
	Redirects(ctx context.Context, q RedirectQuery) ([]Redirect, error)
	// RedirectsFrom are those with any of the sources, exact and with a star, in any
	// locale: one statement for up to 500 sources.
	RedirectsFrom(ctx context.Context, siteID ID, version Version, sources []string) ([]Redirect, error)
	// RedirectsBelow are those with a source below a pathname, but not all of it.
	RedirectsBelow(ctx context.Context, siteID ID, version Version, pathname string) ([]Redirect, error)
	// RedirectsTo are the automatic ones of the draft or live version with any of the
	// targets, RedirectsIn those of one locale, RedirectsAway those to a URL.
	RedirectsTo(ctx context.Context, siteID ID, version Version, targets []string) ([]Redirect, error)
	RedirectsIn(ctx context.Context, siteID ID, version Version, localeID ID) ([]Redirect, error)
	RedirectsAway(ctx context.Context, siteID ID, version Version) ([]Redirect, error)
	// RedirectsLeading are the live ones with any of the targets, or with a target below
	// any of the pathnames.
	RedirectsLeading(ctx context.Context, siteID ID, targets, below []string) ([]Redirect, error)
	// HasRedirects reports whether the live version has any.
	HasRedirects(ctx context.Context, siteID ID) (bool, error)
	// HasWildRedirects reports whether the draft or live version has one with a star.
	HasWildRedirects(ctx context.Context, siteID ID, version Version) (bool, error)
	// CountRedirects returns how many the draft or live version has.
	CountRedirects(ctx context.Context, siteID ID, version Version) (int, error)
	// DirtyRedirects are those whose draft may differ from what is live,
	// PublishedRedirects up to limit after one that the publish of this number changed,
	// and RedirectsSince those that later publishes changed, by id.
	DirtyRedirects(ctx context.Context, siteID ID) ([]ID, error)
	PublishedRedirects(ctx context.Context, siteID ID, seq int64, after ID, limit int) ([]ID, error)
	RedirectsSince(ctx context.Context, siteID ID, seq int64) ([]ID, error)

	Publish(ctx context.Context, siteID, id ID) (Publish, error)
	// LastPublish is the last one that changed the live version.
	LastPublish(ctx context.Context, siteID ID) (Publish, error)
	// Publishes lists up to q.Limit+1 publishes after the cursor, newest first;
	// those that changed a page, unless pageID is NoID.
	Publishes(ctx context.Context, siteID, pageID ID, q ListQuery) ([]Publish, error)

	// PublishURLs are up to limit URLs of a publish from a position on, which is 0 for the
	// first, by URL.
	PublishURLs(ctx context.Context, siteID, publishID ID, from, limit int) ([]PublishURL, error)
	// EventURLs are the URLs that the event of a publish shows.
	EventURLs(ctx context.Context, siteID, publishID ID) (EventURLs, error)

	// ScheduledPublishes lists up to q.Limit+1 scheduled publishes of a workspace
	// after the cursor, by id; only those of the sites named unless only is nil.
	ScheduledPublishes(ctx context.Context, workspaceID ID, only []ID, q ListQuery) ([]Publish, error)

	// DirtyPages are the ids of up to limit pages after one, by id, whose draft may
	// differ from what is live.
	DirtyPages(ctx context.Context, siteID, after ID, limit int) ([]ID, error)
	// OldHistory are the sites with publishes older than the last one before the
	// given time, and the number of that.
	OldHistory(ctx context.Context, before time.Time) (map[ID]int64, error)
	// PublishedPages are the ids of up to limit pages after one, by id, that the
	// site's publish of this number changed.
	PublishedPages(ctx context.Context, siteID ID, seq int64, after ID, limit int) ([]ID, error)
	// PagesSince are the ids of the pages that later publishes changed.
	PagesSince(ctx context.Context, siteID ID, seq int64) ([]ID, error)
	// CountPages returns how many pages and rows the draft or live version has.
	CountPages(ctx context.Context, siteID ID, version Version) (pages, rows int, err error)
	// SiteCounts are the counts of a site's draft by locale, at a cost that does not
	// grow with the site; nil before CountSite if the site is older than counting.
	SiteCounts(ctx context.Context, siteID ID) (map[ID]SiteCounts, error)
	// Scheduled returns how many publishes of a site are scheduled, and the time of the
	// first.
	Scheduled(ctx context.Context, siteID ID) (count int, next *time.Time, err error)

	// KeptAnswer finds an answer stored since the given time.
	KeptAnswer(ctx context.Context, credential ID, key string, since time.Time) (KeptAnswer, error)

	AuditEntry(ctx context.Context, workspaceID, id ID) (AuditEntry, error)
	// Audit lists up to q.Limit+1 entries after the cursor, newest first.
	Audit(ctx context.Context, q AuditQuery) ([]AuditEntry, error)

	// Events lists up to q.Limit events after a position, by position. An entry that
	// is not numbered yet is not listed.
	Events(ctx context.Context, q EventQuery) ([]Event, error)
	Event(ctx context.Context, workspaceID, id ID) (Event, error)
	// LastPosition is the highest position of a workspace; 0: it had no event.
	LastPosition(ctx context.Context, workspaceID ID) (int64, error)
	// EventsPending reports whether there are committed events without a position.
	EventsPending(ctx context.Context) (bool, error)

	// Claims are all claims on these pathnames, in every locale.
	Claims(ctx context.Context, siteID ID, version Version, pathnames []string) ([]Claim, error)
}

// Lock is how a transaction locks a site.
type Lock int

const (
	// LockShared allows other shared locks of the site.
	LockShared Lock = iota
	// LockExclusive excludes every other writer of the site, for writes that
	// depend on many rows.
	LockExclusive
)

// Tx reads and writes in one transaction. After an error it must be left.
type Tx interface {
	Reader

	// Install marks the store as in use, and returns true for the one transaction
	// that found it empty.
	Install(ctx context.Context, at time.Time) (bool, error)

	// CreateWorkspace stores a workspace without a quota.
	CreateWorkspace(ctx context.Context, w Workspace) error
	// LockWorkspace is Workspace, locked.
	LockWorkspace(ctx context.Context, id ID) (Workspace, error)
	// SetQuota stores the quota of a workspace.
	SetQuota(ctx context.Context, w Workspace) error

	// CreateApp stores an app and the hash of its key; Conflict if the key exists.
	CreateApp(ctx context.Context, a App, key KeyHash) error
	// LockApp is App, locked.
	LockApp(ctx context.Context, workspaceID, id ID) (App, error)
	UpdateApp(ctx context.Context, a App) error
	// RotateAppKey adds a key; the others expire at the given time.
	RotateAppKey(ctx context.Context, a App, key KeyHash, oldEnd time.Time) error
	// TouchApp stores when an app was used, unless a later time is stored.
	TouchApp(ctx context.Context, workspaceID, id ID, at time.Time) error

	// LockRevision is Revision, with the site locked. Sites of other workspaces are
	// not found, so that no tenant waits for another.
	LockRevision(ctx context.Context, workspaceID, siteID ID, lock Lock) (int64, error)
	// LockSite is Site, locked.
	LockSite(ctx context.Context, id ID, lock Lock) (Site, error)
	// CreateSite stores a site with its key, without its default locale.
	CreateSite(ctx context.Context, s Site) error
	UpdateSite(ctx context.Context, s Site) error
	// RotateSiteKey adds s.PublicAPIKey; the other keys expire at the given time.
	RotateSiteKey(ctx context.Context, s Site, oldEnd time.Time) error
	// CopySite copies the routes and pages that are not deleted, draft and live,
	// into a new site, and returns how many rows it wrote. localeIDs maps the
	// locales to those of the new site.
	CopySite(ctx context.Context, from, to ID, localeIDs map[ID]ID, now time.Time) (rows int, err error)
	// PurgeSites removes for good up to limit sites that were deleted before the
	// given time, and returns them.
	PurgeSites(ctx context.Context, before time.Time, limit int) ([]Site, error)

	// CountSite counts a site that is older than counting.
	CountSite(ctx context.Context, siteID ID) error

	// CreateLocale and UpdateLocale return Conflict when the code is taken.
	CreateLocale(ctx context.Context, l Locale) error
	UpdateLocale(ctx context.Context, l Locale) error

	// LockPage is Page, locked.
	LockPage(ctx context.Context, siteID ID, version Version, id ID) (Page, error)
	CreatePages(ctx context.Context, pages ...Page) error
	// UpdatePage stores the rows in which after differs from before.
	UpdatePage(ctx context.Context, before, after Page) error
	// UpdatePages is UpdatePage for many pages.
	UpdatePages(ctx context.Context, changes []PageChange) error

	// IndexPages adds some pages to the index of searches, and reports whether there
	// may be more.
	IndexPages(ctx context.Context, siteID ID) (more bool, err error)

	// PutContents stores contents, or the time at which old ones are stored again.
	PutContents(ctx context.Context, siteID ID, contents []Content, now time.Time) error
	// PurgeContents removes for good those of up to 1,000 contents that were not stored
	// again since the given time, and returns how many.
	PurgeContents(ctx context.Context, siteID ID, before time.Time, digests []Digest) (int, error)

	CreatePublish(ctx context.Context, p Publish) error
	UpdatePublish(ctx context.Context, p Publish) error
	// AddPublishURLs stores the URLs of a publish, which are sorted.
	AddPublishURLs(ctx context.Context, siteID, publishID ID, urls []PublishURL) error
	// LockPublish is Publish, locked.
	LockPublish(ctx context.Context, siteID, id ID) (Publish, error)
	// TakeDuePublish locks a due publish that no other transaction has locked, the
	// first of its site, of another site than these; NotFound if there is none.
	TakeDuePublish(ctx context.Context, now time.Time, notOf []ID) (Publish, error)
	// ReplaceLive moves the live rows of pages to the history until the publish of
	// this number, and stores the new ones, which have one PublishedAt. A page that
	// is AsDraft may be copied from its stored draft.
	ReplaceLive(ctx context.Context, siteID ID, seq int64, changes []PageChange) error
	// MarkPages stores in the draft of pages when they last went live, unless nil,
	// and whether they may differ from what is live.
	MarkPages(ctx context.Context, siteID ID, ids []ID, publishedAt *time.Time, dirty bool) error
	// PurgeHistory removes for good the publishes of a site before the one of this
	// number, and what only they show.
	PurgeHistory(ctx context.Context, siteID ID, seq int64) error
	// PastLocalized are the ids of the pages with past states that have overrides
	// of a locale.
	PastLocalized(ctx context.Context, siteID, localeID ID) ([]ID, error)
	// PastPages are all past states of pages in the live version.
	PastPages(ctx context.Context, siteID ID, ids []ID) ([]Page, error)
	// UpdatePastPages stores changes of past states.
	UpdatePastPages(ctx context.Context, siteID ID, changes []PageChange) error

	// SaveRedirects stores new redirects, and new states of others.
	SaveRedirects(ctx context.Context, redirects ...Redirect) error
	// ReplaceLiveRedirects is ReplaceLive for redirects.
	ReplaceLiveRedirects(ctx context.Context, siteID ID, seq int64, changes []RedirectChange) error

	CreateRoute(ctx context.Context, r Route) error
	// LockRoute is Route, locked.
	LockRoute(ctx context.Context, siteID, id ID) (Route, error)
	UpdateRoute(ctx context.Context, r Route) error

	// CreatePreview stores a preview and the hash of its token.
	CreatePreview(ctx context.Context, p Preview, token KeyHash) error
	// EndPreview stores that a preview was deleted, and when.
	EndPreview(ctx context.Context, siteID, id ID, at time.Time) error
	// TouchPreview stores when a preview was used, unless a later time is stored.
	TouchPreview(ctx context.Context, siteID, id ID, at time.Time) error
	// PurgePreviews removes for good up to limit previews that ended before the given
	// time, and returns how many.
	PurgePreviews(ctx context.Context, before time.Time, limit int) (int, error)

	// LockWebhooks keeps other transactions from creating webhooks of a workspace, and
	// returns how many it has.
	LockWebhooks(ctx context.Context, workspaceID ID) (int, error)
	CreateWebhook(ctx context.Context, w Webhook) error
	// LockWebhook is Webhook, locked.
	LockWebhook(ctx context.Context, id ID) (Webhook, error)
	UpdateWebhook(ctx context.Context, w Webhook) error
	// ServeWebhooks gives a node the leases of up to limit webhooks that no node has
	// until now.
	ServeWebhooks(ctx context.Context, node ID, now, until time.Time, limit int) error
	// KeepServing extends all leases of a node, and StopServing ends them.
	KeepServing(ctx context.Context, node ID, until time.Time) error
	StopServing(ctx context.Context, node ID) error
	// YieldWebhook ends the lease that a node has of a webhook. No other gets it before
	// the given time.
	YieldWebhook(ctx context.Context, id, node ID, until time.Time) error
	// LockServed is LockWebhook for the node that serves the webhook; for any other it
	// is not found.
	LockServed(ctx context.Context, id, node ID) (Webhook, error)
	// SaveReplay stores a new replay, or the new position of one.
	SaveReplay(ctx context.Context, p WebhookReplay) error
	DeleteReplay(ctx context.Context, webhookID, id ID) error

	// LockDelivery is Delivery, locked.
	LockDelivery(ctx context.Context, id ID) (Delivery, error)
	// SaveDeliveries stores new deliveries, and new states of others.
	SaveDeliveries(ctx context.Context, deliveries ...Delivery) error
	// FailDeliveries stores that all deliveries of a webhook that are pending have
	// failed, but for tests, and removes its replays.
	FailDeliveries(ctx context.Context, webhookID ID) error
	// PurgeDeliveries removes for good up to limit deliveries from before the given
	// time, the oldest first, and returns how many.
	PurgeDeliveries(ctx context.Context, before time.Time, limit int) (int, error)

	// LockRequest locks the keyed request of a credential, and returns false if
	// another transaction has it locked.
	LockRequest(ctx context.Context, credential ID, key string) (bool, error)
	// KeepAnswer stores an answer in place of any older one.
	KeepAnswer(ctx context.Context, k KeptAnswer) error
	// ForgetAnswers removes up to limit answers from before the given time, the
	// oldest first, and returns how many.
	ForgetAnswers(ctx context.Context, before time.Time, limit int) (int, error)

	// Record adds entries to the audit trail, and those with a type to the events.
	Record(ctx context.Context, entries ...AuditEntry) error
	// NumberEvents gives positions to up to limit committed events that have none, in
	// the order in which they were recorded, and returns how many.
	NumberEvents(ctx context.Context, limit int) (int, error)
	// PurgeEvents removes for good up to limit events of a workspace from before the
	// given time, the oldest first, and returns how many.
	PurgeEvents(ctx context.Context, workspaceID ID, before time.Time, limit int) (int, error)
	// PurgeAudit removes for good up to limit entries of a workspace from before
	// the given time, the oldest first, and returns how many.
	PurgeAudit(ctx context.Context, workspaceID ID, before time.Time, limit int) (int, error)
	// MoveAudit converts up to limit entries of an earlier version, the oldest
	// first, and returns how many.
	MoveAudit(ctx context.Context, workspaceID ID, limit int) (int, error)

	ReleasePathnames(ctx context.Context, siteID ID, claims []Claim) error
	// TakePathnames adds claims, ErrPathnameTaken if any of them is held in the
	// same version and locale.
	TakePathnames(ctx context.Context, siteID ID, claims []Claim) error
	// TakeFreePathname adds a claim, ErrPathnameTaken if its pathname is held in
	// the same version in any locale.
	TakeFreePathname(ctx context.Context, siteID ID, claim Claim) error
	// HideLocale releases every pathname that pages hold in a locale.
	HideLocale(ctx context.Context, siteID, localeID ID) error
	// ShowLocale adds the claims of pages in a locale again, ErrPathnameTaken if a
	// page or route holds one of the pathnames.
	ShowLocale(ctx context.Context, siteID, localeID ID) error
}
