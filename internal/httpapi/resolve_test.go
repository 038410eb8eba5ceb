package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// newWebsite makes a site at https://www.example.com with French under /fr and German
// at a domain of its own.
func newWebsite(t *testing.T, s *system) string {
	t.Helper()
	site := s.must(t, 201, "POST", "/v2/sites", `{"name":"Web","hostOrigin":"https://www.example.com","defaultLocale":"en"}`).str(t, "id")
	s.newLocale(t, site, "fr")
	s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"de","domain":"https://www.example.de"}`)
	return site
}

// resolve asks for a URL and returns a summary of the answer.
func (s *system) resolve(t *testing.T, address, more string) string {
	t.Helper()
	r := s.call(t, "GET", "/v2/resolve?url="+url.QueryEscape(address)+more, "")
	if r.status != 200 {
		return fmt.Sprint(r.status)
	}
	v := r.json(t)
	return fmt.Sprint(v["kind"], " ", v["locale"], " ", v["pathname"], " ", v["url"])
}

// contentAt is the content in the answer for a URL.
func (s *system) contentAt(t *testing.T, address, more string) string {
	t.Helper()
	var answer struct{ Content json.RawMessage }
	r := s.must(t, 200, "GET", "/v2/resolve?include=content&url="+url.QueryEscape(address)+more, "")
	if err := json.Unmarshal(r.body, &answer); err != nil {
		t.Fatal(err)
	}
	return string(answer.Content)
}

func TestResolve(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site := newWebsite(t, s)
		home, about := s.newPage(t, site, "/"), s.newPage(t, site, "/about")
		s.must(t, 200, "PATCH", "/v6/pages/"+about+"?locale=fr", `{"pathname":"/a-propos"}`)
		shadowed := s.newPage(t, site, "/fr/a-propos")
		offline := s.newPage(t, site, "/hidden")
		s.must(t, 200, "PATCH", "/v6/pages/"+offline, `{"isOnline":false}`)
		s.must(t, 200, "PATCH", "/v6/pages/"+offline+"?locale=de", `{"isOnline":true}`)
		s.must(t, 201, "POST", "/v2/routes", `{"siteId":"`+site+`","pathname":"/checkout"}`)
		checkEqual(t, "nothing is live", "none en /about <nil>", s.resolve(t, "https://www.example.com/about", ""))
		s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", "")
		for _, c := range []struct{ url, want string }{
			{"https://www.example.com", "page en / https://www.example.com"},
			{"https://www.example.com/?utm=1#top", "page en / https://www.example.com"},
			{"HTTPS://WWW.example.com:443/about/", "page en /about https://www.example.com/about"},
			{"https://www.example.com/fr", "page fr / https://www.example.com/fr"},
			{"https://www.example.com/fr/a-propos", "page fr /a-propos https://www.example.com/fr/a-propos"},
			{"https://www.example.com/fr/about", "none fr /about <nil>"},
			{"https://www.example.de/about", "page de /about https://www.example.de/about"},
			{"https://www.example.de/hidden", "page de /hidden https://www.example.de/hidden"},
			{"https://www.example.com/hidden", "none en /hidden <nil>"},
			{"https://www.example.com/checkout", "route en /checkout <nil>"},
			{"https://www.example.de/checkout", "route de /checkout <nil>"},
			{"https://www.example.com/missing", "none en /missing <nil>"},
			{"https://www.example.com/a//b", "none <nil> <nil> <nil>"},
			{"https://www.example.net/", "404"},
			{"http://www.example.com/", "404"},
			{"/about", "400"},
			{"ftp://www.example.com/", "400"},
			{"https://user@www.example.com/", "400"},
		} {
			for range 2 { // from the store and from the cache
				checkEqual(t, c.url, c.want, s.resolve(t, c.url, ""))
			}
		}
		inSite := "&siteId=" + site
		checkEqual(t, "a path", "page en /about https://www.example.com/about", s.resolve(t, "/about?x=1", inSite))
		checkEqual(t, "a path with two slashes", "none <nil> <nil> <nil>", s.resolve(t, "//evil.example/x", inSite))
		checkEqual(t, "another origin", "404", s.resolve(t, "https://www.example.net/about", inSite))

		// The draft, and what was live before.
		s.must(t, 200, "PATCH", "/v6/pages/"+about, `{"pathname":"/about-us"}`)
		checkEqual(t, "live", "page en /about https://www.example.com/about", s.resolve(t, "https://www.example.com/about", ""))
		checkEqual(t, "draft", "none en /about <nil>", s.resolve(t, "https://www.example.com/about", "&versionRef=ref:draft"))
		checkEqual(t, "draft, new", "page en /about-us https://www.example.com/about-us", s.resolve(t, "https://www.example.com/about-us", "&versionRef=ref:draft"))
		second := s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", "").str(t, "previousId")
		checkEqual(t, "past", "page en /about https://www.example.com/about", s.resolve(t, "https://www.example.com/about", "&versionRef=publish:"+second))

		// Alternates and steps.
		r := s.must(t, 200, "GET", "/v2/resolve?url=https://www.example.com/fr/a-propos", "").json(t)
		checkEqual(t, "page", about, r["page"].(map[string]any)["id"])
		checkEqual(t, "alternates", "[map[locale:de url:https://www.example.de/about-us] map[locale:en url:https://www.example.com/about-us]"+
			" map[locale:fr url:https://www.example.com/fr/a-propos] map[locale:x-default url:https://www.example.com/about-us]]", fmt.Sprint(r["alternates"]))
		if steps := fmt.Sprint(r["steps"]); !strings.Contains(steps, "rule:shadow") {
			t.Errorf("the steps do not tell that %s is shadowed: %s", shadowed, steps)
		}
		r = s.must(t, 200, "GET", "/v2/resolve?url=https://www.example.com/hidden", "").json(t)
		if steps := fmt.Sprint(r["steps"]); !strings.Contains(steps, "offline") {
			t.Errorf("the steps do not tell that the page is offline: %s", steps)
		}
		s.must(t, 200, "PUT", "/v6/pages/"+home+"/content", `{"a": 0.10}`)
		checkEqual(t, "content", `{"a":0.10}`, s.contentAt(t, "https://www.example.com/fr", "&versionRef=ref:draft"))
		checkEqual(t, "no content in live", "null", s.contentAt(t, "https://www.example.com/fr", ""))
		checkEqual(t, "no page", "null", s.contentAt(t, "https://www.example.com/missing", ""))
	})
}

func TestResolveFindsTheSiteByItsOrigin(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		first := newWebsite(t, s)
		s.newPage(t, first, "/")
		s.must(t, 201, "POST", "/v2/sites/"+first+"/publish", "")
		const home, german = "https://www.example.com/", "https://www.example.de/"
		want := "page en / https://www.example.com"
		checkEqual(t, "one site", want, s.resolve(t, home, ""))

		// A second site with the origin makes it ambiguous, also for what is cached.
		second := s.must(t, 201, "POST", "/v2/sites", `{"name":"Other","hostOrigin":"https://www.example.com"}`).str(t, "id")
		checkEqual(t, "two sites", "409", s.resolve(t, home, ""))
		checkEqual(t, "two sites, one named", want, s.resolve(t, home, "&siteId="+first))
		key := s.must(t, 201, "POST", "/v2/apps", `{"name":"One","scopes":["read"],"siteIds":["`+first+`"]}`).str(t, "key")
		restricted := *s
		restricted.key = key
		checkEqual(t, "an app of one site", want, restricted.resolve(t, home, ""))
		siteKey := *s
		siteKey.key = s.must(t, 200, "GET", "/v2/sites/"+first, "").str(t, "publicApiKey")
		checkEqual(t, "a Site key", want, siteKey.resolve(t, home, ""))
		siteKey.key = s.must(t, 200, "GET", "/v2/sites/"+second, "").str(t, "publicApiKey")
		checkEqual(t, "the other Site key", "none en-US / <nil>", siteKey.resolve(t, home, ""))
		checkEqual(t, "an origin of another site", "404", siteKey.resolve(t, german, ""))
		s.must(t, 204, "DELETE", "/v2/sites/"+second, "")
		checkEqual(t, "the second deleted", want, s.resolve(t, home, ""))

		// The domain of a locale, until the locale is deleted.
		checkEqual(t, "a domain", "page de / https://www.example.de", s.resolve(t, german, ""))
		s.must(t, 204, "DELETE", "/v2/locales/de?siteId="+first, "")
		checkEqual(t, "the locale deleted", "404", s.resolve(t, german, ""))
	})
}

func TestResolveFollowsRedirects(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site := newWebsite(t, s)
		about := s.newPage(t, site, "/about")
		s.must(t, 200, "PATCH", "/v6/pages/"+about+"?locale=fr", `{"pathname":"/a-propos"}`)
		s.newPage(t, site, "/new/page")
		for _, redirect := range []string{
			`"source":"/first","target":"/second","status":302`, `"source":"/second","target":"/about"`,
			`"source":"/old/*","target":"/new/*"`, `"source":"/old/special","target":"https://shop.example/x?own=1#top","status":301`,
			`"source":"/away/*","target":"https://shop.example/b/*"`, `"source":"/all/*","target":"/about"`,
			`"source":"/deutsch","target":"https://www.example.de/first"`,
			`"source":"/first","target":"/a-propos","locale":"fr"`, `"source":"/new/*","target":"/about"`,
		} {
			s.must(t, 201, "POST", "/v2/redirects", `{"siteId":"`+site+`",`+redirect+`}`)
		}
		s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", "")
		const com, de = "https://www.example.com", "https://www.example.de"
		for _, c := range []struct{ url, want string }{
			{com + "/first", "302 /about " + com + "/about"},
			{com + "/first?a=1&b=%20", "302 /about?a=1&b=%20 " + com + "/about?a=1&b=%20"},
			{com + "/second", "308 /about " + com + "/about"},
			{com + "/fr/first", "308 /a-propos " + com + "/fr/a-propos"},
			{de + "/first", "302 /about " + de + "/about"},
			{com + "/old/page", "308 /new/page " + com + "/new/page"},
			{com + "/old/other", "308 /about " + com + "/about"},
			{com + "/old/special?c=2", "301 https://shop.example/x?own=1&c=2#top https://shop.example/x?own=1&c=2#top"},
			{com + "/away/%C3%A9/x", "308 https://shop.example/b/%C3%A9/x https://shop.example/b/%C3%A9/x"},
			{com + "/all/of/it", "308 /about " + com + "/about"},
			{com + "/deutsch", "308 /about " + de + "/about"},
			{com + "/old", "none"},
			{com + "/new/page", "page"},
		} {
			r := s.must(t, 200, "GET", "/v2/resolve?url="+url.QueryEscape(c.url), "").json(t)
			got := fmt.Sprint(r["kind"])
			if to, ok := r["redirect"].(map[string]any); ok {
				got = fmt.Sprint(to["status"], " ", to["target"], " ", to["url"])
			}
			checkEqual(t, c.url, c.want, got)
		}
		// An earlier version may have a circle, since the origins are those of today.
		away := s.must(t, 201, "POST", "/v2/redirects", `{"siteId":"`+site+`","source":"/there","target":"https://www.example.net/there"}`).str(t, "id")
		publish := s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", "").str(t, "id")
		s.must(t, 409, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"it","domain":"https://www.example.net"}`)
		s.must(t, 204, "DELETE", "/v2/redirects/"+away, "")
		s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", "")
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"it","domain":"https://www.example.net"}`)
		r := s.must(t, 200, "GET", "/v2/resolve?url=https://www.example.net/there&versionRef=publish:"+publish, "").json(t)
		checkEqual(t, "a circle", "none", fmt.Sprint(r["kind"]))
	})
}
