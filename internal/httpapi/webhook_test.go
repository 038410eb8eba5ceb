package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

const hookURL = `"url":"https://www.example.com/hooks"`

func TestWebhookIsManaged(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		made := s.must(t, 201, "POST", "/v2/webhooks", `{`+hookURL+`}`)
		address := "/v2/webhooks/" + made.str(t, "id")
		if secret := made.str(t, "secret"); made.header.Get("Location") != address || !strings.HasPrefix(secret, "whsec_") || len(secret) != len("whsec_")+32 {
			t.Errorf("made %s at %s", made.body, made.header.Get("Location"))
		}
		got := s.must(t, 200, "GET", address, "")
		if strings.Contains(string(got.body), "whsec_") || got.json(t)["isEnabled"] != true {
			t.Errorf("got %s", got.body)
		}
		tag := got.header.Get("ETag")
		s.must(t, 304, "GET", address, "", "If-None-Match", tag)
		changed := s.must(t, 200, "PATCH", address, `{"types":["page.created","page.created","app.created"],"isEnabled":false,"description":"Mine"}`, "If-Match", tag)
		if types := fmt.Sprint(changed.json(t)["types"]); types != "[page.created app.created]" || changed.json(t)["disabledReason"] != nil {
			t.Errorf("changed to %s", changed.body)
		}
		s.must(t, 412, "DELETE", address, "", "If-Match", tag)
		rotated := s.must(t, 200, "POST", address+"/rotate-secret", "")
		if rotated.str(t, "secret") == made.str(t, "secret") || rotated.header.Get("Cache-Control") != "no-store" {
			t.Errorf("rotated to %s", rotated.body)
		}
		s.must(t, 204, "DELETE", address, "")
		s.must(t, 404, "GET", address, "")
		types := []string{}
		for _, e := range s.events(t, "types=webhook.created,webhook.updated,webhook.deleted") {
			types = append(types, fmt.Sprint(e.Type, e.ChangedFields))
			if data := fmt.Sprint(e.Data); strings.Contains(data, "whsec_") || strings.Contains(data, "secret") {
				t.Errorf("a secret is in %v", e)
			}
		}
		want := "[webhook.created[] webhook.updated[types description isEnabled] webhook.updated[secret] webhook.deleted[]]"
		if fmt.Sprint(types) != want {
			t.Errorf("the events are %v, want %s", types, want)
		}
	})
}

// An app restricted to sites sees and makes only webhooks within them.
func TestWebhooksOfAnAppRestrictedToSites(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		mine, _ := s.newSite(t)
		second, _ := s.newSite(t)
		other, _ := s.newSite(t)
		key := s.must(t, 201, "POST", "/v2/apps", `{"name":"Restricted","siteIds":["`+mine+`","`+second+`"]}`).str(t, "key")
		restricted := *s
		restricted.key = key
		sites := func(ids ...string) string {
			return `{` + hookURL + `,"siteIds":["` + strings.Join(ids, `","`) + `"]}`
		}
		for body, status := range map[string]int{
			sites(mine): 201, sites(second, mine): 201, sites(other): 403, sites(mine, other): 403, `{` + hookURL + `}`: 403, `{` + hookURL + `,"siteIds":null}`: 403,
		} {
			restricted.must(t, status, "POST", "/v2/webhooks", body)
		}
		all := s.must(t, 201, "POST", "/v2/webhooks", `{`+hookURL+`}`).str(t, "id")
		wide := s.must(t, 201, "POST", "/v2/webhooks", sites(mine, other)).str(t, "id")
		list, _ := restricted.must(t, 200, "GET", "/v2/webhooks", "").json(t)["data"].([]any)
		if len(list) != 2 {
			t.Errorf("it sees %v", list)
		}
		for _, id := range []string{all, wide} {
			for method, body := range map[string]string{"GET": "", "PATCH": `{"isEnabled":false}`, "DELETE": ""} {
				restricted.must(t, 403, method, "/v2/webhooks/"+id, body)
			}
			restricted.must(t, 403, "GET", "/v2/webhooks/"+id+"/deliveries", "")
			restricted.must(t, 403, "POST", "/v2/webhooks/"+id+"/test", "")
			delivery := s.must(t, 202, "POST", "/v2/webhooks/"+id+"/test", "").str(t, "id")
			restricted.must(t, 403, "GET", "/v2/deliveries/"+delivery, "")
			restricted.must(t, 400, "GET", "/v2/webhooks?startingAfter="+id, "")
		}
		within := restricted.must(t, 201, "POST", "/v2/webhooks", sites(mine)).str(t, "id")
		restricted.must(t, 403, "PATCH", "/v2/webhooks/"+within, `{"siteIds":null}`)
		restricted.must(t, 403, "PATCH", "/v2/webhooks/"+within, `{"siteIds":["`+other+`"]}`)
		restricted.must(t, 200, "PATCH", "/v2/webhooks/"+within, `{"siteIds":["`+second+`"]}`)
		// A repeated request is answered only while the right lasts.
		once := []string{"Idempotency-Key", "once"}
		app := s.must(t, 201, "POST", "/v2/apps", `{"name":"Shrinking","siteIds":["`+mine+`","`+second+`"]}`)
		shrinking := *s
		shrinking.key = app.str(t, "key")
		first := shrinking.must(t, 201, "POST", "/v2/webhooks", sites(second), once...)
		if again := shrinking.must(t, 201, "POST", "/v2/webhooks", sites(second), once...); string(again.body) != string(first.body) {
			t.Errorf("repeated as %s", again.body)
		}
		s.must(t, 200, "PATCH", "/v2/apps/"+app.str(t, "id"), `{"siteIds":["`+mine+`"]}`)
		shrinking.must(t, 403, "POST", "/v2/webhooks", sites(second), once...)
	})
}

func TestWebhooksAreLimited(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		var last string
		for range 100 {
			last = s.must(t, 201, "POST", "/v2/webhooks", `{`+hookURL+`}`).str(t, "id")
		}
		s.must(t, 409, "POST", "/v2/webhooks", `{`+hookURL+`}`)
		s.must(t, 204, "DELETE", "/v2/webhooks/"+last, "")
		s.must(t, 201, "POST", "/v2/webhooks", `{`+hookURL+`}`)
	})
}
