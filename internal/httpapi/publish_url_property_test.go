package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestPublishURLsAreExact changes random sites, and compares the URLs that each publish
// lists with what every URL of a page and every source of a redirect leads to before and
// after it.
func TestPublishURLsAreExact(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		seen := map[string]int{}
		for round := range 8 {
			w := newPurgedSite(t, s, rand.New(rand.NewPCG(uint64(round), 26)), round) //nolint:gosec // a small number
			for range 6 {
				w.edit()
				w.publishAndCompare(seen)
			}
		}
		for _, kind := range []string{
			"page to page", "page to none", "none to page", "page to redirect", "redirect to page", "none to redirect",
			"redirect to none", "redirect to redirect", "star", "restore", "selection",
		} {
			if seen[kind] < 3 {
				t.Errorf("only %d URLs went from %s: %v", seen[kind], kind, seen)
			}
		}
	})
}

// purgedSite is a random site whose URLs are compared.
type purgedSite struct {
	*testing.T
	s         *system
	rng       *rand.Rand
	site      string
	locales   []webLocale
	publishes []string
}

func newPurgedSite(t *testing.T, s *system, rng *rand.Rand, round int) *purgedSite {
	t.Helper()
	w := &purgedSite{T: t, s: s, rng: rng}
	w.site, w.locales = randomWebsite(t, s, rng, round)
	return w
}

func (w *purgedSite) pick(values ...string) string { return values[w.rng.IntN(len(values))] }

// path is the pathname of a page, redirect or route, as a body has it.
func (w *purgedSite) path() string {
	return strings.ReplaceAll(w.pick(webPaths...), "%", "%25") + w.pick("", "", "1", "2")
}

// locale is a query or the value of a field, for one locale or for all.
func (w *purgedSite) locale() webLocale { return w.locales[w.rng.IntN(len(w.locales))] }

// source is the source of a redirect.
func (w *purgedSite) source() string {
	if w.rng.IntN(3) == 0 {
		return strings.TrimSuffix(w.pick("/", "/x", "/fr", "/en", "/old", "/é"), "/") + "/*"
	}
	return w.path()
}

func (w *purgedSite) target(source string) string {
	star := ""
	if strings.HasSuffix(source, "/*") && w.rng.IntN(2) == 0 {
		star = "/*"
	}
	l := w.locale()
	switch w.rng.IntN(6) {
	case 0:
		return "https://elsewhere.example/" + w.pick("a", "b") + star
	case 1:
		return strings.TrimSuffix(l.url("/x"), "/") + star
	case 2:
		return l.url(w.pick(webPaths...))
	case 3:
		return w.pick("/old", "/x", "/new") + star
	}
	return w.path() + star
}

func (w *purgedSite) redirectBody() string {
	source := w.source()
	locale := "null"
	if w.rng.IntN(3) == 0 {
		locale = `"` + w.locale().code + `"`
	}
	return fmt.Sprintf(`"source":%q,"target":%q,"status":%s,"locale":%s`, source, w.target(source), w.pick("301", "308"), locale)
}

// edit changes some of the draft. What is refused does not change.
func (w *purgedSite) edit() {
	s, t := w.s, w.T
	for _, p := range s.webPages(t, w.site, "ref:draft", "en") {
		at := "/v6/pages/" + p.ID
		in := at + "?locale=" + w.locale().code
		switch w.rng.IntN(14) {
		case 0, 1:
			s.call(t, "PATCH", in, `{"pathname":"`+w.path()+`"}`)
		case 2:
			s.call(t, "PATCH", in, fmt.Sprintf(`{"isOnline":%v}`, w.rng.IntN(2) == 0))
		case 3:
			s.call(t, "PATCH", in, `{"title":`+w.pick(`"A"`, `"B"`, `null`)+`}`)
		case 4:
			s.call(t, "PATCH", in, `{"pathname":null,"isOnline":null}`)
		case 5:
			s.call(t, "PUT", at+"/content?locale="+w.locale().code, w.pick(`{"a":1}`, `{"a":2}`))
		case 6:
			s.call(t, "PATCH", at, `{"name":"`+w.pick("A", "B")+`"}`)
		case 7:
			if w.rng.IntN(2) == 0 {
				s.call(t, "DELETE", at, "")
			}
		}
	}
	if w.rng.IntN(3) > 0 {
		s.call(t, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":%q,"isOnline":%v}`, w.site, w.path(), w.rng.IntN(4) > 0))
	}
	for range 3 {
		s.call(t, "POST", "/v2/redirects", fmt.Sprintf(`{"siteId":%q,%s}`, w.site, w.redirectBody()))
	}
	for _, id := range w.ids("/v2/redirects?versionRef=ref:draft&") {
		switch w.rng.IntN(5) {
		case 0:
			s.call(t, "PATCH", "/v2/redirects/"+id, "{"+w.redirectBody()+"}")
		case 1:
			s.call(t, "DELETE", "/v2/redirects/"+id, "")
		}
	}
	switch w.rng.IntN(5) {
	case 0:
		s.call(t, "POST", "/v2/routes", fmt.Sprintf(`{"siteId":%q,"pathname":%q}`, w.site, w.path()))
	case 1:
		s.call(t, "PATCH", "/v2/sites/"+w.site, fmt.Sprintf(`{"autoRedirects":%v}`, w.rng.IntN(3) > 0))
	}
}

// ids are those of a list.
func (w *purgedSite) ids(target string) []string {
	var ids []string
	for _, item := range w.items(target) {
		ids = append(ids, item["id"].(string))
	}
	return ids
}

func (w *purgedSite) items(target string) []map[string]any {
	w.Helper()
	var list struct {
		Data    []map[string]any
		HasMore bool
	}
	r := w.s.must(w.T, 200, "GET", target+"limit=100&siteId="+w.site, "")
	if err := json.Unmarshal(r.body, &list); err != nil || list.HasMore {
		w.Fatalf("%s: %v, more: %v", target, err, list.HasMore)
	}
	return list.Data
}

// address is the URL of a pathname or source.
func address(l webLocale, pathname string) string {
	return strings.ReplaceAll(l.url(pathname), "%2A", "*")
}

// candidates are the URLs of all pages and all sources of redirects in a version. What is
// shadowed has no URL of its own: it is that of a pathname in the other locale.
func (w *purgedSite) candidates(version string, into map[string]bool) {
	for _, l := range w.locales {
		for _, p := range w.s.webPages(w.T, w.site, version, l.code) {
			if shadows(w.locales, l, p.Pathname) == "" {
				into[address(l, p.Pathname)] = true
			}
		}
	}
	for _, r := range w.items("/v2/redirects?versionRef=" + version + "&") {
		for _, l := range w.locales {
			if source := r["source"].(string); (r["locale"] == nil || r["locale"] == l.code) && shadows(w.locales, l, source) == "" {
				into[address(l, source)] = true
			}
		}
	}
}

// shown is what a visitor of a URL gets, but for times.
type shown struct{ kind, what string }

// resolveAll reads what all URLs lead to. A page also shows the URLs that it has in
// other locales.
func (w *purgedSite) resolveAll(urls map[string]bool) map[string]shown {
	places := map[string]string{}
	for _, l := range w.locales {
		for _, p := range w.s.webPages(w.T, w.site, "ref:live", l.code) {
			places[p.ID] += fmt.Sprint(l.code, p.Pathname, p.IsOnline, " ")
		}
	}
	found := map[string]shown{}
	for u := range urls {
		r := w.s.must(w.T, 200, "GET", "/v2/resolve?include=content&siteId="+w.site+"&url="+url.QueryEscape(u), "").json(w.T)
		is := shown{kind: r["kind"].(string)}
		switch is.kind {
		case "page":
			page := r["page"].(map[string]any)
			for _, field := range []string{"createdAt", "updatedAt", "publishedAt", "localizations", "overrides"} {
				delete(page, field)
			}
			is.what = fmt.Sprint(page, r["content"], r["url"], r["alternates"], r["locale"], places[page["id"].(string)])
		case "redirect":
			is.what = fmt.Sprint(r["redirect"])
		case "route":
			is.what = r["route"].(map[string]any)["id"].(string)
		}
		found[u] = is
	}
	return found
}

// publishAndCompare publishes the site, or some of it, or restores an earlier publish, and
// compares the list of URLs with what has changed.
func (w *purgedSite) publishAndCompare(seen map[string]int) {
	w.Helper()
	target, body, versions, how := "/v2/sites/"+w.site+"/publish", `{"confirm":true}`, []string{"ref:live", "ref:draft"}, "all"
	switch n := w.rng.IntN(6); {
	case n == 0 && len(w.publishes) > 1:
		id := w.publishes[w.rng.IntN(len(w.publishes)-1)]
		target, body, how = "/v2/publishes/"+id+"/restore", "", "restore"
		versions = append(versions, "publish:"+id)
	case n == 1:
		body, how = `{"confirm":true,"locales":["`+w.locale().code+`"]}`, "selection"
	}
	// What will be live is in one of the versions.
	urls, possible := map[string]bool{}, map[string]bool{}
	w.candidates("ref:live", urls)
	for _, v := range versions {
		w.candidates(v, possible)
		for _, l := range w.locales { // any locale may inherit its pathnames
			for _, p := range w.s.webPages(w.T, w.site, v, l.code) {
				for _, in := range w.locales {
					possible[address(in, p.Pathname)] = true
				}
			}
		}
	}
	before := w.resolveAll(possible)
	r := w.s.call(w.T, "POST", target, body)
	if r.status != 201 {
		if r.status == 409 { // a clash or a circle
			w.s.must(w.T, 200, "POST", "/v2/sites/"+w.site+"/discard", `{"confirm":true}`)
		}
		return
	}
	id := r.str(w.T, "id")
	w.publishes = append(w.publishes, id)
	w.candidates("ref:live", urls)
	after := w.resolveAll(urls)
	want := map[string]string{}
	for u := range urls {
		was, is := before[u], after[u]
		if _, known := before[u]; !known {
			w.Fatalf("%s is live after a publish, and was in neither version", u)
		}
		if was == is {
			continue
		}
		want[u] = "changed"
		if is.kind == "none" {
			want[u] = "removed"
		}
		seen[was.kind+" to "+is.kind]++
		seen[how]++
		if strings.HasSuffix(u, "/*") {
			seen["star"]++
		}
	}
	for _, u := range slices.Collect(maps.Keys(want)) {
		parsed, err := url.Parse(u)
		if err != nil {
			w.Fatal(err)
		}
		if sitemap := parsed.Scheme + "://" + parsed.Host + "/sitemap.xml"; want[sitemap] == "" {
			want[sitemap] = "changed"
		}
	}
	got := w.s.publishURLs(w.T, id, 1+w.rng.IntN(20))
	for u := range got {
		if got[u] != want[u] {
			w.Errorf("%s %s lists %s as %q, want %q: it was %v and is %v", how, body, u, got[u], want[u], before[u], after[u])
		}
	}
	for u := range want {
		if got[u] == "" {
			w.Errorf("%s %s does not list %s as %s: it was %v and is %v", how, body, u, want[u], before[u], after[u])
		}
	}
	if w.Failed() {
		w.FailNow()
	}
}

// publishURLs walks through the list of a publish, and returns what happens to each URL.
func (s *system) publishURLs(t *testing.T, publish string, limit int) map[string]string {
	t.Helper()
	found, ids := map[string]string{}, map[string]bool{}
	last, query := "", fmt.Sprintf("?limit=%d", limit)
	for {
		var list struct {
			Data    []struct{ ID, URL, Change, Object string }
			HasMore bool
		}
		r := s.must(t, 200, "GET", "/v2/publishes/"+publish+"/urls"+query, "")
		if err := json.Unmarshal(r.body, &list); err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Data {
			if item.URL <= last || ids[item.ID] || item.Object != "publishUrl" {
				t.Fatalf("%v comes after %s", item, last)
			}
			last, ids[item.ID], found[item.URL] = item.URL, true, item.Change
		}
		if !list.HasMore {
			return found
		}
		query = fmt.Sprintf("?limit=%d&startingAfter=%s", limit, list.Data[len(list.Data)-1].ID)
	}
}
