package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPlanGuardsAPublish(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		p.edit(t, p.page, `{"title":"B"}`)
		reviewed := p.plan(t, p.site)
		p.edit(t, p.off, `{"title":"Unseen"}`)
		for _, body := range []string{`{"plan":%q}`, `{"plan":%q,"pageIds":["` + p.off + `"]}`, `{"plan":%q,"locales":["fr"]}`, `{"plan":%q,"publishAt":"2100-01-01T00:00:00Z"}`} {
			p.must(t, 409, "POST", "/v2/sites/"+p.site+"/publish", fmt.Sprintf(body, reviewed))
		}
		p.must(t, 409, "POST", "/v2/sites/"+p.site+"/publish", `{"plan":"made up"}`)
		checkEqual(t, "nothing was published", 2, len(p.changes(t, p.site)))
		part := p.publish(t, p.site, fmt.Sprintf(`{"plan":%q,"pageIds":[%q]}`, p.plan(t, p.site), p.off))
		checkEqual(t, "published", []string{`en-US updated /off: title null>"Unseen"`}, p.published(t, part))
		p.publish(t, p.site, fmt.Sprintf(`{"plan":%q}`, reviewed)) // the list is again what was reviewed
		checkEqual(t, "changes", []string{}, p.changes(t, p.site))
	})
}

func TestNothingToPublishMakesNoVersion(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		p.newPage(t, p.site, "/new")
		for _, target := range []string{"/v2/sites/" + p.site + "/publish", "/v6/pages/" + p.page + "/publish"} {
			body := ""
			if strings.HasPrefix(target, "/v2") {
				body = `{"pageIds":["` + p.page + `"],"name":"Nothing"}`
			}
			r := p.must(t, 200, "POST", target, body)
			checkEqual(t, target, []any{nil, 0.0, nil}, []any{r.json(t)["id"], r.json(t)["changeCount"], r.json(t)["publishedAt"]})
			checkEqual(t, "Location", "", r.header.Get("Location"))
		}
		checkEqual(t, "history", []any{p.released}, p.must(t, 200, "GET", "/v2/sites/"+p.site+"/publishes", "").column(t, "id"))
		empty, _ := s.newSite(t)
		p.must(t, 200, "POST", "/v2/sites/"+empty+"/publish", "{}")
	})
}

func TestPublishTimesOfPages(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		first := p.must(t, 200, "GET", "/v2/publishes/"+p.released, "").str(t, "publishedAt")
		fresh := p.later(t, 0) // a node without a cache: others' writes reach a cache within a second
		read := func(id, version, field string) any {
			t.Helper()
			return fresh.must(t, 200, "GET", "/v6/pages/"+id+"?versionRef=ref:"+version, "").json(t)[field]
		}
		p.later(t, time.Hour).edit(t, p.page, `{"title":"B"}`)
		edited := read(p.page, "draft", "updatedAt")
		if live := read(p.page, "live", "updatedAt"); live == edited {
			t.Error("an edit moved updatedAt of the live version")
		}
		second := p.later(t, 2*time.Hour).must(t, 201, "POST", "/v2/sites/"+p.site+"/publish", "").str(t, "publishedAt")
		for _, version := range []string{"draft", "live"} {
			checkEqual(t, "publishedAt of a changed page, "+version, any(second), read(p.page, version, "publishedAt"))
			checkEqual(t, "publishedAt of another page, "+version, any(first), read(p.off, version, "publishedAt"))
			checkEqual(t, "updatedAt, "+version, edited, read(p.page, version, "updatedAt"))
			checkEqual(t, "publishedAt in fr, "+version, any(second), fresh.must(t, 200, "GET", "/v6/pages/"+p.page+"?locale=fr&versionRef=ref:"+version, "").json(t)["publishedAt"])
		}
		p.later(t, 3*time.Hour).edit(t, p.page, `{"title":"C"}`)
		checkEqual(t, "live updatedAt after another edit", edited, read(p.page, "live", "updatedAt"))
		checkEqual(t, "publishedAt is kept by an edit", any(second), read(p.page, "draft", "publishedAt"))
		checkEqual(t, "a new page", nil, read(p.newPage(t, p.site, "/new"), "draft", "publishedAt"))
		// Going away is not going live.
		p.remove(t, p.page)
		p.later(t, 4*time.Hour).publish(t, p.site, "")
		p.must(t, 200, "POST", "/v6/pages/"+p.page+"/restore", "")
		checkEqual(t, "publishedAt of a page that went away", any(second), read(p.page, "draft", "publishedAt"))
	})
}

func TestDeletedPageStaysLiveUntilPublished(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		p.remove(t, p.page)
		second := p.newPageWith(t, p.site, `"pathname":"/a","title":"Second"`) // its pathname is free in the draft
		for _, target := range []string{"/v6/pages/" + p.page, "/v6/pages/a?siteId=" + p.site} {
			mark := "?"
			if strings.Contains(target, "?") {
				mark = "&"
			}
			checkEqual(t, target, "A", p.must(t, 200, "GET", target+mark+"versionRef=ref:live", "").str(t, "title"))
		}
		p.must(t, 404, "GET", "/v6/pages/"+p.page, "")
		p.must(t, 404, "GET", "/v6/pages/"+second+"?versionRef=ref:live", "")
		checkEqual(t, "in the way", true, strings.Contains(p.must(t, 409, "POST", "/v6/pages/"+second+"/publish", "").str(t, "message"), p.page))
		p.publish(t, p.site, "")
		p.must(t, 404, "GET", "/v6/pages/"+p.page+"?versionRef=ref:live", "")
		checkEqual(t, "the pathname's page", "Second", p.must(t, 200, "GET", "/v6/pages/a?versionRef=ref:live&siteId="+p.site, "").str(t, "title"))
	})
}

// selections are parts of one draft, with the changes that each publishes and
// those that it leaves.
var selections = map[string]struct {
	body            string
	published, left []string
}{
	"everything":     {`{}`, []string{title, frTitle, offTitle, created, createdFr, gone, goneFr}, nil},
	"null is all":    {`{"pageIds":null}`, []string{title, frTitle, offTitle, created, createdFr, gone, goneFr}, nil},
	"a page":         {`{"pageIds":["{page}"]}`, []string{title, frTitle}, []string{offTitle, created, createdFr, gone, goneFr}},
	"named twice":    {`{"pageIds":["{page}","{page}"]}`, []string{title, frTitle}, []string{offTitle, created, createdFr, gone, goneFr}},
	"two pages":      {`{"pageIds":["{gone}","{new}"]}`, []string{created, createdFr, gone, goneFr}, []string{title, frTitle, offTitle}},
	"default locale": {`{"locales":["en-us"]}`, []string{title, created, gone, goneFr}, []string{frTitle, offTitle, addedFr, leftFr}},
	"another locale": {`{"locales":["fr"]}`, []string{frTitle}, []string{title, offTitle, created, createdFr, gone, goneFr}},
	"by id":          {`{"locales":["{fr}"]}`, []string{frTitle}, []string{title, offTitle, created, createdFr, gone, goneFr}},
	"two locales":    {`{"locales":["fr","en-US"]}`, []string{title, frTitle, created, createdFr, gone, goneFr}, []string{offTitle}},
	"both":           {`{"pageIds":["{page}","{off}"],"locales":["de"]}`, []string{offTitle}, []string{title, frTitle, created, createdFr, gone, goneFr}},
	"not live":       {`{"pageIds":["{new}"],"locales":["fr"]}`, nil, []string{title, frTitle, offTitle, created, createdFr, gone, goneFr}},
	"deleted":        {`{"pageIds":["{gone}"],"locales":["fr"]}`, nil, []string{title, frTitle, offTitle, created, createdFr, gone, goneFr}},
}

const (
	title     = `en-US updated /a: title "A">"B"`
	frTitle   = `fr updated /a: title "Fr">"Gr"`
	offTitle  = `de updated /off: title null>"Aus"`
	created   = `en-US created /new: pathname null>"/new" isOnline null>true`
	createdFr = `fr created /neuf: pathname null>"/neuf"`
	addedFr   = `fr pathChanged /neuf from /new: pathname null>"/neuf"` // the page is live, and not so in fr
	leftFr    = `fr redirectCreated /new: locale null>"fr" source null>"/new" target null>"/neuf" status null>308 isAutomatic null>true`
	gone      = `en-US deleted /gone: pathname "/gone">null isOnline true>null`
	goneFr    = `fr deleted /gone: title "Parti">null`
)

func TestPublishOfASelection(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for name, c := range selections {
			t.Run(name, func(t *testing.T) {
				p := newShop(t, s)
				away := p.newPage(t, p.site, "/gone")
				p.localize(t, away, "fr", `{"title":"Parti"}`)
				p.publish(t, p.site, "")
				p.edit(t, p.page, `{"title":"B"}`)
				p.localize(t, p.page, "fr", `{"title":"Gr"}`)
				p.localize(t, p.off, "de", `{"title":"Aus"}`)
				added := p.newPage(t, p.site, "/new")
				p.localize(t, added, "fr", `{"pathname":"/neuf"}`)
				p.remove(t, away)
				french := p.must(t, 200, "GET", "/v2/locales/fr?siteId="+p.site, "").str(t, "id")
				body := strings.NewReplacer("{page}", p.page, "{off}", p.off, "{new}", added, "{gone}", away, "{fr}", french).Replace(c.body)
				r := p.call(t, "POST", "/v2/sites/"+p.site+"/publish", body)
				got := []string{}
				if r.status == 201 {
					got = p.published(t, r.str(t, "id"))
				}
				checkEqual(t, "published", sorted(c.published), sorted(got))
				checkEqual(t, "left", sorted(c.left), sorted(p.changes(t, p.site)))
				if len(c.left) == 0 {
					return
				}
				p.publish(t, p.site, "")
				checkEqual(t, "after the rest", []string{}, p.changes(t, p.site))
			})
		}
	})
}

func sorted(lines []string) []string {
	return append([]string{}, slices.Sorted(slices.Values(lines))...)
}

func TestSelectionOfWhatIsNotThere(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p, other := newShop(t, s), newShop(t, s)
		target := "/v2/sites/" + p.site + "/publish"
		checkEqual(t, "page of another site", "Page not found", p.must(t, 404, "POST", target, `{"pageIds":["`+other.page+`"]}`).str(t, "message"))
		checkEqual(t, "unknown page", "Page not found", p.must(t, 404, "POST", target, `{"pageIds":["`+p.site+`"]}`).str(t, "message"))
		checkEqual(t, "locale", "Locale not found", p.must(t, 404, "POST", target, `{"locales":["es"]}`).str(t, "message"))
		gone := p.newPage(t, p.site, "/gone")
		p.must(t, 204, "DELETE", "/v6/pages/"+gone, "")
		checkEqual(t, "page that neither version has", "Page not found", p.must(t, 404, "POST", target, `{"pageIds":["`+p.page+`","`+gone+`"]}`).str(t, "message"))
		past := time.Now().Add(-time.Hour).Format(time.RFC3339)
		for body, fields := range map[string][]string{
			`{"pageIds":[]}`: {"pageIds"}, `{"pageIds":["abc"]}`: {"pageIds"}, `{"locales":[]}`: {"locales"}, `{"locales":["../"]}`: {"locales"},
			`{"name":" "}`: {"name"}, `{"publishAt":"` + past + `"}`: {"publishAt"}, `{"publishAt":"tomorrow"}`: {"publishAt"},
			`{"confirm":"true","name":""}`: {"confirm", "name"}, `{"when":1}`: {"when"},
		} {
			checkEqual(t, body, fields, p.must(t, 400, "POST", target, body).fields(t))
		}
	})
}

func TestClashInTheLiveVersionIsRefused(t *testing.T) {
	refused := func(t *testing.T, p *shop, body string, pages ...string) {
		t.Helper()
		before := p.must(t, 200, "GET", "/v6/pages?versionRef=ref:live&siteId="+p.site, "")
		r := p.must(t, 409, "POST", "/v2/sites/"+p.site+"/publish", body)
		for _, id := range pages {
			if !strings.Contains(r.str(t, "message"), id) {
				t.Errorf("the message does not name page %s: %s", id, r.body)
			}
		}
		checkEqual(t, "live", string(before.body), string(p.must(t, 200, "GET", "/v6/pages?versionRef=ref:live&siteId="+p.site, "").body))
	}
	onBothEngines(t, func(t *testing.T, s *system) {
		t.Run("two pages that exchange pathnames", func(t *testing.T) {
			p := newShop(t, s)
			b := p.newPage(t, p.site, "/b")
			p.publish(t, p.site, "")
			p.edit(t, p.page, `{"pathname":"/on-the-way"}`)
			p.edit(t, b, `{"pathname":"/a"}`)
			p.edit(t, p.page, `{"pathname":"/b"}`)
			refused(t, p, `{"pageIds":["`+b+`"]}`, p.page, b)
			refused(t, p, `{"pageIds":["`+p.page+`"]}`, p.page, b)
			p.publish(t, p.site, "")
			checkEqual(t, "at /b", p.page, p.must(t, 200, "GET", "/v6/pages/b?versionRef=ref:live&siteId="+p.site, "").str(t, "id"))
		})
		t.Run("across locales", func(t *testing.T) {
			p := newShop(t, s)
			b := p.newPage(t, p.site, "/b")
			p.localize(t, p.page, "fr", `{"pathname":"/x"}`)
			p.localize(t, b, "fr", `{"pathname":"/a"}`) // free there, in the draft
			refused(t, p, `{"pageIds":["`+b+`"]}`, p.page, b)
			p.publish(t, p.site, `{"locales":["en-US"]}`)
			refused(t, p, `{"pageIds":["`+b+`"],"locales":["fr"]}`, p.page, b)
			p.publish(t, p.site, `{"locales":["fr"]}`)
		})
	})
}

// manyPages makes live pages and returns their ids.
func manyPages(t *testing.T, s *system, siteID string, n int) []string {
	t.Helper()
	var ops []string
	for i := range n {
		ops = append(ops, fmt.Sprintf(`{"op":"create","pathname":"/p%d"}`, i))
	}
	s.batch(t, siteID, ops)
	s.publish(t, siteID, "")
	var ids []string
	for _, id := range s.must(t, 200, "GET", "/v6/pages?limit=100&siteId="+siteID, "").column(t, "id") {
		ids = append(ids, id.(string))
	}
	return ids
}

func (s *system) batch(t *testing.T, siteID string, ops []string) {
	t.Helper()
	s.must(t, 200, "POST", "/v6/pages/batch", `{"siteId":"`+siteID+`","operations":[`+strings.Join(ops, ",")+`]}`)
}

func TestPublishThatTakesMostPagesAwayIsConfirmed(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for _, c := range []struct {
			live, deleted, offline int
			guarded                bool
		}{{20, 12, 0, true}, {20, 6, 6, true}, {20, 0, 11, true}, {20, 10, 0, false}, {9, 9, 0, false}, {10, 5, 5, true}} {
			t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
				siteID, _ := s.newSite(t)
				ids := manyPages(t, s, siteID, c.live)
				var ops []string
				for i, id := range ids[:c.deleted+c.offline] {
					op := fmt.Sprintf(`{"op":"delete","pageId":%q}`, id)
					if i >= c.deleted {
						op = fmt.Sprintf(`{"op":"update","pageId":%q,"isOnline":false}`, id)
					}
					ops = append(ops, op)
				}
				s.batch(t, siteID, ops)
				if !c.guarded {
					s.publish(t, siteID, "")
					return
				}
				for _, body := range []string{"", `{"confirm":false}`, `{"plan":"` + s.plan(t, siteID) + `"}`} {
					r := s.must(t, 409, "POST", "/v2/sites/"+siteID+"/publish", body)
					checkEqual(t, "the message says how", true, strings.Contains(r.str(t, "message"), "confirm: true"))
				}
				checkEqual(t, "live", c.live, len(s.must(t, 200, "GET", "/v6/pages?limit=100&versionRef=ref:live&siteId="+siteID, "").items(t)))
				s.publish(t, siteID, `{"confirm":true}`)
			})
		}
	})
}
