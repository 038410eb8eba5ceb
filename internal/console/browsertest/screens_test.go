package browsertest

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
)

// world is a store with something of everything, all of it hostile.
type world struct {
	site, page, publish, scheduled, webhook, app string
}

// hostile is in every text that a person can store.
const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`

func (s *server) world() world {
	s.t.Helper()
	var w world
	w.site = s.create("/v2/sites", `{"name": `+quote("Site "+hostile)+`, "hostOrigin": "https://www.fjell.example", "labels": ["shop"]}`)
	gone := s.create("/v2/sites", `{"name": `+quote("Gone "+hostile)+`}`)
	s.must("DELETE", "/v2/sites/"+gone, "")
	_, w.app = s.app(`{"name": ` + quote("Key "+hostile) + `}`)
	s.create("/v2/locales", `{"siteId": "`+w.site+`", "locale": "fr"}`)
	fields := `"title": ` + quote("Title "+hostile) + `, "description": ` + quote(hostile) + `, "canonicalUrl": "https://x.example/%22onmouseover=alert(3)"`
	w.page = s.create("/v6/pages", `{"siteId": "`+w.site+`", "pathname": `+quote("/a<b>/x\"onclick=alert(4)")+`, "name": `+quote("Name "+hostile)+`, `+fields+`}`)
	s.create("/v6/pages", `{"siteId": "`+w.site+`", "pathname": "/javascript:alert(5)", "title": "javascript:alert(6)"}`)
	s.must("PUT", "/v6/pages/"+w.page+"/content", `{"text": `+quote(hostile)+`}`)
	w.publish = s.create("/v2/sites/"+w.site+"/publish", `{"name": `+quote("Publish "+hostile)+`}`)
	w.scheduled = s.create("/v2/sites/"+w.site+"/publish", `{"name": `+quote("Later "+hostile)+`, "publishAt": "2099-01-01T00:00:00.000Z"}`)
	s.must("PATCH", "/v6/pages/"+w.page+"?locale=fr", `{`+fields+`}`)
	s.create("/v2/sites/"+w.site+"/publish", `{"name": "Second"}`)
	s.must("PATCH", "/v6/pages/"+w.page, `{"pathname": "/moved", "isOnline": false}`)
	s.must("PATCH", "/v6/pages/"+w.page, `{"title": `+quote("Later "+hostile)+`}`)
	s.must("PUT", "/v6/pages/"+w.page+"/content", `{"text": "other", "more": `+quote(hostile)+`}`)
	trash := s.create("/v6/pages", `{"siteId": "`+w.site+`", "pathname": "/gone", "title": `+quote(hostile)+`}`)
	s.must("DELETE", "/v6/pages/"+trash, "")
	s.create("/v2/routes?skipValidation=true", `{"siteId": "`+w.site+`", "pathname": `+quote("/r/"+hostile)+`}`)
	w.webhook = s.create("/v2/webhooks", `{"url": "https://hooks.fjell.example/x", "description": `+quote(hostile)+`}`)
	return w
}

// addresses are those of every screen.
func (w world) addresses() []string {
	site := "/console/sites/" + w.site
	return []string{
		"/console/sites", "/console/sites?find=zzz", "/console/sites?deleted=true", "/console/sites/new", "/console/session",
		site + "/pages", site + "/pages?page=" + w.page, site + "/pages?locale=fr&page=" + w.page, site + "/pages?view=list", site + "/pages?status=deleted",
		site + "/pages/new", site + "/pages/" + w.page + "?locale=fr", site + "/pages/" + w.page + "/content", site + "/pages/" + w.page + "/compare",
		site + "/review", site + "/review?locale=fr", site + "/review/gone", site + "/review?view=sides", site + "/review?kind=deleted", site + "/publishes", site + "/scheduled", "/console/scheduled",
		"/console/publishes/" + w.publish, "/console/publishes/" + w.publish + "/restore", "/console/publishes/" + w.scheduled, site + "/locales", site + "/locales?edit=fr", site + "/routes",
		"/console/keys", "/console/keys/new?preset=editor", "/console/keys/" + w.app, "/console/audit", "/console/audit?operation=zzz", "/console/webhooks", "/console/webhooks/new",
		"/console/webhooks/" + w.webhook, "/console/events", "/console/events?types=zzz", "/console/palette?find=a", "/console/keyboard", "/console/nowhere", "/console/sites/x/pages",
	}
}

// openAddresses are those that need no session.
var openAddresses = []string{"/console/sign-in", "/console/start"}

var axe = sync.OnceValue(func() string {
	file, err := os.Open("testdata/axe.min.js.gz")
	if err != nil {
		panic(err)
	}
	defer func() { _ = file.Close() }()
	packed, err := gzip.NewReader(file)
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(packed)
	if err != nil {
		panic(err)
	}
	return string(text)
})

// accessible fails for whatever axe finds, of any impact.
func (b *tab) accessible() {
	b.t.Helper()
	eval[bool](b, `(() => { if (!window.axe) { `+axe()+`; } return true; })()`)
	found := eval[string](b, `axe.run(document, {resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) => v.id + ": " + v.help + " " + v.nodes.map((n) => n.html.slice(0, 160) + " " + (n.any[0]?.message ?? "")).join(" | "))))`)
	var violations []string
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range violations {
		b.t.Errorf("%s: %s", b.path(), v)
	}
}

// narrowEnough fails if the page scrolls sideways.
func (b *tab) narrowEnough() {
	b.t.Helper()
	if over := eval[float64](b, "document.documentElement.scrollWidth - window.innerWidth"); over > 0 {
		b.t.Errorf("%s is %v pixels too wide", b.path(), over)
	}
}

// check is what holds for every screen.
func (b *tab) check(address string) {
	b.t.Helper()
	b.open(address)
	for _, dark := range []bool{false, true} {
		b.dark(dark)
		for _, width := range []int64{1440, 768, 390} {
			b.size(width, 900)
			b.accessible()
			b.narrowEnough()
		}
	}
	b.quiet()
	if title := eval[string](b, "document.title"); !strings.HasSuffix(title, " · Galley") {
		b.t.Errorf("%s has the title %q", address, title)
	}
	if n := eval[int](b, `document.querySelectorAll("main").length * 10 + document.querySelectorAll("h1").length`); n != 11 {
		b.t.Errorf("%s has mains and headings: %d", address, n)
	}
	if got := eval[string](b, "document.cookie"); got != "" {
		b.t.Errorf("%s: a script reads %q", address, got)
	}
}

func TestEveryScreen(t *testing.T) {
	t.Parallel()
	s := serve(t)
	w := s.world()
	b := s.signedIn(t)
	for _, address := range w.addresses() {
		b.check(address)
	}
	out := s.tab(t)
	for _, address := range openAddresses {
		out.check(address)
	}
}
