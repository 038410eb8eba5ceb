package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
)

var bodyField = []string{"body"}

var hostileBodies = slices.Concat(
	eachRaw(hostile{name: "no JSON object", method: "PATCH", target: "/v6/pages/{about}", body: "%s", status: 400, fields: bodyField},
		" ", "null", "true", "0", `"x"`, "[]", "[{}]", `[{"title":"x"}]`, "{", `{"title"`, `{"title":`, `{"title":"x"`, `{"title":"x",}`, `{,}`, `{"title":"x"}}`, `{"title":"x"} {}`,
		`{"title":"x"}x`, `{"title":"x"}null`, `{"title":"x"}`+"\x00", "\x00", "\xef\xbb\xbf{}", "\xff\xfe{\x00}\x00", "\x00{\x00}", "{\"title\":\"\xff\"}", "{\"title\":\"\xc0\xaf\"}",
		"{\"\xff\":1}", "{\"title\":\"\xed\xa0\x80\"}", `{"title":"\ud800"}`, `{"title":"\udc00\ud800"}`, `{"title":"\u12"}`, `{"title":"\x41"}`, "{\"title\":\"a\nb\"}", "{\"title\":\"a\x00b\"}",
		`{'title':'x'}`, `{title:"x"}`, `{"sitemapPriority":NaN}`, `{"sitemapPriority":Infinity}`, `{"sitemapPriority":.5}`, `{"sitemapPriority":01}`, `{"sitemapPriority":+1}`, `{"sitemapPriority":0x1}`,
		`{"title":"x"/**/}`, `//x`, `title=x`, `<page/>`, `{"isOnline":True}`, "{}\n{}", `{"a":}`,
		`{"title":`+strings.Repeat("[", 33)+strings.Repeat("]", 33)+`}`, `{"title":`+strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 33)+"1"+strings.Repeat("}", 33), strings.Repeat(`{"a":`, 150_000)),
	[]hostile{
		{name: "none where a field is needed", method: "POST", target: "/v2/sites", status: 400, fields: bodyField},
		{name: "empty object where fields are needed", method: "POST", target: "/v6/pages", body: `{}`, status: 400, fields: []string{"pathname", "siteId"}},
		{name: "nesting of 32", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`, status: 400, fields: []string{"title"}},
		{name: "doubled key", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"a","title":"b"}`, status: 400, fields: []string{"title"}},
		{name: "doubled key, escaped", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"a","t\u0069tle":"b"}`, status: 400, fields: []string{"title"}},
		{name: "doubled null", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":null,"title":null}`, status: 400, fields: []string{"title"}},
		{name: "doubled keys and other faults", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"a","title":"b","isOnline":"x","colour":1,"name":"a","name":"b","name":"c"}`, status: 400, fields: []string{"colour", "isOnline", "name", "title"}},
		{name: "doubled bad field", method: "PATCH", target: "/v6/pages/{about}", body: `{"isOnline":1,"isOnline":2}`, status: 400, fields: []string{"isOnline"}},
		{name: "doubled key in what is unknown", method: "PATCH", target: "/v6/pages/{about}", body: `{"a":{"b":[{"c":1},{"c":1,"c":2}]}}`, status: 400, fields: []string{"a", "a.b[1].c"}},
		{name: "equal keys of several objects", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":{"title":{"title":1}},"name":[{"title":1},{"title":1}]}`, status: 400, fields: []string{"name", "title"}},
		{name: "doubled key that is a number", method: "PATCH", target: "/v6/pages/{about}", body: `{"0":1,"0":[{"1":1,"1":2}]}`, status: 400, fields: []string{"0", "0[0].1"}},
		{name: "doubled key, and then no JSON", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"a","title":"b",`, status: 400, fields: bodyField},
		{name: "doubled key, and then nesting", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"a","title":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}`, status: 400, fields: bodyField},
		{name: "key in another letter case", method: "PATCH", target: "/v6/pages/{about}", body: `{"Title":"x"}`, status: 400, fields: []string{"Title"}},
		{name: "key in both letter cases", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"x","TITLE":"y"}`, status: 400, fields: []string{"TITLE"}},
		{name: "key that folds to another", method: "PATCH", target: "/v6/pages/{about}", body: `{"\u017fitemapPriority":1}`, status: 400, fields: []string{"\u017fitemapPriority"}},
		{name: "key that looks like another", method: "PATCH", target: "/v6/pages/{about}", body: `{"t\u0456tle":"x"}`, status: 400, fields: []string{"t\u0456tle"}},
		{name: "unknown field", method: "PATCH", target: "/v6/pages/{about}", body: `{"colour":"red"}`, status: 400, fields: []string{"colour"}},
		{name: "unknown null", method: "PATCH", target: "/v6/pages/{about}", body: `{"colour":null}`, status: 400, fields: []string{"colour"}},
		{name: "prototype", method: "PATCH", target: "/v6/pages/{about}", body: `{"__proto__":{"isAdmin":true},"constructor":1}`, status: 400, fields: []string{"__proto__", "constructor"}},
		{name: "empty key", method: "PATCH", target: "/v6/pages/{about}", body: `{"":1}`, status: 400, fields: []string{""}},
		{name: "NUL in a key", method: "PATCH", target: "/v6/pages/{about}", body: `{"title\u0000":1}`, status: 400, fields: []string{"title\x00"}},
		{name: "key in the body", method: "PATCH", target: "/v6/pages/{about}", body: `{"x-api-key":"{key}"}`, status: 400, fields: []string{"x-api-key"}},
		{name: "very long key", method: "PATCH", target: "/v6/pages/{about}", body: `{"` + strings.Repeat("a", 100_000) + `":1}`, status: 400, fields: []string{strings.Repeat("a", 100) + "…"}},
		{name: "page to another site", method: "PATCH", target: "/v6/pages/{about}", body: `{"siteId":"{other}"}`, status: 400, fields: siteIDField},
		{name: "two bad fields", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":1,"isOnline":"x"}`, status: 400, fields: []string{"isOnline", "title"}},
		{name: "two bad fields, the other way", method: "PATCH", target: "/v6/pages/{about}", body: `{"isOnline":"x","title":1}`, status: 400, fields: []string{"isOnline", "title"}},
		{name: "one bad field among good ones", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"new","description":"new","isOnline":"x"}`, status: 400, fields: []string{"isOnline"}},
		{name: "read-only fields of a site", method: "PATCH", target: "/v2/sites/{site}", body: `{"publicApiKey":"{unknown}","workspaceId":"{foreignWorkspace}"}`, status: 400, fields: []string{"publicApiKey", "workspaceId"}},
		{name: "read-only fields of a locale", method: "PATCH", target: "/v2/locales/{fr}", body: `{"isDefault":true,"object":"locale"}`, status: 400, fields: []string{"isDefault", "object"}},
		{name: "read-only fields of a route", method: "PATCH", target: "/v2/routes/{route}", body: `{"siteId":"{other}"}`, status: 400, fields: siteIDField},
		{name: "read-only fields of an app", method: "PATCH", target: "/v2/apps/{reader}", body: `{"key":"{key}","keyHint":"x"}`, status: 400, fields: []string{"key", "keyHint"}},
		{name: "more fields than anyone can mean", method: "PATCH", target: "/v6/pages/{about}", body: manyFields(), status: 400, fields: append(hostileFieldNames()[:100:100], "body")},
		{name: "no body where nothing is needed", method: "PATCH", target: "/v6/pages/{about}", status: 200, unchanged: true},
		{name: "empty object", method: "PATCH", target: "/v6/pages/{about}", body: `{}`, status: 200, unchanged: true},
		{name: "what is there already", method: "PATCH", target: "/v6/pages/{about}", body: `{"pathname":"about/","isOnline":true,"title":null}`, status: 200, unchanged: true},
		{name: "empty object on a site", method: "PATCH", target: "/v2/sites/{site}", body: `{}`, status: 200, unchanged: true},
		{name: "blanks around", method: "PATCH", target: "/v6/pages/{about}", body: " \r\n\t{ } \n", status: 200, unchanged: true},
	},
	eachRaw(hostile{name: "read-only field of a page", method: "PATCH", target: "/v6/pages/{about}", body: `{%s}`, status: 400, fields: []string{"id"}}, `"id":"{about}"`, `"id":null`),
	hostileMedia,
	hostileNeedlessBodies(),
)

// hostileNeedlessBodies are sent where no field is known.
func hostileNeedlessBodies() (cases []hostile) {
	for _, target := range []string{
		"/v6/pages/{about}/publish", "/v6/pages/{about}/discard", "/v6/pages/{deleted}/restore", "/v6/pages/{about}/restore",
		"/v2/sites/{gone}/restore", "/v2/sites/{site}/restore", "/v2/locales/fr/restore?siteId={site}",
	} {
		post := hostile{name: target, method: "POST", target: target, body: "%s", status: 400, fields: bodyField}
		cases = append(cases, eachRaw(post, " ", "null", "[]", "{", `{} {}`)...)
		post.fields = []string{"publishAt"}
		cases = append(cases, eachRaw(post, `{"publishAt":"2030-01-01T00:00:00Z"}`, `{"publishAt":null}`)...)
		post.fields, post.status, post.headers = nil, 415, []string{"Content-Type", "text/plain"}
		cases = append(cases, eachRaw(post, "{}", "x")...)
		post.status, post.headers = 413, nil
		cases = append(cases, eachRaw(post, "{}"+strings.Repeat(" ", mebibyte))...)
	}
	for _, target := range []string{"/v6/pages/{unknown}/publish", "/v6/pages/{unknown}/discard", "/v2/sites/{unknown}/restore", "/v2/locales/it/restore?siteId={site}", "/v2/publishes/{unknown}/restore"} {
		cases = append(cases, hostile{name: target, method: "POST", target: target, body: "null", status: 404})
	}
	return cases
}

const mebibyte = 1 << 20

var hostileMedia = []hostile{
	{name: "over 1 MiB", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"` + strings.Repeat("a", mebibyte) + `"}`, status: 413},
	{name: "over 1 MiB, chunked", method: "PATCH", target: "/v6/pages/{about}", body: `{"title":"` + strings.Repeat("a", mebibyte) + `"}`, chunked: true, status: 413},
	{name: "over 1 MiB by one blank", method: "PATCH", target: "/v6/pages/{about}", body: "{}" + strings.Repeat(" ", mebibyte-1), status: 413},
	{name: "1 MiB", method: "PATCH", target: "/v6/pages/{about}", body: "{}" + strings.Repeat(" ", mebibyte-2), status: 200, unchanged: true},
	{name: "1 MiB, chunked", method: "PATCH", target: "/v6/pages/{about}", body: "{}" + strings.Repeat(" ", mebibyte-2), chunked: true, status: 200, unchanged: true},
	{name: "over 1 MiB to make a site", method: "POST", target: "/v2/sites", body: `{"name":"` + strings.Repeat("a", mebibyte) + `"}`, status: 413},
	{name: "no content type", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Type", ""}, body: `{"title":"x"}`, status: 415},
	{name: "text", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Type", "text/plain"}, body: `{"title":"x"}`, status: 415},
	{name: "form", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, body: `title=x`, status: 415},
	{name: "nearly JSON", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Type", "application/jsonp"}, body: `{"title":"x"}`, status: 415},
	{name: "JSON of another kind", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Type", "application/ld+json"}, body: `{"title":"x"}`, status: 415},
	{name: "JSON patch", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Type", "application/json-patch+json"}, body: `[]`, status: 415},
	{name: "another charset", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Type", "application/json; charset=utf-16"}, body: `{"title":"x"}`, status: 415},
	{name: "broken content type", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Type", "application/json; ="}, body: `{"title":"x"}`, status: 415},
	{name: "two content types", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Type", "application/json, text/plain"}, body: `{"title":"x"}`, status: 415},
	{name: "merge patch to make something", method: "POST", target: "/v2/sites", headers: []string{"Content-Type", "application/merge-patch+json"}, body: `{"name":"x"}`, status: 415},
	{name: "compressed", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Encoding", "gzip"}, body: "\x1f\x8b\x08\x00", status: 415},
	{name: "said to be compressed", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Encoding", "br"}, body: `{"title":"x"}`, status: 415},
	{name: "compressed twice", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Encoding", "identity, gzip"}, body: `{"title":"x"}`, status: 415},
	{name: "merge patch", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Type", "application/merge-patch+json"}, body: `{}`, status: 200, unchanged: true},
	{name: "content type in capitals", method: "PATCH", target: "/v6/pages/{about}", headers: []string{"Content-Type", "Application/JSON; Charset=\"UTF-8\""}, body: `{}`, status: 200, unchanged: true},
}

// manyFields is a body of nearly 1 MiB in which every field is unknown.
func manyFields() string {
	var b strings.Builder
	for i, name := range hostileFieldNames() {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%s":0`, name)
	}
	return "{" + b.String() + "}"
}

func hostileFieldNames() []string {
	names := make([]string, 90_000)
	for i := range names {
		names[i] = fmt.Sprintf("f%05d", i)
	}
	return names
}
