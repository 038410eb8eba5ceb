package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
)

// unindexed are the tables that may be read from end to end: they are small
// and read whole, or they are the engine's own.
var unindexed = map[string]bool{"workspace": true, "installation": true, "event_pending": true}

// statement is what the store sent to the engine.
type statement struct {
	query string
	args  []any
}

// recorder notes every statement that it passes on.
type recorder struct {
	conn
	sent map[string]statement
}

func (r recorder) note(query string, args []any) { r.sent[query] = statement{query, args} }

func (r recorder) exec(ctx context.Context, _ bool, query string, args []any) (int64, error) {
	r.note(query, args)
	return r.conn.exec(ctx, true, query, args)
}

func (r recorder) query(ctx context.Context, query string, args []any, each func(row) error) error {
	r.note(query, args)
	return r.conn.query(ctx, query, args, each)
}

// undone runs a callback in a transaction that is rolled back.
func undone(t *testing.T, s *Store, use func(c conn)) {
	t.Helper()
	undo := errors.New("undo")
	err := s.engine.tx(t.Context(), func(c conn) error { use(c); return undo })
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
}

func TestEveryQueryUsesAnIndex(t *testing.T) {
	for name, engine := range map[string]struct {
		store   *Store
		prepare []string
		check   func(t *testing.T, c conn, s statement)
	}{
		"sqlite": {sqliteForTest(t), nil, checkSQLitePlan},
		// What the planner still does with all of these off, it has to do.
		"postgres": {postgresForTest(t), []string{
			"analyze", "set local jit = off", "set local enable_seqscan = off", "set local enable_bitmapscan = off",
			"set local enable_sort = off", "set local enable_hashjoin = off", "set local enable_mergejoin = off",
		}, checkPostgresPlan},
	} {
		t.Run(name, func(t *testing.T) {
			s := engine.store
			site := seedSite(t, s)
			seedPages(t, s, site)
			undone(t, s, func(c conn) {
				for _, statement := range engine.prepare {
					_, err := c.exec(t.Context(), true, statement, nil)
					do(t, err)
				}
				r := recorder{c, map[string]statement{}}
				useEverything(t, queries{conn: r, dialect: s.dialect}, site)
				if len(r.sent) < 80 {
					t.Errorf("only %d statements were seen", len(r.sent))
				}
				for _, sent := range r.sent {
					engine.check(t, c, sent)
				}
			})
		})
	}
}

// sqliteStep is a line of a plan that reads a whole table or index.
var sqliteStep = regexp.MustCompile(`^SCAN ([a-z]\w*)`)

// sqliteWholeSite is a line of a plan that reads all pages of a site.
var sqliteWholeSite = regexp.MustCompile(`^SEARCH .* USING .*INDEX (page|sqlite_autoindex_page)\w* \(site_id=\?\)`)

// maySearchSite reports whether a statement is about a whole site. SQLite plans to look for
// rows that refer to a new site.
func maySearchSite(query string) bool {
	return strings.HasPrefix(query, "insert into site (") || strings.HasPrefix(query, "delete from") || strings.Contains(query, "content is not null")
}

// alias finds what table an alias stands for.
func alias(query, name string) string {
	found := regexp.MustCompile(`(?:from|join|update|into)\s+(\w+)\s+` + name + `\b`).FindStringSubmatch(query)
	if found == nil {
		return name
	}
	return found[1]
}

// maySort reports whether a statement sorts no more than what it answers: a table
// that is read whole, ids that come from several places, the publishes that
// changed one page, what was put aside since a publish that is listed, or the
// pages under a prefix in another order than that of their pathnames, or the
// contents that a site's pages refer to, or a site that is counted once.
func maySort(query string) bool {
	return slices.ContainsFunc([]string{
		"from workspace", "union select id", "union select s.id", "union select since", "from page_past p where", "p.pathname >= ", "from redirect_past where", "content is not null",
		"p.status = 'scheduled' and p.publish_at >= ", "as counted group by",
	}, func(part string) bool {
		return strings.Contains(query, part)
	})
}

// isWhole reports whether a statement has to read all of what it scans: a
// subquery that has its limit, or the publishes of every site to be purged.
func isWhole(query, scanned string) bool {
	return strings.Contains(query, ") as "+scanned) || strings.Contains(query, "from publish where seq > 0 and published_at < ")
}

func checkSQLitePlan(t *testing.T, c conn, s statement) {
	t.Helper()
	err := c.query(t.Context(), "explain query plan "+s.query, s.args, func(r row) error {
		var id, parent, unused int
		var step string
		if err := r.Scan(&id, &parent, &unused, &step); err != nil {
			return err
		}
		scan := sqliteStep.FindStringSubmatch(step)
		if scan != nil && !unindexed[alias(s.query, scan[1])] && !isWhole(s.query, scan[1]) {
			t.Errorf("%s in\n%s", step, s.query)
		}
		if sqliteWholeSite.MatchString(step) && !maySearchSite(s.query) {
			t.Errorf("%s in\n%s", step, s.query)
		}
		if strings.Contains(step, "USE TEMP B-TREE") && !maySort(s.query) {
			t.Errorf("%s in\n%s", step, s.query)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, s.query)
	}
}

// planNode is a step of PostgreSQL's plan.
type planNode struct {
	NodeType  string     `json:"Node Type"`
	Relation  string     `json:"Relation Name"`
	IndexCond string     `json:"Index Cond"`
	Plans     []planNode `json:"Plans"`

	// Of a plan that was carried out.
	Loops   float64 `json:"Actual Loops"`
	Rows    float64 `json:"Actual Rows"`
	Removed float64 `json:"Rows Removed by Filter"`
}

func checkPostgresPlan(t *testing.T, c conn, s statement) {
	t.Helper()
	var text []byte
	err := c.query(t.Context(), "explain (format json) "+s.query, s.args, func(r row) error { return r.Scan(&text) })
	if err != nil {
		t.Fatalf("%v\n%s", err, s.query)
	}
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(text, &plans); err != nil {
		t.Fatal(err)
	}
	for _, p := range plans {
		checkNode(t, p.Plan, s.query)
	}
}

func checkNode(t *testing.T, n planNode, query string) {
	t.Helper()
	if !unindexed[n.Relation] && strings.HasSuffix(n.NodeType, "Scan") && n.Relation != "" && n.IndexCond == "" {
		t.Errorf("%s of %s reads all of it in\n%s", n.NodeType, n.Relation, query)
	}
	if strings.Contains(n.NodeType, "Sort") && !maySort(query) {
		t.Errorf("%s in\n%s", n.NodeType, query)
	}
	for _, child := range n.Plans {
		checkNode(t, child, query)
	}
}

// seedSite stores a site with two locales.
func seedSite(t *testing.T, s *Store) cms.Site {
	t.Helper()
	now := time.Now()
	site := cms.Site{
		ID: cms.NewID(), WorkspaceID: cms.NewID(), Name: "Site", PublicAPIKey: cms.NewSiteKey(),
		KeyAccess: cms.AccessDraft, LocaleMode: cms.LocalesInternal, CreatedAt: now, UpdatedAt: now,
	}
	site.DefaultLocale = cms.Locale{ID: cms.NewID(), SiteID: site.ID, Code: "en", CreatedAt: now}
	site.DefaultLocaleID = site.DefaultLocale.ID
	do(t, s.InTx(t.Context(), func(tx cms.Tx) error {
		if err := tx.CreateSite(t.Context(), site); err != nil {
			return err
		}
		return tx.CreateLocale(t.Context(), site.DefaultLocale)
	}))
	return site
}

// seedPages fills several sites, so that reading all of a table is a mistake
// that the planner would not make for the sake of its size.
func seedPages(t *testing.T, s *Store, site cms.Site) {
	t.Helper()
	for range 100 {
		seedSite(t, s)
	}
	for _, site := range []cms.Site{site, seedSite(t, s), seedSite(t, s)} {
		var ids []cms.ID
		var lives []cms.Page
		do(t, s.InTx(t.Context(), func(tx cms.Tx) error {
			for i := range 200 {
				p := seedPage(site.ID, fmt.Sprintf("/p/%d", i))
				if err := tx.CreatePages(t.Context(), p); err != nil {
					return err
				}
				r := cms.Route{ID: cms.NewID(), SiteID: site.ID, Pathname: fmt.Sprintf("/r/%d", i), CreatedAt: time.Now()}
				if err := tx.CreateRoute(t.Context(), r); err != nil {
					return err
				}
				live := p
				live.Version, live.Since = cms.Live, int64(i%20)
				ids, lives = append(ids, p.ID), append(lives, live)
				claims := slices.Concat(p.Claims(nil), live.Claims(nil), r.Claims())
				if err := tx.TakePathnames(t.Context(), site.ID, claims); err != nil {
					return err
				}
			}
			return seedPast(t, tx, site, ids, lives)
		}))
	}
}

// seedPast gives pages a past: each was live before, and half of them twice.
func seedPast(t *testing.T, tx cms.Tx, site cms.Site, ids []cms.ID, lives []cms.Page) error {
	t.Helper()
	for seq := range int64(3) {
		for i := range lives {
			lives[i].Since += 20
		}
		var changes []cms.PageChange
		for i := range len(lives) / int(seq/2+1) {
			before := lives[i]
			before.Since -= 20
			changes = append(changes, cms.PageChange{Before: &before, After: &lives[i]})
		}
		if err := tx.ReplaceLive(t.Context(), site.ID, 20*(seq+1), changes); err != nil {
			return err
		}
	}
	for seq := range int64(60) {
		p := cms.Publish{ID: cms.NewID(), SiteID: site.ID, Seq: seq + 1, Status: cms.StatusPublished, CreatedAt: time.Now(), PublishedAt: new(time.Now())}
		if err := tx.CreatePublish(t.Context(), p); err != nil {
			return err
		}
	}
	// Most drafts are what is live.
	return tx.MarkPages(t.Context(), site.ID, ids[:190], nil, false)
}

func seedPage(siteID cms.ID, pathname string) cms.Page {
	p := cms.Page{ID: cms.NewID(), SiteID: siteID, CreatedAt: time.Now(), UpdatedAt: time.Now()}
	p.Pathname, p.IsOnline = pathname, true
	return p
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// useEverything calls every method of a transaction in each of its forms.
func useEverything(t *testing.T, q queries, site cms.Site) {
	t.Helper()
	ctx := t.Context()
	app := cms.App{ID: cms.NewID(), WorkspaceID: site.WorkspaceID, Scopes: cms.Scopes, CreatedAt: time.Now()}
	locale := cms.Locale{ID: cms.NewID(), SiteID: site.ID, Code: "fr", CreatedAt: time.Now()}
	route := cms.Route{ID: cms.NewID(), SiteID: site.ID, Pathname: "/route", CreatedAt: time.Now()}
	before := seedPage(site.ID, "/page")
	before.Localizations = map[cms.ID]cms.Localization{locale.ID: {Own: cms.FieldPathname, Values: cms.Values{Pathname: "/fr"}}}
	claims := before.Claims(cms.Locales{locale})
	twin := site
	twin.ID, twin.PublicAPIKey, twin.DefaultLocaleID = cms.NewID(), cms.NewSiteKey(), cms.NewID()
	twinLocale := cms.Locale{ID: twin.DefaultLocaleID, SiteID: twin.ID, Code: "en", CreatedAt: time.Now()}
	ids := []cms.ID{before.ID, cms.NewID()}
	list := cms.ListQuery{Limit: 20}
	purged := twin
	purged.DeletedAt = new(time.Unix(0, 0))
	rotated := site
	rotated.PublicAPIKey = cms.NewSiteKey()

	_, err := q.Install(ctx, time.Now())
	do(t, err)
	do(t, q.CreateWorkspace(ctx, cms.Workspace{ID: site.WorkspaceID, Name: "W", CreatedAt: time.Now()}))
	do(t, q.CreateApp(ctx, app, cms.KeyHash{1}))
	do(t, q.UpdateApp(ctx, app))
	do(t, q.RotateAppKey(ctx, app, cms.KeyHash{2}, time.Now()))
	do(t, q.TouchApp(ctx, app.WorkspaceID, app.ID, time.Now()))
	do(t, q.CreateLocale(ctx, locale))
	do(t, q.UpdateLocale(ctx, locale))
	do(t, q.CreatePages(ctx, before))
	do(t, q.TakePathnames(ctx, site.ID, claims))
	do(t, q.TakeFreePathname(ctx, site.ID, cms.Claim{Pathname: "/free", Owner: before.ID}))
	useReader(t, q, site, app, locale, before, ids, list)
	useLocks(t, q, site, app, before)
	usePublishing(t, q, site, locale, before)
	useKeptAnswers(t, q, app.ID)
	useRedirects(t, q, site, locale)
	do(t, useContents(ctx, q, site.ID))
	useSearch(t, q, site, locale)
	usePreviews(t, q, site.ID, list)
	do(t, useWebhooks(ctx, q, site))
	do(t, q.HideLocale(ctx, site.ID, locale.ID))
	do(t, q.ShowLocale(ctx, site.ID, locale.ID))
	do(t, q.ReleasePathnames(ctx, site.ID, claims))
	do(t, q.UpdatePage(ctx, before, before.Delocalize(locale.ID)))
	do(t, q.CreateRoute(ctx, route))
	_, err = q.LockRoute(ctx, site.ID, route.ID)
	do(t, err)
	do(t, q.UpdateRoute(ctx, route))
	do(t, q.RotateSiteKey(ctx, rotated, time.Now()))
	do(t, q.CreateSite(ctx, twin))
	do(t, q.CreateLocale(ctx, twinLocale))
	_, err = q.CopySite(ctx, site.ID, twin.ID, map[cms.ID]cms.ID{site.DefaultLocaleID: twinLocale.ID}, time.Now())
	do(t, err)
	do(t, q.CountSite(ctx, site.ID))
	_, err = q.SiteCounts(ctx, site.ID)
	do(t, err)
	_, _, err = q.Scheduled(ctx, site.ID)
	do(t, err)
	do(t, q.UpdateSite(ctx, purged))
	if sites, err := q.PurgeSites(ctx, time.Now(), 10); len(sites) != 1 || err != nil {
		t.Fatal(sites, err)
	}
}

func useReader(t *testing.T, q queries, site cms.Site, app cms.App, locale cms.Locale, page cms.Page, ids []cms.ID, list cms.ListQuery) {
	t.Helper()
	ctx := t.Context()
	for _, call := range []func() error{
		func() error { _, err := q.Workspace(ctx, site.WorkspaceID); return err },
		func() error { _, err := q.Workspaces(ctx); return err },
		func() error { _, err := q.LockWorkspace(ctx, site.WorkspaceID); return err },
		func() error { _, err := q.Usage(ctx, site.WorkspaceID); return err },
		func() error { _, err := q.UncountedSites(ctx, site.WorkspaceID); return err },
		func() error { return q.SetQuota(ctx, cms.Workspace{ID: site.WorkspaceID}) },
		func() error { _, err := q.App(ctx, site.WorkspaceID, app.ID); return err },
		func() error { _, err := q.AppOf(ctx, app.ID); return err },
		func() error { _, _, err := q.AppByKey(ctx, cms.KeyHash{2}, time.Now()); return err },
		func() error { _, err := q.Apps(ctx, site.WorkspaceID, list); return err },
		func() error { _, err := q.Site(ctx, site.ID); return err },
		func() error { _, _, err := q.SiteByKey(ctx, site.PublicAPIKey, time.Now()); return err },
		func() error { _, err := q.SitesByOrigin(ctx, site.WorkspaceID, nil, "https://example.com"); return err },
		func() error {
			_, err := q.Sites(ctx, site.WorkspaceID, nil, cms.SiteQuery{ListQuery: list})
			return err
		},
		func() error {
			_, err := q.Sites(ctx, site.WorkspaceID, []cms.ID{site.ID, cms.NewID()}, cms.SiteQuery{ListQuery: list})
			return err
		},
		func() error {
			_, err := q.Sites(ctx, site.WorkspaceID, nil, cms.SiteQuery{ListQuery: list, Deleted: true, Search: "x"})
			return err
		},
		func() error {
			_, err := q.Sites(ctx, site.WorkspaceID, []cms.ID{site.ID, cms.NewID()}, cms.SiteQuery{ListQuery: list, Label: "x"})
			return err
		},
		func() error { _, err := q.ScheduledPublishes(ctx, site.WorkspaceID, nil, list); return err },
		func() error {
			_, err := q.ScheduledPublishes(ctx, site.WorkspaceID, []cms.ID{site.ID, cms.NewID()}, list)
			return err
		},
		func() error { _, err := q.SitesOf(ctx, []cms.ID{site.ID, cms.NewID()}); return err },
		func() error { _, err := q.SiteOf(ctx, cms.KindPage, page.ID); return err },
		func() error { _, err := q.Known(ctx, site.ID, cms.KindPage, ids[:2]); return err },
		func() error { _, err := q.Locales(ctx, site.ID); return err },
		func() error { _, err := q.Page(ctx, site.ID, cms.Draft, page.ID); return err },
		func() error { _, err := q.FindPage(ctx, cms.Draft, page.ID); return err },
		func() error { _, err := q.FindPages(ctx, site.ID, cms.Draft, "/page"); return err },
		func() error { _, err := q.Revision(ctx, site.ID); return err },
		func() error { _, err := q.LockRevision(ctx, site.WorkspaceID, site.ID, cms.LockShared); return err },
		func() error { _, err := q.LocalizedPages(ctx, site.ID, cms.Draft, locale.ID); return err },
		func() error { _, err := q.Routes(ctx, site.ID, "", list); return err },
		func() error { _, err := q.Routes(ctx, site.ID, "/p", list); return err },
		func() error { return useAudit(ctx, q, site, app, page) },
		func() error { return useEvents(ctx, q, site) },
		func() error { _, err := q.Claims(ctx, site.ID, cms.Draft, []string{"/page", "/x"}); return err },
	} {
		do(t, call())
	}
	useLists(t, q, cms.PageQuery{SiteID: site.ID, IncludeOffline: true}, locale.ID)
	useLists(t, q, cms.PageQuery{SiteID: site.ID, Deleted: true}, locale.ID)
	useLists(t, q, cms.PageQuery{SiteID: site.ID, Status: cms.FilterChanged | cms.FilterOffline}, locale.ID)
	useLists(t, q, cms.PageQuery{SiteID: site.ID, Status: cms.FilterChanged | cms.FilterLive, IncludeOffline: true}, locale.ID)
}

// useSearch indexes pages, those that were written and those from before, and searches
// for few and for many.
func useSearch(t *testing.T, q queries, site cms.Site, locale cms.Locale) {
	t.Helper()
	ctx := t.Context()
	for range 2 {
		_, err := q.UnindexedSite(ctx, cms.NoID)
		do(t, err)
		for more := true; more; {
			more, err = q.IndexPages(ctx, site.ID)
			do(t, err)
		}
		do(t, q.run(ctx, `update search_site set unindexed = ? where site_id = ?`, cms.NoID, site.ID))
	}
	useLists(t, q, cms.PageQuery{SiteID: site.ID, Search: "/p/19"}, locale.ID)
	do(t, q.run(ctx, `update search_site set unindexed = null where site_id = ?`, site.ID))
	for _, search := range []string{"/p/19", "/p/", "/p", "9"} {
		useLists(t, q, cms.PageQuery{SiteID: site.ID, Search: search, IncludeOffline: true}, locale.ID)
	}
	useLists(t, q, cms.PageQuery{SiteID: site.ID, Search: "/p/19", Deleted: true}, locale.ID)
}

// useContents stores, reads and purges contents.
func useContents(ctx context.Context, q queries, siteID cms.ID) error {
	contents := []cms.Content{cms.NewContent([]byte(`{}`)), cms.NewContent([]byte(`[]`))}
	if err := q.PutContents(ctx, siteID, contents, time.Now()); err != nil {
		return err
	}
	if _, err := q.Content(ctx, siteID, contents[0].Digest); err != nil {
		return err
	}
	if _, err := q.ContentSite(ctx, cms.NoID); err != nil {
		return err
	}
	if _, err := q.UnusedContents(ctx, siteID, time.Now()); err != nil {
		return err
	}
	_, err := q.PurgeContents(ctx, siteID, time.Unix(0, 0), []cms.Digest{contents[0].Digest, contents[1].Digest})
	return err
}

func usePreviews(t *testing.T, q queries, siteID cms.ID, list cms.ListQuery) {
	t.Helper()
	ctx := t.Context()
	preview := cms.Preview{ID: cms.NewID(), SiteID: siteID, PathPrefix: "/", CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}
	do(t, q.CreatePreview(ctx, preview, cms.KeyHash{3}))
	_, err := q.Preview(ctx, siteID, preview.ID)
	do(t, err)
	_, err = q.PreviewByToken(ctx, cms.KeyHash{3}, time.Now())
	do(t, err)
	_, err = q.Previews(ctx, siteID, list)
	do(t, err)
	do(t, q.TouchPreview(ctx, siteID, preview.ID, time.Now()))
	do(t, q.EndPreview(ctx, siteID, preview.ID, time.Now()))
	if n, err := q.PurgePreviews(ctx, preview.ExpiresAt.Add(time.Second), 10); n != 1 || err != nil {
		t.Fatal(n, err)
	}
}

// useEvents reads events by every filter, and writes and numbers them.
func useEvents(ctx context.Context, q queries, site cms.Site) error {
	entry := cms.AuditEntry{ID: cms.NewID(), WorkspaceID: site.WorkspaceID, SiteID: site.ID, Type: "page.updated"}
	if err := q.Record(ctx, entry); err != nil {
		return err
	}
	if _, err := q.EventsPending(ctx); err != nil {
		return err
	}
	if _, err := q.NumberEvents(ctx, 10); err != nil {
		return err
	}
	if _, err := q.Event(ctx, site.WorkspaceID, entry.ID); err != nil {
		return err
	}
	all := cms.EventQuery{WorkspaceID: site.WorkspaceID, Limit: 20}
	since, ofType, ofTypes, bySite, bySites := all, all, all, all, all
	since.Since = new(time.Unix(0, 0))
	ofType.Types, ofTypes.Types = []cms.EventType{"page.updated"}, cms.SiteEventTypes
	bySite.SiteID, bySites.Sites = site.ID, []cms.ID{site.ID, cms.NewID()}
	for _, ask := range []cms.EventQuery{all, since, ofType, ofTypes, bySite, bySites} {
		if _, err := q.Events(ctx, ask); err != nil {
			return err
		}
	}
	if err := q.purgeEventsOf(ctx, site); err != nil {
		return err
	}
	_, err := q.PurgeEvents(ctx, site.WorkspaceID, time.Now(), 10)
	return err
}

// useWebhooks makes a webhook, serves it and delivers to it.
func useWebhooks(ctx context.Context, q queries, site cms.Site) error {
	node, now := cms.NewID(), time.Now()
	w := cms.Webhook{ID: cms.NewID(), WorkspaceID: site.WorkspaceID, URL: "https://example.com/", CreatedAt: now, UpdatedAt: now, Secret: []byte{1}}
	d := cms.Delivery{ID: cms.NewID(), WebhookID: w.ID, EventID: cms.NewID(), EventType: "page.created", Status: cms.DeliveryPending, NextAttemptAt: &now}
	replay := cms.WebhookReplay{WebhookID: w.ID, ID: cms.NewID(), Since: now}
	list := cms.ListQuery{Limit: 20}
	var errs []error
	try := func(_ any, err error) { errs = append(errs, err) }
	try(q.LockWebhooks(ctx, w.WorkspaceID))
	try(nil, q.CreateWebhook(ctx, w))
	try(nil, q.UpdateWebhook(ctx, w))
	try(q.Webhook(ctx, w.ID))
	try(q.LockWebhook(ctx, w.ID))
	try(q.Webhooks(ctx, w.WorkspaceID))
	try(nil, q.ServeWebhooks(ctx, node, now, now, 10))
	try(nil, q.KeepServing(ctx, node, now))
	try(q.ServedWebhooks(ctx, node))
	try(q.LockServed(ctx, w.ID, node))
	try(nil, q.YieldWebhook(ctx, w.ID, node, now))
	try(nil, q.StopServing(ctx, node))
	try(nil, q.SaveReplay(ctx, replay))
	try(q.Replays(ctx, w.ID))
	try(nil, q.DeleteReplay(ctx, w.ID, replay.ID))
	try(q.CountEvents(ctx, cms.EventQuery{WorkspaceID: w.WorkspaceID, Types: []cms.EventType{"page.created"}, Sites: []cms.ID{site.ID}, Since: &now}, 10))
	for _, ask := range []cms.EventQuery{{}, {Types: []cms.EventType{"page.created"}}, {Types: []cms.EventType{"page.created"}, Sites: []cms.ID{site.ID}}} {
		ask.WorkspaceID, ask.Limit = w.WorkspaceID, 10
		try(q.EventKeys(ctx, ask))
	}
	try(nil, q.SaveDeliveries(ctx, d))
	try(q.Delivery(ctx, d.ID))
	try(q.LockDelivery(ctx, d.ID))
	try(q.DeliveriesByID(ctx, []cms.ID{d.ID, cms.NewID()}))
	try(q.Deliveries(ctx, cms.DeliveryQuery{WebhookID: w.ID, ListQuery: list}))
	list.After = cms.NewID()
	try(q.Deliveries(ctx, cms.DeliveryQuery{WebhookID: w.ID, Status: cms.DeliveryFailed, ListQuery: list}))
	try(q.NextDeliveries(ctx, w.ID, 10))
	try(nil, q.FailDeliveries(ctx, w.ID))
	try(q.PurgeDeliveries(ctx, now.Add(time.Hour), 10))
	return errors.Join(errs...)
}

// useAudit reads the audit trail by every filter, and writes to it.
func useAudit(ctx context.Context, q queries, site cms.Site, app cms.App, page cms.Page) error {
	all := cms.AuditQuery{WorkspaceID: site.WorkspaceID, ListQuery: cms.ListQuery{Limit: 20, After: cms.NewID()}}
	bySite, byResource, byApp, bySites, byResourceInSites := all, all, all, all, all
	bySite.SiteID, byResource.ResourceID, byApp.AppID = site.ID, page.ID, app.ID
	bySites.Sites = []cms.ID{site.ID, cms.NewID()}
	byResourceInSites.ResourceID, byResourceInSites.Sites = page.ID, bySites.Sites
	byOperation, byAll := all, byResourceInSites
	byOperation.Operation, byAll.Operation, byAll.AppID, byAll.SiteID = "createPage", "createPage", app.ID, site.ID
	for _, ask := range []cms.AuditQuery{all, bySite, byResource, byApp, bySites, byResourceInSites, byOperation, byAll} {
		if _, err := q.Audit(ctx, ask); err != nil {
			return err
		}
	}
	entry := cms.AuditEntry{ID: cms.NewID(), WorkspaceID: site.WorkspaceID}
	if err := q.Record(ctx, entry); err != nil {
		return err
	}
	if _, err := q.AuditEntry(ctx, entry.WorkspaceID, entry.ID); err != nil {
		return err
	}
	if _, err := q.MoveAudit(ctx, site.WorkspaceID, 10); err != nil {
		return err
	}
	_, err := q.PurgeAudit(ctx, site.WorkspaceID, time.Unix(0, 0), 10)
	return err
}

// useLists reads page lists in every form: with and without a locale, a cursor
// and a prefix, in every order.
func useLists(t *testing.T, q queries, pq cms.PageQuery, localeID cms.ID) {
	t.Helper()
	for _, pq.Sort = range cms.PageSorts {
		for _, pq.Descending = range []bool{false, true} {
			for _, pq.LocaleID = range []cms.ID{cms.NoID, localeID} {
				for _, pq.PathPrefix = range []string{"", "/p"} {
					pq.After, pq.Under = nil, pq.PathPrefix // without both, and with both
					for _, pq.Limit = range []int{0, 20} {  // 0: so that the locale's own rows end the inherited ones
						_, err := q.Pages(t.Context(), pq, false)
						do(t, err)
						_, err = q.CountPaths(t.Context(), pq)
						do(t, err)
						rows, err := q.Pages(t.Context(), pq, true)
						do(t, err)
						if len(rows) > 0 {
							pq.After = new(rows[0].Position(pq.Sort))
						}
					}
				}
			}
		}
	}
}

// usePublishing puts a page live twice and reads what there is then, in the
// live version and in the one before.
func usePublishing(t *testing.T, q queries, site cms.Site, locale cms.Locale, page cms.Page) {
	t.Helper()
	ctx, ids := t.Context(), []cms.ID{page.ID, cms.NewID()}
	live := page.Clone()
	live.Version = cms.Live
	publish := cms.Publish{ID: cms.NewID(), SiteID: site.ID, Status: cms.StatusScheduled, PublishAt: new(time.Unix(0, 0)), CreatedAt: time.Now()}
	do(t, q.CreatePublish(ctx, publish))
	_, err := q.TakeDuePublish(ctx, time.Now(), nil)
	do(t, err)
	_, err = q.TakeDuePublish(ctx, time.Now(), []cms.ID{cms.NewID()})
	do(t, err)
	_, err = q.LockPublish(ctx, site.ID, publish.ID)
	do(t, err)
	do(t, q.AddPublishURLs(ctx, site.ID, publish.ID, []cms.PublishURL{{URL: "https://example.com/", Change: cms.URLRemoved}}))
	_, err = q.EventURLs(ctx, site.ID, publish.ID)
	do(t, err)
	var before *cms.Page
	for _, since := range []int64{50, 70, 90} {
		after := live.Clone()
		after.Since = since
		do(t, q.ReplaceLive(ctx, site.ID, since, []cms.PageChange{{Before: before, After: &after, AsDraft: since < 90}}))
		before = &after
	}
	publish.Seq, publish.Status, publish.PublishedAt = 90, cms.StatusPublished, new(time.Now())
	do(t, q.UpdatePublish(ctx, publish))
	do(t, q.MarkPages(ctx, site.ID, ids, new(time.Now()), true))
	do(t, q.TakePathnames(ctx, site.ID, live.Claims(cms.Locales{locale})))
	usePast(t, q, site, locale, publish, ids)
	do(t, q.ReleasePathnames(ctx, site.ID, live.Claims(cms.Locales{locale})))
	_, err = q.OldHistory(ctx, time.Now().Add(time.Hour))
	do(t, err)
	do(t, q.PurgeHistory(ctx, site.ID, 1000))
}

func usePast(t *testing.T, q queries, site cms.Site, locale cms.Locale, publish cms.Publish, ids []cms.ID) {
	t.Helper()
	ctx, list := t.Context(), cms.ListQuery{Limit: 20}
	for _, call := range []func() error{
		func() error { _, err := q.Publish(ctx, site.ID, publish.ID); return err },
		func() error { _, err := q.LastPublish(ctx, site.ID); return err },
		func() error { _, err := q.Publishes(ctx, site.ID, cms.NoID, list); return err },
		func() error {
			_, err := q.Publishes(ctx, site.ID, cms.NoID, cms.ListQuery{After: publish.ID, Limit: 20})
			return err
		},
		func() error { _, err := q.DirtyPages(ctx, site.ID, cms.NoID, 10); return err },
		func() error { _, err := q.PagesSince(ctx, site.ID, 80); return err },
		func() error { _, err := q.PublishedPages(ctx, site.ID, 70, cms.NoID, 10); return err },
		func() error { _, _, err := q.CountPages(ctx, site.ID, cms.Live); return err },
		func() error { _, err := q.HiddenLive(ctx, site.ID, ids); return err },
		func() error { _, err := q.LastLive(ctx, site.ID, ids[0]); return err },
		func() error { _, err := q.Publishes(ctx, site.ID, ids[0], list); return err },
	} {
		do(t, call())
	}
	for _, version := range []cms.Version{cms.Live, cms.AfterPublish(60)} {
		_, err := q.Page(ctx, site.ID, version, ids[0])
		do(t, err)
		_, err = q.PagesByID(ctx, site.ID, version, ids)
		do(t, err)
		_, err = q.Claims(ctx, site.ID, version, []string{"/page", "/fr"})
		do(t, err)
		useLists(t, q, cms.PageQuery{SiteID: site.ID, Version: version, IncludeOffline: true}, locale.ID)
	}
	localized, err := q.PastLocalized(ctx, site.ID, locale.ID)
	do(t, err)
	past, err := q.PastPages(ctx, site.ID, localized)
	do(t, err)
	if len(past) != 2 {
		t.Fatalf("%d states of a page are in the past, want 2", len(past))
	}
	after := past[0].Delocalize(locale.ID)
	do(t, q.UpdatePastPages(ctx, site.ID, []cms.PageChange{{Before: &past[0], After: &after}}))
}

// useRedirects puts redirects live twice, and reads them in every version.
func useRedirects(t *testing.T, q queries, site cms.Site, locale cms.Locale) {
	t.Helper()
	ctx := t.Context()
	redirect := cms.Redirect{ID: cms.NewID(), SiteID: site.ID, Source: "/from/*", Target: "/to", Status: 308, CreatedAt: time.Now(), UpdatedAt: time.Now(), Dirty: true}
	live := redirect
	live.Version, live.Since, live.Dirty = cms.Live, 50, false
	next := live
	next.Since = 70
	ids := []cms.ID{redirect.ID, cms.NewID()}
	do(t, q.SaveRedirects(ctx, redirect))
	do(t, q.ReplaceLiveRedirects(ctx, site.ID, 50, []cms.RedirectChange{{After: &live}}))
	do(t, q.ReplaceLiveRedirects(ctx, site.ID, 70, []cms.RedirectChange{{Before: &live, After: &next}}))
	for _, version := range []cms.Version{cms.Draft, cms.Live, cms.AfterPublish(60)} {
		_, err := q.Redirect(ctx, site.ID, version, redirect.ID)
		do(t, err)
		_, err = q.RedirectsByID(ctx, site.ID, version, ids)
		do(t, err)
		_, err = q.RedirectsFrom(ctx, site.ID, version, []string{"/from/*", "/*"})
		do(t, err)
		_, err = q.RedirectsBelow(ctx, site.ID, version, "/")
		do(t, err)
		for _, rq := range []cms.RedirectQuery{{}, {LocaleIDs: []cms.ID{cms.NoID, locale.ID}, SourcePrefix: "/f"}, {After: new(redirect.Position())}, {Deleted: version == cms.Draft}} {
			rq.SiteID, rq.Version, rq.Limit = site.ID, version, 20
			_, err = q.Redirects(ctx, rq)
			do(t, err)
		}
	}
	for _, version := range []cms.Version{cms.Draft, cms.Live} {
		_, err := q.RedirectsTo(ctx, site.ID, version, []string{"/to", "/x"})
		do(t, err)
		_, err = q.RedirectsIn(ctx, site.ID, version, locale.ID)
		do(t, err)
		_, err = q.RedirectsAway(ctx, site.ID, version)
		do(t, err)
		_, err = q.HasWildRedirects(ctx, site.ID, version)
		do(t, err)
		_, err = q.CountRedirects(ctx, site.ID, version)
		do(t, err)
	}
	_, err := q.RedirectsLeading(ctx, site.ID, []string{"/to", "/x"}, []string{"/", "/to"})
	do(t, err)
	_, err = q.HasRedirects(ctx, site.ID)
	do(t, err)
	_, err = q.LastLiveRedirect(ctx, site.ID, redirect.ID)
	do(t, err)
	_, err = q.DirtyRedirects(ctx, site.ID)
	do(t, err)
	_, err = q.PublishedRedirects(ctx, site.ID, 70, cms.NoID, 10)
	do(t, err)
	_, err = q.RedirectsSince(ctx, site.ID, 60)
	do(t, err)
	do(t, q.ReplaceLiveRedirects(ctx, site.ID, 90, []cms.RedirectChange{{Before: &next}}))
}

func useKeptAnswers(t *testing.T, q queries, credential cms.ID) {
	t.Helper()
	ctx := t.Context()
	_, err := q.LockRequest(ctx, credential, "key")
	do(t, err)
	do(t, q.KeepAnswer(ctx, cms.KeptAnswer{Credential: credential, Key: "key", At: time.Now(), Body: []byte("{}")}))
	_, err = q.KeptAnswer(ctx, credential, "key", time.Unix(0, 0))
	do(t, err)
	_, err = q.ForgetAnswers(ctx, time.Now(), 10)
	do(t, err)
}

func useLocks(t *testing.T, q queries, site cms.Site, app cms.App, page cms.Page) {
	t.Helper()
	_, err := q.LockApp(t.Context(), site.WorkspaceID, app.ID)
	do(t, err)
	for _, lock := range []cms.Lock{cms.LockShared, cms.LockExclusive} {
		_, err = q.LockSite(t.Context(), site.ID, lock)
		do(t, err)
	}
	_, err = q.LockPage(t.Context(), site.ID, cms.Draft, page.ID)
	do(t, err)
}
