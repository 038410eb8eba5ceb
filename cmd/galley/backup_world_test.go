package main_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// world is a store with something of everything in it, made through the
// interface, and the addresses at which all of it can be read.
type world struct {
	server *process
	admin  string

	site    string
	keys    []string // that have to go on working
	dead    []string // that have not
	answers []string
}

// kept is a POST whose answer is kept.
const keptBody = `{"name":"Made once"}`

func newWorld(t *testing.T, store []string) *world {
	t.Helper()
	w := &world{server: serve(t, nil, append([]string{"--app-rate", "off"}, store...)...)}
	w.admin = w.server.key(t)
	w.keys = append(w.keys, w.admin)
	w.fillSite(t)
	w.publishAll(t)
	w.fillApps(t, store)
	if r, err := w.server.ask(w.admin, "POST", "/v2/sites", keptBody, "Idempotency-Key", "once"); err != nil || r.status != 201 {
		t.Fatalf("%v %v", r, err)
	}
	for _, address := range []string{
		"/v2/workspace", "/v2/sites?limit=100", "/v2/apps?limit=100", "/v2/sites/{site}", "/v2/locales?siteId={site}", "/v2/routes?siteId={site}",
		"/v6/pages?siteId={site}&includeOffline=true&limit=100", "/v6/pages?siteId={site}&locale=fr&sortBy=title", "/v6/pages?siteId={site}&versionRef=ref:live",
		"/v6/pages?siteId={site}&versionRef=ref:live&locale=de", "/v6/pages/a-propos?siteId={site}&locale=fr", "/v6/pages/%2F?siteId={site}",
		"/v2/redirects?siteId={site}&limit=100", "/v2/redirects?siteId={site}&versionRef=ref:live", "/v2/redirects?siteId={site}&deleted=true",
		"/v6/pages/about?siteId={site}&include=content", "/v6/pages/a-propos?siteId={site}&locale=fr&versionRef=ref:live&include=content",
		"/v2/resolve?url=https://www.example.com/moved/x", "/v2/sites/{site}/summary",
		"/v2/sites/{site}/changes?limit=100", "/v2/sites/{site}/publishes?limit=100", "/v2/audit?siteId={site}&limit=100",
	} {
		w.answers = append(w.answers, strings.ReplaceAll(address, "{site}", w.site))
	}
	return w
}

func (w *world) post(t *testing.T, target, body string) reply {
	t.Helper()
	return w.server.must(t, 201, w.admin, "POST", target, body)
}

// page makes a page of the site and returns its address.
func (w *world) page(t *testing.T, fields string) string {
	t.Helper()
	return "/v6/pages/" + w.post(t, "/v6/pages", fmt.Sprintf(`{"siteId":%q,%s}`, w.site, fields)).field(t, "id")
}

// content sets the content of a page.
func (w *world) content(t *testing.T, page, text string) {
	t.Helper()
	w.server.must(t, 200, w.admin, "PUT", page+"/content", fmt.Sprintf(`{"text":%q}`, text))
}

// redirect makes a redirect of the site and returns its address.
func (w *world) redirect(t *testing.T, fields string) string {
	t.Helper()
	return "/v2/redirects/" + w.post(t, "/v2/redirects", fmt.Sprintf(`{"siteId":%q,%s}`, w.site, fields)).field(t, "id")
}

func (w *world) patch(t *testing.T, target, body string) {
	t.Helper()
	w.server.must(t, 200, w.admin, "PATCH", target, body)
}

func (w *world) remove(t *testing.T, target string) {
	t.Helper()
	w.server.must(t, 204, w.admin, "DELETE", target, "")
}

func (w *world) fillSite(t *testing.T) {
	t.Helper()
	made := w.post(t, "/v2/sites", `{"name":"Shop \u00e9\ud83d\udcc1","hostOrigin":"https://www.example.com"}`)
	w.site = made.field(t, "id")
	w.keys = append(w.keys, made.field(t, "publicApiKey"))
	w.keys = append(w.keys, w.server.must(t, 200, w.admin, "POST", "/v2/sites/"+w.site+"/rotate-key", `{"graceSeconds":3600}`).field(t, "publicApiKey"))
	for _, locale := range []string{`"fr","domain":"https://fr.example.com"`, `"de","domain":"https://de.example.com","pathPrefix":""`, `"es"`} {
		w.post(t, "/v2/locales", fmt.Sprintf(`{"siteId":%q,"locale":%s}`, w.site, locale))
	}
	w.page(t, `"pathname":"/"`)
	about := w.page(t, `"pathname":"/about","title":"About","description":"It's \"us\"","canonicalUrl":"https://www.example.com/about",
		"socialImageUrl":"https://www.example.com/a.png","sitemapPriority":0.3,"sitemapFrequency":"daily","excludedFromSearchEngines":true`)
	w.patch(t, about+"?locale=fr", `{"pathname":"/a-propos","title":"À propos"}`)
	w.content(t, about, "About")
	w.server.must(t, 200, w.admin, "PUT", about+"/content?locale=fr", `{"text":"À propos"}`)
	w.patch(t, about+"?locale=es", `{"title":"Acerca"}`)
	w.remove(t, "/v2/locales/es?siteId="+w.site)
	w.page(t, `"pathname":"/offline","isOnline":false`)
	w.post(t, "/v2/routes", fmt.Sprintf(`{"siteId":%q,"pathname":"/api"}`, w.site))
	w.post(t, "/v2/routes?skipValidation=true", fmt.Sprintf(`{"siteId":%q,"pathname":"/products/[slug]"}`, w.site))
	w.remove(t, "/v2/routes/"+w.post(t, "/v2/routes", fmt.Sprintf(`{"siteId":%q,"pathname":"/gone"}`, w.site)).field(t, "id"))

	gone := w.post(t, "/v2/sites/"+w.site+"/duplicate", `{"name":"Copy"}`)
	w.dead = append(w.dead, gone.field(t, "publicApiKey"))
	w.remove(t, "/v2/sites/"+gone.field(t, "id"))
}

// publishAll gives the site a history, and a draft that has moved on since.
func (w *world) publishAll(t *testing.T) {
	t.Helper()
	publish := "/v2/sites/" + w.site + "/publish"
	old := w.page(t, `"pathname":"/old","title":"Old"`)
	w.content(t, old, "Old")
	moved := w.redirect(t, `"source":"/moved/*","target":"/about/*"`)
	w.redirect(t, `"source":"/gone","target":"https://www.example.com/about","status":302,"locale":"fr"`)
	first := w.post(t, publish, `{"name":"First"}`).field(t, "id")
	w.patch(t, old, `{"pathname":"/new"}`) // leaves an automatic redirect
	w.content(t, old, "New")
	w.patch(t, moved, `{"target":"/new"}`)
	second := w.post(t, publish, `{}`).field(t, "id")
	w.patch(t, old+"?locale=de", `{"title":"Neu"}`)
	w.remove(t, w.page(t, `"pathname":"/never-live"`))
	w.post(t, publish, `{"locales":["de"]}`)
	w.post(t, "/v2/publishes/"+first+"/restore", "")
	w.remove(t, old)
	w.remove(t, moved)
	w.redirect(t, `"source":"/draft","target":"/about"`)
	w.page(t, `"pathname":"/draft-only","sitemapPriority":1`)

	later := fmt.Sprintf(`{"publishAt":%q}`, time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339))
	scheduled := w.post(t, publish, later).field(t, "id")
	w.remove(t, "/v2/publishes/"+w.post(t, publish, later).field(t, "id"))
	w.answers = append(w.answers, "/v2/publishes/"+scheduled, "/v2/publishes/"+first+"/changes", old+"/publishes",
		"/v6/pages?siteId="+w.site+"&versionRef=publish:"+first,
		"/v2/redirects?siteId="+w.site+"&versionRef=publish:"+first, "/v2/redirects?siteId="+w.site+"&versionRef=publish:"+second,
		old+"/content?versionRef=publish:"+first, old+"/content?versionRef=publish:"+second, "/v2/publishes/"+second+"/changes")
}

func (w *world) fillApps(t *testing.T, store []string) {
	t.Helper()
	made := w.post(t, "/v2/apps", fmt.Sprintf(`{"name":"Reader","description":"Reads","scopes":["read"],"siteIds":[%q],"expiresAt":%q}`,
		w.site, time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
	app := "/v2/apps/" + made.field(t, "id")
	w.keys = append(w.keys, made.field(t, "key"))
	w.keys = append(w.keys, w.server.must(t, 200, w.admin, "POST", app+"/rotate", `{"graceSeconds":3600}`).field(t, "key"))
	mustRun(t, nil, append([]string{"apps", "rate", made.field(t, "id"), "5000/60"}, store...)...)
	mustRun(t, nil, append([]string{"workspaces", "limit", made.field(t, "workspaceId"), "--pages", "1000000"}, store...)...)
	gone := w.post(t, "/v2/apps", `{"name":"Gone"}`)
	w.dead = append(w.dead, gone.field(t, "key"))
	w.remove(t, "/v2/apps/"+gone.field(t, "id"))
}

// lastUsed is the one thing that reading changes.
var lastUsed = regexp.MustCompile(`"lastUsedAt":[^,}]*`)

// check reads the whole world from another server.
func (w *world) check(t *testing.T, other *process) {
	t.Helper()
	for _, address := range w.answers {
		want, got := w.server.must(t, 200, w.admin, "GET", address, ""), other.send(t, w.admin, "GET", address, "")
		if got.status != 200 || lastUsed.ReplaceAllString(got.body, "") != lastUsed.ReplaceAllString(want.body, "") {
			t.Errorf("%s\n got %d %s\nwant %s", address, got.status, got.body, want.body)
		}
	}
	for _, key := range w.keys {
		other.must(t, 200, key, "GET", "/v2/sites/"+w.site, "")
	}
	for _, key := range w.dead {
		other.must(t, 401, key, "GET", "/v2/sites/"+w.site, "")
	}
	// A request that was answered before is answered the same, and not done again.
	want, err := w.server.ask(w.admin, "POST", "/v2/sites", keptBody, "Idempotency-Key", "once")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := other.ask(w.admin, "POST", "/v2/sites", keptBody, "Idempotency-Key", "once"); err != nil || got.status != 201 || got.body != want.body {
		t.Errorf("got %d %s %v\nwant %s", got.status, got.body, err, want.body)
	}
	// And life goes on.
	other.must(t, 201, w.admin, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/after"}`, w.site))
	other.must(t, 409, w.admin, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/api"}`, w.site))
	other.must(t, 201, w.admin, "POST", "/v2/sites/"+w.site+"/publish", `{"confirm":true}`)
}
