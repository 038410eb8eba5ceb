package httpapi_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// strs are the values of a field of the items of a list.
func (r reply) strs(t *testing.T, field string) []string {
	t.Helper()
	values := []string{}
	for _, item := range r.items(t) {
		text, _ := item[field].(string)
		values = append(values, text)
	}
	return values
}

// listed checks a field of the items of a list.
func (s *system) listed(t *testing.T, target, field string, want ...string) {
	t.Helper()
	if got := s.must(t, 200, "GET", target, "").strs(t, field); !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", target, got, want)
	}
}

func TestSitesAreFoundByNameAndLabel(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		made := func(body string) string { return s.must(t, 201, "POST", "/v2/sites", body).str(t, "id") }
		shop := made(`{"name":"Shop Zürich","labels":["eu","shop","eu"]}`)
		made(`{"name":"Workshop","labels":["shop"]}`)
		s.listed(t, "/v2/sites?search=SHOP", "name", "Shop Zürich", "Workshop")
		s.listed(t, "/v2/sites?search=ZÜR", "name", "Shop Zürich")
		s.listed(t, "/v2/sites?label=shop&search=work", "name", "Workshop")
		s.must(t, 201, "POST", "/v2/sites/"+shop+"/duplicate", `{"name":"Twin"}`)
		s.listed(t, "/v2/sites?label=eu", "name", "Shop Zürich", "Twin")
		s.must(t, 200, "PATCH", "/v2/sites/"+shop, `{"labels":[]}`)
		s.listed(t, "/v2/sites?label=eu", "name", "Twin")
		s.must(t, 204, "DELETE", "/v2/sites/"+shop, "")
		s.listed(t, "/v2/sites?deleted=true", "name", "Shop Zürich")
		s.listed(t, "/v2/sites?deleted=true&search=twin", "name")
	})
}

func TestTrashIsListed(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		s.must(t, 204, "DELETE", "/v6/pages/"+e.page, "")
		s.listed(t, "/v6/pages?deleted=true&siteId="+e.site, "pathname", "/about")
		s.listed(t, "/v6/pages?deleted=true&siteId="+e.site+"&locale=pt-BR&sortBy=title", "pathname", "/sobre")
		s.listed(t, "/v6/pages?deleted=true&siteId="+e.site+"&startingAfter="+e.page, "pathname")
		redirects := "/v2/redirects?siteId=" + e.site
		french := s.must(t, 201, "POST", "/v2/redirects", e.in(`"source":"/b","target":"/x","locale":"pt-BR"`)).str(t, "id")
		first := s.newRedirect(t, e.site, "/a", "/x")
		kept := s.must(t, 200, "GET", redirects, "").strs(t, "source")
		s.listed(t, redirects+"&deleted=true", "source")
		for _, id := range []string{french, first} {
			s.must(t, 204, "DELETE", "/v2/redirects/"+id, "")
		}
		s.listed(t, redirects+"&deleted=true", "source", "/a", "/b")
		s.listed(t, redirects+"&deleted=true&sourcePrefix=/b", "source", "/b")
		s.listed(t, redirects+"&deleted=true&locale=en-US", "source", "/a")
		s.listed(t, redirects+"&deleted=true&limit=1", "source", "/a")
		s.listed(t, redirects+"&deleted=true&startingAfter="+first, "source", "/b")
		s.listed(t, redirects, "source", slices.DeleteFunc(kept, func(source string) bool { return source == "/a" || source == "/b" })...)
		s.must(t, 400, "GET", redirects+"&deleted=true&versionRef=ref:live", "")
		s.must(t, 200, "POST", "/v2/redirects/"+first+"/restore", "")
		s.must(t, 204, "DELETE", "/v2/locales/"+e.locale, "")
		s.listed(t, redirects+"&deleted=true", "source") // what is left is of a hidden locale
		s.listed(t, "/v2/locales?deleted=true&siteId="+e.site, "locale", "pt-BR")
		s.listed(t, "/v2/locales?siteId="+e.site, "locale", "en-US")
		key := e.siteKey(t)
		for _, target := range []string{"/v6/pages?deleted=true&siteId=" + e.site, "/v2/locales?deleted=true&siteId=" + e.site, redirects + "&deleted=true"} {
			s.mustAs(t, key, 403, "GET", target, "")
		}
	})
}

func TestScheduledPublishesOfAllSitesAreListed(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		second := s.must(t, 201, "POST", "/v2/sites", `{"name":"Second"}`).str(t, "id")
		for _, site := range []string{e.site, second} {
			s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", `{"publishAt":"2100-01-31T12:00:00Z"}`)
		}
		s.must(t, 201, "POST", "/v2/sites/"+e.site+"/publish", "")
		s.listed(t, "/v2/publishes?status=scheduled", "siteId", e.site, second)
		first := s.must(t, 200, "GET", "/v2/publishes?status=scheduled&limit=1", "").items(t)[0]
		s.listed(t, "/v2/publishes?status=scheduled&startingAfter="+first["id"].(string), "siteId", second)
		restricted := s.must(t, 201, "POST", "/v2/apps", `{"name":"Second alone","siteIds":["`+second+`"]}`).str(t, "key")
		if got := s.mustAs(t, restricted, 200, "GET", "/v2/publishes?status=scheduled", "").strs(t, "siteId"); !slices.Equal(got, []string{second}) {
			t.Errorf("a restricted app sees those of %q", got)
		}
		if first["createdByName"] == nil {
			t.Error("a publish does not name its app")
		}
	})
}

func TestStatusComparesDraftsWithLivePages(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		page, home := "/v6/pages/"+e.page, "/v6/pages/%2F?siteId="+e.site
		list := "/v6/pages?siteId=" + e.site
		status := func(target, want string) {
			t.Helper()
			if got := s.must(t, 200, "GET", target, "").str(t, "status"); got != want {
				t.Errorf("%s is %s, not %s", target, got, want)
			}
		}
		status(page, "new")
		s.listed(t, list+"&status=new", "pathname", "/", "/about")
		s.listed(t, list+"&status=live,changed", "pathname")
		e.publish(t)
		status(page, "live")
		s.listed(t, list+"&status=live", "pathname", "/", "/about")
		if got := s.must(t, 200, "PATCH", page, `{"title":"Other"}`).str(t, "status"); got != "changed" {
			t.Errorf("an edited page is %s", got)
		}
		status(page, "changed")
		s.listed(t, list, "status", "live", "changed")
		s.listed(t, list+"&status=changed&locale=pt-BR", "pathname", "/sobre")
		s.listed(t, list+"&status=changed,new&sortBy=title&sortDirection=desc", "pathname", "/about")
		// An edit that is taken back is none, also of an override.
		s.must(t, 200, "PATCH", page, `{"title":"About <us>"}`)
		status(page, "live")
		s.must(t, 200, "PATCH", page+"?locale=pt-BR", `{"description":"Quem somos"}`)
		status(page, "changed")
		s.must(t, 200, "PATCH", page+"?locale=pt-BR", `{"description":null}`)
		s.listed(t, list+"&status=changed", "pathname")
		s.listed(t, list+"&status=live", "pathname", "/", "/about")

		s.must(t, 200, "PATCH", home, `{"isOnline":false}`)
		s.listed(t, list+"&status=changed", "pathname")
		s.listed(t, list+"&status=changed&includeOffline=true", "pathname", "/")
		s.listed(t, list+"&status=offline", "pathname", "/")
		s.must(t, 204, "DELETE", page, "")
		s.listed(t, list+"&status=deleted,offline", "pathname", "/", "/about")
		s.listed(t, list+"&status=deleted", "status", "deleted")
		s.listed(t, list+"&deleted=true", "status", "deleted")
		e.publish(t)
		s.must(t, 200, "POST", page+"/restore", "")
		status(page, "new") // it is live no longer
		s.listed(t, list+"&status=new", "pathname", "/about")
		s.listed(t, list+"&status=live,offline&limit=1&startingAfter="+e.page, "pathname")

		if r := s.must(t, 200, "GET", page+"?locale=pt-BR", ""); !strings.Contains(string(r.body), `"overrides":["pathname","title"]`) {
			t.Errorf("overrides: %s", r.body)
		}
		if r := s.must(t, 200, "GET", list+"&versionRef=ref:live&includeOffline=true", ""); strings.Contains(string(r.body), `"status"`) || strings.Contains(string(r.body), `"overrides"`) {
			t.Errorf("the live version: %s", r.body)
		}
	})
}

func TestManyChangedPagesAreWalked(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site := s.must(t, 201, "POST", "/v2/sites", `{"name":"Large"}`).str(t, "id")
		var want []string
		for batch := range 2 {
			var operations []string
			for i := range 600 {
				pathname := fmt.Sprintf("/p%04d", batch*600+i)
				operations, want = append(operations, `{"op":"create","pathname":"`+pathname+`"}`), append(want, pathname)
			}
			s.must(t, 200, "POST", "/v6/pages/batch", `{"siteId":"`+site+`","operations":[`+strings.Join(operations, ",")+`]}`)
		}
		var got []string
		for after := ""; ; {
			r := s.must(t, 200, "GET", "/v6/pages?limit=100&status=new&siteId="+site+after, "")
			got = append(got, r.strs(t, "pathname")...)
			ids := r.strs(t, "id")
			if len(ids) < 100 {
				break
			}
			after = "&startingAfter=" + ids[99]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d of %d pages", len(got), len(want))
		}
	})
}

func TestTreeHasEverySegment(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site := s.must(t, 201, "POST", "/v2/sites", `{"name":"Tree"}`).str(t, "id")
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"fr"}`)
		random := rand.New(rand.NewPCG(1, 2))
		names := []string{"a", "a-b", "a-", "a.b", "a--c", "ab", "b", "é"}
		isPage := map[string]bool{"/": true}
		isRoute := map[string]bool{}
		for range 120 {
			pathname := ""
			for range 1 + random.IntN(3) {
				pathname += "/" + names[random.IntN(len(names))]
			}
			if isPage[pathname] || isRoute[pathname] {
				continue
			}
			if random.IntN(4) == 0 {
				isRoute[pathname] = true
				s.must(t, 201, "POST", "/v2/routes", `{"siteId":"`+site+`","pathname":"`+pathname+`"}`)
			} else {
				isPage[pathname] = true
				s.must(t, 201, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":%q,"isOnline":%t}`, site, pathname, random.IntN(2) == 0))
			}
		}
		s.must(t, 201, "POST", "/v6/pages", `{"siteId":"`+site+`","pathname":"/"}`)
		check := func(query, under string, all []string) {
			t.Helper()
			base := strings.TrimSuffix(under, "/") + "/"
			below := map[string]int{}
			for _, pathname := range all {
				if rest, ok := strings.CutPrefix(pathname, base); ok && rest != "" {
					name, deeper, _ := strings.Cut(rest, "/")
					below[base+name] += min(len(deeper), 1)
				}
			}
			var want, got []string
			for _, pathname := range slices.Sorted(maps.Keys(below)) {
				want = append(want, fmt.Sprint(pathname, below[pathname], isPage[pathname], isRoute[pathname]))
			}
			for after := ""; ; {
				r := s.must(t, 200, "GET", "/v6/pages/tree?limit=3&siteId="+site+"&under="+url.QueryEscape(under)+query+after, "")
				items := r.items(t)
				for _, item := range items {
					pathname := item["pathname"].(string)
					got = append(got, fmt.Sprint(pathname, item["count"], item["page"] != nil, item["routeId"] != nil))
					after = "&startingAfter=" + url.QueryEscape(pathname)
					if item["hasChildren"] != (below[pathname] > 0) {
						t.Errorf("%s: %v", pathname, item)
					}
				}
				if len(items) < 3 {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("under %s%s:\ngot  %q\nwant %q", under, query, got, want)
			}
		}
		all := append(slices.Collect(maps.Keys(isPage)), slices.Collect(maps.Keys(isRoute))...)
		for _, under := range []string{"/", "/a", "/a-b", "/b/a", "/nothing"} {
			check("", under, all)
			check("&locale=fr", under, all)
		}
		// A translated page is elsewhere in its locale.
		id := s.must(t, 200, "GET", "/v6/pages?includeOffline=true&limit=2&siteId="+site, "").items(t)[1]
		s.must(t, 200, "PATCH", "/v6/pages/"+id["id"].(string)+"?locale=fr", `{"pathname":"/zz/x"}`)
		moved := append(slices.DeleteFunc(slices.Clone(all), func(p string) bool { return p == id["pathname"] }), "/zz/x")
		isPage[cmp.Or(id["pathname"].(string), "")] = false
		check("&locale=fr", "/", moved)
	})
}

func TestDryRunTellsWhatAPublishDoes(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		publish := "/v2/sites/" + e.site + "/publish"
		reader := s.must(t, 201, "POST", "/v2/apps", `{"name":"Reader","scopes":["read"]}`).str(t, "key")
		dry := s.mustAs(t, reader, 200, "POST", publish, `{"dryRun":true}`)
		plan := s.must(t, 200, "GET", "/v2/sites/"+e.site+"/changes", "").str(t, "plan")
		if dry.str(t, "plan") != plan || dry.str(t, "object") != "publishDryRun" || !strings.Contains(string(dry.body), `"changeCount":4`) {
			t.Errorf("got %s", dry.body)
		}
		s.listed(t, "/v2/sites/"+e.site+"/publishes", "id")
		s.mustAs(t, reader, 403, "POST", publish, `{"dryRun":false}`)
		s.mustAs(t, reader, 403, "POST", publish, `{"dryRun":1}`)
		s.must(t, 409, "POST", publish, `{"dryRun":true,"plan":"0"}`)
		e.publish(t)

		// The other page takes a pathname that is free in the draft alone.
		s.must(t, 200, "PATCH", "/v6/pages/"+e.page, `{"pathname":"/elsewhere"}`)
		other := s.must(t, 201, "POST", "/v6/pages", e.in(`"pathname":"/about"`)).str(t, "id")
		clashes := s.must(t, 200, "POST", publish, `{"dryRun":true,"pageIds":["`+other+`"]}`)
		if want := `"clashes":[{"pathname":"/about","locale":"en-US","pageIds":["` + e.page + `","` + other + `"]}]`; !strings.Contains(string(clashes.body), want) {
			t.Errorf("got %s, want %s", clashes.body, want)
		}
		s.must(t, 409, "POST", publish, `{"pageIds":["`+other+`"]}`)
		s.must(t, 204, "DELETE", "/v6/pages/"+e.page, "")
		guard := s.must(t, 200, "POST", publish, `{"dryRun":true}`)
		if !strings.Contains(string(guard.body), `"guard":{"share":0.5,"pages":1,"confirmNeeded":false}`) {
			t.Errorf("got %s", guard.body)
		}
	})
}
