package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"galley/internal/httpapi"
	"galley/internal/pgtest"
	"galley/internal/ratelimit"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

// previewed is a site of which previews are made.
type previewed struct {
	*system
	site, siteKey, locale string
	pages, routes         map[string]string // ids, by pathname
}

func newPreviewed(t *testing.T, s *system) previewed {
	t.Helper()
	p := previewed{system: s, pages: map[string]string{}, routes: map[string]string{}}
	r := s.must(t, 201, "POST", "/v2/sites", `{"name":"Shop","hostOrigin":"https://www.example.com"}`)
	p.site, p.siteKey = r.str(t, "id"), r.str(t, "publicApiKey")
	p.locale = s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+p.site+`","locale":"fr"}`).str(t, "id")
	for _, pathname := range []string{"/", "/blog", "/blog/a", "/blogger", "/blog-x", "/about"} {
		p.pages[pathname] = s.newPage(t, p.site, pathname)
	}
	s.must(t, 200, "PATCH", "/v6/pages/"+p.pages["/blog/a"]+"?locale=fr", `{"pathname":"/actualites/a","title":"Actualités"}`)
	s.must(t, 200, "PATCH", "/v6/pages/"+p.pages["/about"]+"?locale=fr", `{"pathname":"/blog/a-propos"}`)
	for _, pathname := range []string{"/blog/feed", "/feed"} {
		p.routes[pathname] = s.must(t, 201, "POST", "/v2/routes", `{"siteId":"`+p.site+`","pathname":"`+pathname+`"}`).str(t, "id")
	}
	return p
}

// preview makes a preview and returns its id and token.
func (p previewed) preview(t *testing.T, fields string) (id, token string) {
	t.Helper()
	r := p.must(t, 201, "POST", "/v2/previews", `{"siteId":"`+p.site+`"`+fields+`}`)
	return r.str(t, "id"), r.str(t, "token")
}

func (p previewed) paths(t *testing.T, token, query string) string {
	t.Helper()
	r := p.mustAs(t, token, 200, "GET", "/v6/pages?siteId="+p.site+query, "")
	return strings.Trim(fmt.Sprint(r.column(t, "pathname")), "[]")
}

func TestPreviewReadsAtAndBelowItsPrefix(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newPreviewed(t, s)
		_, token := p.preview(t, `,"pathPrefix":"/blog"`)
		for target, status := range map[string]int{
			"/v6/pages/" + p.pages["/blog"]:                            200,
			"/v6/pages/" + p.pages["/blog/a"]:                          200,
			"/v6/pages/" + p.pages["/blogger"]:                         403,
			"/v6/pages/" + p.pages["/"]:                                403,
			"/v6/pages/blog%2Fa?siteId=" + p.site:                      200,
			"/v6/pages/blog/none?siteId=" + p.site:                     404,
			"/v6/pages/blog-x?siteId=" + p.site:                        403,
			"/v6/pages/none?siteId=" + p.site:                          403, // whether or not it exists
			"/v6/pages/" + p.pages["/blog/a"] + "?locale=fr":           403, // it is elsewhere there
			"/v6/pages/" + p.pages["/about"] + "?locale=fr":            200,
			"/v6/pages/" + p.pages["/about"]:                           403,
			"/v2/routes/" + p.routes["/blog/feed"]:                     200,
			"/v2/routes/" + p.routes["/feed"]:                          403,
			"/v2/routes/feed?siteId=" + p.site:                         403,
			"/v2/routes/blog%2Ffeed?siteId=" + p.site:                  200,
			"/v2/resolve?url=/blog/a&siteId=" + p.site:                 200,
			"/v2/resolve?url=/fr/blog/a&siteId=" + p.site:              200,
			"/v2/resolve?url=/blogger&siteId=" + p.site:                403,
			"/v2/resolve?url=/&siteId=" + p.site:                       403,
			"/v2/resolve?url=/%2F&siteId=" + p.site:                    403, // of no page
			"/v2/locales?siteId=" + p.site:                             200,
			"/v2/locales/fr?siteId=" + p.site:                          200,
			"/v6/pages?pathPrefix=/blogger&siteId=" + p.site:           403,
			"/v6/pages?pathPrefix=/x&siteId=" + p.site:                 403,
			"/v2/sites/" + p.site + "/robots.txt":                      403,
			"/v2/sites/" + p.site + "/changes":                         403,
			"/v5/pages":                                                403,
			"/v3/pages/%2Fblog":                                        403,
			"/v2/sites":                                                403,
			"/v2/previews?siteId=" + p.site:                            403,
			"/v6/pages?versionRef=ref:live&siteId=" + p.site:           403,
			"/v6/pages?versionRef=ref:draft&siteId=" + p.site:          200,
			"/v2/sites/" + p.site + "/sitemap.xml":                     200,
			"/v2/sites/" + p.site + "/sitemap.xml?versionRef=ref:live": 403,
			"/metrics": 403,
		} {
			for range 2 { // the second time from memory, if at all
				if got := p.send(t, token, "GET", target, ""); got.status != status {
					t.Errorf("%s: got %d, want %d\n%s", target, got.status, status, got.body)
				}
			}
		}
		for query, want := range map[string]string{
			"": "/blog /blog/a", "&sortBy=createdAt&sortDirection=desc": "/blog/a /blog", "&limit=1": "/blog", "&locale=fr": "/blog /blog/a-propos",
			"&pathPrefix=/bl": "/blog /blog/a", "&pathPrefix=/blog": "/blog /blog/a", "&pathPrefix=/blog/": "/blog/a", "&pathPrefix=/blog/a": "/blog/a",
			"&pathPrefix=/blog/b": "", "&limit=1&startingAfter=" + p.pages["/blog"]: "/blog/a",
		} {
			checkEqual(t, "list "+query, want, p.paths(t, token, query))
		}
		checkEqual(t, "routes", []any{"/blog/feed"}, p.mustAs(t, token, 200, "GET", "/v2/routes?siteId="+p.site, "").column(t, "pathname"))
		sitemap := string(p.mustAs(t, token, 200, "GET", "/v2/sites/"+p.site+"/sitemap.xml", "").body)
		if strings.Count(sitemap, "<loc>") != 4 || strings.Contains(sitemap, "blogger") || strings.Contains(sitemap, "about<") || strings.Contains(sitemap, "actualites") {
			t.Errorf("the sitemap has\n%s", sitemap)
		}
		// The whole site is its own prefix.
		_, whole := p.preview(t, "")
		checkEqual(t, "whole site", "/ /about /blog /blog-x /blog/a /blogger", p.paths(t, whole, ""))
		checkEqual(t, "routes of the whole site", 2, len(p.mustAs(t, whole, 200, "GET", "/v2/routes?siteId="+p.site, "").column(t, "id")))
	})
}

func TestPreviewReadsOneVersionInItsLocale(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newPreviewed(t, s)
		first := s.must(t, 201, "POST", "/v2/sites/"+p.site+"/publish", "").str(t, "id")
		page := "/v6/pages/" + p.pages["/about"]
		s.must(t, 200, "PATCH", page, `{"title":"Second"}`)
		s.must(t, 201, "POST", "/v2/sites/"+p.site+"/publish", "")
		s.must(t, 200, "PATCH", page, `{"title":"Third"}`)
		s.must(t, 200, "PATCH", "/v2/sites/"+p.site, `{"siteKeyAccess":"live"}`) // is not about previews
		_, draft := p.preview(t, "")
		_, past := p.preview(t, `,"versionRef":"publish:`+first+`"`)
		_, french := p.preview(t, `,"locale":"`+p.locale+`"`)
		checkEqual(t, "draft", "Third", p.mustAs(t, draft, 200, "GET", page, "").str(t, "title"))
		checkEqual(t, "past", nil, p.mustAs(t, past, 200, "GET", page, "").json(t)["title"])
		checkEqual(t, "past, named", nil, p.mustAs(t, past, 200, "GET", page+"?versionRef=publish:"+strings.ToUpper(first), "").json(t)["title"])
		for _, ref := range []string{"ref:draft", "ref:live", "publish:" + p.site} {
			p.mustAs(t, past, 403, "GET", page+"?versionRef="+ref, "")
			p.mustAs(t, past, 403, "GET", "/v2/resolve?url=/about&siteId="+p.site+"&versionRef="+ref, "")
		}
		checkEqual(t, "locale", "fr", p.mustAs(t, french, 200, "GET", page, "").str(t, "locale"))
		checkEqual(t, "locale of a list", "/ /actualites/a /blog /blog-x /blog/a-propos /blogger", p.paths(t, french, ""))
		checkEqual(t, "another locale", "en-US", p.mustAs(t, french, 200, "GET", page+"?locale=en-us", "").str(t, "locale"))
		s.must(t, 204, "DELETE", "/v2/locales/"+p.locale, "")
		p.mustAs(t, french, 404, "GET", page, "")
	})
}

func TestPreviewOfASiteHasNoKey(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newPreviewed(t, s)
		_, token := p.preview(t, `,"pathPrefix":"/blog"`)
		r := p.mustAs(t, token, 200, "GET", "/v2/sites/"+p.site, "")
		if _, shown := r.json(t)["publicApiKey"]; shown || r.str(t, "id") != p.site || strings.Contains(string(r.body), p.siteKey) {
			t.Errorf("a preview is shown %s", r.body)
		}
	})
}

func TestPreviewEndsAtOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newPreviewed(t, s)
		page := "/v6/pages/" + p.pages["/about"]
		id, token := p.preview(t, `,"expiresInSeconds":3600`)
		_, lasting := p.preview(t, "")
		p.mustAs(t, token, 200, "GET", page, "")
		p.must(t, 200, "GET", page, "", "X-Api-Key", "", "Authorization", "Bearer "+token)
		s.must(t, 200, "POST", "/v2/sites/"+p.site+"/rotate-key", "")
		p.mustAs(t, token, 200, "GET", page, "")
		s.later(t, 59*time.Minute).mustAs(t, token, 200, "GET", page, "")
		s.later(t, 61*time.Minute).mustAs(t, token, 401, "GET", page, "")
		s.later(t, 119*time.Hour).mustAs(t, lasting, 200, "GET", page, "")
		s.later(t, 121*time.Hour).mustAs(t, lasting, 401, "GET", page, "")

		s.must(t, 204, "DELETE", "/v2/previews/"+id, "")
		p.mustAs(t, token, 401, "GET", page, "")
		checkEqual(t, "deleted", "Preview not found", s.must(t, 404, "GET", "/v2/previews/"+id, "").str(t, "message"))
		s.must(t, 404, "DELETE", "/v2/previews/"+id, "")
		s.must(t, 200, "GET", "/v2/previews?siteId="+p.site+"&startingAfter="+id, "")

		s.must(t, 204, "DELETE", "/v2/sites/"+p.site, "")
		p.mustAs(t, lasting, 401, "GET", page, "")
		s.must(t, 200, "POST", "/v2/sites/"+p.site+"/restore", "")
		p.mustAs(t, lasting, 200, "GET", page, "")
		p.mustAs(t, token, 401, "GET", page, "")
		ahead := service.New(s.store, func() time.Time { return clock().Add(36 * 24 * time.Hour) }, httpapi.AuditState)
		if err := ahead.PurgePreviews(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkEqual(t, "list after the purge", 0, len(s.must(t, 200, "GET", "/v2/previews?siteId="+p.site, "").column(t, "id")))
	})
}

func TestPreviewEndsOnEveryNode(t *testing.T) {
	url := pgtest.URL(t)
	open := func() *system {
		store, err := sqlstore.OpenPostgres(url, nil)
		return newSystem(t, store, err)
	}
	p, other := newPreviewed(t, open()), open()
	id, token := p.preview(t, "")
	page := "/v6/pages/" + p.pages["/about"]
	eventually(t, "the other node answers from memory", func() bool {
		other.mustAs(t, token, 200, "GET", page, "")
		return other.svc.Listening()
	})
	p.must(t, 204, "DELETE", "/v2/previews/"+id, "")
	deleted := time.Now()
	eventually(t, "the other node refuses the token", func() bool { return other.send(t, token, "GET", page, "").status == 401 })
	if took := time.Since(deleted); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestPreviewGivesNoMoreThanItsApp(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		_, brief := s.newApp(t, `{"name":"Brief","expiresAt":"`+end.Format(time.RFC3339)+`"}`)
		r := s.mustAs(t, brief, 201, "POST", "/v2/previews", `{"siteId":"`+site+`"}`)
		checkEqual(t, "end", end.Format("2006-01-02T15:04:05.000Z"), r.str(t, "expiresAt"))
		s.mustAs(t, brief, 403, "POST", "/v2/previews", `{"siteId":"`+site+`","expiresInSeconds":3700}`)
		id, writer := s.newApp(t, `{"name":"Writer","scopes":["read","write"]}`)
		send := func() int {
			return s.send(t, writer, "POST", "/v2/previews", `{"siteId":"`+site+`"}`, idempotencyKey, "once").status
		}
		checkEqual(t, "with read", 201, send())
		s.must(t, 200, "PATCH", "/v2/apps/"+id, `{"scopes":["write"]}`)
		checkEqual(t, "without read", 403, send())
	})
}

func TestPreviewIsUsedAndAudited(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newPreviewed(t, s)
		s.must(t, 200, "PATCH", "/v2/sites/"+p.site, `{"previewUrlTemplate":"http://localhost:3000/api/preview?to={pathname}&in={locale}#{token}"}`)
		r := s.must(t, 201, "POST", "/v2/previews", `{"siteId":"`+p.site+`","pathPrefix":"/caf%C3%A9 & co/+"}`, idempotencyKey, "once")
		id, token := r.str(t, "id"), r.str(t, "token")
		checkEqual(t, "url", "http://localhost:3000/api/preview?to=/caf%C3%A9%20%26%20co/%2B&in=en-US#"+token, r.str(t, "url"))
		checkEqual(t, "repeated", string(r.body), string(s.must(t, 201, "POST", "/v2/previews", `{"siteId":"`+p.site+`","pathPrefix":"/caf%C3%A9 & co/+"}`, idempotencyKey, "once").body))
		got := s.must(t, 200, "GET", "/v2/previews/"+id, "")
		checkEqual(t, "not used", nil, got.json(t)["lastUsedAt"])
		checkEqual(t, "url later", nil, got.json(t)["url"])
		p.mustAs(t, token, 200, "GET", "/v2/me", "")
		if err := s.svc.SaveUsage(t.Context()); err != nil {
			t.Fatal(err)
		}
		got = s.must(t, 200, "GET", "/v2/previews/"+id, "")
		got.str(t, "lastUsedAt")
		s.must(t, 412, "DELETE", "/v2/previews/"+id, "", "If-Match", `"x"`)
		s.must(t, 204, "DELETE", "/v2/previews/"+id, "", "If-Match", got.header.Get("ETag"))
		audit := s.must(t, 200, "GET", "/v2/audit?resourceId="+id, "")
		checkEqual(t, "audit", []any{"deletePreview", "createPreview"}, audit.column(t, "operation"))
		if strings.Contains(string(audit.body), token[3:]) {
			t.Errorf("the audit trail has the token: %s", audit.body)
		}
	})
}

func TestCredentialTellsOfItself(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newPreviewed(t, s)
		_, token := p.preview(t, `,"name":"Agency"`)
		appID, app := s.newApp(t, `{"name":"Metrics","scopes":["operator"],"siteIds":["`+p.site+`"]}`)
		for key, want := range map[string]string{
			token:     fmt.Sprintf(`preview <nil> %s Agency [] [%s]`, p.site, p.site),
			p.siteKey: fmt.Sprintf(`site <nil> %s Shop [] [%s]`, p.site, p.site),
			app:       fmt.Sprintf(`app %s <nil> Metrics [operator] [%s]`, appID, p.site),
		} {
			r := s.mustAs(t, key, 200, "GET", "/v2/me", "").json(t)
			checkEqual(t, "credential", want, fmt.Sprint(r["kind"], " ", r["appId"], " ", r["siteId"], " ", r["name"], " ", r["scopes"], " ", r["siteIds"]))
			checkEqual(t, "workspace", s.first.WorkspaceID.String(), r["workspaceId"])
			checkEqual(t, "ends", key == token, r["expiresAt"] != nil)
		}
		s.must(t, 200, "POST", "/v2/sites/"+p.site+"/rotate-key", `{"graceSeconds":60}`)
		s.mustAs(t, p.siteKey, 200, "GET", "/v2/me", "").str(t, "expiresAt")
	})
}

func TestPreviewsShareTheRateOfTheirSite(t *testing.T) {
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err, func(o *httpapi.Options) { o.Limits.Site = ratelimit.Rate{Requests: 3, Period: time.Hour} })
	p := newPreviewed(t, s)
	_, first := p.preview(t, "")
	_, second := p.preview(t, "")
	checkEqual(t, "left", "2", remaining(p.mustAs(t, first, 200, "GET", "/v2/me", "")))
	checkEqual(t, "left for another", "1", remaining(p.mustAs(t, second, 200, "GET", "/v2/me", "")))
	checkEqual(t, "left for the Site key", "0", remaining(p.mustAs(t, p.siteKey, 200, "GET", "/v2/me", "")))
	p.mustAs(t, first, 429, "GET", "/v2/me", "")
}
