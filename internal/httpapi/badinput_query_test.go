package httpapi_test

import (
	"slices"
	"strings"
)

var siteIDField = []string{"siteId"}

var hostileSiteIDs = slices.Concat(
	eachRaw(hostile{name: "query", target: "/v2/locales%s", status: 400, fields: siteIDField},
		"", "?", "?siteId", "?siteId=", "?siteId=abc", "?siteId=%20{site}", "?siteId={site}%20", "?siteId=+{site}", "?siteId="+strings.Repeat("a", 10_000),
		"?siteId=%00", "?siteId={site}%00", "?siteId={site}&siteId={site}", "?siteId={site}&siteId={other}", "?siteId={site}&siteId=",
		"?siteId={site};limit=5", "?siteId=%zz", "?siteId=%", "?siteId=%FF", "?siteId={site}%FF",
		"?siteId=%7B{site}%7D", "?siteId=urn:uuid:{site}", "?siteId=null", "?siteId=*", "?siteId={site},{other}",
		"?siteId='%20OR%201=1--", "?siteId={site}%0D%0AX-Evil:1",
	),
	eachRaw(hostile{name: "query", target: "/v2/locales%s", status: 400, fields: []string{"query", "siteId"}}, "?x=1;siteId={site}", "?%zz={site}", "?x=%zz"),
	eachRaw(hostile{name: "query that is broken elsewhere", target: "/v2/locales?siteId={site}%s", status: 400, fields: []string{"query"}},
		"&x=%zz", "&%zz=1", "&a;b=1", "&x=a;b", "&x=%FF"),
	eachRaw(hostile{name: "accepted", target: "/v2/locales?%s", status: 200},
		"siteId={SITE}", "&&siteId={site}&", "siteI%64={site}", "siteId={site}&"+strings.Repeat("&", 5000)),
	unknownParameters,
	eachRaw(hostile{name: "foreign", target: "%s", status: 403},
		"/v2/locales?siteId={foreign}", "/v2/routes?siteId={foreign}", "/v6/pages?siteId={foreign}", "/v2/sites/{foreign}", "/v2/sites/{foreign}/pages",
		"/v6/pages/{foreignPage}", "/v6/pages/{foreignPage}?siteId={foreign}", "/v6/pages/{unknown}?siteId={foreign}", "/v6/pages/about?siteId={foreign}",
		"/v6/pages/nothing?siteId={foreign}", "/v2/locales/xx?siteId={foreign}", "/v2/routes/x?siteId={foreign}", "/v6/pages/{about}?siteId={foreign}",
		"/v2/locales?siteId={foreign}&startingAfter={unknown}", "/v6/pages?siteId={foreign}&locale=it", "/v2/sites?workspaceId={foreignWorkspace}", "/v2/apps/{foreignApp}"),
	eachRaw(hostile{name: "no site", target: "%s", status: 404, message: "Site not found"},
		"/v2/locales?siteId={unknown}", "/v2/locales?siteId={gone}", "/v2/routes?siteId={gone}", "/v6/pages?siteId={gone}", "/v6/pages/about?siteId={gone}",
		"/v2/locales?siteId={nil}", "/v6/pages?siteId={nil}", "/v6/pages/about?siteId={nil}", "/v6/pages/{about}?siteId={nil}", "/v2/routes/{route}?siteId={nil}",
		"/v2/locales/{fr}?siteId={nil}", "/v2/locales/fr?siteId={nil}", "/v6/pages/{about}?siteId={unknown}", "/v6/pages?siteId={about}"),
	[]hostile{
		{name: "page of another site", target: "/v6/pages/{about}?siteId={other}", status: 404, message: "Page not found"},
		{name: "page of another workspace in an own site", target: "/v6/pages/{foreignPage}?siteId={site}", status: 404, message: "Page not found"},
		{name: "page that went with its site", target: "/v6/pages/{gonePage}", status: 404, message: "Page not found"},
		{name: "locale of another site", target: "/v2/locales/{fr}?siteId={other}", status: 404, message: "Locale not found"},
		{name: "route of another site", target: "/v2/routes/{route}?siteId={other}", status: 404, message: "Route not found"},
		{name: "locale as a page", target: "/v6/pages/{fr}", status: 404, message: "Page not found"},
		{name: "page as a route", target: "/v2/routes/{about}", status: 404, message: "Route not found"},
		{name: "no such workspace", target: "/v2/sites?workspaceId={unknown}", status: 404, message: "Workspace not found"},
		{name: "nil workspace", target: "/v2/sites?workspaceId={nil}", status: 404, message: "Workspace not found"},
		{name: "site in a nil workspace", method: "POST", target: "/v2/sites", body: `{"name":"x","workspaceId":"{nil}"}`, status: 404, message: "Workspace not found"},
		{name: "site in another workspace", method: "POST", target: "/v2/sites", body: `{"name":"x","workspaceId":"{foreignWorkspace}"}`, status: 403},
		{name: "delete of the nil page", method: "DELETE", target: "/v6/pages/{nil}?siteId={site}", status: 404, message: "Page not found"},
		{name: "change of the nil page", method: "PATCH", target: "/v6/pages/{nil}?siteId={site}", body: `{"title":"x"}`, status: 404, message: "Page not found"},
		{name: "delete of the nil route", method: "DELETE", target: "/v2/routes/{nil}?siteId={other}", status: 404, message: "Route not found"},
		{name: "delete in a nil site", method: "DELETE", target: "/v2/routes/{route}?siteId={nil}", status: 404},
		{name: "delete in another site", method: "DELETE", target: "/v6/pages/{about}?siteId={other}", status: 404},
		{name: "change in a foreign site", method: "PATCH", target: "/v6/pages/{about}?siteId={foreign}", body: `{"title":"x"}`, status: 403},
		{name: "foreign before a bad body", method: "PATCH", target: "/v6/pages/{foreignPage}", body: `{"title":`, status: 403},
		{name: "unknown before a bad body", method: "PATCH", target: "/v6/pages/{unknown}", body: `{"title":`, status: 404},
		{name: "query before the resource", method: "PATCH", target: "/v6/pages/{unknown}?locale=..", body: `{}`, status: 400, fields: []string{"locale"}},
	},
	hostileBodySites("/v6/pages", `"pathname":"/new"`), hostileBodySites("/v2/routes", `"pathname":"/new"`), hostileBodySites("/v2/locales", `"locale":"it"`),
	hostileBodySites("/v6/pages/batch", `"operations":[{"op":"create","pathname":"/new"}]`),
)

// unknownParameters are refused by name, before anything is read or written.
var unknownParameters = slices.Concat(
	unknownParameter("siteId[]", "?siteId[]={site}", siteIDField...), unknownParameter("siteId[]", "?siteId%5B%5D={site}", siteIDField...),
	unknownParameter("SITEID", "?SITEID={site}", siteIDField...), unknownParameter("siteid", "?siteid={site}", siteIDField...),
	unknownParameter(" siteId", "?%20siteId={site}", siteIDField...), unknownParameter("siteId\x00", "?siteId%00={site}", siteIDField...),
	unknownParameter("x", "?siteId={site}&x=1&x=2"), unknownParameter("x", "?siteId={site}&"+strings.Repeat("x=1&", 5000)),
	unknownParameter("LIMIT", "?siteId={site}&LIMIT=5"), unknownParameter("x-api-key", "?siteId={site}&x-api-key={key}"),
	unknownParameter("sortBy", "?siteId={site}&sortBy=path"), unknownParameter("x", "?siteId={unknown}&x"),
	[]hostile{
		{name: "unknown parameter of a page", target: "/v6/pages/{about}?local=fr", status: 400, fields: []string{"local"}},
		{name: "unknown parameter of a write", method: "PATCH", target: "/v6/pages/{about}?local=fr", body: `{"title":"x"}`, status: 400, fields: []string{"local"}},
		{name: "unknown parameter of a deletion", method: "DELETE", target: "/v6/pages/{about}?locales=fr", status: 400, fields: []string{"locales"}},
		{name: "unknown parameter of a publish", method: "POST", target: "/v2/sites/{site}/publish?dryRun=true", status: 400, fields: []string{"dryRun"}},
		{name: "unknown parameter where there are none", target: "/v2/workspace?x=1", status: 400, fields: []string{"x"}},
		{name: "unknown parameter of the metrics", target: "/metrics?name=x", status: 400, fields: []string{"name"}},
		{name: "profile that collects garbage", target: "/debug/pprof/heap?gc=1", status: 400, fields: []string{"gc"}},
		{name: "profile of no time", target: "/debug/pprof/profile?seconds=0", status: 400, fields: []string{"seconds"}},
		{name: "profile that takes too long", target: "/debug/pprof/profile?seconds=46", status: 400, fields: []string{"seconds"}},
	},
)

func unknownParameter(name, query string, missing ...string) []hostile {
	fields := append([]string{name}, missing...)
	slices.Sort(fields)
	return eachRaw(hostile{name: "unknown parameter", target: "/v2/locales%s", status: 400, fields: fields}, query)
}

// hostileBodySites are sites that a body can't name, at an address that makes
// something in them.
func hostileBodySites(target, rest string) []hostile {
	c := hostile{name: target, method: "POST", target: target, body: `{"siteId":%s,` + rest + `}`}
	bad, foreign, missing := c, c, c
	bad.status, bad.fields = 400, siteIDField
	foreign.status = 403
	missing.status, missing.message = 404, "Site not found"
	return slices.Concat(
		eachRaw(bad, `"abc"`, `""`, `null`, `1`, `["{site}"]`, `{"id":"{site}"}`, `" {site}"`, `"{site}\u0000"`, `"{{site}}"`, `"urn:uuid:{site}"`),
		eachRaw(foreign, `"{foreign}"`),
		eachRaw(missing, `"{unknown}"`, `"{nil}"`, `"{gone}"`, `"{about}"`),
	)
}

const noCursor = `"must be the id of an item of this list"`

var hostileLists = slices.Concat(
	eachRaw(hostile{name: "limit", target: "/v2/locales?siteId={site}&limit=%s", status: 400, fields: []string{"limit"}},
		"0", "101", "-1", "-0", "1.5", "5.0", "%2B5", "+5", "007", "1e1", "0x10", "1_0", "NaN", "Inf", "1e309", "9223372036854775808", "18446744073709551621",
		"%D9%A3", "%EF%BC%95", "abc", "", "5&limit=5", "5%20", "%205", "5%00", "5,6", "5;", "null", "true", strings.Repeat("9", 10_000), strings.Repeat("0", 100)+"5"),
	eachRaw(hostile{name: "limit", target: "/v2/locales?siteId={site}&limit=%s", status: 200}, "1", "100", "%35"),
	hostileCursors("/v2/locales?siteId={site}", "{route}", "{about}"), hostileCursors("/v2/routes?siteId={site}", "{fr}", "{about}", "{otherRoute}"),
	hostileCursors("/v6/pages?siteId={site}", "{fr}", "{route}", "{otherPage}", "{foreignPage}", "{gonePage}"),
	hostileCursors("/v2/sites/{site}/pages?limit=5", "{otherPage}"), hostileCursors("/v2/sites?limit=5", "{foreign}", "{about}"), hostileCursors("/v2/apps?limit=5", "{foreignApp}", "{site}"),
	eachRaw(hostile{name: "search", target: "/v2/sites?search=%s", status: 400, fields: []string{"search"}}, "", strings.Repeat("a", 201), "%00", "%FF", "a&search=b"),
	eachRaw(hostile{name: "search", target: "/v2/sites?search=%s", status: 200, shows: `"data":[]`}, "%25", "_", "%27", "%5C", strings.Repeat("%C3%A9", 200), "%F0%9F%98%80"),
	eachRaw(hostile{name: "search", target: "/v6/pages?siteId={site}&search=%s", status: 400, fields: []string{"search"}}, "", strings.Repeat("a", 201), strings.Repeat("%C3%A9", 201), "%00", "a%00", "%FF", "%ED%A0%80",
		"a&search=b", "a&search=", "a;b"),
	eachRaw(hostile{name: "search", target: "/v6/pages?siteId={site}&search=%s", status: 200, shows: `"data":[]`}, "%25", "_", "%27", "%5C", "%22", "*", "?", "a%25b", strings.Repeat("%C3%9F", 200), strings.Repeat("ab", 100),
		"%F0%9F%98%80", "%F4%8F%BF%BF", "%CC%87", "%01", "%27%20or%201=1--"),
	eachRaw(hostile{name: "search", target: "/v2/sites/{site}/pages?search=%s", status: 400, fields: []string{"search"}}, "", "%00"),
	eachRaw(hostile{name: "label", target: "/v2/sites?label=%s", status: 400, fields: []string{"label"}}, "", "A", "a,b", "%C3%A9", "a%00", strings.Repeat("a", 41)),
	eachRaw(hostile{name: "deleted", target: "%s", status: 400, fields: []string{"deleted"}}, "/v2/sites?deleted=1", "/v2/locales?siteId={site}&deleted=TRUE", "/v6/pages?siteId={site}&deleted=",
		"/v6/pages?siteId={site}&deleted=true&versionRef=ref:live", "/v2/routes?siteId={site}&deleted=true"),
	eachRaw(hostile{name: "status of publishes", target: "/v2/publishes%s", status: 400, fields: []string{"status"}}, "", "?status=", "?status=published", "?status=Scheduled", "?status=scheduled,failed"),
	eachRaw(hostile{name: "status of pages", target: "/v6/pages?siteId={site}&status=%s", status: 400, fields: []string{"status"}}, "", "New", "new,", ",new", "new,new", "new;live", "draft", "new%00",
		"new&versionRef=ref:live", "new&deleted=true", "new&status=live"),
	eachRaw(hostile{name: "under", target: "/v6/pages/tree?siteId={site}&under=%s", status: 400, fields: []string{"under"}}, "", "/a//b", "/a/../b", "%00", "%FF", "/a%3Fb", "/"+strings.Repeat("a", 2048)),
	eachRaw(hostile{name: "cursor of a tree", target: "/v6/pages/tree?siteId={site}&under=/a&startingAfter=%s", status: 400, fields: []string{"startingAfter"}}, "", "/a", "/a/", "/b", "/a/b/c", "a/b", "%00", "/a/%00", "{about}"),
	eachRaw(hostile{name: "cursor of a tree", target: "/v6/pages/tree?siteId={site}&startingAfter=%s", status: 200}, "/zzz", "/%F4%8F%BF%BF"),
	hostileCursors("/v2/publishes?status=scheduled", "{site}", "{about}"),
	[]hostile{
		{name: "cursor of a draft page in the live list", target: "/v6/pages?siteId={site}&versionRef=ref:live&startingAfter={about}", status: 400, fields: []string{"startingAfter"}},
		{name: "cursor of a deleted page", target: "/v6/pages?siteId={site}&startingAfter={deleted}", status: 200, shows: `"data":[]`},
		{name: "cursor of a deleted route", target: "/v2/routes?siteId={site}&startingAfter={goneRoute}", status: 200, shows: `"data":[]`},
		{name: "cursor of a deleted site", target: "/v2/sites?startingAfter={gone}", status: 200},
		{name: "cursor in capitals", target: "/v6/pages?siteId={site}&startingAfter={ABOUT}", status: 200, shows: `"pathname":"/café"`},
		{name: "every bad parameter at once", target: "/v6/pages?sortBy=x&limit=0&startingAfter=y", status: 400, fields: []string{"limit", "siteId", "sortBy", "startingAfter"}},
		{name: "prefix that is a wildcard", target: "/v6/pages?siteId={site}&pathPrefix=%25", status: 200, shows: `"data":[]`},
		{name: "prefix that is a blank wildcard", target: "/v6/pages?siteId={site}&pathPrefix=/_bout", status: 200, shows: `"data":[]`},
		{name: "prefix in another letter case", target: "/v6/pages?siteId={site}&pathPrefix=/ABOUT", status: 200, shows: `"data":[]`},
		{name: "prefix that is a class", target: "/v6/pages?siteId={site}&pathPrefix=/[a]bout", status: 200, shows: `"data":[]`},
		{name: "prefix at the end of Unicode", target: "/v6/pages?siteId={site}&pathPrefix=/%F4%8F%BF%BF", status: 200, shows: `"data":[]`},
		{name: "prefix before the surrogates", target: "/v6/pages?siteId={site}&pathPrefix=/%ED%9F%BF", status: 200, shows: `"data":[]`},
		{name: "very long prefix", target: "/v6/pages?siteId={site}&pathPrefix=/" + strings.Repeat("a", 10_000), status: 200, shows: `"data":[]`},
		{name: "prefix in part of a letter", target: "/v6/pages?siteId={site}&pathPrefix=/caf%C3", status: 400, fields: []string{"pathPrefix"}},
		{name: "prefix with NUL", target: "/v6/pages?siteId={site}&pathPrefix=/%00", status: 400, fields: []string{"pathPrefix"}},
		{name: "empty prefix", target: "/v6/pages?siteId={site}&pathPrefix=", status: 400, fields: []string{"pathPrefix"}},
	},
)

// hostileCursors are ids that are not of an item of a list.
func hostileCursors(target string, strangers ...string) []hostile {
	c := hostile{name: "cursor in " + target, target: target + "&startingAfter=%s", status: 400, fields: []string{"startingAfter"}, shows: noCursor}
	blank := c
	blank.shows = ""
	return slices.Concat(
		eachRaw(c, slices.Concat(strangers, []string{"abc", "{unknown}", "{nil}", "-1", "%00", "%7B{about}%7D"})...),
		eachRaw(blank, "", "{about}&startingAfter={about}", "%FF", "%zz"),
	)
}

const pageNotFound = "Page not found"

var hostilePathnames = slices.Concat(
	eachRaw(hostile{name: "about", target: "/v6/pages/%s?siteId={site}", status: 200, shows: `"id":"{about}"`}, "%2Fabout", "about", "about/", "about%2F", "%2Fabout%2F", "%61bout", "{ABOUT}"),
	eachRaw(hostile{name: "nested", target: "/v6/pages/%s?siteId={site}", status: 200, shows: `"id":"{nested}"`}, "a%2Fb", "a/b", "%2Fa%2Fb", "a/b/", "a%2fb"),
	eachRaw(hostile{name: "home", target: "/v6/pages/%s?siteId={site}", status: 200, shows: `"id":"{home}"`}, "%2F", "%2f"),
	eachRaw(hostile{name: "café", target: "/v6/pages/%s?siteId={site}", status: 200, shows: `"id":"{cafe}"`}, "caf%C3%A9", "cafe%CC%81", "%2Fcafe%CC%81"),
	eachRaw(hostile{name: "no page", target: "/v6/pages/%s?siteId={site}", status: 404, message: pageNotFound}, slices.Concat(noPathnames, []string{"deleted", "{nil}", "{unknown}", "checkout"})...),
	eachRaw(hostile{name: "no route", target: "/v2/routes/%s?siteId={site}", status: 404, message: "Route not found"}, slices.Concat(noPathnames, []string{"about", "{nil}", "{unknown}", "old"})...),
	[]hostile{{name: "nil route where a route is at home", target: "/v2/routes/{nil}?siteId={other}", status: 404, message: "Route not found"}},
	eachRaw(hostile{name: "without siteId", target: "%s", status: 400, fields: siteIDField},
		"/v6/pages/about", "/v6/pages/%2F", "/v6/pages/a/b", "/v2/routes/checkout", "/v2/locales/fr", "/v6/pages/{about}/unknown", "/v6/pages/%7B{about}%7D", "/v6/pages/..", "/v6/pages/%00"),
)

// noPathnames can't be, or are not, a pathname of the site.
var noPathnames = []string{
	"..", ".", "../about", "about/..", "%2e%2e%2fetc", "%2e%2e%2fabout", "%FF", "%C0%AF", "a%00b", "about%00", "%00", "a%252Fb", "a%5Cb", "%5Cabout", "%E2%80%AEabout",
	"about%E2%80%8B", "%EF%BB%BFabout", strings.Repeat("a", 10_000), strings.Repeat("a/", 5_000), "'%20OR%201=1--", "ABOUT", "About", "about%20", "%20about", "about%0A",
	"a//b", "%2F%2F", "a%2F%2Fb", "//about//", "about%3F", "about%23", "about;x=1", "%D0%B0bout", "%EF%BD%81bout", "%ED%A0%80", "*", "%25", "_bout", "about.json", "{{about}}",
}

var hostileReads = slices.Concat(
	eachRaw(hostile{name: "versionRef", target: "/v6/pages/{about}?versionRef=%s", status: 400, fields: []string{"versionRef"}},
		"live", "REF:LIVE", "ref:Live", "", "ref:live,ref:draft", "ref:live&versionRef=ref:draft", "ref:live&versionRef=ref:live", "ref%3Alive%00", "ref:live%20", "ref:", "publish:", "publish:abc", "id;DROP%20TABLE", "%FF"),
	eachRaw(hostile{name: "sortBy", target: "/v6/pages?siteId={site}&sortBy=%s", status: 400, fields: []string{"sortBy"}},
		"id;DROP%20TABLE", "id%3BDROP%20TABLE", "id", "Path", "", "path,title", "path&sortBy=title", "path%00", "path%20desc", "1"),
	eachRaw(hostile{name: "sortDirection", target: "/v6/pages?siteId={site}&sortDirection=%s", status: 400, fields: []string{"sortDirection"}}, "ASC", "", "up", "asc,desc", "desc;--", "-1"),
	eachRaw(hostile{name: "includeOffline", target: "/v6/pages?siteId={site}&includeOffline=%s", status: 400, fields: []string{"includeOffline"}}, "1", "0", "TRUE", "True", "yes", "", "t", "true&includeOffline=true", "null"),
	eachRaw(hostile{name: "locale", target: "/v6/pages/{about}?locale=%s", status: 400, fields: []string{"locale"}},
		"../", "..", "", "fr_FR", "f", "french", "fr&locale=fr", "fr,de", "fr%00", "%00", "%FF", "%D0%B5n", "zh-Hant-TW", "fr-", "*", "{{fr}}", strings.Repeat("f", 10_000)),
	eachRaw(hostile{name: "locale", target: "/v6/pages/{about}?locale=%s", status: 404, message: "Locale not found"}, "it", "fr-CA", "zz", "{unknown}", "{nil}", "{about}", "{site}"),
	eachRaw(hostile{name: "locale", target: "/v6/pages/{about}?locale=%s", status: 200, shows: `"locale":"fr"`}, "fr", "FR", "{fr}"),
	[]hostile{
		{name: "default pathname where the locale has another", target: "/v6/pages/about?siteId={site}&locale=fr", status: 404, message: pageNotFound},
		{name: "pathname of a locale without it", target: "/v6/pages/a-propos?siteId={site}", status: 404, message: pageNotFound},
		{name: "deleted by the default pathname where the locale has another", method: "DELETE", target: "/v6/pages/about?siteId={site}&locale=fr", status: 404, message: pageNotFound},
		{name: "deleted in a locale that is none", method: "DELETE", target: "/v6/pages/{about}?locale=..", status: 400, fields: []string{"locale"}},
		{name: "no site for a pathname, and more", target: "/v6/pages/about?locale=..&versionRef=x", status: 400, fields: []string{"locale", "siteId", "versionRef"}},
		{name: "no site for a pathname, and no right", as: "{readerKey}", method: "PATCH", target: "/v6/pages/about", body: `{}`, status: 400, fields: siteIDField},
		{name: "no site for a code", method: "POST", target: "/v2/locales/fr/restore", status: 400, fields: siteIDField},
		{name: "page that is not live", target: "/v6/pages/{about}?versionRef=ref:live", status: 404, message: pageNotFound},
		{name: "unknown localization", method: "DELETE", target: "/v6/pages/{about}/localizations/it", status: 404, message: "Locale not found"},
		{name: "localization that is no code", method: "DELETE", target: "/v6/pages/{about}/localizations/..", status: 404, message: "Locale not found"},
		{name: "localization of the default locale", method: "DELETE", target: "/v6/pages/{about}/localizations/en-US", status: 400, fields: []string{"locale"}},
		{name: "localization of no page", method: "DELETE", target: "/v6/pages/{unknown}/localizations/fr", status: 404, message: pageNotFound},
		{name: "localization of the nil page", method: "DELETE", target: "/v6/pages/{nil}/localizations/fr", status: 404, message: pageNotFound},
	},
)
