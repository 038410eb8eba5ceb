package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/service"
)

type auditEntry struct {
	ID, At, Operation        string
	AppID, RequestID, SiteID *string
	Resource                 struct{ Object, ID string }
	Before, After            map[string]any
}

func (s *system) audit(t *testing.T, query string) []auditEntry {
	t.Helper()
	var list struct{ Data []auditEntry }
	if err := json.Unmarshal(s.must(t, 200, "GET", "/v2/audit?"+query, "").body, &list); err != nil {
		t.Fatal(err)
	}
	return list.Data
}

// TestEveryWriteIsAudited sends the happy path of every endpoint that writes
// and looks its request up in the trail.
func TestEveryWriteIsAudited(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for _, endpoint := range httpapi.RouteTable() {
			t.Run(endpoint.Name, func(t *testing.T) {
				e := newExample(t, freshWorkspace(t, s))
				r := golden[endpoint.Name](t, e)
				entries := slices.DeleteFunc(e.audit(t, "limit=100"), func(a auditEntry) bool {
					return a.RequestID == nil || *a.RequestID != r.header.Get("X-Request-Id")
				})
				if endpoint.Method == "GET" {
					if len(entries) > 0 {
						t.Fatalf("a read left entries: %+v", entries)
					}
					return
				}
				if len(entries) == 0 {
					t.Fatal("the write left no entry")
				}
				for _, a := range entries {
					checkAudited(t, endpoint, e, r, a)
				}
			})
		}
	})
}

func checkAudited(t *testing.T, endpoint httpapi.EndpointRow, e example, r reply, a auditEntry) {
	t.Helper()
	if a.Operation != endpoint.Name || a.AppID == nil || *a.AppID != e.first.ID.String() {
		t.Errorf("entry %+v, want operation %s by app %s", a, endpoint.Name, e.first.ID)
	}
	for _, state := range []map[string]any{a.Before, a.After} {
		if state != nil && (state["object"] != a.Resource.Object || state["id"] != a.Resource.ID) {
			t.Errorf("%v stands for %v", state, a.Resource)
		}
		if state["publicApiKey"] != nil || state["key"] != nil || state["token"] != nil || state["secret"] != nil || (a.Resource.Object == "preview" && state["url"] != nil) {
			t.Errorf("a secret is in the trail: %v", state)
		}
	}
	if r.status == http.StatusAccepted { // it changes no resource
		if a.Before != nil || a.After != nil {
			t.Errorf("before is %v and after is %v", a.Before, a.After)
		}
		return
	}
	creates := r.status == 201 || strings.HasPrefix(endpoint.Name, "restore")
	deletes := endpoint.Method == "DELETE" && endpoint.Name != "cancelPublish" && endpoint.Name != "delocalizePage" && endpoint.Name != "deleteContent"
	batch := strings.HasPrefix(endpoint.Name, "batch") || strings.HasPrefix(endpoint.Name, "discard") // both ways
	if !batch && ((a.Before == nil) != creates || (a.After == nil) != deletes) {
		t.Errorf("before is %v and after is %v", a.Before, a.After)
	}
	// A content is a part of its page, by its digest.
	if endpoint.Name == "putContent" {
		if a.After["content"] != r.json(t)["digest"] {
			t.Errorf("the trail shows %v and the answer %s", a.After, r.body)
		}
		return
	}
	// What the trail shows is what the answer shows, but for keys.
	if len(r.body) > 0 && !batch {
		want := r.json(t)
		delete(want, "key")
		delete(want, "publicApiKey")
		delete(want, "secret")
		if want["token"] != nil {
			delete(want, "token")
			want["url"] = nil // which has the token
		}
		if got, want := jsonOf(t, a.After), jsonOf(t, want); !bytes.Equal(got, want) {
			t.Errorf("the trail shows\n%s\nand the answer\n%s", got, want)
		}
	}
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAuditShowsBeforeAndAfter(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		page := s.newPage(t, site, "/about")
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"fr"}`)
		s.must(t, 200, "PATCH", "/v6/pages/"+page, `{"title":"One"}`)
		s.must(t, 200, "PATCH", "/v6/pages/"+page+"?locale=fr", `{"title":"Un"}`)
		s.must(t, 200, "PATCH", "/v6/pages/"+page, `{"title":"One"}`) // changes nothing
		s.must(t, 200, "PATCH", "/v6/pages/"+page, `{}`)
		s.must(t, 204, "DELETE", "/v6/pages/"+page, "")

		var got []string
		for _, a := range s.audit(t, "resourceId="+page) {
			got = append(got, strings.Join([]string{a.Operation, text(a.Before["title"]), text(a.After["title"]), text(a.After["locale"])}, " "))
		}
		want := []string{"deletePage One - -", "updatePage One Un fr", "updatePage - One en-US", "createPage - - en-US"}
		if !slices.Equal(got, want) {
			t.Errorf("the trail of the page is %q, want %q", got, want)
		}
	})
}

func TestDiscardOfNothingLeavesNothing(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		page := s.newPage(t, site, "/about")
		s.must(t, 201, "POST", "/v6/pages/"+page+"/publish", "")
		before, entries := s.must(t, 200, "GET", "/v6/pages/"+page, ""), len(s.audit(t, "resourceId="+page))
		checkEqual(t, "answer", string(before.body), string(s.must(t, 200, "POST", "/v6/pages/"+page+"/discard", "").body))
		checkEqual(t, "entries", entries, len(s.audit(t, "resourceId="+page)))
		s.must(t, 200, "PATCH", "/v6/pages/"+page, `{"title":"One"}`)
		checkEqual(t, "answer to a discard", string(before.body), string(s.must(t, 200, "POST", "/v6/pages/"+page+"/discard", "").body))
		checkEqual(t, "entries of an edit and its discard", entries+2, len(s.audit(t, "resourceId="+page)))
	})
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return "-"
}

func TestAuditOfABatchHasEachPage(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		gone, changed, same := s.newPage(t, site, "/gone"), s.newPage(t, site, "/changed"), s.newPage(t, site, "/same")
		r := s.must(t, 200, "POST", "/v6/pages/batch", `{"siteId":"`+site+`","operations":[
			{"op":"create","pathname":"/new"},{"op":"delete","pageId":"`+gone+`"},
			{"op":"update","pageId":"`+changed+`","title":"T"},{"op":"update","pageId":"`+same+`"}]}`)
		var got []string
		for _, a := range s.audit(t, "siteId="+site) {
			if *a.RequestID == r.header.Get("X-Request-Id") {
				got = append(got, text(a.Before["pathname"])+" "+text(a.After["pathname"]))
			}
		}
		if want := []string{"/changed /changed", "/gone -", "- /new"}; !slices.Equal(got, want) {
			t.Errorf("the trail of the batch is %q, want %q", got, want)
		}
		before := len(s.audit(t, "siteId="+site))
		s.call(t, "POST", "/v6/pages/batch", `{"siteId":"`+site+`","operations":[{"op":"create","pathname":"/a"},{"op":"delete","pageId":"`+gone+`"}]}`)
		if after := len(s.audit(t, "siteId="+site)); after != before {
			t.Errorf("a batch that was refused left %d entries", after-before)
		}
	})
}

func TestAuditFiltersAndWalk(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		other, _ := s.newSite(t)
		for _, p := range []string{"/a", "/b", "/c"} {
			s.newPage(t, site, p)
			s.newPage(t, other, p)
		}
		all := s.audit(t, "limit=100")
		if !slices.IsSortedFunc(all, func(a, b auditEntry) int { return strings.Compare(b.ID, a.ID) }) {
			t.Error("the trail is not newest first")
		}
		var walked []string
		for after := ""; ; {
			r := s.must(t, 200, "GET", "/v2/audit?limit=2&siteId="+site+after, "")
			data, _ := r.json(t)["data"].([]any)
			for _, item := range data {
				entry, _ := item.(map[string]any)
				walked = append(walked, text(entry["operation"]))
				after = "&startingAfter=" + text(entry["id"])
			}
			if r.json(t)["hasMore"] == false {
				break
			}
		}
		if want := []string{"createPage", "createPage", "createPage", "createSite"}; !slices.Equal(walked, want) {
			t.Errorf("a walk met %q, want %q", walked, want)
		}
		middle := url.QueryEscape(all[3].At)
		for query, want := range map[string]int{
			"since=" + middle: countAudit(all, func(a auditEntry) bool { return a.At >= all[3].At }),
			"until=" + middle: countAudit(all, func(a auditEntry) bool { return a.At < all[3].At }),
			"resourceId=" + all[0].Resource.ID + "&siteId=" + site: countAudit(all, func(a auditEntry) bool {
				return a.Resource.ID == all[0].Resource.ID && a.SiteID != nil && *a.SiteID == site
			}),
			"appId=" + s.first.ID.String():       countAudit(all, func(a auditEntry) bool { return a.AppID != nil }),
			"resourceId=" + cms.NewID().String(): 0,
		} {
			if got := len(s.audit(t, query+"&limit=100")); got != want {
				t.Errorf("%s lists %d entries, want %d", query, got, want)
			}
		}
		ofOther := s.audit(t, "siteId="+other)[0].ID
		for _, bad := range []string{
			"startingAfter=" + ofOther + "&siteId=" + site, "startingAfter=" + cms.NewID().String(), "startingAfter=" + site,
			"startingAfter=x", "since=yesterday", "since=2024-01-01T00:00:00,5Z", "until=2024-01-01T1:00:00Z", "until=2030-01-01", "since=", "appId=x", "resourceId=x", "siteId=x", "limit=0", "since=a&since=b",
		} {
			if r := s.call(t, "GET", "/v2/audit?"+bad, ""); r.status != 400 {
				t.Errorf("%s answers %d, want 400", bad, r.status)
			}
		}
	})
}

func countAudit(entries []auditEntry, admit func(auditEntry) bool) int {
	n := 0
	for _, e := range entries {
		if admit(e) {
			n++
		}
	}
	return n
}

func TestAuditStaysInItsWorkspaceAndSites(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		other, _ := s.newSite(t)
		s.newPage(t, site, "/a")
		s.newPage(t, other, "/a")
		stranger := freshWorkspace(t, s)
		for _, a := range stranger.audit(t, "limit=100") {
			if a.AppID != nil {
				t.Errorf("another workspace sees %+v", a)
			}
		}
		for query, want := range map[string]int{
			"siteId=" + site: 403, "appId=" + s.first.ID.String(): 403, "appId=" + cms.NewID().String(): 404,
			"siteId=" + cms.NewID().String(): 404, "startingAfter=" + s.audit(t, "")[0].ID: 400,
		} {
			if r := stranger.call(t, "GET", "/v2/audit?"+query, ""); r.status != want {
				t.Errorf("another workspace's %s answers %d, want %d", query, r.status, want)
			}
		}

		restricted := *s
		r := s.must(t, 201, "POST", "/v2/apps", `{"name":"One site","siteIds":["`+site+`"]}`)
		restricted.key = r.str(t, "key")
		seen := restricted.audit(t, "limit=100")
		if len(seen) == 0 {
			t.Error("an app restricted to a site sees nothing of it")
		}
		for _, a := range seen {
			if a.SiteID == nil || *a.SiteID != site {
				t.Errorf("an app restricted to a site sees %+v", a)
			}
		}
		page := s.audit(t, "siteId="+other)[0].Resource.ID
		if got := restricted.audit(t, "resourceId="+page); len(got) > 0 {
			t.Errorf("an app restricted to a site sees another's page: %+v", got)
		}

		// What a revoked app did stays to be seen.
		app := s.must(t, 201, "POST", "/v2/apps", `{"name":"Gone"}`)
		gone := *s
		gone.key = app.str(t, "key")
		gone.newPage(t, site, "/by-gone")
		s.must(t, 204, "DELETE", "/v2/apps/"+app.str(t, "id"), "")
		if got := s.audit(t, "appId="+app.str(t, "id")); len(got) != 1 {
			t.Errorf("a revoked app left %d entries to see, want 1", len(got))
		}
	})
}

func TestAuditOfWhatNobodyAskedFor(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		if entries := s.audit(t, ""); len(entries) != 2 || entries[0].Operation != "createApp" || entries[1].Operation != "createWorkspace" ||
			entries[0].AppID != nil || entries[0].RequestID != nil {
			t.Errorf("first start left %+v", entries)
		}
		site, _ := s.newSite(t)
		s.newPage(t, site, "/a")
		publish := s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", `{"publishAt":"2100-01-01T00:00:00Z"}`).str(t, "id")
		later := service.New(s.store, func() time.Time { return time.Date(2100, 1, 2, 0, 0, 0, 0, time.UTC) }, httpapi.AuditState)
		if _, err := later.RunDuePublish(t.Context()); err != nil {
			t.Fatal(err)
		}
		ran := s.audit(t, "resourceId="+publish)[0]
		if ran.Operation != "runPublish" || *ran.AppID != s.first.ID.String() || ran.RequestID != nil ||
			ran.Before["status"] != "scheduled" || ran.After["status"] != "published" {
			t.Errorf("a scheduled publish left %+v", ran)
		}
		s.must(t, 204, "DELETE", "/v2/sites/"+site, "")
		if _, err := later.PurgeSites(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if purged := s.audit(t, "resourceId="+site)[0]; purged.Operation != "purgeSite" || purged.After != nil {
			t.Errorf("a purge left %+v", purged)
		}
		if err := later.PurgeAudit(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if left := s.audit(t, ""); len(left) > 0 {
			t.Errorf("past the retention are left %+v", left)
		}
	})
}

func TestARepeatedRequestIsAuditedOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		for range 3 {
			s.must(t, 201, "POST", "/v6/pages", `{"siteId":"`+site+`","pathname":"/once"}`, "Idempotency-Key", "k")
		}
		if got := s.audit(t, "siteId="+site); len(got) != 2 {
			t.Errorf("a page made once has left %d entries beside its site's, want 1", len(got)-1)
		}
	})
}

func TestActorIsKept(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		page := s.must(t, 201, "POST", "/v6/pages", `{"siteId":"`+site+`","pathname":"/x"}`, "X-Actor", "Zoë Ørsted <zoe@example.com>").str(t, "id")
		entry := func(query string) map[string]any {
			t.Helper()
			return s.must(t, 200, "GET", "/v2/audit?limit=1&"+query, "").json(t)["data"].([]any)[0].(map[string]any)
		}
		got := entry("resourceId=" + page)
		checkEqual(t, "actor", any("Zoë Ørsted <zoe@example.com>"), got["actor"])
		checkEqual(t, "appName", any(s.first.Name), got["appName"])
		checkEqual(t, "operation", any(page), entry("operation=createPage")["resource"].(map[string]any)["id"])
		checkEqual(t, "no actor", nil, entry("operation=createSite")["actor"])

		now := s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", `{}`, "X-Actor", "Ada")
		checkEqual(t, "publish", "Ada", now.str(t, "actor"))
		s.must(t, 200, "PATCH", "/v6/pages/"+page, `{"title":"New"}`)
		later := s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", `{"publishAt":"2999-01-01T00:00:00Z"}`, "X-Actor", "Bob").str(t, "id")
		checkEqual(t, "scheduled", "Bob", s.must(t, 200, "GET", "/v2/publishes/"+later, "").str(t, "actor"))

		for _, bad := range []string{strings.Repeat("é", 201), "a\tb", "\xff", "a\u200bb"} {
			r := s.must(t, 400, "PATCH", "/v6/pages/"+page, `{"title":"Other"}`, "X-Actor", bad)
			checkEqual(t, "field", []string{"X-Actor"}, r.fields(t))
		}
		s.must(t, 200, "PATCH", "/v6/pages/"+page, `{"title":"Other"}`, "X-Actor", strings.Repeat("é", 200))
		req, err := http.NewRequestWithContext(t.Context(), "DELETE", s.url+"/v6/pages/"+page, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"X-Api-Key": {s.key}, "X-Actor": {"Ada", "Bob"}}
		checkEqual(t, "two actors", 400, s.do(t, req).status)
	})
}
