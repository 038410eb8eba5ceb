package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
)

// purgeCase is a publish of a site at https://a.example in English, with French below /fr
// and German at https://b.example, and the URLs that it has to list. "-" is removed.
type purgeCase struct {
	name string
	// made is done before the first publish, and edits after it. {about} is a page at /about
	// and {offline} one that is offline.
	made, edits []string
	want        []string
}

const (
	purgeEN, purgeFR, purgeDE      = "https://a.example", "https://a.example/fr", "https://b.example"
	purgeSiteMapEN, purgeSiteMapDE = purgeEN + "/sitemap.xml", purgeDE + "/sitemap.xml"
)

// edit is a request, as a method, a target and a body.
func patchPage(query, body string) string { return "PATCH /v6/pages/{about}" + query + " " + body }

func makeRedirect(body string) string { return `POST /v2/redirects {"siteId":"{site}",` + body + `}` }

func makePage(body string) string { return `POST /v6/pages {"siteId":"{site}",` + body + `}` }

var purgeCases = []purgeCase{
	{"nothing that is shown", nil, []string{patchPage("?locale=fr", `{"description":null}`), `PATCH /v6/pages/{about} {"title":"New"}`, `PATCH /v6/pages/{about}?locale=fr {"title":"Own"}`, `PATCH /v6/pages/{about}?locale=de {"title":"Own"}`, `PATCH /v6/pages/{about} {"title":"Old"}`, `PATCH /v6/pages/{about}?locale=fr {"title":"Old"}`, `PATCH /v6/pages/{about}?locale=de {"title":"Old"}`}, nil},
	{"a title in every locale that inherits it", []string{patchPage("?locale=fr", `{"title":"Own"}`)}, []string{patchPage("", `{"title":"New"}`)},
		[]string{purgeEN + "/about", purgeSiteMapEN, purgeDE + "/about", purgeSiteMapDE}},
	{"a title of one locale", nil, []string{patchPage("?locale=de", `{"title":"New"}`)}, []string{purgeDE + "/about", purgeSiteMapDE}},
	{"a name in every locale", nil, []string{patchPage("", `{"name":"New"}`)}, everywhere("/about", "")},
	{"content", nil, []string{`PUT /v6/pages/{about}/content?locale=fr {"a":1}`}, []string{purgeFR + "/about", purgeSiteMapEN}},
	{"a pathname of one locale", nil, []string{patchPage("?locale=de", `{"pathname":"/uber"}`)},
		[]string{purgeEN + "/about", purgeFR + "/about", purgeSiteMapEN, purgeDE + "/about", purgeSiteMapDE, purgeDE + "/uber"}},
	{"offline in one locale", nil, []string{patchPage("?locale=de", `{"isOnline":false}`)},
		[]string{purgeEN + "/about", purgeFR + "/about", purgeSiteMapEN, "-" + purgeDE + "/about", purgeSiteMapDE}},
	{"a moved page with redirects", nil, []string{patchPage("", `{"pathname":"/us"}`)},
		[]string{purgeEN + "/about", purgeFR + "/about", purgeFR + "/us", purgeSiteMapEN, purgeEN + "/us", purgeDE + "/about", purgeSiteMapDE, purgeDE + "/us"}},
	{"a moved page without redirects", []string{`PATCH /v2/sites/{site} {"autoRedirects":false}`}, []string{patchPage("", `{"pathname":"/us"}`)},
		[]string{"-" + purgeEN + "/about", "-" + purgeFR + "/about", purgeFR + "/us", purgeSiteMapEN, purgeEN + "/us", "-" + purgeDE + "/about", purgeSiteMapDE, purgeDE + "/us"}},
	{"a deleted page", nil, []string{"DELETE /v6/pages/{about} "}, everywhere("/about", "-")},
	{"a deleted page below a star", []string{makeRedirect(`"source":"/*","target":"/","locale":"fr"`)}, []string{"DELETE /v6/pages/{about} "},
		[]string{"-" + purgeEN + "/about", purgeFR + "/about", purgeSiteMapEN, "-" + purgeDE + "/about", purgeSiteMapDE}},
	{"a new page", nil, []string{makePage(`"pathname":"/100%25 ü"`)}, everywhere("/100%25%20%C3%BC", "")},
	{"pages that are and stay offline", nil, []string{`PATCH /v6/pages/{offline} {"title":"New"}`, makePage(`"pathname":"/new","isOnline":false`), "DELETE /v6/pages/{offline} "}, nil},
	{"a page that goes online", nil, []string{`PATCH /v6/pages/{offline} {"isOnline":true}`}, everywhere("/offline", "")},
	{"the home page", nil, []string{makePage(`"pathname":"/"`)}, []string{purgeEN, purgeFR, purgeSiteMapEN, purgeDE, purgeSiteMapDE}},
	{"a redirect of one locale", nil, []string{makeRedirect(`"source":"/old","target":"/about","locale":"fr"`)}, []string{purgeFR + "/old", purgeSiteMapEN}},
	{"a redirect with a star", nil, []string{makeRedirect(`"source":"/old/*","target":"/new/*"`)}, everywhere("/old/*", "")},
	{"a chain", []string{makeRedirect(`"source":"/one","target":"/two","locale":"de"`), makeRedirect(`"source":"/two","target":"/about"`)},
		[]string{`PATCH {redirect:/two} {"target":"/offline"}`},
		[]string{purgeFR + "/two", purgeSiteMapEN, purgeEN + "/two", purgeDE + "/one", purgeSiteMapDE, purgeDE + "/two"}},
	{"a redirect that leads to the same by another way", []string{makeRedirect(`"source":"/one","target":"/two"`), makeRedirect(`"source":"/two","target":"/about"`)},
		[]string{`PATCH {redirect:/one} {"target":"/about"}`}, nil},
	{"redirects to a page that moves", []string{makeRedirect(`"source":"/one","target":"` + purgeDE + `/about","locale":"en"`)}, []string{patchPage("?locale=de", `{"pathname":"/uber"}`)},
		[]string{purgeEN + "/about", purgeFR + "/about", purgeEN + "/one", purgeSiteMapEN, purgeDE + "/about", purgeSiteMapDE, purgeDE + "/uber"}},
	{"a page that another one replaces", nil, []string{patchPage("", `{"pathname":"/us"}`), makePage(`"pathname":"/about","isOnline":false`)},
		[]string{"-" + purgeEN + "/about", "-" + purgeFR + "/about", purgeFR + "/us", purgeSiteMapEN, purgeEN + "/us", "-" + purgeDE + "/about", purgeSiteMapDE, purgeDE + "/us"}},
	{"a page that a prefix shadows", nil, []string{makePage(`"pathname":"/fr/x"`)}, []string{purgeFR + "/fr/x", purgeSiteMapEN, purgeDE + "/fr/x", purgeSiteMapDE}},
	{"a page where the sitemap is", []string{makePage(`"pathname":"/sitemap.xml"`)}, []string{"DELETE {page:/sitemap.xml} "},
		[]string{"-" + purgeFR + "/sitemap.xml", "-" + purgeSiteMapEN, "-" + purgeSiteMapDE}},
}

// everywhere are the URLs of a pathname in all locales, and the sitemaps.
func everywhere(path, mark string) []string {
	return []string{mark + purgeEN + path, mark + purgeFR + path, purgeSiteMapEN, mark + purgeDE + path, purgeSiteMapDE}
}

func TestPublishURLs(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for _, c := range purgeCases {
			t.Run(c.name, func(t *testing.T) {
				site, ids := purgeSite(t, s)
				s.steps(t, site, ids, c.made)
				s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", `{"confirm":true}`)
				s.steps(t, site, ids, c.edits)
				r := s.call(t, "POST", "/v2/sites/"+site+"/publish", `{"confirm":true}`)
				if r.status != 200 { // nothing to publish
					s.checkPurge(t, r.str(t, "id"), c.want)
				}
			})
		}
	})
}

func (s *system) checkPurge(t *testing.T, publish string, urls []string) {
	t.Helper()
	want := map[string]string{}
	for _, u := range urls {
		want[strings.TrimPrefix(u, "-")] = map[bool]string{true: "removed", false: "changed"}[strings.HasPrefix(u, "-")]
	}
	checkEqual(t, "URLs", want, s.publishURLs(t, publish, 3))
}

func purgeSite(t *testing.T, s *system) (site string, ids *strings.Replacer) {
	t.Helper()
	made := func(target, body string) string { return s.must(t, 201, "POST", target, body).str(t, "id") }
	site = made("/v2/sites", `{"name":"P","defaultLocale":"en","hostOrigin":"`+purgeEN+`"}`)
	made("/v2/locales", `{"siteId":"`+site+`","locale":"fr"}`)
	made("/v2/locales", `{"siteId":"`+site+`","locale":"de","domain":"`+purgeDE+`"}`)
	about := made("/v6/pages", `{"siteId":"`+site+`","pathname":"/about","title":"Old"}`)
	offline := made("/v6/pages", `{"siteId":"`+site+`","pathname":"/offline","isOnline":false}`)
	return site, strings.NewReplacer("{site}", site, "{about}", about, "{offline}", offline)
}

// steps sends requests.
func (s *system) steps(t *testing.T, site string, ids *strings.Replacer, requests []string) {
	t.Helper()
	for _, request := range requests {
		method, rest, _ := strings.Cut(ids.Replace(request), " ")
		target, body, _ := strings.Cut(rest, " ")
		if source, ok := strings.CutPrefix(target, "{redirect:"); ok {
			list := s.must(t, 200, "GET", "/v2/redirects?siteId="+site+"&sourcePrefix="+strings.TrimSuffix(source, "}"), "").json(t)
			target = "/v2/redirects/" + list["data"].([]any)[0].(map[string]any)["id"].(string)
		}
		if path, ok := strings.CutPrefix(target, "{page:"); ok {
			target = "/v6/pages/" + s.must(t, 200, "GET", "/v6/pages/"+strings.TrimPrefix(strings.TrimSuffix(path, "}"), "/")+"?siteId="+site, "").str(t, "id")
		}
		if r := s.call(t, method, target, body); r.status >= 300 {
			t.Fatalf("%s: %d %s", request, r.status, r.body)
		}
	}
}

// Without an origin there are no URLs; a locale with a domain has them.
func TestPublishURLsWithoutOrigin(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site := s.must(t, 201, "POST", "/v2/sites", `{"name":"P","defaultLocale":"en"}`).str(t, "id")
		page := s.newPage(t, site, "/about")
		s.checkPurge(t, s.publish(t, site, "{}"), nil)
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"de","domain":"`+purgeDE+`"}`)
		s.must(t, 200, "PATCH", "/v6/pages/"+page, `{"isOnline":false}`)
		s.must(t, 200, "PATCH", "/v6/pages/"+page+"?locale=de", `{"isOnline":true}`)
		s.checkPurge(t, s.publish(t, site, "{}"), nil) // German shows the same
		s.must(t, 200, "PATCH", "/v6/pages/"+page, `{"title":"New"}`)
		s.checkPurge(t, s.publish(t, site, "{}"), []string{purgeDE + "/about", purgeSiteMapDE})
	})
}

// A scheduled publish and one that restores another have lists, too. They belong to the
// publish that is restored, and are purged with it.
func TestPublishURLsOfOtherPublishes(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, ids := purgeSite(t, s)
		first := s.publish(t, site, "{}")
		s.steps(t, site, ids, []string{patchPage("?locale=de", `{"title":"New"}`)})
		scheduled := s.inAnHour(t, site, "")
		s.checkPurge(t, scheduled, nil)
		s.runDue(t, 2*time.Hour)
		german := []string{purgeDE + "/about", purgeSiteMapDE}
		s.checkPurge(t, scheduled, german)
		s.checkPurge(t, s.must(t, 201, "POST", "/v2/publishes/"+first+"/restore", "").str(t, "id"), german)
		s.checkPurge(t, first, everywhere("/about", ""))
	})
}

// A list of 10,000 pages in three locales is read from end to end.
func TestManyPublishURLs(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		const pages = 10_000
		site, _ := purgeSite(t, s)
		for i := 0; i < pages; i += 1000 {
			var ops []string
			for j := range 1000 {
				ops = append(ops, fmt.Sprintf(`{"op":"create","pathname":"/p/%d"}`, i+j))
			}
			s.must(t, 200, "POST", "/v6/pages/batch", `{"siteId":"`+site+`","operations":[`+strings.Join(ops, ",")+`]}`)
		}
		publish := s.publish(t, site, "{}")
		checkEqual(t, "URLs", 3*(pages+1)+2, len(s.publishURLs(t, publish, 100)))
		siteID, _ := cms.ParseID(site)
		publishID, _ := cms.ParseID(publish)
		shown, err := s.store.EventURLs(t.Context(), siteID, publishID)
		if err != nil || len(shown.Changed) != cms.MaxEventURLs || len(shown.Removed) != 0 || !shown.Truncated {
			t.Errorf("the event shows %d and %d URLs, truncated: %v, %v", len(shown.Changed), len(shown.Removed), shown.Truncated, err)
		}
	})
}

func TestPublishURLsCursor(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, ids := purgeSite(t, s)
		first := s.publish(t, site, "{}")
		s.steps(t, site, ids, []string{patchPage("", `{"title":"New"}`)})
		second := s.publish(t, site, "{}")
		id, _ := cms.ParseID(first)
		last := s.must(t, 200, "GET", "/v2/publishes/"+first+"/urls?limit=100", "").json(t)["data"].([]any)
		checkEqual(t, "URLs", 5, len(last))
		for i, item := range last {
			checkEqual(t, "id", cms.PublishURLID(id, i).String(), item.(map[string]any)["id"].(string))
		}
		s.must(t, 200, "GET", "/v2/publishes/"+first+"/urls?startingAfter="+cms.PublishURLID(id, 4).String(), "")
		for name, cursor := range map[string]string{
			"beyond the end": cms.PublishURLID(id, 5).String(), "far beyond the end": cms.PublishURLID(id, 1<<30).String(), "the publish": first, "another publish": second,
			"unknown": cms.NewID().String(), "no id": "x", "nil": cms.NoID.String(), "a URL": "https%3A%2F%2Fa.example", "of another publish": s.must(t, 200, "GET", "/v2/publishes/"+second+"/urls?limit=1", "").json(t)["data"].([]any)[0].(map[string]any)["id"].(string),
		} {
			r := s.call(t, "GET", "/v2/publishes/"+first+"/urls?startingAfter="+cursor, "")
			if r.status != 400 || !strings.Contains(string(r.body), "startingAfter") {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
	})
}
