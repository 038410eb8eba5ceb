package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
)

var hostileLocaleCodes = slices.Concat(
	eachRaw(hostile{name: "new", method: "POST", target: "/v2/locales", body: `{"siteId":"{site}","locale":%s}`, status: 400, fields: []string{"locale"}},
		append(quoted(badLocaleCodes), "null", "1", "true", `["it"]`, `{}`, `"it\u0000"`, `"\u0435n"`)...),
	eachRaw(hostile{name: "changed", method: "PATCH", target: "/v2/locales/{fr}", body: `{"locale":%s}`, status: 400, fields: []string{"locale"}},
		append(quoted(badLocaleCodes), "null", "1")...),
	eachRaw(hostile{name: "default", method: "PATCH", target: "/v2/sites/{site}", body: `{"defaultLocale":%s}`, status: 400, fields: []string{"defaultLocale"}},
		append(quoted(badLocaleCodes), "null", "1")...),
	eachRaw(hostile{name: "default of a new site", method: "POST", target: "/v2/sites", body: `{"name":"x","defaultLocale":%s}`, status: 400, fields: []string{"defaultLocale"}},
		`"en_US"`, `""`, "null"),
	each(hostile{name: "taken", method: "POST", target: "/v2/locales", body: `{"siteId":"{site}","locale":%s}`, status: 409}, "fr", "FR", "fra", "en-US", "EN-us", "eng-us", "de"),
	eachRaw(hostile{name: "prefix", method: "PATCH", target: "/v2/locales/{fr}", body: `{"pathPrefix":%s}`, status: 400, fields: []string{"pathPrefix"}},
		`"/"`, `"/fr"`, `"a/b"`, `"."`, `".."`, `"%2e%2e"`, `"a%2Fb"`, `"a?b"`, `"a#b"`, `"a\\b"`, `"a\u0000b"`, `"a%00"`, `"a%FF"`, `"a\nb"`, "1", "true", "[]", `"`+strings.Repeat("a", 2049)+`"`),
	[]hostile{
		{name: "prefix in use", method: "PATCH", target: "/v2/locales/{fr}", body: `{"pathPrefix":"de"}`, status: 409},
		{name: "code in use", method: "PATCH", target: "/v2/locales/{fr}", body: `{"locale":"DE"}`, status: 409},
		{name: "the default locale", method: "DELETE", target: "/v2/locales/en-US?siteId={site}", status: 400, fields: []string{"locale"}},
		{name: "restoring what is not deleted", method: "POST", target: "/v2/locales/{fr}/restore", status: 409},
		{name: "restoring what never was", method: "POST", target: "/v2/locales/it/restore?siteId={site}", status: 404, message: "Locale not found"},
		{name: "letter case", method: "POST", target: "/v2/locales", body: `{"siteId":"{site}","locale":"EN-gb"}`, status: 201, shows: `"locale":"en-GB"`},
		{name: "deleting", method: "DELETE", target: "/v2/locales/{de}", status: 204},
		{name: "deleting twice", method: "DELETE", target: "/v2/locales/{de}", status: 404, message: "Locale not found"},
		{name: "changing what is deleted", method: "PATCH", target: "/v2/locales/{de}", body: `{"locale":"it"}`, status: 404, message: "Locale not found"},
	},
)

var badLocaleCodes = []string{
	"en_US", "e", "english", "en-", "-US", "en--US", "en-USA", "en-840", "zh-Hant-TW", "x-private", "", " ", " en", "en ", "en-US ", "zz", "en-ZZ", "und", "*", "../", "en/US", "{unknown}", strings.Repeat("en-", 5000),
}

// quoted are texts as JSON strings. They have nothing in them to escape.
func quoted(values []string) []string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = `"` + value + `"`
	}
	return texts
}

var badOrigins = []string{
	"", "example.com", "//example.com", "https:example.com", "https://", "https:///", "javascript:alert(1)", "data:text/html,x", "ftp://example.com", "https://u@example.com", "https://u:p@example.com",
	"https://example.com/a", "https://example.com/?", "https://example.com?a=b", "https://example.com#a", "https://example.com:0", "https://example.com:99999", "https://example.com:", "https://e..com",
	"https://" + strings.Repeat("a", 64) + ".com", "https://127.1", "https://2130706433", "https://0x7f.1", "https://[::1", "https://a b.com", " https://example.com", "https://example.com\\n", "https://exa\\u0000mple.com",
	"https://a_b.com", "https://-a.com", "https://\\u202eexample.com", "https://" + strings.Repeat("a.", 5000) + "com", "null", "*",
}

var hostileOrigins = slices.Concat(
	eachRaw(hostile{name: "domain", method: "PATCH", target: "/v2/locales/{fr}", body: `{"domain":%s}`, status: 400, fields: []string{"domain"}}, append(quoted(badOrigins), "1", "true", "[]", "{}")...),
	eachRaw(hostile{name: "domain of a new locale", method: "POST", target: "/v2/locales", body: `{"siteId":"{site}","locale":"it","domain":%s}`, status: 400, fields: []string{"domain"}}, `"example.com"`, `""`, "1"),
	eachRaw(hostile{name: "hostOrigin", method: "PATCH", target: "/v2/sites/{site}", body: `{"hostOrigin":%s}`, status: 400, fields: []string{"hostOrigin"}}, append(quoted(badOrigins), "1")...),
	eachRaw(hostile{name: "hostOrigin of a new site", method: "POST", target: "/v2/sites", body: `{"name":"x","hostOrigin":%s}`, status: 400, fields: []string{"hostOrigin"}}, `"example.com"`, `""`),
	normalOrigins("domain", "/v2/locales/{fr}"),
	[]hostile{
		{name: "the site at a locale's place", method: "PATCH", target: "/v2/sites/{site}", body: `{"hostOrigin":"https://[::1]"}`, status: 409},
		{name: "domain elsewhere", method: "PATCH", target: "/v2/locales/{fr}", body: `{"domain":"https://elsewhere.example"}`, status: 200},
	},
	normalOrigins("hostOrigin", "/v2/sites/{site}"),
	[]hostile{
		{name: "first", method: "PATCH", target: "/v2/locales/{fr}", body: `{"domain":"https://shop.example"}`, status: 200},
		{name: "the same again", method: "PATCH", target: "/v2/locales/{fr}", body: `{"domain":"HTTPS://SHOP.example.:443/"}`, status: 200, unchanged: true},
		{name: "taken", method: "PATCH", target: "/v2/locales/{de}", body: `{"domain":"https://shop.example"}`, status: 409},
		{name: "taken but for its form", method: "PATCH", target: "/v2/locales/{de}", body: `{"domain":"HTTPS://SHOP.EXAMPLE.:443/"}`, status: 409},
		{name: "taken, new locale", method: "POST", target: "/v2/locales", body: `{"siteId":"{site}","locale":"it","domain":"https://shop.example/"}`, status: 409},
		{name: "cleared", method: "PATCH", target: "/v2/locales/{fr}", body: `{"domain":null}`, status: 200, shows: `"domain":null`},
	},
)

func normalOrigins(field, target string) []hostile {
	var cases []hostile
	for _, pair := range [][2]string{
		{"https://Example.COM:8443", "https://example.com:8443"}, {"HTTPS://example.com/", "https://example.com"}, {"https://example.com.", "https://example.com"},
		{"https://example.com:443", "https://example.com"}, {`https://b\u00fccher.example`, "https://xn--bcher-kva.example"}, {"http://localhost:3000", "http://localhost:3000"}, {"https://127.0.0.1", "https://127.0.0.1"}, {"https://[::1]", "https://[::1]"},
	} {
		cases = append(cases, hostile{
			name: field + " " + pair[0], method: "PATCH", target: target, body: fmt.Sprintf(`{"%s":"%s"}`, field, pair[0]),
			status: 200, shows: fmt.Sprintf(`"%s":"%s"`, field, pair[1]),
		})
	}
	return cases
}

// field is a page's field with values that it can't have.
func field(name string, values ...string) []hostile {
	return eachRaw(hostile{name: name, method: "PATCH", target: "/v6/pages/{about}", body: `{"` + name + `":%s}`, status: 400, fields: []string{name}}, values...)
}

// notText are JSON values that no text field takes, however a language might
// make text of them.
var notText = []string{"1", "true", "[]", `["x"]`, "{}", `{"toString":"x"}`}

var badPathnames = []string{
	`""`, `"/a/../b"`, `".."`, `"."`, `"/%2e%2e"`, `"//"`, `"/a//b"`, `"//a"`, `"/a?b"`, `"/a#b"`, `"/a%3Fb"`, `"/a%2Fb"`, `"%2Fa"`, `"/a%5Cb"`, `"/a\\b"`, `"/a\u0000b"`, `"/a%00b"`, `"/a\nb"`, `"/a\u007fb"`, `"/a%FF"`, `"/a%C0%AF"`,
	`"/` + strings.Repeat("a", 2048) + `"`, `"/` + strings.Repeat("é", 1024) + `"`, `"/` + strings.Repeat("%61", 2048) + `"`,
}

var hostileFields = slices.Concat(
	field("sitemapPriority", `"0.5"`, "true", "1e309", "-1e309", "-0.01", "1.0001", "1.0000000000000002", "2", "-1", "[]", "{}", `""`, `"NaN"`, strings.Repeat("9", 10_000), "1e"+strings.Repeat("9", 1000)),
	field("sitemapFrequency", `"Daily"`, `""`, `"daily "`, `"day"`, "1", "[]", `"daily\u0000"`),
	field("isOnline", `"true"`, "1", "0", "null", `""`, "[]", "{}"), field("excludedFromSearchEngines", `"true"`, "1", `""`, "[]"),
	field("pathname", append(slices.Clone(badPathnames), "null", "1", "[]")...),
	field("canonicalUrl", append([]string{`"javascript:alert(1)"`, `"JavaScript:alert(1)"`, `" javascript:alert(1)"`, `"java\tscript:alert(1)"`, `"data:text/html,x"`, `"/about"`, `"//example.com"`, `""`, `"https://"`, `"https://a b"`, `"https://a/\u0000"`, `"https://a/\r\nX-Evil: 1"`, `"https://a/` + strings.Repeat("a", 5000) + `"`}, notText...)...),
	field("socialImageUrl", append([]string{`"javascript:alert(1)"`, `"data:image/png;base64,x"`, `"x.png"`, `""`}, notText...)...),
	field("title", append([]string{`"a\u0000b"`, `"\u0000"`}, notText...)...), field("description", append([]string{`"a\u0000b"`}, notText...)...),
	field("name", append([]string{`""`, `" "`, `"\t\n"`, `"\u3000"`, `"a\u0000b"`, `"` + strings.Repeat("a", 256) + `"`, `"` + strings.Repeat("é", 256) + `"`}, notText...)...),
	eachRaw(hostile{name: "name of a site", method: "POST", target: "/v2/sites", body: `{"name":%s}`, status: 400, fields: []string{"name"}}, `""`, `"  "`, `"a\u0000"`, "null", "1", `"`+strings.Repeat("a", 256)+`"`),
	eachRaw(hostile{name: "name of a copy", method: "POST", target: "/v2/sites/{site}/duplicate", body: `{"name":%s}`, status: 400, fields: []string{"name"}}, `""`, `"a\u0000"`, "null", `"`+strings.Repeat("a", 256)+`"`),
	eachRaw(hostile{name: "siteKeyAccess", method: "PATCH", target: "/v2/sites/{site}", body: `{"siteKeyAccess":%s}`, status: 400, fields: []string{"siteKeyAccess"}}, `"LIVE"`, `""`, "null", "1", `"live\u0000"`),
	eachRaw(hostile{name: "localeManagementMode", method: "PATCH", target: "/v2/sites/{site}", body: `{"localeManagementMode":%s}`, status: 400, fields: []string{"localeManagementMode"}}, `"Internal"`, `""`, "null", "true"),
	eachRaw(hostile{name: "labels", method: "PATCH", target: "/v2/sites/{site}", body: `{"labels":%s}`, status: 400, fields: []string{"labels"}}, "null", `"a"`, `[1]`, `["A"]`, `[""]`, `["a,b"]`, `["a\u0000"]`, `["a\n"]`, `["é"]`, `["`+strings.Repeat("a", 41)+`"]`, `["a","b","c","d","e","f","g","h","i","j","k","l","m","n","o","p","q","r","s","t","u"]`, `{}`, `[null]`),
	eachRaw(hostile{name: "graceSeconds", method: "POST", target: "/v2/sites/{site}/rotate-key", body: `{"graceSeconds":%s}`, status: 400, fields: []string{"graceSeconds"}}, "-1", "2592001", "1.5", "1e300", "9223372036854775808", `"60"`, "null", "true"),
	eachRaw(hostile{name: "new page", method: "POST", target: "/v6/pages", body: `{"siteId":"{site}","pathname":%s}`, status: 400, fields: []string{"pathname"}}, append(slices.Clone(badPathnames), "null")...),
	eachRaw(hostile{name: "new route", method: "POST", target: "/v2/routes", body: `{"siteId":"{site}","pathname":%s}`, status: 400, fields: []string{"pathname"}}, append(slices.Clone(badPathnames), "null", `1`)...),
	eachRaw(hostile{name: "raw route", method: "POST", target: "/v2/routes?skipValidation=true", body: `{"siteId":"{site}","pathname":%s}`, status: 400, fields: []string{"pathname"}}, `""`, `"/a\u0000b"`, `"/a\nb"`, `"/`+strings.Repeat("a", 2048)+`"`, "null", "1"),
	eachRaw(hostile{name: "skipValidation", method: "POST", target: "/v2/routes?skipValidation=%s", body: `{"siteId":"{site}","pathname":"/new"}`, status: 400, fields: []string{"skipValidation"}}, "1", "TRUE", "", "true&skipValidation=true"),
	each(hostile{name: "taken by a page", method: "POST", target: "/v6/pages", body: `{"siteId":"{site}","pathname":%s}`, status: 409, message: "A page or route with this pathname already exists"},
		"/about", "about", "about/", "/%61bout", "/cafe\u0301", "/caf%C3%A9", "caf%65%CC%81/", "/", "/checkout", "checkout/", "/a-propos"),
	each(hostile{name: "route taken", method: "POST", target: "/v2/routes", body: `{"siteId":"{site}","pathname":%s}`, status: 409, message: "A page or route with this pathname already exists"}, "/about", "/checkout", "/a-propos", "/cafe\u0301"),
	each(hostile{name: "raw route taken", method: "POST", target: "/v2/routes?skipValidation=true", body: `{"siteId":"{site}","pathname":%s}`, status: 409}, "/about", "/checkout"),
	each(hostile{name: "moved to what is taken", method: "PATCH", target: "/v6/pages/{nested}", body: `{"pathname":%s}`, status: 409}, "/about", "cafe\u0301", "/checkout/"),
	hostileKept, hostileRedirects,
)

// hostileKept looks dangerous, and is content like any other; or is refused
// for what has become of its page.
var hostileKept = []hostile{
	{name: "minus zero", method: "PATCH", target: "/v6/pages/{about}", body: `{"sitemapPriority":-0}`, status: 200, shows: `"sitemapPriority":0,`},
	{name: "next to nothing", method: "PATCH", target: "/v6/pages/{about}", body: `{"sitemapPriority":-1e-999}`, status: 200, shows: `"sitemapPriority":0,`},
	{name: "script", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"<script>alert(1)</script>"}`, status: 200, shows: `"title":"<script>alert(1)</script>"`},
	{name: "SQL", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"'); DROP TABLE pages;--"}`, status: 200, shows: `"title":"'); DROP TABLE pages;--"`},
	{name: "placeholders", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"? $1 :x @y %s {{.}} ${x}"}`, status: 200, shows: `"title":"? $1 :x @y %s {{.}} ${x}"`},
	{name: "the end of Unicode", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"\udbff\udfff\uffff"}`, status: 200, shows: "\"title\":\"\U0010ffff\uffff\""},
	{name: "255 letters", method: "PATCH", target: "/v6/pages/{about}", body: `{"name":"` + strings.Repeat("😀", 255) + `"}`, status: 200},
	{name: "2,048 bytes", method: "PATCH", target: "/v6/pages/{about}", body: `{"pathname":"/` + strings.Repeat("a", 2047) + `"}`, status: 200},
	{name: "percent sign", method: "PATCH", target: "/v6/pages/{about}", body: `{"pathname":"/100%25"}`, status: 200, shows: `"pathname":"/100%"`},
	{name: "escape that is escaped", method: "PATCH", target: "/v6/pages/{about}", body: `{"pathname":"/a%252Fb"}`, status: 200, shows: `"pathname":"/a%2Fb"`},
	{name: "raw route", method: "POST", target: "/v2/routes?skipValidation=true", body: `{"siteId":"{site}","pathname":"/products/[slug]"}`, status: 201, shows: `"pathname":"/products/[slug]"`},
	{name: "raw route again", method: "POST", target: "/v2/routes?skipValidation=true", body: `{"siteId":"{site}","pathname":"/products/[slug]"}`, status: 409},
	{name: "deleting twice", method: "DELETE", target: "/v6/pages/{deleted}", status: 404, message: pageNotFound},
	{name: "changing what is deleted", method: "PATCH", target: "/v6/pages/{deleted}", body: `{"title":"x"}`, status: 404, message: pageNotFound},
	{name: "deleting a route twice", method: "DELETE", target: "/v2/routes/{goneRoute}", status: 404, message: "Route not found"},
	{name: "deleting a site twice", method: "DELETE", target: "/v2/sites/{gone}", status: 404, message: "Site not found"},
	{name: "restoring what is not deleted", method: "POST", target: "/v6/pages/{about}/restore", status: 409},
	{name: "restoring a site that is not deleted", method: "POST", target: "/v2/sites/{site}/restore", status: 409},
	{name: "restoring a foreign site", method: "POST", target: "/v2/sites/{foreign}/restore", status: 403},
	{name: "name in one locale", method: "PATCH", target: "/v6/pages/{about}?locale=fr", body: `{"name":"x"}`, status: 400, fields: []string{"name"}},
}
