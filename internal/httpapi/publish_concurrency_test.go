package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	markedPages  = 40
	markRounds   = 15
	markReaders  = 3
	racingRounds = 15
)

// quick sends a request and leaves the checks of the interface document out:
// they go one at a time, which would keep the requests apart.
func (s *system) quick(method, target, body string) (int, []byte, error) {
	req, err := http.NewRequest(method, s.url+target, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("X-Api-Key", s.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// marks are the different titles of a list, and how many items it has.
func marks(answer []byte) (titles map[string]bool, items int, err error) {
	var list struct{ Data []struct{ Title *string } }
	err = json.Unmarshal(answer, &list)
	titles = map[string]bool{}
	for _, page := range list.Data {
		title := "none"
		if page.Title != nil {
			title = *page.Title
		}
		titles[title] = true
	}
	return titles, len(list.Data), err
}

// All pages of the live version have the same title, whenever a reader looks:
// editors give all of them the next one in one step, and publishers publish
// whatever the draft is.
func TestLiveReadersNeverSeeTwoPublishesMixed(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		s.newLocale(t, siteID, "fr")
		ids := manyPages(t, s, siteID, markedPages)
		mark := func(n int) string {
			var ops []string
			for i, id := range ids {
				locale := "" // a locale's values go live along with the others
				if i%2 == 0 {
					locale = `"locale":"fr",`
				}
				ops = append(ops, fmt.Sprintf(`{"op":"update","pageId":%q,%s"title":"mark %d"}`, id, locale, n))
				if locale != "" {
					ops = append(ops, fmt.Sprintf(`{"op":"update","pageId":%q,"title":"mark %d"}`, id, n))
				}
			}
			return `{"siteId":"` + siteID + `","operations":[` + strings.Join(ops, ",") + `]}`
		}
		s.must(t, 200, "POST", "/v6/pages/batch", mark(0))
		s.publish(t, siteID, "")

		var done atomic.Bool
		var readers, publishers sync.WaitGroup
		seen := make([]map[string]bool, markReaders)
		versions := make([]atomic.Int64, markReaders) // how many those are
		for i := range seen {
			seen[i] = map[string]bool{}
			target := "/v6/pages?limit=100&versionRef=ref:live&siteId=" + siteID + []string{"", "&locale=fr", "&sortBy=updatedAt"}[i%3]
			readers.Go(func() {
				for !done.Load() {
					status, answer, err := s.quick("GET", target, "")
					titles, items, jsonErr := marks(answer)
					if err != nil || jsonErr != nil || status != 200 || len(titles) != 1 || items != markedPages {
						t.Errorf("%s: status %d, %d pages, titles %v, %v, %v", target, status, items, titles, err, jsonErr)
						return
					}
					for title := range titles {
						seen[i][title] = true
					}
					versions[i].Store(int64(len(seen[i])))
				}
			})
		}
		publishers.Go(func() { // beside the one that the editor starts
			for !done.Load() {
				if status, answer, err := s.quick("POST", "/v2/sites/"+siteID+"/publish", "{}"); err != nil || status > 201 {
					t.Errorf("publish: %d %s %v", status, answer, err)
					return
				}
				time.Sleep(5 * time.Millisecond) // writers of a site take turns, and the editor wants one
			}
		})
		readEnough := func() bool {
			for i := range versions {
				if versions[i].Load() < 3 {
					return false
				}
			}
			return true
		}
		rounds := 0
		for begin := time.Now(); rounds < markRounds || !readEnough() && time.Since(begin) < time.Minute; rounds++ {
			for _, step := range [][2]string{{"/v6/pages/batch", mark(rounds + 1)}, {"/v2/sites/" + siteID + "/publish", "{}"}} {
				if status, answer, err := s.quick("POST", step[0], step[1]); err != nil || status > 201 {
					t.Errorf("%s: %d %s %v", step[0], status, answer, err)
				}
			}
		}
		done.Store(true)
		publishers.Wait()
		readers.Wait()
		for i, titles := range seen {
			if len(titles) < 3 {
				t.Errorf("reader %d saw %d versions: it did not read while others published", i, len(titles))
			}
		}
		last := s.must(t, 200, "GET", "/v6/pages?limit=100&versionRef=ref:live&siteId="+siteID, "")
		titles, _, _ := marks(last.body)
		checkEqual(t, "in the end", map[string]bool{fmt.Sprint("mark ", rounds): true}, titles)
		checkEqual(t, "changes", []string{}, s.changes(t, siteID))
		checkVersionsUnmixed(t, s, siteID)
	})
}

// checkVersionsUnmixed reads every version that was live once more.
func checkVersionsUnmixed(t *testing.T, s *system, siteID string) {
	t.Helper()
	previous := any(nil)
	history := s.must(t, 200, "GET", "/v2/sites/"+siteID+"/publishes?limit=100", "").items(t)
	for _, publish := range history {
		if previous != nil && previous != publish["id"] {
			t.Errorf("%v comes after %v, which says otherwise", previous, publish["id"])
		}
		previous = publish["previousId"]
		r := s.must(t, 200, "GET", "/v6/pages?limit=100&siteId="+siteID+"&versionRef=publish:"+publish["id"].(string), "")
		titles, items, err := marks(r.body)
		if err != nil || len(titles) != 1 || items != markedPages {
			t.Errorf("publish %v left %d pages with the titles %v", publish["id"], items, titles)
		}
	}
}

func TestOneOfTwoPublishesWithTheSamePlanWins(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		for round := range racingRounds {
			p.edit(t, p.page, fmt.Sprintf(`{"title":"round %d"}`, round))
			body := `{"plan":"` + p.plan(t, p.site) + `"}`
			var statuses [2]int
			var racers sync.WaitGroup
			start := make(chan struct{})
			for i := range statuses {
				racers.Go(func() {
					<-start
					var err error
					if statuses[i], _, err = p.quick("POST", "/v2/sites/"+p.site+"/publish", body); err != nil {
						t.Error(err)
					}
				})
			}
			close(start)
			racers.Wait()
			if statuses != [2]int{201, 409} && statuses != [2]int{409, 201} {
				t.Errorf("round %d: %v", round, statuses)
			}
		}
		checkEqual(t, "history", racingRounds+1, len(p.must(t, 200, "GET", "/v2/sites/"+p.site+"/publishes?limit=100", "").items(t)))
	})
}

// A page is edited and published by many at once: what is live in the end is
// what the last publish found, and nothing is lost from the list of changes.
func TestEditsDuringPublishesStayChanges(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		var writers sync.WaitGroup
		for w := range 3 {
			writers.Go(func() {
				for n := range 30 {
					target, method, body := "/v6/pages/"+p.page, "PATCH", fmt.Sprintf(`{"title":"%d of %d"}`, n, w)
					switch w {
					case 0:
						target, method, body = "/v2/sites/"+p.site+"/publish", "POST", "{}"
					case 1:
						target += "?locale=fr"
					}
					if status, answer, err := p.quick(method, target, body); err != nil || status > 201 {
						t.Errorf("%s %s: %d %s %v", method, target, status, answer, err)
					}
				}
			})
		}
		writers.Wait()
		title := func(ref, locale string) any {
			return p.must(t, 200, "GET", "/v6/pages/"+p.page+"?locale="+locale+"&versionRef="+ref, "").json(t)["title"]
		}
		for _, locale := range []string{"en-US", "fr"} {
			changed := strings.Contains(strings.Join(p.changes(t, p.site), "\n"), locale+" updated")
			checkEqual(t, "a change in "+locale, title("ref:draft", locale) != title("ref:live", locale), changed)
		}
		p.call(t, "POST", "/v2/sites/"+p.site+"/publish", "")
		checkEqual(t, "live", []any{title("ref:draft", "en-US"), title("ref:draft", "fr")}, []any{title("ref:live", "en-US"), title("ref:live", "fr")})
	})
}
