package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// changeLines are the changes of a list, one line for each: the locale, the
// kind, the pathname and the one before, and every field that differs.
func (r reply) changeLines(t *testing.T) []string {
	t.Helper()
	var list struct {
		Data []struct {
			Object, ID, PageID, Locale, Kind, Pathname string
			PreviousPathname                           *string
			Fields                                     []struct {
				Field    string
				From, To json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(r.body, &list); err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for _, c := range list.Data {
		line := c.Locale + " " + c.Kind + " " + c.Pathname
		if c.PreviousPathname != nil {
			line += " from " + *c.PreviousPathname
		}
		line += ":"
		for _, f := range c.Fields {
			line += fmt.Sprintf(" %s %s>%s", f.Field, f.From, f.To)
		}
		lines = append(lines, line)
	}
	return lines
}

func (s *system) changes(t *testing.T, siteID string) []string {
	t.Helper()
	return s.must(t, 200, "GET", "/v2/sites/"+siteID+"/changes?limit=100", "").changeLines(t)
}

func (s *system) plan(t *testing.T, siteID string) string {
	t.Helper()
	return s.must(t, 200, "GET", "/v2/sites/"+siteID+"/changes?limit=1", "").str(t, "plan")
}

// publish publishes and returns the id of the publish.
func (s *system) publish(t *testing.T, siteID, body string) string {
	t.Helper()
	return s.must(t, 201, "POST", "/v2/sites/"+siteID+"/publish", body).str(t, "id")
}

// published are the changes that a publish made.
func (s *system) published(t *testing.T, publishID string) []string {
	t.Helper()
	return s.must(t, 200, "GET", "/v2/publishes/"+publishID+"/changes?limit=100", "").changeLines(t)
}

func (s *system) edit(t *testing.T, pageID, body string) {
	t.Helper()
	s.must(t, 200, "PATCH", "/v6/pages/"+pageID, body)
}

func (s *system) remove(t *testing.T, pageID string) {
	t.Helper()
	s.must(t, 204, "DELETE", "/v6/pages/"+pageID, "")
}

// newPageWith makes a page with more fields than its pathname.
func (s *system) newPageWith(t *testing.T, siteID, fields string) string {
	t.Helper()
	return s.must(t, 201, "POST", "/v6/pages", `{"siteId":"`+siteID+`",`+fields+`}`).str(t, "id")
}

// shop is a site in three locales with two live pages.
type shop struct {
	*system
	site     string
	page     string // /a, title A, in fr the title Fr
	off      string // /off, offline
	released string // the publish that put them live
}

func newShop(t *testing.T, s *system) *shop {
	t.Helper()
	p := &shop{system: s}
	p.site, _ = s.newSite(t)
	s.newLocale(t, p.site, "fr")
	s.newLocale(t, p.site, "de")
	p.page = s.newPageWith(t, p.site, `"pathname":"/a","title":"A"`)
	s.localize(t, p.page, "fr", `{"title":"Fr"}`)
	p.off = s.newPageWith(t, p.site, `"pathname":"/off","isOnline":false`)
	p.released = s.publish(t, p.site, "")
	return p
}

// patches changes the page, each time in a locale ("" for the default one).
func patches(localeAndBody ...string) func(t *testing.T, p *shop) {
	return func(t *testing.T, p *shop) {
		t.Helper()
		for i := 0; i < len(localeAndBody); i += 2 {
			if localeAndBody[i] == "" {
				p.edit(t, p.page, localeAndBody[i+1])
				continue
			}
			p.localize(t, p.page, localeAndBody[i], localeAndBody[i+1])
		}
	}
}

// movedToB is the automatic redirect of a page that moves in every locale.
const movedToB = ` redirectCreated /a: source null>"/a" target null>"/b" status null>308 isAutomatic null>true`

var changeCases = map[string]struct {
	edit func(t *testing.T, p *shop)
	want []string
}{
	"created": {func(t *testing.T, p *shop) {
		id := p.newPageWith(t, p.site, `"pathname":"/new","name":"Given","title":"N","isOnline":false`)
		p.localize(t, id, "fr", `{"pathname":"/neuf"}`)
	}, []string{
		`en-US created /new: name null>"Given" pathname null>"/new" title null>"N" isOnline null>false`,
		`fr created /neuf: pathname null>"/neuf"`,
	}},
	"created and deleted": {func(t *testing.T, p *shop) { p.remove(t, p.newPage(t, p.site, "/new")) }, []string{}},
	"deleted": {func(t *testing.T, p *shop) {
		p.edit(t, p.page, `{"pathname":"/b","isOnline":false}`)
		p.remove(t, p.page)
	}, []string{`en-US deleted /a: pathname "/a">null title "A">null isOnline true>null`, `fr deleted /a: title "Fr">null`}},
	"deleted and restored": {func(t *testing.T, p *shop) {
		p.remove(t, p.page)
		p.must(t, 200, "POST", "/v6/pages/"+p.page+"/restore", "")
	}, []string{}},
	"moved and offline":   {patches("", `{"pathname":"/b","isOnline":false,"title":"B"}`), []string{`en-US pathChanged /b from /a: pathname "/a">"/b" title "A">"B" isOnline true>false`, movedToB}},
	"offline and renamed": {patches("", `{"isOnline":false,"title":null}`), []string{`en-US takenOffline /a: title "A">null isOnline true>false`}},
	"online": {func(t *testing.T, p *shop) { p.edit(t, p.off, `{"isOnline":true,"sitemapPriority":0.5}`) },
		[]string{`en-US takenOnline /off: sitemapPriority null>0.5 isOnline false>true`}},
	"every other field": {patches("", `{"name":"Given",`+allMeta+`}`), []string{`en-US updated /a: name null>"Given" title "A">"Über" description null>"d" ` +
		`canonicalUrl null>"https://e.example/c" socialImageUrl null>"https://e.example/s" sitemapPriority null>0 sitemapFrequency null>"never" excludedFromSearchEngines null>false`}},
	"own value of a locale":     {patches("fr", `{"title":"Autre"}`), []string{`fr updated /a: title "Fr">"Autre"`}},
	"pathname of a locale":      {patches("fr", `{"pathname":"/x"}`), []string{`fr pathChanged /x from /a: pathname null>"/x"`, `fr redirectCreated /a: locale null>"fr" source null>"/a" target null>"/x" status null>308 isAutomatic null>true`}},
	"offline in a locale":       {patches("de", `{"isOnline":false}`), []string{`de takenOffline /a: isOnline null>false`}},
	"own and equal":             {patches("de", `{"title":"A","pathname":"/a"}`), []string{`de updated /a: pathname null>"/a" title null>"A"`}},
	"inherited":                 {patches("", `{"description":"d"}`), []string{`en-US updated /a: description null>"d"`}},
	"inherited pathname":        {patches("", `{"pathname":"/b"}`), []string{`en-US pathChanged /b from /a: pathname "/a">"/b"`, movedToB}},
	"two locales":               {patches("", `{"title":"B"}`, "fr", `{"title":"Gr"}`), []string{`en-US updated /a: title "A">"B"`, `fr updated /a: title "Fr">"Gr"`}},
	"taken back":                {patches("", `{"title":"B","pathname":"/b"}`, "", `{"title":"A","pathname":"a/"}`), []string{}},
	"taken back in a locale":    {patches("de", `{"title":"D","pathname":"/d"}`, "de", `{"title":null,"pathname":null}`), []string{}},
	"back to inheritance":       {patches("fr", `{"title":null}`), []string{`fr updated /a: title "Fr">null`}},
	"changed and not reverting": {patches("fr", `{"title":"A"}`, "", `{"title":"Fr"}`), []string{`en-US updated /a: title "A">"Fr"`, `fr updated /a: title "Fr">"A"`}},
	"localization dropped": {func(t *testing.T, p *shop) {
		p.must(t, 204, "DELETE", "/v6/pages/"+p.page+"/localizations/fr", "")
	}, []string{`fr updated /a: title "Fr">null`}},
}

func TestChangesAreWhatAPublishDoes(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for name, c := range changeCases {
			t.Run(name, func(t *testing.T) {
				p := newShop(t, s)
				c.edit(t, p)
				checkEqual(t, "changes", c.want, p.changes(t, p.site))
				r := p.call(t, "POST", "/v2/sites/"+p.site+"/publish", "")
				checkEqual(t, "changeCount", any(float64(len(c.want))), r.json(t)["changeCount"])
				if len(c.want) > 0 {
					checkEqual(t, "published", c.want, p.published(t, r.str(t, "id")))
				}
				checkEqual(t, "changes afterwards", []string{}, p.changes(t, p.site))
				for _, locale := range []string{"en-US", "fr", "de"} {
					draft := p.must(t, 200, "GET", "/v6/pages?includeOffline=true&siteId="+p.site+"&locale="+locale, "")
					live := p.must(t, 200, "GET", "/v6/pages?versionRef=ref:live&includeOffline=true&siteId="+p.site+"&locale="+locale, "")
					// An edit that was taken back is no change, but has a time.
					checkEqual(t, "draft and live in "+locale, updatedAtField.ReplaceAllString(statusField.ReplaceAllString(string(draft.body), ""), ""),
						updatedAtField.ReplaceAllString(string(live.body), ""))
					if states := draft.column(t, "status"); slices.ContainsFunc(states, func(s any) bool { return s != "live" }) {
						t.Errorf("status after a publish: %v", states)
					}
				}
			})
		}
	})
}

// ownNull is a shop with a page whose title is null in en-US and de, of their
// own, while it is T in the default locale: that was en-US and is fr.
func ownNull(t *testing.T, s *system) *shop {
	t.Helper()
	p := newShop(t, s)
	p.page = p.newPage(t, p.site, "/n")
	p.publish(t, p.site, "")
	p.localize(t, p.page, "fr", `{"title":"T"}`)
	p.must(t, 200, "PATCH", "/v2/sites/"+p.site, `{"defaultLocale":"fr"}`)
	return p
}

// A value that is null on its own where the default is not is what readers see,
// and so a change like any other.
func TestAnOwnNullIsAChange(t *testing.T) {
	title := func(t *testing.T, p *shop, version, locale string) any {
		t.Helper()
		return p.must(t, 200, "GET", "/v6/pages/"+p.page+"?versionRef=ref:"+version+"&locale="+locale, "").json(t)["title"]
	}
	onBothEngines(t, func(t *testing.T, s *system) {
		t.Run("gained", func(t *testing.T) {
			p := ownNull(t, s)
			p.publish(t, p.site, `{"locales":["fr"]}`)
			checkEqual(t, "changes left", []string{`en-US updated /n: title "T">null`, `de updated /n: title "T">null`}, p.changes(t, p.site))
			p.publish(t, p.site, "")
			checkEqual(t, "live title", nil, title(t, p, "live", "en-US"))
		})
		t.Run("dropped", func(t *testing.T) {
			p := ownNull(t, s)
			p.publish(t, p.site, "")
			p.must(t, 204, "DELETE", "/v6/pages/"+p.page+"/localizations/en-US", "")
			checkEqual(t, "draft title", any("T"), title(t, p, "draft", "en-US"))
			checkEqual(t, "changes", []string{`en-US updated /n: title null>"T"`}, p.changes(t, p.site))
			p.publish(t, p.site, "")
			checkEqual(t, "live title", any("T"), title(t, p, "live", "en-US"))
		})
		t.Run("gained where it was null", func(t *testing.T) {
			p := ownNull(t, s)
			checkEqual(t, "changes", []string{`fr updated /n: title null>"T"`}, p.changes(t, p.site))
			before := p.plan(t, p.site)
			p.must(t, 204, "DELETE", "/v6/pages/"+p.page+"/localizations/en-US", "")
			if before == p.plan(t, p.site) {
				t.Error("en-US would show T live, and the plan has not changed")
			}
		})
		t.Run("dropped where it is null", func(t *testing.T) {
			p := ownNull(t, s)
			p.publish(t, p.site, "")
			p.edit(t, p.page, `{"title":null}`)
			p.publish(t, p.site, "")
			p.must(t, 204, "DELETE", "/v6/pages/"+p.page+"/localizations/en-US", "")
			checkEqual(t, "changes", []string{}, p.changes(t, p.site))
			p.edit(t, p.page, `{"title":"U"}`)
			p.publish(t, p.site, "")
			checkEqual(t, "live title", any("U"), title(t, p, "live", "en-US"))
			checkEqual(t, "changes", []string{}, p.changes(t, p.site))
		})
		t.Run("in the plan", func(t *testing.T) {
			p := ownNull(t, s)
			p.page = p.newPageWith(t, p.site, `"pathname":"/m"`)
			p.localize(t, p.page, "en-US", `{"title":"T","description":"d"}`)
			p.must(t, 200, "PATCH", "/v2/sites/"+p.site, `{"defaultLocale":"en-US"}`)
			before := p.plan(t, p.site)
			p.localize(t, p.page, "fr", `{"title":null}`)
			checkEqual(t, "title in fr", any("T"), title(t, p, "draft", "fr"))
			if before == p.plan(t, p.site) {
				t.Error("what a publish would put live has changed, and the plan has not")
			}
		})
	})
}

func TestChangesArePaged(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p, other := newShop(t, s), newShop(t, s)
		p.edit(t, p.page, `{"title":"B"}`)
		p.localize(t, p.page, "fr", `{"title":"Gr"}`)
		p.localize(t, p.page, "de", `{"title":"De"}`)
		p.edit(t, p.off, `{"title":"Off"}`)
		p.localize(t, p.newPage(t, p.site, "/new"), "fr", `{"title":"Neuf"}`)
		address := "/v2/sites/" + p.site + "/changes"
		whole := p.must(t, 200, "GET", address, "")
		ids := whole.column(t, "id")
		checkEqual(t, "walk", ids, p.walkByOne(t, address))
		checkEqual(t, "count", 6, len(ids))
		for _, cursor := range []string{other.page, p.site, "018f0000-0000-7000-8000-000000000000", "abc"} {
			checkEqual(t, "cursor "+cursor, []string{"startingAfter"}, p.must(t, 400, "GET", address+"?startingAfter="+cursor, "").fields(t))
		}
		// A change that is gone still is a place to go on from.
		p.edit(t, p.page, `{"title":"A"}`)
		p.localize(t, p.page, "fr", `{"title":"Fr"}`)
		for i := range 2 {
			rest := p.must(t, 200, "GET", address+"?startingAfter="+ids[i].(string), "")
			checkEqual(t, "after a change that is gone", ids[2:], rest.column(t, "id"))
		}
		published := "/v2/publishes/" + p.publish(t, p.site, "") + "/changes"
		checkEqual(t, "the publish's changes have the same ids", ids[2:], p.must(t, 200, "GET", published, "").column(t, "id"))
		checkEqual(t, "walk through them", ids[2:], p.walkByOne(t, published))
		checkEqual(t, "and go on from the same places", ids[4:], p.must(t, 200, "GET", published+"?startingAfter="+ids[3].(string), "").column(t, "id"))
		p.must(t, 400, "GET", published+"?startingAfter="+other.page, "")
	})
}

// walkByOne are the ids of a list read item by item.
func (s *system) walkByOne(t *testing.T, address string) []any {
	t.Helper()
	ids, after := []any{}, "?limit=1"
	if strings.Contains(address, "?") {
		after = "&limit=1"
	}
	for range 100 {
		r := s.must(t, 200, "GET", address+after, "")
		ids = append(ids, r.column(t, "id")...)
		if r.json(t)["hasMore"] == false {
			return ids
		}
		after, _, _ = strings.Cut(after, "&startingAfter=")
		after += "&startingAfter=" + ids[len(ids)-1].(string)
	}
	t.Fatalf("%s does not end", address)
	return nil
}

func TestPlanChangesWithTheDraftAndOnlyThen(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p, other := newShop(t, s), newShop(t, s)
		plan := p.plan(t, p.site)
		step := func(what string, moves bool, do func()) {
			t.Helper()
			do()
			now := p.plan(t, p.site)
			if (now != plan) != moves {
				t.Errorf("%s: plan %s, then %s", what, plan, now)
			}
			plan = now
		}
		empty := plan
		step("an edit", true, func() { p.edit(t, p.page, `{"title":"B"}`) })
		step("the same edit again", false, func() { p.edit(t, p.page, `{"title":"B"}`) })
		step("another value", true, func() { p.edit(t, p.page, `{"title":"C"}`) })
		step("a locale's value", true, func() { p.localize(t, p.page, "de", `{"title":"D"}`) })
		step("reading", false, func() { p.walkByOne(t, "/v2/sites/"+p.site+"/changes") })
		step("a route, a locale, a name", false, func() {
			p.newRoute(t, p.site, "/route")
			p.newLocale(t, p.site, "es")
			p.must(t, 200, "PATCH", "/v2/sites/"+p.site, `{"name":"Other"}`)
		})
		step("another site", false, func() { other.edit(t, other.page, `{"title":"B"}`) })
		step("a page name", true, func() { p.edit(t, p.off, `{"name":"Off"}`) })
		step("a publish that is scheduled", false, func() { p.publish(t, p.site, `{"publishAt":"2100-01-01T00:00:00Z"}`) })
		step("a publish", true, func() { p.publish(t, p.site, "") })
		checkEqual(t, "plan of nothing", empty, plan)
	})
}
