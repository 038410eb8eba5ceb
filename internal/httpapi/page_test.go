package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/service"
)

func TestPageIsFoundByIDAndPathname(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		otherID, _ := s.newSite(t)
		team, home, cafe := s.newPage(t, siteID, "about/team/"), s.newPage(t, siteID, "/"), s.newPage(t, siteID, "/cafe\u0301 bar")
		found := map[string]string{
			"%2Fabout%2Fteam": team, "about%2Fteam": team, "about/team": team, "about/team/": team, "%2Fabout/team%2F": team,
			"%2F": home, "caf%C3%A9%20bar": cafe, "cafe%CC%81%20bar": cafe, strings.ToUpper(team): team,
		}
		for value, id := range found {
			r := s.must(t, 200, "GET", "/v6/pages/"+value+"?siteId="+siteID, "")
			checkEqual(t, value, id, r.str(t, "id"))
			checkEqual(t, "in another site", "Page not found", s.must(t, 404, "GET", "/v6/pages/"+value+"?siteId="+otherID, "").str(t, "message"))
		}
		checkEqual(t, "stored in NFC", "/café bar", s.must(t, 200, "GET", "/v6/pages/"+cafe, "").str(t, "pathname"))
		for _, value := range []string{"about", "About/team", "about%252Fteam", "about//team", "about/../about/team", "%2F%2F", "caf%C3%A9+bar", "team"} {
			checkEqual(t, value, "Page not found", s.must(t, 404, "GET", "/v6/pages/"+value+"?siteId="+siteID, "").str(t, "message"))
		}
		for _, value := range []string{"about/team", "%2F", "restore", "abc"} {
			checkEqual(t, value, []string{"siteId"}, s.must(t, 400, "GET", "/v6/pages/"+value, "").fields(t))
		}
	})
}

func TestPageIsChangedAndDeletedByPathname(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		s.newLocale(t, siteID, "fr")
		id := s.newPage(t, siteID, "/about/us")
		s.localize(t, id, "fr", `{"pathname":"/a-propos"}`)
		in := "?siteId=" + siteID
		checkEqual(t, "default", id, s.must(t, 200, "PATCH", "/v6/pages/about/us"+in, `{"title":"Us"}`).str(t, "id"))
		checkEqual(t, "fr", id, s.must(t, 200, "PATCH", "/v6/pages/%2Fa-propos"+in+"&locale=fr", `{"title":"Nous"}`).str(t, "id"))
		s.must(t, 404, "PATCH", "/v6/pages/about/us"+in+"&locale=fr", `{"title":"x"}`) // it goes by another pathname there
		s.must(t, 404, "DELETE", "/v6/pages/a-propos"+in, "")
		s.must(t, 204, "DELETE", "/v6/pages/about%2Fus"+in, "")
		s.must(t, 404, "DELETE", "/v6/pages/about%2Fus"+in, "")
		s.must(t, 404, "GET", "/v6/pages/"+id, "")
	})
}

// A page may be called like the suffix of an endpoint; with an id before it,
// the suffix is the endpoint.
// Who waits for a page or route that another request is giving another pathname
// finds it there no more.
func TestWriteByPathnameMissesWhatHasMoved(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		page, _ := cms.ParseID(s.newPage(t, siteID, "/page"))
		route, _ := cms.ParseID(s.newRoute(t, siteID, "/route"))
		who := service.Caller{App: &s.first}
		for target, move := range map[string]func(held func()) error{
			"/v6/pages/page": func(held func()) error {
				_, err := s.svc.UpdatePage(t.Context(), who, service.Ref{ID: page}, "", func(bool) (cms.PagePatch, error) {
					held()
					return cms.PagePatch{Pathname: cms.Some(new("/moved-page"))}, nil
				}, nil)
				return err
			},
			"/v2/routes/route": func(held func()) error {
				_, err := s.svc.UpdateRoute(t.Context(), who, service.Ref{ID: route}, func() (cms.RoutePatch, error) {
					held()
					return cms.RoutePatch{Pathname: cms.Some("/moved-route")}, nil
				}, nil)
				return err
			},
		} {
			holding, letGo, moved, deleted := make(chan struct{}), make(chan struct{}), make(chan error), make(chan int)
			go func() { moved <- move(sync.OnceFunc(func() { close(holding); <-letGo })) }()
			<-holding
			go func() {
				status, _, _ := s.quick("DELETE", target+"?siteId="+siteID, "") // no status tells enough
				deleted <- status
			}()
			time.Sleep(200 * time.Millisecond) // most likely, it waits by then
			close(letGo)
			if err := <-moved; err != nil {
				t.Error(err)
			}
			checkEqual(t, target, 404, <-deleted)
		}
		s.must(t, 200, "GET", "/v6/pages/moved-page?siteId="+siteID, "")
		s.must(t, 200, "GET", "/v2/routes/moved-route?siteId="+siteID, "")
	})
}

func TestSuffixAfterAnIDIsItsEndpoint(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		id := s.newPage(t, siteID, "/restore")
		nested := s.newPage(t, siteID, "/docs/restore")
		checkEqual(t, "plain", id, s.must(t, 200, "GET", "/v6/pages/restore?siteId="+siteID, "").str(t, "id"))
		checkEqual(t, "nested", nested, s.must(t, 200, "GET", "/v6/pages/docs/restore?siteId="+siteID, "").str(t, "id"))
		for target, allow := range map[string]string{
			"/v6/pages/" + id + "/restore":          "POST",
			"/v6/pages/" + id + "/localizations/fr": "DELETE",
		} {
			for _, method := range []string{"GET", "PATCH", "PUT"} {
				r := s.must(t, 405, method, target+"?siteId="+siteID, "")
				checkEqual(t, method+" "+target, allow, r.header.Get("Allow"))
				checkEqual(t, "code", "method_not_allowed", r.str(t, "code"))
			}
		}
		allow := strings.Split(s.must(t, 405, "PUT", "/v6/pages/"+id, "").header.Get("Allow"), ", ")
		slices.Sort(allow)
		checkEqual(t, "a page", []string{"DELETE", "GET", "HEAD", "PATCH"}, allow)
	})
}

func TestHeadAnswersAsGetWithoutBody(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		for _, target := range []string{
			"/v2/workspace", "/v2/apps", "/v2/apps/" + e.app, "/v2/sites", "/v2/sites/" + e.site, "/v2/sites/" + e.site + "/pages",
			"/v2/locales?siteId=" + e.site, "/v2/locales/" + e.locale, "/v2/routes?siteId=" + e.site, "/v2/routes/" + e.route,
			"/v6/pages?siteId=" + e.site, "/v6/pages/" + e.page, "/v6/pages/unknown?siteId=" + e.site,
		} {
			get := s.call(t, "GET", target, "")
			head := s.headOf(t, target)
			checkEqual(t, target, get.status, head.StatusCode)
			for _, name := range []string{"ETag", "Content-Type", "Content-Length", "Cache-Control", "Vary"} {
				checkEqual(t, target+" "+name, get.header.Get(name), head.Header.Get(name))
			}
		}
	})
}

// headOf sends HEAD apart from the harness: it validates bodies, and here
// there is none.
func (s *system) headOf(t *testing.T, target string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, s.url+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", s.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}

func TestPageNameFallsBack(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		s.newLocale(t, siteID, "fr")
		names := func(id string) [2]string {
			return [2]string{
				s.must(t, 200, "GET", "/v6/pages/"+id, "").str(t, "name"),
				s.must(t, 200, "GET", "/v6/pages/"+id+"?locale=fr", "").str(t, "name"),
			}
		}
		id := s.newPage(t, siteID, "/about/our team")
		checkEqual(t, "last segment", [2]string{"our team", "our team"}, names(id))
		s.localize(t, id, "fr", `{"pathname":"/notre-equipe"}`)
		checkEqual(t, "last segment there", [2]string{"our team", "notre-equipe"}, names(id))
		s.must(t, 200, "PATCH", "/v6/pages/"+id, `{"title":"Team"}`)
		checkEqual(t, "title", [2]string{"Team", "Team"}, names(id))
		s.localize(t, id, "fr", `{"title":"Équipe"}`)
		checkEqual(t, "title there", [2]string{"Team", "Équipe"}, names(id))
		s.must(t, 200, "PATCH", "/v6/pages/"+id, `{"name":"Given"}`)
		checkEqual(t, "given", [2]string{"Given", "Given"}, names(id))
		list := s.must(t, 200, "GET", "/v6/pages?locale=fr&siteId="+siteID, "")
		checkEqual(t, "in lists too", []any{"Given"}, list.column(t, "name"))
	})
}

func TestPageIsRestored(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		s.newLocale(t, siteID, "fr")
		id := s.newPage(t, siteID, "/about")
		s.localize(t, id, "fr", `{"pathname":"/a-propos","title":"À propos"}`)
		before := s.must(t, 200, "GET", "/v6/pages/"+id+"?locale=fr", "").json(t)
		s.must(t, 409, "POST", "/v6/pages/"+id+"/restore", "")
		s.must(t, 204, "DELETE", "/v6/pages/"+id, "")
		for _, target := range []string{"/v6/pages/" + id, "/v6/pages/about?siteId=" + siteID, "/v6/pages/a-propos?locale=fr&siteId=" + siteID} {
			s.must(t, 404, "GET", target, "")
		}
		checkEqual(t, "list", []any{}, s.must(t, 200, "GET", "/v6/pages?includeOffline=true&siteId="+siteID, "").column(t, "id"))
		s.must(t, 404, "PATCH", "/v6/pages/"+id, `{"title":"x"}`)
		s.must(t, 404, "PATCH", "/v6/pages/"+id+"?locale=fr", `{"title":"x"}`)
		restored := s.later(t, time.Minute).must(t, 200, "POST", "/v6/pages/"+id+"/restore", "")
		if restored.str(t, "updatedAt") <= before["updatedAt"].(string) {
			t.Error("restoring is a change and did not move updatedAt")
		}
		after := s.must(t, 200, "GET", "/v6/pages/a-propos?locale=fr&siteId="+siteID, "").json(t)
		after["updatedAt"] = before["updatedAt"]
		checkEqual(t, "restored", before, after)
	})
}

func TestPageIsNotRestoredOverATakenPathname(t *testing.T) {
	cases := []struct{ name, target, body string }{
		{"by a page", "/v6/pages", `{"siteId":"{site}","pathname":"/about"}`},
		{"by a route", "/v2/routes", `{"siteId":"{site}","pathname":"/about"}`},
		{"in a locale, by a page's default", "/v6/pages", `{"siteId":"{site}","pathname":"/a-propos"}`},
		{"in a locale, by a route", "/v2/routes", `{"siteId":"{site}","pathname":"/a-propos"}`},
	}
	onBothEngines(t, func(t *testing.T, s *system) {
		for _, c := range cases {
			siteID, _ := s.newSite(t)
			s.newLocale(t, siteID, "fr")
			id := s.newPage(t, siteID, "/about")
			s.localize(t, id, "fr", `{"pathname":"/a-propos"}`)
			s.must(t, 204, "DELETE", "/v6/pages/"+id, "")
			in := s.must(t, 201, "POST", c.target, inSite(c.body, siteID)).str(t, "id")
			r := s.must(t, 409, "POST", "/v6/pages/"+id+"/restore", "")
			checkEqual(t, c.name, "A page or route with this pathname already exists", r.str(t, "message"))
			s.must(t, 404, "GET", "/v6/pages/"+id, "")
			s.must(t, 204, "DELETE", c.target+"/"+in, "")
			s.must(t, 200, "POST", "/v6/pages/"+id+"/restore", "")
		}
		siteID, _ := s.newSite(t)
		s.newLocale(t, siteID, "fr")
		id, other := s.newPage(t, siteID, "/about"), s.newPage(t, siteID, "/other")
		s.localize(t, id, "fr", `{"pathname":"/a-propos"}`)
		s.must(t, 204, "DELETE", "/v6/pages/"+id, "")
		s.localize(t, other, "fr", `{"pathname":"/a-propos"}`)
		s.must(t, 409, "POST", "/v6/pages/"+id+"/restore", "")
		s.localize(t, other, "fr", `{"pathname":"/about"}`) // free in fr, where the page has its own
		s.must(t, 200, "POST", "/v6/pages/"+id+"/restore", "")
	})
}

func TestLiveVersionIsEmptyUntilPublished(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, key := s.newSite(t)
		id := s.newPage(t, siteID, "/about")
		for _, k := range []string{s.key, key} {
			for _, target := range []string{"/v6/pages/" + id + "?", "/v6/pages/about?siteId=" + siteID} {
				checkEqual(t, target, "Page not found", s.mustAs(t, k, 404, "GET", target+"&versionRef=ref:live", "").str(t, "message"))
				s.mustAs(t, k, 200, "GET", target+"&versionRef=ref:draft", "")
			}
			for _, target := range []string{"/v6/pages?siteId=" + siteID, "/v2/sites/" + siteID + "/pages?"} {
				list := s.mustAs(t, k, 200, "GET", target+"&versionRef=ref:live", "")
				checkEqual(t, target, []any{}, list.column(t, "id"))
			}
		}
	})
}

func TestPageListIsSortedByCodePointNullsLast(t *testing.T) {
	titles := []string{`"b"`, `"B"`, `null`, `"é"`, `"a"`, `"z"`, `"😀"`, `"~"`, `""`, `"\uffee"`, `"b"`}
	sorted := []any{"", "B", "a", "b", "b", "z", "~", "é", "\uffee", "😀", nil}
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		for i, title := range titles {
			s.must(t, 201, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/%d","title":%s,"description":%s}`, siteID, i, title, title))
		}
		for _, field := range []string{"title", "description"} {
			list := s.must(t, 200, "GET", "/v6/pages?sortBy="+field+"&siteId="+siteID, "")
			checkEqual(t, field, sorted, list.column(t, field))
			backwards := s.must(t, 200, "GET", "/v6/pages?sortDirection=desc&sortBy="+field+"&siteId="+siteID, "")
			ids := list.column(t, "id")
			slices.Reverse(ids)
			checkEqual(t, field+" desc, ties by id too", ids, backwards.column(t, "id"))
		}
	})
}

// A pathname is stored decoded, found by its encoded form, and can be sent back
// as it was answered where a percent sign in it begins no escape.
func TestPathnameWithAPercentSign(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, key := s.newSite(t)
		for sent, stored := range map[string]string{"/100%25": "/100%", "/50%-off": "/50%-off", "/%25%25": "/%%", "/a%2520b": "/a%20b"} {
			page := s.must(t, 201, "POST", "/v6/pages", `{"siteId":"`+siteID+`","pathname":"`+sent+`"}`)
			checkEqual(t, sent, stored, page.str(t, "pathname"))
			encoded := strings.ReplaceAll(stored, "%", "%25")
			for _, path := range []string{encoded, "/%2F" + encoded[1:]} {
				for _, k := range []string{s.key, key} {
					found := s.mustAs(t, k, 200, "GET", "/v6/pages"+path+"?siteId="+siteID, "")
					checkEqual(t, path, page.str(t, "id"), found.str(t, "id"))
				}
			}
			list := s.must(t, 200, "GET", "/v6/pages?siteId="+siteID+"&pathPrefix="+encoded, "")
			checkEqual(t, stored, []any{stored}, list.column(t, "pathname"))
			s.must(t, 409, "POST", "/v6/pages", `{"siteId":"`+siteID+`","pathname":"`+encoded+`"}`)
			echo := stored
			if stored == "/a%20b" {
				echo = encoded // otherwise it names /a b
			}
			same := s.must(t, 200, "PATCH", "/v6/pages/"+page.str(t, "id"), `{"pathname":"`+echo+`"}`)
			checkEqual(t, echo, stored, same.str(t, "pathname"))
			checkEqual(t, "unchanged", page.str(t, "updatedAt"), same.str(t, "updatedAt"))
			route := s.must(t, 201, "POST", "/v2/routes", `{"siteId":"`+siteID+`","pathname":"/route`+sent+`"}`)
			checkEqual(t, sent, "/route"+stored, route.str(t, "pathname"))
			s.must(t, 200, "GET", "/v2/routes/route"+encoded+"?siteId="+siteID, "")
		}
		s.must(t, 404, "GET", "/v6/pages/a%252Fb?siteId="+siteID, "")
		for _, bad := range []string{"/a%2Fb", "/a%00", "/%2e%2e", "/a%FF", "/a%3Fb"} {
			checkEqual(t, bad, []string{"pathname"}, s.must(t, 400, "POST", "/v6/pages", `{"siteId":"`+siteID+`","pathname":"`+bad+`"}`).fields(t))
		}
	})
}
