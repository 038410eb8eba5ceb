package modeltest

import (
	"maps"
	"slices"
	"time"

	"galley/internal/cms"
)

// Fields are values by the names that requests give them. In a locale's
// overrides a field that is there with nil is an own null; one that is not
// there is inherited.
type Fields map[string]any

// blankFields are the values of a new page.
func blankFields() Fields {
	return Fields{
		"pathname": nil, "title": nil, "description": nil, "canonicalUrl": nil, "socialImageUrl": nil,
		"sitemapPriority": nil, "sitemapFrequency": nil, "isOnline": true, "excludedFromSearchEngines": nil, "content": nil,
	}
}

// Page is a page in one version.
type Page struct {
	Name                 string
	Default              Fields
	Own                  map[cms.ID]Fields // what each other locale overrides
	CreatedAt, UpdatedAt time.Time
	PublishedAt          *time.Time // of the draft: see Site.PublishedAt
	Deleted              bool       // of the draft alone
}

// In is what a reader of a locale sees.
func (p Page) In(locale cms.ID) Fields {
	seen := maps.Clone(p.Default)
	maps.Copy(seen, p.Own[locale])
	return seen
}

func (p Page) clone() Page {
	own := map[cms.ID]Fields{}
	for id, fields := range p.Own {
		own[id] = maps.Clone(fields)
	}
	p.Default, p.Own = maps.Clone(p.Default), own
	return p
}

// with is the page after an edit: of its default values (def is true), or of
// what a locale overrides, where nil returns a field to inheritance.
func (p Page) with(locale cms.ID, def bool, name string, set Fields) Page {
	p = p.clone()
	if name != "" {
		p.Name = name
	}
	if def {
		maps.Copy(p.Default, set)
		return p
	}
	own := p.Own[locale]
	if own == nil {
		own = Fields{}
	}
	for field, value := range set {
		if value == nil {
			delete(own, field)
		} else {
			own[field] = value
		}
	}
	p.setOwn(locale, own)
	return p
}

func (p Page) setOwn(locale cms.ID, own Fields) {
	delete(p.Own, locale)
	if len(own) > 0 {
		p.Own[locale] = maps.Clone(own)
	}
}

func (p Page) sameContent(o Page) bool {
	return p.Name == o.Name && maps.Equal(p.Default, o.Default) && p.Deleted == o.Deleted &&
		maps.EqualFunc(p.Own, o.Own, maps.Equal[Fields, Fields])
}

// rebased is the page with another default locale, and every locale showing
// what it showed.
func (p Page) rebased(locales []*Locale, newDefault cms.ID) Page {
	after := p.clone()
	after.Default = p.In(newDefault)
	for _, l := range locales {
		own := maps.Clone(p.Own[l.ID])
		if own == nil {
			own = Fields{}
		}
		for field, shown := range p.In(l.ID) {
			if shown != after.Default[field] {
				own[field] = shown
			}
		}
		if l.ID == newDefault {
			own = nil
		}
		after.setOwn(l.ID, own)
	}
	return after
}

// Version is the pages of a version.
type Version map[cms.ID]Page

func (v Version) clone() Version {
	c := Version{}
	for id, p := range v {
		c[id] = p.clone()
	}
	return c
}

func (v Version) at(id cms.ID) *Page {
	if p, ok := v[id]; ok && !p.Deleted {
		return &p
	}
	return nil
}

// with is the version with a page replaced.
func (v Version) with(id cms.ID, p Page) Version {
	c := maps.Clone(v)
	c[id] = p
	return c
}

// Locale is a locale of a site, hidden when it is deleted.
type Locale struct {
	ID     cms.ID
	Code   string
	Hidden bool
	since  int // how many publishes had gone live when it was hidden
}

// Route is a route of a site.
type Route struct {
	ID       cms.ID
	Pathname string
	Deleted  bool
}

// Selection is what of the draft is published; nil is all.
type Selection struct {
	Pages     []cms.ID
	Redirects []cms.ID // alone they select no pages, and pages alone no redirects
	Locales   []cms.ID
}

func (s Selection) has(page, locale cms.ID) bool {
	all := s.Pages == nil && s.Redirects == nil
	return (all || slices.Contains(s.Pages, page)) && (s.Locales == nil || slices.Contains(s.Locales, locale))
}

// Publish is a publish with a full copy of what it left live.
type Publish struct {
	ID           cms.ID
	Status       cms.PublishStatus
	ChangeCount  int
	Previous     cms.ID
	RestoredFrom cms.ID
	PublishAt    time.Time
	Select       Selection
	Confirm      bool
	Reviewed     *Plan   // what has to be so when it runs
	Live         Version // nil: it left no version
	Before       Version
	Redirects    Redirects // that it left live
	Changed      map[cms.ID]bool
}

// Site is a site with everything in it.
type Site struct {
	ID          cms.ID
	Deleted     bool
	Locales     []*Locale
	Default     cms.ID
	Routes      []*Route
	PageIDs     []cms.ID // oldest first
	Draft, Live Version
	RedirectIDs []cms.ID // oldest first

	Redirects, LiveRedirects Redirects

	// Observe are the redirects that the service has, and Refused whether it refused the
	// operation, for what the model leaves open.
	Observe func(cms.Version) Redirects
	Refused bool

	PublishedAt map[cms.ID]time.Time
	Publishes   []*Publish     // oldest first
	wentLive    []*Publish     // in the order in which they did
	left        Version        // pages that are not live, as they last were
	leftAt      map[cms.ID]int // how many publishes had gone live before the one that took them away
	since       map[cms.ID]int // how many publishes had gone live with the one that a live page is of
	Unchecked   bool           // a batch is under way, after which pathnames are checked
}

func (s *Site) locale(id cms.ID) *Locale {
	for _, l := range s.Locales {
		if l.ID == id {
			return l
		}
	}
	return nil
}

func (s *Site) visible(id cms.ID) bool {
	l := s.locale(id)
	return l != nil && !l.Hidden
}

// shown are the locales that readers can ask for.
func (s *Site) shown() []*Locale {
	return slices.DeleteFunc(slices.Clone(s.Locales), func(l *Locale) bool { return l.Hidden })
}

func (s *Site) codeTaken(code string) bool {
	return slices.ContainsFunc(s.shown(), func(l *Locale) bool { return l.Code == code })
}

// clash reports whether in some locale two pages or routes have one pathname.
func (s *Site) clash(v Version) bool {
	for _, l := range s.shown() {
		taken := map[any]bool{}
		for _, r := range s.Routes {
			if !r.Deleted {
				taken[r.Pathname] = true
			}
		}
		for _, p := range v {
			if p.Deleted {
				continue
			}
			pathname := p.In(l.ID)["pathname"]
			if taken[pathname] {
				return true
			}
			taken[pathname] = true
		}
	}
	return false
}

// published is the live version after the publish of a selection.
func (s *Site) published(sel Selection) Version {
	next := Version{}
	for _, id := range s.PageIDs {
		draft, live := s.Draft.at(id), s.Live.at(id)
		if p := s.publishedPage(id, draft, live, sel); p != nil {
			next[id] = *p
		}
	}
	return next
}

func (s *Site) publishedPage(id cms.ID, draft, live *Page, sel Selection) *Page {
	next := live
	if sel.has(id, s.Default) {
		if draft == nil {
			return nil
		}
		next = new(draft.clone())
		next.Own = map[cms.ID]Fields{}
		if live != nil {
			next.Own = live.clone().Own
		} else {
			for _, l := range s.Locales {
				if at, ok := s.leftAt[id]; ok && l.Hidden && l.since <= at {
					next.setOwn(l.ID, s.left[id].Own[l.ID])
				}
			}
		}
	}
	if next == nil || draft == nil {
		return next
	}
	next = new(next.clone())
	for _, l := range s.shown() {
		if l.ID != s.Default && sel.has(id, l.ID) {
			next.setOwn(l.ID, draft.Own[l.ID])
		}
	}
	next.UpdatedAt = draft.UpdatedAt
	return next
}

// restored is the live version after a restore. Hidden values do not change; a page
// that is not live now gets back those that it had.
func (s *Site) restored(past Version) Version {
	next := past.clone()
	for id, p := range next {
		live := s.Live.at(id)
		for _, l := range s.Locales {
			if l.Hidden && live != nil {
				p.setOwn(l.ID, live.Own[l.ID])
			}
		}
	}
	return next
}
