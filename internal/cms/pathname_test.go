package cms_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"galley/internal/cms"
)

// "" as the wanted value means that the input is refused.
func TestParsePathname(t *testing.T) {
	longest := "/" + strings.Repeat("a", cms.MaxPathname-1)
	for in, want := range map[string]string{
		"/": "/", "/about": "/about", "about": "/about", "/about/": "/about", "about/": "/about", "a/b": "/a/b",
		"/%61bout": "/about", "/caf%C3%A9": "/café", "/cafe\u0301": "/café", "/cafe%CC%81": "/café",
		"/100%25": "/100%", "/100%": "/100%", "/a%zz": "/a%zz", "/a%": "/a%", "/a%2": "/a%2", "/%": "/%", "/%%41": "/%A", "/50%-off": "/50%-off", "/a%+1": "/a%+1", "/a% 1": "/a% 1", "/%2541": "/%41", "/a b": "/a b", "/a%20b": "/a b", "/a+b": "/a+b", "/...": "/...",
		"/.well-known": "/.well-known", "/a:b;c=d,e": "/a:b;c=d,e", "/日本": "/日本", "/About": "/About",
		longest: longest, longest + "/": longest, longest[1:]: longest,

		"": "", "//": "", "/a//b": "", "//a": "", "/a//": "", "/.": "", "/..": "", ".": "", "..": "", "/a/../b": "",
		"/%2e%2e": "", "/%2E": "", "/a/%2e%2e/b": "", "/a?b": "", "/a#b": "", "/a%3Fb": "", "/a%23b": "", "/a%2Fb": "",
		"/a%2fb": "", "/a%5Cb": "", `/a\b`: "", "/a%00b": "", "/a\x00b": "", "/a%0Ab": "", "/a\tb": "", "/a\u007f": "",
		"/a\u0085b": "", "/a%FF": "", "/a%C0%AF": "", "/a\xffb": "", "/%ED%A0%80": "",
		longest + "a": "", strings.Repeat("/a", 100_000): "",
	} {
		got, err := cms.ParsePathname(in)
		if (err != nil) != (want == "") || got != want {
			t.Errorf("%.60q reads as %.60q, %v; want %.60q", in, got, err, want)
		}
	}
}

func TestCanonicalPathnameDecodesNothing(t *testing.T) {
	for in, want := range map[string]string{
		"/": "/", "/about": "/about", "about/": "/about", "cafe\u0301": "/café", "/a%2Fb": "/a%2Fb", "/%2e%2e": "/%2e%2e",
		"/..": "", "/a//b": "", "//": "", "/a\x00": "", "\xff": "", `\`: "", "?": "",
	} {
		got, err := cms.CanonicalPathname(in)
		if (err != nil) != (want == "") || got != want {
			t.Errorf("%q reads as %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestRawPathnameKeepsEveryLetter(t *testing.T) {
	longest := strings.Repeat("a", cms.MaxPathname)
	for _, in := range []string{"/products/[slug]", "products/:id", "/../x", "//", "/a?b#c", "/a%zz", "/cafe\u0301", `\`, longest} {
		if got, err := cms.RawPathname(in); err != nil || got != in {
			t.Errorf("%.60q reads as %.60q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", longest + "a", "/a\x00", "/a\nb", "/a\u0085", "\xff"} {
		if got, err := cms.RawPathname(in); err == nil {
			t.Errorf("%.60q reads as %.60q", in, got)
		}
	}
}

func TestParsePathPrefix(t *testing.T) {
	for in, want := range map[string]string{"": "", "fr": "fr", "fr-CA": "fr-CA", "caf%C3%A9": "café"} {
		if got, err := cms.ParsePathPrefix(in); err != nil || got != want {
			t.Errorf("%q reads as %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"/", "/fr", "fr/", "a/b", ".", "..", "a%2Fb", "a?", "a#", `a\b`, "a\x00", "%FF", strings.Repeat("a", 3000)} {
		if got, err := cms.ParsePathPrefix(in); err == nil {
			t.Errorf("%.60q reads as %.60q", in, got)
		}
	}
}

func TestLastSegment(t *testing.T) {
	for in, want := range map[string]string{"/": "/", "/a": "a", "/a/b": "b"} {
		if got := cms.LastSegment(in); got != want {
			t.Errorf("%s ends in %s, want %s", in, got, want)
		}
	}
}

func FuzzPathname(f *testing.F) {
	for _, seed := range []string{
		"/", "about", "a/b", "%2Fabout", "a%2Fb", "cafe%CC%81", "..", "%2e%2e%2fetc", "%FF", "%C0%AF", "a%00b", "a%252Fb",
		`a\b`, "\u202e", "\u200b", "' OR 1=1--", "/a?b", "/a#b", "//", "/a/", "/\u0338", "/\u1100\u1161\u11a8", "/;", "/\u037e",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := cms.ParsePathname(in)
		if err != nil {
			if got != "" {
				t.Errorf("refused and still %q", got)
			}
			return
		}
		checkPathname(t, got)
		// What is stored must be found again under itself.
		if again, err := cms.CanonicalPathname(got); err != nil || again != got {
			t.Errorf("%q is canonical as %q, %v", got, again, err)
		}
	})
}

func checkPathname(t *testing.T, p string) {
	t.Helper()
	if !strings.HasPrefix(p, "/") || (p != "/" && strings.HasSuffix(p, "/")) {
		t.Errorf("%q has the wrong slashes", p)
	}
	if len(p) > cms.MaxPathname || !utf8.ValidString(p) || !norm.NFC.IsNormalString(p) {
		t.Errorf("%q is too long or not in NFC", p)
	}
	if strings.ContainsAny(p, "?#\\") || strings.ContainsFunc(p, unicode.IsControl) {
		t.Errorf("%q has what a pathname must not have", p)
	}
	if p == "/" {
		return
	}
	for segment := range strings.SplitSeq(p[1:], "/") {
		if segment == "" || segment == "." || segment == ".." {
			t.Errorf("%q has the segment %q", p, segment)
		}
	}
}
