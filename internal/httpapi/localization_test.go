package httpapi_test

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// multilingual is a site in which every way of overriding is used.
type multilingual struct {
	*system
	site    string
	pages   []string
	deleted string // a page that is deleted
	hidden  string // the locale es, deleted

	deletedViews map[string]string // the page before it was deleted
	hiddenViews  map[string]string // es before it was deleted
}

const allMeta = `"title":"Über","description":"d","canonicalUrl":"https://e.example/c","socialImageUrl":"https://e.example/s",` +
	`"sitemapPriority":0,"sitemapFrequency":"never","excludedFromSearchEngines":false`

func newMultilingual(t *testing.T, s *system) *multilingual {
	t.Helper()
	m := &multilingual{system: s}
	m.site, _ = s.newSite(t)
	s.newLocale(t, m.site, "fr")
	s.newLocale(t, m.site, "de")
	m.hidden = s.newLocale(t, m.site, "es")

	m.page(t, `"pathname":"/plain","title":"Plain"`)
	m.page(t, `"pathname":"/null-title"`, "fr", `{"title":"Titre"}`)
	m.page(t, `"pathname":"/all-null"`, "fr", `{`+allMeta+`}`)
	m.page(t, `"pathname":"/all-set",`+allMeta, "fr", `{"pathname":"/tout","title":"Autre","sitemapPriority":1}`, "de", `{"pathname":"/alles","description":"e"}`)
	m.page(t, `"pathname":"/off-here","isOnline":false`, "fr", `{"isOnline":true}`)
	m.page(t, `"pathname":"/off-there"`, "fr", `{"isOnline":false}`, "es", `{"isOnline":true,"title":"Título"}`)
	m.page(t, `"pathname":"/german","name":"Given"`, "de", `{"pathname":"/deutsch"}`, "es", `{"pathname":"/aleman"}`)
	m.page(t, `"pathname":"/same","title":"Same"`, "fr", `{"title":"Same","pathname":"/same"}`)
	m.page(t, `"pathname":"/spanish"`, "es", `{"pathname":"/espanol","sitemapFrequency":"daily"}`)
	// Two pages that exchange pathnames between locales.
	a, b := m.page(t, `"pathname":"/a","title":"A"`), m.page(t, `"pathname":"/b"`)
	m.localize(t, a, "fr", `{"pathname":"/on-the-way"}`)
	m.localize(t, b, "fr", `{"pathname":"/a"}`)
	m.localize(t, a, "fr", `{"pathname":"/b"}`)

	m.deleted = m.page(t, `"pathname":"/deleted","description":"here"`, "fr", `{"pathname":"/efface","title":"Effacé"}`, "es", `{"title":"Borrado"}`)
	m.deletedViews = m.deletedPage(t)
	s.must(t, 204, "DELETE", "/v6/pages/"+m.deleted, "")
	m.pages = m.pages[:len(m.pages)-1]
	m.hiddenViews = m.views(t, "es")
	s.must(t, 204, "DELETE", "/v2/locales/"+m.hidden, "")
	return m
}

// page makes a page with overrides, given as locale, body.
func (m *multilingual) page(t *testing.T, fields string, overrides ...string) string {
	t.Helper()
	id := m.must(t, 201, "POST", "/v6/pages", `{"siteId":"`+m.site+`",`+fields+`}`).str(t, "id")
	for i := 0; i < len(overrides); i += 2 {
		m.localize(t, id, overrides[i], overrides[i+1])
	}
	m.pages = append(m.pages, id)
	return id
}

func (s *system) localize(t *testing.T, pageID, locale, body string) {
	t.Helper()
	s.must(t, 200, "PATCH", "/v6/pages/"+pageID+"?locale="+locale, body)
}

// localizationsField matches the fields that name the locales with overrides, and what
// they override.
var localizationsField = regexp.MustCompile(`"localizations":\[[^\]]*\],|,"overrides":\[[^\]]*\]`)

// statusField matches the status of a page of the draft.
var statusField = regexp.MustCompile(`,"status":"[a-z]+"`)

// views is what readers of some locales see, byte for byte, but for the fields
// about overrides.
func (m *multilingual) views(t *testing.T, locales ...string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	look := func(target string) reply {
		r := m.call(t, "GET", target, "")
		seen[target] = fmt.Sprint(r.status, " ", localizationsField.ReplaceAllString(string(r.body), ""))
		return r
	}
	pathnames := map[string]bool{}
	for _, locale := range locales {
		in := "&locale=" + locale + "&siteId=" + m.site
		look("/v6/pages?limit=100" + in)
		for _, sort := range []string{"path", "title", "description", "createdAt", "updatedAt"} {
			for _, direction := range []string{"asc", "desc"} {
				list := look("/v6/pages?includeOffline=true&limit=100&sortBy=" + sort + "&sortDirection=" + direction + in)
				for _, pathname := range list.column(t, "pathname") {
					pathnames[pathname.(string)] = true
				}
			}
		}
		for _, id := range m.pages {
			look("/v6/pages/" + id + "?locale=" + locale)
		}
	}
	// A pathname of one locale may be another page's, or nobody's, in the next.
	for pathname := range pathnames {
		for _, locale := range locales {
			look("/v6/pages/" + url.PathEscape(pathname) + "?locale=" + locale + "&siteId=" + m.site)
		}
	}
	return seen
}

var updatedAtField = regexp.MustCompile(`"updatedAt":"[^"]*",`)

// deletedPage is the page that is deleted for a while as each locale shows it;
// deleting and restoring move its time.
func (m *multilingual) deletedPage(t *testing.T) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for _, locale := range []string{"en-US", "fr", "de", m.hidden} {
		r := m.must(t, 200, "GET", "/v6/pages/"+m.deleted+"?locale="+locale, "")
		seen[locale] = updatedAtField.ReplaceAllString(localizationsField.ReplaceAllString(string(r.body), ""), "")
	}
	return seen
}

func TestChangingTheDefaultLocaleChangesNothingThatReadersSee(t *testing.T) {
	walks := [][]string{{"fr"}, {"it"}, {"fr", "en-US"}, {"de", "fr", "it", "de", "en-US"}}
	onBothEngines(t, func(t *testing.T, s *system) {
		for _, walk := range walks {
			t.Run(strings.Join(walk, ","), func(t *testing.T) {
				m := newMultilingual(t, s)
				before := m.views(t, "en-US", "fr", "de")
				for _, code := range walk {
					was := m.must(t, 200, "GET", "/v2/sites/"+m.site, "").str(t, "defaultLocale")
					m.changeDefault(t, was, code)
					checkEqual(t, "readers after "+code, before, m.views(t, "en-US", "fr", "de"))
				}
				m.must(t, 200, "POST", "/v2/locales/"+m.hidden+"/restore", "")
				checkEqual(t, "restored locale", m.hiddenViews, m.views(t, "es"))
				m.must(t, 200, "POST", "/v6/pages/"+m.deleted+"/restore", "")
				checkEqual(t, "restored page", m.deletedViews, m.deletedPage(t))
			})
		}
	})
}

var localeField = regexp.MustCompile(`"locale":"[^"]*"|(&|\?)locale=[^&]*`)

// changeDefault changes the default locale. A code that is new shows what the
// old default showed.
func (m *multilingual) changeDefault(t *testing.T, was, code string) {
	t.Helper()
	known := slices.Contains(m.must(t, 200, "GET", "/v2/locales?siteId="+m.site, "").column(t, "locale"), any(code))
	old := m.views(t, was)
	changed := m.must(t, 200, "PATCH", "/v2/sites/"+m.site, `{"defaultLocale":"`+strings.ToUpper(code)+`"}`)
	checkEqual(t, "default", code, changed.str(t, "defaultLocale"))
	locales := m.must(t, 200, "GET", "/v2/locales?siteId="+m.site, "")
	for _, l := range locales.items(t) {
		checkEqual(t, "isDefault of "+l["locale"].(string), any(l["locale"] == code), l["isDefault"])
	}
	checkEqual(t, "shown without a locale", code, m.must(t, 200, "GET", "/v6/pages/"+m.pages[0], "").str(t, "locale"))
	if known {
		return
	}
	shown := m.views(t, code)
	for target, body := range old {
		now := shown[strings.Replace(target, "locale="+was, "locale="+code, 1)]
		checkEqual(t, target, localeField.ReplaceAllString(body, ""), localeField.ReplaceAllString(now, ""))
	}
}

func TestPathnameIsUniqueInEachLocale(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		s.newLocale(t, siteID, "fr")
		s.newLocale(t, siteID, "de")
		a, b := s.newPage(t, siteID, "/a"), s.newPage(t, siteID, "/b")
		patch := func(status int, id, locale, pathname string) {
			t.Helper()
			target := "/v6/pages/" + id
			if locale != "" {
				target += "?locale=" + locale
			}
			r := s.must(t, status, "PATCH", target, `{"pathname":`+pathname+`}`)
			if status == 409 {
				checkEqual(t, "message", "A page or route with this pathname already exists", r.str(t, "message"))
			}
		}
		patch(409, b, "", `"a/"`)
		patch(409, b, "fr", `"/a"`) // a's default pathname is in effect in fr
		patch(200, a, "fr", `"/x"`) // a gives it up there
		patch(200, b, "fr", `"/a"`)
		patch(409, b, "de", `"/a"`)                                                    // but not in de
		patch(409, a, "fr", `null`)                                                    // and can't go back
		patch(409, a, "fr", `"/a"`)                                                    // by its own value either
		patch(200, a, "fr", `"/b"`)                                                    // b overrides, so its default is free in fr
		patch(409, b, "fr", `null`)                                                    // now b can't go back
		patch(409, a, "", `"/b"`)                                                      // the default locale is a matter of its own
		patch(200, a, "de", `"/x"`)                                                    // the same pathname as none holds in de
		patch(409, b, "de", `"/x"`)                                                    // two overrides
		patch(200, b, "fr", `"/x"`)                                                    // free: a is at /b there
		patch(200, a, "fr", `"/a"`)                                                    // and this is free again
		patch(409, a, "fr", `"/x"`)                                                    // b's
		s.must(t, 409, "POST", "/v6/pages", `{"siteId":"`+siteID+`","pathname":"/x"}`) // in effect in fr and de
		for _, c := range [][3]string{{"a", "", a}, {"a", "&locale=fr", a}, {"x", "&locale=fr", b}, {"x", "&locale=de", a}, {"b", "&locale=de", b}} {
			checkEqual(t, c[0]+c[1], c[2], s.must(t, 200, "GET", "/v6/pages/"+c[0]+"?siteId="+siteID+c[1], "").str(t, "id"))
		}
		for _, c := range [][2]string{{"x", ""}, {"b", "&locale=fr"}, {"a", "&locale=de"}} {
			s.must(t, 404, "GET", "/v6/pages/"+c[0]+"?siteId="+siteID+c[1], "")
		}
	})
}

func TestNullReturnsAFieldToInheritance(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		localeID := s.newLocale(t, siteID, "fr")
		pageID := s.newPage(t, siteID, "/about")
		s.must(t, 200, "PATCH", "/v6/pages/"+pageID, `{"title":"T","isOnline":false}`)
		original := s.must(t, 200, "GET", "/v6/pages/"+pageID+"?locale=fr", "").json(t)
		fields := `{"pathname":"/x",` + allMeta + `,"isOnline":true}`
		changed := s.must(t, 200, "PATCH", "/v6/pages/"+pageID+"?locale="+localeID, fields).json(t)
		checkEqual(t, "localizations", []any{map[string]any{"id": localeID, "locale": "fr", "pathname": "/x"}}, changed["localizations"].([]any))
		for _, field := range []string{"pathname", "title", "description", "canonicalUrl", "socialImageUrl", "sitemapPriority", "sitemapFrequency", "isOnline", "excludedFromSearchEngines"} {
			if fmt.Sprint(changed[field]) == fmt.Sprint(original[field]) {
				t.Errorf("%s was not overridden", field)
			}
			r := s.must(t, 200, "PATCH", "/v6/pages/"+pageID+"?locale=fr", `{"`+field+`":null}`).json(t)
			checkEqual(t, field, original[field], r[field])
		}
		after := s.must(t, 200, "GET", "/v6/pages/"+pageID+"?locale=fr", "").json(t)
		checkEqual(t, "nothing is overridden", []any{}, after["localizations"].([]any))
		// Inherited values follow the default ones, own values do not.
		s.localize(t, pageID, "fr", `{"description":"Own"}`)
		s.must(t, 200, "PATCH", "/v6/pages/"+pageID, `{"title":"New","description":"New"}`)
		shown := s.must(t, 200, "GET", "/v6/pages/"+pageID+"?locale=fr", "").json(t)
		checkEqual(t, "title, description", [2]any{"New", "Own"}, [2]any{shown["title"], shown["description"]})
		checkEqual(t, "in the default locale null is no pathname", []string{"isOnline", "pathname"},
			s.must(t, 400, "PATCH", "/v6/pages/"+pageID+"?locale=en-US", `{"pathname":null,"isOnline":null}`).fields(t))
	})
}

func TestLocalizationIsDeleted(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		localeID := s.newLocale(t, siteID, "fr")
		a, b := s.newPage(t, siteID, "/a"), s.newPage(t, siteID, "/b")
		s.localize(t, a, "fr", `{"pathname":"/x","title":"X"}`)
		s.localize(t, b, "fr", `{"pathname":"/a"}`)
		s.must(t, 409, "DELETE", "/v6/pages/"+a+"/localizations/fr", "") // b has its pathname there
		s.must(t, 204, "DELETE", "/v6/pages/"+b+"/localizations/"+localeID, "")
		s.must(t, 204, "DELETE", "/v6/pages/"+a+"/localizations/FR", "")
		shown := s.must(t, 200, "GET", "/v6/pages/"+a+"?locale=fr", "").json(t)
		checkEqual(t, "back to the default", []any{"/a", nil}, []any{shown["pathname"], shown["title"]})
		checkEqual(t, "localizations", []any{}, shown["localizations"].([]any))
		s.newPage(t, siteID, "/x") // freed
		checkEqual(t, "default", []string{"locale"}, s.must(t, 400, "DELETE", "/v6/pages/"+a+"/localizations/en-US", "").fields(t))
		checkEqual(t, "unknown", "Locale not found", s.must(t, 404, "DELETE", "/v6/pages/"+a+"/localizations/de", "").str(t, "message"))
	})
}

func TestOfflinePagesAreListedByLocale(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		s.newLocale(t, siteID, "fr")
		offHere, offThere := s.newPage(t, siteID, "/off-here"), s.newPage(t, siteID, "/off-there")
		s.newPage(t, siteID, "/on")
		s.must(t, 200, "PATCH", "/v6/pages/"+offHere, `{"isOnline":false}`)
		s.localize(t, offHere, "fr", `{"isOnline":true}`)
		s.localize(t, offThere, "fr", `{"isOnline":false}`)
		everything := []any{"/off-here", "/off-there", "/on"}
		for query, want := range map[string][]any{
			"": {"/off-there", "/on"}, "&locale=fr": {"/off-here", "/on"}, "&includeOffline=false": {"/off-there", "/on"},
			"&includeOffline=true": everything, "&includeOffline=true&locale=fr": everything,
		} {
			checkEqual(t, query, want, s.must(t, 200, "GET", "/v6/pages?siteId="+siteID+query, "").column(t, "pathname"))
			checkEqual(t, query, want, s.must(t, 200, "GET", "/v2/sites/"+siteID+"/pages?"+query, "").column(t, "pathname"))
		}
		s.must(t, 200, "GET", "/v6/pages/"+offHere, "") // offline pages are read all the same
	})
}
