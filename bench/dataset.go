package main

import (
	"fmt"
	"strings"
	"time"
)

// dataset is what a contestant is loaded with: sites of pages, published, and
// every fifth page with a title and a pathname of its own in one of the site's
// further locales. Everything follows from its size, so that contestants agree
// without asking each other.
type dataset struct {
	sites, pages int      // pages of each site
	locales      []string // of each site, beside the default one
}

const (
	defaultLocale  = "en-US"
	locale         = "fr" // the further one of the comparison
	localizedEvery = 5
)

// size is the number of pages in all sites.
func (d dataset) size() int { return d.sites * d.pages }

// page is one page of the dataset: its number among all, and its values.
type page struct {
	site, number                 int
	pathname, title, description string
	createdAt                    time.Time

	// The locale that has values of its own, and they; "" where there is none.
	locale, localPathname, localTitle string
}

var (
	kinds    = strings.Fields("Winter Summer Garden Kitchen Travel Office Music Sports Winter Vintage Outdoor Camera Leather Cotton Wooden Paper")
	things   = strings.Fields("coats guides chairs lamps shoes tables stories recipes tools books bags letters maps toys prints cups")
	dayOne   = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	sections = 20
)

// page makes a page by its number among all. Titles are in no order that ids
// or pathnames have.
func (d dataset) page(number int) page {
	n := number % d.pages
	mixed := uint32(number) * 2654435761
	kind, thing := kinds[mixed>>28], things[mixed>>24&15]
	p := page{
		site: number / d.pages, number: number,
		pathname:    fmt.Sprintf("/section-%d/page-%04d", n%sections, n),
		title:       fmt.Sprintf("%s %s %d", kind, thing, n),
		description: fmt.Sprintf("Everything that we know about %s %s, collected in one place for those who look for number %d.", strings.ToLower(kind), thing, n),
		createdAt:   dayOne.Add(time.Duration(number) * time.Second),
	}
	if n%localizedEvery == 0 && len(d.locales) > 0 {
		p.locale = d.locales[n/localizedEvery%len(d.locales)]
		p.localPathname = fmt.Sprintf("/rubrique-%d/page-%04d", n%sections, n)
		p.localTitle = fmt.Sprintf("Page %d : %s %s", n, thing, kind)
	}
	return p
}

// all makes the pages of all sites.
func (d dataset) all() []page {
	pages := make([]page, d.size())
	for i := range pages {
		pages[i] = d.page(i)
	}
	return pages
}

// pathnameIn is the pathname in effect in a locale.
func (p page) pathnameIn(code string) string {
	if code != "" && code == p.locale {
		return p.localPathname
	}
	return p.pathname
}

// localeOf is the locale that a site is read in, where one is named: each site in
// another one, as far as there are others than the default one.
func (d dataset) localeOf(site int) string {
	if len(d.locales) == 0 {
		return defaultLocale
	}
	return d.locales[site*len(d.locales)/d.sites]
}
