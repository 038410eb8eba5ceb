package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
)

// newApp makes an app and returns its id and key.
func (s *system) newApp(t *testing.T, body string) (id, key string) {
	t.Helper()
	r := s.must(t, 201, "POST", "/v2/apps", body)
	return r.str(t, "id"), r.str(t, "key")
}

func TestAppKeyIsShownOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		made := s.must(t, 201, "POST", "/v2/apps", `{"name":"Importer","description":"Nightly"}`)
		id, key := made.str(t, "id"), made.str(t, "key")
		checkEqual(t, "hint", key[len(key)-4:], made.str(t, "keyHint"))
		checkEqual(t, "scopes of the maker", any([]any{"read", "write", "publish", "admin", "operator"}), made.json(t)["scopes"])
		for _, r := range []reply{
			s.must(t, 200, "GET", "/v2/apps/"+id, ""), s.must(t, 200, "GET", "/v2/apps", ""),
			s.must(t, 200, "PATCH", "/v2/apps/"+id, `{"name":"Other"}`),
		} {
			if strings.Contains(string(r.body), key) || strings.Contains(string(r.body), `"key"`) {
				t.Errorf("the key is shown again: %s", r.body)
			}
			checkEqual(t, "may be kept", "private, no-cache", r.header.Get("Cache-Control"))
		}
		rotated := s.must(t, 200, "POST", "/v2/apps/"+id+"/rotate", "")
		if rotated.str(t, "key") == key {
			t.Error("rotating did not change the key")
		}
		for _, r := range []reply{made, rotated} {
			checkEqual(t, "no-store", "no-store", r.header.Get("Cache-Control"))
		}
	})
}

func TestAppKeyIsTakenAsBearerToken(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		_, siteKey := s.newSite(t)
		for _, key := range []string{s.key, siteKey} {
			r := s.send(t, "", "GET", "/v2/locales/en-US", "", "Authorization", "Bearer "+key)
			checkEqual(t, "authenticated", http.StatusBadRequest, r.status) // siteId is missing
			both := s.send(t, key, "GET", "/v2/workspace", "", "Authorization", "Bearer "+key)
			checkEqual(t, "both headers", http.StatusBadRequest, both.status)
		}
		for _, value := range []string{"Bearer", "Bearer x", "Basic " + s.key, s.key} {
			checkEqual(t, value, http.StatusUnauthorized, s.send(t, "", "GET", "/v2/workspace", "", "Authorization", value).status)
		}
	})
}

func TestAppGrantsOnlyWhatItHas(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		mine, _ := s.newSite(t)
		other, _ := s.newSite(t)
		strong, _ := s.newApp(t, `{"name":"Strong"}`)
		weak, weakKey := s.newApp(t, `{"name":"Weak","scopes":["admin","read"],"siteIds":["`+mine+`"]}`)
		refused := []struct{ method, target, body string }{
			{"POST", "/v2/apps", `{"name":"x","scopes":["write"]}`},
			{"POST", "/v2/apps", `{"name":"x","siteIds":null}`},
			{"POST", "/v2/apps", `{"name":"x","siteIds":["` + other + `"]}`},
			{"POST", "/v2/apps", `{"name":"x","siteIds":["` + mine + `","` + other + `"]}`},
			{"PATCH", "/v2/apps/" + weak, `{"scopes":["read","write","admin"]}`},
			{"PATCH", "/v2/apps/" + weak, `{"siteIds":null}`},
			{"PATCH", "/v2/apps/" + weak, `{"siteIds":["` + other + `"]}`},
			{"PATCH", "/v2/apps/" + strong, `{"name":"x"}`},
			{"POST", "/v2/apps/" + strong + "/rotate", ``},
			{"DELETE", "/v2/apps/" + strong, ``},
		}
		for _, c := range refused {
			s.mustAs(t, weakKey, 403, c.method, c.target, c.body)
		}
		made := s.mustAs(t, weakKey, 201, "POST", "/v2/apps", `{"name":"Weaker"}`).json(t)
		checkEqual(t, "inherited scopes", any([]any{"read", "admin"}), made["scopes"])
		checkEqual(t, "inherited sites", any([]any{mine}), made["siteIds"])
		s.mustAs(t, weakKey, 204, "DELETE", "/v2/apps/"+made["id"].(string), "")
		checkEqual(t, "unchanged", "Strong", s.must(t, 200, "GET", "/v2/apps/"+strong, "").str(t, "name"))
	})
}

// An app that ends gives nothing that outlives it.
func TestAppGrantsNoLaterExpiry(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		end := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
		text := func(d time.Duration) string { return `"` + end.Add(d).Format("2006-01-02T15:04:05.000Z07:00") + `"` }
		lasting, _ := s.newApp(t, `{"name":"Lasting","scopes":["read"]}`)
		_, key := s.newApp(t, `{"name":"Ending","expiresAt":`+text(0)+`}`)
		made := s.mustAs(t, key, 201, "POST", "/v2/apps", `{"name":"Heir"}`)
		checkEqual(t, "inherited expiry", text(0), `"`+made.str(t, "expiresAt")+`"`)
		heir := made.str(t, "id")
		for _, c := range []struct{ method, target, body string }{
			{"POST", "/v2/apps", `{"name":"x","expiresAt":null}`},
			{"POST", "/v2/apps", `{"name":"x","expiresAt":` + text(time.Millisecond) + `}`},
			{"PATCH", "/v2/apps/" + heir, `{"expiresAt":null}`},
			{"PATCH", "/v2/apps/" + heir, `{"expiresAt":` + text(time.Second) + `}`},
			{"PATCH", "/v2/apps/" + lasting, `{"name":"x"}`},
			{"POST", "/v2/apps/" + lasting + "/rotate", ``},
		} {
			s.mustAs(t, key, 403, c.method, c.target, c.body)
		}
		s.mustAs(t, key, 200, "PATCH", "/v2/apps/"+heir, `{"expiresAt":`+text(-time.Second)+`}`)
		s.mustAs(t, key, 200, "POST", "/v2/apps/"+heir+"/rotate", ``)
	})
}

func TestOnlyAnOperatorGrantsOperator(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		_, admin := s.newApp(t, `{"name":"Admin","scopes":["read","write","publish","admin"]}`)
		s.mustAs(t, admin, 403, "POST", "/v2/apps", `{"name":"x","scopes":["operator"]}`)
		id := s.mustAs(t, admin, 201, "POST", "/v2/apps", `{"name":"x"}`).str(t, "id")
		s.mustAs(t, admin, 403, "PATCH", "/v2/apps/"+id, `{"scopes":["read","operator"]}`)
		s.must(t, 200, "PATCH", "/v2/apps/"+id, `{"scopes":["read","operator"]}`)
		s.mustAs(t, admin, 403, "POST", "/v2/apps/"+id+"/rotate", ``)
	})
}

func TestAppRestrictedToSites(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		mine, _ := s.newSite(t)
		other, _ := s.newSite(t)
		id, key := s.newApp(t, `{"name":"One site","siteIds":["`+mine+`"]}`)
		checkEqual(t, "its sites", []any{mine}, s.mustAs(t, key, 200, "GET", "/v2/sites", "").column(t, "id"))
		checkEqual(t, "another's cursor", []string{"startingAfter"}, s.mustAs(t, key, 400, "GET", "/v2/sites?startingAfter="+other, "").fields(t))
		s.mustAs(t, key, 403, "POST", "/v2/sites", `{"name":"New"}`)
		s.mustAs(t, key, 403, "POST", "/v2/sites/"+mine+"/duplicate", `{"name":"New"}`)
		s.mustAs(t, key, 403, "GET", "/v2/sites/"+other, "")
		s.mustAs(t, key, 403, "GET", "/v6/pages?siteId="+other, "")
		s.mustAs(t, key, 200, "PATCH", "/v2/sites/"+mine, `{"name":"Mine"}`)
		s.mustAs(t, key, 201, "POST", "/v6/pages", `{"siteId":"`+mine+`","pathname":"/x"}`)
		s.mustAs(t, key, 403, "POST", "/v6/pages", `{"siteId":"`+other+`","pathname":"/x"}`)

		s.must(t, 200, "PATCH", "/v2/apps/"+id, `{"siteIds":["`+other+`"],"scopes":["read"]}`) // at once
		s.mustAs(t, key, 403, "GET", "/v2/sites/"+mine, "")
		s.mustAs(t, key, 200, "GET", "/v2/sites/"+other, "")
		s.mustAs(t, key, 403, "PATCH", "/v2/sites/"+other, `{"name":"x"}`)
		checkEqual(t, "unknown site", "Site not found",
			s.must(t, 404, "PATCH", "/v2/apps/"+id, `{"siteIds":["`+cms.NewID().String()+`"]}`).str(t, "message"))
	})
}

func TestAppScopesAreApart(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		requests := map[string][3]string{
			"read":  {"GET", "/v2/sites/" + siteID, ""},
			"write": {"PATCH", "/v2/sites/" + siteID, "{}"},
			"admin": {"GET", "/v2/workspace", ""},
		}
		for _, scope := range cms.Scopes {
			_, key := s.newApp(t, `{"name":"Narrow","scopes":["`+string(scope)+`"]}`)
			for needed, r := range requests {
				want := http.StatusForbidden
				if needed == string(scope) {
					want = http.StatusOK
				}
				checkEqual(t, string(scope)+" on "+r[1], want, s.send(t, key, r[0], r[1], r[2]).status)
			}
			// Whatever the resource, and whatever else is wrong behind it.
			if scope != cms.ScopeWrite {
				s.mustAs(t, key, 403, "PATCH", "/v2/sites/"+cms.NewID().String(), `{"bad":`)
			}
		}
	})
}

func TestAppExpires(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		id, key := s.newApp(t, `{"name":"Brief","expiresAt":"`+end.Format(time.RFC3339)+`"}`)
		s.mustAs(t, key, 200, "GET", "/v2/workspace", "")
		s.later(t, 59*time.Minute).mustAs(t, key, 200, "GET", "/v2/workspace", "")
		s.later(t, 61*time.Minute).mustAs(t, key, 401, "GET", "/v2/workspace", "")
		s.must(t, 200, "PATCH", "/v2/apps/"+id, `{"expiresAt":null}`)
		s.later(t, 61*time.Minute).mustAs(t, key, 200, "GET", "/v2/workspace", "")
		past := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
		checkEqual(t, "past", []string{"expiresAt"}, s.must(t, 400, "POST", "/v2/apps", `{"name":"x","expiresAt":"`+past+`"}`).fields(t))
	})
}

func TestAppKeyRotationAndRevocation(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		id, first := s.newApp(t, `{"name":"Rotating"}`)
		works := func(s *system, key string) bool {
			t.Helper()
			return s.send(t, key, "GET", "/v2/workspace", "").status == http.StatusOK
		}
		second := s.must(t, 200, "POST", "/v2/apps/"+id+"/rotate", `{"graceSeconds":3600}`).str(t, "key")
		checkEqual(t, "in grace", [2]bool{true, true}, [2]bool{works(s, first), works(s, second)})
		ahead := s.later(t, 61*time.Minute)
		checkEqual(t, "after grace", [2]bool{false, true}, [2]bool{works(ahead, first), works(ahead, second)})
		third := s.must(t, 200, "POST", "/v2/apps/"+id+"/rotate", "").str(t, "key")
		checkEqual(t, "without grace", [3]bool{false, false, true}, [3]bool{works(s, first), works(s, second), works(s, third)})
		checkEqual(t, "hint", third[len(third)-4:], s.must(t, 200, "GET", "/v2/apps/"+id, "").str(t, "keyHint"))

		fourth := s.must(t, 200, "POST", "/v2/apps/"+id+"/rotate", `{"graceSeconds":3600}`).str(t, "key")
		s.must(t, 204, "DELETE", "/v2/apps/"+id, "")
		checkEqual(t, "revoked, grace or not", [2]bool{false, false}, [2]bool{works(s, third), works(s, fourth)})
		for _, target := range []string{"/v2/apps/" + id, "/v2/apps/abc"} {
			checkEqual(t, target, "App not found", s.must(t, 404, "GET", target, "").str(t, "message"))
		}
		s.must(t, 404, "POST", "/v2/apps/"+id+"/rotate", "")
		checkEqual(t, "list", []any{s.first.ID.String()}, s.must(t, 200, "GET", "/v2/apps", "").column(t, "id"))
	})
}

func TestSiteKeyNeverWritesNorListsWorkspaceThings(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, key := s.newSite(t)
		for _, target := range []string{"/v2/sites", "/v2/apps", "/v2/workspace", "/v2/apps/" + s.first.ID.String()} {
			s.mustAs(t, key, 403, "GET", target, "")
		}
		s.mustAs(t, key, 403, "PATCH", "/v2/sites/"+siteID, `{}`)
	})
}
