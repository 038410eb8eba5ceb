package bundle

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	galley "galley/sdk/go"
)

// The actions of a plan.
const (
	Create = "create"
	Alter  = "change"
	Move   = "move"
	Delete = "delete"
)

// The kinds of what a plan changes.
const (
	siteKind     = "site"
	localeKind   = "locale"
	routeKind    = "route"
	redirectKind = "redirect"
	pageKind     = "page"
)

// Change is one thing that a plan does.
type Change struct {
	Action   string        `json:"action"`
	Kind     string        `json:"kind"`
	Name     string        `json:"name"`               // the pathname, source or code, or the name of the site
	Previous string        `json:"previous,omitempty"` // of a move
	Locale   string        `json:"locale,omitempty"`   // of a redirect
	ID       string        `json:"id,omitempty"`       // in the site
	File     string        `json:"file,omitempty"`
	Fields   []FieldChange `json:"fields,omitempty"`

	before, after         *resource
	beforePage, afterPage *page
}

// FieldChange is a value that a plan changes. From is nil where there was none, and To where
// there is none any more: the locale inherits it then.
type FieldChange struct {
	Field  string `json:"field"`
	Locale string `json:"locale,omitempty"` // of a localization
	From   *any   `json:"from,omitempty"`
	To     *any   `json:"to,omitempty"`
}

// Plan is what has to be done to a site so that it is what a bundle has.
type Plan struct {
	SiteID  string         `json:"siteId"`
	Changes []Change       `json:"changes"`
	Summary map[string]int `json:"summary"` // by action

	client   *galley.Client
	dir      string
	progress Progress
	site     *state // as its settings will be, with its pages as they are
	bundle   *state
	problems problems
	// publishes says that Publish follows, and waiting are the routes that are left to it.
	publishes bool
	waiting   []Change
	updated   map[string]time.Time // when the pages were last written, by id, as far as it is known
}

// NewPlan compares the bundle in a folder with the draft of a site.
func NewPlan(ctx context.Context, client *galley.Client, siteID, dir string, progress Progress) (*Plan, error) {
	bundle, err := read(dir)
	if err != nil {
		return nil, err
	}
	site, err := fetcher{client: client, siteID: siteID, progress: progress}.fetch(ctx)
	if err != nil {
		return nil, err
	}
	p := &Plan{SiteID: siteID, Changes: []Change{}, Summary: map[string]int{}, client: client, dir: dir, progress: progress, site: site, bundle: bundle, updated: map[string]time.Time{}}
	for _, page := range site.pages {
		p.updated[page.id] = page.updatedAt
	}
	p.compare()
	return p, p.problems.err()
}

func (p *Plan) compare() {
	p.compareLocales()
	p.compareList(routeKind, routeFields, p.site.routes, p.bundle.routes, pathnameField)
	p.compareList(redirectKind, redirectFields, p.site.redirects, p.bundle.redirects, sourceField)
	p.comparePages()
	for _, c := range p.Changes {
		p.Summary[c.Action]++
	}
	kinds := []string{siteKind, localeKind, routeKind, redirectKind, pageKind}
	slices.SortStableFunc(p.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Locale, b.Locale))
	})
}

func (p *Plan) add(c Change) { p.Changes = append(p.Changes, c) }

func (p *Plan) compareSite() {
	fields := diff(siteFields, p.site.site, p.bundle.site, "")
	if len(fields) > 0 {
		p.add(Change{
			Action: Alter, Kind: siteKind, Name: p.bundle.site.text(nameField), ID: p.SiteID, File: siteFile, Fields: fields,
			after: &resource{values: p.bundle.site},
		})
	}
}

// compareLocales also brings the site to the state after its locales have changed, with
// which pages and redirects are compared.
func (p *Plan) compareLocales() {
	renamed := map[string]string{}
	var kept []resource
	for _, pair := range match(p.site.locales, p.bundle.locales, func(r *resource) string { return r.text(localeField) }) {
		p.compareResource(localeKind, localeFields, pair, localeField)
		if pair.before != nil && pair.after != nil {
			renamed[pair.before.text(localeField)] = pair.after.text(localeField)
		}
		if pair.after != nil {
			kept = append(kept, *pair.after)
		}
	}
	p.site.renameLocales(renamed)
	p.compareSite()
	p.site.rebase(p.bundle.defaultLocale())
	p.site.locales = kept
	codes := p.bundle.codes()
	for _, page := range p.site.pages {
		maps.DeleteFunc(page.locales, func(code string, _ values) bool { return !slices.Contains(codes, code) })
	}
	// They go with their locale.
	p.site.redirects = slices.DeleteFunc(p.site.redirects, func(r resource) bool {
		return has(r.values, localeField) && !slices.Contains(codes, r.text(localeField))
	})
}

// pair is a resource of the site and what the bundle has of it. Either may be nil.
type pair struct{ before, after *resource }

// match pairs resources by id, and the rest by key.
func match(before, after []resource, key func(*resource) string) []pair {
	byID, byKey := map[string]*resource{}, map[string]*resource{}
	for i := range before {
		byID[before[i].id], byKey[key(&before[i])] = &before[i], &before[i]
	}
	pairs := make([]pair, len(after))
	used := map[*resource]bool{}
	for i := range after {
		pairs[i] = pair{byID[after[i].id], &after[i]}
		used[pairs[i].before] = true
	}
	for i := range pairs {
		if other := byKey[key(pairs[i].after)]; pairs[i].before == nil && other != nil && !used[other] {
			pairs[i].before, used[other] = other, true
		}
	}
	for i := range before {
		if !used[&before[i]] {
			pairs = append(pairs, pair{before: &before[i]})
		}
	}
	return pairs
}

func (p *Plan) compareList(kind string, s schema, before, after []resource, name string) {
	key := func(r *resource) string { return r.text(name) + "\n" + r.text(localeField) }
	for _, pair := range match(before, after, key) {
		p.compareResource(kind, s, pair, name)
	}
}

// compareResource adds what has to be done to a locale, route or redirect.
func (p *Plan) compareResource(kind string, s schema, of pair, name string) {
	c := Change{Kind: kind, before: of.before, after: of.after}
	switch {
	case of.before == nil:
		c.Action, c.Fields = Create, diff(s, nil, of.after.values, "")
	case of.after == nil && of.before.isAutomatic:
		return // it belongs to the service
	case of.after == nil:
		c.Action = Delete
	default:
		if c.Action, c.Fields = Alter, diff(s, of.before.values, of.after.values, ""); len(c.Fields) == 0 {
			return
		}
		if old := of.before.text(name); old != of.after.text(name) {
			c.Action, c.Previous = Move, old
		}
	}
	shown := cmp.Or(of.after, of.before)
	c.Name, c.File = shown.text(name), shown.where.file
	if kind == redirectKind {
		c.Locale = shown.text(localeField)
	}
	if of.before != nil {
		c.ID = of.before.id
	}
	p.add(c)
}

// diff returns the fields in which two sets of values differ. Of a locale, a value that is
// absent is inherited; elsewhere it has its default.
func diff(s schema, before, after values, locale string) []FieldChange {
	var fields []FieldChange
	for _, f := range s {
		from, had := before[f.name]
		to, has := after[f.name]
		if had == has && reflect.DeepEqual(from, to) {
			continue
		}
		c := FieldChange{Field: f.name, Locale: locale}
		if had {
			c.From = &from
		} else if locale == "" && before != nil {
			c.From = &f.initial
		}
		if has {
			c.To = &to
		} else if locale == "" && after != nil {
			c.To = &f.initial
		}
		fields = append(fields, c)
	}
	return fields
}
