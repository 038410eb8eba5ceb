package cms

import (
	"context"
	"errors"
	"time"
)

// Store keeps everything. One implementation serves every engine, and the
// suite in storetest holds each engine to this contract.
//
// Every method that finds nothing answers NotFound of its kind. Deleted
// resources are found, with DeletedAt set: callers decide what that means.
// Lists leave deleted items out. A store that can't be reached answers
// Unavailable.
type Store interface {
	Reader

	// View runs a read-only callback in which everything is of one moment.
	View(ctx context.Context, read func(Reader) error) error

	// InTx runs a callback in one transaction: all of it is stored durably
	// when InTx returns nil, and none of it otherwise. The callback may run
	// more than once and must have no other effect.
	InTx(ctx context.Context, write func(Tx) error) error

	// Ping tells whether the store can be reached and has the schema that
	// this program needs.
	Ping(ctx context.Context) error

	// Close gives up every connection.
	Close() error
}

// Replica is a copy of a store that follows it, some time behind. What it finds
// is what the store had.
type Replica interface {
	Reader

	// View is as a store's.
	View(ctx context.Context, read func(Reader) error) error

	// Mark commits a new mark in the store itself.
	Mark(ctx context.Context) error

	// Marked tells whether the copy has the last mark, and so everything that
	// was committed before it was made. It answers ErrNoReplica for a copy that
	// has stopped following.
	Marked(ctx context.Context) (bool, error)
}

// ErrNoReplica says that a database follows no other one.
var ErrNoReplica = errors.New("it is no standby: it takes writes of its own")

// Reader reads.
type Reader interface {
	Workspace(ctx context.Context, id ID) (Workspace, error)
	// Workspaces are all of them, oldest first.
	Workspaces(ctx context.Context) ([]Workspace, error)

	App(ctx context.Context, workspaceID, id ID) (App, error)
	// AppOf finds an app of any workspace.
	AppOf(ctx context.Context, id ID) (App, error)
	// AppByKey finds the app of a key that works at the given time, and when
	// the key stops working, if it does.
	AppByKey(ctx context.Context, hash KeyHash, now time.Time) (App, *time.Time, error)
	// Apps lists up to q.Limit+1 apps after the cursor, by id.
	Apps(ctx context.Context, workspaceID ID, q ListQuery) ([]App, error)

	Site(ctx context.Context, id ID) (Site, error)
	// SiteByKey finds the site of a public key that works at the given time,
	// and when the key stops working, if it does.
	SiteByKey(ctx context.Context, key ID, now time.Time) (Site, *time.Time, error)
	// Sites lists up to q.Limit+1 sites after the cursor, by id; only those
	// named unless only is nil.
	Sites(ctx context.Context, workspaceID ID, only []ID, q ListQuery) ([]Site, error)
	// SitesOf returns the workspaces of those of the sites that exist and are
	// not deleted.
	SitesOf(ctx context.Context, ids []ID) (map[ID]ID, error)
	// SiteOf finds the site that a locale, page, route or publish belongs to.
	SiteOf(ctx context.Context, kind Kind, id ID) (ID, error)

	// Locales are all locales of a site, deleted ones included, by id.
	Locales(ctx context.Context, siteID ID) (Locales, error)

	Page(ctx context.Context, siteID ID, version Version, id ID) (Page, error)
	// KnownPages are those among ids that are pages of a site, or ever were.
	KnownPages(ctx context.Context, siteID ID, ids []ID) ([]ID, error)
	// LastLive is a page as it last was live, for one that is not live now.
	LastLive(ctx context.Context, siteID, id ID) (Page, error)
	// PagesByID are those of the pages that the version has, by id.
	PagesByID(ctx context.Context, siteID ID, version Version, ids []ID) (map[ID]*Page, error)
	// FindPage finds a page by its id alone, and FindPages those that hold a
	// pathname of a site in any locale, in one look.
	FindPage(ctx context.Context, version Version, id ID) (FoundPage, error)
	FindPages(ctx context.Context, siteID ID, version Version, pathname string) ([]FoundPage, error)
	// Shape is a number that changes whenever the site or its locales do.
	Revision(ctx context.Context, siteID ID) (int64, error)
	// Pages lists up to q.Limit+1 rows after the position, with their paths if
	// they are wanted, in one look.
	Pages(ctx context.Context, q PageQuery, withPaths bool) ([]ListedPage, error)
	// LocalizedPages are the ids of the pages, deleted ones included, that a
	// locale overrides something of.
	LocalizedPages(ctx context.Context, siteID ID, version Version, localeID ID) ([]ID, error)

	Route(ctx context.Context, siteID, id ID) (Route, error)
	// Routes lists up to q.Limit+1 routes after the cursor, by id.
	Routes(ctx context.Context, siteID ID, q ListQuery) ([]Route, error)

	Publish(ctx context.Context, siteID, id ID) (Publish, error)
	// LastPublish is the one that made the live version what it is.
	LastPublish(ctx context.Context, siteID ID) (Publish, error)
	// Publishes lists up to q.Limit+1 publishes after the cursor, newest
	// first; only those that changed a page, unless pageID is NoID.
	Publishes(ctx context.Context, siteID, pageID ID, q ListQuery) ([]Publish, error)

	// DirtyPages are the ids of up to limit pages after one, by id, whose
	// draft may differ from what is live.
	DirtyPages(ctx context.Context, siteID, after ID, limit int) ([]ID, error)
	// OldHistory are the sites that have publishes before the last one that went
	// live before the given time, with the number of that.
	OldHistory(ctx context.Context, before time.Time) (map[ID]int64, error)
	// PublishedPages are the ids of up to limit pages after one, by id, that
	// the site's publish of this number changed.
	PublishedPages(ctx context.Context, siteID ID, seq int64, after ID, limit int) ([]ID, error)
	// PagesSince are the ids of the pages that any publish after this number
	// changed.
	PagesSince(ctx context.Context, siteID ID, seq int64) ([]ID, error)
	// CountPages is the number of pages of the draft or live version, and the
	// number of rows that they and their localizations take.
	CountPages(ctx context.Context, siteID ID, version Version) (pages, rows int, err error)

	// KeptAnswer finds an answer kept since the given time.
	KeptAnswer(ctx context.Context, credential ID, key string, since time.Time) (KeptAnswer, error)

	AuditEntry(ctx context.Context, workspaceID, id ID) (AuditEntry, error)
	// Audit lists up to q.Limit+1 entries after the cursor, newest first.
	Audit(ctx context.Context, q AuditQuery) ([]AuditEntry, error)

	// Claims are all claims on these pathnames, in every locale.
	Claims(ctx context.Context, siteID ID, version Version, pathnames []string) ([]Claim, error)
}

// Lock is how a transaction holds a site against others.
type Lock int

const (
	// LockShared lets other holders of a shared lock write to the site at the
	// same time, on other rows.
	LockShared Lock = iota
	// LockExclusive keeps every other writer of the site out. What decides
	// over many rows at once needs it.
	LockExclusive
)

// Tx reads and writes in one transaction. What it reads is locked against
// other writers where the comment says so. After an error the transaction is
// to be left.
type Tx interface {
	Reader

	// Install marks the store as in use, and tells whether it was empty until
	// now. Of any number of transactions, one is told so.
	Install(ctx context.Context, at time.Time) (bool, error)

	CreateWorkspace(ctx context.Context, w Workspace) error

	// CreateApp stores an app and the hash of its key; Conflict if there is
	// such a key already.
	CreateApp(ctx context.Context, a App, key KeyHash) error
	// LockApp is App, locked.
	LockApp(ctx context.Context, workspaceID, id ID) (App, error)
	// UpdateApp stores an app's changed fields.
	UpdateApp(ctx context.Context, a App) error
	// RotateAppKey adds a key; those that worked end at the given time.
	RotateAppKey(ctx context.Context, a App, key KeyHash, oldEnd time.Time) error
	// TouchApp notes when an app was used, unless a later time is noted.
	TouchApp(ctx context.Context, workspaceID, id ID, at time.Time) error

	// LockShape is Shape, with the site locked. Sites of other workspaces are not
	// found, so that no tenant waits for another's.
	LockRevision(ctx context.Context, workspaceID, siteID ID, lock Lock) (int64, error)
	// LockSite is Site, locked.
	LockSite(ctx context.Context, id ID, lock Lock) (Site, error)
	// CreateSite stores a site with its key. Its default locale is created
	// by CreateLocale.
	CreateSite(ctx context.Context, s Site) error
	UpdateSite(ctx context.Context, s Site) error
	// RotateSiteKey makes s.PublicAPIKey work; those that worked end at the
	// given time.
	RotateSiteKey(ctx context.Context, s Site, oldEnd time.Time) error
	// CopySite copies locales, routes and pages, draft and live, deleted ones
	// left out, into a new site that has neither. localeIDs maps the old
	// locales to the new ones, which are stored already. It tells how many rows it wrote.
	CopySite(ctx context.Context, from, to ID, localeIDs map[ID]ID, now time.Time) (rows int, err error)
	// PurgeSites removes for good up to limit sites that were deleted before
	// the given time, and returns them.
	PurgeSites(ctx context.Context, before time.Time, limit int) ([]Site, error)

	// CreateLocale and UpdateLocale answer Conflict when the code, domain or
	// path prefix is taken in the site.
	CreateLocale(ctx context.Context, l Locale) error
	UpdateLocale(ctx context.Context, l Locale) error

	// LockPage is Page, locked.
	LockPage(ctx context.Context, siteID ID, version Version, id ID) (Page, error)
	CreatePages(ctx context.Context, pages ...Page) error
	// UpdatePage stores the rows in which after differs from before.
	UpdatePage(ctx context.Context, before, after Page) error
	// UpdatePages is UpdatePage for many, each of which is named once.
	UpdatePages(ctx context.Context, changes []PageChange) error

	CreatePublish(ctx context.Context, p Publish) error
	UpdatePublish(ctx context.Context, p Publish) error
	// LockPublish is Publish, locked.
	LockPublish(ctx context.Context, siteID, id ID) (Publish, error)
	// TakeDuePublish locks a scheduled publish whose time has come, the first of
	// its site, of another site than these, and that no other transaction has
	// locked; NotFound if there is none.
	TakeDuePublish(ctx context.Context, now time.Time, notOf []ID) (Publish, error)
	// ReplaceLive puts the live rows of pages aside as what was live until
	// the publish of this number, and puts others in their place. All have gone
	// live at once, and the stored draft of one that is AsDraft has what it
	// becomes.
	ReplaceLive(ctx context.Context, siteID ID, seq int64, changes []PageChange) error
	// MarkPages notes in the draft of pages when they last went live (unless
	// nil), and whether they may differ from what is live.
	MarkPages(ctx context.Context, siteID ID, ids []ID, publishedAt *time.Time, dirty bool) error
	// HiddenLive are those of the pages that last left the live version while
	// locales were hidden, with the values of those locales alone.
	HiddenLive(ctx context.Context, siteID ID, ids []ID) (map[ID]Page, error)
	// PurgeHistory removes for good the publishes of a site before the one of
	// this number, and what only they show.
	PurgeHistory(ctx context.Context, siteID ID, seq int64) error
	// PastLocalized are the ids of the pages that had a state in the live version
	// that a locale overrides something of.
	PastLocalized(ctx context.Context, siteID, localeID ID) ([]ID, error)
	// PastPages are all states that pages had in the live version and have no
	// longer.
	PastPages(ctx context.Context, siteID ID, ids []ID) ([]Page, error)
	// UpdatePastPages stores the rows of states that pages had.
	UpdatePastPages(ctx context.Context, siteID ID, changes []PageChange) error

	CreateRoute(ctx context.Context, r Route) error
	// LockRoute is Route, locked.
	LockRoute(ctx context.Context, siteID, id ID) (Route, error)
	UpdateRoute(ctx context.Context, r Route) error

	// LockRequest takes the right to answer the request that a credential
	// named by a key, and tells whether it could: no other transaction may be
	// answering it.
	LockRequest(ctx context.Context, credential ID, key string) (bool, error)
	// KeepAnswer keeps an answer in place of any older one.
	KeepAnswer(ctx context.Context, k KeptAnswer) error
	// ForgetAnswers drops up to limit answers kept before the given time, the
	// oldest first, and tells how many there were.
	ForgetAnswers(ctx context.Context, before time.Time, limit int) (int, error)

	// Record adds entries to the audit trail.
	Record(ctx context.Context, entries ...AuditEntry) error
	// PurgeAudit removes for good up to limit entries of a workspace from
	// before the given time, the oldest first, and tells how many there were.
	PurgeAudit(ctx context.Context, workspaceID ID, before time.Time, limit int) (int, error)
	// MoveAudit brings up to limit entries that an earlier version stored into
	// the present form, the oldest first, and tells how many there were.
	MoveAudit(ctx context.Context, workspaceID ID, limit int) (int, error)

	// ReleasePathnames gives claims up.
	ReleasePathnames(ctx context.Context, siteID ID, claims []Claim) error
	// TakePathnames takes claims, ErrPathnameTaken if any of them is held in
	// the same version and locale.
	TakePathnames(ctx context.Context, siteID ID, claims []Claim) error
	// TakeFreePathname takes a claim, ErrPathnameTaken if its pathname is held
	// in the same version, in whatever locale.
	TakeFreePathname(ctx context.Context, siteID ID, claim Claim) error
	// HideLocale gives up every pathname that pages hold in a locale.
	HideLocale(ctx context.Context, siteID, localeID ID) error
	// ShowLocale takes the pathnames that pages have of their own in a locale
	// again, ErrPathnameTaken if a page or route stands in the way.
	ShowLocale(ctx context.Context, siteID, localeID ID) error
}
