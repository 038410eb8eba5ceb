package httpapi_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"galley/internal/httpapi"
	"galley/internal/sqlstore"
)

// busySite is a site with pages of every kind, and their ids: localized,
// offline, deleted, live and not.
func busySite(t *testing.T, s *system, random *rand.Rand) (site string, pages []string) {
	t.Helper()
	site, _ = s.newSite(t)
	s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"fr"}`)
	for i := range 40 {
		page := s.newPage(t, site, fmt.Sprintf("/%d", random.IntN(1_000_000)))
		pages = append(pages, page)
		s.must(t, 200, "PATCH", "/v6/pages/"+page, fmt.Sprintf(`{"title":"T%d"}`, random.IntN(9)))
		if i%3 == 0 {
			s.must(t, 200, "PATCH", "/v6/pages/"+page+"?locale=fr", fmt.Sprintf(`{"title":"F \"%d\"","pathname":"/fr/%d"}`, random.IntN(9), i))
		}
		if i%7 == 0 {
			s.must(t, 200, "PATCH", "/v6/pages/"+page, `{"isOnline":false}`)
		}
	}
	s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", "")
	s.must(t, 204, "DELETE", "/v6/pages/"+pages[5], "")
	return site, pages
}

func TestListsFromMemoryAreThoseOfTheStore(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		forgetful := newSystem(t, s.store, nil, func(o *httpapi.Options) { o.Service, o.CacheBytes = s.svc, 0 })
		forgetful.key = s.key
		random := rand.New(rand.NewPCG(11, 12))
		site, pages := busySite(t, s, random)
		pick := func(words ...string) string { return words[random.IntN(len(words))] }
		cursors := append([]string{"", "00000000-0000-4000-8000-000000000000"}, pages...)
		list := "/v6/pages?siteId=" + site
		compare := func(more string) {
			t.Helper()
			want, got := forgetful.call(t, "GET", list+more, ""), s.call(t, "GET", list+more, "")
			if got.status != want.status || string(got.body) != string(want.body) || got.header.Get("ETag") != want.header.Get("ETag") {
				t.Fatalf("%s: %d %s\nwithout memory: %d %s", list+more, got.status, got.body, want.status, want.body)
			}
		}
		some := func() {
			t.Helper()
			for range 8 {
				more := fmt.Sprintf("&limit=%d", 1+random.IntN(8))
				if cursor := pick(cursors...); cursor != "" {
					more += "&startingAfter=" + cursor
				}
				compare(more)
			}
		}
		for range 60 {
			some() // after a write, in the order from before it
			list = fmt.Sprintf("/v6/pages?siteId=%s&sortBy=%s%s%s%s%s", site, pick("path", "title", "description", "createdAt", "updatedAt"),
				pick("", "&sortDirection=desc"), pick("", "&locale=fr"), pick("", "&versionRef=ref:live"), pick("", "&includeOffline=true"))
			some()
			compare("&limit=100") // from here on, all is known
			some()
			page := "/v6/pages/" + pick(pages[6:]...)
			switch random.IntN(5) {
			case 0:
				s.must(t, 200, "PATCH", page, fmt.Sprintf(`{"title":"T%d"}`, random.IntN(9)))
			case 1:
				s.must(t, 200, "PATCH", page+"?locale=fr", fmt.Sprintf(`{"title":"F%d"}`, random.IntN(9)))
			case 2:
				s.must(t, 200, "PATCH", page, fmt.Sprintf(`{"isOnline":%t}`, random.IntN(2) == 0))
			case 3:
				forgetful.must(t, 200, "PATCH", page, fmt.Sprintf(`{"description":"D%d"}`, random.IntN(9)))
			default:
				s.must(t, 200, "PATCH", page, fmt.Sprintf(`{"title":"T%d, live"}`, random.IntN(1_000_000)))
				s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", "")
			}
		}
	})
}

func TestListsComeFromMemoryWhereverTheyBegin(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, pages := busySite(t, s, rand.New(rand.NewPCG(13, 14)))
		for _, order := range []string{"path", "title&sortDirection=desc", "updatedAt&locale=fr", "createdAt&versionRef=ref:live"} {
			s.warm(t, "/v6/pages?siteId="+site+"&limit=3&startingAfter="+pages[20]+"&sortBy="+order)
		}
	})
}

func TestListMemoryAsksWhoReads(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		random := rand.New(rand.NewPCG(15, 16))
		site, pages := busySite(t, s, random)
		target := "/v6/pages?siteId=" + site + "&limit=3&startingAfter=" + pages[20]
		s.warm(t, target)
		other, _ := s.newSite(t)
		restricted := s.must(t, 201, "POST", "/v2/apps", `{"name":"Other","scopes":["read"],"siteIds":["`+other+`"]}`).str(t, "key")
		for key, want := range map[string]int{freshWorkspace(t, s).key: 403, restricted: 403, "": 401} {
			if r := s.send(t, key, "GET", target, ""); r.status != want {
				t.Errorf("a key that may not read the site is answered %d, want %d", r.status, want)
			}
		}
	})
}

// Which locale is the default changes nothing about a list in a named one, nor
// where a walk through it stands.
func TestWalksGoOnWhenAnotherLocaleBecomesTheDefault(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"fr"}`)
		ids := map[string]string{}
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			ids[name] = s.must(t, 201, "POST", "/v6/pages", `{"siteId":"`+site+`","pathname":"/`+name+`","title":"`+name+`"}`).str(t, "id")
		}
		for _, next := range []string{"fr", "en-US"} { // from the default locale's rows, and back to them
			list := "/v6/pages?siteId=" + site + "&sortBy=title&limit=2&locale=en-US"
			checkEqual(t, "begun", []any{"a", "b"}, s.must(t, 200, "GET", list, "").column(t, "title"))
			s.must(t, 200, "PATCH", "/v6/pages/"+ids["b"]+"?locale=en-US", `{"title":"e5"}`)
			s.must(t, 200, "PATCH", "/v2/sites/"+site, `{"defaultLocale":"`+next+`"}`)
			checkEqual(t, "gone on", []any{"c", "d"}, s.must(t, 200, "GET", list+"&startingAfter="+ids["b"], "").column(t, "title"))
			s.must(t, 200, "PATCH", "/v6/pages/"+ids["b"]+"?locale=en-US", `{"title":"b"}`)
		}
	})
}

// Where walks stand is remembered by the thousand. What is remembered of a
// request must not keep all of it.
func TestWalksKeepNothingOfLongRequests(t *testing.T) {
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err, func(o *httpapi.Options) { o.CacheBytes = 0 })
	site, _ := s.newSite(t)
	const pages = 40
	ids := make([]string, pages)
	for i := range ids {
		ids[i] = s.newPage(t, site, "/p"+strings.Repeat("x", i))
	}
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	walk := func(sort, prefix, pad string) {
		for _, id := range ids[:pages-1] {
			s.must(t, 200, "GET", "/v6/pages?siteId="+site+"&limit=1&startingAfter="+id+"&pathPrefix="+prefix+"&sortBy="+sort, "", "Accept", pad)
		}
	}
	walk("path", "/", "")
	before := inUse()
	pad := strings.Repeat("x", 24<<10)
	asked := 0
	for _, sort := range []string{"path", "createdAt", "updatedAt"} {
		for _, prefix := range []string{"/", "/p", "/px", "/pxx", "/pxxx", "/pxxxx"} {
			walk(sort, prefix, pad)
			asked += pages - 1
		}
	}
	if grown, long := int64(inUse())-int64(before), int64(asked*len(pad)); grown > long/2 {
		t.Errorf("%d requests of %d bytes in all left %d", asked, long, grown)
	}
}
