package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// batchTest is a site with locales en-US, fr and de and the pages /a, /b and /c,
// and a batch that succeeds or is refused.
type batchTest struct {
	name       string
	operations string // {a}, {b} and {c} are the pages
	status     int    // 200 if 0
	fields     string // of an error
	// paths are the pathnames afterwards, in the default locale and in fr; names
	// in braces again. Nil: as before.
	paths, fr map[string]string
}

var batchTests = []batchTest{
	{
		name:       "two pages swap",
		operations: `{"op":"update","pageId":"{a}","pathname":"/b"},{"op":"update","pageId":"{b}","pathname":"/a"}`,
		paths:      map[string]string{"/a": "{b}", "/b": "{a}", "/c": "{c}"},
	},
	{
		name:       "three pages swap",
		operations: `{"op":"update","pageId":"{a}","pathname":"/b"},{"op":"update","pageId":"{b}","pathname":"/c"},{"op":"update","pageId":"{c}","pathname":"/a"}`,
		paths:      map[string]string{"/a": "{c}", "/b": "{a}", "/c": "{b}"},
	},
	{
		name: "two pages swap in a locale",
		operations: `{"op":"update","pageId":"{a}","locale":"fr","pathname":"/b"},
			{"op":"update","pageId":"{b}","locale":"fr","pathname":"/a"}`,
		paths: map[string]string{"/a": "{a}", "/b": "{b}", "/c": "{c}"},
		fr:    map[string]string{"/a": "{b}", "/b": "{a}", "/c": "{c}"},
	},
	{
		name:       "half a swap",
		operations: `{"op":"update","pageId":"{a}","pathname":"/b"},{"op":"update","pageId":"{b}","title":"x"}`,
		status:     409, fields: "operations[0].pathname",
	},
	{
		name:       "a circle that does not close",
		operations: `{"op":"update","pageId":"{a}","pathname":"/b"},{"op":"update","pageId":"{b}","pathname":"/c"}`,
		status:     409, fields: "operations[1].pathname",
	},
	{
		name:       "there and back",
		operations: `{"op":"update","pageId":"{a}","pathname":"/b"},{"op":"update","pageId":"{a}","pathname":"/a","title":"x"}`,
	},
	{
		name:       "create before what frees the pathname",
		operations: `{"op":"create","pathname":"/a"},{"op":"delete","pathname":"/a"}`,
		paths:      map[string]string{"/a": "new", "/b": "{b}", "/c": "{c}"},
	},
	{
		name:       "create after what frees the pathname",
		operations: `{"op":"delete","pageId":"{a}"},{"op":"create","pathname":"/a"}`,
		paths:      map[string]string{"/a": "new", "/b": "{b}", "/c": "{c}"},
	},
	{
		name:       "create in the place of a page that moves into another's",
		operations: `{"op":"create","pathname":"/a"},{"op":"update","pageId":"{a}","pathname":"/b"},{"op":"delete","pathname":"/b"}`,
		paths:      map[string]string{"/a": "new", "/b": "{a}", "/c": "{c}"},
	},
	{
		name:       "a page takes the default pathname of one that goes by another in the locale",
		operations: `{"op":"update","pathname":"/b","locale":"fr","pageId":"{a}"},{"op":"update","pageId":"{b}","locale":"fr","pathname":"/d"}`,
		paths:      map[string]string{"/a": "{a}", "/b": "{b}", "/c": "{c}"},
		fr:         map[string]string{"/b": "{a}", "/d": "{b}", "/c": "{c}"},
	},
	{
		name: "an override that meets what another page comes to inherit",
		operations: `{"op":"update","pageId":"{a}","locale":"fr","pathname":"/d"},{"op":"update","pageId":"{b}","locale":"fr","pathname":"/a"},
			{"op":"delete","pageId":"{a}","locale":"fr"}`,
		status: 409, fields: "operations[2].pathname",
	},
	{
		name:       "an override that meets a new default pathname",
		operations: `{"op":"update","pageId":"{a}","locale":"fr","pathname":"/d"},{"op":"update","pageId":"{b}","pathname":"/d"}`,
		status:     409, fields: "operations[1].pathname",
	},
	{
		name:       "a default pathname beside the same override of its own",
		operations: `{"op":"create","pathname":"/d","localizations":{"fr":{"pathname":"/d"}}},{"op":"update","pageId":"{b}","locale":"de","pathname":"/x"}`,
		paths:      map[string]string{"/a": "{a}", "/b": "{b}", "/c": "{c}", "/d": "new"},
		fr:         map[string]string{"/a": "{a}", "/b": "{b}", "/c": "{c}", "/d": "new"},
	},
	{
		name:       "localizations that swap with those of pages that are there",
		operations: `{"op":"create","pathname":"/d","localizations":{"FR":{"pathname":"/a"}}},{"op":"update","pageId":"{a}","locale":"fr","pathname":"/d"}`,
		paths:      map[string]string{"/a": "{a}", "/b": "{b}", "/c": "{c}", "/d": "new"},
		fr:         map[string]string{"/d": "{a}", "/b": "{b}", "/c": "{c}", "/a": "new"},
	},
	{
		name:       "all that want one pathname but the first",
		operations: `{"op":"create","pathname":"/d"},{"op":"update","pageId":"{a}","pathname":"/d"},{"op":"update","pageId":"{b}","pathname":"/d"},{"op":"create","pathname":"/c"}`,
		status:     409, fields: "operations[1].pathname operations[2].pathname operations[3].pathname",
	},
	{
		name:       "named by the pathnames before the batch",
		operations: `{"op":"update","pageId":"{a}","pathname":"/b"},{"op":"update","pageId":"{b}","pathname":"/a"},{"op":"delete","pathname":"/a"}`,
		paths:      map[string]string{"/a": "{b}", "/c": "{c}"},
	},
	{
		name:       "named in a locale, and left to inheritance again",
		operations: `{"op":"update","pathname":"a/","locale":"fr","title":"x"},{"op":"delete","pathname":"/%61","locale":"fr"}`,
	},
}

func TestBatchPathnames(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for _, test := range batchTests {
			t.Run(test.name, func(t *testing.T) { s.testBatch(t, test) })
		}
	})
}

func (s *system) testBatch(t *testing.T, test batchTest) {
	t.Helper()
	site, _ := s.newSite(t)
	for _, code := range []string{"fr", "de"} {
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"`+code+`"}`)
	}
	ids := map[string]string{}
	before := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		id := s.newPage(t, site, "/"+name)
		ids[id], before["/"+name] = "{"+name+"}", "{"+name+"}"
		test.operations = strings.ReplaceAll(test.operations, "{"+name+"}", id)
	}
	if test.status == 0 {
		test.status = 200
	}
	if test.paths == nil {
		test.paths = before
	}
	if test.fr == nil {
		test.fr = test.paths
	}
	r := s.call(t, "POST", "/v6/pages/batch", `{"siteId":"`+site+`","operations":[`+test.operations+`]}`)
	var e struct{ Details []struct{ Field string } }
	if err := json.Unmarshal(r.body, &e); err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, d := range e.Details {
		fields = append(fields, d.Field)
	}
	if got := strings.Join(fields, " "); r.status != test.status || got != test.fields {
		t.Fatalf("%d with details on %s, want %d with %s\n%s", r.status, got, test.status, test.fields, r.body)
	}
	for locale, want := range map[string]map[string]string{"en-US": test.paths, "fr": test.fr} {
		got := map[string]string{}
		for _, p := range s.pagesOf(t, site, locale) {
			got[p.Pathname] = "new"
			if name := ids[p.ID]; name != "" {
				got[p.Pathname] = name
			}
			if found := s.must(t, 200, "GET", "/v6/pages/"+strings.TrimPrefix(p.Pathname, "/")+"?siteId="+site+"&locale="+locale, "").str(t, "id"); found != p.ID {
				t.Errorf("%s in %s leads to %s instead of %s", p.Pathname, locale, found, p.ID)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the pages in %s (-want +got):\n%s", locale, diff)
		}
	}
}

type listedPage struct{ ID, Pathname, Title string }

func (s *system) pagesOf(t *testing.T, site, locale string) []listedPage {
	t.Helper()
	var list struct{ Data []listedPage }
	r := s.must(t, 200, "GET", "/v6/pages?limit=100&siteId="+site+"&locale="+locale, "")
	if err := json.Unmarshal(r.body, &list); err != nil {
		t.Fatal(err)
	}
	return list.Data
}

// A page that is made with localizations is the same as one that is made and
// then localized, in its answer, to its readers and in the audit trail.
func TestBatchCreatesLocalizations(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		fr := s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"fr"}`).str(t, "id")
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"de"}`)
		r := s.must(t, 200, "POST", "/v6/pages/batch", `{"siteId":"`+site+`","operations":[{"op":"create","pathname":"/a","title":"A","localizations":{
			"`+fr+`":{"pathname":"/ah","title":"Ah","isOnline":false},"de":{"title":null,"description":null}}}]}`)
		var batch struct{ Results []map[string]any }
		if err := json.Unmarshal(r.body, &batch); err != nil {
			t.Fatal(err)
		}
		made := batch.Results[0]
		want := []any{map[string]any{"id": fr, "locale": "fr", "pathname": "/ah"}}
		if diff := cmp.Diff(want, made["localizations"]); diff != "" {
			t.Error(diff)
		}
		shown := s.must(t, 200, "GET", "/v6/pages/ah?locale=fr&siteId="+site, "").json(t)
		if shown["title"] != "Ah" || shown["isOnline"] != false || shown["id"] != made["id"] {
			t.Errorf("%v", shown)
		}
		shown = s.must(t, 200, "GET", "/v6/pages/a?locale=de&siteId="+site, "").json(t)
		if shown["title"] != "A" || shown["isOnline"] != true {
			t.Errorf("%v", shown)
		}
		trail := s.must(t, 200, "GET", fmt.Sprintf("/v2/audit?resourceId=%s", made["id"]), "")
		if !strings.Contains(string(trail.body), `"Ah"`) || len(trail.json(t)["data"].([]any)) != 2 {
			t.Errorf("the audit trail lacks the localization: %s", trail.body)
		}
		s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", `{}`)
		s.must(t, 200, "GET", "/v6/pages/ah?locale=fr&versionRef=ref:live&siteId="+site, "")
	})
}
