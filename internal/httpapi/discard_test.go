package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

func (p *shop) discard(t *testing.T, body string, pages int) {
	t.Helper()
	r := p.must(t, 200, "POST", "/v2/sites/"+p.site+"/discard", body)
	checkEqual(t, "answer to "+body, fmt.Sprintf(`{"object":"discard","pages":%d,"redirects":0}`, pages), strings.TrimSpace(string(r.body)))
}

func TestDiscardOfASite(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		other := p.newPage(t, p.site, "/other")
		p.publish(t, p.site, "")
		live := p.seen(t, p.site, "ref:draft", []string{p.page, p.off, other}, "en-US", "fr", "de")
		p.discard(t, "", 0)
		// The pathnames go round, and one of them is taken by a page that is new.
		p.edit(t, p.page, `{"pathname":"/elsewhere","title":null,"name":"Given"}`)
		p.edit(t, p.off, `{"pathname":"/a"}`)
		p.localize(t, p.page, "fr", `{"title":null,"pathname":"/off"}`)
		p.remove(t, other)
		created := p.newPage(t, p.site, "/other")
		p.localize(t, created, "de", `{"pathname":"/neu"}`)
		p.discard(t, "", 4)
		checkEqual(t, "draft", live, p.again(t, "ref:draft", live))
		checkEqual(t, "changes", []string{}, p.changes(t, p.site))
		p.must(t, 404, "GET", "/v6/pages/"+created, "")
		p.discard(t, "{}", 0)
		p.newPage(t, p.site, "/elsewhere")
		p.newPage(t, p.site, "/neu")
	})
}

func TestDiscardOfASelection(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		own, french, off := `en-US updated /a: title "A">"B"`, `fr updated /a: title "Fr">"Gr"`, `en-US takenOnline /off: isOnline false>true`
		created, german := `en-US created /new: pathname null>"/new" isOnline null>true`, `de created /new: title null>"Neu"`
		for body, c := range map[string]struct {
			pages int
			left  []string
		}{
			`{"pageIds":["PAGE"]}`:                  {1, []string{off, created, german}},
			`{"pageIds":["PAGE","NEW"]}`:            {2, []string{off}},
			`{"pageIds":null}`:                      {3, []string{}},
			`{"locales":["fr"]}`:                    {1, []string{own, off, created, german}},
			`{"locales":["de"]}`:                    {0, []string{own, french, off, created, german}},
			`{"locales":["en-US"]}`:                 {3, []string{french}},
			`{"locales":["fr","en-US"]}`:            {3, []string{}},
			`{"locales":["fr"],"pageIds":["OFF"]}`:  {0, []string{own, french, off, created, german}},
			`{"locales":["fr"],"pageIds":["PAGE"]}`: {1, []string{own, off, created, german}},
		} {
			t.Run(body, func(t *testing.T) {
				p := selectedShop(t, s)
				id := p.newPage(t, p.site, "/new")
				p.localize(t, id, "de", `{"title":"Neu"}`)
				p.discard(t, strings.NewReplacer("PAGE", p.page, "OFF", p.off, "NEW", id).Replace(body), c.pages)
				checkEqual(t, "changes left", c.left, p.changes(t, p.site))
			})
		}
		t.Run("a deleted page", func(t *testing.T) {
			p := newShop(t, s)
			p.localize(t, p.page, "fr", `{"title":"Gr"}`)
			p.remove(t, p.page)
			p.discard(t, `{"locales":["fr"]}`, 0)
			p.must(t, 404, "GET", "/v6/pages/"+p.page, "")
			p.discard(t, `{"locales":["en-US"]}`, 1)
			checkEqual(t, "changes left", []string{french}, p.changes(t, p.site))
		})
	})
}

func TestDiscardOfRedirects(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := selectedShop(t, s)
		live := s.newRedirect(t, p.site, "/live", "/a")
		p.publish(t, p.site, `{"redirectIds":["`+live+`"]}`)
		s.must(t, 204, "DELETE", "/v2/redirects/"+live, "")
		edited := p.changes(t, p.site)
		// Redirects that leave the draft count as much as they like: the guard is about pages.
		var created []string
		for i := range 12 {
			created = append(created, s.newRedirect(t, p.site, fmt.Sprintf("/r%d", i), "/a"))
		}
		discard := func(body string, pages, redirects int) {
			t.Helper()
			r := p.must(t, 200, "POST", "/v2/sites/"+p.site+"/discard", body)
			checkEqual(t, body, fmt.Sprintf(`{"object":"discard","pages":%d,"redirects":%d}`, pages, redirects), strings.TrimSpace(string(r.body)))
		}
		discard(`{"redirectIds":["`+created[0]+`","`+created[1]+`"]}`, 0, 2)
		discard(`{"pageIds":["`+p.off+`"],"redirectIds":["`+created[2]+`"],"confirm":false}`, 1, 1)
		discard(`{"redirectIds":["`+created[3]+`"],"locales":["fr"]}`, 0, 0)
		checkEqual(t, "left", len(edited)-1+9, len(p.changes(t, p.site)))
		discard("", 1, 10)
		checkEqual(t, "nothing is left", []string{}, p.changes(t, p.site))
		checkEqual(t, "the deleted one is back", []string{"/live -> /a"}, s.redirects(t, p.site, ""))
		discard(`{"redirectIds":null}`, 0, 0)
		target := "/v2/sites/" + p.site + "/discard"
		checkEqual(t, "fields", []string{"confirm", "redirectIds"}, p.must(t, 400, "POST", target, `{"redirectIds":[],"confirm":"yes"}`).fields(t))
		p.must(t, 404, "POST", target, `{"redirectIds":["`+p.page+`"]}`)
		p.must(t, 404, "POST", target, `{"redirectIds":["`+s.newRedirect(t, newShop(t, s).site, "/x", "/a")+`"]}`)
	})
}

// The guard counts pages that leave the draft: those that were edited or come back do
// not, nor do those that are deleted already.
func TestDiscardGuardCountsPagesThatLeave(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		p := &shop{system: s, site: siteID}
		manyPages(t, s, siteID, 12)
		ids := s.must(t, 200, "GET", "/v6/pages?limit=100&siteId="+siteID, "").strs(t, "id")
		for _, id := range ids[:10] {
			p.remove(t, id)
		}
		p.edit(t, ids[10], `{"title":"Other"}`)
		var ops []string
		for i := range 11 {
			ops = append(ops, fmt.Sprintf(`{"op":"create","pathname":"/new-%d"}`, i))
		}
		p.batch(t, siteID, ops)
		created := s.must(t, 200, "GET", "/v6/pages?limit=100&status=new&siteId="+siteID, "").strs(t, "id")
		p.remove(t, created[0])
		message := p.must(t, 409, "POST", "/v2/sites/"+siteID+"/discard", "").str(t, "message")
		checkEqual(t, message, true, strings.Contains(message, "delete 10 of 12 pages"))
		p.discard(t, `{"pageIds":["`+strings.Join(created[2:], `","`)+`"]}`, 9)
		p.discard(t, "", 12)
	})
}

func TestDiscardThatIsRefused(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		t.Run("what is not there", func(t *testing.T) {
			p, other := newShop(t, s), newShop(t, s)
			target := "/v2/sites/" + p.site + "/discard"
			p.must(t, 404, "POST", target, `{"pageIds":["`+other.page+`"]}`)
			p.must(t, 404, "POST", target, `{"locales":["es"]}`)
			for body, fields := range map[string][]string{
				`{"pageIds":[],"locales":[]}`: {"locales", "pageIds"}, `{"confirm":1,"plan":"x"}`: {"confirm", "plan"}, `[]`: {"body"},
			} {
				checkEqual(t, body, fields, p.must(t, 400, "POST", target, body).fields(t))
			}
		})
		t.Run("a pathname that was taken", func(t *testing.T) {
			p := newShop(t, s)
			p.edit(t, p.page, `{"pathname":"/b"}`)
			taker := p.newPage(t, p.site, "/a")
			message := p.must(t, 409, "POST", "/v2/sites/"+p.site+"/discard", `{"pageIds":["`+p.page+`"]}`).str(t, "message")
			checkEqual(t, message, true, strings.Contains(message, p.page) && strings.Contains(message, taker))
			p.localize(t, taker, "fr", `{"pathname":"/x"}`)
			p.must(t, 409, "POST", "/v2/sites/"+p.site+"/discard", `{"pageIds":["`+p.page+`"]}`) // in en-US and de
			p.must(t, 200, "GET", "/v6/pages/b?siteId="+p.site, "")
			p.discard(t, "", 2)
		})
		t.Run("most pages", func(t *testing.T) {
			for _, c := range []struct {
				live, created int
				guarded       bool
			}{{2, 9, false}, {10, 10, false}, {9, 10, true}, {0, 12, true}} {
				siteID, _ := s.newSite(t)
				p := &shop{system: s, site: siteID}
				if c.live > 0 {
					manyPages(t, s, siteID, c.live)
				}
				var ops []string
				for i := range c.created {
					ops = append(ops, fmt.Sprintf(`{"op":"create","pathname":"/new-%d"}`, i))
				}
				p.batch(t, siteID, ops)
				if c.guarded {
					message := p.must(t, 409, "POST", "/v2/sites/"+siteID+"/discard", `{"confirm":false}`).str(t, "message")
					checkEqual(t, message, true, strings.Contains(message, "confirm: true"))
				}
				p.discard(t, fmt.Sprintf(`{"confirm":%t}`, c.guarded), c.created)
			}
		})
	})
}

func TestDiscardIsAuditedByPage(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := selectedShop(t, s)
		p.remove(t, p.off)
		created := p.newPage(t, p.site, "/new")
		p.discard(t, "", 3)
		got := map[string][]bool{} // whether it has a state before, and after
		for _, item := range p.must(t, 200, "GET", "/v2/audit?limit=3&siteId="+p.site, "").items(t) {
			checkEqual(t, "operation", any("discardSite"), item["operation"])
			id, _ := item["resource"].(map[string]any)["id"].(string)
			got[id] = []bool{item["before"] != nil, item["after"] != nil}
		}
		checkEqual(t, "entries", map[string][]bool{p.page: {true, true}, p.off: {false, true}, created: {true, false}}, got)
	})
}
