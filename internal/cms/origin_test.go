package cms_test

import (
	"net/url"
	"strings"
	"testing"

	"galley/internal/cms"
)

func TestParseOrigin(t *testing.T) {
	label63 := strings.Repeat("a", 63)
	for in, want := range map[string]string{
		"https://example.com": "https://example.com", "http://example.com": "http://example.com",
		"HTTPS://WWW.Example.COM": "https://www.example.com", "https://example.com/": "https://example.com",
		"https://example.com.": "https://example.com", "https://example.com./": "https://example.com",
		"https://example.com:8443": "https://example.com:8443", "https://example.com:443": "https://example.com",
		"http://example.com:80/": "http://example.com", "http://example.com:443": "http://example.com:443",
		"https://b\u00fccher.example": "https://xn--bcher-kva.example", "https://B\u00dcCHER.example": "https://xn--bcher-kva.example",
		"https://xn--bcher-kva.example": "https://xn--bcher-kva.example", "http://localhost:3000": "http://localhost:3000",
		"https://r3---sn.example.com": "https://r3---sn.example.com", "https://ab--cd.example": "https://ab--cd.example",
		"https://127.0.0.1": "https://127.0.0.1", "https://[::1]:8080": "https://[::1]:8080", "https://[2001:DB8::1]": "https://[2001:db8::1]",
		"https://" + label63 + ".com": "https://" + label63 + ".com",

		"": "", "example.com": "", "//example.com": "", "https:example.com": "", "https:/example.com": "", "https://": "",
		"https:///": "", "javascript:alert(1)": "", "data:text/html,x": "", "ftp://example.com": "", "file:///etc": "",
		"ws://example.com": "", "https://u@example.com": "", "https://u:p@example.com": "", "https://@example.com": "",
		"https://example.com/a": "", "https://example.com//": "", "https://example.com?": "", "https://example.com?a": "",
		"https://example.com#": "", "https://example.com/#a": "", "https://example.com:0": "", "https://example.com:99999": "",
		"https://example.com:65536": "", "https://example.com:": "", "https://example.com:-1": "", "https://example.com:1e3": "",
		"https://example.com:80:80": "", "https://e..com": "", "https://.com": "", "https://example.com..": "",
		"https://" + label63 + "a.com": "", "https://" + strings.Repeat("a.", 130) + "com": "", "https://127.1": "", "https://2130706433": "",
		"https://0x7f000001": "", "https://0177.0.0.1": "", "https://127.0.0.256": "", "https://127.0.0.01": "", "https://1.2.3": "",
		"https://\uff11\uff12\uff17.1": "", "https://[::1": "", "https://::1": "", "https://[0:0:0:0:0:0:0:1]": "", "https://[fe80::1%25eth0]": "",
		"https://-a.com": "", "https://a-.com": "", "https://a_b.com": "", "https://a b.com": "", " https://example.com": "",
		"https://example.com ": "", "https://exa\tmple.com": "", "https://exa\x00mple.com": "", "https://example.com\n": "",
		`https:\\example.com`: "", `https://example.com\`: "", "https://xn--a": "", "https://exam%00ple.com": "", "https://\u202eexample.com": "",
		"https://*.example.com": "", "https://" + strings.Repeat("a", 10_000): "",
	} {
		got, err := cms.ParseOrigin(in)
		if (err != nil) != (want == "") || got != want {
			t.Errorf("%.80q reads as %.80q, %v; want %.80q", in, got, err, want)
		}
	}
}

func TestParseURL(t *testing.T) {
	for _, in := range []string{
		"https://example.com", "http://example.com/a?b=c#d", "https://example.com/%C3%A9", "HTTPS://Example.com/", "https://example.com:8443/x",
	} {
		if got, err := cms.ParseURL(in); err != nil || got != in {
			t.Errorf("%q reads as %q, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"", "/about", "about", "//example.com/a", "https:", "https://", "https://:80/", "https:example.com", "javascript:alert(1)",
		"JavaScript:alert(1)", "java\tscript:alert(1)", " javascript:alert(1)", "data:text/html,x", "vbscript:x", "ftp://example.com/a",
		"https://example.com/a b", "https://example.com/\n", "https://example.com/\x00", "https://example.com/%zz",
		"https://example.com/" + strings.Repeat("a", 2048), "https://example.com/\xff",
	} {
		if got, err := cms.ParseURL(in); err == nil {
			t.Errorf("%.80q reads as %.80q", in, got)
		}
	}
}

func FuzzOrigin(f *testing.F) {
	for _, seed := range []string{
		"https://example.com", "example.com", "//example.com", "https:example.com", "https://", "javascript:", "https://u@h",
		"https://h:0", "https://h:99999", "https://e..com", "https://127.1", "https://2130706433", "https://b\u00fccher.example",
		"https://[::1]:1", "https://h.", "https://h\u3002com", "https://xn--bcher-kva.example", "https://\u00df.de", "http://0x7f.1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := cms.ParseOrigin(in)
		if err != nil {
			if got != "" {
				t.Errorf("refused and still %q", got)
			}
			return
		}
		if again, err := cms.ParseOrigin(got); err != nil || again != got {
			t.Errorf("%q is normal as %q, %v", got, again, err)
		}
		u, err := url.Parse(got)
		if err != nil || u.Host == "" || u.Path != "" || u.User != nil || u.Scheme+"://"+u.Host != got || got != strings.ToLower(got) {
			t.Errorf("%q reads as %q, which is no origin", in, got)
		}
		for _, r := range got {
			if r <= ' ' || r > '~' {
				t.Errorf("%q reads as %q, which is not plain", in, got)
			}
		}
	})
}
