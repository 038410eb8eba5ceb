package httpapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/service"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const goldenDir = "testdata/golden"

// example is a small site, so that every golden file shows something.
type example struct {
	*system
	site, locale, route, redirect, page, app string
}

func newExample(t *testing.T, s *system) example {
	t.Helper()
	made := func(target, body string) string { return s.must(t, 201, "POST", target, body).str(t, "id") }
	e := example{system: s}
	e.site = made("/v2/sites", `{"name":"Shop","hostOrigin":"https://www.example.com","labels":["shop","eu","shop"]}`)
	e.locale = made("/v2/locales", e.in(`"locale":"pt-BR","domain":"https://www.example.com.br","pathPrefix":"br"`))
	e.route = made("/v2/routes", e.in(`"pathname":"/checkout"`))
	made("/v6/pages", e.in(`"pathname":"/"`))
	e.redirect = made("/v2/redirects", e.in(`"source":"/old/*","target":"/new/*","locale":"pt-BR","status":301`))
	e.page = made("/v6/pages", e.in(examplePage))
	s.must(t, 200, "PATCH", "/v6/pages/"+e.page+"?locale=pt-BR", `{"pathname":"/sobre","title":"Sobre nós"}`)
	e.app = made("/v2/apps", `{"name":"Importer","description":"Nightly import","scopes":["read","write"],"siteIds":["`+e.site+`"],"expiresAt":"2100-01-31T12:00:00Z"}`)
	return e
}

const examplePage = `"pathname":"/about","name":"About","title":"About <us>","description":"Who we are",` +
	`"canonicalUrl":"https://www.example.com/about","socialImageUrl":"https://www.example.com/about.png",` +
	`"sitemapPriority":0.5,"sitemapFrequency":"weekly","isOnline":true,"excludedFromSearchEngines":false`

const exampleContent = `{"blocks": [{"type":"heading", "text":"About <us>"}], "columns": 2.0}`

// in is a body with the example's site in it.
func (e example) in(fields string) string { return `{"siteId":"` + e.site + `",` + fields + `}` }

// publish publishes the example's site and returns the id of the publish.
func (e example) publish(t *testing.T) string {
	t.Helper()
	return e.must(t, 201, "POST", "/v2/sites/"+e.site+"/publish", "").str(t, "id")
}

// webhook makes a webhook and returns its address.
func (e example) webhook(t *testing.T) string {
	t.Helper()
	return "/v2/webhooks/" + e.must(t, 201, "POST", "/v2/webhooks", `{"url":"https://www.example.com/hooks"}`).str(t, "id")
}

// deliver stores a delivery of a webhook that failed twice, and returns its address.
func (e example) deliver(t *testing.T, webhook string) string {
	t.Helper()
	test := e.must(t, 202, "POST", webhook+"/test", "")
	id, _ := cms.ParseID(test.str(t, "id"))
	d, err := e.store.Delivery(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	now := clock().UTC().Truncate(time.Millisecond)
	d.Attempts = []cms.Attempt{
		{At: now, Took: 15 * time.Second, Error: "the receiver did not answer in time"},
		{At: now.Add(20 * time.Second), Took: 48 * time.Millisecond, Status: 503, Response: "busy <b>"},
	}
	if err := e.store.InTx(t.Context(), func(tx cms.Tx) error { return tx.SaveDeliveries(t.Context(), d) }); err != nil {
		t.Fatal(err)
	}
	return "/v2/deliveries/" + id.String()
}

// preview makes a preview of the example's site and returns its id.
func (e example) preview(t *testing.T) string {
	t.Helper()
	return e.must(t, 201, "POST", "/v2/previews", e.in(`"pathPrefix":"/about"`)).str(t, "id")
}

func (e example) siteKey(t *testing.T) string {
	t.Helper()
	return e.must(t, 200, "GET", "/v2/sites/"+e.site, "").str(t, "publicApiKey")
}

// golden is the happy path of every endpoint, by its name.
var golden = map[string]func(t *testing.T, e example) reply{
	"getWorkspace": func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/workspace", "") },

	"getCredential": func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/me", "") },

	"listApps": func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/apps", "") },
	"createApp": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v2/apps", `{"name":"Reader","scopes":["read"]}`)
	},
	"getApp": func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/apps/"+e.app, "") },
	"updateApp": func(t *testing.T, e example) reply {
		return e.call(t, "PATCH", "/v2/apps/"+e.app, `{"description":null,"siteIds":null,"expiresAt":null}`)
	},
	"deleteApp": func(t *testing.T, e example) reply { return e.call(t, "DELETE", "/v2/apps/"+e.app, "") },
	"rotateAppKey": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v2/apps/"+e.app+"/rotate", `{"graceSeconds":60}`)
	},

	"listSites": func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/sites", "") },
	"createSite": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v2/sites", `{"name":"Blog","hostOrigin":null,"defaultLocale":"de","localeManagementMode":"external"}`)
	},
	"getSite": func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/sites/"+e.site, "") },
	"updateSite": func(t *testing.T, e example) reply {
		return e.call(t, "PATCH", "/v2/sites/"+e.site, `{"name":"Store","siteKeyAccess":"live","defaultLocalePathPrefix":""}`)
	},
	"deleteSite": func(t *testing.T, e example) reply { return e.call(t, "DELETE", "/v2/sites/"+e.site, "") },
	"restoreSite": func(t *testing.T, e example) reply {
		e.must(t, 204, "DELETE", "/v2/sites/"+e.site, "")
		return e.call(t, "POST", "/v2/sites/"+e.site+"/restore", "")
	},
	"duplicateSite": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v2/sites/"+e.site+"/duplicate", `{"name":"Twin"}`)
	},
	"getSiteSummary": func(t *testing.T, e example) reply {
		e.publish(t)
		e.must(t, 200, "PATCH", "/v6/pages/"+e.page, `{"isOnline":false}`)
		e.must(t, 201, "POST", "/v2/sites/"+e.site+"/publish", `{"publishAt":"2100-01-31T12:00:00Z"}`)
		return e.call(t, "GET", "/v2/sites/"+e.site+"/summary", "")
	},
	"rotateSiteKey": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v2/sites/"+e.site+"/rotate-key", "")
	},
	"listAudit": func(t *testing.T, e example) reply {
		e.must(t, 204, "DELETE", "/v2/routes/"+e.route, "")
		return e.call(t, "GET", "/v2/audit?limit=4", "")
	},
	"listEvents": func(t *testing.T, e example) reply {
		e.must(t, 204, "DELETE", "/v2/routes/"+e.route, "", "X-Actor", "ada@example.com")
		return e.call(t, "GET", "/v2/events?types=page.updated,route.deleted,app.created", "")
	},
	"streamEvents": func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/events/stream", "") },
	"listSitePages": func(t *testing.T, e example) reply {
		return e.call(t, "GET", "/v2/sites/"+e.site+"/pages?limit=1", "")
	},

	"listChanges": func(t *testing.T, e example) reply {
		e.publish(t)
		e.must(t, 200, "PATCH", "/v6/pages/"+e.page, `{"pathname":"/about-us","sitemapPriority":null}`)
		e.must(t, 200, "PATCH", "/v6/pages/"+e.page+"?locale=pt-BR", `{"title":null}`)
		return e.call(t, "GET", "/v2/sites/"+e.site+"/changes", "")
	},
	"publishSite": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v2/sites/"+e.site+"/publish", `{"name":"Spring campaign","locales":["en-US"],"pageIds":["`+e.page+`"]}`)
	},
	"discardSite": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v2/sites/"+e.site+"/discard", `{"pageIds":["`+e.page+`"]}`)
	},
	"listPublishes": func(t *testing.T, e example) reply {
		e.publish(t)
		e.must(t, 201, "POST", "/v2/sites/"+e.site+"/publish", `{"publishAt":"2100-01-31T13:00:00+01:00"}`)
		return e.call(t, "GET", "/v2/sites/"+e.site+"/publishes", "")
	},
	"listScheduledPublishes": func(t *testing.T, e example) reply {
		e.must(t, 201, "POST", "/v2/sites/"+e.site+"/publish", `{"publishAt":"2100-01-31T13:00:00+01:00"}`)
		return e.call(t, "GET", "/v2/publishes?status=scheduled", "")
	},
	"getPublish": func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/publishes/"+e.publish(t), "") },
	"cancelPublish": func(t *testing.T, e example) reply {
		r := e.must(t, 201, "POST", "/v2/sites/"+e.site+"/publish", `{"publishAt":"2100-01-31T12:00:00Z"}`)
		return e.call(t, "DELETE", "/v2/publishes/"+r.str(t, "id"), "")
	},
	"listPublishChanges": func(t *testing.T, e example) reply {
		return e.call(t, "GET", "/v2/publishes/"+e.publish(t)+"/changes", "")
	},
	"listPublishUrls": func(t *testing.T, e example) reply {
		return e.call(t, "GET", "/v2/publishes/"+e.publish(t)+"/urls", "")
	},
	"restorePublish": func(t *testing.T, e example) reply {
		id := e.publish(t)
		e.must(t, 204, "DELETE", "/v6/pages/"+e.page, "")
		e.publish(t)
		return e.call(t, "POST", "/v2/publishes/"+id+"/restore", "")
	},

	"listLocales": func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/locales?siteId="+e.site, "") },
	"createLocale": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v2/locales", e.in(`"locale":"fr"`))
	},
	"getLocale": func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/locales/"+e.locale, "") },
	"updateLocale": func(t *testing.T, e example) reply {
		return e.call(t, "PATCH", "/v2/locales/pt-br?siteId="+e.site, `{"locale":"pt","domain":null}`)
	},
	"deleteLocale": func(t *testing.T, e example) reply { return e.call(t, "DELETE", "/v2/locales/"+e.locale, "") },
	"restoreLocale": func(t *testing.T, e example) reply {
		e.must(t, 204, "DELETE", "/v2/locales/"+e.locale, "")
		return e.call(t, "POST", "/v2/locales/"+e.locale+"/restore", "")
	},

	"resolveUrl": func(t *testing.T, e example) reply {
		e.publish(t)
		return e.call(t, "GET", "/v2/resolve?url=https://www.example.com.br/br/sobre", "")
	},
	"getSitemap": func(t *testing.T, e example) reply {
		e.publish(t)
		return e.call(t, "GET", "/v2/sites/"+e.site+"/sitemap.xml", "")
	},
	"getRobots": func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/sites/"+e.site+"/robots.txt", "") },

	"listWebhooks": func(t *testing.T, e example) reply {
		e.webhook(t)
		return e.call(t, "GET", "/v2/webhooks", "")
	},
	"createWebhook": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v2/webhooks", `{"url":"https://www.example.com/hooks?key=1","types":["publish.published","page.updated"],"siteIds":["`+e.site+`"],"description":"Purges the CDN","isEnabled":false}`)
	},
	"getWebhook": func(t *testing.T, e example) reply { return e.call(t, "GET", e.webhook(t), "") },
	"updateWebhook": func(t *testing.T, e example) reply {
		return e.call(t, "PATCH", e.webhook(t), `{"url":"https://www.example.com/other","types":["page.created"],"isEnabled":false}`)
	},
	"deleteWebhook":       func(t *testing.T, e example) reply { return e.call(t, "DELETE", e.webhook(t), "") },
	"rotateWebhookSecret": func(t *testing.T, e example) reply { return e.call(t, "POST", e.webhook(t)+"/rotate-secret", "") },
	"testWebhook":         func(t *testing.T, e example) reply { return e.call(t, "POST", e.webhook(t)+"/test", "") },
	"replayWebhook": func(t *testing.T, e example) reply {
		return e.call(t, "POST", e.webhook(t)+"/replay", `{"since":"2026-01-01T00:00:00Z"}`)
	},
	"listDeliveries": func(t *testing.T, e example) reply {
		webhook := e.webhook(t)
		e.deliver(t, webhook)
		return e.call(t, "GET", webhook+"/deliveries?status=pending", "")
	},
	"getDelivery": func(t *testing.T, e example) reply { return e.call(t, "GET", e.deliver(t, e.webhook(t)), "") },
	"redeliver": func(t *testing.T, e example) reply {
		return e.call(t, "POST", e.deliver(t, e.webhook(t))+"/redeliver", "")
	},
	"listPreviews": func(t *testing.T, e example) reply {
		e.preview(t)
		return e.call(t, "GET", "/v2/previews?siteId="+e.site, "")
	},
	"createPreview": func(t *testing.T, e example) reply {
		e.must(t, 200, "PATCH", "/v2/sites/"+e.site, `{"previewUrlTemplate":"https://www.example.com{pathname}?locale={locale}&preview={token}"}`)
		return e.call(t, "POST", "/v2/previews", e.in(`"name":"For the agency","versionRef":"publish:`+e.publish(t)+`","locale":"pt-br","pathPrefix":"sobre/","expiresInSeconds":60`))
	},
	"getPreview":    func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/previews/"+e.preview(t), "") },
	"deletePreview": func(t *testing.T, e example) reply { return e.call(t, "DELETE", "/v2/previews/"+e.preview(t), "") },

	"listRoutes": func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/routes?siteId="+e.site, "") },
	"createRoute": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v2/routes?skipValidation=true", e.in(`"pathname":"/products/[slug]"`))
	},
	"getRoute": func(t *testing.T, e example) reply {
		return e.call(t, "GET", "/v2/routes/checkout?siteId="+e.site, "")
	},
	"updateRoute": func(t *testing.T, e example) reply {
		return e.call(t, "PATCH", "/v2/routes/"+e.route, `{"pathname":"/cart"}`)
	},
	"deleteRoute": func(t *testing.T, e example) reply { return e.call(t, "DELETE", "/v2/routes/"+e.route, "") },

	"listRedirects": func(t *testing.T, e example) reply {
		return e.call(t, "GET", "/v2/redirects?locale=pt-BR&siteId="+e.site, "")
	},
	"createRedirect": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v2/redirects", e.in(`"source":"/was","target":"https://www.example.com/is?from=was"`))
	},
	"batchRedirects": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v2/redirects/batch", e.in(`"operations":[{"op":"create","source":"/was","target":"/is"},{"op":"delete","redirectId":"`+e.redirect+`"}]`))
	},
	"getRedirect": func(t *testing.T, e example) reply { return e.call(t, "GET", "/v2/redirects/"+e.redirect, "") },
	"updateRedirect": func(t *testing.T, e example) reply {
		return e.call(t, "PATCH", "/v2/redirects/"+e.redirect, `{"locale":null,"status":308}`)
	},
	"deleteRedirect": func(t *testing.T, e example) reply { return e.call(t, "DELETE", "/v2/redirects/"+e.redirect, "") },
	"restoreRedirect": func(t *testing.T, e example) reply {
		e.must(t, 204, "DELETE", "/v2/redirects/"+e.redirect, "")
		return e.call(t, "POST", "/v2/redirects/"+e.redirect+"/restore", "")
	},
	"discardRedirect": func(t *testing.T, e example) reply {
		e.publish(t)
		e.must(t, 200, "PATCH", "/v2/redirects/"+e.redirect, `{"target":"/other"}`)
		return e.call(t, "POST", "/v2/redirects/"+e.redirect+"/discard", "")
	},

	"listRuntimePages": func(t *testing.T, e example) reply {
		e.publish(t)
		return e.send(t, e.siteKey(t), "GET", "/v5/pages?limit=100&sortBy=path&sortDirection=desc&includeOffline=true", "")
	},
	"getRuntimePage": func(t *testing.T, e example) reply {
		e.publish(t)
		return e.send(t, e.siteKey(t), "GET", "/v3/pages/%2Fsobre?locale=pt-BR", "")
	},

	"listPages": func(t *testing.T, e example) reply {
		return e.call(t, "GET", "/v6/pages?sortBy=title&siteId="+e.site, "")
	},
	"createPage": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v6/pages", e.in(`"pathname":"blog/"`))
	},
	"batchPages": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v6/pages/batch", e.in(`"operations":[{"op":"create","pathname":"/blog"},`+
			`{"op":"update","pageId":"`+e.page+`","locale":"pt-BR","title":null},{"op":"delete","pageId":"`+e.page+`"}]`))
	},
	"getTree": func(t *testing.T, e example) reply {
		e.must(t, 201, "POST", "/v6/pages", e.in(`"pathname":"/about/team"`))
		return e.call(t, "GET", "/v6/pages/tree?siteId="+e.site, "")
	},
	"getPage": func(t *testing.T, e example) reply {
		return e.call(t, "GET", "/v6/pages/%2Fsobre?locale=pt-BR&siteId="+e.site, "")
	},
	"updatePage": func(t *testing.T, e example) reply {
		return e.call(t, "PATCH", "/v6/pages/"+e.page, `{"title":null,"sitemapPriority":1}`)
	},
	"deletePage": func(t *testing.T, e example) reply { return e.call(t, "DELETE", "/v6/pages/"+e.page, "") },
	"restorePage": func(t *testing.T, e example) reply {
		e.must(t, 204, "DELETE", "/v6/pages/"+e.page, "")
		return e.call(t, "POST", "/v6/pages/"+e.page+"/restore", "")
	},
	"delocalizePage": func(t *testing.T, e example) reply {
		return e.call(t, "DELETE", "/v6/pages/"+e.page+"/localizations/pt-BR", "")
	},
	"publishPage": func(t *testing.T, e example) reply {
		return e.call(t, "POST", "/v6/pages/"+e.page+"/publish", "")
	},
	"discardPage": func(t *testing.T, e example) reply {
		e.publish(t)
		e.must(t, 204, "DELETE", "/v6/pages/"+e.page, "")
		return e.call(t, "POST", "/v6/pages/"+e.page+"/discard", "")
	},
	"listPagePublishes": func(t *testing.T, e example) reply {
		e.publish(t)
		return e.call(t, "GET", "/v6/pages/"+e.page+"/publishes", "")
	},
	"getContent": func(t *testing.T, e example) reply {
		e.must(t, 200, "PUT", "/v6/pages/"+e.page+"/content", exampleContent)
		return e.call(t, "GET", "/v6/pages/"+e.page+"/content?locale=pt-BR", "")
	},
	"putContent": func(t *testing.T, e example) reply {
		return e.call(t, "PUT", "/v6/pages/"+e.page+"/content?locale=pt-BR", exampleContent)
	},
	"deleteContent": func(t *testing.T, e example) reply {
		e.must(t, 200, "PUT", "/v6/pages/"+e.page+"/content", exampleContent)
		return e.call(t, "DELETE", "/v6/pages/"+e.page+"/content", "")
	},
	"diffContent": func(t *testing.T, e example) reply {
		e.must(t, 200, "PUT", "/v6/pages/"+e.page+"/content", exampleContent)
		e.publish(t)
		e.must(t, 200, "PUT", "/v6/pages/"+e.page+"/content", `{"blocks":[{"type":"image"},{"type":"heading","text":"About <them>"}]}`)
		return e.call(t, "GET", "/v6/pages/"+e.page+"/content/diff", "")
	},
}

func TestGoldenAnswers(t *testing.T) {
	names := checkGoldenFiles(t)
	onBothEngines(t, func(t *testing.T, s *system) {
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				got := stable(golden[name](t, newExample(t, freshWorkspace(t, s))))
				file := filepath.Join(goldenDir, name+".json")
				// One engine writes and both compare, so an update can't hide
				// a difference between them.
				if *update && strings.Contains(t.Name(), "/sqlite/") {
					if err := os.WriteFile(file, got, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), string(got)); diff != "" {
					t.Errorf("the answer changed; if it should, run with -update (-want +got)\n%s", diff)
				}
			})
		}
	})
}

// freshWorkspace is the system as an app of a new workspace sees it.
func freshWorkspace(t *testing.T, s *system) *system {
	t.Helper()
	app, err := s.svc.CreateOperatorApp(t.Context(), service.OperatorApp{Name: "First app", Scopes: cms.Scopes, NewWorkspace: "Example"})
	if err != nil {
		t.Fatal(err)
	}
	fresh := *s
	fresh.key, fresh.first = string(app.Key), app.App
	return &fresh
}

// checkGoldenFiles holds the happy paths and their files against the route
// table, and returns the names in its order.
func checkGoldenFiles(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, e := range httpapi.RouteTable() {
		if golden[e.Name] == nil {
			t.Errorf("endpoint %s has no happy path", e.Name)
			continue
		}
		names = append(names, e.Name)
	}
	for name := range golden {
		if !slices.Contains(names, name) {
			t.Errorf("happy path %s has no endpoint", name)
		}
	}
	files, err := filepath.Glob(filepath.Join(goldenDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".json"); !slices.Contains(names, name) {
			t.Errorf("%s has no endpoint", file)
		}
	}
	return names
}

var (
	goldenID   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	goldenKey  = regexp.MustCompile(`(sk|pv)_[0-9A-Za-z]{49}|whsec_[0-9A-Za-z+/]{32}`)
	goldenHint = regexp.MustCompile(`"keyHint":"[0-9A-Za-z]{4}"`)
	goldenPlan = regexp.MustCompile(`"plan":"[0-9a-f]{64}"`)
	goldenTime = regexp.MustCompile(`"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"`)
	lastMod    = regexp.MustCompile(`<lastmod>[^<]*</lastmod>`)
	strongTag  = regexp.MustCompile(`^"[^"]+"$`)
)

// stable is an answer with placeholders for what differs from run to run.
func stable(r reply) []byte {
	headers := map[string]string{}
	for _, name := range []string{"Cache-Control", "Content-Type", "Location", "Vary"} {
		if r.header.Get(name) != "" {
			headers[name] = r.header.Get(name)
		}
	}
	if tag := r.header.Get("ETag"); tag != "" {
		headers["ETag"] = strongTag.ReplaceAllString(tag, "<tag>")
	}
	body := json.RawMessage("null")
	if len(r.body) > 0 {
		body = r.body
	}
	if !json.Valid(body) { // a document of another type
		body, _ = json.Marshal(lastMod.ReplaceAllString(string(body), "<lastmod>{time}</lastmod>"))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
	}{r.status, headers, body})
	if err != nil {
		return []byte(err.Error())
	}
	text := b.Bytes()
	text = goldenKey.ReplaceAll(text, []byte("<key>"))
	text = goldenHint.ReplaceAll(text, []byte(`"keyHint":"<hint>"`))
	text = goldenPlan.ReplaceAll(text, []byte(`"plan":"<plan>"`))
	text = goldenTime.ReplaceAll(text, []byte(`"<time>"`))
	seen := map[string]string{}
	text = goldenID.ReplaceAllFunc(text, func(id []byte) []byte {
		if seen[string(id)] == "" {
			seen[string(id)] = fmt.Sprintf("<id-%d>", len(seen)+1)
		}
		return []byte(seen[string(id)])
	})
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return []byte(err.Error())
	}
	return indented.Bytes()
}
