package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
)

var hostileApps = slices.Concat(
	hostileApp("scopes", `null`, `[]`, `["root"]`, `["READ"]`, `"read"`, `[1]`, `[null]`, `["read",null]`, `{}`),
	hostileApp("siteIds", `[]`, `["abc"]`, `"{site}"`, `[null]`, `[1]`, `{}`, `["{site}\u0000"]`),
	hostileApp("expiresAt", `"2000-01-01T00:00:00Z"`, `"tomorrow"`, `"2030-01-01"`, `"2030-13-01T00:00:00Z"`, `"2030-02-30T00:00:00Z"`, `"2030-01-01T00:00:00"`, `"2030-01-01T24:00:00Z"`, `1893456000`, `""`, `true`,
		`"2030-01-01T00:00:00+99:99"`, `"0000-00-00T00:00:00Z"`, `"10000-01-01T00:00:00Z"`, `"9999-12-31T23:59:59-12:00"`, `"2030-01-01T00:00:00,5Z"`, `"2030-01-01T00:00:00Z\u0000"`),
	hostileApp("description", `1`, `"a\u0000"`, `[]`),
	[]hostile{
		{name: "name missing", method: "POST", target: "/v2/apps", body: `{"scopes":["read"]}`, status: 400, fields: []string{"name"}},
		{name: "too many sites", method: "POST", target: "/v2/apps", body: `{"name":"x","siteIds":[` + strings.Repeat(`"{site}",`, 1000) + `"{other}"]}`, status: 400, fields: []string{"siteIds"}},
		{name: "foreign site", method: "POST", target: "/v2/apps", body: `{"name":"x","siteIds":["{site}","{foreign}"]}`, status: 403},
		{name: "unknown site", method: "POST", target: "/v2/apps", body: `{"name":"x","siteIds":["{unknown}"]}`, status: 404, message: "Site not found"},
		{name: "deleted site", method: "POST", target: "/v2/apps", body: `{"name":"x","siteIds":["{gone}"]}`, status: 404, message: "Site not found"},
		{name: "nil site", method: "POST", target: "/v2/apps", body: `{"name":"x","siteIds":["{nil}"]}`, status: 404, message: "Site not found"},
		{name: "by an app that only reads", as: "{readerKey}", method: "POST", target: "/v2/apps", body: `{"name":"x"}`, status: 403},
		{name: "more rights for itself", as: "{readerKey}", method: "PATCH", target: "/v2/apps/{reader}", body: `{"scopes":["admin"]}`, status: 403},
		{name: "app of another workspace", method: "DELETE", target: "/v2/apps/{foreignApp}", status: 403},
		{name: "key of another workspace", method: "POST", target: "/v2/apps/{foreignApp}/rotate", status: 403},
	},
)

func hostileApp(field string, values ...string) []hostile {
	create := hostile{name: "new " + field, method: "POST", target: "/v2/apps", body: `{"name":"x","` + field + `":%s}`, status: 400, fields: []string{field}}
	change := create
	change.name, change.method, change.target = field, "PATCH", "/v2/apps/{reader}"
	change.body = `{"` + field + `":%s}`
	return slices.Concat(eachRaw(create, values...), eachRaw(change, values...))
}

// batch is a batch of the given operations.
func batch(name, operations string, status int, fields ...string) hostile {
	return hostile{name: name, method: "POST", target: "/v6/pages/batch", body: `{"siteId":"{site}","operations":` + operations + `}`, status: status, fields: fields}
}

// localized is a batch that makes a page with localizations.
func localized(name, localizations string, status int, fields ...string) hostile {
	return batch("localizations: "+name, `[{"op":"create","pathname":"/new","localizations":`+localizations+`}]`, status, fields...)
}

func manyLocalizations(n int) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = fmt.Sprintf(`"%c%c":{}`, 'a'+i/26, 'a'+i%26)
	}
	return strings.Join(entries, ",")
}

// manyOperations are the fields of an error with as many details as there can
// be.
func manyOperations(field string) (fields []string) {
	for i := range 100 {
		fields = append(fields, fmt.Sprintf("operations[%d].%s", i, field))
	}
	return append(fields, "body")
}

const createNew = `{"op":"create","pathname":"/new"}`

var hostileBatches = []hostile{
	{name: "nothing", method: "POST", target: "/v6/pages/batch", body: `{}`, status: 400, fields: []string{"operations", "siteId"}},
	batch("null", `null`, 400, "operations"), batch("no list", `{}`, 400, "operations"), batch("text", `"create"`, 400, "operations"), batch("empty", `[]`, 400, "operations"),
	batch("1,001", `[`+strings.Repeat(createNew+",", 1000)+createNew+`]`, 400, "operations"),
	batch("very many that are empty", `[`+strings.Repeat("{},", 300_000)+`{}]`, 400, "operations"),
	batch("very many that are not objects", `[`+strings.Repeat("0,", 100_000)+`0]`, 400, "operations"),
	batch("no objects", `[null,1,[],"x"]`, 400, "operations[0]", "operations[1]", "operations[2]", "operations[3]"),
	batch("no operation", `[{}]`, 400, "operations[0].op"), batch("unknown operation", `[{"op":"CREATE","pathname":"/new"}]`, 400, "operations[0].op"),
	batch("unknown operation with what is wrong in any", `[{"op":"CREATE","pathname":"/../x","sitemapPriority":7},{"locale":"?"}]`, 400,
		"operations[0].op", "operations[0].pathname", "operations[0].sitemapPriority", "operations[1].locale", "operations[1].op"),
	batch("the good with the bad", `[`+createNew+`,{"op":"create","pathname":"/../x"},{"op":"delete"}]`, 400, "operations[1].pathname", "operations[2].pageId"),
	batch("unknown fields", `[{"op":"create","pathname":"/new","colour":1,"siteId":"{other}"}]`, 400, "operations[0].colour", "operations[0].siteId"),
	batch("doubled key", `[{"op":"create","pathname":"/new","pathname":"/new2"}]`, 400, "operations[0].pathname"),
	batch("NUL", `[{"op":"create","pathname":"/new","title":"\u0000"}]`, 400, "operations[0].title"),
	batch("taken", `[`+createNew+`,{"op":"create","pathname":"/about"}]`, 409, "operations[1].pathname"),
	batch("taken by itself", `[`+createNew+`,{"op":"create","pathname":"new/"}]`, 409, "operations[1].pathname"),
	batch("unknown page", `[`+createNew+`,{"op":"delete","pageId":"{unknown}"}]`, 404, "operations[1].pageId"),
	batch("nil page", `[{"op":"delete","pageId":"{nil}"}]`, 404, "operations[0].pageId"),
	batch("page of another site", `[{"op":"delete","pageId":"{otherPage}"}]`, 404, "operations[0].pageId"),
	batch("page of another workspace", `[{"op":"update","pageId":"{foreignPage}","title":"x"}]`, 404, "operations[0].pageId"),
	batch("deleted twice", `[{"op":"delete","pageId":"{about}"},{"op":"delete","pageId":"{about}"}]`, 404, "operations[1].pageId"),
	batch("unknown locale", `[{"op":"update","pageId":"{about}","locale":"it","title":"x"}]`, 404, "operations[0].locale"),
	batch("locale that is none", `[{"op":"update","pageId":"{about}","locale":"../","title":"x"}]`, 400, "operations[0].locale"),
	batch("name for one locale", `[{"op":"update","pageId":"{about}","locale":"fr","name":"x"}]`, 400, "operations[0].name"),
	batch("null in the default locale", `[{"op":"update","pageId":"{about}","locale":"en-US","pathname":null}]`, 400, "operations[0].pathname"),
	batch("null for the page", `[{"op":"update","pageId":null,"pathname":"/about","title":"x"}]`, 400, "operations[0].pageId"),
	batch("page that is no id beside a pathname", `[{"op":"update","pageId":"abc","pathname":"/nowhere","title":"x"}]`, 400, "operations[0].pageId"),
	batch("unknown pathname", `[{"op":"update","pathname":"/nowhere","title":"x"},{"op":"delete","pathname":"/deleted"}]`, 404, "operations[0].pathname", "operations[1].pathname"),
	batch("pathname of a route", `[{"op":"delete","pathname":"/checkout"}]`, 404, "operations[0].pathname"),
	batch("pathname of another locale", `[{"op":"update","pathname":"/a-propos","title":"x"}]`, 404, "operations[0].pathname"),
	batch("pathname that is overridden in the locale", `[{"op":"update","pathname":"/about","locale":"fr","title":"x"}]`, 404, "operations[0].pathname"),
	batch("pathname of a page that the batch makes", `[`+createNew+`,{"op":"update","pathname":"/new","title":"x"}]`, 404, "operations[1].pathname"),
	batch("pathname that the batch has only given", `[{"op":"update","pageId":"{about}","pathname":"/new"},{"op":"delete","pathname":"/new"}]`, 404, "operations[1].pathname"),
	batch("null pathname for the name of a page", `[{"op":"update","pathname":null,"title":"x"},{"op":"update","pathname":null,"locale":"fr"}]`, 400, "operations[0].pathname", "operations[1].pathname"),
	batch("bad pathname for the name of a page", `[{"op":"update","pathname":"/../x"},{"op":"delete","pathname":""},{"op":"delete","pathname":7}]`, 400,
		"operations[0].pathname", "operations[1].pathname", "operations[2].pathname"),
	batch("no page named", `[{"op":"update","title":"x"},{"op":"delete","locale":"fr"}]`, 400, "operations[0].pageId", "operations[1].pageId"),
	batch("page and pathname to delete", `[{"op":"delete","pageId":"{about}","pathname":"/about"}]`, 400, "operations[0].pathname"),
	batch("values to delete", `[{"op":"delete","pathname":"/about","name":"x","title":null}]`, 400, "operations[0].name", "operations[0].title"),
	batch("unknown page and a pathname that is there", `[{"op":"update","pageId":"{unknown}","pathname":"/about"}]`, 404, "operations[0].pageId"),
	batch("page and a pathname that is taken", `[{"op":"update","pageId":"{cafe}","pathname":"/about"}]`, 409, "operations[0].pathname"),
	batch("pathname of a route for a page", `[{"op":"update","pageId":"{cafe}","pathname":"/checkout"}]`, 409, "operations[0].pathname"),
	batch("deleted by id and by pathname", `[{"op":"delete","pageId":"{about}"},{"op":"delete","pathname":"/about"}]`, 404, "operations[1].pathname"),
	batch("the default locale's overrides", `[{"op":"delete","pageId":"{about}","locale":"en-US"}]`, 400, "operations[0].locale"),
	batch("locale of a new page", `[{"op":"create","pathname":"/new","locale":"fr"}]`, 400, "operations[0].locale"),
	batch("id of a new page", `[{"op":"create","pathname":"/new","pageId":"{about}"}]`, 400, "operations[0].pageId"),

	batch("faults of every kind", `[{"op":"create","pathname":"/about"},{"op":"delete","pageId":"{unknown}"},{"op":"create","pathname":"/new","title":7},
		{"op":"update","pathname":"/café","locale":"it","title":"x"},{"op":"update","pageId":"{nested}","pathname":"/checkout"},7]`, 400,
		"operations[0].pathname", "operations[1].pageId", "operations[2].title", "operations[3].locale", "operations[4].pathname", "operations[5]"),
	batch("what is not there and what is taken", `[{"op":"create","pathname":"/about"},{"op":"delete","pageId":"{unknown}"}]`, 404, "operations[0].pathname", "operations[1].pageId"),
	batch("two faults of one operation", `[{"op":"update","pageId":"{unknown}","locale":"it","title":7}]`, 400, "operations[0].locale", "operations[0].pageId", "operations[0].title"),
	batch("unknown locale to delete in", `[{"op":"delete","pageId":"{about}","locale":"it"}]`, 404, "operations[0].locale"),
	batch("two faults of one operation in a locale", `[{"op":"update","pageId":"{about}","locale":"fr","name":"x","pathname":"/../x"}]`, 400, "operations[0].name", "operations[0].pathname"),
	batch("what a bad operation may make room for", `[{"op":"update","pageId":"{about}","pathname":7},{"op":"create","pathname":"/about"},{"op":"x","pageId":"{cafe}"},{"op":"create","pathname":"/café"}]`, 400,
		"operations[0].pathname", "operations[2].op"),
	batch("what a missing page does not make room for", `[{"op":"delete","pageId":"{unknown}"},{"op":"create","pathname":"/about"}]`, 404, "operations[0].pageId", "operations[1].pathname"),
	{name: "fault beside a site that is not there", method: "POST", target: "/v6/pages/batch", body: `{"siteId":"{unknown}","operations":[{"op":"delete"}]}`, status: 400, fields: []string{"operations[0].pageId"}},
	{name: "fault beside a foreign site", method: "POST", target: "/v6/pages/batch", body: `{"siteId":"{foreign}","operations":[{"op":"delete","pageId":"{foreignPage}","title":1}]}`, status: 400, fields: []string{"operations[0].title"}},
	{name: "fault beside the operations", method: "POST", target: "/v6/pages/batch", body: `{"siteId":"{site}","colour":1,"operations":[{"op":"delete","pageId":"{unknown}"}]}`, status: 400, fields: []string{"colour", "operations[0].pageId"}},
	{name: "no site, and faults", method: "POST", target: "/v6/pages/batch", body: `{"operations":[{"op":"delete"},{"op":"delete","pageId":"{unknown}"}]}`, status: 400, fields: []string{"operations[0].pageId", "siteId"}},
	{
		name: "more faults than an error has room for", method: "POST", target: "/v6/pages/batch", status: 404, shows: `{"field":"body","message":"and 423 more problems"}`,
		body: `{"siteId":"{site}","operations":[` + strings.Repeat(`{"op":"delete","pageId":"{unknown}"},`, 522) + `{"op":"delete","pageId":"{unknown}"}]}`, fields: manyOperations("pageId"),
	},
	{
		name: "a fault of the worst kind that there is no room for", method: "POST", target: "/v6/pages/batch", status: 400,
		body: `{"siteId":"{site}","operations":[` + strings.Repeat(`{"op":"delete","pageId":"{unknown}"},`, 100) + `{"op":"update","pageId":"{about}","locale":"en-US","pathname":null}]}`, fields: manyOperations("pageId"),
	},

	localized("null", `null`, 400, "operations[0].localizations"), localized("list", `[]`, 400, "operations[0].localizations"), localized("text", `"fr"`, 400, "operations[0].localizations"),
	localized("null locale", `{"fr":null}`, 400, "operations[0].localizations.fr"), localized("locale that is no object", `{"fr":"x","de":[]}`, 400, "operations[0].localizations.de", "operations[0].localizations.fr"),
	localized("key that is no locale", `{"french":{},"":{},"../":{}}`, 400, "operations[0].localizations.", "operations[0].localizations.../", "operations[0].localizations.french"),
	localized("unknown locale", `{"it":{"title":"x"}}`, 404, "operations[0].localizations.it"),
	localized("unknown locale id", `{"{unknown}":{}}`, 404, "operations[0].localizations.{unknown}"),
	localized("the default locale", `{"en-US":{"title":"x"}}`, 400, "operations[0].localizations.en-US"),
	localized("a locale twice", `{"fr":{"title":"x"},"fr":{"title":"y"}}`, 400, "operations[0].localizations.fr"),
	localized("a locale in two letter cases", `{"FR":{"title":"x"},"fr":{"title":"y"}}`, 400, "operations[0].localizations.fr"),
	localized("a locale by id and code", `{"{fr}":{"title":"x"},"fr":{"title":"y"}}`, 400, "operations[0].localizations.fr"),
	localized("doubled key", `{"fr":{"title":"x","title":"y"}}`, 400, "operations[0].localizations.fr.title"),
	localized("unknown fields", `{"fr":{"colour":1,"localizations":{},"op":"create"}}`, 400,
		"operations[0].localizations.fr.colour", "operations[0].localizations.fr.localizations", "operations[0].localizations.fr.op"),
	localized("bad values", `{"fr":{"title":1,"pathname":"/../x","sitemapPriority":2},"it":{}}`, 400,
		"operations[0].localizations.fr.pathname", "operations[0].localizations.fr.sitemapPriority", "operations[0].localizations.fr.title", "operations[0].localizations.it"),
	localized("name for one locale", `{"fr":{"name":"x"}}`, 400, "operations[0].localizations.fr.name"),
	localized("taken pathname", `{"fr":{"pathname":"/a-propos"},"de":{"pathname":"/checkout"}}`, 409, "operations[0].localizations.de.pathname", "operations[0].localizations.fr.pathname"),
	localized("inherited pathname that is taken", `{"fr":{"pathname":"/café"}}`, 409, "operations[0].localizations.fr.pathname"),
	localized("very many", `{`+strings.Repeat(`"fr":{},`, 3)+manyLocalizations(101)+`}`, 400, "operations[0].localizations"),
	batch("localizations of a page that is there", `[{"op":"update","pageId":"{about}","localizations":{"fr":{"title":"x"}}},{"op":"delete","pageId":"{cafe}","localizations":{}}]`, 400,
		"operations[0].localizations", "operations[1].localizations"),
	batch("two new pages that meet in a locale", `[{"op":"create","pathname":"/new","localizations":{"fr":{"pathname":"/neu"}}},{"op":"create","pathname":"/neu"}]`, 409, "operations[1].pathname"),

	{name: "over 8 MiB", method: "POST", target: "/v6/pages/batch", body: "{}" + strings.Repeat(" ", 8*mebibyte-1), status: 413, message: "The request body is larger than 8 MiB"},
	{name: "over 8 MiB, chunked", method: "POST", target: "/v6/pages/batch", body: "{}" + strings.Repeat(" ", 8*mebibyte-1), chunked: true, status: 413},
	{name: "over 8 MiB, to happen once", method: "POST", target: "/v6/pages/batch", headers: []string{"Idempotency-Key", "large"}, body: "{}" + strings.Repeat(" ", 8*mebibyte-1), chunked: true, status: 413},
	{name: "8 MiB", method: "POST", target: "/v6/pages/batch", body: "{}" + strings.Repeat(" ", 8*mebibyte-2), status: 400, fields: []string{"operations", "siteId"}},
	{name: "8 MiB, chunked", method: "POST", target: "/v6/pages/batch", body: "{}" + strings.Repeat(" ", 8*mebibyte-2), chunked: true, status: 400, fields: []string{"operations", "siteId"}},
	{
		name: "8 MiB, to happen once", method: "POST", target: "/v6/pages/batch", headers: []string{"Idempotency-Key", "large"}, unchanged: true, status: 200,
		body: `{"siteId":"{site}","operations":[{"op":"update","pathname":"/about"}]}` + strings.Repeat(" ", 8*mebibyte-100),
	},
	{
		name: "name for the default locale", method: "POST", target: "/v6/pages/batch", status: 200, shows: `"name":"By its name"`,
		body: `{"siteId":"{site}","operations":[{"op":"update","pageId":"{cafe}","locale":"en-US","name":"By its name"}]}`,
	},
	{
		name: "escape that is escaped", method: "POST", target: "/v6/pages/batch", status: 200, shows: `"pathname":"/100%41"`,
		body: `{"siteId":"{site}","operations":[{"op":"update","pageId":"{cafe}","pathname":"/100%2541"}]}`,
	},
}

var hostilePublishes = slices.Concat(
	hostilePublish("pageIds", `"{about}"`, `["abc"]`, `[null]`, `[1]`, `{}`), hostilePublish("locales", `"fr"`, `[1]`, `[null]`, `{}`, `[`+strings.Repeat(`"fr",`, 1000)+`"fr"]`), hostilePublish("plan", `1`, `true`, `[]`),
	hostilePublish("name", `1`, `"a\u0000"`, `[]`), hostilePublish("confirm", `"true"`, `1`, `[]`),
	hostilePublish("publishAt", `"2000-01-01T00:00:00Z"`, `"tomorrow"`, `1893456000`, `true`, `"9999-12-31T23:59:59-12:00"`, `"2030-01-01T00:00:00"`),
	[]hostile{
		{name: "unknown field", method: "POST", target: "/v2/sites/{site}/publish", body: `{"force":true}`, status: 400, fields: []string{"force"}},
		{name: "foreign", method: "POST", target: "/v2/sites/{foreign}/publish", body: `{"force":true}`, status: 403},
		{name: "unknown", method: "POST", target: "/v2/sites/{unknown}/publish", status: 404, message: "Site not found"},
		{name: "deleted", method: "POST", target: "/v2/sites/{gone}/publish", status: 404, message: "Site not found"},
		{name: "by a reader", as: "{readerKey}", method: "POST", target: "/v2/sites/{site}/publish", status: 403},
		{name: "by a site key", as: "{siteKey}", method: "POST", target: "/v2/sites/{site}/publish", status: 403},
		{name: "unknown page", method: "POST", target: "/v2/sites/{site}/publish", body: `{"pageIds":["{unknown}"]}`, status: 404, message: pageNotFound},
		{name: "nil page", method: "POST", target: "/v2/sites/{site}/publish", body: `{"pageIds":["{nil}"]}`, status: 404, message: pageNotFound},
		{name: "page of another site", method: "POST", target: "/v2/sites/{site}/publish", body: `{"pageIds":["{otherPage}"]}`, status: 404, message: pageNotFound},
		{name: "page of another workspace", method: "POST", target: "/v2/sites/{site}/publish", body: `{"pageIds":["{foreignPage}"]}`, status: 404, message: pageNotFound},
		{name: "locale that the site lacks", method: "POST", target: "/v2/sites/{site}/publish", body: `{"locales":["it"]}`, status: 404, message: "Locale not found"},
		{name: "stale plan", method: "POST", target: "/v2/sites/{site}/publish", body: `{"plan":"stale"}`, status: 409},
		{name: "no publish", target: "/v2/publishes/{unknown}", status: 404},
		{name: "publish that is no id", target: "/v2/publishes/abc", status: 404},
		{name: "page as a publish", target: "/v2/publishes/{about}", status: 404},
		{name: "URLs of no publish", target: "/v2/publishes/{unknown}/urls", status: 404},
		{name: "URLs of a page", target: "/v2/publishes/{about}/urls?limit=1", status: 404},
		{name: "URLs of what is no id", target: "/v2/publishes/abc/urls", status: 404},
	},
)

func hostilePublish(field string, values ...string) []hostile {
	return eachRaw(hostile{name: field, method: "POST", target: "/v2/sites/{site}/publish", body: `{"` + field + `":%s}`, status: 400, fields: []string{field}}, values...)
}

// rawRequest is the head of a request, line by line.
func rawRequest(line string, lines ...string) string {
	return line + " HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// hostileWires are requests that no client library would send. Those that
// net/http refuses by itself, with an answer of its own, are in
// TestBrokenRequestsAreNotServed.
var hostileWires = []hostile{
	{name: "folded key", raw: rawRequest("GET /v2/sites", "X-Api-Key: {cutKey}", " 0"), status: 401},
	{name: "key after a comma", raw: rawRequest("GET /v2/sites", "X-Api-Key: x,{key}"), status: 401},
	{name: "key with a byte that is no UTF-8", raw: rawRequest("GET /v2/sites", "X-Api-Key: {key}\xff"), status: 401},
	{name: "key in two lines of different case", raw: rawRequest("GET /v2/sites", "X-Api-Key: {key}", "x-api-key: {key}"), status: 401},
	{name: "empty line beside the key", raw: rawRequest("GET /v2/sites", "X-Api-Key:", "X-Api-Key: {key}"), status: 401},
	{name: "blanks around the key", raw: rawRequest("GET /v2/sites", "X-Api-Key: \t {key} \t"), status: 200},
	{name: "whole address", raw: rawRequest("GET http://elsewhere.example/v2/sites", "X-Api-Key: {key}"), status: 200},
	{name: "bytes that are not escaped", raw: rawRequest("GET /v6/pages/caf\xc3\xa9?siteId={site}", "X-Api-Key: {key}"), status: 200, shows: `"id":"{cafe}"`},
	{name: "bytes that are no UTF-8", raw: rawRequest("GET /v6/pages/caf\xe9?siteId={site}", "X-Api-Key: {key}"), status: 404},
	{name: "bytes that are no UTF-8 in the query", raw: rawRequest("GET /v6/pages?siteId={site}&pathPrefix=\xff", "X-Api-Key: {key}"), status: 400, fields: []string{"pathPrefix"}},
	{name: "backslashes", raw: rawRequest(`GET /v2\sites`, "X-Api-Key: {key}"), status: 404},
	{name: "two queries", raw: rawRequest("GET /v2/sites?limit=5?limit=6", "X-Api-Key: {key}"), status: 400, fields: []string{"limit"}},
	{name: "HTTP/1.0", raw: "GET /v2/sites HTTP/1.0\r\nX-Api-Key: {key}\r\n\r\n", status: 200},
	{name: "CONNECT", raw: "CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example\r\nX-Api-Key: {key}\r\nConnection: close\r\n\r\n", status: 404},
	{name: "chunk of a broken size", method: "POST", raw: rawRequest("POST /v2/sites", "X-Api-Key: {key}", "Content-Type: application/json", "Transfer-Encoding: chunked") + "zz\r\n{\"name\":\"x\"}\r\n0\r\n\r\n", status: 400, fields: bodyField},
	{name: "chunk of a huge size", method: "POST", raw: rawRequest("POST /v2/sites", "X-Api-Key: {key}", "Content-Type: application/json", "Transfer-Encoding: chunked") + "fffffffffffffffff\r\n{\"name\":\"x\"}\r\n0\r\n\r\n", status: 400, fields: bodyField},
	{name: "body longer than its length", method: "POST", raw: rawRequest("POST /v2/sites", "X-Api-Key: {key}", "Content-Type: application/json", "Content-Length: 3") + `{"name":"x"}`, status: 400, fields: bodyField},
	{name: "far too long, announced", method: "POST", raw: rawRequest("POST /v2/sites", "X-Api-Key: {key}", "Content-Type: application/json", "Content-Length: 9223372036854775807") + `{`, status: 413},
}

// hostileCuts are bodies that never end: nothing of them may be written.
var hostileCuts = []hostile{
	{name: "body shorter than its length", method: "POST", raw: rawRequest("POST /v2/sites", "X-Api-Key: {key}", "Content-Type: application/json", "Content-Length: 100") + `{"name":"x"}`, status: 400, fields: bodyField},
	{name: "patch shorter than its length", method: "PATCH", raw: rawRequest("PATCH /v6/pages/{about}", "X-Api-Key: {key}", "Content-Type: application/json", "Content-Length: 100") + `{"title":"x"}`, status: 400, fields: bodyField},
	{name: "chunks without an end", method: "POST", raw: rawRequest("POST /v2/sites", "X-Api-Key: {key}", "Content-Type: application/json", "Transfer-Encoding: chunked") + "c\r\n{\"name\":\"x\"}\r\n", status: 400, fields: bodyField},
}

const (
	patchAbout  = "/v6/pages/{about}"
	deleteRoute = "/v2/routes/{route}"
)

var hostileConditions = slices.Concat(
	stale("PATCH", patchAbout, `{"title":"x"}`, "{tag}"), stale("DELETE", patchAbout, "", "{tag}"), stale("PATCH", "/v2/sites/{site}", `{"name":"x"}`, "{siteTag}"),
	stale("DELETE", "/v2/sites/{site}", "", "{siteTag}"), stale("PATCH", deleteRoute, `{"pathname":"/x"}`, "{routeTag}"), stale("DELETE", deleteRoute, "", "{routeTag}"),
	stale("PATCH", "/v2/locales/{fr}", `{"locale":"it"}`, "{frTag}"), stale("DELETE", "/v2/locales/{fr}", "", "{frTag}"), stale("PATCH", "/v2/apps/{reader}", `{"name":"x"}`, "{tag}"), stale("DELETE", "/v2/apps/{reader}", "", "{tag}"),
	[]hostile{
		{name: "current", target: patchAbout, headers: []string{"If-None-Match", "{tag}"}, status: 304, header: "Etag: {tag}"},
		{name: "current, as HEAD", method: "HEAD", target: patchAbout, headers: []string{"If-None-Match", "{tag}"}, status: 304},
		{name: "current, weak", target: patchAbout, headers: []string{"If-None-Match", "W/{tag}"}, status: 304},
		{name: "current, among others", target: patchAbout, headers: []string{"If-None-Match", `"x", {tag} , "y"`}, status: 304},
		{name: "current, in the second line", target: patchAbout, headers: []string{"If-None-Match", `"x"`, "If-None-Match", "{tag}"}, status: 304},
		{name: "anything", target: patchAbout, headers: []string{"If-None-Match", "*"}, status: 304},
		{name: "stale", target: patchAbout, headers: []string{"If-None-Match", `"x"`}, status: 200, header: "Etag: {tag}"},
		{name: "without quotes", target: patchAbout, headers: []string{"If-None-Match", "{bare-tag}"}, status: 200},
		{name: "broken", target: patchAbout, headers: []string{"If-None-Match", `"`}, status: 200},
		{name: "of another page", target: "/v6/pages/{home}", headers: []string{"If-None-Match", "{tag}"}, status: 200},
		{name: "of another tenant's page", target: "/v6/pages/{foreignPage}", headers: []string{"If-None-Match", "{foreignTag}"}, status: 403},
		{name: "anything of another tenant", target: "/v6/pages/{foreignPage}", headers: []string{"If-None-Match", "*"}, status: 403},
		{name: "another tenant's tag for the own page", target: patchAbout, headers: []string{"If-None-Match", "{foreignTag}"}, status: 200},
		{name: "without a key", as: "-", target: patchAbout, headers: []string{"If-None-Match", "{tag}"}, status: 401},
		{name: "of what is not there", target: "/v6/pages/{unknown}", headers: []string{"If-None-Match", "*"}, status: 404},
		{name: "If-Match of what is not there", method: "DELETE", target: "/v6/pages/{unknown}", headers: []string{"If-Match", "*"}, status: 404},
		{name: "If-Match on what is foreign", method: "DELETE", target: "/v6/pages/{foreignPage}", headers: []string{"If-Match", "{foreignTag}"}, status: 403},
		{name: "bad body before a stale tag", method: "PATCH", target: patchAbout, body: `{"title":1}`, headers: []string{"If-Match", `"x"`}, status: 400, fields: []string{"title"}},
		{name: "current If-Match", method: "PATCH", target: patchAbout, body: `{"title":"x"}`, headers: []string{"If-Match", `"x", {tag}`}, status: 200},
		{name: "If-Match that was current", method: "PATCH", target: patchAbout, body: `{"title":"y"}`, headers: []string{"If-Match", "{tag}"}, status: 412},
		{name: "If-Match of anything", method: "DELETE", target: patchAbout, headers: []string{"If-Match", "*"}, status: 204},
	},
)

// stale are conditions under which nothing may change.
func stale(method, target, body, tag string) []hostile {
	var cases []hostile
	for name, value := range map[string]string{"stale": `"x"`, "empty": "", "broken": `"`, "weak": "W/" + tag, "without quotes": strings.Replace(tag, "{", "{bare-", 1), "weak and unquoted": "W/x"} {
		cases = append(cases, hostile{name: name + " " + method + " " + target, method: method, target: target, body: body, headers: []string{"If-Match", value}, status: 412})
	}
	slices.SortFunc(cases, func(a, b hostile) int { return strings.Compare(a.name, b.name) })
	return cases
}
