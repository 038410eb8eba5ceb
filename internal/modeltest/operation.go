package modeltest

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"galley/internal/cms"
)

// Every operation returns the code of its error, or "". Ids of new resources come
// from the service.

const (
	done       cms.Code = ""
	notFound            = cms.CodeNotFound
	conflict            = cms.CodeConflict
	badRequest          = cms.CodeBadRequest
)

// Guard is when a publish needs to be confirmed.
type Guard struct {
	Share float64
	Pages int
}

// NewSite is a site with its default locale and nothing else.
func NewSite(id, localeID cms.ID, code string) *Site {
	return &Site{
		ID: id, Locales: []*Locale{{ID: localeID, Code: code}}, Default: localeID,
		Draft: Version{}, Live: Version{}, PublishedAt: map[cms.ID]time.Time{}, left: Version{}, leftAt: map[cms.ID]int{},
		Redirects: Redirects{}, LiveRedirects: Redirects{}, since: map[cms.ID]int{},
	}
}

// saveDraft stores a page's draft unless its pathname is taken.
func (s *Site) saveDraft(id cms.ID, p Page) cms.Code {
	next := s.Draft.with(id, p)
	if s.Unchecked {
		s.Draft = next
		return done
	}
	return s.settle(next, s.Redirects, nil)
}

// settle stores the draft, unless pages, routes or redirects share a pathname.
func (s *Site) settle(pages Version, redirects Redirects, moved map[cms.ID]bool) cms.Code {
	left, ok := s.giveWay(pages, redirects, moved)
	if !ok {
		return conflict
	}
	s.Draft, s.Redirects = pages, left
	return done
}

// CreatePage creates a page in the draft.
func (s *Site) CreatePage(id cms.ID, name string, set Fields, now time.Time) cms.Code {
	if s.Deleted {
		return notFound
	}
	p := Page{Name: name, Default: blankFields(), Own: map[cms.ID]Fields{}, CreatedAt: now, UpdatedAt: now}
	code := s.saveDraft(id, p.with(s.Default, true, "", set))
	if code == done {
		s.PageIDs = append(s.PageIDs, id)
	}
	return code
}

// UpdatePage edits a page's draft in a locale.
func (s *Site) UpdatePage(id, locale cms.ID, name string, set Fields, now time.Time) cms.Code {
	return s.editPage(id, locale, now, func(p Page) Page { return p.with(locale, locale == s.Default, name, set) })
}

// DeleteContent clears the content of a page's draft, or what a locale has of its
// own.
func (s *Site) DeleteContent(id, locale cms.ID, now time.Time) cms.Code {
	if p := s.Draft.at(id); p != nil && !s.Deleted && s.visible(locale) {
		_, owned := p.Own[locale]["content"]
		if locale == s.Default {
			owned = p.Default["content"] != nil
		}
		if !owned {
			return notFound
		}
	}
	return s.UpdatePage(id, locale, "", Fields{"content": nil}, now)
}

// DelocalizePage drops what a locale overrides.
func (s *Site) DelocalizePage(id, locale cms.ID, now time.Time) cms.Code {
	if !s.Deleted && locale == s.Default && s.Draft.at(id) != nil {
		return badRequest
	}
	return s.editPage(id, locale, now, func(p Page) Page {
		p = p.clone()
		p.setOwn(locale, nil)
		return p
	})
}

// DeletePage deletes a page from the draft.
func (s *Site) DeletePage(id cms.ID, now time.Time) cms.Code {
	return s.editPage(id, s.Default, now, func(p Page) Page {
		p.Deleted = true
		return p
	})
}

func (s *Site) editPage(id, locale cms.ID, now time.Time, edit func(Page) Page) cms.Code {
	before := s.Draft.at(id)
	if s.Deleted || before == nil || !s.visible(locale) {
		return notFound
	}
	after := edit(*before)
	if !after.sameContent(*before) {
		after.UpdatedAt = now
	}
	return s.saveDraft(id, after)
}

// RestorePage brings a page that was deleted from the draft back.
func (s *Site) RestorePage(id cms.ID, now time.Time) cms.Code {
	p, ok := s.Draft[id]
	switch {
	case s.Deleted || !ok:
		return notFound
	case !p.Deleted:
		return conflict
	}
	p.Deleted, p.UpdatedAt = false, now
	return s.saveDraft(id, p)
}

// DiscardPage takes a page's draft back to what is live, but for what is
// hidden.
func (s *Site) DiscardPage(id cms.ID) cms.Code {
	if s.Deleted || (s.Draft.at(id) == nil && s.Live.at(id) == nil) {
		return notFound
	}
	return s.Discard(Selection{Pages: []cms.ID{id}}, true, Guard{})
}

// Discard takes a selection of the draft back to what is live.
func (s *Site) Discard(sel Selection, confirm bool, guard Guard) cms.Code {
	if !s.has(sel) {
		return notFound
	}
	next, gone, pages := s.Draft.clone(), 0, 0
	for id, p := range s.Draft {
		if !p.Deleted {
			pages++
		}
		after := s.discarded(id, p.clone(), s.Live.at(id), sel)
		if after.Deleted && !p.Deleted {
			gone++
		}
		next[id] = after
	}
	if !confirm && gone >= guard.Pages && float64(gone) > guard.Share*float64(pages) {
		return conflict
	}
	redirects, moved := maps.Clone(s.Redirects), map[cms.ID]bool{}
	for id, r := range s.Redirects {
		if s.hasRedirect(sel, id) {
			redirects[id] = s.discardedRedirect(id)
			moved[id] = redirects[id] != r
		}
	}
	return s.settle(next, redirects, moved)
}

func (s *Site) discarded(id cms.ID, p Page, live *Page, sel Selection) Page {
	own := sel.has(id, s.Default)
	if live == nil {
		p.Deleted = p.Deleted || own
		return p
	}
	if own {
		p.Name, p.Default, p.Deleted = live.Name, maps.Clone(live.Default), false
	}
	if p.Deleted {
		return p
	}
	for _, l := range s.shown() {
		if l.ID != s.Default && sel.has(id, l.ID) {
			p.setOwn(l.ID, live.Own[l.ID])
		}
	}
	if next := s.publishedPage(id, &p, live, Selection{}); !p.sameContent(s.Draft[id]) && next.sameContent(*live) {
		p.UpdatedAt = live.UpdatedAt
	}
	return p
}

// CreateLocale adds a locale.
func (s *Site) CreateLocale(id cms.ID, code string) cms.Code {
	switch {
	case s.Deleted:
		return notFound
	case s.codeTaken(code):
		return conflict
	}
	return s.moveLocales(func() { s.Locales = append(s.Locales, &Locale{ID: id, Code: code}) })
}

// moveLocales changes the locales, unless pages, routes or redirects share a pathname then.
func (s *Site) moveLocales(change func()) cms.Code {
	before := slices.Clone(s.Locales)
	for i, l := range before {
		before[i] = new(*l)
	}
	if change(); s.allowed(s.Draft, s.Redirects) && s.allowed(s.Live, s.LiveRedirects) {
		return done
	}
	s.Locales = before
	return conflict
}

// DeleteLocale hides a locale.
func (s *Site) DeleteLocale(id cms.ID) cms.Code {
	switch {
	case s.Deleted || !s.visible(id):
		return notFound
	case id == s.Default:
		return badRequest
	}
	return s.moveLocales(func() {
		l := s.locale(id)
		l.Hidden, l.since = true, len(s.wentLive)
	})
}

// RestoreLocale shows a locale again.
func (s *Site) RestoreLocale(id cms.ID) cms.Code {
	l := s.locale(id)
	switch {
	case s.Deleted || l == nil:
		return notFound
	case !l.Hidden || s.codeTaken(l.Code):
		return conflict
	}
	return s.moveLocales(func() { s.locale(id).Hidden = false })
}

// ChangeDefault makes another locale the default one; newID is the id of the
// locale if it is a new one.
func (s *Site) ChangeDefault(newID cms.ID, code string) cms.Code {
	if s.Deleted {
		return notFound
	}
	added, was := !s.codeTaken(code), s.Default
	if added {
		s.Locales = append(s.Locales, &Locale{ID: newID, Code: code})
	}
	i := slices.IndexFunc(s.Locales, func(l *Locale) bool { return l.Code == code && !l.Hidden })
	chosen := s.Locales[i].ID
	if s.Default = chosen; s.circle(s.Redirects) || s.circle(s.LiveRedirects) {
		if s.Default = was; added {
			s.Locales = s.Locales[:len(s.Locales)-1]
		}
		return conflict
	}
	s.Default = was
	versions := []Version{s.Draft, s.Live, s.left}
	for _, p := range s.Publishes {
		versions = append(versions, p.Live, p.Before)
	}
	for _, v := range versions {
		for id, p := range v {
			v[id] = p.rebased(s.Locales, chosen)
		}
	}
	s.Default = chosen
	return done
}

// CreateRoute adds a route.
func (s *Site) CreateRoute(id cms.ID, pathname string) cms.Code {
	if s.Deleted {
		return notFound
	}
	s.Routes = append(s.Routes, &Route{ID: id, Pathname: pathname})
	code := s.settleRoutes()
	if code != done {
		s.Routes = s.Routes[:len(s.Routes)-1]
	}
	return code
}

// UpdateRoute moves a route.
func (s *Site) UpdateRoute(id cms.ID, pathname string) cms.Code {
	r := s.route(id)
	if r == nil {
		return notFound
	}
	before := r.Pathname
	r.Pathname = pathname
	code := s.settleRoutes()
	if code != done {
		r.Pathname = before
	}
	return code
}

// DeleteRoute deletes a route.
func (s *Site) DeleteRoute(id cms.ID) cms.Code {
	r := s.route(id)
	if r == nil {
		return notFound
	}
	r.Deleted = true
	return done
}

func (s *Site) route(id cms.ID) *Route {
	i := slices.IndexFunc(s.Routes, func(r *Route) bool { return r.ID == id && !r.Deleted })
	if s.Deleted || i < 0 {
		return nil
	}
	return s.Routes[i]
}

// settleRoutes lets automatic redirects give way to routes, draft and live, unless a route
// conflicts with another, or with a page or other redirect.
func (s *Site) settleRoutes() cms.Code {
	taken := map[string]bool{}
	for _, r := range s.Routes {
		if !r.Deleted && taken[r.Pathname] {
			return conflict
		}
		taken[r.Pathname] = taken[r.Pathname] || !r.Deleted
	}
	live, ok := s.giveWay(s.Live, s.LiveRedirects, nil)
	if !ok {
		return conflict
	}
	code := s.settle(s.Draft, s.Redirects, nil)
	if code == done {
		maps.DeleteFunc(live, func(_ cms.ID, r Redirect) bool { return r.Deleted })
		s.LiveRedirects = live
	}
	return code
}

// Plan is what a publish would do.
type Plan struct {
	Pages     []Change
	Redirects []RedirectChange
}

// planOf is the plan of a selection.
func (s *Site) planOf(sel Selection) Plan {
	return Plan{s.planned(sel), s.releaseOf(sel, s.published(sel)).changes(s)}
}

// samePlan reports whether two publishes would do the same.
func samePlan(a, b Plan) bool { return reflect.DeepEqual(a, b) }
