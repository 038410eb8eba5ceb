package httpapi_test

import (
	"slices"
	"strings"
)

var hostileKeys = slices.Concat(
	hostileKeyValues(),
	[]hostile{
		{name: "none", as: "-", target: "/v2/sites", status: 401},
		{name: "two equal lines", target: "/v2/sites", headers: []string{"X-Api-Key", "{key}"}, status: 401},
		{name: "two lines", target: "/v2/sites", headers: []string{"X-Api-Key", "{readerKey}"}, status: 401},
		{name: "in the query", as: "-", target: "/v2/sites?x-api-key={key}&key={key}", status: 401},
		{name: "in the body", as: "-", method: "POST", target: "/v2/sites", body: `{"x-api-key":"{key}"}`, status: 401},
		{name: "in a cookie", as: "-", target: "/v2/sites", headers: []string{"Cookie", "x-api-key={key}"}, status: 401},
		{name: "name in capitals", as: "-", target: "/v2/sites", headers: []string{"X-API-KEY", "{key}"}, status: 200},
		{name: "name in small letters", as: "-", target: "/v2/sites", headers: []string{"x-api-key", "{key}"}, status: 200},
		{name: "name with an underscore", as: "-", target: "/v2/sites", headers: []string{"X_Api_Key", "{key}"}, status: 401},
		{name: "bearer", as: "-", target: "/v2/sites", headers: []string{"Authorization", "Bearer {key}"}, status: 200},
		{name: "bearer in small letters", as: "-", target: "/v2/sites", headers: []string{"authorization", "bearer {key}"}, status: 200},
		{name: "site key as bearer", as: "-", target: "/v2/sites/{site}", headers: []string{"Authorization", "Bearer {siteKey}"}, status: 200},
		{name: "basic", as: "-", target: "/v2/sites", headers: []string{"Authorization", "Basic {key}"}, status: 401},
		{name: "bearer without a token", as: "-", target: "/v2/sites", headers: []string{"Authorization", "Bearer"}, status: 401},
		{name: "token without bearer", as: "-", target: "/v2/sites", headers: []string{"Authorization", "{key}"}, status: 401},
		{name: "two bearers", as: "-", target: "/v2/sites", headers: []string{"Authorization", "Bearer {key}", "Authorization", "Bearer {key}"}, status: 401},
		{name: "both headers", target: "/v2/sites", headers: []string{"Authorization", "Bearer {key}"}, status: 400, fields: []string{"authorization"}},
		{name: "both headers, no key in either", as: "x", target: "/v2/sites", headers: []string{"Authorization", "x"}, status: 400, fields: []string{"authorization"}},
		{name: "unknown address without a key", as: "-", target: "/nowhere", status: 401},
		{name: "unknown address with a key", target: "/nowhere", status: 404},
		{name: "wrong method without a key", raw: rawRequest("PUT /v2/sites"), status: 401},
		{name: "doubled slash without a key", as: "-", target: "/v2//locales", status: 401},
		{name: "metrics without a key", as: "-", target: "/metrics", status: 401},
		{name: "profiles with too few rights", as: "{readerKey}", target: "/debug/pprof/", status: 403},
		{name: "metrics with a site key", as: "{siteKey}", target: "/metrics", status: 403},
		{name: "site key that writes", as: "{siteKey}", method: "POST", target: "/v2/locales", body: `{"siteId":"{site}","locale":"it"}`, status: 403},
		{name: "site key of another site", as: "{siteKey}", target: "/v2/sites/{other}", status: 403},
		{name: "site key that lists sites", as: "{siteKey}", target: "/v2/sites", status: 403},
		{name: "reader that writes, whatever the resource", as: "{readerKey}", method: "DELETE", target: "/v2/sites/{unknown}", status: 403},
	},
)

// hostileKeyValues are headers that are not a key that works, however close
// they come. The changed keys are made of {key} when the case is filled in.
func hostileKeyValues() []hostile {
	var cases []hostile
	for name, key := range map[string]string{
		"empty": "", "blanks": "   ", "quoted": `"{key}"`, "two in one": "{key}, {key}", "two in one, spaced": "{key} {key}",
		"not ASCII": "ключ", "with a letter that is not ASCII": "{key}é", "one longer": "{key}0", "one shorter": "{cutKey}",
		"case flipped": "{flippedKey}", "wrong checksum": "{brokenKey}", "site key in capitals": "{SITEKEY}", "site key in braces": "{{siteKey}}",
		"site key as URN": "urn:uuid:{siteKey}", "site key without dashes": "{plainSiteKey}", "id of a site": "{site}", "nil": "{nil}",
		"unknown site key": "{unknown}", "revoked": "{revokedKey}", "expired": "{expiredKey}", "of a deleted site": "{goneKey}",
		"with bearer": "Bearer {key}", "very long": strings.Repeat("k", 10_000), "SQL": "' OR 1=1--",
	} {
		// Given as a header line of its own, since an empty one counts too.
		cases = append(cases, hostile{name: name, as: "-", target: "/v2/locales?siteId={site}", headers: []string{"X-Api-Key", key}, status: 401})
	}
	slices.SortFunc(cases, func(a, b hostile) int { return strings.Compare(a.name, b.name) })
	return cases
}

var hostileAddresses = slices.Concat(
	eachRaw(hostile{name: "no such address", target: "%s", status: 404, message: "There is nothing at this address"},
		"/v2", "/v2/", "/v2//locales?siteId={site}", "/v2/./locales?siteId={site}", "/v2/locales/?siteId={site}", "/v2/locales/fr/?siteId={site}",
		"/V2/locales?siteId={site}", "/v3/locales?siteId={site}", "/v6/locales?siteId={site}", "/v2/pages?siteId={site}", "/v2/Locales?siteId={site}",
		"/v2/../v2/locales?siteId={site}", "/v2/sites/../locales?siteId={site}", "/v2%2Flocales?siteId={site}", "/v2/locales%2F?siteId={site}",
		"/v2/locales%00?siteId={site}", "/v2/locales;v=1?siteId={site}", "/v2/%6Cocales?siteId={site}", "//v2/locales?siteId={site}",
		"/v6/pages/?siteId={site}", "/v2/routes/?siteId={site}", "/v2/sites/?limit=5", "/v2/sites/{site}/", "/v2/sites/{site}/pages/",
		"/v2/sites/{site}/Pages", "/v2/sites/{site}/nothing", "/v2/sites//pages", "/v2/workspace/", "/healthz/", "/openapi.json/", "/docs/..%2Fgo.mod", "/.git/config",
	),
	eachRaw(hostile{name: "no site", target: "/v2/sites/%s", status: 404, message: "Site not found"},
		"abc", "{unknown}", "{nil}", "{gone}", "{site}%00", "%20{site}", "%7B{site}%7D", "urn:uuid:{site}", "{site}%2Fpages", "%FF", "..%2F{site}",
		"{about}", "{siteKey}", "{site}abc", "'%20OR%201=1--", strings.Repeat("a", 10_000), "{site}%0A",
	),
	eachRaw(hostile{name: "no app", target: "/v2/apps/%s", status: 404, message: "App not found"}, "abc", "{unknown}", "{nil}", "{site}"),
	eachRaw(hostile{name: "no locale", target: "/v2/locales/%s?siteId={site}", status: 404, message: "Locale not found"},
		"it", "{unknown}", "{nil}", "en_US", "%00", "%FF", "..", "fr%00", "fr%2F", "*", "%D0%B5n", "{about}", strings.Repeat("a", 10_000)),
	[]hostile{
		{name: "PUT", method: "PUT", target: "/v2/sites", status: 405, header: "Allow: GET, HEAD, POST"},
		{name: "wrong method on one site", method: "POST", target: "/v2/sites/{site}", status: 405, header: "Allow: DELETE, GET, HEAD, PATCH"},
		{name: "wrong method on a page", method: "POST", target: "/v6/pages/about", status: 405, header: "Allow: DELETE, GET, HEAD, PATCH"},
		{name: "wrong method after an id", method: "GET", target: "/v6/pages/{about}/restore", status: 405, header: "Allow: POST"},
		{name: "escaped slash after an id", method: "POST", target: "/v6/pages/{about}%2Frestore", status: 405},
		{name: "made-up method", method: "BREW", target: "/v2/sites", status: 405, header: "Allow: GET, HEAD, POST"},
		{name: "small letters", method: "get", target: "/v2/sites", status: 405},
		{name: "OPTIONS", method: "OPTIONS", target: "/v2/sites", status: 405},
		{name: "TRACE", method: "TRACE", target: "/v2/sites", status: 405},
		{name: "wrong method where no key is needed", as: "-", method: "POST", target: "/healthz", status: 405, header: "Allow: GET, HEAD"},
		{name: "wrong method where operators look", method: "POST", target: "/metrics", status: 405, header: "Allow: GET, HEAD"},
		{name: "no such profile", target: "/debug/pprof/nothing", status: 404, message: "There is nothing at this address"},
		{name: "a profile that takes too long", target: "/debug/pprof/trace?seconds=46", status: 400, fields: []string{"seconds"}},
		{name: "a profile of no time", target: "/debug/pprof/heap?seconds=abc", status: 400, fields: []string{"seconds"}},
		{name: "a profile that is not shown", target: "/debug/pprof/cmdline", status: 404, message: "There is nothing at this address"},
		{name: "doubled slash before a profile", target: "/debug/pprof//heap", status: 404, message: "There is nothing at this address"},
		{name: "method override", method: "POST", target: "/v2/sites/{site}", headers: []string{"X-HTTP-Method-Override", "DELETE"}, status: 405},
		{name: "HEAD", method: "HEAD", target: "/v2/sites/{site}", status: 200, header: "Content-Type: application/json; charset=utf-8"},
		{name: "HEAD of nothing", method: "HEAD", target: "/v2/sites/{unknown}", status: 404},
		{name: "id in capitals", target: "/v2/sites/{SITE}", status: 200, shows: `"id":"{site}"`},
		{name: "escaped id", target: "/v6/pages/{escapedAbout}", status: 200, shows: `"id":"{about}"`},
		{name: "locale in capitals", target: "/v2/locales/FR?siteId={site}", status: 200, shows: `"locale":"fr"`},
	},
)
