package modeltest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"galley/internal/cms"
	"galley/internal/service"
)

// step is one operation. Sites, pages, locales, routes and publishes are named
// by their place among all that were ever made, counted round, so that any
// step means something in any state and a failing list of steps stays one when
// some are left out.
type step struct {
	op      string
	site    int
	page    int
	locale  int
	route   int
	publish int

	redirect int
	target   string
	every    bool // in every locale

	code    string // of a locale
	path    string // of a route or redirect; of the page, in a batch
	rename  bool
	set     Fields
	inherit []string // fields that a locale other than the default inherits again
	pages   []int    // nil: all
	locales []int    // nil: all

	redirects []int // nil: all

	plan    plan
	confirm bool
	seconds int
	batch   []step // edits, all or none
	// localized is what a locale overrides of a page that a batch makes.
	localized Fields
}

// plan is what a publish is guarded by.
type plan int

const (
	noPlan    plan = iota
	freshPlan      // of all changes as they are
	ownPlan        // of the changes of its selection as they are
	savedPlan      // of the changes as they were at the last step "review"
)

// String is the step as a regression test spells it.
func (s step) String() string {
	parts := []string{fmt.Sprintf("op: %q", s.op)}
	note := func(name string, given bool, value string) {
		if given {
			parts = append(parts, name+": "+value)
		}
	}
	number := func(name string, n int) { note(name, n != 0, fmt.Sprint(n)) }
	number("site", s.site)
	number("page", s.page)
	number("locale", s.locale)
	number("route", s.route)
	number("publish", s.publish)
	number("redirect", s.redirect)
	note("target", s.target != "", fmt.Sprintf("%q", s.target))
	note("every", s.every, "true")
	note("redirects", s.redirects != nil, fmt.Sprintf("%#v", s.redirects))
	note("code", s.code != "", fmt.Sprintf("%q", s.code))
	note("path", s.path != "", fmt.Sprintf("%q", s.path))
	note("rename", s.rename, "true")
	note("set", s.set != nil, s.set.String())
	note("localized", s.localized != nil, s.localized.String())
	note("inherit", s.inherit != nil, fmt.Sprintf("%#v", s.inherit))
	note("pages", s.pages != nil, fmt.Sprintf("%#v", s.pages))
	note("locales", s.locales != nil, fmt.Sprintf("%#v", s.locales))
	note("plan", s.plan != noPlan, []string{"", "freshPlan", "ownPlan", "savedPlan"}[s.plan])
	note("confirm", s.confirm, "true")
	number("seconds", s.seconds)
	if s.batch != nil {
		var edits []string
		for _, edit := range s.batch {
			edits = append(edits, strings.TrimSuffix(edit.String(), ","))
		}
		note("batch", true, "[]step{"+strings.Join(edits, ", ")+"}")
	}
	return "{" + strings.Join(parts, ", ") + "},"
}

// String is the fields as a regression test spells them.
func (f Fields) String() string {
	var set []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		value := "nil"
		if f[name] != nil {
			value = fmt.Sprintf("%#v", f[name])
		}
		set = append(set, fmt.Sprintf("%q: %s", name, value))
	}
	return "Fields{" + strings.Join(set, ", ") + "}"
}

// GoString is for the log of a failing run.
func (s step) GoString() string { return s.String() }

// operations do a step on the service and on the model, and return both
// answers.
var operations = map[string]func(*world, *Site, step) (cms.Code, error){
	"createPage":     (*world).createPage,
	"updatePage":     (*world).updatePage,
	"putContent":     (*world).putContent,
	"deletePage":     (*world).deletePage,
	"restorePage":    (*world).restorePage,
	"delocalizePage": (*world).delocalizePage,
	"discardPage":    (*world).discardPage,
	"discardSite":    (*world).discardSite,
	"batch":          (*world).batch,
	"publishPage":    (*world).publishPage,
	"createLocale":   (*world).createLocale,
	"deleteLocale":   (*world).deleteLocale,
	"restoreLocale":  (*world).restoreLocale,
	"changeDefault":  (*world).changeDefault,
	"createRoute":    (*world).createRoute,
	"updateRoute":    (*world).updateRoute,
	"deleteRoute":    (*world).deleteRoute,
	"review":         (*world).review,

	"createRedirect":  (*world).createRedirect,
	"updateRedirect":  (*world).updateRedirect,
	"deleteRedirect":  (*world).deleteRedirect,
	"restoreRedirect": (*world).restoreRedirect,
	"discardRedirect": (*world).discardRedirect,

	"publish":        (*world).publish,
	"schedule":       (*world).publish,
	"restorePublish": (*world).restorePublish,
	"cancelPublish":  (*world).cancelPublish,
	"wait":           (*world).wait,
	"deleteSite":     (*world).deleteSite,
	"restoreSite":    (*world).restoreSite,
	"duplicateSite":  (*world).duplicateSite,
	"publishAndUndo": (*world).publishAndUndo,
	"publishInParts": (*world).publishInParts,
}

// draftOnly are the operations that readers of the live version never notice.
var draftOnly = []string{
	"createPage", "updatePage", "putContent", "deletePage", "restorePage", "delocalizePage", "discardPage", "discardSite", "batch", "review", "schedule", "cancelPublish",
	"createRedirect", "updateRedirect", "deleteRedirect", "restoreRedirect", "discardRedirect",
}

func pick[T any](list []T, i int, none T) T {
	if len(list) == 0 {
		return none
	}
	return list[i%len(list)]
}

func pageAt(s *Site, i int) cms.ID { return pick(s.PageIDs, i, cms.NewID()) }

func localeAt(s *Site, i int) cms.ID { return pick(s.Locales, i, nil).ID }

func routeAt(s *Site, i int) cms.ID { return pick(s.Routes, i, &Route{ID: cms.NewID()}).ID }

func publishAt(s *Site, i int) cms.ID { return pick(s.Publishes, i, &Publish{ID: cms.NewID()}).ID }

// likely are the members of a list to which an operation means most, if there
// are any: restoring is mostly of what is deleted.
func likely[T any](list []T, fits func(T) bool) []T {
	fitting := slices.DeleteFunc(slices.Clone(list), func(v T) bool { return !fits(v) })
	if len(fitting) == 0 {
		return list
	}
	return fitting
}

// patch is a set of fields as the service takes it.
func patch(set Fields) cms.PagePatch {
	var p cms.PagePatch
	for name, value := range set {
		switch name {
		case "pathname":
			p.Pathname = optional[string](value)
		case "title":
			p.Title = optional[string](value)
		case "isOnline":
			p.IsOnline = optional[bool](value)
		case "sitemapPriority":
			p.SitemapPriority = optional[float64](value)
		case "content":
			p.Content = cms.Some[*cms.Content](nil)
			if value != nil {
				p.Content.Value = new(contentOf(value.(string)))
			}
		default:
			panic("no such field: " + name)
		}
	}
	return p
}

// contents are the contents that steps use.
var contents = []string{"one", "two"}

func contentOf(text string) cms.Content { return cms.NewContent([]byte(`{"text":"` + text + `"}`)) }

// contentText is what contentOf takes; digests of others are returned as they are.
func contentText(digest any) any {
	for _, text := range contents {
		if digest == any(contentOf(text).Digest) {
			return text
		}
	}
	return digest
}

func optional[T any](value any) cms.Opt[*T] {
	if value == nil {
		return cms.Some[*T](nil)
	}
	return cms.Some(new(value.(T)))
}

// A page's name identifies it in a copy of its site, so it begins with
// what never changes.
func rootName(name string) string { return strings.TrimSuffix(name, "'") }

func otherName(name string) string {
	if strings.HasSuffix(name, "'") {
		return rootName(name)
	}
	return name + "'"
}

func (w *world) createPage(s *Site, st step) (cms.Code, error) {
	name := fmt.Sprintf("page %d", w.names)
	w.names++
	fields := patch(st.set)
	fields.Name = cms.Some(name)
	view, err := w.svc.CreatePage(w.ctx(), w.who, service.Given(cms.NewPage{SiteID: cms.Some(s.ID), PagePatch: fields}))
	return s.CreatePage(view.ID, name, st.set, w.now()), err
}

func (w *world) updatePage(s *Site, st step) (cms.Code, error) {
	e := editOf(s, st)
	_, err := w.svc.UpdatePage(w.ctx(), w.who, service.Ref{ID: e.id}, e.asked,
		func(bool) (cms.PagePatch, error) { return e.fields, nil }, nil)
	return s.UpdatePage(e.id, e.locale, e.name, e.set, w.now()), err
}

// putContent sets or deletes the content of a page in a locale.
func (w *world) putContent(s *Site, st step) (cms.Code, error) {
	e := editOf(s, st)
	if e.set["content"] == nil {
		err := w.svc.DeleteContent(w.ctx(), w.who, e.id, e.asked, func(*cms.Digest) error { return nil })
		return s.DeleteContent(e.id, e.locale, w.now()), err
	}
	_, err := w.svc.PutContent(w.ctx(), w.who, e.id, e.asked, service.Given(*e.fields.Content.Value), func(*cms.Digest) error { return nil })
	return s.UpdatePage(e.id, e.locale, "", e.set, w.now()), err
}

// edit is an update of a page, for the service and for the model.
type edit struct {
	id, locale cms.ID
	asked      string // the locale, unless it is the default one
	fields     cms.PagePatch
	name       string
	set        Fields
}

func editOf(s *Site, st step) edit {
	e := edit{
		id:     pick(likely(s.PageIDs, func(id cms.ID) bool { return s.Draft.at(id) != nil }), st.page, cms.NewID()),
		locale: pick(likely(s.Locales, func(l *Locale) bool { return !l.Hidden }), st.locale, nil).ID,
		set:    maps.Clone(st.set),
	}
	if e.set == nil {
		e.set = Fields{}
	}
	for _, field := range st.inherit {
		if e.locale != s.Default {
			e.set[field] = nil
		}
	}
	e.fields = patch(e.set)
	if e.locale != s.Default {
		e.asked = e.locale.String()
	} else if st.rename {
		e.name = otherName(s.Draft[e.id].Name)
		e.fields.Name = cms.Some(e.name)
	}
	return e
}

// batch does edits one after the other, and none if one fails. Pathnames that
// name pages are those before the batch, and pathnames clash as they are after
// it.
func (w *world) batch(s *Site, st step) (cms.Code, error) {
	b := modelBatch{world: w, site: s, before: s.Draft, pages: s.PageIDs, redirects: s.Redirects}
	s.Unchecked = true
	for _, edit := range st.batch {
		b.add(edit)
	}
	results, err := w.svc.BatchPages(w.ctx(), w.who, service.Given(cms.PageBatch{SiteID: cms.Some(s.ID), Operations: cms.Some(b.operations)}))
	for i, create := range b.creates {
		id := cms.NewID()
		if create != nil && err == nil {
			id = results[i].Page.ID
		}
		if create != nil {
			create(id)
		}
	}
	s.Unchecked = false
	b.failed = append(b.failed, s.settle(s.Draft, s.Redirects, nil))
	for _, code := range []cms.Code{badRequest, notFound, conflict} {
		if slices.Contains(b.failed, code) && (!s.Deleted || code == notFound) {
			s.Draft, s.PageIDs, s.Redirects = b.before, b.pages, b.redirects
			return code, err
		}
	}
	return done, err
}

// modelBatch is a batch, for the service and for the model.
type modelBatch struct {
	*world
	site       *Site
	before     Version
	pages      []cms.ID
	redirects  Redirects
	operations []cms.PageOperation
	creates    []func(cms.ID) // by operation, once it is known which page it made
	failed     []cms.Code
}

func (b *modelBatch) do(op cms.PageOperation, code cms.Code) {
	b.operations, b.creates, b.failed = append(b.operations, op), append(b.creates, nil), append(b.failed, code)
}

func (b *modelBatch) add(edit step) {
	s := b.site
	switch edit.op {
	case "createPage":
		b.create(edit)
	case "updatePage":
		e := editOf(s, edit)
		op := cms.PageOperation{Op: cms.Some(cms.OpUpdate), PageID: cms.Some(e.id), PagePatch: e.fields}
		if e.asked != "" {
			op.Locale = cms.Some(e.asked)
		}
		if edit.path != "" {
			delete(e.set, "pathname")
			e.id, op.Current = b.named(edit.path, e.locale), edit.path
			op.PageID.Set, op.Pathname.Set = false, false
		}
		b.do(op, s.UpdatePage(e.id, e.locale, e.name, e.set, b.now()))
	case "swapPages":
		ids := []cms.ID{pageAt(s, edit.page), pageAt(s, edit.page+1)}
		locale := localeAt(s, edit.locale)
		for i, id := range ids {
			set := Fields{"pathname": "/a"}
			if other, ok := b.before[ids[1-i]]; ok {
				set = Fields{"pathname": other.In(locale)["pathname"]}
			}
			b.do(cms.PageOperation{Op: cms.Some(cms.OpUpdate), PageID: cms.Some(id), Locale: cms.Some(locale.String()), PagePatch: patch(set)},
				s.UpdatePage(id, locale, "", set, b.now()))
		}
	case "deletePage":
		id := pageAt(s, edit.page)
		op := cms.PageOperation{Op: cms.Some(cms.OpDelete), PageID: cms.Some(id)}
		if edit.path != "" {
			id, op.Current = b.named(edit.path, s.Default), edit.path
			op.PageID.Set = false
		}
		b.do(op, s.DeletePage(id, b.now()))
	case "delocalizePage":
		id, locale := localizedAt(s, edit)
		b.do(cms.PageOperation{Op: cms.Some(cms.OpDelete), PageID: cms.Some(id), Locale: cms.Some(locale.String())},
			s.DelocalizePage(id, locale, b.now()))
	}
}

// named is the page with a pathname in a locale before the batch, if any.
func (b *modelBatch) named(pathname string, locale cms.ID) cms.ID {
	for id, p := range b.before {
		if !p.Deleted && p.In(locale)["pathname"] == pathname {
			return id
		}
	}
	return cms.NoID
}

func (b *modelBatch) create(edit step) {
	s, name := b.site, fmt.Sprintf("page %d", b.names)
	b.names++
	op := cms.PageOperation{Op: cms.Some(cms.OpCreate), PagePatch: patch(edit.set)}
	op.Name = cms.Some(name)
	locale, code := localeAt(s, edit.locale), done
	if edit.localized != nil {
		op.Localizations = cms.Some(map[string]cms.PagePatch{locale.String(): patch(edit.localized)})
		if locale == s.Default {
			code = badRequest
		} else if !s.visible(locale) {
			code = notFound
		}
	}
	b.do(op, code)
	b.creates[len(b.creates)-1] = func(id cms.ID) {
		b.failed = append(b.failed, s.CreatePage(id, name, edit.set, b.now()))
		if edit.localized != nil && code == done {
			b.failed = append(b.failed, s.UpdatePage(id, locale, "", edit.localized, b.now()))
		}
	}
}

func (w *world) deletePage(s *Site, st step) (cms.Code, error) {
	id := pageAt(s, st.page)
	return s.DeletePage(id, w.now()), w.svc.DeletePage(w.ctx(), w.who, service.Ref{ID: id}, "", nil)
}

func (w *world) restorePage(s *Site, st step) (cms.Code, error) {
	id := pick(likely(s.PageIDs, func(id cms.ID) bool { return s.Draft[id].Deleted }), st.page, cms.NewID())
	_, err := w.svc.RestorePage(w.ctx(), w.who, id, nil)
	return s.RestorePage(id, w.now()), err
}

// localizedAt is a page that a locale overrides something of, if there is one.
func localizedAt(s *Site, st step) (id, locale cms.ID) {
	locale = localeAt(s, st.locale)
	return pick(likely(s.PageIDs, func(id cms.ID) bool { return s.Draft[id].Own[locale] != nil }), st.page, cms.NewID()), locale
}

func (w *world) delocalizePage(s *Site, st step) (cms.Code, error) {
	id, locale := localizedAt(s, st)
	err := w.svc.DelocalizePage(w.ctx(), w.who, service.Ref{ID: id}, locale.String(), nil)
	return s.DelocalizePage(id, locale, w.now()), err
}

func (w *world) discardPage(s *Site, st step) (cms.Code, error) {
	id := pageAt(s, st.page)
	page, err := w.svc.DiscardPage(w.ctx(), w.who, id, nil)
	if gone := page.DeletedAt != nil; err == nil && gone != (s.Live.at(id) == nil) {
		w.t.Errorf("discarding answered gone = %v", gone)
	}
	return s.DiscardPage(id), err
}

func (w *world) createLocale(s *Site, st step) (cms.Code, error) {
	view, err := w.svc.CreateLocale(w.ctx(), w.who, service.Given(cms.NewLocale{SiteID: cms.Some(s.ID), LocalePatch: cms.LocalePatch{Code: cms.Some(st.code)}}))
	return s.CreateLocale(view.ID, st.code), err
}

func (w *world) deleteLocale(s *Site, st step) (cms.Code, error) {
	id := localeAt(s, st.locale)
	return s.DeleteLocale(id), w.svc.DeleteLocale(w.ctx(), w.who, service.Ref{ID: id}, nil)
}

func (w *world) restoreLocale(s *Site, st step) (cms.Code, error) {
	id := pick(likely(s.Locales, func(l *Locale) bool { return l.Hidden }), st.locale, nil).ID
	_, err := w.svc.RestoreLocale(w.ctx(), w.who, service.Ref{ID: id}, nil)
	return s.RestoreLocale(id), err
}

func (w *world) changeDefault(s *Site, st step) (cms.Code, error) {
	before := w.readAll(s)
	site, err := w.svc.UpdateSite(w.ctx(), w.who, s.ID, service.Given(cms.SitePatch{DefaultLocale: cms.Some(st.code)}), nil)
	code := s.ChangeDefault(site.DefaultLocaleID, st.code)
	w.sameReading("changing the default locale", before, w.readAll(s))
	return code, err
}

func (w *world) createRoute(s *Site, st step) (cms.Code, error) {
	route, err := w.svc.CreateRoute(w.ctx(), w.who, service.Given(cms.NewRoute{SiteID: cms.Some(s.ID), RoutePatch: cms.RoutePatch{Pathname: cms.Some(st.path)}}))
	return s.CreateRoute(route.ID, st.path), err
}

func (w *world) updateRoute(s *Site, st step) (cms.Code, error) {
	id := routeAt(s, st.route)
	_, err := w.svc.UpdateRoute(w.ctx(), w.who, service.Ref{ID: id}, service.Given(cms.RoutePatch{Pathname: cms.Some(st.path)}), nil)
	return s.UpdateRoute(id, st.path), err
}

func (w *world) deleteRoute(s *Site, st step) (cms.Code, error) {
	id := pick(likely(s.Routes, func(r *Route) bool { return !r.Deleted }), st.route, &Route{ID: cms.NewID()}).ID
	return s.DeleteRoute(id), w.svc.DeleteRoute(w.ctx(), w.who, service.Ref{ID: id}, nil)
}

func (w *world) deleteSite(s *Site, _ step) (cms.Code, error) {
	err := w.svc.DeleteSite(w.ctx(), w.who, s.ID, nil)
	if s.Deleted {
		return notFound, err
	}
	s.Deleted = true
	return done, err
}

func (w *world) restoreSite(s *Site, _ step) (cms.Code, error) {
	_, err := w.svc.RestoreSite(w.ctx(), w.who, s.ID, nil)
	if !s.Deleted {
		return conflict, err
	}
	s.Deleted = false
	return done, err
}

// firstDue is the scheduled publish that is to run first.
func (w *world) firstDue() (site *Site, first *Publish) {
	for _, s := range w.sites {
		for _, p := range s.due(w.now()) {
			if first == nil || p.PublishAt.Before(first.PublishAt) {
				site, first = s, p
			}
		}
	}
	return site, first
}

// wait advances the clock, runs what is due, in order, and purges contents.
func (w *world) wait(_ *Site, st step) (cms.Code, error) {
	w.clock.advance(time.Duration(st.seconds) * time.Second)
	for {
		ran, err := w.svc.RunDuePublish(w.ctx())
		if err != nil {
			return done, err
		}
		if ran != nil && !slices.ContainsFunc(w.sites, func(s *Site) bool { return s.ID == ran.SiteID }) {
			continue // of another world
		}
		site, first := w.firstDue()
		if (ran == nil) != (first == nil) || (ran != nil && ran.ID != first.ID) {
			w.t.Fatalf("%v ran, want %v", ran, first)
		}
		if ran == nil {
			break
		}
		site.Refused = ran.Status == cms.StatusFailed
		site.run(first, guard, w.now())
	}
	_, err := w.svc.PurgeContents(w.ctx())
	return done, err
}
