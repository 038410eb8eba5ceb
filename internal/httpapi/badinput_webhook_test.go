package httpapi_test

import (
	"slices"
	"strings"
	"testing"
)

// addWebhooks makes webhooks and deliveries of every kind, before a site is deleted.
func (w *hostileWorld) addWebhooks(t *testing.T) {
	t.Helper()
	made := func(s *system, name, body string) {
		t.Helper()
		webhook := s.must(t, 201, "POST", "/v2/webhooks", body).str(t, "id")
		w.values["{"+name+"Webhook}"] = webhook
		w.values["{"+name+"Delivery}"] = s.must(t, 202, "POST", "/v2/webhooks/"+webhook+"/test", "").str(t, "id")
	}
	made(w.system, "", `{"url":"https://example.com/"}`)
	made(w.system, "off", `{"url":"https://example.com/","isEnabled":false}`)
	made(w.system, "deleted", `{"url":"https://example.com/"}`)
	w.must(t, 204, "DELETE", "/v2/webhooks/"+w.values["{deletedWebhook}"], "")
	own := *w.system
	own.key = w.values["{foreignKey}"]
	made(&own, "foreign", `{"url":"https://example.com/"}`)
}

var hostileWebhooks = slices.Concat(
	webhookField("url", `null`, `""`, `1`, `"example.com"`, `"//example.com/"`, `"/hooks"`, `"https://"`, `"https:///hooks"`, `"https:example.com"`, `"ftp://example.com/"`,
		`"javascript:alert(1)"`, `"data:text/plain,x"`, `"file:///etc/passwd"`, `"gopher://example.com/"`, `"HTTPS//example.com"`, `"https://user@example.com/"`,
		`"https://user:secret@example.com/"`, `"https://@example.com/"`, `"https://example.com/#"`, `"https://example.com/#part"`, `"https://example.com/a b"`, `" https://example.com/"`,
		`"https://example.com/\r\nX-Evil: 1"`, `"https://example.com/\u0000"`, `"https://example.com/%zz"`, `"https://example.com:0/"`, `"https://example.com:99999/"`, `"https://example.com:/"`,
		`"https://example.com:x/"`, `"https://[::1/"`, `"https://example.com/`+strings.Repeat("x", 2048)+`"`, `["https://example.com/"]`, `{}`),
	webhookField("types", `[]`, `"page.created"`, `{}`, `[1]`, `[null]`, `[""]`, `["page"]`, `["page.*"]`, `["*"]`, `["Page.created"]`, `["page.created "]`, `["webhook.test"]`, `["page.created","page.made"]`, `["route.restored"]`),
	webhookField("siteIds", `[]`, `"{site}"`, `[1]`, `["abc"]`, `[null]`, `["{site} "]`, `{}`),
	webhookField("description", `1`, `"\u0000"`, `"`+strings.Repeat("x", 2049)+`"`, `[]`),
	webhookField("isEnabled", `null`, `"true"`, `1`, `[]`),
	webhookField("id", `"{unknown}"`), webhookField("secret", `"whsec_x"`), webhookField("disabledReason", `null`), webhookField("workspaceId", `"{unknown}"`), webhookField("URL", `"https://example.com/"`),
	eachRaw(hostile{name: "sites", method: "POST", target: "/v2/webhooks", body: `{"url":"https://example.com/","siteIds":[%s]}`, status: 404, message: "Site not found"}, `"{unknown}"`, `"{nil}"`, `"{gone}"`, `"{site}","{unknown}"`, `"{about}"`),
	eachRaw(hostile{name: "foreign site", method: "POST", target: "/v2/webhooks", body: `{"url":"https://example.com/","siteIds":[%s]}`, status: 403}, `"{foreign}"`, `"{site}","{foreign}"`),
	eachRaw(hostile{name: "foreign site", method: "PATCH", target: "/v2/webhooks/{Webhook}", body: `{"siteIds":[%s]}`, status: 403}, `"{foreign}"`),
	eachRaw(hostile{name: "grace", method: "POST", target: "/v2/webhooks/{Webhook}/rotate-secret", body: `{"graceSeconds":%s}`, status: 400, fields: []string{"graceSeconds"}}, `null`, `-1`, `2592001`, `1.5`, `"60"`, `true`, `1e400`),
	eachRaw(hostile{name: "since", method: "POST", target: "/v2/webhooks/{Webhook}/replay", body: `{"since":%s}`, status: 400, fields: []string{"since"}}, `null`, `""`, `1`, `"yesterday"`, `"2026-01-01"`, `"2026-13-01T00:00:00Z"`, `"2026-01-01T00:00:00"`, `[]`),
	[]hostile{
		{name: "nothing given", method: "POST", target: "/v2/webhooks", body: `{}`, status: 400, fields: []string{"url"}},
		{name: "everything wrong", method: "POST", target: "/v2/webhooks", body: `{"url":"x","types":[],"siteIds":[],"description":1,"isEnabled":null,"x":1}`, status: 400,
			fields: []string{"description", "isEnabled", "siteIds", "types", "url", "x"}},
		{name: "query on a POST", method: "POST", target: "/v2/webhooks?siteId={site}", body: `{"url":"https://example.com/"}`, status: 400, fields: []string{"siteId"}},
		{name: "query on a list", target: "/v2/webhooks?siteId={site}", status: 400, fields: []string{"siteId"}},
		{name: "replay without a time", method: "POST", target: "/v2/webhooks/{Webhook}/replay", status: 400, fields: []string{"body"}},
		{name: "replay with nothing", method: "POST", target: "/v2/webhooks/{Webhook}/replay", body: `{}`, status: 400, fields: []string{"since"}},
		{name: "replay while disabled", method: "POST", target: "/v2/webhooks/{offWebhook}/replay", body: `{"since":"2026-01-01T00:00:00Z"}`, status: 409},
		{name: "test with a field", method: "POST", target: "/v2/webhooks/{Webhook}/test", body: `{"url":"https://evil.example.com/"}`, status: 400, fields: []string{"url"}},
		{name: "redeliver with a field", method: "POST", target: "/v2/deliveries/{Delivery}/redeliver", body: `{"x":1}`, status: 400, fields: []string{"x"}},
		{name: "bad status", target: "/v2/webhooks/{Webhook}/deliveries?status=Pending", status: 400, fields: []string{"status"}},
		{name: "empty status", target: "/v2/webhooks/{Webhook}/deliveries?status=", status: 400, fields: []string{"status"}},
		{name: "two statuses", target: "/v2/webhooks/{Webhook}/deliveries?status=pending,failed", status: 400, fields: []string{"status"}},
		{name: "status twice", target: "/v2/webhooks/{Webhook}/deliveries?status=pending&status=failed", status: 400, fields: []string{"status"}},
		{name: "limit of deliveries", target: "/v2/webhooks/{Webhook}/deliveries?limit=0", status: 400, fields: []string{"limit"}},
		{name: "cursor of another list", target: "/v2/webhooks/{Webhook}/deliveries?startingAfter={about}", status: 400, fields: []string{"startingAfter"}},
		{name: "cursor of another webhook", target: "/v2/webhooks/{Webhook}/deliveries?startingAfter={offDelivery}", status: 400, fields: []string{"startingAfter"}},
		{name: "cursor of webhooks", target: "/v2/webhooks?startingAfter={about}", status: 400, fields: []string{"startingAfter"}},
		{name: "foreign cursor", target: "/v2/webhooks?startingAfter={foreignWebhook}", status: 400, fields: []string{"startingAfter"}},
		{name: "deleted cursor", target: "/v2/webhooks?startingAfter={deletedWebhook}", status: 200},
		{name: "no id", target: "/v2/webhooks/abc", status: 404, message: "Webhook not found"},
		{name: "id of a page", target: "/v2/webhooks/{about}", status: 404, message: "Webhook not found"},
		{name: "deleted", target: "/v2/webhooks/{deletedWebhook}", status: 404, message: "Webhook not found"},
		{name: "delete twice", method: "DELETE", target: "/v2/webhooks/{deletedWebhook}", status: 404, message: "Webhook not found"},
		{name: "foreign", target: "/v2/webhooks/{foreignWebhook}", status: 403},
		{name: "foreign, with a bad body", method: "PATCH", target: "/v2/webhooks/{foreignWebhook}", body: `{"url":1}`, status: 403},
		{name: "deliveries of a foreign one", target: "/v2/webhooks/{foreignWebhook}/deliveries", status: 403},
		{name: "no delivery", target: "/v2/deliveries/abc", status: 404, message: "Delivery not found"},
		{name: "delivery of a deleted webhook", target: "/v2/deliveries/{deletedDelivery}", status: 404, message: "Delivery not found"},
		{name: "foreign delivery", target: "/v2/deliveries/{foreignDelivery}", status: 403},
		{name: "foreign delivery again", method: "POST", target: "/v2/deliveries/{foreignDelivery}/redeliver", status: 403},
		{name: "list of all deliveries", target: "/v2/deliveries", status: 404},
		{name: "change of a delivery", method: "PATCH", target: "/v2/deliveries/{Delivery}", body: `{}`, status: 405, header: "Allow: GET, HEAD"},
		{name: "reader", as: "{readerKey}", method: "GET", target: "/v2/webhooks", status: 403},
		{name: "stale match", method: "PATCH", target: "/v2/webhooks/{Webhook}", headers: []string{"If-Match", `"x"`}, body: `{"isEnabled":false}`, status: 412},
		{name: "nothing changes", method: "PATCH", target: "/v2/webhooks/{Webhook}", body: `{}`, status: 200, unchanged: true},
		{name: "the same again", method: "PATCH", target: "/v2/webhooks/{Webhook}", body: `{"url":"https://example.com/","types":null,"isEnabled":true}`, status: 200, unchanged: true},
	},
)

// webhookField are values of one field of a webhook, as they are in JSON.
func webhookField(name string, values ...string) []hostile {
	first := `"url":"https://example.com/",`
	if name == "url" {
		first = ""
	}
	return slices.Concat(
		eachRaw(hostile{name: name, method: "POST", target: "/v2/webhooks", body: `{` + first + `"` + name + `":%s}`, status: 400, fields: []string{name}}, values...),
		eachRaw(hostile{name: name, method: "PATCH", target: "/v2/webhooks/{Webhook}", body: `{"` + name + `":%s}`, status: 400, fields: []string{name}}, values...),
	)
}
