package cms_test

import (
	"strings"
	"testing"

	"galley/internal/cms"
)

func TestPreviewTokenReadsBack(t *testing.T) {
	token := cms.NewPreviewToken()
	if got, ok := cms.ParsePreviewToken(string(token)); !ok || got != token || len(token) != 52 || token == cms.NewPreviewToken() {
		t.Fatalf("%s reads as %s, %v", token, got, ok)
	}
	key := string(cms.NewAppKey())
	for _, s := range []string{"", "pv_", string(token[:51]), string(token) + "0", "sk_" + string(token[3:]), "pv_" + key[3:], strings.ToUpper(string(token)), key} {
		if _, ok := cms.ParsePreviewToken(s); ok {
			t.Errorf("%q is a token", s)
		}
	}
	for _, s := range []string{string(token), "sk_" + string(token[3:])} {
		if _, ok := cms.ParseAppKey(s); ok {
			t.Errorf("%q is a key", s)
		}
	}
}

func TestPreviewCoversBySegments(t *testing.T) {
	for _, c := range []struct {
		prefix, pathname string
		want             bool
	}{
		{"/", "/", true}, {"/", "/a", true}, {"/", "raw", true}, {"/a", "/a", true}, {"/a", "/a/b", true}, {"/a", "/", false},
		{"/a", "/ab", false}, {"/a", "/a-b", false}, {"/a", "/b/a", false}, {"/a", "", false}, {"/a/b", "/a", false}, {"/a/b", "/a/b/c", true},
	} {
		if got := (cms.Preview{PathPrefix: c.prefix}).Covers(c.pathname); got != c.want {
			t.Errorf("%s covers %s: %v", c.prefix, c.pathname, got)
		}
	}
}

// A list is of what begins with the letters asked for and is covered.
func TestPreviewWithin(t *testing.T) {
	all := []string{"/", "/a", "/a/b", "/a/bc", "/a/b/c", "/ab", "/a-b", "/b", "/b/a"}
	for _, prefix := range append([]string{"/a/none"}, all...) {
		p := cms.Preview{PathPrefix: prefix}
		for _, asked := range append([]string{"", "/a/", "/a/b/", "x", "/c"}, all...) {
			begin, under, ok := p.Within(asked)
			for _, pathname := range all {
				want := strings.HasPrefix(pathname, asked) && p.Covers(pathname)
				below := under == "" || (cms.Preview{PathPrefix: under}).Covers(pathname)
				if got := ok && strings.HasPrefix(pathname, begin) && below; got != want {
					t.Errorf("%s asked for %q: %s is listed: %v", prefix, asked, pathname, got)
				}
			}
		}
	}
}

func TestPreviewTemplateIsFilled(t *testing.T) {
	got := cms.FillPreviewTemplate("https://{locale}.example.com{pathname}?to={pathname}&t={token}", "/café/a&b=c+d{token}", "pt-BR", "pv_x")
	want := "https://pt-BR.example.com/caf%C3%A9/a%26b%3Dc%2Bd%7Btoken%7D?to=/caf%C3%A9/a%26b%3Dc%2Bd%7Btoken%7D&t=pv_x"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
