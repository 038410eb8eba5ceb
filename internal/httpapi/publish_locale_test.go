package httpapi_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// versioned is a multilingual site whose draft, live version and past all
// differ.
type versioned struct {
	*multilingual
	refs []string
}

func newVersioned(t *testing.T, s *system) *versioned {
	t.Helper()
	v := &versioned{newMultilingual(t, s), []string{"ref:draft", "ref:live"}}
	release := func() { v.refs = append(v.refs, "publish:"+v.publish(t, v.site, "")) }
	release()
	v.edit(t, v.pages[0], `{"pathname":"/plainer","title":"Plainer","description":"d"}`)
	v.localize(t, v.pages[0], "fr", `{"pathname":"/plain","description":"f"}`)
	v.localize(t, v.pages[3], "fr", `{"pathname":null,"title":null}`)
	v.remove(t, v.pages[4])
	release()
	v.edit(t, v.pages[0], `{"title":null}`)
	v.localize(t, v.pages[1], "de", `{"pathname":"/nichts","title":"Titel"}`)
	v.must(t, 204, "DELETE", "/v6/pages/"+v.pages[3]+"/localizations/de", "")
	release()
	v.localize(t, v.pages[0], "fr", `{"title":"Brouillon","pathname":"/brouillon"}`)
	v.localize(t, v.pages[2], "fr", `{"title":null,"description":null}`)
	v.edit(t, v.pages[2], `{"title":"Draft","isOnline":false}`)
	v.remove(t, v.pages[1])
	return v
}

// all is what readers of every version see, but for the fields about
// overrides.
func (v *versioned) all(t *testing.T, locales ...string) map[string]map[string]string {
	t.Helper()
	seen := map[string]map[string]string{}
	for _, ref := range v.refs {
		seen[ref] = without(v.seen(t, v.site, ref, v.pages, locales...), localizationsField, statusField)
	}
	return seen
}

func TestDefaultLocaleChangesNothingInAnyVersion(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for _, walk := range [][]string{{"fr", "it"}, {"de"}} {
			v := newVersioned(t, s)
			before, count := v.all(t, "en-US", "fr", "de"), len(v.changes(t, v.site))
			for _, code := range walk {
				v.must(t, 200, "PATCH", "/v2/sites/"+v.site, `{"defaultLocale":"`+code+`"}`)
				checkEqual(t, "readers after "+code, before, v.all(t, "en-US", "fr", "de"))
			}
			if count == 0 || len(v.changes(t, v.site)) == 0 {
				t.Error("the draft is no longer told apart from what is live")
			}
			live := v.refs[len(v.refs)-1]
			v.must(t, 200, "POST", "/v2/publishes/"+strings.TrimPrefix(live, "publish:")+"/restore", "") // still what is live
			v.publish(t, v.site, "")
			after := v.all(t, "en-US", "fr", "de")
			checkEqual(t, "draft after publishing", without(before["ref:draft"], publishedAtField), without(after["ref:draft"], publishedAtField))
			checkEqual(t, "live after publishing", after["ref:draft"], after["ref:live"])
			checkEqual(t, "past after publishing", before[live], after[live])
		}
	})
}

func TestDeletedLocaleComesBackInEveryVersion(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		v := newVersioned(t, s)
		others, french := v.all(t, "en-US", "de"), v.all(t, "fr")
		v.must(t, 204, "DELETE", "/v2/locales/fr?siteId="+v.site, "")
		checkEqual(t, "other locales", others, v.all(t, "en-US", "de"))
		for _, ref := range v.refs {
			v.must(t, 404, "GET", "/v6/pages?locale=fr&siteId="+v.site+"&versionRef="+ref, "")
		}
		for _, line := range v.changes(t, v.site) {
			if strings.HasPrefix(line, "fr ") {
				t.Errorf("a hidden locale has a change: %s", line)
			}
		}
		v.must(t, 200, "POST", "/v2/locales/fr/restore?siteId="+v.site, "")
		checkEqual(t, "the locale", french, v.all(t, "fr"))
		checkEqual(t, "other locales", others, v.all(t, "en-US", "de"))
		v.publish(t, v.site, "")
		checkEqual(t, "changes", []string{}, v.changes(t, v.site))
	})
}

// Publishing, restoring and discarding leave a hidden locale alone: what it had
// in the draft and live it has afterwards, and so it still has its changes.
func TestHiddenLocaleIsLeftAlone(t *testing.T) {
	french := func(t *testing.T, p *shop, ref string) any {
		t.Helper()
		return p.must(t, 200, "GET", "/v6/pages/"+p.page+"?locale=fr&versionRef="+ref, "").json(t)["title"]
	}
	onBothEngines(t, func(t *testing.T, s *system) {
		for name, do := range map[string]func(t *testing.T, p *shop){
			"publish":      func(t *testing.T, p *shop) { p.publish(t, p.site, "") },
			"page publish": func(t *testing.T, p *shop) { p.must(t, 201, "POST", "/v6/pages/"+p.page+"/publish", "") },
			"discard":      func(t *testing.T, p *shop) { p.must(t, 200, "POST", "/v6/pages/"+p.page+"/discard", "") },
			"nothing to publish": func(t *testing.T, p *shop) {
				patches("", `{"description":null}`)(t, p)
				p.must(t, 200, "POST", "/v2/sites/"+p.site+"/publish", "")
			},
			"restore": func(t *testing.T, p *shop) {
				p.publish(t, p.site, "")
				p.must(t, 201, "POST", "/v2/publishes/"+p.released+"/restore", "")
			},
		} {
			t.Run(name, func(t *testing.T) {
				p := newShop(t, s)
				p.localize(t, p.page, "fr", `{"title":"Gr"}`)
				p.must(t, 204, "DELETE", "/v2/locales/fr?siteId="+p.site, "")
				p.edit(t, p.page, `{"description":"d"}`)
				do(t, p)
				p.must(t, 200, "POST", "/v2/locales/fr/restore?siteId="+p.site, "")
				checkEqual(t, "draft and live", []any{"Gr", "Fr"}, []any{french(t, p, "ref:draft"), french(t, p, "ref:live")})
				if !slices.Contains(p.changes(t, p.site), `fr updated /a: title "Fr">"Gr"`) {
					t.Errorf("the locale's change is lost: %q", p.changes(t, p.site))
				}
				p.publish(t, p.site, "")
				checkEqual(t, "live", any("Gr"), french(t, p, "ref:live"))
			})
		}
	})
}

// A page that goes live again has what a hidden locale had when the page left,
// if the locale was hidden by then.
func TestHiddenLocaleOfAPageThatLeavesAndComesBack(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for name, c := range map[string]struct {
			hiddenFirst bool
			live        string
			changes     []string
		}{
			"hidden before": {true, "Fr", []string{`fr updated /a: title "Fr">"Gr"`}},
			"hidden after":  {false, "A", []string{`fr updated /a: title null>"Gr"`}},
		} {
			t.Run(name, func(t *testing.T) {
				p := newShop(t, s)
				p.localize(t, p.page, "fr", `{"title":"Gr"}`)
				hide := func() { p.must(t, 204, "DELETE", "/v2/locales/fr?siteId="+p.site, "") }
				if c.hiddenFirst {
					hide()
				}
				p.remove(t, p.page)
				p.publish(t, p.site, "")
				if !c.hiddenFirst {
					time.Sleep(2 * time.Millisecond) // times are in milliseconds
					hide()
				}
				p.must(t, 200, "POST", "/v6/pages/"+p.page+"/restore", "")
				p.publish(t, p.site, "")
				p.must(t, 200, "POST", "/v2/locales/fr/restore?siteId="+p.site, "")
				checkEqual(t, "live", c.live, p.must(t, 200, "GET", "/v6/pages/"+p.page+"?locale=fr&versionRef=ref:live", "").str(t, "title"))
				checkEqual(t, "changes", c.changes, p.changes(t, p.site))
			})
		}
	})
}

func TestPathnameOfAHiddenLocaleIsFreeInTheLiveVersion(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		p.localize(t, p.page, "fr", `{"pathname":"/x"}`)
		p.publish(t, p.site, "")
		p.localize(t, p.page, "fr", `{"pathname":null}`) // it holds it in the live version alone
		p.must(t, 204, "DELETE", "/v2/locales/fr?siteId="+p.site, "")
		taker := p.newPage(t, p.site, "/x")
		p.publish(t, p.site, "")
		p.must(t, 409, "POST", "/v2/locales/fr/restore?siteId="+p.site, "")
		p.remove(t, taker)
		p.must(t, 409, "POST", "/v2/locales/fr/restore?siteId="+p.site, "") // still live
		p.publish(t, p.site, "")
		p.must(t, 200, "POST", "/v2/locales/fr/restore?siteId="+p.site, "")
		checkEqual(t, "page", p.page, p.must(t, 200, "GET", "/v6/pages/x?locale=fr&versionRef=ref:live&siteId="+p.site, "").str(t, "id"))
	})
}

var madeNew = regexp.MustCompile(`"(id|siteId|createdAt|updatedAt|publishedAt)":("[^"]*"|null)`)

func TestDuplicateHasBothVersionsAndOnePublish(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		v := newVersioned(t, s)
		lists := func(siteID, ref string) map[string]string {
			t.Helper()
			seen := map[string]string{}
			for _, query := range []string{"includeOffline=true&locale=en-US", "includeOffline=true&locale=fr&sortBy=title", "locale=de&sortBy=description"} {
				r := s.must(t, 200, "GET", "/v6/pages?siteId="+siteID+"&versionRef="+ref+"&"+query, "")
				seen[query] = madeNew.ReplaceAllString(string(r.body), "")
			}
			return seen
		}
		twin := s.must(t, 201, "POST", "/v2/sites/"+v.site+"/duplicate", `{"name":"Twin"}`).str(t, "id")
		for _, ref := range []string{"ref:draft", "ref:live"} {
			checkEqual(t, ref, lists(v.site, ref), lists(twin, ref))
		}
		checkEqual(t, "changes", v.changes(t, v.site), s.changes(t, twin))

		history := s.must(t, 200, "GET", "/v2/sites/"+twin+"/publishes", "")
		checkEqual(t, "one publish", []any{"published"}, history.column(t, "status"))
		first := history.items(t)[0]
		made := s.published(t, first["id"].(string))
		checkEqual(t, "changeCount", first["changeCount"], any(float64(len(made))))
		for _, line := range made {
			if !strings.Contains(line, " created ") && !strings.Contains(line, "redirectCreated ") {
				t.Errorf("the first publish has %s", line)
			}
		}
		checkEqual(t, "what it left", lists(twin, "ref:live"), lists(twin, "publish:"+first["id"].(string)))
		for _, page := range s.must(t, 200, "GET", "/v6/pages?includeOffline=true&versionRef=ref:live&siteId="+twin, "").items(t) {
			checkEqual(t, "publishedAt", first["publishedAt"], page["publishedAt"])
		}
		s.publish(t, twin, "")
		s.must(t, 201, "POST", "/v2/publishes/"+first["id"].(string)+"/restore", "")
		checkEqual(t, "restored", lists(v.site, "ref:live"), lists(twin, "ref:live"))

		never, _ := s.newSite(t)
		s.newPage(t, never, "/draft")
		copied := s.must(t, 201, "POST", "/v2/sites/"+never+"/duplicate", `{"name":"Twin"}`).str(t, "id")
		checkEqual(t, "a copy of a site that was never published", []any{}, s.must(t, 200, "GET", "/v2/sites/"+copied+"/publishes", "").column(t, "id"))
	})
}

// What is hidden is left alone by publishes, and they do not speak of it.
func TestPublishesDoNotTellOfHiddenLocales(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		locale := s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"fr"}`).str(t, "id")
		page := s.newPage(t, site, "/a")
		s.must(t, 200, "PATCH", "/v6/pages/"+page+"?locale=fr", `{"title":"F"}`)
		count := func(publish reply) (told, listed int) {
			t.Helper()
			list := s.must(t, 200, "GET", "/v2/publishes/"+publish.str(t, "id")+"/changes", "")
			data, _ := list.json(t)["data"].([]any)
			number, _ := publish.json(t)["changeCount"].(float64)
			return int(number), len(data)
		}
		publish := func() reply { return s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", "") }
		first := publish()
		s.must(t, 204, "DELETE", "/v2/locales/"+locale, "")
		s.must(t, 204, "DELETE", "/v6/pages/"+page, "")
		second := publish()
		restored := s.must(t, 201, "POST", "/v2/publishes/"+first.str(t, "id")+"/restore", "")
		for name, c := range map[string]struct {
			publish reply
			want    int
		}{"before": {first, 2}, "meanwhile": {second, 1}, "restored": {restored, 1}} {
			if told, listed := count(c.publish); told != c.want || listed != c.want {
				t.Errorf("%s: told %d and listed %d changes, want %d", name, told, listed, c.want)
			}
		}
	})
}
