package httpapi_test

import (
	"testing"
)

// An admin that is itself restricted may manage those below it, and lift none
// of them, nor itself, above where it stands.
func TestAppLiftsNoOtherAboveItself(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		mine, _ := s.newSite(t)
		other, _ := s.newSite(t)
		foreign, _ := freshWorkspace(t, s).newSite(t)
		admin, adminKey := s.newApp(t, `{"name":"Local admin","scopes":["read","admin"],"siteIds":["`+mine+`"]}`)
		below := s.mustAs(t, adminKey, 201, "POST", "/v2/apps", `{"name":"Below","scopes":["read"]}`).str(t, "id")
		beside, _ := s.newApp(t, `{"name":"Beside","scopes":["read"],"siteIds":["`+other+`"]}`)
		above, _ := s.newApp(t, `{"name":"Above","scopes":["publish"],"siteIds":["`+mine+`"]}`)

		before := string(s.must(t, 200, "GET", "/v2/apps", "").body)
		for _, app := range []string{admin, below, beside, above} {
			for _, body := range []string{
				`{"scopes":["read","write"]}`, `{"scopes":["publish"]}`, `{"scopes":["read","write","publish","admin"]}`,
				`{"siteIds":null}`, `{"siteIds":["` + other + `"]}`, `{"siteIds":["` + mine + `","` + other + `"]}`, `{"siteIds":["` + foreign + `"]}`,
			} {
				s.mustAs(t, adminKey, 403, "PATCH", "/v2/apps/"+app, body)
			}
		}
		// Not even lowered, renamed, ended or given a key that it could use.
		for _, app := range []string{beside, above} {
			s.mustAs(t, adminKey, 403, "PATCH", "/v2/apps/"+app, `{"scopes":["read"],"siteIds":["`+mine+`"]}`)
			s.mustAs(t, adminKey, 403, "PATCH", "/v2/apps/"+app, `{"expiresAt":null}`)
			s.mustAs(t, adminKey, 403, "POST", "/v2/apps/"+app+"/rotate", `{"graceSeconds":60}`)
			s.mustAs(t, adminKey, 403, "DELETE", "/v2/apps/"+app, "")
		}
		checkEqual(t, "apps", before, string(s.must(t, 200, "GET", "/v2/apps", "").body))

		s.mustAs(t, adminKey, 200, "PATCH", "/v2/apps/"+below, `{"name":"Renamed","scopes":["admin"]}`)
		s.mustAs(t, adminKey, 200, "POST", "/v2/apps/"+below+"/rotate", "")
		s.mustAs(t, adminKey, 204, "DELETE", "/v2/apps/"+below, "")
	})
}

// An app may outlive its sites: it is managed all the same, unless a site that
// is gone is named.
func TestAppsOfADeletedSiteAreManaged(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		admin, adminKey := s.newApp(t, `{"name":"Admin","siteIds":["`+site+`"]}`)
		s.must(t, 204, "DELETE", "/v2/sites/"+site, "")
		s.must(t, 200, "PATCH", "/v2/apps/"+admin, `{"scopes":["read","admin"]}`)
		made := s.mustAs(t, adminKey, 201, "POST", "/v2/apps", `{"name":"Heir"}`).json(t)
		checkEqual(t, "heir's sites", any([]any{site}), made["siteIds"])
		s.must(t, 404, "PATCH", "/v2/apps/"+admin, `{"siteIds":["`+site+`"]}`)
		s.must(t, 404, "POST", "/v2/apps", `{"name":"x","siteIds":["`+site+`"]}`)
	})
}

// What an app gives away it does not get back by itself.
func TestAppThatGaveUpAScopeCannotTakeItBack(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		mine, _ := s.newSite(t)
		id, key := s.newApp(t, `{"name":"Modest"}`)
		s.mustAs(t, key, 200, "PATCH", "/v2/apps/"+id, `{"scopes":["admin"],"siteIds":["`+mine+`"]}`)
		s.mustAs(t, key, 403, "PATCH", "/v2/apps/"+id, `{"scopes":["read","admin"]}`)
		s.mustAs(t, key, 403, "PATCH", "/v2/apps/"+id, `{"siteIds":null}`)
		s.mustAs(t, key, 403, "POST", "/v2/apps", `{"name":"x","scopes":["read"]}`)
		s.mustAs(t, key, 403, "GET", "/v2/sites/"+mine, "")
		made := s.mustAs(t, key, 201, "POST", "/v2/apps", `{"name":"Heir"}`).json(t)
		checkEqual(t, "heir's scopes", any([]any{"admin"}), made["scopes"])
		checkEqual(t, "heir's sites", any([]any{mine}), made["siteIds"])
	})
}
