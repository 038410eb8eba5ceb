package httpapi_test

import (
	"slices"
	"strings"
	"testing"
)

// addPreviews makes previews of every kind, before a site is deleted.
func (w *hostileWorld) addPreviews(t *testing.T) {
	t.Helper()
	made := func(s *system, body string) reply {
		return s.must(t, 201, "POST", "/v2/previews", w.fill(hostile{body: body}).body)
	}
	for name, body := range map[string]string{
		"": `{"siteId":"{site}"}`, "about": `{"siteId":"{site}","pathPrefix":"/about"}`, "other": `{"siteId":"{other}"}`,
		"gone": `{"siteId":"{gone}"}`, "revoked": `{"siteId":"{site}"}`,
	} {
		r := made(w.system, body)
		w.values["{"+name+"Preview}"], w.values["{"+name+"Token}"] = r.str(t, "id"), r.str(t, "token")
	}
	w.must(t, 204, "DELETE", "/v2/previews/"+w.values["{revokedPreview}"], "")
	w.values["{expiredToken}"] = w.expiredToken(t, w.values["{site}"])
	own := *w.system
	own.key = w.values["{foreignKey}"]
	r := made(&own, `{"siteId":"{foreign}"}`)
	w.values["{foreignPreview}"], w.values["{foreignToken}"] = r.str(t, "id"), r.str(t, "token")
	token := w.values["{Token}"]
	w.values["{cutToken}"], w.values["{asAppKey}"] = token[:len(token)-1], "sk_"+token[3:]
	w.values["{asToken}"] = "pv_" + w.key[3:]
}

var hostilePreviews = slices.Concat(
	[]hostile{{name: "no token", as: "-", target: "/v2/me", status: 401}},
	tokens(401, "/v2/me", "{cutToken}", "{asAppKey}", "{asToken}", "{expiredToken}", "{revokedToken}", "{goneToken}", "pv_", "PV_x", "{Token}x", "{Token},{Token}", "Bearer {Token}"),
	tokens(403, "/v2/sites/{site}", "{otherToken}", "{foreignToken}"),
	tokens(403, "/v6/pages/{about}", "{otherToken}", "{foreignToken}"),
	tokens(403, "/v6/pages/about?siteId={site}", "{otherToken}", "{foreignToken}"),
	tokens(403, "/v6/pages/{home}", "{aboutToken}"),
	tokens(403, "/v6/pages/%2F?siteId={site}", "{aboutToken}"),
	tokens(403, "/v6/pages?siteId={site}&pathPrefix=/a/", "{aboutToken}"),
	tokens(404, "/v6/pages/{unknown}", "{Token}", "{aboutToken}"),
	tokens(404, "/v6/pages/{deleted}", "{Token}", "{aboutToken}"),
	tokens(404, "/v6/pages/about?siteId={unknown}", "{Token}"),
	tokens(404, "/v6/pages/home?siteId={unknown}", "{aboutToken}"),
	tokens(404, "/v6/pages/{about}?locale=it", "{Token}"),
	tokens(403, "/v6/pages/{about}?versionRef=ref:live", "{Token}"),
	tokens(403, "/v6/pages/{about}?versionRef=publish:{unknown}", "{Token}"),
	tokens(403, "/v2/resolve?siteId={site}&url=/about/../", "{aboutToken}"),
	tokens(403, "/v2/resolve?siteId={site}&url=/about%252F..", "{aboutToken}"),
	tokens(403, "/v2/resolve?siteId={site}&url=//evil.example.com/about", "{aboutToken}"),
	tokens(403, "/v2/resolve?siteId={site}&url=/aboutx", "{aboutToken}"),
	tokens(404, "/v2/resolve?url=https://nowhere.example.com/about", "{aboutToken}"),
	tokens(400, "/v2/resolve?url=/about", "{aboutToken}"),
	previewField("siteId", 400, `null`, `1`, `"abc"`, `"{site} "`, `["{site}"]`),
	previewField("siteId", 404, `"{unknown}"`, `"{nil}"`, `"{gone}"`),
	previewField("siteId", 403, `"{foreign}"`),
	previewField("name", 400, `""`, `" "`, `1`, `"\u0000"`, `"`+strings.Repeat("x", 256)+`"`),
	previewField("versionRef", 400, `null`, `""`, `"ref:live"`, `"draft"`, `"publish:"`, `"publish:abc"`, `"publish:{site}x"`, `"PUBLISH:{site}"`, `" ref:draft"`, `1`),
	previewField("versionRef", 404, `"publish:{unknown}"`, `"publish:{nil}"`, `"publish:{site}"`),
	previewField("locale", 400, `""`, `"fr_FR"`, `"../x"`, `1`, `"fr,de"`),
	previewField("locale", 404, `"it"`, `"{unknown}"`, `"{site}"`),
	previewField("pathPrefix", 400, `null`, `""`, `"/a//b"`, `"/.."`, `"/a?x"`, `"/a#x"`, `"/a\\b"`, `"/%00"`, `"/%2F"`, `"\u0000"`, `"/`+strings.Repeat("x", 2048)+`"`, `1`),
	previewField("expiresInSeconds", 400, `null`, `0`, `-1`, `7776001`, `1.5`, `"60"`, `1e400`, `9223372036854775808`, `true`),
	previewField("token", 400, `"pv_mine"`), previewField("url", 400, `"https://example.com"`), previewField("expiresAt", 400, `"2030-01-01T00:00:00Z"`),
	templates(`""`, `"/p{pathname}"`, `"example.com{pathname}"`, `"ftp://example.com/{token}"`, `"javascript:alert({token})"`, `"//example.com{pathname}"`, `"https://"`,
		`"https://example.com/{path}"`, `"https://example.com/{}"`, `"https://example.com/{token"`, `"https://example.com/token}"`, `"https://example.com/{{token}}"`,
		`"https://example.com/{TOKEN}"`, `"https://example.com/{ token }"`, `"https://{token}.example.com/"`, `"https://{token}@example.com/"`, `"https://x:{token}@example.com/"`,
		`"{pathname}"`, `"https:{pathname}"`, `"https://example.com/a b"`, `"https://example.com/\r\n{token}"`, `"https://example.com/\u0000"`, `"https://example.com/%zz"`,
		`"https://example.com/`+strings.Repeat("x", 2048)+`"`, `1`, `["https://example.com"]`),
	[]hostile{
		{name: "nothing given", method: "POST", target: "/v2/previews", body: `{}`, status: 400, fields: []string{"siteId"}},
		{name: "everything wrong", method: "POST", target: "/v2/previews", body: `{"siteId":1,"name":"","versionRef":"x","locale":"_","pathPrefix":"","expiresInSeconds":0,"x":1}`, status: 400,
			fields: []string{"expiresInSeconds", "locale", "name", "pathPrefix", "siteId", "versionRef", "x"}},
		{name: "query on a POST", method: "POST", target: "/v2/previews?siteId={site}", body: `{"siteId":"{site}"}`, status: 400, fields: []string{"siteId"}},
		{name: "list without a site", target: "/v2/previews", status: 400, fields: []string{"siteId"}},
		{name: "list of an unknown site", target: "/v2/previews?siteId={unknown}", status: 404, message: "Site not found"},
		{name: "list of a foreign site", target: "/v2/previews?siteId={foreign}", status: 403},
		{name: "cursor of another list", target: "/v2/previews?siteId={site}&startingAfter={about}", status: 400, fields: []string{"startingAfter"}},
		{name: "cursor of another site", target: "/v2/previews?siteId={site}&startingAfter={otherPreview}", status: 400, fields: []string{"startingAfter"}},
		{name: "deleted cursor", target: "/v2/previews?siteId={site}&startingAfter={revokedPreview}", status: 200},
		{name: "no id", target: "/v2/previews/abc", status: 404, message: "Preview not found"},
		{name: "token as an id", target: "/v2/previews/{Token}", status: 404, message: "Preview not found"},
		{name: "id of a page", target: "/v2/previews/{about}", status: 404, message: "Preview not found"},
		{name: "deleted", target: "/v2/previews/{revokedPreview}", status: 404, message: "Preview not found"},
		{name: "of a deleted site", target: "/v2/previews/{gonePreview}", status: 404, message: "Preview not found"},
		{name: "foreign", target: "/v2/previews/{foreignPreview}", status: 403},
		{name: "delete a foreign one", method: "DELETE", target: "/v2/previews/{foreignPreview}", status: 403},
		{name: "delete twice", method: "DELETE", target: "/v2/previews/{revokedPreview}", status: 404, message: "Preview not found"},
		{name: "change", method: "PATCH", target: "/v2/previews/{Preview}", body: `{}`, status: 405, header: "Allow: DELETE, GET, HEAD"},
		{name: "reader", as: "{readerKey}", method: "POST", target: "/v2/previews", body: `{"siteId":"{site}"}`, status: 403},
		{name: "preview of a preview", as: "{Token}", method: "POST", target: "/v2/previews", body: `{"siteId":"{site}"}`, status: 403},
		{name: "preview that writes", as: "{Token}", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"Mine"}`, status: 403},
		{name: "preview that reads itself", as: "{Token}", target: "/v2/previews/{Preview}", status: 403},
		{name: "preview and its runtime", as: "{Token}", target: "/v5/pages", status: 403},
		{name: "token in both headers", as: "{Token}", target: "/v2/me", headers: []string{"Authorization", "Bearer {Token}"}, status: 400, fields: []string{"authorization"}},
		{name: "parameters of the credential", target: "/v2/me?siteId={site}", status: 400, fields: []string{"siteId"}},
		{name: "template that is kept", method: "PATCH", target: "/v2/sites/{site}", body: `{"previewUrlTemplate":"http://{locale}.example.com:3000{pathname}?a={token}&b={token}#{pathname}"}`, status: 200, shows: `{pathname}?a={token}&b={token}#{pathname}`},
		{name: "template that is taken away", method: "PATCH", target: "/v2/sites/{site}", body: `{"previewUrlTemplate":null}`, status: 200, shows: `"previewUrlTemplate":null`},
	},
)

// tokens are requests with different tokens for one address.
func tokens(status int, target string, values ...string) []hostile {
	cases := make([]hostile, len(values))
	for i, token := range values {
		cases[i] = hostile{name: target + " with " + token, as: token, target: target, status: status}
		if status == 400 {
			cases[i].fields = []string{"url"}
		}
	}
	return cases
}

// previewField are values of one field of a new preview, as they are in JSON.
func previewField(name string, status int, values ...string) []hostile {
	c := hostile{name: name, method: "POST", target: "/v2/previews", body: `{"siteId":"{site}","` + name + `":%s}`, status: status}
	if name == "siteId" {
		c.body = `{"siteId":%s}`
	}
	if status == 400 {
		c.fields = []string{name}
	}
	return eachRaw(c, values...)
}

func templates(values ...string) []hostile {
	return slices.Concat(
		eachRaw(hostile{name: "template", method: "POST", target: "/v2/sites", body: `{"name":"x","previewUrlTemplate":%s}`, status: 400, fields: []string{"previewUrlTemplate"}}, values...),
		eachRaw(hostile{name: "template", method: "PATCH", target: "/v2/sites/{site}", body: `{"previewUrlTemplate":%s}`, status: 400, fields: []string{"previewUrlTemplate"}}, values...),
	)
}
