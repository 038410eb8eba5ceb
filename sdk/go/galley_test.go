package galley_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	galley "galley/sdk/go"
)

// operations are the methods, by the operations of the interface document.
var operations = map[string]any{
	"listApps": (*galley.Apps).List, "createApp": (*galley.Apps).Create, "getApp": (*galley.Apps).Get, "updateApp": (*galley.Apps).Update,
	"deleteApp": (*galley.Apps).Delete, "rotateAppKey": (*galley.Apps).Rotate,
	"listAudit":   (*galley.Audit).List,
	"listLocales": (*galley.Locales).List, "createLocale": (*galley.Locales).Create, "getLocale": (*galley.Locales).Get,
	"updateLocale": (*galley.Locales).Update, "deleteLocale": (*galley.Locales).Delete, "restoreLocale": (*galley.Locales).Restore,
	"getCredential": (*galley.Client).Me, "getWorkspace": (*galley.Client).Workspace, "resolveUrl": (*galley.Client).Resolve,
	"listPreviews": (*galley.Previews).List, "createPreview": (*galley.Previews).Create, "getPreview": (*galley.Previews).Get,
	"deletePreview":          (*galley.Previews).Delete,
	"listScheduledPublishes": (*galley.Publishes).Scheduled, "getPublish": (*galley.Publishes).Get, "cancelPublish": (*galley.Publishes).Cancel,
	"listPublishChanges": (*galley.Publishes).Changes, "restorePublish": (*galley.Publishes).Restore,
	"listRedirects": (*galley.Redirects).List, "createRedirect": (*galley.Redirects).Create, "getRedirect": (*galley.Redirects).Get,
	"updateRedirect": (*galley.Redirects).Update, "deleteRedirect": (*galley.Redirects).Delete, "restoreRedirect": (*galley.Redirects).Restore,
	"discardRedirect": (*galley.Redirects).Discard, "batchRedirects": (*galley.Redirects).Batch,
	"listRoutes": (*galley.Routes).List, "createRoute": (*galley.Routes).Create, "getRoute": (*galley.Routes).Get,
	"updateRoute": (*galley.Routes).Update, "deleteRoute": (*galley.Routes).Delete,
	"listSites": (*galley.Sites).List, "createSite": (*galley.Sites).Create, "getSite": (*galley.Sites).Get, "updateSite": (*galley.Sites).Update,
	"deleteSite": (*galley.Sites).Delete, "restoreSite": (*galley.Sites).Restore, "duplicateSite": (*galley.Sites).Duplicate,
	"rotateSiteKey": (*galley.Sites).RotateKey, "listSitePages": (*galley.Sites).Pages, "listChanges": (*galley.Sites).Changes,
	"publishSite": (*galley.Sites).Publish, "discardSite": (*galley.Sites).Discard, "listPublishes": (*galley.Sites).Publishes,
	"getSitemap": (*galley.Sites).Sitemap, "getRobots": (*galley.Sites).Robots,
	"listRuntimePages": (*galley.Runtime).List, "getRuntimePage": (*galley.Runtime).Get,
	"listPages": (*galley.Pages).List, "createPage": (*galley.Pages).Create, "getPage": (*galley.Pages).Get, "updatePage": (*galley.Pages).Update,
	"deletePage": (*galley.Pages).Delete, "restorePage": (*galley.Pages).Restore, "delocalizePage": (*galley.Pages).Delocalize,
	"batchPages": (*galley.Pages).Batch, "getTree": (*galley.Pages).Tree, "publishPage": (*galley.Pages).Publish,
	"discardPage": (*galley.Pages).Discard, "listPagePublishes": (*galley.Pages).Publishes,
	"getContent": (*galley.Content).Get, "putContent": (*galley.Content).Put, "deleteContent": (*galley.Content).Delete,
	"diffContent": (*galley.Content).Diff,
	"listEvents":  (*galley.Events).List, "streamEvents": (*galley.Events).Stream,
	"listWebhooks": (*galley.Webhooks).List, "createWebhook": (*galley.Webhooks).Create, "getWebhook": (*galley.Webhooks).Get,
	"updateWebhook": (*galley.Webhooks).Update, "deleteWebhook": (*galley.Webhooks).Delete, "rotateWebhookSecret": (*galley.Webhooks).RotateSecret,
	"testWebhook": (*galley.Webhooks).Test, "replayWebhook": (*galley.Webhooks).Replay, "listDeliveries": (*galley.Webhooks).Deliveries,
	"getDelivery": (*galley.Webhooks).Delivery, "redeliver": (*galley.Webhooks).Redeliver,
	"getSiteSummary": (*galley.Sites).Summary, "listPublishUrls": (*galley.Publishes).URLs,
	"getHealth": (*galley.Operations).Health, "getReadiness": (*galley.Operations).Ready, "getDocument": (*galley.Operations).Document,
	"getReference": (*galley.Operations).Reference, "getMetrics": (*galley.Operations).Metrics, "getProfile": (*galley.Operations).Profile,
}

func TestEveryOperationHasAMethod(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	missing := maps.Clone(operations)
	for path, methods := range document.Paths {
		for method, o := range methods {
			if operations[o.OperationID] == nil {
				t.Errorf("%s %s (%s) has no method", method, path, o.OperationID)
			}
			delete(missing, o.OperationID)
		}
	}
	for name := range missing {
		t.Errorf("the document has no operation %s", name)
	}
}

func TestFromNothingToALivePage(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := start(t).client(t, galley.WithActor("ada@example.com"))
	site := must[galley.Site](t)(c.Sites.Create(ctx, galley.SiteCreate{Name: "Shop", HostOrigin: galley.Value("https://www.example.com"), Labels: []string{"eu"}}))
	page := must[galley.Page](t)(c.Pages.Create(ctx, galley.PageCreate{SiteID: site.ID, Pathname: "/about", Title: galley.Value("About <us>")}))
	must[galley.Locale](t)(c.Locales.Create(ctx, galley.LocaleCreate{SiteID: site.ID, Locale: "fr"}))

	// Three states: a value, null, absent.
	french := galley.PageRef{Locale: "fr"}
	must[galley.Page](t)(c.Pages.Update(ctx, page.ID, french, galley.PagePatch{Title: galley.Value("Sur nous"), Description: galley.Null[string]()}))
	shown := must[galley.Page](t)(c.Pages.Get(ctx, "/about", galley.PageRef{SiteID: site.ID, Locale: "fr"}))
	if *shown.Title != "Sur nous" || !slices.Equal(shown.Overrides, []string{"title"}) {
		t.Errorf("in French: %q, own %v", *shown.Title, shown.Overrides)
	}

	// Entity tags.
	var etag string
	must[galley.Page](t)(c.Pages.Get(ctx, page.ID, galley.PageRef{}, galley.ETag(&etag)))
	must[galley.Page](t)(c.Pages.Update(ctx, page.ID, galley.PageRef{}, galley.PagePatch{Title: galley.Value("About")}, galley.IfMatch(etag)))
	if _, err := c.Pages.Update(ctx, page.ID, galley.PageRef{}, galley.PagePatch{Title: galley.Value("Lost")}, galley.IfMatch(etag)); !errors.Is(err, galley.ErrPreconditionFailed) {
		t.Errorf("an old entity tag: %v", err)
	}

	// Content is kept letter for letter.
	content := json.RawMessage(`{"text":"a < b & c","n":1.50}`)
	must[galley.PageContent](t)(c.Content.Put(ctx, page.ID, galley.ContentQuery{}, content))
	must[galley.PageBatchResult](t)(c.Pages.Batch(ctx, galley.PageBatch{SiteID: site.ID, Operations: []galley.PageOperation{
		{Op: "create", PageValues: galley.PageValues{PagePatch: galley.PagePatch{Pathname: galley.Value("/b")}, Content: galley.Value(content)}},
		{Op: "update", PageID: page.ID, PageValues: galley.PageValues{PagePatch: galley.PagePatch{IsOnline: galley.Value(true)}}},
	}}))
	for _, pathname := range []string{"/about", "/b"} {
		got := must[galley.Page](t)(c.Pages.Get(ctx, pathname, galley.PageRef{SiteID: site.ID, Include: "content"}))
		if string(got.Content) != string(content) {
			t.Errorf("content of %s: %s", pathname, got.Content)
		}
	}

	dry := must[galley.PublishDryRun](t)(c.Sites.DryRun(ctx, site.ID, galley.PublishCreate{}))
	review := must[galley.Review](t)(c.Sites.Changes(ctx, site.ID, galley.ChangeQuery{}))
	publish := must[galley.Publish](t)(c.Sites.Publish(ctx, site.ID, galley.PublishCreate{Plan: dry.Plan, Name: galley.Value("First")}))
	if review.Plan != dry.Plan || publish.ChangeCount != len(review.Data) || publish.Status != "published" || *publish.Actor != "ada@example.com" {
		t.Errorf("publish: %+v", publish)
	}
	if r := must[galley.Resolution](t)(c.Resolve(ctx, galley.ResolveQuery{URL: "https://www.example.com/about"})); r.Kind != "page" || r.Page.ID != page.ID {
		t.Errorf("resolution: %+v", r)
	}

	// Errors say what is wrong with which field.
	_, err := c.Pages.Create(ctx, galley.PageCreate{SiteID: site.ID, Pathname: "/b", SitemapPriority: galley.Value(2.0)})
	var refused *galley.Error
	if !errors.As(err, &refused) || refused.Code != galley.CodeBadRequest || len(refused.Details) != 1 || refused.Details[0].Field != "sitemapPriority" || refused.RequestID == "" {
		t.Errorf("a bad field: %v", err)
	}
	if _, err := c.Pages.Create(ctx, galley.PageCreate{SiteID: site.ID, Pathname: "/b"}); !errors.Is(err, galley.ErrConflict) {
		t.Errorf("a taken pathname: %v", err)
	}
	if err := c.Pages.Delete(ctx, "/nothing", galley.PageRef{SiteID: site.ID}); !errors.Is(err, galley.ErrNotFound) {
		t.Errorf("nothing to delete: %v", err)
	}
}

func TestWalksPageThroughLists(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := start(t).client(t)
	site := must[galley.Site](t)(c.Sites.Create(ctx, galley.SiteCreate{Name: "Shop"}))
	var operations []galley.PageOperation
	for i := range 250 {
		pathname := galley.PagePatch{Pathname: galley.Value(fmt.Sprintf("/p-%03d", i))}
		operations = append(operations, galley.PageOperation{Op: "create", PageValues: galley.PageValues{PagePatch: pathname}})
	}
	must[galley.PageBatchResult](t)(c.Pages.Batch(ctx, galley.PageBatch{SiteID: site.ID, Operations: operations}))
	seen := map[string]bool{}
	for page, err := range c.Pages.All(ctx, galley.PageQuery{SiteID: site.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[page.Pathname] = true
	}
	if len(seen) != 250 {
		t.Errorf("walked through %d pages", len(seen))
	}
	for _, err := range c.Pages.All(ctx, galley.PageQuery{SiteID: "01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b"}) {
		if !errors.Is(err, galley.ErrNotFound) {
			t.Errorf("a list of no site: %v", err)
		}
	}
}

// Every write happens once, however many answers are lost.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := start(t)
	random, mu := rand.New(rand.NewPCG(1, 2)), sync.Mutex{}
	proxy := httptest.NewServer(flaky(s, func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}))
	defer proxy.Close()
	c := server{proxy.URL, s.key}.client(t, galley.WithRetries(20, time.Millisecond))
	site := must[galley.Site](t)(c.Sites.Create(ctx, galley.SiteCreate{Name: "Shop"}))
	const pages = 1000
	ids := make([]string, pages)
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			for i := w; i < pages; i += 8 {
				page, err := c.Pages.Create(ctx, galley.PageCreate{SiteID: site.ID, Pathname: fmt.Sprintf("/p-%d", i)})
				if err != nil {
					t.Errorf("page %d: %v", i, err)
				}
				ids[i] = page.ID
			}
		})
	}
	workers.Wait()
	direct, count := s.client(t), 0
	for _, err := range direct.Pages.All(ctx, galley.PageQuery{SiteID: site.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(ids))); count != pages || len(distinct) != pages {
		t.Errorf("%d pages with %d ids, want %d", count, len(distinct), pages)
	}
	for _, id := range ids[:100] { // a delete that finds nothing after a lost answer is done
		if err := c.Pages.Delete(ctx, id, galley.PageRef{}); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
}
