package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// planOf is the plan of a selection, given as a query.
func (p *shop) planOf(t *testing.T, query string) string {
	t.Helper()
	return p.must(t, 200, "GET", "/v2/sites/"+p.site+"/changes?limit=1"+query, "").str(t, "plan")
}

// selected is a shop with edits on two pages and in two locales.
func selectedShop(t *testing.T, s *system) *shop {
	t.Helper()
	p := newShop(t, s)
	p.edit(t, p.page, `{"title":"B"}`)
	p.localize(t, p.page, "fr", `{"title":"Gr"}`)
	p.edit(t, p.off, `{"isOnline":true}`)
	return p
}

func TestChangesOfASelection(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := selectedShop(t, s)
		own, french, off := `en-US updated /a: title "A">"B"`, `fr updated /a: title "Fr">"Gr"`, `en-US takenOnline /off: isOnline false>true`
		fr := p.must(t, 200, "GET", "/v2/locales/fr?siteId="+p.site, "").str(t, "id")
		for query, c := range map[string]struct {
			want    []string
			summary string
		}{
			"":                                    {[]string{own, french, off}, `{"total":3,"byKind":{"takenOnline":1,"updated":2},"byLocale":{"en-US":2,"fr":1}}`},
			"&pageIds=" + p.page:                  {[]string{own, french}, `{"total":2,"byKind":{"updated":2},"byLocale":{"en-US":1,"fr":1}}`},
			"&pageIds=" + p.off + "," + p.page:    {[]string{own, french, off}, `{"total":3,"byKind":{"takenOnline":1,"updated":2},"byLocale":{"en-US":2,"fr":1}}`},
			"&locales=FR":                         {[]string{french}, `{"total":1,"byKind":{"updated":1},"byLocale":{"fr":1}}`},
			"&locales=en-US":                      {[]string{own, off}, `{"total":2,"byKind":{"takenOnline":1,"updated":1},"byLocale":{"en-US":2}}`},
			"&locales=de," + fr:                   {[]string{french}, `{"total":1,"byKind":{"updated":1},"byLocale":{"fr":1}}`},
			"&locales=fr&pageIds=" + p.off:        {[]string{}, `{"total":0,"byKind":{},"byLocale":{}}`},
			"&locales=fr,en-US&pageIds=" + p.page: {[]string{own, french}, `{"total":2,"byKind":{"updated":2},"byLocale":{"en-US":1,"fr":1}}`},
			"&locales=de&startingAfter=" + p.page: {[]string{}, `{"total":0,"byKind":{},"byLocale":{}}`},
			"&pageIds=" + p.off + "&startingAfter=" + p.page: {[]string{off}, `{"total":1,"byKind":{"takenOnline":1},"byLocale":{"en-US":1}}`},
		} {
			r := p.must(t, 200, "GET", "/v2/sites/"+p.site+"/changes?limit=100"+query, "")
			checkEqual(t, "changes"+query, c.want, r.changeLines(t))
			var list struct{ Summary json.RawMessage }
			if err := json.Unmarshal(r.body, &list); err != nil {
				t.Fatal(err)
			}
			checkEqual(t, "summary"+query, c.summary, string(list.Summary))
		}
	})
}

func TestChangesOfASelectionThatIsWrong(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p, other := newShop(t, s), newShop(t, s)
		target := "/v2/sites/" + p.site + "/changes?"
		many := strings.Repeat(","+p.off, 1001)[1:]
		distinct := make([]string, 1001)
		for i := range distinct {
			distinct[i] = fmt.Sprintf("01980a5c-7d3e-7f00-8a3b-%012d", i)
		}
		for query, fields := range map[string][]string{
			"pageIds=": {"pageIds"}, "pageIds=,": {"pageIds"}, "pageIds=" + p.page + ",": {"pageIds"}, "pageIds=abc": {"pageIds"}, "pageIds=" + p.page + "%20": {"pageIds"},
			"pageIds=" + p.page + "," + strings.ToUpper(p.page): {"pageIds"}, "pageIds=" + p.page + "&pageIds=" + p.off: {"pageIds"},
			"pageIds=" + many: {"pageIds"}, "pageIds=" + strings.Join(distinct, ","): {"pageIds"},
			"locales=": {"locales"}, "locales=fr,,de": {"locales"}, "locales=../": {"locales"}, "locales=fr,FR": {"locales"}, "locales=fr;de": {"locales"},
			"locales=%00&pageIds=x": {"locales", "pageIds"},
		} {
			checkEqual(t, query[:min(len(query), 80)], fields, p.must(t, 400, "GET", target+query, "").fields(t))
		}
		gone := p.newPage(t, p.site, "/gone")
		p.remove(t, gone)
		for _, id := range []string{other.page, p.site, gone, p.page + "," + gone, strings.Join(distinct[:1000], ",")} {
			checkEqual(t, "page", "Page not found", p.must(t, 404, "GET", target+"pageIds="+id, "").str(t, "message"))
		}
		checkEqual(t, "locale", "Locale not found", p.must(t, 404, "GET", target+"locales=fr,es", "").str(t, "message"))
	})
}

func TestPlanOfASelection(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		t.Run("edits elsewhere leave it as it is", func(t *testing.T) {
			p := selectedShop(t, s)
			plans := map[string]string{}
			for _, query := range []string{"", "&pageIds=" + p.page, "&locales=fr", "&locales=en-US", "&locales=en-US&pageIds=" + p.page} {
				plans[query] = p.planOf(t, query)
			}
			kept := func(want ...string) {
				t.Helper()
				for query, plan := range plans {
					checkEqual(t, "kept"+query, slices.Contains(want, query), plan == p.planOf(t, query))
					plans[query] = p.planOf(t, query)
				}
			}
			p.localize(t, p.off, "de", `{"title":"D"}`)
			kept("&pageIds="+p.page, "&locales=fr", "&locales=en-US", "&locales=en-US&pageIds="+p.page)
			p.localize(t, p.page, "de", `{"title":"D"}`)
			kept("&locales=fr", "&locales=en-US", "&locales=en-US&pageIds="+p.page)
			p.edit(t, p.off, `{"title":"O"}`)
			kept("&pageIds="+p.page, "&locales=fr", "&locales=en-US&pageIds="+p.page)
			p.edit(t, p.page, `{"title":"C"}`)
			kept("&locales=fr")
		})
		t.Run("publish", func(t *testing.T) {
			p := selectedShop(t, s)
			all, page := p.planOf(t, ""), p.planOf(t, "&pageIds="+p.page)
			target, body := "/v2/sites/"+p.site+"/publish", `{"pageIds":["`+p.page+`"],"plan":"%s"}`
			p.must(t, 409, "POST", target, fmt.Sprintf(body, p.planOf(t, "&pageIds="+p.off)))
			p.must(t, 409, "POST", target, `{"plan":"`+page+`"}`)
			p.edit(t, p.off, `{"title":"O"}`)
			p.must(t, 409, "POST", target, fmt.Sprintf(body, all))
			p.publish(t, p.site, fmt.Sprintf(body, page))
			p.must(t, 409, "POST", target, fmt.Sprintf(body, page))
			p.publish(t, p.site, `{"locales":["en-US"],"plan":"`+p.planOf(t, "")+`"}`)
		})
		t.Run("scheduled", func(t *testing.T) {
			p := selectedShop(t, s)
			with := func(query string) string { return `,"pageIds":["` + p.page + `"],"plan":"` + p.planOf(t, query) + `"` }
			kept, late, all := p.inAnHour(t, p.site, with("&pageIds="+p.page)), p.inAnHour(t, p.site, with("&pageIds="+p.page)), p.inAnHour(t, p.site, with(""))
			p.edit(t, p.off, `{"title":"O"}`)
			p.runDue(t, 2*time.Hour)
			for id, want := range map[string]string{kept: "published", late: "failed", all: "failed"} {
				checkEqual(t, "status", []any{want}, p.publishFields(t, id, "status"))
			}
		})
	})
}
