package main_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	galley "galley/sdk/go"
)

// bundled is a site with its bundle.
type bundled struct {
	t      *testing.T
	server *process
	client *galley.Client
	site   string
	dir    string
}

// newBundled exports a site that has some pages.
func newBundled(t *testing.T, p *process, flags []string, pathnames ...string) *bundled {
	t.Helper()
	b := &bundled{t, p, newClient(t, p), emptySite(t, p), filepath.Join(t.TempDir(), "site")}
	for _, pathname := range pathnames {
		ok[galley.Page](t)(b.client.Pages.Create(t.Context(), galley.PageCreate{SiteID: b.site, Pathname: pathname, Title: galley.Value("Title of " + pathname)}))
	}
	exportTo(t, p, b.site, b.dir, flags...)
	return b
}

// edit replaces text in a file of the bundle; all of it for "".
func (b *bundled) edit(name, old, replacement string) {
	b.t.Helper()
	path := filepath.Join(b.dir, filepath.FromSlash(name))
	text, err := os.ReadFile(path)
	if old == "" {
		text, err = []byte(replacement), os.MkdirAll(filepath.Dir(path), 0o755)
	} else {
		if !strings.Contains(string(text), old) {
			b.t.Fatalf("%s has no %q:\n%s", name, old, text)
		}
		text = []byte(strings.Replace(string(text), old, replacement, 1))
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// run runs a command on the bundle, and wants an exit code.
func (b *bundled) run(code int, command string, flags ...string) (stdout, stderr string) {
	b.t.Helper()
	return b.runAt(b.server.url, code, command, flags...)
}

func (b *bundled) runAt(url string, code int, command string, flags ...string) (stdout, stderr string) {
	b.t.Helper()
	env := []string{"GALLEY_URL=" + url, "GALLEY_KEY=" + b.server.key(b.t)}
	got, stdout, stderr := run(b.t, env, append([]string{command, b.dir, "--site", b.site}, flags...)...)
	if got != code {
		b.t.Fatalf("galley %s %v: exit code %d, want %d\n%s%s", command, flags, got, code, stdout, stderr)
	}
	return stdout, stderr
}

// apply applies the bundle, and wants nothing to be left to do, and the plan to be what was
// expected.
func (b *bundled) apply(plan string) {
	b.t.Helper()
	if out, _ := b.run(0, "plan"); !strings.HasPrefix(out, plan+"\n\n") {
		b.t.Errorf("got\n%s\nwant\n%s", out, plan)
	}
	b.run(0, "apply", "--yes")
	if out, _ := b.run(0, "plan"); out != nothingToDo {
		b.t.Errorf("it is left to do:\n%s", out)
	}
}

// ids are the ids of the pages, by pathname.
func (b *bundled) ids() map[string]string {
	b.t.Helper()
	ids := map[string]string{}
	for page, err := range b.client.Pages.All(b.t.Context(), galley.PageQuery{SiteID: b.site, IncludeOffline: true}) {
		if err != nil {
			b.t.Fatal(err)
		}
		ids[page.Pathname] = page.ID
	}
	return ids
}

func TestBundleMovesPages(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		p := serve(t, nil, store...)

		// By movedFrom: a chain, and a new page where one was.
		b := newBundled(t, p, nil, "/a", "/b")
		before := b.ids()
		b.edit("pages/c.yaml", "", "pathname: /c\nmovedFrom: /b\ntitle: Title of /b\n")
		b.edit("pages/b.yaml", "", "pathname: /b\nmovedFrom: /a\ntitle: Title of /a\n")
		b.edit("pages/a.yaml", "", "pathname: /a\n")
		b.apply("+ page /a\n    pathname: \"/a\"\n~ page /a -> /b\n    pathname: \"/a\" -> \"/b\"\n~ page /b -> /c\n    pathname: \"/b\" -> \"/c\"")
		after := b.ids()
		if after["/b"] != before["/a"] || after["/c"] != before["/b"] || after["/a"] == before["/a"] {
			t.Errorf("%v became %v", before, after)
		}

		// By id: a swap, with a name of a file that says something else.
		b = newBundled(t, p, []string{"--ids"}, "/a", "/b")
		before = b.ids()
		b.edit("pages/a.yaml", "pathname: /a", "pathname: /b")
		b.edit("pages/b.yaml", "pathname: /b", "pathname: /a")
		b.apply("~ page /b -> /a\n    pathname: \"/b\" -> \"/a\"\n~ page /a -> /b\n    pathname: \"/a\" -> \"/b\"")
		if after = b.ids(); after["/a"] != before["/b"] || after["/b"] != before["/a"] {
			t.Errorf("%v became %v", before, after)
		}

		// Without either, it is another page.
		b = newBundled(t, p, nil, "/a")
		before = b.ids()
		b.edit("pages/a.yaml", "pathname: /a", "pathname: /b")
		b.apply("- page /a\n+ page /b\n    pathname: \"/b\"\n    title: \"Title of /a\"")
		if b.ids()["/b"] == before["/a"] {
			t.Error("the page kept its id")
		}
	})
}

// Pages, routes and redirects can take each other's pathnames.
func TestBundleMovesPathnamesBetweenKinds(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		p := serve(t, nil, store...)
		b := newBundled(t, p, nil, "/page")
		b.edit("routes.yaml", "", "- pathname: /route\n- pathname: /other\n")
		b.edit("redirects.yaml", "", "- source: /redirect\n  target: /elsewhere\n  status: 302\n")
		b.run(0, "apply", "--publish")
		exportTo(t, p, b.site, b.dir, "--ids")
		// The page takes the source of the redirect, that takes the pathname of a route, and
		// that takes the pathname of the page, which is still live. Two routes swap theirs.
		b.edit("pages/page.yaml", "pathname: /page", "pathname: /redirect")
		b.edit("redirects.yaml", "source: /redirect", "source: /route")
		b.edit("routes.yaml", "pathname: /route", "pathname: /page")
		if _, out := b.run(1, "apply"); !strings.Contains(out, "routes.yaml: route /page: A page or route with this pathname already exists") ||
			!strings.Contains(out, "apply with --publish") {
			t.Error(out)
		}
		b.run(0, "apply", "--publish")
		if out, _ := b.run(0, "plan"); out != nothingToDo {
			t.Error(out)
		}
		exportTo(t, p, b.site, b.dir, "--ids")
		b.edit("routes.yaml", "/other", "/page-")
		b.edit("routes.yaml", "/page\n", "/other\n")
		b.edit("routes.yaml", "/page-", "/page")
		b.apply("~ route /page -> /other\n    pathname: \"/page\" -> \"/other\"\n~ route /other -> /page\n    pathname: \"/other\" -> \"/page\"")
	})
}

// A ring of pages that is larger than a batch can't be moved, but a chain can.
func TestBundleMovesManyPages(t *testing.T) {
	t.Parallel()
	p := serve(t, nil)
	b := newBundled(t, p, nil)
	for i := range 1500 {
		b.edit(pageFile(i), "", "pathname: /p"+number(i)+"\n")
	}
	b.run(0, "apply")
	exportTo(t, p, b.site, b.dir, "--ids")
	before := b.ids()
	for i := range 1500 {
		b.edit(pageFile(i), "pathname: /p"+number(i), "pathname: /p"+number(i+1))
	}
	b.run(0, "apply")
	after := b.ids()
	for i := range 1500 {
		if after["/p"+number(i+1)] != before["/p"+number(i)] {
			t.Fatalf("page %d is not where it should be", i)
		}
	}
	b.edit(pageFile(0), "pathname: /p"+number(1), "pathname: /p"+number(1500))
	for i := 1; i < 1500; i++ {
		b.edit(pageFile(i), "pathname: /p"+number(i+1), "pathname: /p"+number(i))
	}
	if _, out := b.run(1, "apply"); !strings.Contains(out, "1500 pages swap their pathnames in a ring, and a batch takes 1000") {
		t.Error(out)
	}
}

func number(i int) string {
	return string(rune('a'+i/676%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i%26))
}

func pageFile(i int) string { return "pages/p" + number(i) + ".yaml" }

func TestBundleNames(t *testing.T) {
	t.Parallel()
	p := serve(t, nil)
	b := newBundled(t, p, nil, "/a")
	page := ok[galley.Page](t)(b.client.Pages.Get(t.Context(), "/a", galley.PageRef{SiteID: b.site}))
	// A name that was given looks like none while it equals the title.
	ok[galley.Page](t)(b.client.Pages.Update(t.Context(), page.ID, galley.PageRef{}, galley.PagePatch{Name: galley.Value("Title of /a")}))
	b.edit("pages/a.yaml", "Title of /a", "Another title")
	b.apply("~ page /a\n    title: \"Title of /a\" -> \"Another title\"")
	b.edit("pages/a.yaml", "title:", "name: A name\ntitle:")
	b.apply("~ page /a\n    name: null -> \"A name\"")
	b.edit("pages/a.yaml", "name: A name\n", "")
	b.apply("~ page /a\n    name: \"A name\" -> \"Another title\"")
}

func TestBundleChangesLocales(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		p := serve(t, nil, store...)
		b := newBundled(t, p, []string{"--ids"}, "/a", "/b")
		b.edit("locales.yaml", "- locale: en-US\n", "- locale: de\n  pathPrefix: one\n- locale: fr\n  pathPrefix: two\n- locale: en-US\n")
		b.edit("pages/a.yaml", "title: Title of /a\n", "title: Title of /a\nisOnline: false\nlocalizations:\n  fr:\n    title: Titre\n    isOnline: true\n")
		b.edit("content/a.fr.json", "", `{"a": 1}`)
		b.apply("+ locale de\n    locale: \"de\"\n    pathPrefix: \"one\"\n+ locale fr\n    locale: \"fr\"\n    pathPrefix: \"two\"\n~ page /a\n    isOnline: true -> false\n" +
			"    fr title: inherited -> \"Titre\"\n    fr isOnline: inherited -> true\n    fr content: inherited -> \"sha256-015abd7…")

		// Prefixes that are swapped.
		b.edit("locales.yaml", "two", "one-")
		b.edit("locales.yaml", "one\n", "two\n")
		b.edit("locales.yaml", "one-", "one")
		b.apply("~ locale de\n    pathPrefix: \"one\" -> \"two\"\n~ locale fr\n    pathPrefix: \"two\" -> \"one\"")

		// Another default locale: readers see the same, so that only the values differ that
		// the bundle has of other locales.
		exportTo(t, p, b.site, b.dir, "--ids")
		b.edit("site.yaml", "defaultLocale: en-US", "defaultLocale: fr")
		b.edit("pages/a.yaml", "title: Title of /a\nisOnline: false\nlocalizations:\n  fr:\n    title: Titre\n    isOnline: true\n",
			"title: Titre\nlocalizations:\n  en-US:\n    title: Title of /a\n    isOnline: false\n")
		b.apply("~ site Empty\n    defaultLocale: \"en-US\" -> \"fr\"\n~ page /a\n    de title: \"Title of /a\" -> inherited\n    de isOnline: false -> inherited\n    de content: null -> inherited\n" +
			"    en-US content: null -> inherited")

		// A locale with another code, and one that goes.
		exportTo(t, p, b.site, b.dir, "--ids")
		b.edit("locales.yaml", "locale: fr\n", "locale: fr-CA\n")
		b.edit("site.yaml", "defaultLocale: fr", "defaultLocale: fr-CA")
		b.edit("locales.yaml", "- locale: en-US\n", "- locale: en-GB\n")
		b.edit("pages/a.yaml", "en-US", "en-GB")
		if err := os.Rename(filepath.Join(b.dir, "content/a.fr.json"), filepath.Join(b.dir, "content/a.fr-CA.json")); err != nil {
			t.Fatal(err)
		}
		b.apply("~ locale en-US -> en-GB\n    locale: \"en-US\" -> \"en-GB\"\n~ locale fr -> fr-CA\n    locale: \"fr\" -> \"fr-CA\"")
		b.edit("locales.yaml", "", "- locale: fr-CA\n")
		b.edit("pages/a.yaml", "", "pathname: /a\ntitle: Titre\n")
		out, _ := b.run(0, "plan", "--output", "json")
		var plan struct {
			Changes []map[string]any
			Summary map[string]int
		}
		if err := json.Unmarshal([]byte(out), &plan); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]int{"delete": 2, "change": 1}, plan.Summary); diff != "" || plan.Changes[0]["name"] != "de" {
			t.Errorf("%s\n%s", diff, out)
		}
		b.run(0, "apply", "--yes")
	})
}

// A null that is a locale's own comes from another default locale. A bundle has it, but it
// can't be written elsewhere.
func TestBundleOfANullThatIsALocalesOwn(t *testing.T) {
	t.Parallel()
	p := serve(t, nil)
	b := newBundled(t, p, nil)
	page := ok[galley.Page](t)(b.client.Pages.Create(t.Context(), galley.PageCreate{SiteID: b.site, Pathname: "/a"}))
	ok[galley.Locale](t)(b.client.Locales.Create(t.Context(), galley.LocaleCreate{SiteID: b.site, Locale: "fr"}))
	ok[galley.Page](t)(b.client.Pages.Update(t.Context(), page.ID, galley.PageRef{Locale: "fr"}, galley.PagePatch{Title: galley.Value("Titre")}))
	ok[galley.Site](t)(b.client.Sites.Update(t.Context(), b.site, galley.SitePatch{DefaultLocale: galley.Value("fr")}))
	exported := exportTo(t, p, b.site, b.dir)
	if want := "pathname: /a\ntitle: Titre\nlocalizations:\n  en-US:\n    title: null\n"; exported["pages/a.yaml"] != want {
		t.Errorf("got %q, want %q", exported["pages/a.yaml"], want)
	}
	if out, _ := b.run(0, "plan"); out != nothingToDo {
		t.Error(out)
	}
	b.site = emptySite(t, p)
	if _, out := b.run(1, "plan"); !strings.Contains(out, "pages/a.yaml:5: title can't be null in en-US: leave it out to inherit it, or give it a value") {
		t.Error(out)
	}
}

func TestBundleDeletesOnlyWithConsent(t *testing.T) {
	t.Parallel()
	p := serve(t, nil)
	var pathnames []string
	for i := range 12 {
		pathnames = append(pathnames, "/p"+number(i))
	}
	b := newBundled(t, p, nil, pathnames...)
	b.run(0, "apply", "--publish")
	for i := range 11 {
		if err := os.Remove(filepath.Join(b.dir, pageFile(i))); err != nil {
			t.Fatal(err)
		}
	}
	if _, out := b.run(2, "apply"); !strings.Contains(out, "Apply 11 changes, of which 11 deletions?") {
		t.Error(out)
	}
	if len(b.ids()) != 12 {
		t.Error("pages were deleted")
	}
	if _, out := b.run(1, "apply", "--yes", "--publish"); !strings.Contains(out, "11 pages, 92 % of what is live") {
		t.Error(out)
	}
	if live := b.livePages(); live != 12 {
		t.Errorf("%d pages are live", live)
	}
	b.run(0, "apply", "--yes", "--publish", "--confirm")
	if live := b.livePages(); live != 1 {
		t.Errorf("%d pages are live", live)
	}
}

func (b *bundled) livePages() (n int) {
	b.t.Helper()
	for _, err := range b.client.Pages.All(b.t.Context(), galley.PageQuery{SiteID: b.site, VersionRef: "ref:live"}) {
		if err != nil {
			b.t.Fatal(err)
		}
		n++
	}
	return n
}

// meddler is a proxy that lets somebody else change the site before a request.
func meddler(t *testing.T, p *process, before func(r *http.Request) bool, change func()) string {
	t.Helper()
	target, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	forward, done := httputil.NewSingleHostReverseProxy(target), false
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !done && before(r) {
			done = true
			change()
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

func TestBundleWhileOthersWrite(t *testing.T) {
	t.Parallel()
	p := serve(t, nil)
	write := func(b *bundled, pathname string) func() {
		return func() {
			ok[galley.Page](t)(b.client.Pages.Create(t.Context(), galley.PageCreate{SiteID: b.site, Pathname: pathname}))
		}
	}
	const movedOn = "the site has changed since the plan was made"

	// Before it is published, after the plan of the changes was read or just before.
	publishes := 0
	for n := 1; n <= 3; n++ {
		b := newBundled(t, p, nil, "/a")
		b.edit("pages/a.yaml", "Title of /a", "Another title")
		publishes = 0
		at := meddler(t, p, func(r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/publish") {
				publishes++
			}
			return publishes == n || (n == 3 && publishes == 1 && r.Method == http.MethodGet)
		}, write(b, "/b"))
		if _, out := b.runAt(at, 3, "apply", "--publish"); !strings.Contains(out, movedOn) {
			t.Error(out)
		}
		if b.livePages() != 0 {
			t.Error("it was published")
		}
	}

	// Before a batch: a pathname that is taken then, or a page that is gone.
	isBatch := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/batch") }
	b := newBundled(t, p, nil, "/a")
	b.edit("pages/b.yaml", "", "pathname: /b\n")
	if _, out := b.runAt(meddler(t, p, isBatch, write(b, "/b")), 0, "apply"); out != "" { // it is what the bundle wants
		t.Error(out)
	}
	b.edit("pages/c.yaml", "", "pathname: /c\ntitle: Mine\n")
	if _, out := b.runAt(meddler(t, p, isBatch, write(b, "/c")), 3, "apply"); !strings.Contains(out, movedOn) {
		t.Error(out)
	}

	// What the server refuses without any other writer.
	b.edit("redirects.yaml", "", "- source: /x\n  target: /y\n- source: /y\n  target: /x\n")
	if _, out := b.run(1, "apply"); !strings.Contains(out, "redirects.yaml: redirect /y: target: ") {
		t.Error(out)
	}
}

// A page may have more than a batch takes.
func TestBundleWithLargeContent(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, "--max-content", "8388608")
	b := newBundled(t, p, nil)
	b.edit("locales.yaml", "", "- locale: en-US\n- locale: fr\n- locale: de\n")
	b.edit("pages/large.yaml", "", "pathname: /large\nlocalizations:\n  fr:\n    title: Grand\n")
	b.edit("pages/small.yaml", "", "pathname: /small\n")
	for i, name := range []string{"large.en-US", "large.fr", "large.de", "small.en-US"} {
		b.edit("content/"+name+".json", "", `{"text":"`+strings.Repeat(string(rune('a'+i)), 8_300_000)+`"}`)
	}
	b.run(0, "apply", "--publish")
	if out, _ := b.run(0, "plan"); out != nothingToDo {
		t.Error(out)
	}
}

// An export removes what it wrote for pages that are gone, and nothing else.
func TestExportKeepsWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	p := serve(t, nil)
	b := newBundled(t, p, nil, "/a/b", "/c")
	others := map[string]string{".git/config": "a", "README.md": "b", "pages/notes.md": "c", "pages/.hidden.yaml": "d", "content/a/image.png": "e", "pages/.idea/x.yaml": "f"}
	for name, text := range others {
		b.edit(name, "", text)
	}
	b.edit("content/a/b.en-US.json", "", "{}")
	b.edit("pages/z.yaml", "", "pathname: /z\n")
	if err := b.client.Pages.Delete(t.Context(), "/a/b", galley.PageRef{SiteID: b.site}); err != nil {
		t.Fatal(err)
	}
	got := exportTo(t, p, b.site, b.dir)
	want := map[string]string{
		"site.yaml": "bundle: 1\nname: Empty\ndefaultLocale: en-US\n", "locales.yaml": "- locale: en-US\n", "routes.yaml": "[]\n", "redirects.yaml": "[]\n",
		"pages/c.yaml": "pathname: /c\ntitle: Title of /c\n",
	}
	for name, text := range others {
		want[name] = text
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "pages/a")); !os.IsNotExist(err) {
		t.Error("an empty folder is left")
	}

	// A folder that has such files of another program is left alone.
	other := t.TempDir()
	if err := os.MkdirAll(filepath.Join(other, "content"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "content/posts.json"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := run(t, asClient(t, p), "export", b.site, other)
	if code != 1 || !strings.Contains(stderr, "has content/posts.json and is not a bundle: choose another folder") {
		t.Errorf("%d %s", code, stderr)
	}
	if diff := cmp.Diff(map[string]string{"content/posts.json": "[]"}, filesOf(t, other)); diff != "" {
		t.Error(diff)
	}
}
