package bundle

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goodBundle is a bundle that is read without a problem.
var goodBundle = map[string]string{
	"site.yaml":      "bundle: 1\nname: Shop\nhostOrigin: https://www.example.com\ndefaultLocale: en-US\n",
	"locales.yaml":   "- locale: en-US\n- locale: fr\n  pathPrefix: france\n",
	"routes.yaml":    "- pathname: /cart\n- pathname: /products/[slug]\n",
	"redirects.yaml": "- source: /old\n  target: /about\n- source: /old\n  locale: fr\n  target: /about\n  status: 301\n- source: /blog/*\n  target: https://blog.example.com/*\n",
	"pages/about.yaml": "# The team\npathname: /about\ntitle: >\n  About\n  us\ndescription: |\n  Two\n  lines\nlocalizations:\n  fr:\n    pathname: /a-propos\n" +
		"    title: 'À propos'\n",
	"pages/index.yaml":         "pathname: /\n",
	"content/about.fr.json":    "{\"a\": 1}\n",
	"content/index.en-us.json": "[]",
	"README.md":                "Not read.",
	"pages/.DS_Store":          "Not read.",
	".git/config":              "Not read.",
}

// writeFiles writes a bundle with some files changed; "-" leaves one out.
func writeFiles(t *testing.T, changed map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, files := range []map[string]string{goodBundle, changed} {
		for name, text := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if text == "-" {
				_ = os.Remove(path) // it may not be there
				continue
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func TestAGoodBundleIsRead(t *testing.T) {
	s, err := read(writeFiles(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	about := s.pages[1]
	if diff := cmp.Diff(values{pathnameField: "/about", "title": "About us\n", "description": "Two\nlines\n"}, about.values); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(values{pathnameField: "/a-propos", "title": "À propos", contentField: s.pages[1].locales["fr"].text(contentField)}, about.locales["fr"]); diff != "" {
		t.Error(diff)
	}
	if len(s.contents) != 2 || !has(s.pages[0].values, contentField) {
		t.Error(s.contents)
	}
}

func TestProblemsOfBundles(t *testing.T) {
	deep := strings.Repeat("[", 101) + strings.Repeat("]", 101)
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no bundle":          {map[string]string{"site.yaml": "-"}, "site.yaml: is missing: galley export writes it"},
		"no format":          {map[string]string{"site.yaml": "name: Shop\ndefaultLocale: en-US\n"}, "site.yaml:1: bundle is required, such as bundle: 1"},
		"another format":     {map[string]string{"site.yaml": "bundle: 2\nname: Shop\ndefaultLocale: en-US\n"}, "site.yaml:1: bundle must be 1, the format that this program reads"},
		"missing lists":      {map[string]string{"routes.yaml": "-", "redirects.yaml": "-"}, "redirects.yaml: is missing: galley export writes it\nroutes.yaml: is missing: galley export writes it"},
		"no YAML":            {map[string]string{"routes.yaml": "- pathname: [\n"}, "routes.yaml:1: is no YAML: sequence end token ']' not found"},
		"an empty file":      {map[string]string{"routes.yaml": ""}, "routes.yaml: must have one YAML document"},
		"no list":            {map[string]string{"routes.yaml": "pathname: /a\n"}, "routes.yaml:1: must be a list of routes; an empty one is []"},
		"no fields":          {map[string]string{"routes.yaml": "- /a\n"}, "routes.yaml:1: a route must have fields, one a line\nroutes.yaml:1: pathname is required"},
		"a key twice":        {map[string]string{"pages/about.yaml": "pathname: /a\ntitle: A\ntitle: B\n"}, `pages/about.yaml:3: is no YAML: mapping key "title" already defined at [2:1]`},
		"an alias":           {map[string]string{"routes.yaml": "- pathname: &a /a\n- pathname: *a\n"}, "routes.yaml:1: pathname must be text\nroutes.yaml:2: pathname must be text"},
		"an unknown field":   {map[string]string{"pages/index.yaml": "pathname: /\nTitle: Home\ncolour: red\n"}, "pages/index.yaml:2: Title is no field of a page: did you mean title?\npages/index.yaml:3: colour is no field of a page"},
		"no pathname":        {map[string]string{"pages/index.yaml": "title: Home\n"}, "pages/index.yaml:1: pathname is required"},
		"a null pathname":    {map[string]string{"pages/index.yaml": "pathname: null\n"}, "pages/index.yaml:1: pathname must not be null"},
		"a bad pathname":     {map[string]string{"pages/index.yaml": "pathname: /a//b\n"}, "pages/index.yaml:1: pathname must not have an empty segment"},
		"a number for text":  {map[string]string{"pages/index.yaml": "pathname: /\ntitle: 2024\n"}, `pages/index.yaml:2: title must be text: put it in quotes, "2024"`},
		"a text for a truth": {map[string]string{"pages/index.yaml": "pathname: /\nisOnline: \"yes\"\n"}, "pages/index.yaml:2: isOnline must be true or false"},
		"a list for text":    {map[string]string{"pages/index.yaml": "pathname: /\ntitle: [a]\n"}, "pages/index.yaml:2: title must be text"},
		"values out of range": {
			map[string]string{"pages/index.yaml": "pathname: /\nsitemapPriority: 2\nsitemapFrequency: often\ncanonicalUrl: javascript:alert(1)\nname: \" \"\n"},
			"pages/index.yaml:2: sitemapPriority must be between 0 and 1\npages/index.yaml:3: sitemapFrequency must be one of always, hourly, daily, weekly, monthly, yearly, never\n" +
				"pages/index.yaml:4: canonicalUrl must be an absolute http or https URL\npages/index.yaml:5: name must not be blank",
		},
		"site settings": {
			map[string]string{"site.yaml": "bundle: 1\nname: Shop\ndefaultLocale: english\nhostOrigin: example.com\nsiteKeyAccess: all\nlabels: [A]\n"},
			"site.yaml:3: defaultLocale must be a language code, optionally with a region, such as en or en-US\nsite.yaml:4: hostOrigin must be an http or https origin such as https://www.example.com, without path, query, fragment or user info\n" +
				"site.yaml:5: siteKeyAccess must be one of live, draft\nsite.yaml:6: labels item 0 must be 1 to 40 of a-z, 0-9 and -",
		},
		"an unknown locale":     {map[string]string{"pages/index.yaml": "pathname: /\nlocalizations:\n  de:\n    title: A\n"}, "pages/index.yaml:3: de is no locale of locales.yaml"},
		"the default locale":    {map[string]string{"pages/index.yaml": "pathname: /\nlocalizations:\n  en-US:\n    title: A\n"}, "pages/index.yaml:3: en-US is the default locale, whose values are those of the page itself"},
		"a name in a locale":    {map[string]string{"pages/index.yaml": "pathname: /\nlocalizations:\n  fr:\n    name: A\n"}, "pages/index.yaml:4: name is no field of a localization"},
		"content in the page":   {map[string]string{"pages/index.yaml": "pathname: /\nlocalizations:\n  fr:\n    content: a\n"}, "pages/index.yaml:4: content must be in a file of the folder content"},
		"no default locale":     {map[string]string{"locales.yaml": "- locale: fr\n", "content/index.en-us.json": "-"}, "locales.yaml: has no locale en-US, which is the defaultLocale of site.yaml"},
		"a locale twice":        {map[string]string{"locales.yaml": "- locale: en-US\n- locale: fr\n- locale: FR\n  pathPrefix: x\n"}, "locales.yaml:3: fr is already in line 2"},
		"locales at one place":  {map[string]string{"locales.yaml": "- locale: en-US\n- locale: fr\n  pathPrefix: \"\"\n"}, "locales.yaml:2: en-US and fr would be served at the same origin and path prefix"},
		"a pathname twice":      {map[string]string{"pages/other.yaml": "title: A\npathname: /about\n"}, "pages/other.yaml:2: /about is already a pathname of pages/about.yaml in en-US"},
		"one in a locale":       {map[string]string{"pages/other.yaml": "pathname: /other\nlocalizations:\n  fr:\n    pathname: /a-propos\n"}, "pages/other.yaml:4: /a-propos is already a pathname of pages/about.yaml in fr"},
		"one that is inherited": {map[string]string{"pages/other.yaml": "pathname: /a-propos\n"}, "pages/about.yaml:11: /a-propos is already a pathname of pages/other.yaml in fr"},
		"that of a route":       {map[string]string{"pages/other.yaml": "pathname: /cart\n"}, "pages/other.yaml:1: /cart is already a pathname of routes.yaml in en-US"},
		"that of a redirect":    {map[string]string{"pages/other.yaml": "pathname: /old\n"}, "redirects.yaml:1: /old is already a pathname of pages/other.yaml in en-US\nredirects.yaml:3: /old is already a pathname of pages/other.yaml in fr"},
		"a redirect twice":      {map[string]string{"redirects.yaml": "- source: /old\n  target: /a\n- source: /old\n  target: /b\n"}, "redirects.yaml:3: /old is already in line 1"},
		"bad redirects": {
			map[string]string{"redirects.yaml": "- source: /a\n  target: /b/*\n- source: /c*d\n  target: //example.com\n- source: /e\n  target: /f\n  status: 303\n  locale: de\n"},
			"redirects.yaml:2: target may end in /* only if the source does\nredirects.yaml:3: source may have a * only as its whole last segment\n" +
				"redirects.yaml:4: target must not have an empty segment\nredirects.yaml:7: status must be one of 301, 302, 307, 308\nredirects.yaml:8: de is no locale of locales.yaml",
		},
		"an id that is none": {map[string]string{"pages/index.yaml": "pathname: /\nid: 7f\n"}, "pages/index.yaml:2: id must be an id, as galley export --ids writes it"},
		"an id twice": {
			map[string]string{"pages/index.yaml": "pathname: /\nid: 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b\n", "pages/other.yaml": "pathname: /other\nid: 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b\n"},
			"pages/other.yaml:2: id is already that of another page, pages/index.yaml:2",
		},
		"movedFrom its place": {map[string]string{"pages/index.yaml": "pathname: /\nmovedFrom: /\n"}, "pages/index.yaml:2: movedFrom must differ from the pathname"},
		"another ending":      {map[string]string{"pages/index.yaml": "-", "pages/index.yml": "pathname: /\n", "content/index.en-us.json": "-"}, "pages/index.yml: must be named pages/index.yaml"},
		"content of no page":  {map[string]string{"content/nobody.fr.json": "{}"}, "content/nobody.fr.json: has no page: there is no pages/nobody.yaml"},
		"content of no locale": {map[string]string{"content/about.de.json": "{}", "content/about.json": "{}"},
			"content/about.de.json: de is no locale of locales.yaml\ncontent/about.json: must be named after a page and a locale, such as about.en-US.json"},
		"content that is no JSON":  {map[string]string{"content/about.fr.json": "{\n  \"a\": 1,\n}\n"}, "content/about.fr.json:2: is no JSON: invalid character ',' at start of value"},
		"content with a key twice": {map[string]string{"content/about.fr.json": "{\n  \"a\": 1,\n  \"a\": 2\n}\n"}, "content/about.fr.json:3: is no JSON: duplicate object member name"},
		"content that is text":     {map[string]string{"content/about.fr.json": "\"a\""}, "content/about.fr.json:1: must be a JSON object or array"},
		"content twice":            {map[string]string{"content/about.fr.json": "{}\n{}"}, "content/about.fr.json: must be one JSON object or array"},
		"content too deep":         {map[string]string{"content/about.fr.json": deep}, "content/about.fr.json: must not be nested deeper than 100 levels"},
		"content of bad letters":   {map[string]string{"content/about.fr.json": "{\"a\": \"\xff\"}"}, "content/about.fr.json:1: is no JSON: invalid UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(writeFiles(t, test.files))
			var invalid *InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("no problems: %v", err)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
