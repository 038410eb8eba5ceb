package httpapi_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/service"
)

// grid is the expected status of every credential on a resource in each
// state. The columns are the credentials, in this order:
//
//	no key, garbage, a revoked App key,
//	App key with every scope, App key that only reads, App key restricted to
//	another site of the workspace, App key of another workspace,
//	Site key of the site, of another site of the workspace, of a deleted site,
//	preview of the site, of another site of the workspace, one that is revoked,
//	one that has expired, and one of a deleted site.
//
// "ok" is the status of success that the row names. The other workspace owns
// the foreign resource, so that its key succeeds there: what is refused is
// refused for the owner and nothing else.
type grid struct{ own, foreign, deleted, unknown string }

var (
	reads = grid{
		own:     "401 401 401   ok  ok 403 403   ok 403 401   ok 403 401 401 401",
		foreign: "401 401 401  403 403 403  ok  403 403 401  403 403 401 401 401",
		deleted: "401 401 401  404 404 404 404  404 404 401  404 404 401 401 401",
		unknown: "401 401 401  404 404 404 404  404 404 401  404 404 401 401 401",
	}
	// A missing scope, which every Site key has, is answered whatever the
	// resource.
	writes = grid{
		own:     "401 401 401   ok 403 403 403  403 403 401  403 403 401 401 401",
		foreign: "401 401 401  403 403 403  ok  403 403 401  403 403 401 401 401",
		deleted: "401 401 401  404 403 404 404  403 403 401  403 403 401 401 401",
		unknown: "401 401 401  404 403 404 404  403 403 401  403 403 401 401 401",
	}
	// What is named within a site that is named too: a foreign site is
	// refused before anything under it is looked up.
	readsWithin = grid{
		own:     "401 401 401   ok  ok 403 403   ok 403 401   ok 403 401 401 401",
		foreign: "401 401 401  403 403 403  ok  403 403 401  403 403 401 401 401",
		deleted: "401 401 401  404 404 403 403  404 403 401  404 403 401 401 401",
		unknown: "401 401 401  404 404 403 403  404 403 401  404 403 401 401 401",
	}
	writesWithin = grid{
		own:     "401 401 401   ok 403 403 403  403 403 401  403 403 401 401 401",
		foreign: "401 401 401  403 403 403  ok  403 403 401  403 403 401 401 401",
		deleted: "401 401 401  404 403 403 403  403 403 401  403 403 401 401 401",
		unknown: "401 401 401  404 403 403 403  403 403 401  403 403 401 401 401",
	}
	// To restore is for what is deleted, so own and foreign are deleted here;
	// the third line is what was never deleted.
	restores = grid{
		own:     "401 401 401   ok 403 403 403  403 403 401  403 403 401 401 401",
		foreign: "401 401 401  403 403 403  ok  403 403 401  403 403 401 401 401",
		deleted: "401 401 401  409 403 403 403  403 403 401  403 403 401 401 401",
		unknown: "401 401 401  404 403 404 404  403 403 401  403 403 401 401 401",
	}
	restoresWithin = grid{
		own:     "401 401 401   ok 403 403 403  403 403 401  403 403 401 401 401",
		foreign: "401 401 401  403 403 403  ok  403 403 401  403 403 401 401 401",
		deleted: "401 401 401  409 403 403 403  403 403 401  403 403 401 401 401",
		unknown: "401 401 401  404 403 403 403  403 403 401  403 403 401 401 401",
	}
	// Reading apps takes the scope admin. An app restricted to sites sees the
	// others and changes none of them.
	readsApp = grid{
		own:     "401 401 401   ok 403  ok 403  403 403 401  403 403 401 401 401",
		foreign: "401 401 401  403 403 403  ok  403 403 401  403 403 401 401 401",
		deleted: "401 401 401  404 403 404 404  403 403 401  403 403 401 401 401",
		unknown: "401 401 401  404 403 404 404  403 403 401  403 403 401 401 401",
	}
	// What a publish would do, did and will do is not for Site keys.
	readsPublishes = grid{
		own:     "401 401 401   ok  ok 403 403  403 403 401  403 403 401 401 401",
		foreign: "401 401 401  403 403 403  ok  403 403 401  403 403 401 401 401",
		deleted: "401 401 401  404 404 404 404  403 403 401  403 403 401 401 401",
		unknown: "401 401 401  404 404 404 404  403 403 401  403 403 401 401 401",
	}
	// A deleted site still has events.
	readsEvents = grid{
		own:     "401 401 401   ok  ok 403 403  403 403 401  403 403 401 401 401",
		foreign: "401 401 401  403 403 403  ok  403 403 401  403 403 401 401 401",
		deleted: "401 401 401   ok  ok 403 403  403 403 401  403 403 401 401 401",
		unknown: "401 401 401  404 404 404 404  403 403 401  403 403 401 401 401",
	}
	// The runtime reads the live pages of the key's own site: App keys can't, and
	// a pathname of another site is not found.
	listsRuntime = grid{own: "401 401 401  403 403 403 403   ok  ok 401  403 403 401 401 401"}
	readsRuntime = grid{
		own:     "401 401 401  403 403 403 403   ok 404 401  403 403 401 401 401",
		foreign: "401 401 401  403 403 403 403  404 404 401  403 403 401 401 401",
		deleted: "401 401 401  403 403 403 403  404 404 401  403 403 401 401 401",
		unknown: "401 401 401  403 403 403 403  404 404 401  403 403 401 401 401",
	}
	// A preview reads no robots.txt.
	readsRobots = grid{
		own:     "401 401 401   ok  ok 403 403   ok 403 401  403 403 401 401 401",
		foreign: "401 401 401  403 403 403  ok  403 403 401  403 403 401 401 401",
		deleted: "401 401 401  404 404 404 404  404 404 401  403 403 401 401 401",
		unknown: "401 401 401  404 404 404 404  404 404 401  403 403 401 401 401",
	}
	// Every key is told about itself.
	readsItself = grid{own: "401 401 401   ok  ok  ok  ok   ok  ok 401   ok  ok 401 401 401"}
	// Nothing is named: there is one answer, about what is the caller's own.
	readsAdmin = grid{own: "401 401 401   ok 403  ok  ok  403 403 401  403 403 401 401 401"}
	readsReach = grid{own: "401 401 401   ok  ok  ok  ok  403 403 401  403 403 401 401 401"}
	// Workspaces are named, and are never deleted.
	listsSites = grid{
		own:     "401 401 401   ok  ok  ok 403  403 403 401  403 403 401 401 401",
		foreign: "401 401 401  403 403 403  ok  403 403 401  403 403 401 401 401",
		unknown: "401 401 401  404 404 404 404  403 403 401  403 403 401 401 401",
	}
	// An app restricted to sites makes none, wherever.
	createsSite = grid{
		own:     "401 401 401   ok 403 403 403  403 403 401  403 403 401 401 401",
		foreign: "401 401 401  403 403 403  ok  403 403 401  403 403 401 401 401",
		unknown: "401 401 401  404 403 403 404  403 403 401  403 403 401 401 401",
	}
)

// cellRow is an endpoint with the resource that it is about: in its address,
// or as {id} in its query or body.
type cellRow struct {
	name        string
	resource    resource
	query, body string
	ok          int
	want        grid
}

var matrix = []cellRow{
	{"getCredential", nothing, "", "", 200, readsItself},
	{"getWorkspace", nothing, "", "", 200, readsAdmin},

	{"listApps", nothing, "", "", 200, readsAdmin},
	{"createApp", namedSite, "", `{"name":"New","siteIds":["{id}"]}`, 201, writes},
	{"getApp", appResource, "", "", 200, readsApp},
	{"updateApp", appResource, "", `{"name":"Other"}`, 200, writes},
	{"deleteApp", appResource, "", "", 204, writes},
	{"rotateAppKey", appResource, "", `{}`, 200, writes},

	{"listAudit", namedSite, "?siteId={id}", "", 200, writes},

	{"listWebhooks", nothing, "", "", 200, readsAdmin},
	{"createWebhook", namedSite, "", `{"url":"https://example.com/","siteIds":["{id}"]}`, 201, writes},
	{"getWebhook", webhookResource, "", "", 200, writes},
	{"updateWebhook", webhookResource, "", `{"isEnabled":false}`, 200, writes},
	{"deleteWebhook", webhookResource, "", "", 204, writes},
	{"rotateWebhookSecret", webhookResource, "", `{}`, 200, writes},
	{"testWebhook", webhookResource, "", "", 202, writes},
	{"replayWebhook", webhookResource, "", `{"since":"2026-01-01T00:00:00Z"}`, 202, writes},
	{"listDeliveries", webhookResource, "", "", 200, writes},
	{"getDelivery", deliveryResource, "", "", 200, writes},
	{"redeliver", deliveryResource, "", "", 202, writes},

	{"listEvents", namedSite, "?siteId={id}", "", 200, readsEvents},
	{"streamEvents", namedSite, "?siteId={id}", "", 200, readsEvents},

	{"listSites", workspaceResource, "?workspaceId={id}", "", 200, listsSites},
	{"createSite", workspaceResource, "", `{"name":"New","workspaceId":"{id}"}`, 201, createsSite},
	{"getSite", namedSite, "", "", 200, reads},
	{"updateSite", namedSite, "", `{"name":"Other"}`, 200, writes},
	{"deleteSite", namedSite, "", "", 204, writes},
	{"restoreSite", swapped(namedSite), "", "", 200, restores},
	{"duplicateSite", namedSite, "", `{"name":"Twin"}`, 201, writes},
	{"rotateSiteKey", namedSite, "", `{}`, 200, writes},
	{"getSiteSummary", namedSite, "", "", 200, readsPublishes},
	{"listSitePages", namedSite, "", "", 200, reads},

	{"resolveUrl", namedSite, "?url=/&siteId={id}", "", 200, reads},
	{"getSitemap", namedSite, "?origin=https://www.example.com", "", 404, reads}, // the site has no origin
	{"getRobots", namedSite, "?origin=https://www.example.com", "", 404, readsRobots},

	{"listChanges", namedSite, "", "", 200, readsPublishes},
	{"publishSite", namedSite, "", `{"publishAt":"2100-01-01T00:00:00Z"}`, 201, writes},
	{"publishSite", namedSite, "", `{"dryRun":true}`, 200, readsPublishes},
	{"discardSite", namedSite, "", "", 200, writes},
	{"listPublishes", namedSite, "", "", 200, readsPublishes},
	{"listScheduledPublishes", nothing, "?status=scheduled", "", 200, readsReach},
	{"getPublish", scheduledPublish, "", "", 200, readsPublishes},
	{"cancelPublish", scheduledPublish, "", "", 204, writes},
	{"listPublishChanges", oldPublish, "", "", 200, readsPublishes},
	{"listPublishUrls", oldPublish, "", "", 200, readsPublishes},
	{"restorePublish", oldPublish, "", "", 201, writes},

	{"listPreviews", namedSite, "?siteId={id}", "", 200, readsPublishes},
	{"createPreview", namedSite, "", `{"siteId":"{id}"}`, 201, writes},
	{"getPreview", previewResource, "", "", 200, readsPublishes},
	{"deletePreview", previewResource, "", "", 204, writes},

	{"listLocales", namedSite, "?siteId={id}", "", 200, reads},
	{"createLocale", namedSite, "", `{"siteId":"{id}","locale":"de"}`, 201, writes},
	{"getLocale", localeResource, "", "", 200, reads},
	{"updateLocale", localeResource, "", `{"pathPrefix":"x"}`, 200, writes},
	{"deleteLocale", localeResource, "", "", 204, writes},
	{"restoreLocale", swapped(localeResource), "", "", 200, restores},

	{"listRoutes", namedSite, "?siteId={id}", "", 200, reads},
	{"createRoute", namedSite, "", `{"siteId":"{id}","pathname":"/new"}`, 201, writes},
	{"getRoute", routeResource, "", "", 200, reads},
	{"updateRoute", routeResource, "", `{}`, 200, writes},
	{"deleteRoute", routeResource, "", "", 204, writes},

	{"listRedirects", namedSite, "?siteId={id}", "", 200, reads},
	{"createRedirect", namedSite, "", `{"siteId":"{id}","source":"/new","target":"/newer"}`, 201, writes},
	{"batchRedirects", namedSite, "", `{"siteId":"{id}","operations":[{"op":"create","source":"/new","target":"/newer"}]}`, 200, writes},
	{"getRedirect", redirectResource, "", "", 200, reads},
	{"updateRedirect", redirectResource, "", `{"status":302}`, 200, writes},
	{"deleteRedirect", redirectResource, "", "", 204, writes},
	{"restoreRedirect", swapped(redirectResource), "", "", 200, restores},
	{"discardRedirect", redirectResource, "", "", 204, writes},

	{"listRuntimePages", nothing, "", "", 200, listsRuntime},
	{"getRuntimePage", livePage, "", "", 200, readsRuntime},

	{"listPages", namedSite, "?siteId={id}", "", 200, reads},
	{"createPage", namedSite, "", `{"siteId":"{id}","pathname":"/new"}`, 201, writes},
	{"batchPages", namedSite, "", `{"siteId":"{id}","operations":[{"op":"create","pathname":"/new"}]}`, 200, writes},
	{"getTree", namedSite, "?siteId={id}", "", 200, reads},
	{"getPage", pageResource, "", "", 200, reads},
	{"updatePage", pageResource, "", `{"title":"Other"}`, 200, writes},
	{"deletePage", pageResource, "", "", 204, writes},
	{"restorePage", swapped(pageResource), "", "", 200, restores},
	{"delocalizePage", pageResource, "", "", 204, writes},
	{"publishPage", pageResource, "", "", 201, writes},
	{"discardPage", pageResource, "", "", 204, writes},
	{"listPagePublishes", pageResource, "", "", 200, readsPublishes},
	{"getContent", contentResource, "", "", 200, reads},
	{"putContent", contentResource, "", `{"new":true}`, 200, writes},
	{"deleteContent", contentResource, "", "", 204, writes},
	{"diffContent", contentResource, "", "", 200, readsPublishes},

	{"getLocale", byName(localeResource), "", "", 200, readsWithin},
	{"updateLocale", byName(localeResource), "", `{}`, 200, writesWithin},
	{"deleteLocale", byName(localeResource), "", "", 204, writesWithin},
	{"restoreLocale", byName(swapped(localeResource)), "", "", 200, restoresWithin},
	{"getRoute", byName(routeResource), "", "", 200, readsWithin},
	{"updateRoute", byName(routeResource), "", `{}`, 200, writesWithin},
	{"deleteRoute", byName(routeResource), "", "", 204, writesWithin},
	{"getPage", byName(pageResource), "", "", 200, readsWithin},
	{"updatePage", byName(pageResource), "", `{}`, 200, writesWithin},
	{"deletePage", byName(pageResource), "", "", 204, writesWithin},
}

func TestTenantMatrixCoversTheRouteTable(t *testing.T) {
	table := httpapi.RouteTable()
	for _, e := range table {
		if !slices.ContainsFunc(matrix, func(r cellRow) bool { return r.name == e.Name }) {
			t.Errorf("endpoint %s has no row in the matrix", e.Name)
		}
	}
	for _, r := range matrix {
		if !slices.ContainsFunc(table, func(e httpapi.EndpointRow) bool { return r.name == e.Name }) {
			t.Errorf("row %s of the matrix has no endpoint", r.name)
		}
	}
}

func TestTenantMatrix(t *testing.T) {
	endpoints := map[string]httpapi.EndpointRow{}
	for _, e := range httpapi.RouteTable() {
		endpoints[e.Name] = e
	}
	onBothEngines(t, func(t *testing.T, s *system) {
		w := newTenants(t, s)
		for _, row := range matrix {
			lines := map[state]string{own: row.want.own, foreign: row.want.foreign, deleted: row.want.deleted, unknown: row.want.unknown}
			for _, st := range []state{own, foreign, deleted, unknown} {
				if lines[st] != "" {
					w.checkLine(t, endpoints[row.name], row, st, strings.Fields(lines[st]))
				}
			}
		}
	})
}

// state is what a resource is to the first workspace.
type state string

const (
	own            state = "own"
	foreign        state = "foreign"
	deleted        state = "deleted"
	foreignDeleted state = "foreign, deleted"
	unknown        state = "unknown"
)

func (st state) isForeign() bool { return st == foreign || st == foreignDeleted }
func (st state) isDeleted() bool { return st == deleted || st == foreignDeleted }

// subject is a resource as a request names it.
type subject struct {
	id, name, siteID string
	siteKey, token   string // of its own site, and of a preview of it
	byName           bool
}

// resource makes a new resource in a state.
type resource func(t *testing.T, w *tenants, st state) subject

// tenants are two workspaces and the credentials of the matrix.
type tenants struct {
	*system
	second       service.NewApp // owns everything foreign
	site, abroad subject        // where pages and routes are made
	keys         []string       // by column
	counter      int
}

// The credentials that depend on the resource.
const (
	ownSiteKeyColumn = 7
	ownPreviewColumn = 10
)

func newTenants(t *testing.T, s *system) *tenants {
	t.Helper()
	second, err := s.svc.CreateOperatorApp(t.Context(), service.OperatorApp{Name: "Second", Scopes: cms.Scopes, NewWorkspace: "Second"})
	if err != nil {
		t.Fatal(err)
	}
	w := &tenants{system: s, second: second}
	w.site, w.abroad = siteResource(t, w, own), siteResource(t, w, foreign)
	w.made(t, own, "POST", "/v2/locales", `{"siteId":"`+w.site.id+`","locale":"fr"}`)
	w.made(t, foreign, "POST", "/v2/locales", `{"siteId":"`+w.abroad.id+`","locale":"fr"}`)
	other, gone := siteResource(t, w, own), siteResource(t, w, deleted)
	app := func(body string) reply { return s.must(t, 201, "POST", "/v2/apps", body) }
	revoked := app(`{"name":"Revoked"}`)
	s.must(t, 204, "DELETE", "/v2/apps/"+revoked.str(t, "id"), "")
	w.keys = []string{
		"", "garbage", revoked.str(t, "key"),
		s.key, app(`{"name":"Reader","scopes":["read"]}`).str(t, "key"),
		app(`{"name":"Other","siteIds":["`+other.id+`"]}`).str(t, "key"), string(second.Key),
		w.site.siteKey, other.siteKey, gone.siteKey,
		w.site.token, other.token, w.revokedToken(t), w.expiredToken(t, w.site.id), gone.token,
	}
	return w
}

func (w *tenants) revokedToken(t *testing.T) string {
	t.Helper()
	preview := w.made(t, own, "POST", "/v2/previews", `{"siteId":"`+w.site.id+`"}`)
	w.made(t, own, "DELETE", "/v2/previews/"+preview.str(t, "id"), "")
	return preview.str(t, "token")
}

// expiredToken is the token of a preview that the interface itself would not make.
func (s *system) expiredToken(t *testing.T, siteID string) string {
	t.Helper()
	token := cms.NewPreviewToken()
	past := time.Now().UTC().Add(-time.Hour)
	preview := cms.Preview{ID: cms.NewID(), SiteID: uuid.MustParse(siteID), PathPrefix: "/", CreatedAt: past, ExpiresAt: past}
	if err := s.store.InTx(t.Context(), func(tx cms.Tx) error { return tx.CreatePreview(t.Context(), preview, token.Hash()) }); err != nil {
		t.Fatal(err)
	}
	return string(token)
}

// made sends a request that has to succeed, as the owner of a state.
func (w *tenants) made(t *testing.T, st state, method, address, body string) reply {
	t.Helper()
	key := w.key
	if st.isForeign() {
		key = string(w.second.Key)
	}
	r := w.send(t, key, method, address, body)
	if r.status >= 300 {
		t.Fatalf("%s %s: %d %s", method, address, r.status, r.body)
	}
	return r
}

// checkLine sends the request of a row with every credential, each time to a
// resource that no credential before has changed.
func (w *tenants) checkLine(t *testing.T, e httpapi.EndpointRow, row cellRow, st state, want []string) {
	t.Helper()
	if len(want) != len(w.keys) {
		t.Fatalf("%s %s has %d columns", row.name, st, len(want))
	}
	on := row.resource(t, w, st)
	for i, key := range w.keys {
		if i == ownSiteKeyColumn && st != foreign && on.siteKey != "" {
			key = on.siteKey
		}
		if i == ownPreviewColumn && st != foreign && on.token != "" {
			key = on.token
		}
		status := row.ok
		if want[i] != "ok" {
			status, _ = strconv.Atoi(want[i])
		}
		address := on.address(e.Pattern) + strings.ReplaceAll(row.query, "{id}", on.id)
		r := w.send(t, key, e.Method, address, strings.ReplaceAll(row.body, "{id}", on.id))
		if r.status != status {
			t.Errorf("%s, %s resource (by name: %t), credential %d: got %d, want %d\n%s", row.name, st, on.byName, i, r.status, status, r.body)
		}
		if r.status < 300 && e.Method != http.MethodGet {
			on = row.resource(t, w, st)
		}
	}
}

var patternValue = regexp.MustCompile(`\{[A-Za-z]+\}`)

// address is a pattern with the resource in its place. The one pattern with
// two places ends with a locale.
func (on subject) address(pattern string) string {
	pattern = strings.Replace(pattern, "localizations/{localeIdOrCode}", "localizations/fr", 1)
	if !on.byName {
		return patternValue.ReplaceAllString(pattern, on.id)
	}
	return patternValue.ReplaceAllString(pattern, on.name) + "?siteId=" + on.siteID
}

func nothing(*testing.T, *tenants, state) subject { return subject{} }

func unknownResource() subject { return subject{id: cms.NewID().String()} }

func workspaceResource(_ *testing.T, w *tenants, st state) subject {
	switch st {
	case own:
		return subject{id: w.first.WorkspaceID.String()}
	case foreign:
		return subject{id: w.second.App.WorkspaceID.String()}
	}
	return unknownResource()
}

func siteResource(t *testing.T, w *tenants, st state) subject {
	t.Helper()
	if st == unknown {
		return unknownResource()
	}
	r := w.made(t, st, "POST", "/v2/sites", `{"name":"Shop"}`)
	on := subject{id: r.str(t, "id"), siteKey: r.str(t, "publicApiKey")}
	on.token = w.made(t, st, "POST", "/v2/previews", `{"siteId":"`+on.id+`"}`).str(t, "token")
	w.delete(t, st, "/v2/sites/"+on.id)
	return on
}

// namedSite is a site whose key is not asked for: one of a deleted site is a
// column of its own.
func namedSite(t *testing.T, w *tenants, st state) subject {
	t.Helper()
	on := siteResource(t, w, st)
	if st != own {
		on.siteKey, on.token = "", ""
	}
	return on
}

func (w *tenants) delete(t *testing.T, st state, address string) {
	t.Helper()
	if st.isDeleted() {
		w.made(t, st, "DELETE", address, "")
	}
}

func appResource(t *testing.T, w *tenants, st state) subject {
	t.Helper()
	if st == unknown {
		return unknownResource()
	}
	on := subject{id: w.made(t, st, "POST", "/v2/apps", `{"name":"App"}`).str(t, "id")}
	w.delete(t, st, "/v2/apps/"+on.id)
	return on
}

// webhookResource is a webhook of all sites, which no app restricted to some may reach.
func webhookResource(t *testing.T, w *tenants, st state) subject {
	t.Helper()
	if st == unknown {
		return unknownResource()
	}
	on := subject{id: w.made(t, st, "POST", "/v2/webhooks", `{"url":"https://example.com/"}`).str(t, "id")}
	w.delete(t, st, "/v2/webhooks/"+on.id)
	return on
}

// deliveryResource is a delivery of a webhook. The deleted one went with its webhook.
func deliveryResource(t *testing.T, w *tenants, st state) subject {
	t.Helper()
	if st == unknown {
		return unknownResource()
	}
	existing := map[state]state{deleted: own}
	webhook := webhookResource(t, w, cmp.Or(existing[st], st))
	on := subject{id: w.made(t, st, "POST", "/v2/webhooks/"+webhook.id+"/test", "").str(t, "id")}
	w.delete(t, st, "/v2/webhooks/"+webhook.id)
	return on
}

// child makes something in a site.
func (w *tenants) child(t *testing.T, st state, site subject, collection, field, name string) subject {
	t.Helper()
	on := subject{id: cms.NewID().String(), name: name, siteID: site.id, siteKey: site.siteKey, token: site.token}
	if st != unknown {
		body := fmt.Sprintf(`{"siteId":%q,%q:%q}`, site.id, field, name)
		on.id = w.made(t, st, "POST", collection, body).str(t, "id")
		w.delete(t, st, collection+"/"+on.id)
	}
	return on
}

// pathChild makes a page or route under a pathname that is new.
func (w *tenants) pathChild(t *testing.T, st state, collection, field string) subject {
	t.Helper()
	site := w.site
	if st.isForeign() {
		site = w.abroad
	}
	w.counter++
	return w.child(t, st, site, collection, field, "item"+strconv.Itoa(w.counter))
}

func routeResource(t *testing.T, w *tenants, st state) subject {
	t.Helper()
	return w.pathChild(t, st, "/v2/routes", "pathname")
}

func previewResource(t *testing.T, w *tenants, st state) subject {
	t.Helper()
	return w.pathChild(t, st, "/v2/previews", "pathPrefix")
}

func redirectResource(t *testing.T, w *tenants, st state) subject {
	t.Helper()
	site := w.site
	if st.isForeign() {
		site = w.abroad
	}
	w.counter++
	on := subject{id: cms.NewID().String(), siteID: site.id, siteKey: site.siteKey}
	if st != unknown {
		on.id = w.made(t, st, "POST", "/v2/redirects", redirectBody(site.id, "/item"+strconv.Itoa(w.counter), "/elsewhere")).str(t, "id")
		w.delete(t, st, "/v2/redirects/"+on.id)
	}
	return on
}

func pageResource(t *testing.T, w *tenants, st state) subject {
	t.Helper()
	return w.pathChild(t, st, "/v6/pages", "pathname")
}

// livePage is a page that is named by its pathname alone. The deleted one was live
// before.
func livePage(t *testing.T, w *tenants, st state) subject {
	t.Helper()
	existing := map[state]state{deleted: own}
	on := pageResource(t, w, cmp.Or(existing[st], st))
	if st != unknown {
		w.made(t, st, "POST", "/v2/sites/"+on.siteID+"/publish", "")
	}
	if st == deleted {
		w.made(t, st, "DELETE", "/v6/pages/"+on.id, "")
		w.made(t, st, "POST", "/v2/sites/"+on.siteID+"/publish", "")
	}
	on.id = url.PathEscape("/" + on.name)
	return on
}

// contentResource is a page with content.
func contentResource(t *testing.T, w *tenants, st state) subject {
	t.Helper()
	on := pageResource(t, w, st)
	if st == own || st == foreign {
		w.made(t, st, "PUT", "/v6/pages/"+on.id+"/content", `{}`)
	}
	return on
}

// localeResource has a site to itself, since codes are few.
func localeResource(t *testing.T, w *tenants, st state) subject {
	t.Helper()
	owner := own
	if st.isForeign() {
		owner = foreign
	}
	return w.child(t, st, siteResource(t, w, owner), "/v2/locales", "locale", "fr")
}

// publishOf makes a publish in a site of its own. Publishes are never deleted,
// so the deleted one went with its site.
func publishOf(ask func(t *testing.T, w *tenants, owner state, siteID string) reply) resource {
	return func(t *testing.T, w *tenants, st state) subject {
		t.Helper()
		if st == unknown {
			return unknownResource()
		}
		owner := map[state]state{own: own, deleted: own, foreign: foreign}[st]
		site := siteResource(t, w, owner)
		on := subject{id: ask(t, w, owner, site.id).str(t, "id"), siteKey: site.siteKey, token: site.token}
		if st == deleted {
			w.made(t, owner, "DELETE", "/v2/sites/"+site.id, "")
			on.siteKey, on.token = "", "" // one of a deleted site is a column of its own
		}
		return on
	}
}

var scheduledPublish = publishOf(func(t *testing.T, w *tenants, owner state, siteID string) reply {
	t.Helper()
	return w.made(t, owner, "POST", "/v2/sites/"+siteID+"/publish", `{"publishAt":"2100-01-01T00:00:00Z"}`)
})

// oldPublish is one that there is something to go back from.
var oldPublish = publishOf(func(t *testing.T, w *tenants, owner state, siteID string) reply {
	t.Helper()
	var first reply
	for i, pathname := range []string{"/first", "/second"} {
		w.made(t, owner, "POST", "/v6/pages", `{"siteId":"`+siteID+`","pathname":"`+pathname+`"}`)
		r := w.made(t, owner, "POST", "/v2/sites/"+siteID+"/publish", "")
		if i == 0 {
			first = r
		}
	}
	return first
})

// swapped is for what is restored: own and foreign ones are deleted, and the
// deleted one is not.
func swapped(of resource) resource {
	return func(t *testing.T, w *tenants, st state) subject {
		t.Helper()
		return of(t, w, map[state]state{own: deleted, foreign: foreignDeleted, deleted: own, unknown: unknown}[st])
	}
}

// byName has the request name the site and what is in it.
func byName(of resource) resource {
	return func(t *testing.T, w *tenants, st state) subject {
		t.Helper()
		on := of(t, w, st)
		on.byName = true
		return on
	}
}
