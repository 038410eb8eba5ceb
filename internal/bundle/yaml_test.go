package bundle

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// Whatever text a page has is read as it was written.
func TestTextSurvivesYAML(t *testing.T) {
	nasty := rapid.SampledFrom([]string{
		"", " ", "a ", " a", "no", "NULL", "~", "true", "1e3", "0x1F", "2024-01-02", "a: b", "a:", "a #b", "#a", "- a", "? a", "[a]", "{a}",
		"'", "\"", "a\nb\n\n", "\n", "\t", "\u0085", "\u2028", "\ufeff", "\u00a0", "\a\v\x7f\x01", "😀", "é", "%25", "@a", "`", "|", ">", "&a", "*a", "!a",
		"https://www.example.com/?a=b", "/old/*", "À propos: l'été", "a\\nb", "\u202e", ".inf", "-", "---", "...", "<<", "=",
	})
	anyText := rapid.OneOf(nasty, rapid.String(), rapid.Custom(func(t *rapid.T) string { return nasty.Draw(t, "a") + nasty.Draw(t, "b") }))
	rapid.Check(t, func(t *rapid.T) {
		p := &page{resource: resource{values: values{pathnameField: "/a"}}, locales: map[string]values{}}
		text := anyText.Draw(t, "text")
		if checkText(text) != nil {
			return // no page has it
		}
		p.values["title"] = text
		p.values["sitemapPriority"] = rapid.Float64Range(0, 1).Draw(t, "priority")
		p.locales["fr"] = values{"description": text, "isOnline": true, "title": nil}
		r := reader{stems: map[string]*page{}, state: state{
			site: values{defaultLocaleField: "en"}, locales: []resource{{values: values{localeField: "en"}}, {values: values{localeField: "fr"}}},
		}}
		file := pageYAML(p, false)
		r.readPage("pages/a.yaml", file)
		if len(r.problems) > 0 {
			t.Fatalf("%v\n%s", r.problems, file)
		}
		got := r.state.pages[0]
		if !reflect.DeepEqual(got.values, p.values) || !reflect.DeepEqual(got.locales, p.locales) {
			t.Fatalf("%v %v, want %v %v\n%s", got.values, got.locales, p.values, p.locales, file)
		}
	})
}
