package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// newRedirect creates a redirect; more are further fields, each with a comma before it.
func (s *system) newRedirect(t *testing.T, siteID, source, target string, more ...string) string {
	t.Helper()
	return s.must(t, 201, "POST", "/v2/redirects", redirectBody(siteID, source, target, more...)).str(t, "id")
}

func redirectBody(siteID, source, target string, more ...string) string {
	return fmt.Sprintf(`{"siteId":%q,"source":%q,"target":%q%s}`, siteID, source, target, strings.Join(more, ""))
}

// sources lists the sources and targets of a list of redirects.
func (s *system) redirects(t *testing.T, siteID, query string) []string {
	t.Helper()
	list := s.must(t, 200, "GET", "/v2/redirects?siteId="+siteID+query, "").json(t)
	var shown []string
	for _, item := range list["data"].([]any) {
		r := item.(map[string]any)
		text := fmt.Sprintf("%s -> %s", r["source"], r["target"])
		if r["locale"] != nil {
			text = fmt.Sprintf("%s: %s", r["locale"], text)
		}
		if r["isAutomatic"] == true {
			text += " (automatic)"
		}
		shown = append(shown, text)
	}
	return shown
}

func TestRedirectIsWrittenAndRead(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"fr"}`)
		made := s.must(t, 201, "POST", "/v2/redirects", redirectBody(siteID, "old/caf%C3%A9/", "new", `,"locale":"FR","status":302`))
		id := made.str(t, "id")
		checkEqual(t, "location", "/v2/redirects/"+id, made.header.Get("Location"))
		checkEqual(t, "source", "/old/café", made.str(t, "source"))
		checkEqual(t, "target", "/new", made.str(t, "target"))
		checkEqual(t, "locale", "fr", made.str(t, "locale"))
		checkEqual(t, "read", string(made.body), string(s.must(t, 200, "GET", "/v2/redirects/"+id, "").body))
		s.must(t, 404, "GET", "/v2/redirects/"+id+"?versionRef=ref:live", "")

		changed := s.must(t, 200, "PATCH", "/v2/redirects/"+id, `{"locale":null,"target":"https://example.com/?a=b","source":"/x/*"}`)
		checkEqual(t, "changed", "/x/* https://example.com/?a=b", changed.str(t, "source")+" "+changed.str(t, "target"))
		checkEqual(t, "every locale", nil, changed.json(t)["locale"])
		checkEqual(t, "defaults", float64(308), s.must(t, 201, "POST", "/v2/redirects", redirectBody(siteID, "/d", "/e")).json(t)["status"])
		checkEqual(t, "star without one in the source", []string{"target"}, s.must(t, 400, "PATCH", "/v2/redirects/"+id, `{"source":"/x","target":"/y/*"}`).fields(t))

		s.must(t, 412, "DELETE", "/v2/redirects/"+id, "", "If-Match", `"other"`)
		s.must(t, 204, "DELETE", "/v2/redirects/"+id, "")
		checkEqual(t, "deleted", "Redirect not found", s.must(t, 404, "GET", "/v2/redirects/"+id, "").str(t, "message"))
		s.must(t, 404, "PATCH", "/v2/redirects/"+id, `{}`)
		s.must(t, 200, "POST", "/v2/redirects/"+id+"/restore", "")
		s.must(t, 409, "POST", "/v2/redirects/"+id+"/restore", "")
		s.must(t, 204, "POST", "/v2/redirects/"+id+"/discard", "")
		s.must(t, 404, "POST", "/v2/redirects/"+id+"/discard", "")
		s.must(t, 404, "POST", "/v2/redirects", redirectBody(siteID, "/a", "/b", `,"locale":"de"`))
	})
}

func TestRedirectList(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		fr := s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"fr"}`).str(t, "id")
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"de"}`)
		s.newRedirect(t, siteID, "/b", "/1")
		s.newRedirect(t, siteID, "/a/*", "/2")
		s.newRedirect(t, siteID, "/b", "/3", `,"locale":"fr"`)
		s.newRedirect(t, siteID, "/a", "/4", `,"locale":"de"`)
		gone := s.newRedirect(t, siteID, "/c", "/5")
		s.must(t, 204, "DELETE", "/v2/redirects/"+gone, "")
		all := []string{"de: /a -> /4", "/a/* -> /2", "/b -> /1", "fr: /b -> /3"}
		checkEqual(t, "all", all, s.redirects(t, siteID, ""))
		checkEqual(t, "in a locale", []string{"/a/* -> /2", "/b -> /1", "fr: /b -> /3"}, s.redirects(t, siteID, "&locale=fr"))
		checkEqual(t, "below a prefix", all[:2], s.redirects(t, siteID, "&sourcePrefix=/a"))
		checkEqual(t, "live", []string(nil), s.redirects(t, siteID, "&versionRef=ref:live"))
		var walked []string
		after := ""
		for {
			list := s.must(t, 200, "GET", "/v2/redirects?siteId="+siteID+"&limit=1"+after, "").json(t)
			item := list["data"].([]any)[0].(map[string]any)
			walked = append(walked, item["source"].(string))
			if list["hasMore"] == false {
				break
			}
			after = "&startingAfter=" + item["id"].(string)
		}
		checkEqual(t, "walked", []string{"/a", "/a/*", "/b", "/b"}, walked)
		checkEqual(t, "a deleted cursor", []string(nil), s.redirects(t, siteID, "&startingAfter="+gone))
		checkEqual(t, "another cursor", []string{"startingAfter"}, s.must(t, 400, "GET", "/v2/redirects?siteId="+siteID+"&startingAfter="+fr, "").fields(t))

		s.must(t, 204, "DELETE", "/v2/locales/"+fr, "")
		checkEqual(t, "without a hidden locale", all[:3], s.redirects(t, siteID, ""))
		s.must(t, 404, "GET", "/v2/redirects?locale=fr&siteId="+siteID, "")
		s.newPage(t, siteID, "/free")
		s.must(t, 200, "POST", "/v2/locales/"+fr+"/restore", "")
		checkEqual(t, "shown again", all, s.redirects(t, siteID, ""))
	})
}

func TestRedirectSourceIsAClaim(t *testing.T) {
	const taken, held = "A redirect with this source already exists", "A page or route with this pathname already exists"
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		fr := s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"fr"}`).str(t, "id")
		page := s.newPage(t, siteID, "/page")
		s.must(t, 200, "PATCH", "/v6/pages/"+page+"?locale=fr", `{"pathname":"/la-page"}`)
		s.newRoute(t, siteID, "/route")
		refused := func(want, source string, more ...string) {
			t.Helper()
			checkEqual(t, source, want, s.must(t, 409, "POST", "/v2/redirects", redirectBody(siteID, source, "/x", more...)).str(t, "message"))
		}
		refused(held, "/page")
		refused(held, "/page", `,"locale":"en-US"`)
		refused(held, "/la-page")
		refused(held, "/la-page", `,"locale":"fr"`)
		refused(held, "/route", `,"locale":"fr"`)
		s.newRedirect(t, siteID, "/page", "/x", `,"locale":"fr"`)
		s.newRedirect(t, siteID, "/la-page", "/x", `,"locale":"en-US"`)
		s.newRedirect(t, siteID, "/a", "/x")
		s.newRedirect(t, siteID, "/a", "/y", `,"locale":"fr"`)
		s.newRedirect(t, siteID, "/a/*", "/x")
		s.newRedirect(t, siteID, "/a/*", "/x", `,"locale":"fr"`)
		refused(taken, "/a")
		refused(taken, "/a", `,"locale":"fr"`)
		refused(taken, "/a/*")
		refused(taken, "/a/*", `,"locale":"fr"`)

		checkEqual(t, "a page", taken, s.must(t, 409, "POST", "/v6/pages", `{"siteId":"`+siteID+`","pathname":"/a"}`).str(t, "message"))
		checkEqual(t, "a page that moves", taken, s.must(t, 409, "PATCH", "/v6/pages/"+page, `{"pathname":"/a"}`).str(t, "message"))
		checkEqual(t, "a page that moves in a locale", taken, s.must(t, 409, "PATCH", "/v6/pages/"+page+"?locale=fr", `{"pathname":"/a"}`).str(t, "message"))
		checkEqual(t, "a page that no longer moves in a locale", taken, s.must(t, 409, "DELETE", "/v6/pages/"+page+"/localizations/fr", "").str(t, "message"))
		checkEqual(t, "a route", taken, s.must(t, 409, "POST", "/v2/routes", `{"siteId":"`+siteID+`","pathname":"/a"}`).str(t, "message"))
		s.newPage(t, siteID, "/a/*")
		batch := s.must(t, 409, "POST", "/v6/pages/batch", `{"siteId":"`+siteID+`","operations":[{"op":"create","pathname":"/a"}]}`)
		checkEqual(t, "a batch", []string{"operations[0].pathname"}, batch.fields(t))

		// What a hidden locale has is free, until it is shown again.
		s.must(t, 204, "DELETE", "/v2/locales/"+fr, "")
		other := s.newPage(t, siteID, "/b")
		s.must(t, 200, "POST", "/v2/locales/"+fr+"/restore", "")
		s.newRedirect(t, siteID, "/c", "/x", `,"locale":"fr"`)
		s.must(t, 204, "DELETE", "/v2/locales/"+fr, "")
		s.must(t, 200, "PATCH", "/v6/pages/"+other, `{"pathname":"/c"}`)
		s.must(t, 409, "POST", "/v2/locales/"+fr+"/restore", "")
		s.must(t, 200, "PATCH", "/v6/pages/"+other, `{"pathname":"/b"}`)
		s.must(t, 200, "POST", "/v2/locales/"+fr+"/restore", "")
		refused(taken, "/c", `,"locale":"fr"`)
	})
}

func TestRedirectCircles(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID := s.must(t, 201, "POST", "/v2/sites", `{"name":"S","hostOrigin":"https://example.com"}`).str(t, "id")
		refused := func(want, method, path, body string) {
			t.Helper()
			checkEqual(t, path+body, "Following redirects would "+want, s.must(t, 409, method, path, body).str(t, "message"))
		}
		post := func(want, source, target string) {
			t.Helper()
			refused(want, "POST", "/v2/redirects", redirectBody(siteID, source, target))
		}
		post("come round again: /a -> /a", "/a", "/a")
		post("come round again: /a -> /a", "/a", "https://EXAMPLE.com:443/a?b=c")
		post("come round again: /a/* -> /a/*", "/a/*", "/a/*")
		post("never end: /a/* -> /a/b/* -> /a/b/b/* -> /a/b/b/b/* -> …", "/a/*", "/a/b/*")
		s.newRedirect(t, siteID, "/a", "/b")
		post("come round again: /b -> /a -> /b", "/b", "/a")
		for i := range 99 {
			s.newRedirect(t, siteID, fmt.Sprintf("/%d", i), fmt.Sprintf("/%d", i+1))
		}
		s.must(t, 409, "POST", "/v2/redirects", redirectBody(siteID, "/99", "/0"))

		// An exact redirect stands before one with a star.
		s.newRedirect(t, siteID, "/s/*", "/t/*")
		guard := s.newRedirect(t, siteID, "/s/x", "/end")
		s.newRedirect(t, siteID, "/t/x", "/s/x")
		refused("come round again: /s/x -> /t/x -> /s/x", "DELETE", "/v2/redirects/"+guard, "")
		refused("come round again: /s/x -> /t/x -> /s/x", "PATCH", "/v2/redirects/"+guard, `{"target":"/t/x"}`)

		// A URL that becomes one of the site's own.
		s.newRedirect(t, siteID, "/u", "https://example.org/u")
		refused("come round again: /u -> /u", "PATCH", "/v2/sites/"+siteID, `{"hostOrigin":"https://example.org"}`)
		refused("come round again: /u -> /u", "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"fr","domain":"https://example.org"}`)
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"fr"}`)
		refused("come round again: /u -> /u", "PATCH", "/v2/locales/fr?siteId="+siteID, `{"domain":"https://example.org"}`)
	})
}
