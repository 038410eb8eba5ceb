package bundle

import (
	"maps"
	"reflect"
)

// pagePair is a page of the site and what the bundle has of it. Either may be nil.
type pagePair struct{ before, after *page }

// comparePages adds what has to be done to pages.
func (p *Plan) comparePages() {
	for _, pair := range matchPages(p.site.pages, p.bundle.pages) {
		c := Change{Kind: pageKind, beforePage: pair.before, afterPage: pair.after}
		switch {
		case pair.after == nil:
			c.Action, c.Name = Delete, pair.before.pathname()
		case pair.before == nil:
			c.Action, c.Fields = Create, p.comparePage(&page{}, pair.after)
		default:
			if c.Fields = p.comparePage(pair.before, pair.after); len(c.Fields) == 0 {
				continue
			}
			c.Action = Alter
			if old := pair.before.pathname(); old != pair.after.pathname() {
				c.Action, c.Previous = Move, old
			}
		}
		if pair.before != nil {
			c.ID = pair.before.id
		}
		if pair.after != nil {
			c.Name, c.File = pair.after.pathname(), pair.after.where.file
		}
		p.add(c)
	}
}

// matchPages pairs the pages of a site with those of a bundle: by id, then those that have
// moved from one pathname to another, then by pathname.
func matchPages(before, after []*page) []pagePair {
	byID, byPathname := map[string]*page{}, map[string]*page{}
	for _, b := range before {
		byID[b.id], byPathname[b.pathname()] = b, b
	}
	pairs := make([]pagePair, len(after))
	used := map[*page]bool{}
	use := func(i int, b *page) {
		pairs[i].before = b
		used[b] = true
	}
	for i, a := range after {
		if pairs[i].after = a; byID[a.id] != nil {
			use(i, byID[a.id])
		}
	}
	free := func(pathname string) *page {
		if b := byPathname[pathname]; b != nil && !used[b] {
			return b
		}
		return nil
	}
	// A page has moved unless one is at its pathname already, and stays there. To follow a
	// chain of moves, the last is to be found first.
	for again := true; again; {
		again = false
		for i, a := range after {
			if pairs[i].before != nil || a.movedFrom == "" || free(a.pathname()) != nil {
				continue
			}
			if b := free(a.movedFrom); b != nil {
				use(i, b)
				again = true
			}
		}
	}
	for i, a := range after {
		if b := free(a.pathname()); pairs[i].before == nil && b != nil {
			use(i, b)
		}
	}
	for _, b := range before {
		if !used[b] {
			pairs = append(pairs, pagePair{before: b})
		}
	}
	return pairs
}

// comparePage returns the fields that have to change.
func (p *Plan) comparePage(before, after *page) []FieldChange {
	wanted := after.values
	if shown := after.derivedName(); !has(wanted, nameField) && has(before.values, nameField) {
		// A name can't be taken away, but it can be what it would be without one.
		wanted = maps.Clone(wanted)
		wanted[nameField] = shown
	}
	fields := diff(sentFields, before.values, wanted, "")
	for _, code := range p.bundle.codes() {
		for _, f := range diff(localizationFields, before.locales[code], after.locales[code], code) {
			if f.To != nil && *f.To == nil {
				p.problems.add(after.where.file, after.where.at(code+"."+f.Field),
					"%s can't be null in %s: leave it out to inherit it, or give it a value", f.Field, code)
			}
			fields = append(fields, f)
		}
	}
	return fields
}

// renameLocales gives locales other codes.
func (s *state) renameLocales(codes map[string]string) {
	if len(codes) == 0 {
		return
	}
	rename := func(v values, field string) {
		if code, ok := codes[v.text(field)]; ok {
			v[field] = code
		}
	}
	rename(s.site, defaultLocaleField)
	for _, l := range s.locales {
		rename(l.values, localeField)
	}
	for _, r := range s.redirects {
		rename(r.values, localeField)
	}
	for _, p := range s.pages {
		locales := map[string]values{}
		for code, own := range p.locales {
			if other, ok := codes[code]; ok {
				code = other
			}
			locales[code] = own
		}
		p.locales = locales
	}
}

// rebase makes another locale the default one, as the service does: every locale still shows
// the same, and values that would change by inheritance become the locale's own.
func (s *state) rebase(newDefault string) {
	oldDefault := s.defaultLocale()
	if newDefault == oldDefault {
		return
	}
	s.site[defaultLocaleField] = newDefault
	for _, p := range s.pages {
		if _, ok := p.locales[newDefault]; !ok {
			continue
		}
		before := &page{resource: p.resource, locales: p.locales}
		p.values, p.locales = before.in(newDefault), map[string]values{}
		for _, code := range s.codes() {
			if code == newDefault {
				continue
			}
			own := maps.Clone(before.locales[code])
			if own == nil {
				own = values{}
			}
			was := before.in(code)
			for _, f := range localizationFields {
				if !reflect.DeepEqual(p.values[f.name], before.values[f.name]) {
					own[f.name] = was[f.name]
					if !has(was, f.name) {
						own[f.name] = f.initial
					}
				}
			}
			if len(own) > 0 {
				p.locales[code] = own
			}
		}
	}
}

// in returns the values that a locale shows.
func (p *page) in(locale string) values {
	shown := maps.Clone(p.values)
	for name, value := range p.locales[locale] {
		shown[name] = value
	}
	return sentFields.keep(shown)
}
