package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/service"
)

type event struct {
	ID, Type, At, WorkspaceID string
	SiteID, Locale, RequestID *string
	Actor                     struct{ AppID, Name *string }
	Data                      map[string]any
	ChangedFields             []string
	URLs                      *struct{ Changed, Removed []string }
	URLsTruncated             *bool
}

// events are all events that a list of them shows, whose pages have some items each.
func (s *system) events(t *testing.T, query string) (all []event) {
	t.Helper()
	query, cursor, found := strings.Cut(query, "startingAfter=")
	after := ""
	if found {
		after = "&startingAfter=" + cursor
	}
	for {
		var list struct {
			Data    []event
			HasMore bool
		}
		if err := json.Unmarshal(s.must(t, 200, "GET", "/v2/events?limit=7&"+query+after, "").body, &list); err != nil {
			t.Fatal(err)
		}
		all = append(all, list.Data...)
		if !list.HasMore {
			return all
		}
		after = "&startingAfter=" + all[len(all)-1].ID
	}
}

// of are the events of one request.
func eventsOf(all []event, r reply) []event {
	return slices.DeleteFunc(slices.Clone(all), func(e event) bool { return e.RequestID == nil || *e.RequestID != r.header.Get("X-Request-Id") })
}

// told is what an event says besides its data.
func (e event) told() string {
	text := e.Type
	if e.Locale != nil {
		text += " in " + *e.Locale
	}
	if e.ChangedFields != nil {
		text += " " + strings.Join(e.ChangedFields, ",")
	}
	return text
}

func told(events []event) (texts []string) {
	for _, e := range events {
		texts = append(texts, e.told())
	}
	return texts
}

// toldBy has the events of the happy path of every operation that writes.
var toldBy = map[string][]string{
	"createApp":    {"app.created"},
	"updateApp":    {"app.updated description,siteIds,expiresAt"},
	"deleteApp":    {"app.deleted"},
	"rotateAppKey": {"app.updated key"},

	"createSite":    {"site.created"},
	"updateSite":    {"site.updated name,defaultLocalePathPrefix,siteKeyAccess"},
	"deleteSite":    {"site.deleted"},
	"restoreSite":   {"site.restored"},
	"duplicateSite": {"site.duplicated"},
	"rotateSiteKey": {"site.updated publicApiKey"},

	"publishSite":    {"publish.published"},
	"publishPage":    {"publish.published"},
	"restorePublish": {"publish.published"},
	"cancelPublish":  {"publish.canceled"},
	"discardSite":    {"page.discarded"},
	"discardPage":    {"page.discarded"},

	"createLocale":  {"locale.created"},
	"updateLocale":  {"locale.updated locale,domain"},
	"deleteLocale":  {"locale.deleted"},
	"restoreLocale": {"locale.restored"},

	"createPreview":       {"preview.created"},
	"deletePreview":       {"preview.deleted"},
	"createWebhook":       {"webhook.created"},
	"updateWebhook":       {"webhook.updated url,types,isEnabled"},
	"deleteWebhook":       {"webhook.deleted"},
	"rotateWebhookSecret": {"webhook.updated secret"},

	"createRoute": {"route.created"},
	"updateRoute": {"route.updated pathname"},
	"deleteRoute": {"route.deleted"},

	"createRedirect":  {"redirect.created"},
	"batchRedirects":  {"redirect.created", "redirect.deleted in pt-BR"},
	"updateRedirect":  {"redirect.updated status,locale"},
	"deleteRedirect":  {"redirect.deleted in pt-BR"},
	"restoreRedirect": {"redirect.restored in pt-BR"},
	"discardRedirect": {"redirect.discarded in pt-BR"},

	"createPage":     {"page.created"},
	"batchPages":     {"page.created", "page.updated in pt-BR title", "page.deleted"},
	"updatePage":     {"page.updated title,sitemapPriority"},
	"deletePage":     {"page.deleted"},
	"restorePage":    {"page.restored"},
	"delocalizePage": {"page.updated in pt-BR pathname,title"},
	"putContent":     {"page.updated in pt-BR content"},
	"deleteContent":  {"page.updated content"},
}

// shownAt is where a GET shows a resource, by its object.
var shownAt = map[string]string{
	"app": "/v2/apps/", "webhook": "/v2/webhooks/", "site": "/v2/sites/", "locale": "/v2/locales/", "publish": "/v2/publishes/", "preview": "/v2/previews/",
	"route": "/v2/routes/", "redirect": "/v2/redirects/", "page": "/v6/pages/",
}

// shown is a resource as a GET shows it, without keys; nil if there is none.
func (s *system) shown(t *testing.T, object, id, locale string) map[string]any {
	t.Helper()
	target := shownAt[object] + id
	if locale != "" && object == "page" {
		target += "?locale=" + locale
	}
	r := s.call(t, "GET", target, "")
	if r.status == 404 {
		return nil
	}
	v := r.json(t)
	delete(v, "publicApiKey")
	return v
}

// Every operation is the events that it should be, with the resource as a GET shows it.
func TestEveryOperationIsItsEvents(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for _, endpoint := range httpapi.RouteTable() {
			t.Run(endpoint.Name, func(t *testing.T) {
				e := newExample(t, freshWorkspace(t, s))
				before := map[string]map[string]any{}
				for object, id := range map[string]string{"app": e.app, "site": e.site, "locale": e.locale, "route": e.route, "redirect": e.redirect, "page": e.page} {
					before[id] = e.shown(t, object, id, "")
				}
				r := golden[endpoint.Name](t, e)
				all := e.events(t, "")
				found := eventsOf(all, r)
				if !reflect.DeepEqual(told(found), toldBy[endpoint.Name]) {
					t.Fatalf("told\n%q\nwant\n%q", told(found), toldBy[endpoint.Name])
				}
				for _, told := range found {
					e.checkEvent(t, told, before)
				}
			})
		}
	})
}

func (s *system) checkEvent(t *testing.T, e event, before map[string]map[string]any) {
	t.Helper()
	object, _, _ := strings.Cut(e.Type, ".")
	id, _ := e.Data["id"].(string)
	if e.Data["object"] != object || e.WorkspaceID != s.first.WorkspaceID.String() || e.Actor.AppID == nil || *e.Actor.AppID != s.first.ID.String() {
		t.Errorf("%+v", e)
	}
	if (e.SiteID == nil) != (object == "app" || object == "webhook") {
		t.Errorf("%s has the site %v", e.Type, e.SiteID)
	}
	for _, secret := range []string{"key", "token", "publicApiKey", "secret", "content"} {
		if _, has := e.Data[secret]; has {
			t.Errorf("%s tells %s", e.Type, secret)
		}
	}
	locale := ""
	if e.Locale != nil {
		locale = *e.Locale
	}
	want := s.shown(t, object, id, locale)
	switch {
	case want == nil && before[id] != nil && strings.HasPrefix(e.Type, "page.") && e.Type != "page.deleted" && e.Type != "page.discarded":
		return // a later operation of the batch deleted it
	case want == nil && before[id] == nil:
		return // the happy path made it
	case want == nil:
		want = before[id]
	}
	for _, v := range []map[string]any{want, e.Data} {
		delete(v, "lastUsedAt")
		if e.Type == "page.deleted" {
			delete(v, "updatedAt") // the batch changed it before
		}
	}
	if !reflect.DeepEqual(e.Data, want) {
		t.Errorf("%s tells\n%v\nand a GET shows\n%v", e.Type, e.Data, want)
	}
}

// What changes nothing is no event, a request is one, a batch one for each operation,
// and a discard one for each page.
func TestWhatIsAnEvent(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		last := func() string { all := s.events(t, ""); return all[len(all)-1].ID }
		page := "/v6/pages/" + e.page
		locale := func(code string) string { return e.in(`"locale":"` + code + `"`) }
		e.must(t, 201, "POST", "/v2/locales", locale("fr"))
		e.publish(t)
		e.must(t, 201, "POST", "/v6/pages", e.in(`"pathname":"/keyed"`), "Idempotency-Key", "a")
		for _, c := range []struct {
			name string
			do   func()
			want []string
		}{
			{"equal values", func() {
				e.must(t, 200, "PATCH", page, `{"title":"About <us>","isOnline":true}`)
				e.must(t, 200, "PATCH", page+"?locale=pt-BR", `{"title":"Sobre nós"}`)
				e.must(t, 200, "PATCH", "/v2/sites/"+e.site, `{"name":"Shop","labels":["eu","shop"]}`)
				e.must(t, 200, "PATCH", "/v2/routes/"+e.route, `{"pathname":"/checkout"}`)
				e.must(t, 200, "PATCH", "/v2/redirects/"+e.redirect, `{"status":301}`)
				e.must(t, 200, "PATCH", "/v2/locales/"+e.locale, `{"pathPrefix":"br"}`)
				e.must(t, 200, "PATCH", "/v2/apps/"+e.app, `{"name":"Importer","expiresAt":"2100-01-31T12:00:00Z"}`)
			}, nil},
			{"a dry run", func() { e.must(t, 200, "POST", "/v2/sites/"+e.site+"/publish", `{"dryRun":true}`) }, nil},
			{"a repeated request", func() {
				e.must(t, 201, "POST", "/v6/pages", e.in(`"pathname":"/keyed"`), "Idempotency-Key", "a")
			}, nil},
			{"what is refused", func() { e.call(t, "POST", "/v6/pages", e.in(`"pathname":"/about"`)) }, nil},
			{"nothing to publish", func() { e.must(t, 200, "POST", page+"/publish", "") }, nil},
			{"a locale's own value that is the inherited one", func() { e.must(t, 200, "PATCH", page+"?locale=fr", `{"title":"About <us>"}`) }, []string{"page.updated in fr title"}},
			{"a locale's own value that is inherited again", func() { e.must(t, 200, "PATCH", page+"?locale=fr", `{"title":null}`) }, []string{"page.updated in fr title"}},
			{"the default locale by its code", func() { e.must(t, 200, "PATCH", page+"?locale=en-US", `{"title":"A"}`) }, []string{"page.updated title"}},
			{"a page without a name", func() {
				id := e.newPage(t, e.site, "/nameless")
				e.must(t, 200, "PATCH", "/v6/pages/"+id, `{"title":"Title"}`)
				e.must(t, 200, "PATCH", "/v6/pages/"+id, `{"name":"Title"}`)
			}, []string{"page.created", "page.updated title", "page.updated name"}},
			{"another default locale", func() { e.must(t, 200, "PATCH", "/v2/sites/"+e.site, `{"defaultLocale":"fr"}`) }, []string{"site.updated defaultLocale"}},
			{"a batch", func() {
				e.must(t, 200, "POST", "/v6/pages/batch", e.in(`"operations":[
					{"op":"create","pathname":"/one","localizations":{"en-US":{"title":"One"},"pt-BR":{"title":"Um"}}},
					{"op":"update","pageId":"`+e.page+`","description":"C"},{"op":"update","pageId":"`+e.page+`","description":"C"},
					{"op":"delete","pageId":"`+e.page+`","locale":"pt-BR"}]`))
			}, []string{"page.created", "page.updated description", "page.updated in pt-BR pathname,title"}},
			{"a page that takes the source of an automatic redirect", func() {
				e.must(t, 200, "PATCH", page, `{"pathname":"/moved"}`)
				e.publish(t)
				e.newPage(t, e.site, "/about")
			}, []string{"page.updated pathname", "publish.published", "page.created"}},
			{"a route that takes the source of an automatic redirect", func() {
				e.must(t, 200, "PATCH", page, `{"pathname":"/again"}`)
				e.publish(t)
				e.must(t, 201, "POST", "/v2/routes", e.in(`"pathname":"/moved"`))
			}, []string{"page.updated pathname", "publish.published", "route.created"}},
			{"a discard", func() {
				e.must(t, 200, "PATCH", page, `{"title":"D"}`)
				e.newPage(t, e.site, "/never")
				e.must(t, 200, "PATCH", "/v2/redirects/"+e.redirect, `{"target":"/other"}`)
				e.must(t, 200, "POST", "/v2/sites/"+e.site+"/discard", "")
			}, []string{"page.updated title", "page.created", "redirect.updated in pt-BR target", "redirect.discarded in pt-BR", "page.discarded", "page.discarded"}},
			{"a page deleted by its pathname in a locale", func() {
				e.must(t, 200, "PATCH", page+"?locale=pt-BR", `{"pathname":"/la"}`)
				e.must(t, 204, "DELETE", "/v6/pages/%2Fla?locale=pt-BR&siteId="+e.site, "")
			}, []string{"page.updated in pt-BR pathname", "page.deleted"}},
			{"a scheduled publish", func() {
				e.must(t, 201, "POST", "/v2/sites/"+e.site+"/publish", `{"publishAt":"2100-01-31T12:00:00Z"}`)
			}, []string{"publish.scheduled"}},
		} {
			after := last()
			c.do()
			if got := told(s.events(t, "startingAfter="+after)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: told\n%q\nwant\n%q", c.name, got, c.want)
			}
		}
	})
}

// A scheduled publish has the actor of the request that scheduled it, and one that fails
// says so.
func TestEventsOfScheduledPublishes(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		soon := func() string {
			return `{"publishAt":"` + time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano) + `"}`
		}
		run := func() {
			for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
				p, err := s.svc.RunDuePublish(t.Context())
				if err != nil || time.Now().After(end) {
					t.Fatal(err)
				}
				if p != nil {
					return
				}
			}
		}
		e.must(t, 201, "POST", "/v2/sites/"+e.site+"/publish", soon(), "X-Actor", "Zoë")
		run()
		e.must(t, 201, "POST", "/v2/sites/"+e.site+"/publish", soon())
		e.must(t, 204, "DELETE", "/v2/sites/"+e.site, "")
		run()
		found := s.events(t, "types=publish.scheduled,publish.published,publish.failed")
		if got := fmt.Sprint(told(found)); got != "[publish.scheduled publish.published publish.scheduled publish.failed]" {
			t.Fatal(got)
		}
		for i, e := range found {
			named := e.Actor.Name != nil && *e.Actor.Name == "Zoë"
			if e.Actor.AppID == nil || *e.Actor.AppID != s.first.ID.String() || named != (i < 2) || (e.RequestID == nil) != (i%2 == 1) {
				t.Errorf("%s is by %v %v, request %v", e.Type, e.Actor.AppID, e.Actor.Name, e.RequestID)
			}
		}
		if reason, _ := found[3].Data["reason"].(string); !strings.Contains(reason, "deleted") {
			t.Errorf("it failed because %v", found[3].Data["reason"])
		}
	})
}

// The event of a publish that went live has the URLs for caches, and no other.
func TestEventsHaveURLs(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		e.publish(t)
		e.must(t, 204, "DELETE", "/v6/pages/"+e.page, "")
		e.publish(t)
		var published []event
		for _, told := range s.events(t, "siteId="+e.site) {
			if told.Type == "publish.published" {
				published = append(published, told)
			} else if told.URLs != nil || told.URLsTruncated != nil {
				t.Errorf("%s has URLs", told.Type)
			}
		}
		about := "https://www.example.com/about"
		if len(published) != 2 || published[0].URLs == nil || published[1].URLs == nil || published[0].URLsTruncated == nil || *published[0].URLsTruncated ||
			!slices.Contains(published[0].URLs.Changed, about) || !slices.Contains(published[1].URLs.Removed, about) {
			t.Fatalf("%+v", published)
		}
	})
}

// Events of the command line have no app and no request.
func TestEventsOfTheOperator(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		app := s.must(t, 201, "POST", "/v2/apps", `{"name":"Reader","scopes":["read"]}`).str(t, "id")
		id, _ := cms.ParseID(app)
		for range 2 { // the second time changes nothing
			if _, err := s.svc.SetAppScopes(t.Context(), id, []cms.Scope{cms.ScopeRead, cms.ScopeWrite}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.svc.SetAppRate(t.Context(), id, "10/1"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.svc.RevokeOperatorApp(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		found := s.events(t, "")
		if got := fmt.Sprintf("%q", told(found)); got != `["app.created" "app.created" "app.updated scopes" "app.updated " "app.deleted"]` {
			t.Fatal(got)
		}
		for _, e := range slices.Delete(found, 1, 2) {
			if e.Actor.AppID != nil || e.Actor.Name != nil || e.RequestID != nil || e.SiteID != nil {
				t.Errorf("%+v", e)
			}
		}
	})
}

// The list filters, and any event of the workspace is a cursor whatever the filter.
func TestEventFilters(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		shop, blog := newExample(t, s), newExample(t, s)
		all := s.events(t, "")
		if !slices.IsSortedFunc(all, func(a, b event) int { return strings.Compare(a.At, b.At) }) {
			t.Error("the events are not in their order")
		}
		ids := func(events []event) (ids []string) {
			for _, e := range events {
				ids = append(ids, e.ID)
			}
			return ids
		}
		where := func(keep func(event) bool) []event {
			return slices.DeleteFunc(slices.Clone(all), func(e event) bool { return !keep(e) })
		}
		middle := all[len(all)/2]
		for query, keep := range map[string]func(e event) bool{
			"":                               func(event) bool { return true },
			"siteId=" + shop.site:            func(e event) bool { return e.SiteID != nil && *e.SiteID == shop.site },
			"types=page.created":             func(e event) bool { return e.Type == "page.created" },
			"types=app.created,page.updated": func(e event) bool { return e.Type == "app.created" || e.Type == "page.updated" },
			"types=page.restored":            func(event) bool { return false },
			"since=" + middle.At:             func(e event) bool { return e.At >= middle.At },
			"since=2000-01-01T00:00:00Z":     func(event) bool { return true },
			"since=2100-01-01T00:00:00Z":     func(event) bool { return false },
			"types=page.created,page.updated&siteId=" + blog.site: func(e event) bool {
				return (e.Type == "page.created" || e.Type == "page.updated") && *e.SiteID == blog.site
			},
			"types=page.created&since=" + middle.At: func(e event) bool { return e.Type == "page.created" && e.At >= middle.At },
		} {
			if got, want := ids(s.events(t, query)), ids(where(keep)); !slices.Equal(got, want) {
				t.Errorf("%s lists %v, want %v", query, got, want)
			}
			for i, cursor := range all {
				if i%4 != 0 {
					continue
				}
				want := where(keep)
				rest := want[:0:0]
				for _, e := range want {
					if slices.Index(ids(all), e.ID) > i {
						rest = append(rest, e)
					}
				}
				if got := ids(s.events(t, query+"&startingAfter="+cursor.ID)); !slices.Equal(got, ids(rest)) {
					t.Errorf("%s after event %d lists %v, want %v", query, i, got, ids(rest))
				}
			}
		}
		other := newExample(t, freshWorkspace(t, s))
		for name, target := range map[string]string{
			"startingAfter: an unknown id":        "startingAfter=" + cms.NewID().String(),
			"startingAfter: no id":                "startingAfter=abc",
			"startingAfter: the nil id":           "startingAfter=00000000-0000-0000-0000-000000000000",
			"startingAfter: of another workspace": "startingAfter=" + other.events(t, "")[0].ID,
			"startingAfter: a page":               "startingAfter=" + shop.page,
			"types: unknown":                      "types=page.moved",
			"types: another letter case":          "types=Page.created",
			"types: twice":                        "types=page.created,page.created",
			"types: an empty one":                 "types=page.created,",
			"since: no time":                      "since=yesterday",
			"until: not here":                     "until=2100-01-01T00:00:00Z",
		} {
			field, _, _ := strings.Cut(name, ":")
			r := s.call(t, "GET", "/v2/events?"+target, "")
			if r.status != 400 || !strings.Contains(string(r.body), `"field":"`+field+`"`) {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		for target, want := range map[string]int{"siteId=" + other.site: 403, "siteId=" + cms.NewID().String(): 404} {
			if r := s.call(t, "GET", "/v2/events?"+target, ""); r.status != want {
				t.Errorf("%s: %d %s", target, r.status, r.body)
			}
		}
	})
}

// An app restricted to sites sees no events without a site or of another site, and those
// of apps need the scope admin.
func TestEventRights(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		shop, blog := newExample(t, s), newExample(t, s)
		all := s.events(t, "")
		as := func(rights string) *system {
			app := *s
			app.key = s.must(t, 201, "POST", "/v2/apps", `{"name":"App",`+rights+`}`).str(t, "key")
			return &app
		}
		types := func(events []event, site string) map[string]bool {
			seen := map[string]bool{}
			for _, e := range events {
				kind, _, _ := strings.Cut(e.Type, ".")
				seen[kind] = true
				if site != "" && (e.SiteID == nil || *e.SiteID != site) {
					t.Errorf("an app of one site sees %+v", e)
				}
			}
			return seen
		}
		reader := as(`"scopes":["read"]`)
		if seen := types(reader.events(t, ""), ""); seen["app"] || !seen["page"] || !seen["site"] {
			t.Errorf("a reader sees %v", seen)
		}
		if r := reader.call(t, "GET", "/v2/events?types=page.created,app.created", ""); r.status != 403 {
			t.Errorf("events of apps for a reader: %d %s", r.status, r.body)
		}
		if r := as(`"scopes":["write"]`).call(t, "GET", "/v2/events", ""); r.status != 403 {
			t.Errorf("events without the scope read: %d %s", r.status, r.body)
		}
		if r := s.send(t, shop.siteKey(t), "GET", "/v2/events", ""); r.status != 403 {
			t.Errorf("events for a Site key: %d %s", r.status, r.body)
		}
		for _, scopes := range []string{`["read"]`, `["read","admin"]`} {
			restricted := as(`"scopes":` + scopes + `,"siteIds":["` + shop.site + `"]`)
			seen := types(restricted.events(t, ""), shop.site)
			if !maps.Equal(seen, map[string]bool{"site": true, "page": true, "locale": true, "route": true, "redirect": true}) {
				t.Errorf("an app of one site with %s sees %v", scopes, seen)
			}
			types(restricted.events(t, "siteId="+shop.site+"&startingAfter="+all[0].ID), shop.site)
			if r := restricted.call(t, "GET", "/v2/events?siteId="+blog.site, ""); r.status != 403 {
				t.Errorf("events of another site: %d %s", r.status, r.body)
			}
		}
		both := as(`"scopes":["read"],"siteIds":["` + shop.site + `","` + blog.site + `"]`)
		want := slices.DeleteFunc(slices.Clone(all), func(e event) bool { return e.SiteID == nil })
		if got := both.events(t, ""); !reflect.DeepEqual(told(got), told(want)) {
			t.Errorf("an app of two sites sees %q, want %q", told(got), told(want))
		}
	})
}

// A deleted site's events stay until it is purged.
func TestEventsOfADeletedSite(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		shop, blog := newExample(t, s), newExample(t, s)
		s.must(t, 204, "DELETE", "/v2/sites/"+shop.site, "")
		found := s.events(t, "siteId="+shop.site)
		if len(found) < 7 || found[len(found)-1].Type != "site.deleted" {
			t.Fatalf("the events of a deleted site are %q", told(found))
		}
		others := len(s.events(t, "")) - len(found)
		time.Sleep(10 * time.Millisecond)
		if n, err := s.svc.PurgeSites(t.Context(), time.Millisecond); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if r := s.call(t, "GET", "/v2/events?siteId="+shop.site, ""); r.status != 404 {
			t.Errorf("the events of a purged site: %d %s", r.status, r.body)
		}
		left := s.events(t, "")
		if len(left) != others {
			t.Errorf("%d events are left, want %d: %q", len(left), others, told(left))
		}
		if r := s.call(t, "GET", "/v2/events?startingAfter="+left[0].ID, ""); r.status != 200 {
			t.Errorf("after the purge: %d %s", r.status, r.body)
		}
		s.newPage(t, blog.site, "/new")
		if all := s.events(t, "startingAfter="+left[len(left)-1].ID); len(all) != 1 {
			t.Errorf("the next event: %q", told(all))
		}
	})
}

// Events are kept for the retention. A cursor that is older is gone, before and after the
// purge, and an older since begins with the oldest kept.
func TestEventRetention(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		e := newExample(t, s)
		old := s.events(t, "")
		time.Sleep(1500 * time.Millisecond)
		e.newPage(t, e.site, "/new")
		s.svc.EventRetention = time.Second
		t.Cleanup(func() { s.svc.EventRetention = service.DefaultEventRetention })
		never, _ := cms.ParseID("01900000-0000-7000-8000-000000000000") // of 2024
		check := func() {
			t.Helper()
			for name, id := range map[string]string{"first": old[0].ID, "last": old[len(old)-1].ID, "unknown": never.String()} {
				r := s.call(t, "GET", "/v2/events?startingAfter="+id, "")
				if r.status != 410 || !strings.Contains(string(r.body), `"code":"gone"`) {
					t.Errorf("the %s cursor: %d %s", name, r.status, r.body)
				}
			}
			for _, query := range []string{"", "since=2000-01-01T00:00:00Z", "since=" + old[0].At} {
				if got := fmt.Sprint(told(s.events(t, query))); got != "[page.created]" {
					t.Errorf("%q lists %s", query, got)
				}
			}
			if r := s.call(t, "GET", "/v2/events?startingAfter="+cms.NewID().String(), ""); r.status != 400 {
				t.Errorf("an unknown cursor of today: %d %s", r.status, r.body)
			}
		}
		check()
		if err := s.svc.PurgeEvents(t.Context()); err != nil {
			t.Fatal(err)
		}
		check()
		s.svc.EventRetention = time.Hour
		if got := s.events(t, ""); len(got) != 1 {
			t.Errorf("%d events are left, want 1", len(got))
		}
		if entries := s.audit(t, "limit=100"); len(entries) < len(old) {
			t.Errorf("%d entries are left of the audit trail, want all", len(entries))
		}
	})
}

// The audit trail keeps what events show, if it is kept for a shorter time.
func TestAuditIsKeptAsLongAsEvents(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		newExample(t, s)
		before := s.events(t, "")
		time.Sleep(10 * time.Millisecond)
		if err := s.svc.PurgeAudit(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if after := s.events(t, ""); !reflect.DeepEqual(before, after) {
			t.Errorf("of %d events, %d are left", len(before), len(after))
		}
	})
}
