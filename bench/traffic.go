package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

// traffic makes the requests that growth is measured with, to pages of all
// sites alike.
type traffic struct {
	*galley
	spoken []string            // the locale that each site is read in; "": none is named
	deep   map[string][]string // by order: a page of each site that is far down
}

// growthOperation is one of those whose costs are followed.
type growthOperation struct {
	name   string
	status int
	build  func(t *traffic) builder
}

// growthOperations are run in this order: what writes comes last.
var growthOperations = func() []growthOperation {
	all := []growthOperation{
		{"get by id", http.StatusOK, (*traffic).getByID},
		{"get by pathname", http.StatusOK, (*traffic).getByPathname},
	}
	for _, sort := range sorts {
		all = append(all,
			growthOperation{"list by " + sort, http.StatusOK, func(t *traffic) builder { return t.list(sort, false) }},
			growthOperation{"list by " + sort + ", deep", http.StatusOK, func(t *traffic) builder { return t.list(sort, true) }})
	}
	return append(all,
		growthOperation{"create", http.StatusCreated, (*traffic).create},
		growthOperation{"update", http.StatusOK, (*traffic).update})
}()

// newTraffic prepares traffic to a loaded Galley: in each site in one of its
// further locales, or without naming any.
func newTraffic(ctx context.Context, g *galley, localized bool) (*traffic, error) {
	c := g.loaded
	t := &traffic{g, make([]string, c.sites), map[string][]string{}}
	if localized {
		for site := range t.spoken {
			t.spoken[site] = spokenIn(site, c.dataset)
		}
	}
	for _, sort := range sorts {
		for site := range c.sites {
			id, err := t.hundredthFromEnd(ctx, site, sort)
			if err != nil {
				return nil, err
			}
			t.deep[sort] = append(t.deep[sort], id)
		}
	}
	return t, nil
}

// spokenIn is the locale that a site is read in: of several sites, each in
// another one, as far as there are others than the default one.
func spokenIn(site int, d dataset) string {
	if len(d.locales) == 0 {
		return defaultLocale
	}
	return d.locales[site*len(d.locales)/d.sites]
}

// hundredthFromEnd is a page so far down a list that a scan would be noticed,
// with enough behind it for a full answer.
func (t *traffic) hundredthFromEnd(ctx context.Context, site int, sort string) (string, error) {
	var found struct{ Data []struct{ ID string } }
	target := fmt.Sprintf("/v6/pages?siteId=%s&sortBy=%s&sortDirection=desc&limit=100%s", t.loaded.siteIDs[site], sort, t.locale(site))
	if err := t.call(ctx, "GET", target, nil, &found); err != nil {
		return "", err
	}
	if len(found.Data) != 100 {
		return "", fmt.Errorf("expected 100 pages, got %d: GET %s", len(found.Data), target)
	}
	return found.Data[99].ID, nil
}

func (t *traffic) subject(op growthOperation) subject {
	return subject{
		name: t.label + ", " + op.name, service: t.service(), database: t.database(), items: 1,
		driver: func() (driver, error) {
			return newGenerator(t.address, connections, op.status, op.build(t))
		},
	}
}

// locale is the part of a query that names the locale of a site.
func (t *traffic) locale(site int) string {
	if t.spoken[site] == "" {
		return ""
	}
	return "&locale=" + t.spoken[site]
}

func (t *traffic) getByID() builder {
	return func(dst []byte, r *rand.Rand) ([]byte, string) {
		n := r.IntN(t.loaded.size())
		id := t.loaded.pageIDs[n]
		return request(dst, "GET", "/v6/pages/"+id+"?"+strings.TrimPrefix(t.locale(n/growthPages), "&"), t.headers(), ""), id
	}
}

func (t *traffic) getByPathname() builder {
	return func(dst []byte, r *rand.Rand) ([]byte, string) {
		p := t.loaded.page(r.IntN(t.loaded.size()))
		target := "/v6/pages" + p.pathnameIn(t.spoken[p.site]) + "?siteId=" + t.loaded.siteIDs[p.site] + t.locale(p.site)
		return request(dst, "GET", target, t.headers(), ""), t.loaded.pageIDs[p.number]
	}
}

func (t *traffic) list(sort string, deep bool) builder {
	return func(dst []byte, r *rand.Rand) ([]byte, string) {
		site := r.IntN(t.loaded.sites)
		target := "/v6/pages?limit=20&sortBy=" + sort + "&siteId=" + t.loaded.siteIDs[site] + t.locale(site)
		if deep {
			target += "&startingAfter=" + t.deep[sort][site]
		}
		return request(dst, "GET", target, t.headers(), ""), `"hasMore":true`
	}
}

func (t *traffic) create() builder {
	return func(dst []byte, r *rand.Rand) ([]byte, string) {
		like := t.loaded.page(r.IntN(t.loaded.size()))
		body := fmt.Sprintf(`{"siteId":%q,%s}`, t.loaded.siteIDs[like.site], t.newPage(&like))
		return request(dst, "POST", "/v6/pages", t.headers(), body), ""
	}
}

func (t *traffic) update() builder { return t.builder(operation{action: update}) }
