// Package bundle keeps a site as a folder of files: it exports a site, plans what the files
// would change, and applies that plan. It is a client: it knows the service by its interface
// and shares only the rules of values with it.
package bundle

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"galley/internal/cms"
)

// The files of a bundle.
const (
	format        = 1 // of the files, in site.yaml
	siteFile      = "site.yaml"
	localesFile   = "locales.yaml"
	routesFile    = "routes.yaml"
	redirectsFile = "redirects.yaml"
	pagesDir      = "pages"
	contentDir    = "content"
	pageEnding    = ".yaml"
	contentEnding = ".json"
)

// values are the fields of a resource, by name. Those that have their default are absent.
type values map[string]any

// resource is a locale, route or redirect, or the default values of a page.
type resource struct {
	id string // "" in a bundle without ids
	values
	isAutomatic bool // a redirect that a publish created
	where       source
}

// source is where a bundle has a resource. It is empty for one of a site.
type source struct {
	file  string
	line  int
	lines map[string]int // of fields, those of a locale as fr.title
}

// at returns the line of a field.
func (s source) at(field string) int { return cmp.Or(s.lines[field], s.line, 1) }

// text is a field that is text, or "".
func (v values) text(field string) string {
	s, _ := v[field].(string)
	return s
}

// withID returns the values with the id, if it is wanted.
func (r resource) withID(ids bool) values {
	if !ids || r.id == "" {
		return r.values
	}
	v := maps.Clone(r.values)
	v[idField] = r.id
	return v
}

// page is a page of the draft. Its content is a digest.
type page struct {
	resource
	locales   map[string]values // what other locales override, by code
	movedFrom string
	updatedAt time.Time // of a page of a site
}

func (p *page) pathname() string { return p.text(pathnameField) }

func (p *page) localeCodes() []string { return slices.Sorted(maps.Keys(p.locales)) }

// pathIn is the pathname in effect in a locale.
func (p *page) pathIn(locale string) string {
	if own, ok := p.locales[locale][pathnameField].(string); ok {
		return own
	}
	return p.pathname()
}

// derivedName is the name that the service shows for a page without one.
func (p *page) derivedName() string {
	row := cms.PageRow{Page: cms.Page{Values: cms.Values{Pathname: p.pathname()}}}
	if title, ok := p.values["title"].(string); ok {
		row.Values.Title = &title
	}
	return row.DisplayName()
}

// state is everything that a bundle has of a site, or a site has of a bundle.
type state struct {
	site      values
	locales   []resource
	routes    []resource
	redirects []resource
	pages     []*page
	contents  map[string]string // of a bundle: files by the digest of what they have
}

func (s *state) defaultLocale() string { return s.site.text(defaultLocaleField) }

// codes are the codes of all locales.
func (s *state) codes() []string {
	codes := make([]string, len(s.locales))
	for i, l := range s.locales {
		codes[i] = l.text(localeField)
	}
	return codes
}

// sort puts everything into the order of the files.
func (s *state) sort() {
	by := func(field string) func(a, b resource) int {
		return func(a, b resource) int {
			return cmp.Or(cmp.Compare(a.text(field), b.text(field)), cmp.Compare(a.text(localeField), b.text(localeField)))
		}
	}
	slices.SortFunc(s.locales, by(localeField))
	slices.SortFunc(s.routes, by(pathnameField))
	slices.SortFunc(s.redirects, by(sourceField))
	slices.SortFunc(s.pages, func(a, b *page) int { return cmp.Compare(a.pathname(), b.pathname()) })
}
