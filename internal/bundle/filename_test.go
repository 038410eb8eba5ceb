package bundle

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestFileNamesOfPathnames(t *testing.T) {
	for pathname, want := range map[string]string{
		"/":                "index",
		"/index":           "%69ndex",
		"/index/a":         "index/a",
		"/blog/index":      "blog/index",
		"/about":           "about",
		"/about/team":      "about/team",
		"/About":           "%41bout",
		"/à-propos":        "à-propos",
		"/À-propos":        "%C3%80-propos",
		"/straße":          "stra%C3%9Fe",
		"/日本語":             "日本語",
		"/हिन्दी":          "हिन्दी",
		"/100%":            "100%25",
		"/%41":             "%25%34%31"[:3] + "41",
		"/a b":             "a%20b",
		"/.well-known/x":   "%2Ewell-known/x",
		"/.git/config":     "%2Egit/config",
		"/a./b":            "a%2E/b",
		"/v1.2":            "v1.2",
		"/a.yaml/b":        "a%2Eyaml/b",
		"/a.fr.json/b":     "a.fr%2Ejson/b",
		"/con":             "%63on",
		"/aux.txt/nul":     "%61ux.txt/%6Eul",
		"/console":         "console",
		"/com1":            "%63om1",
		"/a:b*c|d\"e<f>":   "a%3Ab%2Ac%7Cd%22e%3Cf%3E",
		"/~x":              "%7Ex",
		"/a\u202eb\u200bc": "a%E2%80%AEb%E2%80%8Bc",
	} {
		if got := stem(pathname); got != want {
			t.Errorf("%s: %s, want %s", pathname, got, want)
		}
	}
}

func TestLongPathnamesHaveShortFileNames(t *testing.T) {
	long := strings.Repeat("é", 300)
	a, b := stem("/"+long+"a"), stem("/"+long+"b")
	if len(a) > maxSegment || a == b || !utf8.ValidString(a) {
		t.Errorf("%s (%d bytes), %s", a, len(a), b)
	}
	deep := strings.Repeat("/segment", 200)
	if c, d := stem(deep+"/a"), stem(deep+"/b"); len(c) > maxStem || c == d {
		t.Errorf("%s, %s", c, d)
	}
}

// Whatever two pathnames are, no file system takes their file names for the same.
func TestFileNamesDiffer(t *testing.T) {
	segment := rapid.StringMatching(`[aAbBéÉßsSſKkK.%~ -]{1,4}|index|con|Con`)
	path := rapid.Custom(func(t *rapid.T) string {
		return "/" + norm.NFC.String(strings.Join(rapid.SliceOfN(segment, 1, 3).Draw(t, "segments"), "/"))
	})
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		pathname := path.Draw(t, "pathname")
		name := cases.Fold().String(norm.NFD.String(stem(pathname)))
		if other, ok := seen[name]; ok && other != pathname {
			t.Fatalf("%q and %q are both %s", pathname, other, name)
		}
		seen[name] = pathname
	})
}
