package cms_test

import (
	"strings"
	"testing"

	"galley/internal/cms"
)

func TestParseSource(t *testing.T) {
	for in, want := range map[string]string{
		"/a": "/a", "a": "/a", "/a/": "/a", "/": "/", "/*": "/*", "*": "/*", "/a/*": "/a/*", "/a/*/": "/a/*", "/caf%C3%A9/*": "/café/*",
		"/a*": "", "/*/a": "", "/a/*/b": "", "/**": "", "/a/**": "", "/a?b=1": "", "/a#b": "", "//a": "", "/a//b": "", `/a\b`: "", "/a\r\nb": "", "/a/../b": "", "": "",
		"/a%0d%0aX": "", "/a%2Fb": "", "/" + strings.Repeat("x", 2048): "",
	} {
		got, err := cms.ParseSource(in)
		if got != want && err == nil || (err != nil) != (want == "") {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestParseTarget(t *testing.T) {
	for in, want := range map[string]string{
		"/a": "/a", "a/b/": "/a/b", "/": "/", "/a/*": "/a/*", "/*": "/*", "/a:b": "/a:b",
		"https://example.com": "https://example.com", "http://example.com/a?b=1#c": "http://example.com/a?b=1#c",
		"https://example.com/*": "https://example.com/*", "https://example.com/a/*?b=1": "https://example.com/a/*?b=1", "https://example.com/?q=*": "https://example.com/?q=*",
		"HTTPS://Example.com/a": "HTTPS://Example.com/a",
		"javascript:alert(1)":   "", "JavaScript:alert(1)": "", "data:text/html,x": "", "mailto:a@example.com": "", "ftp://example.com": "",
		"//evil.example": "", `\\evil.example`: "", `/\evil.example`: "", `https:\\evil.example`: "", `https://example.com\@evil.example`: "",
		"https://": "", "https:/a": "", "https:a": "", "http://a b/": "", "/a\r\nLocation: /b": "", "https://example.com/\r\nX: y": "", "https://example.com/a*": "", "https://example.com/*/a": "",
		"https://user:secret@example.com/": "", "/a?b=1": "", "/*/b": "", "": "", "https://example.com/" + strings.Repeat("x", 2048): "",
	} {
		got, err := cms.ParseTarget(in)
		if got != want && err == nil || (err != nil) != (want == "") {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestRedirectExpands(t *testing.T) {
	for _, c := range []struct{ source, target, pathname, want string }{
		{"/a", "/b", "/a", "/b"},
		{"/a/*", "/b/*", "/a/x/y", "/b/x/y"},
		{"/a/*", "/*", "/a/x", "/x"},
		{"/*", "/b/*", "/x", "/b/x"},
		{"/a/*", "/b", "/a/x", "/b"},
		{"/a/*", "https://example.com/*", "/a/é 1", "https://example.com/%C3%A9%201"},
		{"/a/*", "https://example.com/b/*?q=/*#/*", "/a/x", "https://example.com/b/x?q=/*#/*"},
	} {
		r := cms.Redirect{Source: c.source, Target: c.target}
		if got := r.Expand(c.pathname); got != c.want || !r.Matches(c.pathname) {
			t.Errorf("%+v: got %q", c, got)
		}
	}
	for source, pathname := range map[string]string{"/a": "/a/b", "/a/*": "/a", "/*": "/", "/a/b/*": "/a/bc/d"} {
		if (cms.Redirect{Source: source}).Matches(pathname) {
			t.Errorf("%s covers %s", source, pathname)
		}
	}
}

func TestActingRedirect(t *testing.T) {
	fr := cms.NewID()
	all := []cms.Redirect{
		{Source: "/*", Target: "/1"}, {Source: "/a/*", Target: "/2"}, {Source: "/a/b", Target: "/3"},
		{Source: "/a/b", Target: "/4", LocaleID: fr}, {Source: "/*", Target: "/5", LocaleID: fr},
	}
	for _, c := range []struct {
		pathname string
		locale   cms.ID
		want     string
	}{
		{"/", fr, ""}, {"/x", fr, "/5"}, {"/x", cms.NoID, "/1"}, {"/a", fr, "/5"}, {"/a/x", fr, "/2"}, {"/a/b", fr, "/4"}, {"/a/b", cms.NewID(), "/3"}, {"/a/b/c", fr, "/2"},
	} {
		if got, _ := cms.ActingRedirect(all, c.pathname, c.locale); got.Target != c.want {
			t.Errorf("%s: got %q, want %q", c.pathname, got.Target, c.want)
		}
	}
}

func TestRedirectPatchMakesOrdinary(t *testing.T) {
	auto := cms.Redirect{Source: "/a", Target: "/b", Status: 308, IsAutomatic: true}
	same := cms.RedirectPatch{Target: cms.Some("/b")}.Apply(auto, cms.NoID)
	if !same.IsAutomatic {
		t.Error("a patch that changes nothing makes it ordinary")
	}
	for _, patch := range []cms.RedirectPatch{
		{Source: cms.Some("/x")}, {Target: cms.Some("/x")}, {Status: cms.Some(302)}, {Locale: cms.Opt[*string]{Set: true, Value: new("fr")}},
	} {
		if got := patch.Apply(auto, cms.NewID()); got.IsAutomatic || got.SameContent(auto) {
			t.Errorf("%+v leaves %+v", patch, got)
		}
	}
}

func TestNewRedirectProblems(t *testing.T) {
	n := cms.NewRedirect{RedirectPatch: cms.RedirectPatch{
		Source: cms.Some("/a"), Target: cms.Some("/b/*"), Status: cms.Some(200), Locale: cms.Opt[*string]{Set: true, Value: new("xx_1")},
	}}
	var p cms.Problems
	n.Clean(&p)
	for _, field := range []string{"siteId", "target", "status", "locale"} {
		if !p.Has(field) {
			t.Errorf("nothing is wrong with %s", field)
		}
	}
	if p.Has("source") {
		t.Error("something is wrong with source")
	}
}

func TestRedirectClashes(t *testing.T) {
	locales := cms.Locales{{ID: cms.NewID()}, {ID: cms.NewID()}}
	en, fr := locales[0].ID, locales[1].ID // en is the default
	page := cms.Page{ID: cms.NewID(), Values: cms.Values{Pathname: "/a"}}
	moved := cms.Page{ID: cms.NewID(), Values: cms.Values{Pathname: "/a"}, Localizations: map[cms.ID]cms.Localization{
		fr: {Own: cms.FieldPathname, Values: cms.Values{Pathname: "/f"}},
	}}
	redirect := func(locale cms.ID, source string) []cms.Claim {
		return cms.Redirect{ID: cms.NewID(), LocaleID: locale, Source: source}.Claims(locales)
	}
	for _, c := range []struct {
		name   string
		claims []cms.Claim
		other  []cms.Claim
		want   bool
	}{
		{"of every locale and a page", redirect(cms.NoID, "/a"), page.Claims(locales), true},
		{"of every locale and a page that is elsewhere in one", redirect(cms.NoID, "/f"), moved.Claims(locales), true},
		{"of a locale and a page that inherits", redirect(fr, "/a"), page.Claims(locales), true},
		{"of a locale and a page that is elsewhere there", redirect(fr, "/a"), moved.Claims(locales), false},
		{"of a locale and the pathname of a page there", redirect(fr, "/f"), moved.Claims(locales), true},
		{"of the default locale and a page", redirect(en, "/a"), moved.Claims(locales), true},
		{"of the default locale and the pathname of a page elsewhere", redirect(en, "/f"), moved.Claims(locales), false},
		{"of every locale and of one", redirect(cms.NoID, "/a"), redirect(fr, "/a"), false},
		{"of the same locale", redirect(fr, "/a"), redirect(fr, "/a"), true},
		{"of every locale, twice", redirect(cms.NoID, "/a"), redirect(cms.NoID, "/a"), true},
		{"of two locales", redirect(en, "/a"), redirect(fr, "/a"), false},
		{"of a locale and a route", redirect(fr, "/a"), cms.Route{ID: cms.NewID(), Pathname: "/a"}.Claims(), true},
		{"with a star and a page", redirect(fr, "/a/*"), cms.Page{ID: cms.NewID(), Values: cms.Values{Pathname: "/a/*"}}.Claims(locales), false},
	} {
		if got := clash(t, c.claims, c.other, page, moved); got != c.want {
			t.Errorf("a redirect %s: clashes %t, want %t", c.name, got, c.want)
		}
	}
}
