package httpapi_test

import (
	"slices"
	"strings"
)

// badTargets are targets of redirects that are refused, beside those that are no
// pathname.
var badTargets = []string{
	`"javascript:alert(1)"`, `"JavaScript:alert(1)"`, `"data:text/html,x"`, `"mailto:a@example.com"`, `"ftp://example.com"`, `"//evil.example"`, `"\\\\evil.example"`, `"/\\evil.example"`,
	`"https:\\\\evil.example"`, `"https://"`, `"https:/a"`, `"https://a b"`, `"https://a/\u0000"`, `"https://a/\r\nX-Evil: 1"`, `"/a\r\nX-Evil: 1"`, `"/a\nb"`, `"https://user:pw@example.com"`,
	`"/a?b=1"`, `"/a#b"`, `"/a*"`, `"/*/a"`, `"https://example.com/*/a"`, `"/a/*"`, `"https://example.com/*"`, `"https://example.com/` + strings.Repeat("a", 2048) + `"`,
	`""`, "null", "1", "[]", "{}",
}

var badSources = append([]string{`"/a?b=1"`, `"/a#b"`, `"/a*"`, `"/*/a"`, `"/a/*/b"`, `"/**"`, `"/a\r\nb"`, `"/a%0D%0Ab"`, "null", "1", "[]"}, badPathnames...)

func hostileRedirect(name, body string, field ...string) hostile {
	return hostile{name: "redirect " + name, method: "POST", target: "/v2/redirects", body: body, status: 400, fields: field}
}

var hostileRedirects = slices.Concat(
	eachRaw(hostileRedirect("target", `{"siteId":"{site}","source":"/from","target":%s}`, "target"), badTargets...),
	eachRaw(hostileRedirect("source", `{"siteId":"{site}","source":%s,"target":"/to"}`, "source"), badSources...),
	eachRaw(hostileRedirect("status", `{"siteId":"{site}","source":"/from","target":"/to","status":%s}`, "status"), "200", "300", "303", "304", "0", "-308", "308.5", `"308"`, "null", "1e309", strings.Repeat("3", 400)),
	eachRaw(hostileRedirect("locale", `{"siteId":"{site}","source":"/from","target":"/to","locale":%s}`, "locale"), `""`, `"x_y"`, "1", "[]", `"fr\u0000"`),
	eachRaw(hostile{name: "redirect prefix", target: "/v2/redirects?siteId={site}&sourcePrefix=%s", status: 400, fields: []string{"sourcePrefix"}}, "", "%00", "/a&sourcePrefix=/b"),
	hostileCursors("/v2/redirects?siteId={site}", "{fr}", "{about}", "{route}"), hostileBodySites("/v2/redirects", `"source":"/from","target":"/to"`),
	hostileBodySites("/v2/redirects/batch", `"operations":[{"op":"create","source":"/from","target":"/to"}]`),
	[]hostile{
		hostileRedirect("without anything", `{}`, "siteId", "source", "target"),
		hostileRedirect("with what it does not have", `{"siteId":"{site}","source":"/from","target":"/to","isAutomatic":true,"id":"{about}"}`, "id", "isAutomatic"),
		{name: "redirect to itself", method: "POST", target: "/v2/redirects", body: `{"siteId":"{site}","source":"/from","target":"/from"}`, status: 409},
		{name: "redirect that grows", method: "POST", target: "/v2/redirects", body: `{"siteId":"{site}","source":"/*","target":"/a/*"}`, status: 409},
		{name: "redirect from a route", method: "POST", target: "/v2/redirects", body: `{"siteId":"{site}","source":"/checkout","target":"/to"}`, status: 409},
		{name: "redirect in no locale", method: "POST", target: "/v2/redirects", body: `{"siteId":"{site}","source":"/from","target":"/to","locale":"it"}`, status: 404, message: "Locale not found"},
		{name: "redirect of a foreign site", target: "/v2/redirects?siteId={foreign}", status: 403},
		{name: "no redirect", target: "/v2/redirects/{about}", status: 404, message: "Redirect not found"},
		{name: "no id of a redirect", target: "/v2/redirects/from", status: 404, message: "Redirect not found"},
		{name: "nil redirect", method: "DELETE", target: "/v2/redirects/{nil}", status: 404, message: "Redirect not found"},
		{name: "no site of redirects", target: "/v2/redirects", status: 400, fields: []string{"siteId"}},
		{name: "redirects of a version", target: "/v2/redirects?siteId={site}&versionRef=live", status: 400, fields: []string{"versionRef"}},
		{name: "publish of no redirect", method: "POST", target: "/v2/sites/{site}/publish", body: `{"redirectIds":["{about}"]}`, status: 404, message: "Redirect not found"},
		{name: "publish of no redirects", method: "POST", target: "/v2/sites/{site}/publish", body: `{"redirectIds":[]}`, status: 400, fields: []string{"redirectIds"}},
		{name: "changes of bad redirects", target: "/v2/sites/{site}/changes?redirectIds=x", status: 400, fields: []string{"redirectIds"}},
		{name: "autoRedirects", method: "PATCH", target: "/v2/sites/{site}", body: `{"autoRedirects":"no"}`, status: 400, fields: []string{"autoRedirects"}},
		{name: "autoRedirects is null", method: "PATCH", target: "/v2/sites/{site}", body: `{"autoRedirects":null}`, status: 400, fields: []string{"autoRedirects"}},
	},
)
