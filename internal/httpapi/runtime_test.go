package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/internal/httpapi"
)

// runtimeSite is a published site with the locales en-US, fr and de.
type runtimeSite struct {
	*system
	id, key string
}

func newRuntimeSite(t *testing.T, s *system) runtimeSite {
	t.Helper()
	site := runtimeSite{system: s}
	site.id, site.key = s.newSite(t)
	for _, code := range []string{"fr", "de"} {
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site.id+`","locale":"`+code+`"}`)
	}
	for _, pathname := range []string{"/", "/about", "/blog", "/blog/a", "/offline"} {
		s.newPage(t, site.id, pathname)
	}
	site.change(t, "/about", "fr", `{"pathname":"/a-propos","title":"À propos"}`)
	site.change(t, "/about", "de", `{"isOnline":false}`)
	site.change(t, "/blog", "fr", `{"title":"Journal"}`)
	site.change(t, "/offline", "", `{"isOnline":false}`)
	site.change(t, "/offline", "fr", `{"isOnline":true,"pathname":"/en-ligne"}`)
	site.publish(t)
	return site
}

func (s runtimeSite) change(t *testing.T, pathname, locale, body string) {
	t.Helper()
	target := "/v6/pages" + pathname + "?siteId=" + s.id
	if locale != "" {
		target += "&locale=" + locale
	}
	s.must(t, 200, "PATCH", target, body)
}

func (s runtimeSite) publish(t *testing.T) {
	t.Helper()
	s.must(t, 201, "POST", "/v2/sites/"+s.id+"/publish", "")
}

func (s runtimeSite) get(t *testing.T, target string) reply {
	t.Helper()
	return s.send(t, s.key, "GET", target, "")
}

// list returns the pages of a list in one line each.
func (s runtimeSite) list(t *testing.T, query string) (lines []string, pages httpapi.RuntimePages) {
	t.Helper()
	r := s.get(t, "/v5/pages"+query)
	if err := json.Unmarshal(r.body, &pages); err != nil || r.status != 200 {
		t.Fatalf("%s: %d %v\n%s", query, r.status, err, r.body)
	}
	for _, p := range pages.Data {
		lines = append(lines, fmt.Sprint(p.Path, " ", p.Locale, " ", p.IsOnline, " ", p.LocalizedVariants))
	}
	return lines, pages
}

func TestRuntimeLists(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site := newRuntimeSite(t, s)
		s.newPage(t, site.id, "/draft") // not published
		const about, aPropos = "/about en-US true [{de /about} {fr /a-propos}]", "/a-propos fr true [{de /about} {fr /a-propos}]"
		for query, want := range map[string][]string{
			"": {"/ en-US true []", about, "/blog en-US true [{fr /blog}]", "/blog/a en-US true []"},
			"?pathPrefix=/blog&sortDirection=desc&sortBy=path": {"/blog/a en-US true []", "/blog en-US true [{fr /blog}]"},
			"?pathPrefix=/o&includeOffline=true":               {"/offline en-US false [{fr /en-ligne}]"},
			"?pathPrefix=/o&includeOffline=false":              nil,
			"?locale=fr&pathPrefix=/a":                         {aPropos},
			"?locale=fr&sortBy=title&limit=1":                  {"/blog fr true [{fr /blog}]"},
			"?locale=de&pathPrefix=/ab":                        nil,
			"?locale=de&pathPrefix=/ab&includeOffline=true":    {"/about de false [{de /about} {fr /a-propos}]"},
		} {
			if got, _ := site.list(t, query); !slices.Equal(got, want) {
				t.Errorf("%s: %s", query, cmp.Diff(want, got))
			}
		}
	})
}

// TestRuntimeWalk walks through a list while it changes, also with a cursor that is
// no longer live.
func TestRuntimeWalk(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site := newRuntimeSite(t, s)
		var met []string
		query := "?limit=1"
		for range 10 {
			_, pages := site.list(t, query)
			for _, p := range pages.Data {
				met = append(met, p.Path)
				query = "?limit=1&after=" + p.ID.String()
			}
			if !pages.HasMore {
				break
			}
			if met[len(met)-1] == "/about" {
				site.must(t, 204, "DELETE", "/v6/pages/about?siteId="+site.id, "")
				site.publish(t)
			}
		}
		if want := []string{"/", "/about", "/blog", "/blog/a"}; !slices.Equal(met, want) {
			t.Errorf("met %q, want %q", met, want)
		}
		foreign, _ := s.newSite(t)
		r := site.get(t, "/v5/pages?after="+s.newPage(t, foreign, "/about"))
		if r.status != 400 || !strings.Contains(string(r.body), `"details":[{"field":"after","message":"must be the id of an item of this list"}]`) {
			t.Errorf("a cursor of another site: %d %s", r.status, r.body)
		}
	})
}

func TestRuntimePage(t *testing.T) {
	const notFound = `{"object":"error","code":"not_found","message":"Page not found"}`
	onBothEngines(t, func(t *testing.T, s *system) {
		site := newRuntimeSite(t, s)
		about := `{"pathname":"/about","locale":"en-US","alternate":[{"pathname":"/a-propos","locale":"fr"}]}`
		for range 2 { // from the store, and from the cache
			for target, want := range map[string]string{
				"%2Fabout":                about,
				"about":                   about,
				"%2Fabout?locale=en-US":   about,
				"%2Fabout?locale=fr":      notFound,
				"%2Fabout?locale=de":      notFound, // offline there
				"%2Fa-propos?locale=fr":   `{"pathname":"/a-propos","locale":"fr","alternate":[{"pathname":"/about","locale":"en-US"}]}`,
				"%2Fa-propos":             notFound,
				"%2F":                     `{"pathname":"/","locale":"en-US","alternate":[{"pathname":"/","locale":"de"},{"pathname":"/","locale":"fr"}]}`,
				"%2Fblog%2Fa?locale=de":   `{"pathname":"/blog/a","locale":"de","alternate":[{"pathname":"/blog/a","locale":"en-US"},{"pathname":"/blog/a","locale":"fr"}]}`,
				"blog/a?locale=de":        `{"pathname":"/blog/a","locale":"de","alternate":[{"pathname":"/blog/a","locale":"en-US"},{"pathname":"/blog/a","locale":"fr"}]}`,
				"%2Foffline":              notFound,
				"%2Fen-ligne?locale=fr":   `{"pathname":"/en-ligne","locale":"fr","alternate":[]}`,
				"%2Fnothing":              notFound,
				"%2Fnothing%2Fat%2Fall":   notFound,
				"%2Foffline?locale=en-US": notFound,
			} {
				if r := site.get(t, "/v3/pages/"+target); strings.TrimSpace(string(r.body)) != want {
					t.Errorf("%s: %s", target, cmp.Diff(want, string(r.body)))
				}
			}
		}
		// The live version changes with a publish, and not before.
		site.change(t, "/about", "", `{"pathname":"/about-us"}`)
		if r := site.get(t, "/v3/pages/%2Fabout"); r.status != 200 {
			t.Errorf("after a draft changed: %d", r.status)
		}
		site.publish(t)
		if old, renamed := site.get(t, "/v3/pages/%2Fabout"), site.get(t, "/v3/pages/%2Fabout-us"); old.status != 404 || renamed.status != 200 {
			t.Errorf("after a publish: %d and %d", old.status, renamed.status)
		}
		// A deleted locale is no alternate.
		site.must(t, 204, "DELETE", "/v2/locales/fr?siteId="+site.id, "")
		if r := site.get(t, "/v3/pages/%2Fabout-us"); !strings.Contains(string(r.body), `"alternate":[]`) {
			t.Errorf("after the deletion of a locale: %s", r.body)
		}
	})
}

// TestRuntimeReadsLive reads the live version whatever the Site key may read.
func TestRuntimeReadsLive(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site := newRuntimeSite(t, s)
		s.newPage(t, site.id, "/draft")
		for _, access := range []string{"live", "draft"} {
			site.must(t, 200, "PATCH", "/v2/sites/"+site.id, `{"siteKeyAccess":"`+access+`"}`)
			if r := site.get(t, "/v3/pages/%2Fdraft"); r.status != 404 {
				t.Errorf("siteKeyAccess %s: %d", access, r.status)
			}
			if r := site.get(t, "/v3/pages/%2Fabout"); r.status != 200 {
				t.Errorf("siteKeyAccess %s: %d %s", access, r.status, r.body)
			}
			if lines, _ := site.list(t, ""); len(lines) != 4 {
				t.Errorf("siteKeyAccess %s: %q", access, lines)
			}
		}
	})
}
