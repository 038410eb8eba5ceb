package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

func redirectBatchBody(siteID string, operations ...string) string {
	return fmt.Sprintf(`{"siteId":%q,"operations":[%s]}`, siteID, strings.Join(operations, ","))
}

func TestRedirectBatch(t *testing.T) {
	const address = "/v2/redirects/batch"
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		s.newLocale(t, siteID, "fr")
		made := s.must(t, 200, "POST", address, redirectBatchBody(siteID,
			`{"op":"create","source":"/a","target":"/x"}`, `{"op":"create","source":"/b","target":"/y","locale":"fr","status":302}`, `{"op":"create","source":"/c/*","target":"/z/*"}`))
		checkEqual(t, "created", []string{"/a -> /x", "fr: /b -> /y", "/c/* -> /z/*"}, s.redirects(t, siteID, ""))
		first := made.json(t)["results"].([]any)[0].(map[string]any)["id"].(string)
		// Two swap their sources, one is named by source and locale.
		other := s.newRedirect(t, siteID, "/d", "/w")
		swapped := s.must(t, 200, "POST", address, redirectBatchBody(siteID,
			`{"op":"update","redirectId":"`+first+`","source":"/d"}`, `{"op":"update","redirectId":"`+other+`","source":"/a","locale":"fr"}`,
			`{"op":"update","source":"/b","locale":"fr","target":"/v"}`, `{"op":"delete","source":"/c/*"}`))
		checkEqual(t, "swapped", []string{"fr: /a -> /w", "fr: /b -> /v", "/d -> /x"}, s.redirects(t, siteID, ""))
		checkEqual(t, "deleted", any(true), swapped.json(t)["results"].([]any)[3].(map[string]any)["deleted"])

		s.newPage(t, siteID, "/page")
		for want, operations := range map[string][]string{
			"400 operations[0].source operations[1].target operations[2].redirectId operations[3].op operations[4].status operations[5].target": {
				`{"op":"create","source":"/a?b","target":"/x"}`, `{"op":"create","source":"/n","target":"javascript:alert(1)"}`, `{"op":"update","target":"/x"}`,
				`{"op":"move","redirectId":"` + first + `"}`, `{"op":"update","redirectId":"` + first + `","status":200}`, `{"op":"update","redirectId":"` + first + `","target":"/x/*"}`,
			},
			"400 operations[0].redirectId operations[0].target operations[1].target operations[2].source": {
				`{"op":"create","redirectId":"` + first + `","source":"/n"}`, `{"op":"delete","redirectId":"` + first + `","target":"/x"}`, `{"op":"delete","redirectId":"` + first + `","source":"/x"}`,
			},
			"404 operations[0].redirectId operations[1].source operations[2].source operations[3].locale": {
				`{"op":"delete","redirectId":"` + siteID + `"}`, `{"op":"delete","source":"/nowhere"}`, `{"op":"delete","source":"/b"}`, `{"op":"create","source":"/n","target":"/m","locale":"de"}`,
			},
			"409 operations[0].source operations[1].source operations[3].source": {
				`{"op":"create","source":"/page","target":"/x"}`, `{"op":"create","source":"/d","target":"/x"}`,
				`{"op":"create","source":"/n/*","target":"/x"}`, `{"op":"create","source":"/n/*","target":"/y"}`,
			},
			"409 operations[1].target": {`{"op":"create","source":"/1","target":"/2"}`, `{"op":"create","source":"/2","target":"/1"}`},
		} {
			r := s.call(t, "POST", address, redirectBatchBody(siteID, operations...))
			checkEqual(t, want, want, fmt.Sprint(r.status, " ", strings.Join(r.fields(t), " ")))
		}
		checkEqual(t, "nothing changed", []string{"fr: /a -> /w", "fr: /b -> /v", "/d -> /x"}, s.redirects(t, siteID, ""))
		s.must(t, 400, "POST", address, redirectBatchBody(siteID))
		s.must(t, 400, "POST", address, `{"siteId":"`+siteID+`","operations":[3]}`)
	})
}

func TestRedirectBatchOfAThousand(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		operations := make([]string, 1000)
		for i := range operations {
			operations[i] = fmt.Sprintf(`{"op":"create","source":"/old/%d","target":"/old/%d"}`, i, i+1)
		}
		s.must(t, 200, "POST", "/v2/redirects/batch", redirectBatchBody(siteID, operations...))
		r := s.must(t, 409, "POST", "/v2/redirects", redirectBody(siteID, "/old/1000", "/old/0"))
		if !strings.HasPrefix(r.str(t, "message"), "Following redirects would come round again: /old/1000 -> /old/0 -> /old/1") {
			t.Error(r.str(t, "message"))
		}
		s.publish(t, siteID, "")
		checkEqual(t, "nothing is left", []string{}, s.changes(t, siteID))
	})
}
