package httpapi_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"galley/internal/cms"
)

// searchedWords are what the pages of a search test are made of.
var searchedWords = []string{"shop", "Shop", "Straße", "STRASSE", "İzmir", "izmir", "50%", "a_b", "O'Neil", `"quoted"`, "日本語", "😀😀😀", "Ångström", "x"}

// walked are the items of a list, read to its end.
func (s *system) walked(t *testing.T, target string) (items []map[string]any) {
	t.Helper()
	for after := ""; ; {
		r := s.must(t, 200, "GET", target+after, "")
		items = append(items, r.items(t)...)
		if r.json(t)["hasMore"] != true {
			return items
		}
		after = "&startingAfter=" + items[len(items)-1]["id"].(string)
	}
}

// checkSearch compares searches with what a client finds in the same list without them.
func (s *system) checkSearch(t *testing.T, random *rand.Rand, when, site string, rest ...string) {
	t.Helper()
	for _, query := range rest {
		list := "/v6/pages?siteId=" + site + query
		sorted := "&sortBy=" + string(cms.PageSorts[random.IntN(len(cms.PageSorts))]) + "&sortDirection=" + []string{"asc", "desc"}[random.IntN(2)]
		all := s.walked(t, list+sorted+"&limit=100")
		for range 4 {
			text := []rune(searchedWords[random.IntN(len(searchedWords))])
			first := random.IntN(len(text))
			search := string(text[first:min(len(text), first+1+random.IntN(5))])
			if random.IntN(2) == 0 {
				search = strings.ToUpper(search)
			}
			want, got := []string{}, []string{}
			for _, item := range all {
				for _, field := range []string{"pathname", "name", "title"} {
					if value, _ := item[field].(string); strings.Contains(cms.Fold(value), cms.Fold(search)) {
						want = append(want, item["id"].(string))
						break
					}
				}
			}
			for _, item := range s.walked(t, list+sorted+fmt.Sprintf("&limit=%d", 2+random.IntN(20))+"&search="+url.QueryEscape(search)) {
				got = append(got, item["id"].(string))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s%s finds %d of %d pages for %q", when, list, sorted, len(got), len(want), search)
			}
		}
	}
}

func TestSearchFindsWhatTheListHas(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		random := rand.New(rand.NewPCG(3, 4))
		site := s.must(t, 201, "POST", "/v2/sites", `{"name":"Searched"}`).str(t, "id")
		french := s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"fr"}`).str(t, "id")
		word := func() string { return searchedWords[random.IntN(len(searchedWords))] }
		batch := func(operations []string) []string {
			r := s.must(t, 200, "POST", "/v6/pages/batch", `{"siteId":"`+site+`","operations":[`+strings.Join(operations, ",")+`]}`)
			var ids []string
			for _, result := range r.json(t)["results"].([]any) {
				ids = append(ids, result.(map[string]any)["id"].(string))
			}
			return ids
		}
		var operations []string
		for i := range 60 {
			operations = append(operations, fmt.Sprintf(`{"op":"create","pathname":"/%s/%d","title":%q,"name":%q,"isOnline":%t}`,
				[]string{"Shop", "blog"}[i%2], i, word()+" "+word(), word(), i%7 > 0))
		}
		ids := batch(operations)
		edit := func(share int) {
			var operations []string
			for _, id := range ids {
				if random.IntN(100) < share {
					operations = append(operations, fmt.Sprintf(`{"op":"update","pageId":%q,"title":%q}`, id, word()+word()))
				}
				if random.IntN(100) < share/2 {
					operations = append(operations, fmt.Sprintf(`{"op":"update","pageId":%q,"locale":"fr","title":%q,"isOnline":%t}`, id, "fr "+word(), random.IntN(4) > 0))
				}
			}
			batch(operations)
		}
		publish := func() string {
			return s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", `{"confirm":true}`).str(t, "id")
		}
		index := func() {
			if err := s.svc.IndexPages(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		drafts := []string{"", "&locale=fr", "&includeOffline=true&locale=fr", "&status=new,changed", "&status=live&locale=fr", "&status=offline,deleted,changed",
			"&pathPrefix=/Shop&includeOffline=true", "&deleted=true"}
		edit(40)
		s.checkSearch(t, random, "created", site, drafts...)
		index()
		first := publish()
		edit(50)
		publish()
		s.must(t, 204, "DELETE", "/v6/pages/"+ids[3], "")
		edit(20)
		versions := []string{"&versionRef=ref:live", "&versionRef=ref:live&locale=fr&includeOffline=true", "&versionRef=publish:" + first, "&locale=fr&versionRef=publish:" + first}
		every := slices.Concat(drafts, versions)
		s.checkSearch(t, random, "published", site, every...)
		index()
		s.checkSearch(t, random, "indexed", site, every...)
		s.must(t, 204, "DELETE", "/v2/locales/"+french, "")
		s.checkSearch(t, random, "without the locale", site, "", "&versionRef=ref:live")
		s.must(t, 200, "POST", "/v2/locales/"+french+"/restore", "")
		s.checkSearch(t, random, "with the locale again", site, every...)
		s.must(t, 200, "POST", "/v2/sites/"+site+"/discard", `{"confirm":true}`)
		s.checkSearch(t, random, "discarded", site, every...)
		edit(30)
		s.must(t, 201, "POST", "/v2/publishes/"+first+"/restore", "")
		s.checkSearch(t, random, "restored", site, every...)
		twin := s.must(t, 201, "POST", "/v2/sites/"+site+"/duplicate", `{"name":"Twin"}`).str(t, "id")
		s.checkSearch(t, random, "duplicated", twin, slices.Concat(drafts, versions[:2])...)
		index()
		s.checkSearch(t, random, "duplicated and indexed", twin, slices.Concat(drafts, versions[:2])...)
		s.checkSearch(t, random, "at last", site, every...)
	})
}
