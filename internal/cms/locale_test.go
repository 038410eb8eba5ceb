package cms_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
)

func TestParseLocaleCode(t *testing.T) {
	for in, want := range map[string]string{
		"en": "en", "EN": "en", "en-US": "en-US", "EN-us": "en-US", "eN-uS": "en-US", "pt-br": "pt-BR", "zh-TW": "zh-TW",
		"fil": "fil", "FIL-ph": "fil-PH", "eng": "en", "yue-HK": "yue-HK", "de-AT": "de-AT",
		"he": "he", "heb": "he", "iw": "he", "IW-il": "he-IL", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro-MD", "mo-RO": "ro-RO",

		"": "", " ": "", " en": "", "en ": "", "en_US": "", "e": "", "english": "", "en-": "", "-US": "", "en--US": "",
		"en-USA": "", "en-840": "", "en-001": "", "en-419": "", "zh-Hant": "", "zh-Hant-TW": "", "de-CH-1996": "",
		"x-private": "", "i-klingon": "", "en-x-a": "", "en-u-co-phonebk": "", "\u0435n": "", "e\u043d-US": "",
		"en\x00": "", "en\n": "", "en-US\n": "", "ｅｎ": "", "zz": "", "zz-US": "", "en-ZZ": "", "en-EU": "", "en-XA": "",
		"und": "", "und-US": "", "root": "", "*": "", "en-*": "", "../": "", strings.Repeat("en", 5000): "",
	} {
		got, err := cms.ParseLocaleCode(in)
		if (err != nil) != (want == "") || got != want {
			t.Errorf("%.60q reads as %q, %v; want %q", in, got, err, want)
		}
	}
}

// ISO 3166 and ISO 639 set these aside for private use, for libraries, or for no
// language or no country at all: none of them exists.
func TestLocaleCodesThatNameNothing(t *testing.T) {
	for _, in := range []string{"qaa", "qtz", "zxx", "mul", "mis", "en-UN", "en-AA", "en-QM", "en-XB", "fre", "ger-DE", "CHI"} {
		if got, err := cms.ParseLocaleCode(in); err == nil {
			t.Errorf("%q reads as %q", in, got)
		}
	}
}

var canonicalCode = regexp.MustCompile(`\A[a-z]{2,3}(-[A-Z]{2})?\z`)

func FuzzLocaleCode(f *testing.F) {
	for _, seed := range []string{
		"en", "EN-us", "en_US", "e", "english", "en-", "-US", "en--US", "en-USA", "en-840", "zh-Hant-TW", "x-private",
		"\u0435", "en\x00", "eng-US", "iw", "sgn-BR", "no-NO", "cmn-TW", "zh-min", "en-UK", "sr-YU",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := cms.ParseLocaleCode(in)
		if err != nil {
			if got != "" {
				t.Errorf("refused and still %q", got)
			}
			return
		}
		if !canonicalCode.MatchString(got) {
			t.Errorf("%q reads as %q", in, got)
		}
		if again, err := cms.ParseLocaleCode(got); err != nil || again != got {
			t.Errorf("%q is canonical as %q, %v", got, again, err)
		}
		if upper, err := cms.ParseLocaleCode(strings.ToUpper(in)); err != nil || upper != got {
			t.Errorf("%q reads as %q, in capitals as %q, %v", in, got, upper, err)
		}
	})
}

func TestLocalesCheckUnique(t *testing.T) {
	deleted := time.Unix(0, 0)
	en := cms.Locale{ID: cms.NewID(), Code: "en"}
	fr := cms.Locale{ID: cms.NewID(), Code: "fr", Domain: new("https://a.example"), PathPrefix: new("french")}
	nl := cms.Locale{ID: cms.NewID(), Code: "nl", Domain: new("https://n.example")}
	pl := cms.Locale{ID: cms.NewID(), Code: "pl"}
	old := cms.Locale{ID: cms.NewID(), Code: "iw"}
	gone := cms.Locale{ID: cms.NewID(), Code: "de", Domain: new("https://d.example"), DeletedAt: &deleted}
	locales := cms.Locales{en, fr, nl, pl, old, gone}
	site := cms.Site{HostOrigin: new("https://www.example"), DefaultLocaleID: en.ID}
	for name, c := range map[string]struct {
		locale cms.Locale
		taken  bool
	}{
		"itself":                           {fr, false},
		"another code":                     {cms.Locale{Code: "it"}, false},
		"the same code":                    {cms.Locale{Code: "fr", PathPrefix: new("x")}, true},
		"the code that replaced it":        {cms.Locale{Code: "he", PathPrefix: new("x")}, true},
		"the same domain, another prefix":  {cms.Locale{Code: "it", Domain: new("https://a.example")}, false},
		"the same domain and prefix":       {cms.Locale{Code: "it", Domain: new("https://a.example"), PathPrefix: new("french")}, true},
		"a domain at its root":             {cms.Locale{Code: "it", Domain: new("https://n.example")}, true},
		"a domain at its root, explicitly": {cms.Locale{Code: "it", Domain: new("https://n.example"), PathPrefix: new("")}, true},
		"a prefix of another origin":       {cms.Locale{Code: "it", PathPrefix: new("french")}, false},
		"a code as a prefix":               {cms.Locale{Code: "it", PathPrefix: new("pl")}, true},
		"the default locale's code":        {cms.Locale{Code: "it", PathPrefix: new("en")}, false},
		"a code as prefix, elsewhere":      {cms.Locale{Code: "it", Domain: new("https://i.example"), PathPrefix: new("pl")}, false},
		"the site's origin as a domain":    {cms.Locale{Code: "it", Domain: new("https://www.example"), PathPrefix: new("pl")}, true},
		"the default locale's root":        {cms.Locale{Code: "it", PathPrefix: new("")}, true},
		"its root by domain":               {cms.Locale{Code: "it", Domain: new("https://www.example")}, true},
		"all of a deleted one":             {cms.Locale{Code: "de", Domain: new("https://d.example")}, false},
	} {
		err := locales.CheckUnique(site, c.locale)
		if (cms.CodeOf(err) == cms.CodeConflict) != c.taken || (err != nil) != c.taken {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := locales.CheckPlaces(site); err != nil {
		t.Error(err)
	}
	for name, moved := range map[string]cms.Site{
		"origin":  {HostOrigin: new("https://n.example"), DefaultLocaleID: en.ID},
		"default": {HostOrigin: new("https://n.example"), DefaultLocaleID: pl.ID},
	} {
		if err := locales.CheckPlaces(moved); cms.CodeOf(err) != cms.CodeConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLocalesFind(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	en := cms.Locale{ID: cms.NewID(), Code: "en-US"}
	first := cms.Locale{ID: cms.NewID(), Code: "fr", DeletedAt: &early}
	last := cms.Locale{ID: cms.NewID(), Code: "fr", DeletedAt: &late}
	he := cms.Locale{ID: cms.NewID(), Code: "he"}
	locales := cms.Locales{en, last, first, he}
	if l, ok := locales.Find("iw"); !ok || l.ID != he.ID {
		t.Error("he is not found by the code that it replaced")
	}
	if l, ok := (cms.Locales{en, {ID: first.ID, Code: "iw-IL"}}).Find("he-IL"); !ok || l.ID != first.ID {
		t.Error("a stored code that was replaced is not found by its canonical form")
	}
	for _, name := range []string{"en-US", "EN-us", en.ID.String(), strings.ToUpper(en.ID.String())} {
		if l, ok := locales.Find(name); !ok || l.ID != en.ID {
			t.Errorf("%s is not found", name)
		}
	}
	for _, name := range []string{"", "en", "fr", first.ID.String(), cms.NoID.String(), "\x00", "{" + en.ID.String() + "}"} {
		if _, ok := locales.Find(name); ok {
			t.Errorf("%q is found", name)
		}
	}
	if l, ok := locales.DeletedByCode("fr"); !ok || l.ID != last.ID {
		t.Error("the locale that was deleted last is not the one found")
	}
}
