package main_test

import (
	"encoding/xml"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// freePort is a port that nothing listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

var heading = regexp.MustCompile(`<h1>([^<]*)</h1>`)

// visit opens an address in a browser and returns the heading and the canonical address
// of the page that it ends at, and its source.
func visit(t *testing.T, address string) (title, canonical, dom string) {
	t.Helper()
	dom, _ = browse(t, address, "--dump-dom")
	if m := heading.FindStringSubmatch(dom); m != nil {
		title = m[1]
	}
	if m := regexp.MustCompile(`rel="canonical" href="([^"]*)"`).FindStringSubmatch(dom); m != nil {
		canonical = m[1]
	}
	return title, canonical, dom
}

// TestExampleFrontEnd visits the website of examples/node with a browser.
func TestExampleFrontEnd(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	key := server.key(t)
	port := freePort(t)
	origin := fmt.Sprintf("http://127.0.0.1:%d", port)
	made := server.must(t, 201, key, "POST", "/v2/sites", `{"name":"Example","hostOrigin":"`+origin+`","siteKeyAccess":"live","defaultLocale":"en",`+
		`"previewUrlTemplate":"`+origin+`/preview?path={pathname}&locale={locale}&token={token}"}`)
	site, siteKey := made.field(t, "id"), made.field(t, "publicApiKey")
	server.must(t, 201, key, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"fr"}`)
	page := func(pathname, title, text string) string {
		id := server.must(t, 201, key, "POST", "/v6/pages", `{"siteId":"`+site+`","pathname":"`+pathname+`","title":"`+title+`"}`).field(t, "id")
		server.must(t, 200, key, "PUT", "/v6/pages/"+id+"/content", `{"blocks":[{"type":"text","text":"`+text+`"}]}`)
		return id
	}
	page("/", "Welcome", "It works.")
	about := page("/about", "About us", "Who we are.")
	server.must(t, 200, key, "PATCH", "/v6/pages/"+about+"?locale=fr", `{"pathname":"/à-propos","title":"À propos"}`)
	server.must(t, 200, key, "PUT", "/v6/pages/"+about+"/content?locale=fr", `{"blocks":[{"type":"text","text":"Qui nous sommes."}]}`)
	server.must(t, 201, key, "POST", "/v2/sites/"+site+"/publish", "")

	front := exec.CommandContext(t.Context(), "node", "../../examples/node/server.mjs")
	front.Env = []string{"GALLEY_URL=" + server.url, "SITE_ID=" + site, "SITE_KEY=" + siteKey, fmt.Sprintf("PORT=%d", port)}
	var stdout, stderr output
	front.Stdout, front.Stderr = &stdout, &stderr
	if err := front.Start(); err != nil {
		t.Fatalf("this test needs Node.js, run make deps: %v", err)
	}
	t.Cleanup(func() { _ = front.Process.Kill(); _ = front.Wait() })
	eventually(t, "the front end listens", func() bool { return strings.Contains(stdout.String(), "listening") })
	check := func(what, address, wantTitle, wantCanonical, wantText string) {
		t.Helper()
		title, canonical, dom := visit(t, address)
		if title != wantTitle || canonical != wantCanonical || !strings.Contains(dom, wantText) {
			t.Errorf("%s: %s shows %q at %s\n%s\n%s", what, address, title, canonical, dom, &stderr)
		}
	}
	check("the home page", origin, "Welcome", origin, "It works.")
	check("a localized page", origin+"/fr/%C3%A0-propos", "À propos", origin+"/fr/%C3%A0-propos", "Qui nous sommes.")
	check("nothing", origin+"/missing", "Not found", "", "")

	// A page that moves leaves a redirect behind.
	server.must(t, 200, key, "PATCH", "/v6/pages/"+about, `{"pathname":"/company"}`)
	server.must(t, 201, key, "POST", "/v2/sites/"+site+"/publish", "")
	check("a renamed page", origin+"/about", "About us", origin+"/company", "Who we are.")

	// A draft is seen by its preview link alone.
	server.must(t, 200, key, "PATCH", "/v6/pages/"+about, `{"title":"About all of us"}`)
	preview := server.must(t, 201, key, "POST", "/v2/previews", `{"siteId":"`+site+`","pathPrefix":"/company"}`).field(t, "url")
	check("a draft", preview, "About all of us", origin+"/company", "Preview")
	check("the live page", origin+"/company", "About us", origin+"/company", "Who we are.")

	checkExampleSitemap(t, origin)
}

// checkExampleSitemap checks that the front end serves a sitemap whose alternates name
// each other.
func checkExampleSitemap(t *testing.T, origin string) {
	t.Helper()
	front := process{url: origin}
	var file struct {
		URLs []struct {
			Loc   string `xml:"loc"`
			Links []struct {
				HrefLang string `xml:"hreflang,attr"`
				Href     string `xml:"href,attr"`
			} `xml:"http://www.w3.org/1999/xhtml link"`
		} `xml:"url"`
	}
	if err := xml.Unmarshal([]byte(front.must(t, 200, "", "GET", "/sitemap.xml", "").body), &file); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{}
	for _, u := range file.URLs {
		links[u.Loc] = fmt.Sprint(u.Links)
	}
	if len(links) != 4 {
		t.Errorf("the sitemap has %v", links)
	}
	for _, u := range file.URLs {
		if len(u.Links) != 3 { // en, fr, x-default
			t.Errorf("%s has the alternates %v", u.Loc, u.Links)
		}
		for _, l := range u.Links {
			if links[l.Href] != links[u.Loc] {
				t.Errorf("%s names %s, which has other alternates", u.Loc, l.Href)
			}
		}
	}
	robots := front.must(t, 200, "", "GET", "/robots.txt", "")
	if !strings.Contains(robots.body, "Sitemap: "+origin+"/sitemap.xml") {
		t.Errorf("robots.txt is %s", robots.body)
	}
}
