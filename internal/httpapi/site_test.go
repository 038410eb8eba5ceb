package httpapi_test

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/httpapi"
	"galley/internal/service"
)

// mustAs is must with another key.
func (s *system) mustAs(t *testing.T, key string, status int, method, target, body string) reply {
	t.Helper()
	r := s.send(t, key, method, target, body)
	if r.status != status {
		t.Fatalf("%s %s %s: got %d, want %d\n%s", method, target, body, r.status, status, r.body)
	}
	return r
}

// later is the same store behind a server whose clock is ahead.
func (s *system) later(t *testing.T, by time.Duration) *system {
	t.Helper()
	ahead := func() time.Time { return clock().Add(by) }
	server := httptest.NewServer(httpapi.New(httpapi.Options{
		Service: service.New(s.store, ahead, httpapi.AuditState), Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(), Version: "test",
	}))
	t.Cleanup(server.Close)
	later := *s
	later.url = server.URL
	return &later
}

// fields are the fields that a bad request complains about.
func (r reply) fields(t *testing.T) []string {
	t.Helper()
	var e struct{ Details []struct{ Field string } }
	if err := json.Unmarshal(r.body, &e); err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, d := range e.Details {
		fields = append(fields, d.Field)
	}
	return fields
}

// items are the objects of a list.
func (r reply) items(t *testing.T) []map[string]any {
	t.Helper()
	var list struct{ Data []map[string]any }
	if err := json.Unmarshal(r.body, &list); err != nil {
		t.Fatal(err)
	}
	return list.Data
}

// column is one field of every item of a list.
func (r reply) column(t *testing.T, field string) []any {
	t.Helper()
	values := []any{}
	for _, item := range r.items(t) {
		values = append(values, item[field])
	}
	return values
}

func checkEqual(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

func TestSiteIsCreatedWithItsDefaultLocale(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site := s.must(t, 201, "POST", "/v2/sites", `{"name":"Shop","defaultLocale":"PT-br","hostOrigin":"HTTPS://Www.Example.com:443/"}`).json(t)
		checkEqual(t, "default locale", any("pt-BR"), site["defaultLocale"])
		checkEqual(t, "origin", any("https://www.example.com"), site["hostOrigin"])
		checkEqual(t, "workspace", any(s.first.WorkspaceID.String()), site["workspaceId"])
		locales := s.must(t, 200, "GET", "/v2/locales?siteId="+site["id"].(string), "")
		checkEqual(t, "locales", []any{"pt-BR"}, locales.column(t, "locale"))
		checkEqual(t, "default", []any{true}, locales.column(t, "isDefault"))
	})
}

func TestEmptyPatchLeavesUpdatedAt(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		pageID := s.newPage(t, siteID, "/about")
		for _, target := range []string{"/v2/sites/" + siteID, "/v6/pages/" + pageID} {
			before := s.must(t, 200, "GET", target, "")
			ahead := s.later(t, time.Hour)
			for _, body := range []string{`{}`, ""} {
				after := ahead.must(t, 200, "PATCH", target, body)
				checkEqual(t, target+" after "+body, string(before.body), string(after.body))
			}
			changed := ahead.must(t, 200, "PATCH", target, `{"name":"Another"}`)
			if changed.str(t, "updatedAt") <= before.str(t, "updatedAt") {
				t.Errorf("%s: updatedAt did not move with a change", target)
			}
		}
	})
}

// A new default locale has the prefix that comes with it from the start: the
// root may be another's.
func TestNewDefaultLocaleMayAvoidATakenPrefix(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		s.must(t, 200, "PATCH", "/v2/sites/"+siteID, `{"defaultLocalePathPrefix":"us"}`)
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"de","pathPrefix":""}`)
		s.must(t, 409, "PATCH", "/v2/sites/"+siteID, `{"defaultLocale":"fr"}`)
		site := s.must(t, 200, "PATCH", "/v2/sites/"+siteID, `{"defaultLocale":"fr","defaultLocalePathPrefix":"french"}`).json(t)
		checkEqual(t, "default", [2]any{"fr", "french"}, [2]any{site["defaultLocale"], site["defaultLocalePathPrefix"]})
	})
}

func TestDefaultLocalePathPrefixMirrorsTheLocale(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		prefix := func() [2]any {
			return [2]any{
				s.must(t, 200, "GET", "/v2/sites/"+siteID, "").json(t)["defaultLocalePathPrefix"],
				s.must(t, 200, "GET", "/v2/locales/en-US?siteId="+siteID, "").json(t)["pathPrefix"],
			}
		}
		checkEqual(t, "at first", [2]any{nil, nil}, prefix())
		s.must(t, 200, "PATCH", "/v2/sites/"+siteID, `{"defaultLocalePathPrefix":""}`)
		checkEqual(t, "set on the site", [2]any{"", ""}, prefix())
		updated := func() string { return s.must(t, 200, "GET", "/v2/sites/"+siteID, "").str(t, "updatedAt") }
		before := updated()
		time.Sleep(2 * time.Millisecond) // times are told in milliseconds
		s.must(t, 200, "PATCH", "/v2/locales/en-US?siteId="+siteID, `{"pathPrefix":"us"}`)
		checkEqual(t, "set on the locale", [2]any{"us", "us"}, prefix())
		if updated() <= before {
			t.Error("the site shows another prefix, and no other time")
		}
		before = updated()
		time.Sleep(2 * time.Millisecond)
		s.must(t, 200, "PATCH", "/v2/locales/en-US?siteId="+siteID, `{"domain":"https://us.example"}`)
		checkEqual(t, "time of a site that shows nothing of the change", before, updated())
		s.must(t, 200, "PATCH", "/v2/locales/en-US?siteId="+siteID, `{"pathPrefix":null}`)
		before = updated()
		time.Sleep(2 * time.Millisecond)
		s.must(t, 200, "PATCH", "/v2/locales/en-US?siteId="+siteID, `{"pathPrefix":"en-US"}`)
		checkEqual(t, "what it was by itself", [2]any{"en-US", "en-US"}, prefix())
		if updated() <= before {
			t.Error("the site shows a prefix where it had none, and no other time")
		}
		s.must(t, 200, "PATCH", "/v2/locales/en-US?siteId="+siteID, `{"pathPrefix":"us"}`)
		// Named together, the prefix is the new default's.
		both := s.must(t, 200, "PATCH", "/v2/sites/"+siteID, `{"defaultLocale":"fr","defaultLocalePathPrefix":"france"}`).json(t)
		checkEqual(t, "new default", [2]any{"fr", "france"}, [2]any{both["defaultLocale"], both["defaultLocalePathPrefix"]})
		checkEqual(t, "the old default keeps its own", any("us"),
			s.must(t, 200, "GET", "/v2/locales/en-US?siteId="+siteID, "").json(t)["pathPrefix"])
		s.must(t, 200, "PATCH", "/v2/sites/"+siteID, `{"defaultLocalePathPrefix":null}`)
		checkEqual(t, "cleared", any(nil), s.must(t, 200, "GET", "/v2/locales/fr?siteId="+siteID, "").json(t)["pathPrefix"])
	})
}

func TestSiteComesBackWhole(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		key := s.must(t, 200, "GET", "/v2/sites/"+e.site, "").str(t, "publicApiKey")
		before := inside(t, s, e.site)
		s.must(t, 204, "DELETE", "/v2/sites/"+e.site, "")
		for _, target := range []string{"/v2/sites/" + e.site, "/v6/pages/" + e.page, "/v2/locales/" + e.locale, "/v2/routes/" + e.route} {
			s.must(t, 404, "GET", target, "")
		}
		s.must(t, 404, "DELETE", "/v2/sites/"+e.site, "")
		s.mustAs(t, key, 401, "GET", "/v2/sites/"+e.site, "")
		checkEqual(t, "list", []any{}, s.must(t, 200, "GET", "/v2/sites", "").column(t, "id"))
		s.must(t, 200, "POST", "/v2/sites/"+e.site+"/restore", "")
		checkEqual(t, "restored", before, inside(t, s, e.site))
		s.mustAs(t, key, 200, "GET", "/v2/sites/"+e.site, "")
		s.must(t, 409, "POST", "/v2/sites/"+e.site+"/restore", "")
	})
}

// inside is what a site has in it, as lists show it.
func inside(t *testing.T, s *system, siteID string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for _, query := range []string{
		"/v2/locales?siteId=" + siteID, "/v2/routes?siteId=" + siteID,
		"/v6/pages?includeOffline=true&siteId=" + siteID, "/v6/pages?includeOffline=true&locale=pt-BR&siteId=" + siteID,
	} {
		address := strings.ReplaceAll(query, siteID, "")
		seen[address] = string(s.must(t, 200, "GET", query, "").body)
	}
	return seen
}

var identity = regexp.MustCompile(`"(id|siteId|createdAt|updatedAt)":"[^"]*"`)

func TestDuplicateCopiesEverythingWithNewIDs(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		s.must(t, 200, "PATCH", "/v2/sites/"+e.site, `{"siteKeyAccess":"live","localeManagementMode":"external","defaultLocalePathPrefix":""}`)
		gone := s.newPage(t, e.site, "/gone")
		s.must(t, 204, "DELETE", "/v6/pages/"+gone, "")
		s.must(t, 201, "POST", "/v2/locales", e.in(`"locale":"de"`))
		s.must(t, 200, "PATCH", "/v6/pages/"+e.page+"?locale=de", `{"pathname":"/ueber","isOnline":false}`)
		s.must(t, 204, "DELETE", "/v2/locales/de?siteId="+e.site, "")
		original, originalSite := inside(t, s, e.site), s.must(t, 200, "GET", "/v2/sites/"+e.site, "")

		twin := s.must(t, 201, "POST", "/v2/sites/"+e.site+"/duplicate", `{"name":"Twin"}`)
		twinID := twin.str(t, "id")
		copied := inside(t, s, twinID)
		for address := range original {
			checkEqual(t, address, anonymous(original[address]), anonymous(copied[address]))
			for _, id := range goldenID.FindAllString(original[address], -1) {
				if strings.Contains(copied[address], id) {
					t.Errorf("%s: the copy has the original's id %s", address, id)
				}
			}
		}
		want, got := originalSite.json(t), twin.json(t)
		if got["publicApiKey"] == want["publicApiKey"] {
			t.Error("the copy has the original's key")
		}
		for _, field := range []string{"hostOrigin", "siteKeyAccess", "defaultLocale", "defaultLocalePathPrefix", "localeManagementMode"} {
			checkEqual(t, field, want[field], got[field])
		}
		s.mustAs(t, twin.str(t, "publicApiKey"), 200, "GET", "/v2/sites/"+twinID, "")

		// What happens to one does not touch the other.
		s.must(t, 200, "PATCH", "/v6/pages/sobre?locale=pt-BR&siteId="+twinID, `{"title":"Outra"}`)
		s.must(t, 204, "DELETE", "/v2/routes/checkout?siteId="+twinID, "")
		s.must(t, 409, "POST", "/v6/pages", `{"siteId":"`+twinID+`","pathname":"/about"}`)
		s.must(t, 204, "DELETE", "/v2/sites/"+twinID, "")
		checkEqual(t, "original", original, inside(t, s, e.site))
		checkEqual(t, "original site", string(originalSite.body), string(s.must(t, 200, "GET", "/v2/sites/"+e.site, "").body))
	})
}

func anonymous(body string) string { return identity.ReplaceAllString(body, `"$1":""`) }

func TestSiteKeyRotation(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, first := s.newSite(t)
		address := "/v2/sites/" + siteID
		rotated := s.must(t, 200, "POST", address+"/rotate-key", "")
		checkEqual(t, "nobody stores it", "no-store", rotated.header.Get("Cache-Control"))
		second := rotated.str(t, "publicApiKey")
		s.mustAs(t, first, 401, "GET", address, "")
		s.mustAs(t, second, 200, "GET", address, "")

		third := s.must(t, 200, "POST", address+"/rotate-key", `{"graceSeconds":3600}`).str(t, "publicApiKey")
		s.mustAs(t, second, 200, "GET", address, "")
		s.mustAs(t, third, 200, "GET", address, "")
		checkEqual(t, "the site shows the new key", third, s.must(t, 200, "GET", address, "").str(t, "publicApiKey"))
		s.later(t, 59*time.Minute).mustAs(t, second, 200, "GET", address, "")
		s.later(t, 61*time.Minute).mustAs(t, second, 401, "GET", address, "")
		s.later(t, 61*time.Minute).mustAs(t, third, 200, "GET", address, "")

		// Rotating again without grace ends what was still in grace.
		s.must(t, 200, "POST", address+"/rotate-key", `{"graceSeconds":0}`)
		s.mustAs(t, second, 401, "GET", address, "")
		s.mustAs(t, third, 401, "GET", address, "")
	})
}

func TestSiteKeyAccessLive(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, key := s.newSite(t)
		pageID := s.newPage(t, siteID, "/about")
		reads := []string{"/v6/pages/" + pageID + "?", "/v6/pages/about?siteId=" + siteID, "/v6/pages?siteId=" + siteID, "/v2/sites/" + siteID + "/pages?"}
		for _, read := range reads {
			s.mustAs(t, key, 200, "GET", read, "")
		}
		s.must(t, 200, "PATCH", "/v2/sites/"+siteID, `{"siteKeyAccess":"live"}`)
		for _, read := range reads {
			refused := s.mustAs(t, key, 403, "GET", read+"&versionRef=ref:draft", "")
			if !strings.Contains(refused.str(t, "message"), "versionRef=ref:live") {
				t.Errorf("GET %s: the message does not say what to pass: %s", read, refused.body)
			}
			for _, version := range []string{"", "&versionRef=ref:live"} {
				live := s.send(t, key, "GET", read+version, "")
				if strings.Contains(read, "about") || strings.Contains(read, pageID) {
					checkEqual(t, read, 404, live.status)
					checkEqual(t, read, "Page not found", live.str(t, "message"))
					continue
				}
				checkEqual(t, read, 200, live.status)
				checkEqual(t, read, []any{}, live.column(t, "id"))
			}
		}
		for _, unversioned := range []string{"/v2/sites/" + siteID, "/v2/locales?siteId=" + siteID, "/v2/routes?siteId=" + siteID} {
			s.mustAs(t, key, 200, "GET", unversioned, "")
		}
		s.must(t, 200, "GET", reads[0], "") // App keys read the draft as before

		// Without versionRef the key reads what was published, until the next publish.
		for _, title := range []string{"One", "Two"} {
			s.must(t, 200, "PATCH", "/v6/pages/"+pageID, `{"title":"`+title+`"}`)
			publish := s.must(t, 201, "POST", "/v2/sites/"+siteID+"/publish", "").str(t, "id")
			s.must(t, 200, "PATCH", "/v6/pages/"+pageID, `{"title":"Draft"}`)
			for _, read := range reads {
				s.mustAs(t, key, 403, "GET", read+"&versionRef=publish:"+publish, "")
				given, left := s.mustAs(t, key, 200, "GET", read+"&versionRef=ref:live", ""), s.mustAs(t, key, 200, "GET", read, "")
				checkEqual(t, read, string(given.body), string(left.body))
				if !strings.Contains(string(left.body), `"title":"`+title+`"`) {
					t.Errorf("GET %s: %s", read, left.body)
				}
			}
		}
		s.must(t, 200, "PATCH", "/v2/sites/"+siteID, `{"siteKeyAccess":"draft"}`)
		for _, read := range reads {
			if r := s.mustAs(t, key, 200, "GET", read, ""); !strings.Contains(string(r.body), `"title":"Draft"`) {
				t.Errorf("GET %s: %s", read, r.body)
			}
		}
	})
}

func TestSiteKeyAccessAtCreation(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for body, want := range map[string]string{`{"name":"S"}`: "draft", `{"name":"S","siteKeyAccess":"draft"}`: "draft", `{"name":"S","siteKeyAccess":"live"}`: "live"} {
			site := s.must(t, 201, "POST", "/v2/sites", body)
			checkEqual(t, body, want, site.str(t, "siteKeyAccess"))
			pageID := s.newPage(t, site.str(t, "id"), "/about")
			status := map[string]int{"draft": 200, "live": 404}[want]
			s.mustAs(t, site.str(t, "publicApiKey"), status, "GET", "/v6/pages/"+pageID, "")
		}
		for _, value := range []string{`"Live"`, `""`, "null", "1"} {
			checkEqual(t, value, []string{"siteKeyAccess"}, s.must(t, 400, "POST", "/v2/sites", `{"name":"S","siteKeyAccess":`+value+`}`).fields(t))
		}
	})
}
