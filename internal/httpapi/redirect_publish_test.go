package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// bothVersions checks the redirects of the draft and of the live version.
func (s *system) bothVersions(t *testing.T, what, siteID string, want ...string) {
	t.Helper()
	for _, ref := range []string{"ref:draft", "ref:live"} {
		checkEqual(t, what+", "+ref, want, s.redirects(t, siteID, "&versionRef="+ref))
	}
}

func TestRedirectsArePublished(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		kept := s.newRedirect(t, p.site, "/old", "/a")
		gone := s.newRedirect(t, p.site, "/gone", "/a", `,"locale":"fr"`)
		checkEqual(t, "created", []string{
			` redirectCreated /old: source null>"/old" target null>"/a" status null>308 isAutomatic null>false`,
			`fr redirectCreated /gone: locale null>"fr" source null>"/gone" target null>"/a" status null>308 isAutomatic null>false`,
		}, p.changes(t, p.site))
		review := s.must(t, 200, "GET", "/v2/sites/"+p.site+"/changes?limit=1", "").json(t)
		checkEqual(t, "summary", any(map[string]any{"total": 2.0, "byKind": map[string]any{"redirectCreated": 2.0}, "byLocale": map[string]any{"en-US": 1.0, "fr": 1.0}}), review["summary"])
		checkEqual(t, "a change", any(map[string]any{"redirectId": kept, "pageId": nil, "locale": nil, "id": kept}), any(pick(review["data"].([]any)[0], "redirectId", "pageId", "locale", "id")))
		checkEqual(t, "walk", []any{kept, gone}, s.walkByOne(t, "/v2/sites/"+p.site+"/changes"))
		first := p.publish(t, p.site, `{"plan":"`+review["plan"].(string)+`"}`)
		p.bothVersions(t, "published", p.site, "fr: /gone -> /a", "/old -> /a")
		checkEqual(t, "published at", s.must(t, 200, "GET", "/v2/publishes/"+first, "").json(t)["publishedAt"], s.must(t, 200, "GET", "/v2/redirects/"+kept, "").json(t)["publishedAt"])
		checkEqual(t, "walk of the publish", []any{kept, gone}, s.walkByOne(t, "/v2/publishes/"+first+"/changes"))

		s.must(t, 200, "PATCH", "/v2/redirects/"+kept, `{"target":"/off","status":301,"source":"/older"}`)
		s.must(t, 204, "DELETE", "/v2/redirects/"+gone, "")
		want := []string{
			` redirectUpdated /older from /old: source "/old">"/older" target "/a">"/off" status 308>301`,
			`fr redirectDeleted /gone: locale "fr">null source "/gone">null target "/a">null status 308>null isAutomatic false>null`,
		}
		checkEqual(t, "changes", want, p.changes(t, p.site))
		checkEqual(t, "live", []string{"fr: /gone -> /a", "/old -> /a"}, s.redirects(t, p.site, "&versionRef=ref:live"))
		second := p.publish(t, p.site, "")
		checkEqual(t, "published", want, s.published(t, second))
		p.bothVersions(t, "changed", p.site, "/older -> /off")
		checkEqual(t, "as of the first", []string{"fr: /gone -> /a", "/old -> /a"}, s.redirects(t, p.site, "&versionRef=publish:"+first))
		checkEqual(t, "one as of the first", "/old", s.must(t, 200, "GET", "/v2/redirects/"+kept+"?versionRef=publish:"+first, "").str(t, "source"))

		s.must(t, 201, "POST", "/v2/publishes/"+first+"/restore", "")
		checkEqual(t, "restored", []string{"fr: /gone -> /a", "/old -> /a"}, s.redirects(t, p.site, "&versionRef=ref:live"))
		checkEqual(t, "the draft is untouched", []string{"/older -> /off"}, s.redirects(t, p.site, ""))
		checkEqual(t, "restored already", any(nil), s.must(t, 200, "POST", "/v2/publishes/"+first+"/restore", "").json(t)["id"])
		checkEqual(t, "changes after it", want, p.changes(t, p.site))

		discarded := s.must(t, 200, "POST", "/v2/sites/"+p.site+"/discard", "")
		checkEqual(t, "discarded", any(2.0), discarded.json(t)["redirects"])
		p.bothVersions(t, "discarded", p.site, "fr: /gone -> /a", "/old -> /a")
		checkEqual(t, "nothing is left", []string{}, p.changes(t, p.site))

		twin := s.must(t, 201, "POST", "/v2/sites/"+p.site+"/duplicate", `{"name":"Twin"}`).str(t, "id")
		p.bothVersions(t, "copied", twin, "fr: /gone -> /a", "/old -> /a")
		s.must(t, 409, "POST", "/v6/pages", `{"siteId":"`+twin+`","pathname":"/old"}`)
		s.must(t, 204, "POST", "/v2/redirects/"+s.newRedirect(t, p.site, "/n", "/a")+"/discard", "")
		s.must(t, 200, "PATCH", "/v2/redirects/"+kept, `{"target":"/off"}`)
		checkEqual(t, "discarded alone", "/a", s.must(t, 200, "POST", "/v2/redirects/"+kept+"/discard", "").str(t, "target"))
		checkEqual(t, "nothing is left then", []string{}, p.changes(t, p.site))
	})
}

// pick are some fields of an object.
func pick(object any, fields ...string) map[string]any {
	picked := map[string]any{}
	for _, field := range fields {
		picked[field] = object.(map[string]any)[field]
	}
	return picked
}

func TestSelectionOfRedirects(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		every, fr := s.newRedirect(t, p.site, "/every", "/a"), s.newRedirect(t, p.site, "/fr", "/a", `,"locale":"fr"`)
		s.newRedirect(t, p.site, "/en", "/a", `,"locale":"en-US"`)
		p.edit(t, p.page, `{"title":"B"}`)
		for query, want := range map[string]int{
			"": 4, "?redirectIds=" + every: 1, "?pageIds=" + p.page: 1, "?pageIds=" + p.page + "&redirectIds=" + fr: 2,
			"?locales=fr": 1, "?locales=en-US": 3, "?locales=de": 0, "?redirectIds=" + every + "&locales=fr": 0,
		} {
			got := s.must(t, 200, "GET", "/v2/sites/"+p.site+"/changes"+query, "").json(t)["summary"].(map[string]any)["total"]
			checkEqual(t, query, any(float64(want)), got)
		}
		s.must(t, 404, "GET", "/v2/sites/"+p.site+"/changes?redirectIds="+p.page, "")
		p.publish(t, p.site, `{"redirectIds":["`+fr+`"]}`)
		checkEqual(t, "one", []string{"fr: /fr -> /a"}, s.redirects(t, p.site, "&versionRef=ref:live"))
		p.publish(t, p.site, `{"locales":["en-US"],"redirectIds":["`+every+`"]}`)
		checkEqual(t, "two", []string{"/every -> /a", "fr: /fr -> /a"}, s.redirects(t, p.site, "&versionRef=ref:live"))
		checkEqual(t, "left", 2, len(p.changes(t, p.site)))
		scheduled := p.publish(t, p.site, `{"redirectIds":["`+every+`"],"publishAt":"2100-01-01T00:00:00Z"}`)
		s.must(t, 204, "DELETE", "/v2/publishes/"+scheduled, "")
		s.must(t, 204, "DELETE", "/v2/redirects/"+every, "")
		s.must(t, 200, "POST", "/v2/sites/"+p.site+"/discard", `{"redirectIds":["`+every+`"]}`)
		checkEqual(t, "discarded", 3, len(s.redirects(t, p.site, "")))
	})
}

func TestAutomaticRedirects(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		p.edit(t, p.page, `{"pathname":"/b"}`)
		planned := s.must(t, 200, "GET", "/v2/sites/"+p.site+"/changes", "").items(t)[1]
		checkEqual(t, "walk", 2, len(s.walkByOne(t, "/v2/sites/"+p.site+"/changes")))
		p.publish(t, p.site, `{"pageIds":["`+p.page+`"]}`)
		p.bothVersions(t, "moved", p.site, "/a -> /b (automatic)")
		id := planned["redirectId"].(string)
		checkEqual(t, "the id in the plan", "/a", s.must(t, 200, "GET", "/v2/redirects/"+id, "").str(t, "source"))
		checkEqual(t, "nothing is left", []string{}, p.changes(t, p.site))

		p.edit(t, p.page, `{"pathname":"/c"}`)
		p.publish(t, p.site, "")
		p.bothVersions(t, "moved on", p.site, "/a -> /c (automatic)", "/b -> /c (automatic)")
		p.edit(t, p.page, `{"pathname":"/a"}`)
		checkEqual(t, "the draft's gives way", []string{"/b -> /c (automatic)"}, s.redirects(t, p.site, ""))
		p.publish(t, p.site, "")
		p.bothVersions(t, "moved back", p.site, "/b -> /a (automatic)", "/c -> /a (automatic)")
		checkEqual(t, "nothing is left now", []string{}, p.changes(t, p.site))

		// What has the source then is no redirect.
		p.edit(t, p.page, `{"pathname":"/d"}`)
		second := p.newPage(t, p.site, "/a")
		p.publish(t, p.site, "")
		p.bothVersions(t, "taken over", p.site, "/b -> /d (automatic)", "/c -> /d (automatic)")
		s.must(t, 200, "POST", "/v6/pages/batch", `{"siteId":"`+p.site+`","operations":[{"op":"update","pageId":"`+p.page+`","pathname":"/a"},{"op":"update","pageId":"`+second+`","pathname":"/d"}]}`)
		p.publish(t, p.site, "")
		p.bothVersions(t, "swapped", p.site, "/b -> /a (automatic)", "/c -> /a (automatic)")

		// Editing one makes it an ordinary one, which no page takes the source of.
		ordinary := s.must(t, 200, "GET", "/v2/redirects?siteId="+p.site, "").items(t)[0]["id"].(string)
		changed := s.must(t, 200, "PATCH", "/v2/redirects/"+ordinary, `{"status":302}`)
		checkEqual(t, "ordinary", any(false), changed.json(t)["isAutomatic"])
		s.must(t, 409, "POST", "/v6/pages", `{"siteId":"`+p.site+`","pathname":"/b"}`)
		s.must(t, 409, "POST", "/v2/routes", `{"siteId":"`+p.site+`","pathname":"/b"}`)
		p.publish(t, p.site, "")
		p.edit(t, p.page, `{"pathname":"/e"}`)
		p.publish(t, p.site, "")
		p.bothVersions(t, "only automatic ones follow", p.site, "/a -> /e (automatic)", "/b -> /a", "/c -> /e (automatic)")

		// A route takes the source in both versions, at once.
		s.newRoute(t, p.site, "/c")
		p.bothVersions(t, "a route", p.site, "/a -> /e (automatic)", "/b -> /a")
		checkEqual(t, "nothing is left of it", []string{}, p.changes(t, p.site))
		s.newPage(t, p.site, "/a")
		checkEqual(t, "a page", []string{"/b -> /a"}, s.redirects(t, p.site, ""))
		p.publish(t, p.site, "")
		p.bothVersions(t, "a page", p.site, "/b -> /a")

		s.must(t, 200, "PATCH", "/v2/sites/"+p.site, `{"autoRedirects":false}`)
		p.edit(t, p.page, `{"pathname":"/f"}`)
		p.publish(t, p.site, "")
		p.bothVersions(t, "switched off", p.site, "/b -> /a")
	})
}

func TestAutomaticRedirectsInLocales(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		p.localize(t, p.page, "fr", `{"pathname":"/x"}`)
		p.publish(t, p.site, "")
		p.bothVersions(t, "one locale moves", p.site, "fr: /a -> /x (automatic)")
		p.edit(t, p.page, `{"pathname":"/b"}`)
		p.publish(t, p.site, "")
		got := s.redirects(t, p.site, "&versionRef=ref:live")
		slices.Sort(got)
		checkEqual(t, "the others move", []string{"de: /a -> /b (automatic)", "en-US: /a -> /b (automatic)", "fr: /a -> /x (automatic)"}, got)
		p.localize(t, p.page, "fr", `{"pathname":"/y"}`)
		p.publish(t, p.site, "")
		got = s.redirects(t, p.site, "&locale=fr")
		slices.Sort(got)
		checkEqual(t, "fr moves on", []string{"fr: /a -> /y (automatic)", "fr: /x -> /y (automatic)"}, got)
	})
}

func TestAutomaticRedirectsAndTheDraft(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		s.newRedirect(t, p.site, "/b/*", "/a")
		// The page moves below a star that leads back: no redirect may close the circle.
		p.edit(t, p.page, `{"pathname":"/b/c"}`)
		p.publish(t, p.site, "")
		p.bothVersions(t, "no circle", p.site, "/b/* -> /a")

		q := newShop(t, s)
		q.edit(t, q.page, `{"pathname":"/b"}`)
		second := q.newPage(t, q.site, "/a") // in the draft alone
		q.publish(t, q.site, `{"pageIds":["`+q.page+`"]}`)
		checkEqual(t, "live", []string{"/a -> /b (automatic)"}, s.redirects(t, q.site, "&versionRef=ref:live"))
		checkEqual(t, "draft", []string(nil), s.redirects(t, q.site, ""))
		checkEqual(t, "changes", []string{
			`en-US created /a: pathname null>"/a" isOnline null>true`,
			` redirectDeleted /a: source "/a">null target "/b">null status 308>null isAutomatic true>null`,
		}, q.changes(t, q.site))
		q.publish(t, q.site, `{"pageIds":["`+second+`"]}`)
		q.bothVersions(t, "gave way", q.site)
		checkEqual(t, "nothing is left", []string{}, q.changes(t, q.site))
	})
}

func TestPublishRefusesClashesAndCirclesOfRedirects(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		p.edit(t, p.page, `{"pathname":"/b"}`)
		redirect := s.newRedirect(t, p.site, "/a", "/x")
		refused := s.must(t, 409, "POST", "/v2/sites/"+p.site+"/publish", `{"redirectIds":["`+redirect+`"]}`).str(t, "message")
		if !strings.Contains(refused, "redirect "+redirect+" at /a") || !strings.Contains(refused, "page "+p.page+" at /a") {
			t.Error(refused)
		}
		p.publish(t, p.site, "")
		p.bothVersions(t, "no automatic one where another is", p.site, "/a -> /x")

		one := s.newRedirect(t, p.site, "/1", "/2")
		p.publish(t, p.site, "")
		s.must(t, 200, "PATCH", "/v2/redirects/"+one, `{"target":"/3"}`)
		two := s.newRedirect(t, p.site, "/2", "/1")
		refused = s.must(t, 409, "POST", "/v2/sites/"+p.site+"/publish", `{"redirectIds":["`+two+`"]}`).str(t, "message")
		checkEqual(t, "a circle", "Following redirects would come round again: /2 -> /1 -> /2", refused)
		p.publish(t, p.site, "")
		p.bothVersions(t, "in the end", p.site, "/1 -> /3", "/2 -> /1", "/a -> /x")
	})
}

func TestRedirectsOfAHiddenLocaleStay(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		s.newRedirect(t, p.site, "/x", "/a", `,"locale":"fr"`)
		first := p.publish(t, p.site, "")
		s.newRedirect(t, p.site, "/y", "/a", `,"locale":"fr"`)
		s.must(t, 204, "DELETE", "/v2/locales/fr?siteId="+p.site, "")
		p.bothVersions(t, "hidden", p.site)
		checkEqual(t, "changes", []string{}, p.changes(t, p.site))
		s.newRedirect(t, p.site, "/z", "/a")
		p.publish(t, p.site, "")
		s.must(t, 201, "POST", "/v2/publishes/"+first+"/restore", "")
		s.must(t, 200, "POST", "/v2/locales/fr/restore?siteId="+p.site, "")
		checkEqual(t, "draft", []string{"fr: /x -> /a", "fr: /y -> /a", "/z -> /a"}, s.redirects(t, p.site, ""))
		checkEqual(t, "live", []string{"fr: /x -> /a"}, s.redirects(t, p.site, "&versionRef=ref:live"))
		s.must(t, 409, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/x"}`, p.site))
	})
}
