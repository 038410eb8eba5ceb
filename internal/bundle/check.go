package bundle

import (
	"fmt"
	"slices"
	"strings"

	"galley/internal/cms"
)

// check notes what is wrong with the resources of a bundle together.
func check(s *state, found *problems) {
	checkLocales(s, found)
	checkUnique(s.redirects, found, sourceField, localeField)
	checkIDs("locale", s.locales, found)
	checkIDs("route", s.routes, found)
	checkIDs("redirect", s.redirects, found)
	checkIDs("page", pageResources(s.pages), found)
	for _, r := range s.redirects {
		redirect := cms.Redirect{Source: r.text(sourceField), Target: r.text(targetField)}
		if redirect.Source != "" && redirect.Check() != nil {
			found.add(r.where.file, r.where.at(targetField), "target may end in /* only if the source does")
		}
		if code := r.text(localeField); code != "" && !slices.Contains(s.codes(), code) {
			found.add(r.where.file, r.where.at(localeField), "%s is no locale of %s", code, localesFile)
		}
	}
	for _, p := range s.pages {
		if p.movedFrom != "" && p.movedFrom == p.pathname() {
			found.add(p.where.file, p.where.at(movedFromField), "movedFrom must differ from the pathname")
		}
	}
	checkPathnames(s, found)
}

func pageResources(pages []*page) []resource {
	list := make([]resource, len(pages))
	for i, p := range pages {
		list[i] = p.resource
	}
	return list
}

// checkLocales checks that the default locale is there, and that no two locales have one
// code or are served at one place.
func checkLocales(s *state, found *problems) {
	if len(s.locales) == 0 {
		return // the file is missing or wrong
	}
	if !slices.Contains(s.codes(), s.defaultLocale()) {
		found.add(localesFile, 0, "has no locale %s, which is the defaultLocale of %s", s.defaultLocale(), siteFile)
	}
	checkUnique(s.locales, found, localeField)
	site := cms.Site{DefaultLocaleID: cms.NewID()}
	if origin, ok := s.site["hostOrigin"].(string); ok {
		site.HostOrigin = &origin
	}
	places := map[cms.Place]string{}
	for _, l := range s.locales {
		locale := cms.Locale{Code: l.text(localeField), Domain: optional(l.values, "domain"), PathPrefix: optional(l.values, pathPrefixField)}
		if locale.Code == s.defaultLocale() {
			locale.ID = site.DefaultLocaleID
		}
		place := site.Place(locale)
		if other, taken := places[place]; taken && other != locale.Code {
			found.add(localesFile, l.where.line, "%s and %s would be served at the same origin and path prefix", other, locale.Code)
		}
		places[place] = locale.Code
	}
}

func optional(v values, field string) *string {
	if s, ok := v[field].(string); ok {
		return &s
	}
	return nil
}

// checkUnique notes resources that have the same values in some fields.
func checkUnique(list []resource, found *problems, fields ...string) {
	first := map[string]resource{}
	for _, r := range list {
		var key strings.Builder
		for _, f := range fields {
			fmt.Fprintf(&key, "%v\n", r.values[f])
		}
		if r.text(fields[0]) == "" {
			continue // a problem already
		}
		if other, taken := first[key.String()]; taken {
			found.add(r.where.file, r.where.at(fields[0]), "%s is already in line %d", r.text(fields[0]), other.where.line)
			continue
		}
		first[key.String()] = r
	}
}

func checkIDs(kind string, list []resource, found *problems) {
	first := map[string]source{}
	for _, r := range list {
		if r.id == "" {
			continue
		}
		if other, taken := first[r.id]; taken {
			found.add(r.where.file, r.where.at(idField), "id is already that of another %s, %s:%d", kind, other.file, other.at(idField))
			continue
		}
		first[r.id] = r.where
	}
}

// claim is a pathname in a locale.
type claim struct{ locale, pathname string }

// claims are the pathnames in effect of a page, in all locales.
func (p *page) claims(codes []string) []claim {
	claims := make([]claim, len(codes))
	for i, code := range codes {
		claims[i] = claim{code, p.pathIn(code)}
	}
	return claims
}

// checkPathnames notes pathnames that several pages, routes or redirects would have in a
// locale.
func checkPathnames(s *state, found *problems) {
	holders := map[claim]source{}
	codes := s.codes()
	take := func(where source, field string, claims ...claim) bool {
		for _, c := range claims {
			line := where.at(field)
			if own, ok := where.lines[c.locale+"."+pathnameField]; ok {
				line = own
			}
			if other, taken := holders[c]; taken {
				found.add(where.file, line, "%s is already a pathname of %s in %s", c.pathname, other.file, c.locale)
				return false // once is enough
			}
		}
		return true
	}
	hold := func(where source, claims ...claim) {
		for _, c := range claims {
			holders[c] = where
		}
	}
	everywhere := func(pathname string) []claim {
		p := page{resource: resource{values: values{pathnameField: pathname}}}
		return p.claims(codes)
	}
	for _, r := range s.routes {
		if pathname := r.text(pathnameField); pathname != "" && take(r.where, pathnameField, everywhere(pathname)...) {
			hold(r.where, everywhere(pathname)...)
		}
	}
	for _, p := range s.pages {
		if claims := p.claims(codes); p.pathname() != "" && take(p.where, pathnameField, claims...) {
			hold(p.where, claims...)
		}
	}
	for _, r := range s.redirects {
		pathname := r.text(sourceField)
		if (cms.Redirect{Source: pathname}).IsWild() || pathname == "" {
			continue
		}
		claims := everywhere(pathname)
		if code := r.text(localeField); code != "" {
			claims = []claim{{code, pathname}}
		}
		take(r.where, sourceField, claims...)
	}
}
