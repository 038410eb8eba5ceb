package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// searchWords are what titles are made of; a number makes them thousands.
var searchWords = strings.Fields(`winter coats summer shoes leather woollen silk linen shirts trousers jackets gloves hats
	scarves boots sandals belts bags wallets watches rings bracelets necklaces earrings sunglasses umbrellas socks dresses
	skirts blouses sweaters hoodies jeans shorts swimwear pyjamas robes slippers aprons uniforms vests suits ties`)

// BenchmarkSearch searches a site of 100,000 pages, a tenth of them in French, too. Each case is a search and the rest of the query.
func BenchmarkSearch(b *testing.B) {
	const pages = 100_000
	cases := []struct{ name, query string }{
		{"one", "search=coats-04711"},
		{"one-by-title", "search=coats-04711&sortBy=title&sortDirection=desc"},
		{"one-in-french", "search=traduction+47011&locale=fr"},
		{"one-live", "search=coats-04711&versionRef=ref:live"},
		{"none", "search=no+such+page"},
		{"hundreds", "search=woollen+silk&limit=100"},
		{"thousands", "search=umbrellas"},
		{"thousands-by-update", "search=umbrellas&sortBy=updatedAt&sortDirection=desc"},
		{"thousands-in-french", "search=umbrellas&locale=fr"},
		{"last-section", "search=/section-99/"},
		{"all", "search=/section"},
		{"status", "search=coats-04711&status=live"},
		{"two-letters", "search=xq"},
		{"two-letters-many", "search=um"},
		{"letter", "search=e"},
		{"no-letter", "search=%D0%B6"},
	}
	onBothEngines(b, func(b *testing.B, f *fixture) {
		random := rand.New(rand.NewPCG(1, 2))
		word := func() string { return searchWords[random.IntN(len(searchWords))] }
		var site struct{ ID string }
		f.call(b, "POST", "/v2/sites", `{"name":"Searched"}`, &site)
		f.call(b, "POST", "/v2/locales", fmt.Sprintf(`{"siteId":%q,"locale":"fr"}`, site.ID), nil)
		for first := 0; first < pages; first += 1000 {
			var operations []string
			for i := first; i < first+1000; i++ {
				operations = append(operations, fmt.Sprintf(`{"op":"create","pathname":"/section-%02d/%s-%s-%05d","title":"%s %s %s %d"}`,
					i%100, word(), []string{"coats", word()}[i%2], i, word(), word(), word(), i))
			}
			var made struct{ Results []page }
			f.call(b, "POST", "/v6/pages/batch", batch(site.ID, operations), &made)
			operations = nil
			for i := range 100 {
				operations = append(operations, fmt.Sprintf(`{"op":"update","pageId":%q,"locale":"fr","title":"Traduction %d"}`, made.Results[i].ID, first+i))
			}
			f.call(b, "POST", "/v6/pages/batch", batch(site.ID, operations), nil)
			if first%10_000 == 9_000 {
				f.publish(b, site.ID)
			}
		}
		start := time.Now()
		if err := f.svc.IndexPages(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.Logf("indexed in %v", time.Since(start))
		for _, c := range cases {
			b.Run(c.name, func(b *testing.B) {
				var took []time.Duration
				for b.Loop() {
					start := time.Now()
					f.send(b, "GET", "/v6/pages?siteId="+site.ID+"&"+c.query, "")
					took = append(took, time.Since(start))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
	})
}
