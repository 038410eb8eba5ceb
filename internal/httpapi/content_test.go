package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

// digestOf is the digest of a content as responses have it.
func digestOf(value string) string {
	sum := sha256.Sum256([]byte(value))
	return "sha256-" + hex.EncodeToString(sum[:])
}

// value is the value of a content, letter for letter.
func (r reply) value(t *testing.T) string {
	t.Helper()
	var c struct{ Value json.RawMessage }
	if err := json.Unmarshal(r.body, &c); err != nil {
		t.Fatal(err)
	}
	return string(c.Value)
}

// contents is a site with a page and the locales fr and de.
type contents struct {
	*system
	site, siteKey, page string
}

func newContents(t *testing.T, s *system) *contents {
	t.Helper()
	c := &contents{system: s}
	c.site, c.siteKey = s.newSite(t)
	s.newLocale(t, c.site, "fr")
	s.newLocale(t, c.site, "de")
	c.page = s.newPage(t, c.site, "/about")
	return c
}

// at is the address of the page's content.
func (c *contents) at(query string) string { return "/v6/pages/" + c.page + "/content" + query }

// put sets the content and returns the answer.
func (c *contents) put(t *testing.T, query, value string) reply {
	t.Helper()
	return c.must(t, 200, "PUT", c.at(query), value)
}

// check compares what readers get with what they should: "" for none.
func (c *contents) check(t *testing.T, query, want string, inherited bool) {
	t.Helper()
	if want == "" {
		if r := c.must(t, 404, "GET", c.at(query), ""); r.str(t, "message") != "Content not found" {
			t.Errorf("%s: %s", query, r.body)
		}
		return
	}
	r := c.must(t, 200, "GET", c.at(query), "")
	got := r.json(t)
	if r.value(t) != want || got["digest"] != digestOf(want) || got["isInherited"] != inherited || got["pageId"] != c.page || got["siteId"] != c.site || got["object"] != "content" {
		t.Errorf("%s: got %s, want %s, inherited: %v", query, r.body, want, inherited)
	}
	separator := "?"
	if query != "" {
		separator = "&"
	}
	page := c.must(t, 200, "GET", "/v6/pages/"+c.page+query+separator+"include=content", "")
	var withContent struct{ Content json.RawMessage }
	if err := json.Unmarshal(page.body, &withContent); err != nil || string(withContent.Content) != want {
		t.Errorf("%s: the page has the content %s, want %s", query, withContent.Content, want)
	}
}

func (c *contents) publish(t *testing.T) string {
	t.Helper()
	return c.must(t, 201, "POST", "/v2/sites/"+c.site+"/publish", `{}`).str(t, "id")
}

func TestContentIsKeptAsSent(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		c := newContents(t, s)
		c.check(t, "", "", false)
		for sent, kept := range map[string]string{
			`{}`:    `{}`,
			` [ ] `: `[]`,
			"{\n\t\"b\" : 0.10, \"a\": 1E300 , \"\" : -0.0}":         `{"b":0.10,"a":1E300,"":-0.0}`,
			`{"big":123456789012345678901234567890.000, "x":1e-999}`: `{"big":123456789012345678901234567890.000,"x":1e-999}`,
			`["\u0041", "\/", "<b>&", "\ud83d\ude00", " a b "]`:      `["\u0041","\/","<b>&","\ud83d\ude00"," a b "]`,
			"[\"\u2028\u2029\",\"\u007f\",\"é\",\"e\u0301\"]":        "[\"\u2028\u2029\",\"\u007f\",\"é\",\"e\u0301\"]",
			`{"a":{"a":[{"a":null},true,false]}}`:                    `{"a":{"a":[{"a":null},true,false]}}`,
			strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100):      strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100),
		} {
			if r := c.put(t, "", sent); r.value(t) != kept || r.str(t, "digest") != digestOf(kept) {
				t.Errorf("%s: answered %s", sent, r.body)
			}
			c.check(t, "", kept, false)
		}
		many := manyNames(3000)
		c.put(t, "", many)
		c.check(t, "", many, false)
	})
}

// manyNames is an object with many names.
func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"n%d":%d`, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

func TestContentOfLocalesAndVersions(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		c := newContents(t, s)
		const en, fr, next = `{"title":"About"}`, `{"title":"Sur"}`, `["next"]`
		c.put(t, "", en)
		c.check(t, "?locale=en-US", en, false)
		c.check(t, "?locale=fr", en, true)
		c.check(t, "?versionRef=ref:draft", en, false)
		c.must(t, 404, "GET", c.at("?versionRef=ref:live"), "")
		if r := c.put(t, "?locale=fr", fr); r.json(t)["isInherited"] != false || r.str(t, "locale") != "fr" {
			t.Errorf("the content of a locale: %s", r.body)
		}
		c.check(t, "?locale=fr", fr, false)
		c.check(t, "?locale=de", en, true)
		c.check(t, "", en, false)
		page := c.must(t, 200, "GET", "/v6/pages/"+c.page, "")
		if got := fmt.Sprint(page.json(t)["localizations"]); !strings.Contains(got, "locale:fr") || strings.Contains(got, "locale:de") {
			t.Errorf("localizations: %s", got)
		}
		if _, ok := page.json(t)["content"]; ok {
			t.Errorf("a page that was asked for without content has some: %s", page.body)
		}

		first := c.publish(t)
		c.put(t, "", next)
		c.must(t, 204, "DELETE", c.at("?locale=fr"), "")
		c.check(t, "", next, false)
		c.check(t, "?locale=fr", next, true)
		c.check(t, "?versionRef=ref:live", en, false)
		c.check(t, "?versionRef=ref:live&locale=fr", fr, false)
		c.publish(t)
		c.must(t, 204, "DELETE", c.at(""), "")
		c.check(t, "", "", false)
		c.check(t, "?locale=fr", "", false)
		if r := c.must(t, 200, "GET", "/v6/pages/"+c.page+"?include=content", ""); r.json(t)["content"] != nil || !strings.Contains(string(r.body), `"content":null`) {
			t.Errorf("a page without content: %s", r.body)
		}
		c.check(t, "?versionRef=ref:live&locale=fr", next, true)
		c.check(t, "?versionRef=publish:"+first+"&locale=fr", fr, false)
		c.check(t, "?versionRef=publish:"+first+"&locale=de", en, true)
		c.must(t, 404, "DELETE", c.at(""), "")
		c.must(t, 404, "DELETE", c.at("?locale=fr"), "")

		// A Site key reads what it reads of pages, and writes nothing.
		for target, status := range map[string]int{"?versionRef=ref:live": 200, "?versionRef=ref:draft": 404} {
			if r := c.send(t, c.siteKey, "GET", c.at(target), ""); r.status != status {
				t.Errorf("a Site key gets %d for %s", r.status, target)
			}
		}
		c.must(t, 200, "PATCH", "/v2/sites/"+c.site, `{"siteKeyAccess":"live"}`)
		for target, status := range map[string]int{"": 200, "?versionRef=ref:draft": 403, "?versionRef=publish:" + first: 403, "/diff": 403} {
			if r := c.send(t, c.siteKey, "GET", c.at(target), ""); r.status != status {
				t.Errorf("a Site key of the live version gets %d for %s", r.status, target)
			}
		}
		for _, method := range []string{"PUT", "DELETE"} {
			if r := c.send(t, c.siteKey, method, c.at(""), `{}`); r.status != 403 {
				t.Errorf("a Site key gets %d for %s", r.status, method)
			}
		}
	})
}

func TestContentChangesThePage(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		c := newContents(t, s)
		updated := func() string { return c.must(t, 200, "GET", "/v6/pages/"+c.page, "").str(t, "updatedAt") }
		made := updated()
		put := c.put(t, "", `{"a":1}`)
		if now := updated(); now == made || put.str(t, "updatedAt") != now {
			t.Errorf("updatedAt was %s, is %s and was answered as %s", made, now, put.str(t, "updatedAt"))
		}
		before := updated()
		if again := c.put(t, "", ` {"a": 1}`); again.str(t, "updatedAt") != before || again.header.Get("ETag") != put.header.Get("ETag") {
			t.Errorf("an equal content changed something: %s", again.body)
		}
		// The audit trail has digests of contents.
		c.put(t, "", `{"a":2}`)
		entries := c.must(t, 200, "GET", "/v2/audit?operation=putContent&resourceId="+c.page, "").json(t)["data"].([]any)
		if len(entries) != 2 {
			t.Fatalf("%d entries", len(entries))
		}
		entry := entries[0].(map[string]any)
		if entry["before"].(map[string]any)["content"] != digestOf(`{"a":1}`) || entry["after"].(map[string]any)["content"] != digestOf(`{"a":2}`) {
			t.Errorf("the entry is %v", entry)
		}
		first := entries[1].(map[string]any)["before"].(map[string]any)
		if _, ok := first["content"]; ok {
			t.Errorf("a page without content is recorded as %v", first)
		}
	})
}

func TestContentPreconditions(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		c := newContents(t, s)
		expect := func(status int, method, query, body string, headers ...string) reply {
			t.Helper()
			return c.must(t, status, method, c.at(query), body, headers...)
		}
		expect(412, "PUT", "", `{"a":1}`, "If-Match", `*`)
		expect(412, "PUT", "", `{"a":1}`, "If-Match", `"x"`)
		tag := expect(200, "PUT", "", `{"a":1}`, "If-None-Match", `*`).header.Get("ETag")
		expect(412, "PUT", "", `{"a":2}`, "If-None-Match", `*`)
		expect(412, "PUT", "", `{"a":1}`, "If-None-Match", `*`)
		expect(412, "PUT", "", `{"a":2}`, "If-None-Match", tag)
		if read := expect(200, "GET", "", ""); read.header.Get("ETag") != tag {
			t.Errorf("a read has the tag %s, the write %s", read.header.Get("ETag"), tag)
		}
		expect(304, "GET", "", "", "If-None-Match", tag)
		// The tag follows from the digest: the page's title changes nothing about it.
		c.must(t, 200, "PATCH", "/v6/pages/"+c.page, `{"title":"New"}`)
		expect(304, "GET", "", "", "If-None-Match", tag)
		second := expect(200, "PUT", "", `{"a":2}`, "If-Match", tag).header.Get("ETag")
		expect(412, "PUT", "", `{"a":3}`, "If-Match", tag)
		expect(412, "PUT", "", `{"a":3}`, "If-Match", "W/"+second)
		expect(400, "PUT", "", `{"a":3,"a":4}`, "If-Match", tag)
		expect(412, "DELETE", "", "", "If-Match", tag)

		// In another locale the content is inherited, which is none.
		if inherited := expect(200, "GET", "?locale=fr", "").header.Get("ETag"); inherited != second {
			t.Errorf("the inherited content has the tag %s, not %s", inherited, second)
		}
		expect(412, "PUT", "?locale=fr", `["fr"]`, "If-Match", second)
		expect(404, "DELETE", "?locale=fr", "", "If-Match", second)
		french := expect(200, "PUT", "?locale=fr", `["fr"]`, "If-None-Match", `*`).header.Get("ETag")
		expect(412, "DELETE", "?locale=fr", "", "If-Match", second)
		expect(204, "DELETE", "?locale=fr", "", "If-Match", french)
		expect(204, "DELETE", "", "", "If-Match", second)

		// The tag of a page with its content is one of the page.
		withContent := c.must(t, 200, "GET", "/v6/pages/"+c.page+"?include=content", "").header.Get("ETag")
		c.must(t, 304, "GET", "/v6/pages/"+c.page+"?include=content", "", "If-None-Match", withContent)
		c.must(t, 200, "PATCH", "/v6/pages/"+c.page, `{"title":"Newer"}`, "If-Match", withContent)
		c.must(t, 412, "PATCH", "/v6/pages/"+c.page, `{"title":"Newest"}`, "If-Match", withContent)
	})
}

func TestContentIsPublishedLikeATitle(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		c := newContents(t, s)
		c.put(t, "", `{"v":1}`)
		first := c.publish(t)
		c.put(t, "", `{"v":2}`)
		c.put(t, "?locale=fr", `{"f":1}`)
		review := c.must(t, 200, "GET", "/v2/sites/"+c.site+"/changes", "").json(t)
		want := []any{
			change("en-US", fieldChange("content", digestOf(`{"v":1}`), digestOf(`{"v":2}`))),
			change("fr", fieldChange("content", nil, digestOf(`{"f":1}`))),
		}
		if got := changesOf(review["data"]); !reflect.DeepEqual(got, want) {
			t.Errorf("changes:\n got %v\nwant %v", got, want)
		}
		// A plan covers the content.
		plan := review["plan"].(string)
		c.put(t, "?locale=fr", `{"f":2}`)
		c.must(t, 409, "POST", "/v2/sites/"+c.site+"/publish", `{"plan":"`+plan+`"}`)
		c.put(t, "?locale=fr", `{"f":1}`)
		second := c.must(t, 201, "POST", "/v2/sites/"+c.site+"/publish", `{"plan":"`+plan+`"}`).str(t, "id")
		if got := changesOf(c.must(t, 200, "GET", "/v2/publishes/"+second+"/changes", "").json(t)["data"]); !reflect.DeepEqual(got, want) {
			t.Errorf("changes of the publish: %v", got)
		}
		c.check(t, "?versionRef=ref:live", `{"v":2}`, false)
		c.check(t, "?versionRef=ref:live&locale=fr", `{"f":1}`, false)

		c.must(t, 201, "POST", "/v2/publishes/"+first+"/restore", "")
		c.check(t, "?versionRef=ref:live&locale=fr", `{"v":1}`, true)
		c.check(t, "?locale=fr", `{"f":1}`, false)
		c.must(t, 200, "POST", "/v6/pages/"+c.page+"/discard", "")
		c.check(t, "", `{"v":1}`, false)
		c.check(t, "?locale=fr", `{"v":1}`, true)

		// One locale's values alone.
		c.put(t, "", `{"v":3}`)
		c.put(t, "?locale=fr", `{"f":3}`)
		c.must(t, 201, "POST", "/v2/sites/"+c.site+"/publish", `{"locales":["fr"]}`)
		c.check(t, "?versionRef=ref:live", `{"v":1}`, false)
		c.check(t, "?versionRef=ref:live&locale=fr", `{"f":3}`, false)

		// A deleted page takes its content along and brings it back.
		c.must(t, 204, "DELETE", "/v6/pages/"+c.page, "")
		c.must(t, 404, "GET", c.at(""), "")
		c.must(t, 404, "PUT", c.at(""), `{}`)
		c.must(t, 200, "POST", "/v6/pages/"+c.page+"/restore", "")
		c.check(t, "", `{"v":3}`, false)
		c.must(t, 204, "DELETE", "/v6/pages/"+c.page+"/localizations/fr", "")
		c.check(t, "?locale=fr", `{"v":3}`, true)
	})
}

func change(locale string, fields ...any) any { return []any{locale, "updated", fields} }

func fieldChange(field string, from, to any) any {
	return map[string]any{"field": field, "from": from, "to": to}
}

// changesOf are the locale, kind and fields of changes.
func changesOf(data any) []any {
	var list []any
	for _, item := range data.([]any) {
		c := item.(map[string]any)
		list = append(list, []any{c["locale"], c["kind"], c["fields"]})
	}
	return list
}

func TestContentFollowsTheDefaultLocaleAndCopies(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		c := newContents(t, s)
		c.put(t, "", `{"l":"en"}`)
		c.put(t, "?locale=fr", `{"l":"fr"}`)
		first := c.publish(t)
		c.put(t, "", `{"l":"en2"}`)
		c.publish(t)
		c.must(t, 200, "PATCH", "/v2/sites/"+c.site, `{"defaultLocale":"fr"}`)
		c.check(t, "", `{"l":"fr"}`, false)
		for version, en := range map[string]string{"ref:draft": `{"l":"en2"}`, "ref:live": `{"l":"en2"}`, "publish:" + first: `{"l":"en"}`} {
			c.check(t, "?locale=en-US&versionRef="+version, en, false)
			c.check(t, "?locale=de&versionRef="+version, en, false)
			c.check(t, "?locale=fr&versionRef="+version, `{"l":"fr"}`, false)
		}

		twin := *c
		twin.site = c.must(t, 201, "POST", "/v2/sites/"+c.site+"/duplicate", `{"name":"Copy"}`).str(t, "id")
		twin.page = c.must(t, 200, "GET", "/v6/pages/about?siteId="+twin.site, "").str(t, "id")
		for _, version := range []string{"ref:draft", "ref:live"} {
			twin.check(t, "?locale=en-US&versionRef="+version, `{"l":"en2"}`, false)
			twin.check(t, "?locale=fr&versionRef="+version, `{"l":"fr"}`, false)
		}
	})
}

func TestContentInBatches(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		c := newContents(t, s)
		c.put(t, "?locale=fr", `["own"]`)
		batch := func(operations string) {
			t.Helper()
			c.must(t, 200, "POST", "/v6/pages/batch", `{"siteId":"`+c.site+`","operations":[`+operations+`]}`)
		}
		batch(`{"op":"update","pageId":"` + c.page + `","content": { "n" : 0.10 }},` +
			`{"op":"create","pathname":"/new","content":["new"],"localizations":{"fr":{"content":{"l":"fr"}},"de":{"title":"Neu","content":null}}},` +
			`{"op":"create","pathname":"/same","content":["new"]},{"op":"create","pathname":"/none"}`)
		c.check(t, "", `{"n":0.10}`, false)
		c.check(t, "?locale=fr", `["own"]`, false)
		made := *c
		made.page = c.must(t, 200, "GET", "/v6/pages/new?siteId="+c.site, "").str(t, "id")
		made.check(t, "", `["new"]`, false)
		made.check(t, "?locale=fr", `{"l":"fr"}`, false)
		made.check(t, "?locale=de", `["new"]`, true)
		made.page = c.must(t, 200, "GET", "/v6/pages/same?siteId="+c.site, "").str(t, "id")
		made.check(t, "", `["new"]`, false)
		made.page = c.must(t, 200, "GET", "/v6/pages/none?siteId="+c.site, "").str(t, "id")
		made.check(t, "", "", false)
		batch(`{"op":"update","pageId":"` + c.page + `","locale":"fr","content":null},{"op":"update","pathname":"/same","content":null}`)
		c.check(t, "?locale=fr", `{"n":0.10}`, true)
		made.page = c.must(t, 200, "GET", "/v6/pages/same?siteId="+c.site, "").str(t, "id")
		made.check(t, "", "", false)
	})
}

func TestContentDiffOfVersions(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		c := newContents(t, s)
		patch := func(query, want string) {
			t.Helper()
			var diff struct{ Patch json.RawMessage }
			if r := c.must(t, 200, "GET", c.at("/diff"+query), ""); json.Unmarshal(r.body, &diff) != nil || string(diff.Patch) != want {
				t.Errorf("%s: got %s, want %s", query, diff.Patch, want)
			}
		}
		patch("", `[]`)
		c.put(t, "", `{"a":1,"b":[1,2]}`)
		first := c.publish(t)
		c.put(t, "", `{"a":1.0,"b":[0,1,2]}`)
		c.put(t, "?locale=fr", `{"f":true}`)
		patch("", `[{"op":"replace","path":"/a","value":1.0},{"op":"add","path":"/b/0","value":0}]`)
		patch("?from=ref:draft&to=ref:live", `[{"op":"replace","path":"/a","value":1},{"op":"remove","path":"/b/0"}]`)
		patch("?locale=fr", `[{"op":"remove","path":"/a"},{"op":"remove","path":"/b"},{"op":"add","path":"/f","value":true}]`)
		c.publish(t)
		patch("", `[]`)
		patch("?from=publish:"+first, `[{"op":"replace","path":"/a","value":1.0},{"op":"add","path":"/b/0","value":0}]`)
		c.must(t, 204, "DELETE", c.at(""), "")
		patch("", `[{"op":"add","path":"","value":null}]`)
		// A page that only one of the versions has.
		c.must(t, 204, "DELETE", "/v6/pages/"+c.page, "")
		patch("?from=ref:draft&to=ref:live&locale=fr", `[{"op":"add","path":"","value":{"f":true}}]`)
		c.publish(t)
		patch("?from=publish:"+first, `[{"op":"add","path":"","value":null}]`)
	})
}

func TestResolveIncludesContent(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		c := newContents(t, s)
		c.must(t, 200, "PATCH", "/v2/sites/"+c.site, `{"hostOrigin":"https://www.example.com"}`)
		c.put(t, "?locale=fr", `{"f":0.10}`)
		c.publish(t)
		for path, want := range map[string]string{"/fr/about": `"content":{"f":0.10}`, "/about": `"content":null`, "/nothing": `"content":null`} {
			r := c.must(t, 200, "GET", "/v2/resolve?include=content&url=https://www.example.com"+path, "")
			if !strings.Contains(string(r.body), want) {
				t.Errorf("%s: %s", path, r.body)
			}
		}
		if r := c.must(t, 200, "GET", "/v2/resolve?url=https://www.example.com/fr/about", ""); strings.Contains(string(r.body), `"content":`) {
			t.Errorf("content without being asked for: %s", r.body)
		}
	})
}

func TestLargestContentIsASetting(t *testing.T) {
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err, func(o *httpapi.Options) { o.MaxContent = 100 })
	c := newContents(t, s)
	fits := `["` + strings.Repeat("a", 96) + `"]`
	c.put(t, "", fits)
	if r := c.must(t, 413, "PUT", c.at(""), fits+" "); r.str(t, "message") != "The request body is larger than 100 bytes" {
		t.Errorf("%s", r.body)
	}
	update := func(content string) string {
		return `{"siteId":"` + c.site + `","operations":[{"op":"update","pageId":"` + c.page + `","content":` + content + `}]}`
	}
	c.must(t, 200, "POST", "/v6/pages/batch", update(fits))
	r := c.must(t, 400, "POST", "/v6/pages/batch", update(`[ "`+strings.Repeat("a", 96)+`"]`))
	if !strings.Contains(string(r.body), `"operations[0].content","message":"must not be larger than 100 bytes"`) {
		t.Errorf("%s", r.body)
	}
}

func TestUnusedContentIsPurged(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		c := newContents(t, s)
		c.put(t, "", `["live"]`)
		c.publish(t)
		c.put(t, "", `["replaced"]`)
		c.put(t, "", `["draft"]`)
		stored := func() (list []string) {
			t.Helper()
			site, _ := cms.ParseID(c.site)
			for _, value := range []string{`["live"]`, `["replaced"]`, `["draft"]`} {
				if _, err := s.store.Content(t.Context(), site, cms.NewContent([]byte(value)).Digest); err == nil {
					list = append(list, value)
				}
			}
			return list
		}
		if n, err := s.svc.PurgeContents(t.Context()); n != 0 || err != nil || len(stored()) != 3 {
			t.Fatalf("%d contents were purged at once, %v", n, err)
		}
		later := service.New(s.store, func() time.Time { return clock().Add(2 * time.Hour) }, httpapi.AuditState)
		if n, err := later.PurgeContents(t.Context()); n != 1 || err != nil {
			t.Fatalf("%d contents were purged, %v", n, err)
		}
		if got := stored(); !slices.Equal(got, []string{`["live"]`, `["draft"]`}) {
			t.Errorf("stored are %v", got)
		}
		c.put(t, "", `["replaced"]`)
		c.check(t, "", `["replaced"]`, false)
	})
}
