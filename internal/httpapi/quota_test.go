package httpapi_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"galley/internal/cms"
	"galley/internal/service"
)

// limit sets the whole quota of the first workspace, and goes on with a new key: what is
// known of a key may be a second old.
func (s *system) limit(t *testing.T, quota cms.Quota) cms.Usage {
	t.Helper()
	set, err := s.svc.SetQuota(t.Context(), s.first.WorkspaceID, func(q *cms.Quota) { *q = quota })
	if err != nil {
		t.Fatal(err)
	}
	app, err := s.svc.CreateOperatorApp(t.Context(), service.OperatorApp{Name: "Limited", Scopes: cms.Scopes, WorkspaceID: s.first.WorkspaceID})
	if err != nil {
		t.Fatal(err)
	}
	s.key = string(app.Key)
	return set.Used
}

// quotas are the three quotas, each as large as what is used.
func quotas(used cms.Usage) map[string]cms.Quota {
	return map[string]cms.Quota{
		fmt.Sprint("sites, which is ", used.Sites):                {Sites: &used.Sites},
		fmt.Sprint("pages, which is ", used.Pages):                {Pages: &used.Pages},
		fmt.Sprint("content bytes, which is ", used.ContentBytes): {ContentBytes: &used.ContentBytes},
	}
}

func TestEveryWayOfAddingKeepsToTheQuota(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		content := func(id, text string) {
			s.must(t, 200, "PUT", "/v6/pages/"+id+"/content", `{"text":"`+text+`"}`)
		}
		content(p.page, "a")
		deleted := p.newPage(t, p.site, "/deleted")
		p.publish(t, p.site, "")
		p.remove(t, deleted)
		never := p.newPage(t, p.site, "/never")
		p.remove(t, never)
		gone, _ := s.newSite(t)
		content(s.newPage(t, gone, "/"), "gone")
		s.must(t, 204, "DELETE", "/v2/sites/"+gone, "")

		batch := func(operation string) string { return `{"siteId":"` + p.site + `","operations":[` + operation + `]}` }
		ways := []struct {
			kinds                string // of quotas that it may exceed
			status               int
			method, target, body string
		}{
			{"sites", 201, "POST", "/v2/sites", `{"name":"New"}`},
			{"sites pages content", 201, "POST", "/v2/sites/" + p.site + "/duplicate", `{"name":"Twin"}`},
			{"sites pages content", 200, "POST", "/v2/sites/" + gone + "/restore", ""},
			{"pages", 201, "POST", "/v6/pages", `{"siteId":"` + p.site + `","pathname":"/new"}`},
			{"pages", 200, "POST", "/v6/pages/" + never + "/restore", ""},
			{"pages", 200, "POST", "/v6/pages/" + deleted + "/discard", ""},
			{"pages", 200, "POST", "/v2/sites/" + p.site + "/discard", `{"pageIds":["` + deleted + `"]}`},
			{"pages content", 200, "POST", "/v6/pages/batch", batch(`{"op":"create","pathname":"/batch","localizations":{"fr":{"content":["fr"]}}}`)},
			{"content", 200, "POST", "/v6/pages/batch", batch(`{"op":"update","pageId":"` + p.page + `","content":["batch"]}`)},
			{"content", 200, "PUT", "/v6/pages/" + p.page + "/content", `{"text":"b"}`},
			{"content", 200, "PUT", "/v6/pages/" + p.page + "/content?locale=fr", `{"text":"c"}`},
			{"", 200, "PATCH", "/v6/pages/" + p.page, `{"title":"Edited","pathname":"/moved"}`},
			{"", 201, "POST", "/v2/sites/" + p.site + "/publish", `{"pageIds":["` + p.page + `"]}`},
			{"", 200, "POST", "/v6/pages/batch", batch(`{"op":"create","pathname":"/one"},{"op":"delete","pageId":"` + p.off + `"}`)},
		}
		used := s.limit(t, cms.Quota{Sites: new(0)})
		for text, quota := range quotas(used) {
			kind, _, _ := strings.Cut(strings.Fields(text)[0], ",")
			s.limit(t, quota)
			for _, w := range ways {
				if !strings.Contains(w.kinds, kind) {
					continue
				}
				r := s.call(t, w.method, w.target, w.body)
				want := fmt.Sprintf(`{"object":"error","code":"forbidden","message":"This exceeds the workspace's quota of %s"}`, text)
				if got := strings.TrimSpace(string(r.body)); r.status != 403 || got != want {
					t.Errorf("%s %s: got %d %s, want %s", w.method, w.target, r.status, got, want)
				}
			}
		}
		checkEqual(t, "usage", used, s.limit(t, cms.Quota{Sites: new(0), Pages: new(0), ContentBytes: new(0)}))
		for _, w := range ways { // what adds nothing is done beyond the quota, too
			if w.kinds == "" {
				s.must(t, w.status, w.method, w.target, w.body)
			}
		}
		s.limit(t, cms.Quota{})
		for _, w := range ways {
			switch {
			case w.kinds == "", strings.HasPrefix(w.target, "/v2/sites/"+p.site+"/discard"): // done already
			default:
				s.must(t, w.status, w.method, w.target, w.body)
			}
		}
	})
}

func TestRoomUnderTheQuotaCanBeUsedAgain(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		s.limit(t, cms.Quota{Sites: new(1), Pages: new(2)})
		first, keyed := s.newPage(t, site, "/1"), []string{"Idempotency-Key", "k"}
		body := func(pathname string) string { return `{"siteId":"` + site + `","pathname":"` + pathname + `"}` }
		s.must(t, 201, "POST", "/v6/pages", body("/2"), keyed...)
		s.must(t, 403, "POST", "/v6/pages", body("/3"), "Idempotency-Key", "l")
		s.must(t, 201, "POST", "/v6/pages", body("/2"), keyed...) // the same answer again
		s.must(t, 204, "DELETE", "/v6/pages/"+first, "")
		s.must(t, 201, "POST", "/v6/pages", body("/3"), "Idempotency-Key", "l")
		s.must(t, 403, "POST", "/v6/pages/"+first+"/restore", "")
		s.must(t, 403, "POST", "/v2/sites", `{"name":"New"}`)
		s.must(t, 204, "DELETE", "/v2/sites/"+site, "")
		s.must(t, 201, "POST", "/v2/sites", `{"name":"New"}`)

		// Another workspace has a quota of its own.
		other, err := s.svc.CreateOperatorApp(t.Context(), service.OperatorApp{Name: "Other", Scopes: cms.Scopes, NewWorkspace: "Other"})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s.mustAs(t, string(other.Key), 201, "POST", "/v2/sites", `{"name":"New"}`)
		}
		entries := s.must(t, 200, "GET", "/v2/audit?operation=setWorkspaceQuota", "").items(t)
		checkEqual(t, "audit", map[string]any{
			"object": "workspace", "id": s.first.WorkspaceID.String(), "name": "Default workspace", "maxSites": 1.0, "maxPages": 2.0,
		}, entries[0]["after"])
	})
}

// Of those who add at the same time, in different sites and ways, one gets the last room.
func TestRacingCreatesKeepToTheQuota(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		sites, pages := [2]string{}, [2]string{}
		for i := range sites {
			sites[i], _ = s.newSite(t)
			pages[i] = s.newPage(t, sites[i], "/content")
		}
		const rounds, writers = 8, 8
		for round := range rounds {
			one := fmt.Sprintf("[%d]", 10+round) // as long as any other
			ways := map[string]func(w int) (method, target, body string){
				"sites": func(int) (_, _, _ string) { return "POST", "/v2/sites", `{"name":"Racing"}` },
				"pages": func(w int) (_, _, _ string) {
					site, pathname := sites[w%2], fmt.Sprintf("/%d/%d", round, w)
					if w%4 < 2 {
						return "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":%q}`, site, pathname)
					}
					return "POST", "/v6/pages/batch", fmt.Sprintf(`{"siteId":%q,"operations":[{"op":"create","pathname":%q}]}`, site, pathname)
				},
				"content bytes": func(w int) (_, _, _ string) {
					return "PUT", "/v6/pages/" + pages[w%2] + "/content", fmt.Sprintf("[%d]", 1000+10*round+w)
				},
			}
			used := s.limit(t, cms.Quota{})
			s.must(t, 200, "PUT", "/v6/pages/"+pages[0]+"/content", one)
			bytes := s.limit(t, cms.Quota{}).ContentBytes - used.ContentBytes + 2 // two digits more
			used = s.limit(t, cms.Quota{})
			s.limit(t, cms.Quota{Sites: new(used.Sites + 1), Pages: new(used.Pages + 1), ContentBytes: new(used.ContentBytes + bytes)})
			for kind, way := range ways {
				var made atomic.Int64
				var all sync.WaitGroup
				start := make(chan struct{})
				for w := range writers {
					all.Go(func() {
						<-start
						switch status, answer, err := s.quick(way(w)); {
						case err != nil || (status > 201 && !strings.Contains(string(answer), "quota of "+kind)):
							t.Errorf("%s: %d %s %v", kind, status, answer, err)
						case status <= 201:
							made.Add(1)
						}
					})
				}
				close(start)
				all.Wait()
				checkEqual(t, kind+" that were added", int64(1), made.Load())
			}
			used = used.Plus(cms.Usage{Sites: 1, Pages: 1, ContentBytes: bytes})
			checkEqual(t, "usage", used, s.limit(t, cms.Quota{}))
		}
	})
}
