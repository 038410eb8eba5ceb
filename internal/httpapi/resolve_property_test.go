package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// webLocale is a locale of a random site, with the place that it must be served at.
type webLocale struct{ code, origin, prefix string }

// url is the address of a pathname, by a rule that is written down once more here.
func (l webLocale) url(pathname string) string {
	address := l.origin
	if l.prefix != "" {
		address += "/" + url.PathEscape(l.prefix)
	}
	if pathname != "/" {
		for segment := range strings.SplitSeq(pathname[1:], "/") {
			address += "/" + url.PathEscape(segment)
		}
	}
	return address
}

// TestEveryPageResolves follows the address of every page of random sites, in every
// locale, in the draft, the live version and an earlier one.
func TestEveryPageResolves(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		rng := rand.New(rand.NewPCG(3, 4))
		found, shadowed, offline := 0, 0, 0
		for round := range 8 {
			site, locales := randomWebsite(t, s, rng, round)
			first := s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", `{"confirm":true}`).str(t, "id")
			editPages(t, s, rng, site, locales)
			s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", `{"confirm":true}`)
			editPages(t, s, rng, site, locales)
			for _, version := range []string{"ref:draft", "ref:live", "publish:" + first} {
				for _, l := range locales {
					for _, p := range s.webPages(t, site, version, l.code) {
						address := l.url(p.Pathname)
						r := s.must(t, 200, "GET", "/v2/resolve?url="+url.QueryEscape(address)+"&versionRef="+version+"&siteId="+site, "").json(t)
						page, _ := r["page"].(map[string]any)
						same := r["kind"] == "page" && page["id"] == p.ID && r["locale"] == l.code
						switch by := shadows(locales, l, p.Pathname); {
						case by != "":
							shadowed++
							if same || r["locale"] != by {
								t.Fatalf("%s in %s: %s of %s leads to %v in %v, and %s shadows it", version, l.code, address, p.ID, page["id"], r["locale"], by)
							}
						case !p.IsOnline:
							offline++
							checkEqual(t, version+" offline "+address, "none", fmt.Sprint(r["kind"]))
						default:
							found++
							if !same || r["url"] != address {
								t.Fatalf("%s in %s: %s of %s leads to %v %v in %v at %v", version, l.code, address, p.ID, r["kind"], page["id"], r["locale"], r["url"])
							}
						}
					}
				}
			}
		}
		if found < 200 || shadowed < 4 || offline < 20 {
			t.Errorf("only %d addresses led to their page, %d were shadowed, %d offline", found, shadowed, offline)
		}
	})
}

// shadows is the code of a locale whose prefix wins over the page of another one.
func shadows(locales []webLocale, l webLocale, pathname string) string {
	first, _, _ := strings.Cut(pathname[1:], "/")
	i := slices.IndexFunc(locales, func(o webLocale) bool { return o.origin == l.origin && o.prefix != "" && o.prefix == first })
	if l.prefix != "" || i < 0 {
		return ""
	}
	return locales[i].code
}

type webPage struct {
	ID, Pathname string
	IsOnline     bool
}

func (s *system) webPages(t *testing.T, site, version, locale string) []webPage {
	t.Helper()
	r := s.must(t, 200, "GET", "/v6/pages?limit=100&includeOffline=true&siteId="+site+"&versionRef="+version+"&locale="+locale, "")
	var list struct{ Data []webPage }
	if err := json.Unmarshal(r.body, &list); err != nil {
		t.Fatal(err)
	}
	return list.Data
}

var webPaths = []string{"/", "/fr", "/fr/x", "/de", "/x/fr", "/a b", "/é/ü", "/100%", "/en/y", "/日本", "/c+d&e=f", "/deutsch/z"}

// randomWebsite makes a site with three locales at random places, and some pages.
func randomWebsite(t *testing.T, s *system, rng *rand.Rand, round int) (site string, locales []webLocale) {
	t.Helper()
	pick := func(values ...string) string { return values[rng.IntN(len(values))] }
	origin := func(name string) string { return fmt.Sprintf("https://%s%d.example", name, round) }
	host := origin("www")
	site = s.must(t, 201, "POST", "/v2/sites", `{"name":"W","defaultLocale":"en","hostOrigin":"`+host+`"}`).str(t, "id")
	locales = []webLocale{{"en", host, ""}}
	if rng.IntN(2) == 0 {
		locales[0].prefix = "en"
		s.must(t, 200, "PATCH", "/v2/sites/"+site, `{"defaultLocalePathPrefix":"en"}`)
	}
	for _, code := range []string{"fr", "de"} {
		l := webLocale{code, pick(host, origin(code)), pick(code, "deutsch", "ü")}
		body := `{"siteId":"` + site + `","locale":"` + code + `","pathPrefix":"` + l.prefix + `"`
		if l.origin != host {
			l.prefix = pick("", l.prefix)
			body = `{"siteId":"` + site + `","locale":"` + code + `","domain":"` + l.origin + `","pathPrefix":"` + l.prefix + `"`
		}
		if s.call(t, "POST", "/v2/locales", body+"}").status == 201 { // 409: the place is taken
			locales = append(locales, l)
		}
	}
	for _, path := range webPaths {
		if rng.IntN(5) > 0 {
			s.call(t, "POST", "/v6/pages", `{"siteId":"`+site+`","pathname":"`+strings.ReplaceAll(path, "%", "%25")+`"}`)
		}
	}
	editPages(t, s, rng, site, locales)
	return site, locales
}

// editPages moves some pages, in some locales, and takes some offline. A pathname that
// is taken stays with its page.
func editPages(t *testing.T, s *system, rng *rand.Rand, site string, locales []webLocale) {
	t.Helper()
	for _, p := range s.webPages(t, site, "ref:draft", "en") {
		l := locales[rng.IntN(len(locales))]
		switch rng.IntN(4) {
		case 0:
			path := webPaths[rng.IntN(len(webPaths))] + fmt.Sprint(rng.IntN(3))
			s.call(t, "PATCH", "/v6/pages/"+p.ID+"?locale="+l.code, `{"pathname":"`+strings.ReplaceAll(path, "%", "%25")+`"}`)
		case 1:
			s.call(t, "PATCH", "/v6/pages/"+p.ID+"?locale="+l.code, fmt.Sprintf(`{"isOnline":%v}`, rng.IntN(2) == 0))
		}
	}
}
