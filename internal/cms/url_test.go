package cms_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"galley/internal/cms"
)

// urlSite is a site with a default locale and two others.
type urlSite struct {
	origin, domain, prefix          string // of the site and its default locale; "-": null
	frDomain, frPrefix              string
	deDomain, dePrefix              string
	deDeleted                       bool
	locale, pathname, want, located string // located: the locale that the URL leads to, if another
}

func (c urlSite) build() (cms.Site, cms.Locales) {
	optional := func(s string) *string {
		if s == "-" {
			return nil
		}
		return &s
	}
	site := cms.Site{ID: cms.NewID(), HostOrigin: optional(c.origin)}
	locales := cms.Locales{
		{ID: cms.NewID(), Code: "en", Domain: optional(c.domain), PathPrefix: optional(c.prefix)},
		{ID: cms.NewID(), Code: "fr", Domain: optional(c.frDomain), PathPrefix: optional(c.frPrefix)},
		{ID: cms.NewID(), Code: "de", Domain: optional(c.deDomain), PathPrefix: optional(c.dePrefix)},
	}
	if c.deDeleted {
		locales[2].DeletedAt = new(time.Now())
	}
	site.DefaultLocaleID, site.DefaultLocale = locales[0].ID, locales[0]
	return site, locales
}

func TestURL(t *testing.T) {
	const com, de = "https://example.com", "https://example.de"
	for _, c := range []urlSite{
		{com, "-", "-", "-", "-", "-", "-", false, "en", "/", com, ""},
		{com, "-", "-", "-", "-", "-", "-", false, "en", "/about", com + "/about", ""},
		{com, "-", "-", "-", "-", "-", "-", false, "fr", "/", com + "/fr", ""},
		{com, "-", "-", "-", "-", "-", "-", false, "fr", "/a-propos", com + "/fr/a-propos", ""},
		{com, "-", "english", "-", "-", "-", "-", false, "en", "/", com + "/english", ""},
		{com, "-", "english", "-", "-", "-", "-", false, "en", "/a/b", com + "/english/a/b", ""},
		{com, "-", "english", "-", "", "-", "-", false, "fr", "/a/b", com + "/a/b", ""},
		{com, "-", "english", "-", "", "-", "-", false, "fr", "/english/b", com + "/english/b", "en"},
		{com, "-", "-", "-", "français", "-", "-", false, "fr", "/é", com + "/fran%C3%A7ais/%C3%A9", ""},
		{com, "-", "-", de, "-", "-", "-", false, "fr", "/x", de + "/x", ""},
		{com, "-", "-", de, "fr", "-", "-", false, "fr", "/", de + "/fr", ""},
		{com, "-", "-", de, "fr", "-", "-", false, "fr", "/x", de + "/fr/x", ""},
		{com, de, "-", "-", "-", "-", "-", false, "en", "/x", de + "/x", ""},
		{com, de, "uk", "-", "-", "-", "-", false, "en", "/x", de + "/uk/x", ""},
		{com, de, "-", "-", "", "-", "-", false, "fr", "/x", com + "/x", ""},
		{"-", "-", "-", "-", "-", "-", "-", false, "en", "/x", "", ""},
		{"-", "-", "-", de, "-", "-", "-", false, "en", "/x", "", ""},
		{"-", "-", "-", de, "-", "-", "-", false, "fr", "/x", de + "/x", ""},
		{com, "-", "-", "-", "-", "-", "-", false, "en", "/fr", com + "/fr", "fr"},
		{com, "-", "-", "-", "-", "-", "-", false, "en", "/fr/x", com + "/fr/x", "fr"},
		{com, "-", "-", "-", "-", "-", "-", false, "en", "/france", com + "/france", ""},
		{com, "-", "-", "-", "-", "-", "-", true, "en", "/de/x", com + "/de/x", ""},
		{com, "-", "-", "-", "-", "-", "-", false, "en", "/a b", com + "/a%20b", ""},
		{com, "-", "-", "-", "-", "-", "-", false, "en", "/100%", com + "/100%25", ""},
		{com, "-", "-", "-", "-", "-", "-", false, "en", "/%41", com + "/%2541", ""},
		{com, "-", "-", "-", "-", "-", "-", false, "en", "/-._~!$&'()*+,;=:@", com + "/-._~!$&'()*+,;=:@", ""},
		{com, "-", "-", "-", "-", "-", "-", false, "en", "/\"<>[]^`{|}", com + "/%22%3C%3E%5B%5D%5E%60%7B%7C%7D", ""},
		{com, "-", "-", "-", "-", "-", "-", false, "en", "/日本", com + "/%E6%97%A5%E6%9C%AC", ""},
		{"http://localhost:8080", "-", "-", "-", "-", "-", "-", false, "fr", "/x", "http://localhost:8080/fr/x", ""},
	} {
		site, locales := c.build()
		locale, _ := locales.Find(c.locale)
		got, ok := site.URL(locale, c.pathname)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%+v: URL %q, %v", c, got, ok)
			continue
		}
		if !ok {
			continue
		}
		origin, path, _, err := cms.SplitURL(got)
		if err != nil {
			t.Errorf("%s: %v", got, err)
		}
		found, ok := locales.Locate(site, origin, path)
		switch {
		case !ok:
			t.Errorf("%s leads nowhere", got)
		case c.located == "" && (found.Locale.Code != c.locale || found.Pathname != c.pathname):
			t.Errorf("%s leads to %s in %s", got, found.Pathname, found.Locale.Code)
		case c.located != "" && (found.Locale.Code != c.located || found.Shadowed == nil || found.Shadowed.Code != c.locale):
			t.Errorf("%s leads to %s in %s, want %s, which shadows %s", got, found.Pathname, found.Locale.Code, c.located, c.locale)
		}
	}
}

// TestLocate has addresses that are not written as URL writes them.
func TestLocate(t *testing.T) {
	site, locales := urlSite{origin: "https://example.com", domain: "-", prefix: "-", frDomain: "-", frPrefix: "-", deDomain: "https://example.de", dePrefix: "d"}.build()
	for _, c := range []struct{ url, want string }{
		{"https://example.com", "en /"},
		{"https://example.com/", "en /"},
		{"HTTPS://EXAMPLE.com:443/about/", "en /about"},
		{"https://example.com/about?x=1#y", "en /about"},
		{"https://example.com/fr/", "fr /"},
		{"https://example.com/%66r/x", "fr /x"},
		{"https://example.com/e%CC%81", "en /é"},
		{"https://example.com/FR", "en /FR"},
		{"https://example.com/a%2Fb", ""},
		{"https://example.com/a//b", ""},
		{"https://example.com/../b", ""},
		{"https://example.com/%00", ""},
		{"https://example.com/%FF", ""},
		{"https://example.com/a%3Fb", ""},
		{"https://example.de/d", "de /"},
		{"https://example.de/x", ""},
		{"http://example.com/", ""},
		{"https://example.com:8443/", ""},
	} {
		origin, path, _, err := cms.SplitURL(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		got := ""
		if found, ok := locales.Locate(site, origin, path); ok {
			got = found.Locale.Code + " " + found.Pathname
		}
		if got != c.want {
			t.Errorf("%s leads to %q, want %q", c.url, got, c.want)
		}
	}
	for _, bad := range []string{"", "/x", "ftp://example.com/", "//example.com/", "https://", "https://a:b@example.com/", "https://exa mple.com/", "javascript:alert(1)", "https://example.com:0/"} {
		if _, _, _, err := cms.SplitURL(bad); err == nil {
			t.Errorf("%q was taken as a URL", bad)
		}
	}
}

// TestURLAndLocateAreInverse builds random sites, and follows the address of a
// random page in each locale.
func TestURLAndLocateAreInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(values ...string) string { return values[rng.IntN(len(values))] }
	checked, shadowed := 0, 0
	for range 20_000 {
		c := urlSite{
			origin: pick("-", "https://a.example", "https://b.example"),
			domain: pick("-", "https://a.example"), prefix: pick("-", "", "fr", "x"),
			frDomain: pick("-", "https://a.example", "https://c.example"), frPrefix: pick("-", "", "de", "é"),
			deDomain: pick("-", "https://b.example"), dePrefix: pick("-", "", "en", "x y"),
			deDeleted: rng.IntN(4) == 0,
		}
		site, locales := c.build()
		if locales.CheckPlaces(site) != nil {
			continue
		}
		pathname := pick("/", "/fr", "/de/x", "/x", "/x y/z", "/é/%", "/about", "/日本/fr")
		for _, l := range locales {
			if l.DeletedAt != nil {
				continue
			}
			address, ok := site.URL(l, pathname)
			if !ok {
				continue
			}
			origin, path, _, err := cms.SplitURL(address)
			if err != nil {
				t.Fatalf("%+v: %s: %v", c, address, err)
			}
			checked++
			found, ok := locales.Locate(site, origin, path)
			same := found.Locale.ID == l.ID && found.Pathname == pathname
			byShadow := found.Shadowed != nil && found.Shadowed.ID == l.ID
			if byShadow {
				shadowed++
			}
			if !ok || same == byShadow {
				t.Fatalf("%+v: %s of %s leads to %s", c, address, fmt.Sprint(l.Code, pathname), fmt.Sprint(found.Locale.Code, found.Pathname))
			}
		}
	}
	if checked < 10_000 || shadowed < 100 {
		t.Errorf("only %d addresses were checked, %d of them shadowed", checked, shadowed)
	}
}
