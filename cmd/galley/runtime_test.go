package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runtimeClient is what the client of @makeswift/runtime read: see client.js.
type runtimeClient struct {
	All              runtimePages
	Walked           []string
	WalkRequests     int
	French, Offline  []runtimeListed
	Page, FrenchPage runtimePage
	Home             runtimePage

	Missing, MissingInFrench, OfflinePage *runtimePage
}

type runtimePages struct {
	Data    []runtimeListed
	HasMore bool
}

// runtimeListed has the fields of a listed page that the test compares.
type runtimeListed struct {
	Path              string
	Title             *string
	SitemapPriority   *float64
	SitemapFrequency  *string
	PublishedAt       string
	IsOnline          bool
	Locale            string
	LocalizedVariants []runtimeVariant
}

type runtimeVariant struct{ Locale, Path string }

type runtimePage struct {
	Pathname, Locale string
	Alternate        []runtimeAlternate
}

type runtimeAlternate struct{ Pathname, Locale string }

// readWithRuntime runs the published npm package against a server. The package
// refuses what does not match its schemas.
func readWithRuntime(t *testing.T, server *process, siteKey string) runtimeClient {
	t.Helper()
	dir := filepath.Join("testdata", "runtime")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@makeswift", "runtime")); err != nil {
		t.Fatalf("this test needs an npm package: run make deps (%v)", err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "client.js")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GALLEY_URL="+server.url, "SITE_KEY="+siteKey)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var read runtimeClient
	if err := json.Unmarshal(stdout, &read); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	return read
}

func TestMakeswiftRuntime(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		t.Parallel()
		server := serve(t, nil, store...)
		key := server.key(t)
		site, siteKey := server.newSite(t, key)
		server.must(t, 201, key, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"fr"}`)
		for _, fields := range []string{
			`"pathname":"/"`, `"pathname":"/about","title":"About us","sitemapPriority":0.5,"sitemapFrequency":"weekly"`,
			`"pathname":"/blog"`, `"pathname":"/blog/first"`, `"pathname":"/offline","isOnline":false`,
		} {
			server.must(t, 201, key, "POST", "/v6/pages", `{"siteId":"`+site+`",`+fields+`}`)
		}
		server.must(t, 200, key, "PATCH", "/v6/pages/about?locale=fr&siteId="+site, `{"pathname":"/à-propos","title":"À propos"}`)
		server.must(t, 201, key, "POST", "/v2/sites/"+site+"/publish", "")
		server.must(t, 201, key, "POST", "/v6/pages", `{"siteId":"`+site+`","pathname":"/draft"}`)

		got := readWithRuntime(t, server, siteKey)
		variants := []runtimeVariant{{"fr", "/à-propos"}}
		about := runtimeListed{Path: "/about", Title: new("About us"), SitemapPriority: new(0.5), SitemapFrequency: new("weekly"), IsOnline: true, Locale: "en-US", LocalizedVariants: variants}
		french := about
		french.Path, french.Title, french.Locale = "/à-propos", new("À propos"), "fr"
		plain := func(path string, online bool) runtimeListed {
			return runtimeListed{Path: path, IsOnline: online, Locale: "en-US", LocalizedVariants: []runtimeVariant{}}
		}
		want := runtimeClient{
			All:    runtimePages{Data: []runtimeListed{plain("/", true), about, plain("/blog", true), plain("/blog/first", true)}},
			Walked: []string{"/blog/first", "/blog", "/about", "/"}, WalkRequests: 2,
			French: []runtimeListed{french}, Offline: []runtimeListed{plain("/offline", false)},
			Page:       runtimePage{"/about", "en-US", []runtimeAlternate{{"/à-propos", "fr"}}},
			FrenchPage: runtimePage{"/à-propos", "fr", []runtimeAlternate{{"/about", "en-US"}}},
			Home:       runtimePage{"/", "en-US", []runtimeAlternate{{"/", "fr"}}},
		}
		ignoreTimes := cmp.FilterPath(func(p cmp.Path) bool { return strings.HasSuffix(p.String(), "PublishedAt") }, cmp.Ignore())
		if diff := cmp.Diff(want, got, ignoreTimes); diff != "" {
			t.Errorf("the client reads something else (-want +got):\n%s", diff)
		}
		if len(got.All.Data) > 0 && got.All.Data[0].PublishedAt == "" {
			t.Error("a live page has no time of publishing")
		}
	})
}
