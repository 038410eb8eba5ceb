package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// summary reads the summary of a site, without its publish, by the names of its counts.
func (s *system) summary(t *testing.T, siteID string) string {
	t.Helper()
	got := s.must(t, 200, "GET", "/v2/sites/"+siteID+"/summary", "").json(t)
	var text strings.Builder
	for _, name := range []string{"pages", "online", "offline", "changed", "redirects", "routes", "scheduled"} {
		fmt.Fprintf(&text, "%s %v, ", name, got[name])
	}
	for _, item := range got["locales"].([]any) {
		fmt.Fprintf(&text, "%v %v, ", item.(map[string]any)["locale"], item.(map[string]any)["localized"])
	}
	return strings.TrimSuffix(text.String(), ", ")
}

func TestSummaryFollowsEveryWrite(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s) // /a with fr, and /off; published
		check := func(what, want string) {
			t.Helper()
			checkEqual(t, what, want, s.summary(t, p.site))
		}
		check("published", "pages 2, online 1, offline 1, changed 0, redirects 0, routes 0, scheduled 0, en-US 2, fr 1, de 0")
		p.edit(t, p.page, `{"title":"B"}`)
		created := p.newPage(t, p.site, "/new")
		p.localize(t, created, "de", `{"title":"Neu"}`)
		check("edited", "pages 3, online 2, offline 1, changed 2, redirects 0, routes 0, scheduled 0, en-US 3, fr 1, de 1")
		p.edit(t, p.page, `{"title":"A"}`)
		check("taken back", "pages 3, online 2, offline 1, changed 1, redirects 0, routes 0, scheduled 0, en-US 3, fr 1, de 1")
		p.remove(t, p.off)
		german := s.newRedirect(t, p.site, "/r1", "/a", `,"locale":"de"`)
		s.newRedirect(t, p.site, "/r2", "/a")
		s.must(t, 201, "POST", "/v2/routes", `{"siteId":"`+p.site+`","pathname":"/route"}`)
		check("deleted", "pages 2, online 2, offline 0, changed 2, redirects 2, routes 1, scheduled 0, en-US 2, fr 1, de 1")
		s.must(t, 204, "DELETE", "/v2/locales/de?siteId="+p.site, "")
		check("without a locale", "pages 2, online 2, offline 0, changed 2, redirects 1, routes 1, scheduled 0, en-US 2, fr 1")
		s.must(t, 200, "POST", "/v2/locales/de/restore?siteId="+p.site, "")
		check("with it again", "pages 2, online 2, offline 0, changed 2, redirects 2, routes 1, scheduled 0, en-US 2, fr 1, de 1")
		s.must(t, 204, "DELETE", "/v2/redirects/"+german, "")
		p.batch(t, p.site, []string{`{"op":"create","pathname":"/b1","isOnline":false}`, `{"op":"delete","pageId":"` + created + `"}`})
		check("a batch", "pages 2, online 1, offline 1, changed 2, redirects 1, routes 1, scheduled 0, en-US 2, fr 1, de 0")

		first := p.publish(t, p.site, "")
		check("published again", "pages 2, online 1, offline 1, changed 0, redirects 1, routes 1, scheduled 0, en-US 2, fr 1, de 0")
		p.edit(t, p.page, `{"title":"C"}`)
		p.publish(t, p.site, "")
		s.must(t, 201, "POST", "/v2/publishes/"+first+"/restore", "")
		check("restored", "pages 2, online 1, offline 1, changed 1, redirects 1, routes 1, scheduled 0, en-US 2, fr 1, de 0")
		twin := s.must(t, 201, "POST", "/v2/sites/"+p.site+"/duplicate", `{"name":"Twin"}`).str(t, "id")
		checkEqual(t, "duplicate", s.summary(t, p.site), s.summary(t, twin))
		p.newPage(t, p.site, "/gone")
		s.must(t, 200, "POST", "/v2/sites/"+p.site+"/discard", "")
		check("discarded", "pages 2, online 1, offline 1, changed 0, redirects 1, routes 1, scheduled 0, en-US 2, fr 1, de 0")
		s.must(t, 200, "POST", "/v6/pages/"+created+"/restore", "")
		s.must(t, 200, "PATCH", "/v2/sites/"+p.site, `{"defaultLocale":"fr"}`)
		check("another default locale", "pages 3, online 2, offline 1, changed 1, redirects 1, routes 1, scheduled 0, en-US 1, fr 3, de 2")

		for _, at := range []string{"2100-02-01T00:00:00Z", "2100-01-01T00:00:00Z"} {
			s.must(t, 201, "POST", "/v2/sites/"+p.site+"/publish", `{"publishAt":"`+at+`"}`)
		}
		r := s.must(t, 200, "GET", "/v2/sites/"+p.site+"/summary", "").json(t)
		checkEqual(t, "scheduled", []any{2.0, "2100-01-01T00:00:00.000Z"}, []any{r["scheduled"], r["nextPublishAt"]})
		last := s.must(t, 200, "GET", "/v2/sites/"+p.site+"/publishes?limit=3", "").items(t)[2]
		checkEqual(t, "last publish", any(last), r["lastPublish"])
	})
}
