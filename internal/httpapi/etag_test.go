package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
)

// tagged is a resource with a change that moves it on.
type tagged struct{ target, change string }

func (e example) resources() []tagged {
	return []tagged{
		{"/v2/apps/" + e.app, `{"name":"Other"}`},
		{"/v2/sites/" + e.site, `{"name":"Other"}`},
		{"/v2/locales/" + e.locale, `{"pathPrefix":"other"}`},
		{"/v2/routes/" + e.route, `{"pathname":"/other"}`},
		{"/v6/pages/" + e.page, `{"title":"Other"}`},
		{"/v6/pages/" + e.page + "?locale=pt-BR", `{"title":"Outra"}`},
		{"/v6/pages/sobre?locale=pt-BR&siteId=" + e.site, `{"description":"Outra"}`},
	}
}

func (s *system) tagOf(t *testing.T, target string) string {
	t.Helper()
	tag := s.must(t, 200, "GET", target, "").header.Get("ETag")
	if !strongTag.MatchString(tag) {
		t.Fatalf("GET %s has no strong ETag: %q", target, tag)
	}
	return tag
}

func TestIfNoneMatchGives304(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		lists := []string{
			"/v2/workspace", "/v2/apps", "/v2/sites", "/v2/locales?siteId=" + e.site, "/v2/routes?siteId=" + e.site,
			"/v6/pages?siteId=" + e.site, "/v2/sites/" + e.site + "/pages",
		}
		for _, r := range e.resources() {
			lists = append(lists, r.target)
		}
		for _, target := range lists {
			tag := s.tagOf(t, target)
			checkEqual(t, "the same twice", tag, s.tagOf(t, target))
			for _, header := range []string{tag, `"other", ` + tag, "W/" + tag, "*"} {
				r := s.must(t, http.StatusNotModified, "GET", target, "", "If-None-Match", header)
				checkEqual(t, target, []any{0, tag, "x-api-key, authorization"}, []any{len(r.body), r.header.Get("ETag"), r.header.Get("Vary")})
			}
			for _, header := range []string{`"other"`, strings.Trim(tag, `"`), strings.TrimSuffix(tag, `"`), `"a,*,b"`, `"other", *`, `"other" ` + tag, tag + "x", tag + ` x`, tag + tag} {
				s.must(t, 200, "GET", target, "", "If-None-Match", header)
			}
		}
	})
}

func TestTagMovesWithEveryChange(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		list := map[string]string{
			"/v2/apps/": "/v2/apps", "/v2/sites/": "/v2/sites", "/v2/locales/": "/v2/locales?siteId=" + e.site,
			"/v2/routes/": "/v2/routes?siteId=" + e.site, "/v6/pages/": "/v6/pages?locale=pt-BR&siteId=" + e.site,
		}
		for _, r := range e.resources() {
			if strings.Contains(r.target, "sobre") {
				r.change = `{"description":"Mais uma"}`
			}
			collection := list[r.target[:strings.Index(r.target[4:], "/")+5]]
			before, listed := s.tagOf(t, r.target), s.tagOf(t, collection)
			changed := s.must(t, 200, "PATCH", r.target, r.change).header.Get("ETag")
			checkEqual(t, "the answer to a change has the new tag", s.tagOf(t, r.target), changed)
			if changed == before {
				t.Errorf("%s: the tag did not move", r.target)
			}
			if s.tagOf(t, collection) == listed {
				t.Errorf("%s: the list's tag did not move", r.target)
			}
			s.must(t, 200, "GET", r.target, "", "If-None-Match", before)
		}
	})
}

func TestStaleIfMatchGives412(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		for _, r := range e.resources() {
			stale := s.tagOf(t, r.target)
			s.must(t, 200, "PATCH", r.target, r.change, "If-Match", `"other", `+stale)
			current := s.must(t, 200, "GET", r.target, "")
			tag := current.header.Get("ETag")
			for _, header := range []string{stale, `"other"`, "W/" + tag, strings.Trim(tag, `"`), strings.TrimSuffix(tag, `"`), `"a,*,b"`, `"other", *`, tag + "x", tag + " x", tag + tag} {
				refused := s.must(t, http.StatusPreconditionFailed, "PATCH", r.target, `{}`, "If-Match", header)
				checkEqual(t, "code", "precondition_failed", refused.str(t, "code"))
				if !strings.Contains(r.target, "locale=") { // a page is deleted in all locales or none
					s.must(t, http.StatusPreconditionFailed, "DELETE", r.target, "", "If-Match", header)
				}
			}
			checkEqual(t, r.target+" is unchanged", string(current.body), string(s.must(t, 200, "GET", r.target, "").body))
			s.must(t, 200, "PATCH", r.target, `{}`, "If-Match", "*")
		}
	})
}

func TestCurrentIfMatchAdmitsDeletion(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		resources := e.resources()[:5]
		for _, i := range []int{4, 3, 2, 0, 1} { // what is in the site goes before it
			target := resources[i].target
			s.must(t, 204, "DELETE", target, "", "If-Match", s.tagOf(t, target))
			s.must(t, 404, "DELETE", target, "", "If-Match", "*") // not there comes before not the same
		}
	})
}

func TestIfMatchGuardsALocalization(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		shown := "/v6/pages/" + e.page + "?locale=pt-BR"
		localization := "/v6/pages/" + e.page + "/localizations/pt-BR"
		stale := s.tagOf(t, shown)
		s.must(t, 200, "PATCH", shown, `{"title":"Outra"}`)
		s.must(t, http.StatusPreconditionFailed, "DELETE", localization, "", "If-Match", stale)
		s.must(t, 204, "DELETE", localization, "", "If-Match", s.tagOf(t, shown))
	})
}

// An app's last use is noted all the time: a reader is told, and it is no change
// that another writer must know of.
func TestUseOfAnAppIsNoChangeToAWriter(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		target := "/v2/apps/" + s.first.ID.String()
		tag := s.tagOf(t, target)
		if err := s.svc.SaveUsage(t.Context()); err != nil {
			t.Fatal(err)
		}
		if used := s.must(t, 200, "GET", target, "").json(t)["lastUsedAt"]; used == nil {
			t.Fatal("the use was not noted")
		}
		s.must(t, 200, "GET", target, "", "If-None-Match", tag)
		s.must(t, 200, "PATCH", target, `{"description":"Mine"}`, "If-Match", tag)
		stable, _, _ := strings.Cut(s.tagOf(t, target), ".")
		for _, stale := range []string{tag, `"other", ` + tag, stable, stable + `"`, stable + ".x", "W/" + s.tagOf(t, target)} {
			s.must(t, 412, "PATCH", target, `{"description":"Yours"}`, "If-Match", stale)
		}
		s.must(t, 200, "PATCH", target, `{"description":"Yours"}`, "If-Match", `"other", `+s.tagOf(t, target))
	})
}

func TestTagsAreNotSharedBetweenTenants(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		stranger := freshWorkspace(t, s)
		for _, r := range e.resources() {
			tag := s.tagOf(t, r.target)
			if status := stranger.call(t, "GET", r.target, "", "If-None-Match", tag).status; status != http.StatusForbidden {
				t.Errorf("%s with the owner's tag: got %d, want 403", r.target, status)
			}
			stranger.must(t, 403, "PATCH", r.target, `{}`, "If-Match", tag)
			s.must(t, 401, "GET", r.target, "", "If-None-Match", tag, "X-Api-Key", "")
		}
	})
}
