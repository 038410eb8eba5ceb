package httpapi_test

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"galley/internal/cms"
	"galley/internal/service"
)

var publishedAtField = regexp.MustCompile(`"publishedAt":("[^"]*"|null),`)

// without is what readers saw but for some fields.
func without(seen map[string]string, fields ...*regexp.Regexp) map[string]string {
	bare := map[string]string{}
	for target, answer := range seen {
		for _, field := range fields {
			answer = field.ReplaceAllString(answer, "")
		}
		bare[target] = answer
	}
	return bare
}

// seen is what readers of a version see: lists in every order and form, each
// page by its id, and by every pathname that any locale shows.
func (s *system) seen(t *testing.T, siteID, ref string, pages []string, locales ...string) map[string]string {
	t.Helper()
	var targets []string
	pathnames := map[string]bool{}
	for _, locale := range locales {
		in := "?siteId=" + siteID + "&locale=" + locale
		for _, sort := range []string{"path", "title", "description", "createdAt", "updatedAt"} {
			targets = append(targets, "/v6/pages"+in+"&limit=100&sortBy="+sort, "/v6/pages"+in+"&limit=100&includeOffline=true&sortDirection=desc&sortBy="+sort)
		}
		targets = append(targets, "/v6/pages"+in+"&pathPrefix=/a", "/v6/pages"+in+"&limit=2&includeOffline=true&sortBy=title")
		for _, id := range pages {
			targets = append(targets, "/v6/pages/"+id+"?locale="+locale)
		}
		all := s.must(t, 200, "GET", "/v6/pages"+in+"&limit=100&includeOffline=true&versionRef="+ref, "")
		for _, pathname := range all.column(t, "pathname") {
			pathnames[pathname.(string)] = true
		}
	}
	for _, pathname := range slices.Sorted(maps.Keys(pathnames)) {
		for _, locale := range locales {
			targets = append(targets, "/v6/pages/"+url.PathEscape(pathname)+"?siteId="+siteID+"&locale="+locale)
		}
	}
	return s.look(t, ref, targets)
}

// look reads addresses in a version.
func (s *system) look(t *testing.T, ref string, targets []string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for _, target := range targets {
		status, body, err := s.quick("GET", target+"&versionRef="+ref, "")
		if err != nil || status >= 500 {
			t.Fatalf("%s: %d %s %v", target, status, body, err)
		}
		seen[target] = fmt.Sprint(status, " ", string(body))
	}
	return seen
}

// again reads what was seen before in another version.
func (s *system) again(t *testing.T, ref string, before map[string]string) map[string]string {
	t.Helper()
	return s.look(t, ref, slices.Sorted(maps.Keys(before)))
}

// past is a shop with a history, and what readers saw live after each publish.
type past struct {
	*shop
	pages     []string
	publishes []string
	lives     []map[string]string
}

func newPast(t *testing.T, s *system) *past {
	t.Helper()
	p := &past{shop: newShop(t, s)}
	p.pages = []string{p.page, p.off}
	p.note(t, p.released)
	b := p.newPageWith(t, p.site, `"pathname":"/b","title":"B","description":"b"`)
	p.localize(t, b, "de", `{"pathname":"/ab","isOnline":false}`)
	p.localize(t, p.page, "fr", `{"pathname":"/afr"}`)
	p.pages = append(p.pages, b)
	p.note(t, p.publish(t, p.site, `{"name":"Second"}`))
	p.edit(t, p.page, `{"pathname":"/on-the-way","title":"Z"}`)
	p.edit(t, b, `{"pathname":"/a"}`)
	p.edit(t, p.page, `{"pathname":"/b"}`)
	p.edit(t, p.off, `{"isOnline":true,"title":"Now on"}`)
	p.note(t, p.publish(t, p.site, ""))
	p.remove(t, p.page)
	p.must(t, 204, "DELETE", "/v6/pages/"+b+"/localizations/de", "")
	p.note(t, p.publish(t, p.site, ""))
	p.must(t, 200, "POST", "/v6/pages/"+p.page+"/restore", "")
	p.edit(t, p.page, `{"title":"Back"}`)
	p.note(t, p.publish(t, p.site, ""))
	p.edit(t, b, `{"title":"Not published"}`)
	p.remove(t, p.off)
	return p
}

func (p *past) note(t *testing.T, publishID string) {
	t.Helper()
	p.publishes = append(p.publishes, publishID)
	p.lives = append(p.lives, p.seen(t, p.site, "ref:live", p.pages, "en-US", "fr", "de"))
}

func TestPastVersionsAreReadAsTheyWereLive(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newPast(t, s)
		for i, id := range p.publishes {
			checkEqual(t, fmt.Sprint("publish ", i), p.lives[i], p.again(t, "publish:"+id, p.lives[i]))
			for _, sort := range []string{"path", "title", "description", "createdAt", "updatedAt"} {
				list := "/v6/pages?includeOffline=true&locale=fr&sortBy=" + sort + "&siteId=" + p.site + "&versionRef=publish:" + strings.ToUpper(id)
				checkEqual(t, "walk by "+sort, p.must(t, 200, "GET", list, "").column(t, "id"), p.walkByOne(t, list))
			}
		}
	})
}

func TestVersionThatIsNotThere(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p, other := newShop(t, s), newShop(t, s)
		scheduled := p.publish(t, p.site, `{"publishAt":"2100-01-01T00:00:00Z"}`)
		for name, id := range map[string]string{"unknown": p.page, "of another site": other.released, "scheduled": scheduled} {
			for _, target := range []string{"/v6/pages?siteId=" + p.site, "/v6/pages/a?siteId=" + p.site, "/v6/pages/" + p.page + "?siteId=" + p.site} {
				r := p.must(t, 404, "GET", target+"&versionRef=publish:"+id, "")
				checkEqual(t, name+" "+target, "Publish not found", r.str(t, "message"))
			}
		}
		for _, ref := range []string{"publish:", "publish:abc", "PUBLISH:" + p.released, p.released} {
			checkEqual(t, ref, []string{"versionRef"}, p.must(t, 400, "GET", "/v6/pages?siteId="+p.site+"&versionRef="+ref, "").fields(t))
		}
		p.must(t, 404, "GET", "/v6/pages/"+p.newPage(t, p.site, "/new")+"?versionRef=publish:"+p.released, "")
	})
}

func TestHistoryIsNewestFirst(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p, other := newPast(t, s), newShop(t, s)
		scheduled := p.publish(t, p.site, `{"publishAt":"2100-01-01T00:00:00Z","name":"Later"}`)
		want := []any{scheduled}
		for _, id := range slices.Backward(p.publishes) {
			want = append(want, id)
		}
		history := "/v2/sites/" + p.site + "/publishes"
		checkEqual(t, "history", want, p.must(t, 200, "GET", history, "").column(t, "id"))
		checkEqual(t, "walk", want, p.walkByOne(t, history))
		for _, cursor := range []string{other.released, p.page} {
			p.must(t, 400, "GET", history+"?startingAfter="+cursor, "")
		}
		second := p.must(t, 200, "GET", "/v2/publishes/"+p.publishes[1], "").json(t)
		for field, value := range map[string]any{
			"object": "publish", "siteId": p.site, "name": "Second", "status": "published", "publishAt": nil, "changeCount": 4.0, "previousId": p.publishes[0],
			"restoredFrom": nil, "reason": nil, "createdBy": s.first.ID.String(),
		} {
			checkEqual(t, field, value, second[field])
		}
		checkEqual(t, "the first has none before", nil, p.must(t, 200, "GET", "/v2/publishes/"+p.publishes[0], "").json(t)["previousId"])
		// A page's own history: the publishes that changed it, wherever it is now.
		for _, c := range []struct {
			page    string
			changed []int
		}{{p.page, []int{4, 3, 2, 1, 0}}, {p.off, []int{2, 0}}, {p.pages[2], []int{3, 2, 1}}, {p.newPage(t, p.site, "/new"), nil}} {
			want := []any{}
			for _, i := range c.changed {
				want = append(want, p.publishes[i])
			}
			own := "/v6/pages/" + c.page + "/publishes"
			checkEqual(t, "history of a page", want, p.must(t, 200, "GET", own, "").column(t, "id"))
			checkEqual(t, "walk through it", want, p.walkByOne(t, own))
		}
		p.must(t, 400, "GET", "/v6/pages/"+p.off+"/publishes?startingAfter="+p.publishes[1], "")           // it did not change the page
		beyond := p.must(t, 200, "GET", "/v6/pages/"+p.off+"/publishes?startingAfter="+p.publishes[0], "") // it is gone from the draft
		checkEqual(t, "after the last", []any{}, beyond.column(t, "id"))
		p.must(t, 404, "GET", "/v6/pages/"+p.site+"/publishes", "")
		// What a publish changed is a list of its own.
		changed := func(i int) []any {
			return p.must(t, 200, "GET", "/v2/publishes/"+p.publishes[i]+"/changes?limit=100", "").column(t, "id")
		}
		cursor := changed(2)[slices.IndexFunc(changed(2), func(id any) bool { return !slices.Contains(changed(4), id) })]
		p.must(t, 200, "GET", "/v2/publishes/"+p.publishes[2]+"/changes?startingAfter="+cursor.(string), "")
		for _, other := range []string{p.publishes[4], p.inAnHour(t, p.site, "")} {
			p.must(t, 400, "GET", "/v2/publishes/"+other+"/changes?startingAfter="+cursor.(string), "")
		}
	})
}

func TestRestoreBringsAVersionBack(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newPast(t, s)
		draft := p.seen(t, p.site, "ref:draft", p.pages[:1], "en-US", "fr", "de")
		last := p.publishes[4]
		p.must(t, 200, "POST", "/v2/publishes/"+last+"/restore", "") // it is what is live
		for _, i := range []int{0, 3, 1, 4, 2} {
			r := p.must(t, 201, "POST", "/v2/publishes/"+p.publishes[i]+"/restore", "")
			checkEqual(t, "publish", []any{"published", p.publishes[i], last}, []any{r.json(t)["status"], r.json(t)["restoredFrom"], r.json(t)["previousId"]})
			last = r.str(t, "id")
			checkEqual(t, "Location", "/v2/publishes/"+last, r.header.Get("Location"))
			// Pages that change go live now, and lists by other times do not notice.
			checkEqual(t, fmt.Sprint("live is as after publish ", i), without(p.lives[i], publishedAtField), without(p.again(t, "ref:live", p.lives[i]), publishedAtField))
			checkEqual(t, "draft", without(draft, publishedAtField, statusField), without(p.again(t, "ref:draft", draft), publishedAtField, statusField))
			checkEqual(t, "changeCount", r.json(t)["changeCount"], any(float64(len(p.published(t, last)))))
			again := p.must(t, 200, "POST", "/v2/publishes/"+last+"/restore", "").json(t)
			checkEqual(t, "again", []any{nil, 0.0}, []any{again["id"], again["changeCount"]})
		}
		for i, id := range p.publishes {
			checkEqual(t, "the past", p.lives[i], p.again(t, "publish:"+id, p.lives[i]))
		}
		p.publish(t, p.site, "")
		checkEqual(t, "publishing everything brings the draft", []string{}, p.changes(t, p.site))
		checkEqual(t, "live is the draft", without(draft, publishedAtField, statusField), without(p.again(t, "ref:live", draft), publishedAtField))
	})
}

func TestRestoreOfWhatCanNotBe(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		p.localize(t, p.page, "fr", `{"pathname":"/fr"}`)
		localized := p.publish(t, p.site, "")
		p.remove(t, p.page)
		p.publish(t, p.site, "")
		for pathname, id := range map[string]string{"/a": p.released, "/fr": localized} {
			route := p.newRoute(t, p.site, pathname)
			before := p.seen(t, p.site, "ref:live", []string{p.page, p.off}, "en-US", "fr")
			r := p.must(t, 409, "POST", "/v2/publishes/"+id+"/restore", "")
			checkEqual(t, "names the route", true, strings.Contains(r.str(t, "message"), route))
			checkEqual(t, "live", before, p.again(t, "ref:live", before))
			p.must(t, 204, "DELETE", "/v2/routes/"+route, "")
		}
		p.must(t, 201, "POST", "/v2/publishes/"+p.released+"/restore", "")
		p.must(t, 200, "GET", "/v6/pages/"+p.page+"?versionRef=ref:live", "")
		p.must(t, 404, "GET", "/v6/pages/"+p.page, "") // the draft is untouched
		for _, id := range []string{p.page, "abc"} {
			checkEqual(t, id, "Publish not found", p.must(t, 404, "POST", "/v2/publishes/"+id+"/restore", "").str(t, "message"))
		}
	})
}

// A page that was ever live exists for whoever asks for its history, and others
// are told that it is not theirs.
func TestHistoryOfAPageThatIsGoneIsForbiddenToOthers(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		elsewhere, _ := s.newSite(t)
		page, never := s.newPage(t, site, "/gone"), s.newPage(t, site, "/never")
		first := s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", `{"pageIds":["`+page+`"]}`).str(t, "id")
		restricted := s.must(t, 201, "POST", "/v2/apps", `{"name":"Elsewhere","siteIds":["`+elsewhere+`"]}`).str(t, "key")
		stranger, err := s.svc.CreateOperatorApp(t.Context(), service.OperatorApp{Name: "Stranger", Scopes: cms.Scopes, NewWorkspace: "Strangers"})
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, status int, target string) {
			t.Helper()
			for who, want := range map[string]int{s.key: status, restricted: 403, string(stranger.Key): 403} {
				if status == 404 && want == 403 && strings.Contains(target, never) {
					want = 404 // it never was more than a draft
				}
				checkEqual(t, when+", "+target, want, s.send(t, who, "GET", target, "").status)
			}
		}
		s.must(t, 204, "DELETE", "/v6/pages/"+page, "")
		s.must(t, 204, "DELETE", "/v6/pages/"+never, "")
		check("deleted", 200, "/v6/pages/"+page+"/publishes")
		check("deleted", 404, "/v6/pages/"+never+"/publishes")
		s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", `{"confirm":true}`)
		check("not live", 200, "/v6/pages/"+page+"/publishes")
		check("not live", 200, "/v6/pages/"+page+"?versionRef=publish:"+first)
		check("not live", 404, "/v6/pages/"+never+"?versionRef=publish:"+first)
	})
}
