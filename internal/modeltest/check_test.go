package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/service"
)

// seenPage is a page as a reader sees it.
type seenPage struct {
	ID                   cms.ID
	Name                 string
	Fields               Fields            // but for the content
	Content              any               // lists have none
	Localizations        map[string]string // pathname by locale code
	CreatedAt, UpdatedAt time.Time
	PublishedAt          *time.Time
}

// reading is everything that readers see, by version and locale.
type reading map[string][]seenPage

// pathnames are those that steps use, and so those that are looked up.
var pathnames = []string{"/", "/a", "/b", "/c"}

// readVersion lists every page of a version in every locale.
func (w *world) readVersion(s *Site, ref service.VersionRef) reading {
	r := reading{}
	for _, l := range s.shown() {
		r[l.Code] = w.list(s, ref, l, true)
	}
	return r
}

// readAll lists the draft, the live version and every past one.
func (w *world) readAll(s *Site) reading {
	all := reading{}
	if s.Deleted {
		return all
	}
	for name, ref := range versionsOf(s) {
		for code, pages := range w.readVersion(s, ref) {
			all[name+" in "+code] = pages
		}
	}
	return all
}

// versionsOf are the versions that a site has.
func versionsOf(s *Site) map[string]service.VersionRef {
	refs := map[string]service.VersionRef{"draft": {Version: cms.Draft}, "live": {Version: cms.Live}}
	for _, p := range s.wentLive {
		refs["publish "+p.ID.String()] = service.VersionRef{Publish: p.ID}
	}
	return refs
}

// sameReading compares two readings, the locales that both have. What is
// listed under localizations depends on which locale is the default one.
func (w *world) sameReading(what string, before, after reading) {
	for place, pages := range before {
		now, ok := after[place]
		if diff := cmp.Diff(pages, now, cmpopts.IgnoreFields(seenPage{}, "Localizations"), cmpopts.EquateEmpty()); ok && diff != "" {
			w.t.Errorf("%s changed what readers of %s see (-before +after):\n%s", what, place, diff)
		}
	}
}

func (w *world) list(s *Site, ref service.VersionRef, l *Locale, offline bool) []seenPage {
	list, err := w.svc.Pages(w.ctx(), w.who, service.ReadPages{
		Query:   cms.PageQuery{SiteID: s.ID, PathPrefix: "/", Sort: cms.SortPath, IncludeOffline: offline, Limit: cms.MaxLimit},
		Version: ref, Locale: l.ID.String(),
	})
	w.must(err)
	pages := make([]seenPage, len(list.Items))
	shown := make([]json.RawMessage, len(list.Items))
	for i, view := range list.Items {
		pages[i], shown[i] = seen(view), httpapi.AuditState(view)
	}
	w.sameAtTheEdge(s, ref, l, offline, shown)
	return pages
}

// sameAtTheEdge asks the edge for the same list. It keeps answers in memory,
// and must never return an outdated one.
func (w *world) sameAtTheEdge(s *Site, ref service.VersionRef, l *Locale, offline bool, want []json.RawMessage) {
	version := map[cms.Version]string{cms.Draft: "ref:draft", cms.Live: "ref:live"}[ref.Version]
	if ref.Publish != cms.NoID {
		version = "publish:" + ref.Publish.String()
	}
	r := httptest.NewRequestWithContext(w.ctx(), http.MethodGet, fmt.Sprintf("/v6/pages?siteId=%s&versionRef=%s&locale=%s&includeOffline=%t&limit=%d",
		s.ID, version, l.ID, offline, cms.MaxLimit), nil)
	r.Header.Set("X-Api-Key", string(w.key))
	out := httptest.NewRecorder()
	w.edge.ServeHTTP(out, r)
	var got struct{ Data []json.RawMessage }
	w.must(json.Unmarshal(out.Body.Bytes(), &got))
	text := func(items []json.RawMessage) (lines []string) {
		for _, item := range items {
			lines = append(lines, strings.TrimSpace(string(item)))
		}
		return lines
	}
	if diff := cmp.Diff(text(want), text(got.Data)); out.Code != http.StatusOK || diff != "" {
		w.t.Errorf("the edge answers %d to %s (-service +edge):\n%s", out.Code, r.URL, diff)
	}
}

func seen(view service.PageView) seenPage {
	v := view.Values
	p := seenPage{
		ID: view.ID, Name: view.DisplayName(), CreatedAt: view.CreatedAt, UpdatedAt: view.UpdatedAt, PublishedAt: view.PublishedAt,
		Localizations: map[string]string{},
		Fields: Fields{
			"pathname": v.Pathname, "title": value(v.Title), "description": value(v.Description),
			"canonicalUrl": value(v.CanonicalURL), "socialImageUrl": value(v.SocialImageURL),
			"sitemapPriority": value(v.SitemapPriority), "sitemapFrequency": value(v.SitemapFrequency),
			"isOnline": v.IsOnline, "excludedFromSearchEngines": value(v.ExcludedFromSearchEngines),
		},
	}
	for _, l := range view.Localizations {
		p.Localizations[l.Locale] = l.Pathname
	}
	return p
}

func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// expect is what the model says that a reader of a version sees.
func (s *Site) expect(v Version, l *Locale) []seenPage {
	var pages []seenPage
	for id, p := range v {
		if p.Deleted {
			continue
		}
		fields := p.In(l.ID)
		content := fields["content"]
		delete(fields, "content")
		page := seenPage{
			ID: id, Name: p.Name, Fields: fields, Content: content, Localizations: map[string]string{},
			CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, PublishedAt: p.PublishedAt,
		}
		for _, other := range s.shown() {
			if _, ok := p.Own[other.ID]; ok {
				page.Localizations[other.Code] = p.In(other.ID)["pathname"].(string)
			}
		}
		pages = append(pages, page)
	}
	slices.SortFunc(pages, func(a, b seenPage) int {
		if order := strings.Compare(a.Fields["pathname"].(string), b.Fields["pathname"].(string)); order != 0 {
			return order
		}
		return cms.CompareIDs(a.ID, b.ID)
	})
	return pages
}

// draft is the draft with the times that it shows.
func (s *Site) draft() Version {
	v := s.Draft.clone()
	for id, p := range v {
		p.PublishedAt = nil
		if at, ok := s.PublishedAt[id]; ok {
			p.PublishedAt = &at
		}
		v[id] = p
	}
	return v
}

// check compares everything that readers see with the model.
func (w *world) check() {
	w.t.Helper()
	for _, s := range w.sites {
		if s.Deleted {
			w.checkGone(s)
			continue
		}
		w.checkVersion(s, "draft", service.VersionRef{Version: cms.Draft}, s.draft(), s.Redirects)
		w.checkVersion(s, "live", service.VersionRef{Version: cms.Live}, s.Live, s.LiveRedirects)
		w.checkHistory(s)
		w.checkChanges(s)
		w.checkSummary(s)
	}
}

// checkSummary compares counters with a plain count.
func (w *world) checkSummary(s *Site) {
	w.t.Helper()
	var want service.SiteSummary
	changed, localized := map[cms.ID]bool{}, map[cms.ID]int{}
	for _, p := range s.Draft {
		if p.Deleted {
			continue
		}
		want.Pages++
		if p.Default["isOnline"] == true {
			want.Online++
		}
		for id := range p.Own {
			localized[id]++
		}
	}
	want.Offline = want.Pages - want.Online
	localized[s.Default] = want.Pages
	for _, c := range s.pending(Selection{}) {
		changed[c.PageID] = true
	}
	want.Changed = len(changed)
	for _, r := range s.Routes {
		if !r.Deleted {
			want.Routes++
		}
	}
	want.Redirects = len(s.visibleRedirects(s.Redirects))
	for _, p := range s.Publishes {
		if p.Status != cms.StatusScheduled {
			continue
		}
		want.Scheduled++
		if want.NextPublishAt == nil || p.PublishAt.Before(*want.NextPublishAt) {
			want.NextPublishAt = &p.PublishAt
		}
	}
	for _, l := range s.shown() {
		want.Locales = append(want.Locales, service.LocaleCount{Locale: l.Code, Localized: localized[l.ID]})
	}
	slices.SortFunc(want.Locales, compareCounts)
	got, err := w.svc.SiteSummary(w.ctx(), w.who, s.ID)
	w.must(err)
	slices.SortFunc(got.Locales, compareCounts)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(service.SiteSummary{}, "LastPublish")); diff != "" {
		w.t.Fatalf("the summary is another (-model +service):\n%s", diff)
	}
	var last cms.ID
	if n := len(s.wentLive); n > 0 {
		last = s.wentLive[n-1].ID
	}
	if (got.LastPublish == nil) != (last == cms.NoID) || (got.LastPublish != nil && got.LastPublish.ID != last) {
		w.t.Fatalf("the last publish is %v, want %v", got.LastPublish, last)
	}
}

func compareCounts(a, b service.LocaleCount) int { return strings.Compare(a.Locale, b.Locale) }

func (w *world) checkGone(s *Site) {
	_, err := w.svc.Site(w.ctx(), w.who, s.ID)
	if cms.CodeOf(err) != notFound {
		w.t.Fatalf("reading a deleted site answered %v", err)
	}
}

func (w *world) checkVersion(s *Site, name string, ref service.VersionRef, v Version, redirects Redirects) {
	w.t.Helper()
	pages := map[cms.ID][]seenPage{}
	for i, l := range s.shown() {
		want := s.expect(v, l)
		got := w.list(s, ref, l, true)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), listFields); diff != "" {
			w.t.Fatalf("readers of %s in %s see something else (-model +service):\n%s", name, l.Code, diff)
		}
		w.checkUnique(s, name, l, got)
		pages[l.ID] = got
		online := slices.DeleteFunc(want, func(p seenPage) bool { return p.Fields["isOnline"] == false })
		if diff := cmp.Diff(online, w.list(s, ref, l, false), cmpopts.EquateEmpty(), listFields); diff != "" {
			w.t.Fatalf("readers of %s in %s see other online pages (-model +service):\n%s", name, l.Code, diff)
		}
		// Checking only some at a time allows more steps.
		if turn := (i + w.steps) % len(s.shown()); turn == 0 {
			w.checkLookups(s, name, ref, l, v)
		} else if turn == 1 {
			w.checkByID(s, name, ref, l, v)
		}
	}
	w.checkRedirects(s, name, ref, redirects, pages)
}

var listFields = cmpopts.IgnoreFields(seenPage{}, "Content")

// checkUnique trusts nothing but what was read.
func (w *world) checkUnique(s *Site, name string, l *Locale, pages []seenPage) {
	taken := map[any]bool{}
	for _, r := range s.Routes {
		if !r.Deleted {
			taken[r.Pathname] = true
		}
	}
	for _, p := range pages {
		if taken[p.Fields["pathname"]] {
			w.t.Fatalf("%v belongs to two in %s in %s", p.Fields["pathname"], name, l.Code)
		}
		taken[p.Fields["pathname"]] = true
	}
}

func (w *world) checkLookups(s *Site, name string, ref service.VersionRef, l *Locale, v Version) {
	w.t.Helper()
	byPath := map[string][]cms.ID{}
	for _, p := range s.expect(v, l) {
		pathname := p.Fields["pathname"].(string)
		byPath[pathname] = append(byPath[pathname], p.ID)
	}
	for _, pathname := range pathnames {
		view, err := w.svc.Page(w.ctx(), w.who, service.ReadPage{
			Ref: service.Ref{Name: pathname, SiteID: s.ID}, Version: ref, Locale: l.ID.String(),
		})
		owners := byPath[pathname]
		switch {
		case len(owners) == 0 && cms.CodeOf(err) == notFound:
		case err != nil || !slices.Contains(owners, view.ID):
			w.t.Fatalf("looking up %s of %s in %s found %v, %v, want %v", pathname, name, l.Code, view.ID, err, owners)
		}
	}
}

func (w *world) checkByID(s *Site, name string, ref service.VersionRef, l *Locale, v Version) {
	w.t.Helper()
	expected := map[cms.ID]seenPage{}
	for _, p := range s.expect(v, l) {
		expected[p.ID] = p
	}
	for _, id := range s.PageIDs {
		view, err := w.svc.Page(w.ctx(), w.who, service.ReadPage{Ref: service.Ref{ID: id}, Version: ref, Locale: l.ID.String(), Content: true})
		want, ok := expected[id]
		switch {
		case !ok && cms.CodeOf(err) == notFound:
		case !ok || err != nil:
			w.t.Fatalf("page %v of %s in %s: %v, want there: %v", id, name, l.Code, err, ok)
		default:
			got := seen(view)
			got.Content = contentText(value(view.Values.Content))
			if text, ok := got.Content.(string); ok && string(view.Content) != string(contentOf(text).Value) {
				w.t.Fatalf("page %v of %s in %s has the content %s, want %s", id, name, l.Code, view.Content, text)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				w.t.Fatalf("page %v of %s in %s is something else (-model +service):\n%s", id, name, l.Code, diff)
			}
		}
	}
}

// checkChanges compares what a publish would do.
func (w *world) checkChanges(s *Site) {
	w.t.Helper()
	w.checkSelection(s, Selection{})
	// One selection in turn: a page, a locale, or both.
	var sel Selection
	if id := pageAt(s, w.steps/3); w.steps%3 < 2 && s.has(Selection{Pages: []cms.ID{id}}) {
		sel.Pages = []cms.ID{id}
	}
	if w.steps%3 > 0 {
		sel.Locales = []cms.ID{s.shown()[w.steps/3%len(s.shown())].ID}
	}
	w.checkSelection(s, sel)
}

func (w *world) checkSelection(s *Site, sel Selection) {
	w.t.Helper()
	want := s.shownChanges(s.pending(sel))
	views := w.readChanges(s, sel)
	if diff := cmp.Diff(want, toldBy(views), cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatalf("the changes of %v are others (-model +service):\n%s", sel, diff)
	}
	rel := s.releaseOf(sel, s.published(sel))
	if rel.unsure {
		return
	}
	w.checkRedirectChanges(s, fmt.Sprint(sel), rel.changes(s), views)
	sum := service.Summary{Total: len(want), ByKind: map[cms.ChangeKind]int{}, ByLocale: map[string]int{}}
	for _, c := range want {
		sum.ByKind[c.Kind]++
		sum.ByLocale[c.Locale]++
	}
	for _, c := range rel.changes(s) {
		sum.Total++
		sum.ByKind[c.Kind]++
		if c.Locale == "" {
			c.Locale = s.locale(s.Default).Code
		}
		sum.ByLocale[c.Locale]++
	}
	review, err := w.svc.Changes(w.ctx(), w.who, s.ID, sel.request(), cms.ListQuery{Limit: 1})
	w.must(err)
	if diff := cmp.Diff(sum, review.Summary); diff != "" {
		w.t.Fatalf("the summary of %v is another (-model +service):\n%s", sel, diff)
	}
}

// request is the selection as the service takes it.
func (s Selection) request() cms.SelectionRequest {
	var r cms.SelectionRequest
	if s.Pages != nil {
		r.PageIDs = cms.Some(s.Pages)
	}
	if s.Redirects != nil {
		r.RedirectIDs = cms.Some(s.Redirects)
	}
	if s.Locales != nil {
		r.Locales = cms.Some[[]string](nil)
		for _, id := range s.Locales {
			r.Locales.Value = append(r.Locales.Value, id.String())
		}
	}
	return r
}

// shownChange is a change as the interface shows it.
type shownChange struct {
	Change
	Locale string
}

// shownChanges are changes in the order and form of the interface, where a value that
// is absent is null.
func (s *Site) shownChanges(changes []Change) []shownChange {
	var list []shownChange
	for _, c := range changes {
		code := s.locale(s.Default).Code
		if l := s.locale(c.LocaleID); l != nil {
			code = l.Code
		}
		fields := map[string]FieldChange{}
		for name, f := range c.Fields {
			created := c.Kind == cms.ChangeCreated || c.Kind == cms.ChangeDeleted
			f = FieldChange{null(f.From), null(f.To)}
			if !created || f.From != f.To {
				fields[name] = f
			}
		}
		c.Fields = fields
		list = append(list, shownChange{c, code})
	}
	slices.SortFunc(list, func(a, b shownChange) int {
		if order := cms.CompareIDs(a.PageID, b.PageID); order != 0 {
			return order
		}
		return cms.CompareIDs(a.LocaleID, b.LocaleID)
	})
	return list
}

// readChanges walks the list in parts of a size that differs from step to step.
func (w *world) readChanges(s *Site, sel Selection) []service.ChangeView {
	return w.walk(func(q cms.ListQuery) (cms.List[service.ChangeView], error) {
		review, err := w.svc.Changes(w.ctx(), w.who, s.ID, sel.request(), q)
		return review.List, err
	})
}

func (w *world) walk(read func(cms.ListQuery) (cms.List[service.ChangeView], error)) []service.ChangeView {
	var all []service.ChangeView
	for q := (cms.ListQuery{Limit: 1 + w.steps%4}); ; {
		list, err := read(q)
		w.must(err)
		all = append(all, list.Items...)
		if !list.HasMore {
			return all
		}
		q.After = all[len(all)-1].ID()
	}
}

// toldBy are the changes of pages in a list.
func toldBy(views []service.ChangeView) []shownChange {
	var list []shownChange
	for _, c := range views {
		if c.RedirectID != cms.NoID {
			continue
		}
		shown := shownChange{Locale: c.Locale, Change: Change{
			PageID: c.PageID, LocaleID: c.LocaleID, Kind: c.Kind, Pathname: c.Pathname, Fields: map[string]FieldChange{},
		}}
		if c.PreviousPathname != nil {
			shown.PreviousPathname = *c.PreviousPathname
		}
		for _, f := range c.Fields {
			shown.Fields[f.Field] = FieldChange{contentText(f.From), contentText(f.To)}
		}
		list = append(list, shown)
	}
	return list
}
