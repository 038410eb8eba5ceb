package modeltest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/internal/cms"
	"galley/internal/service"
)

// redirectWorld is a site whose pages and redirects move at random. It has no model of
// what each step does: it holds every state to what must always be so.
type redirectWorld struct {
	*world
	rng     *rand.Rand
	site    cms.ID
	locales []string
	routes  []cms.ID
	left    map[cms.ID][]string // the live redirects that each publish left
	refused int
	log     []string
}

func (w *redirectWorld) pick(from ...string) string { return from[w.rng.IntN(len(from))] }

func (w *redirectWorld) path() string {
	return w.pick("/a", "/b", "/c", "/a/x", "/b/x", "/b/y")
}

// try takes a step, which may be refused as a conflict or for what does not exist.
func (w *redirectWorld) try(what string, err error) {
	w.t.Helper()
	w.log = append(w.log, fmt.Sprintf("%s: %v", what, err))
	switch cms.CodeOf(err) {
	case conflict, notFound, badRequest:
		w.refused++
	default:
		if err != nil {
			w.t.Fatalf("%v\n%s", err, strings.Join(w.log, "\n"))
		}
	}
}

func (w *redirectWorld) redirects(ref service.VersionRef) []service.RedirectView {
	list, err := w.svc.Redirects(w.ctx(), w.who, service.ReadRedirects{SiteID: w.site, Version: ref, List: cms.ListQuery{Limit: 100}})
	w.must(err)
	return list.Items
}

func describe(views []service.RedirectView) []string {
	var lines []string
	for _, v := range views {
		lines = append(lines, fmt.Sprint(v.ID, v.LocaleID, v.Source, v.Target, v.Status, v.IsAutomatic))
	}
	return lines
}

var draftRef, liveRef = service.VersionRef{Version: cms.Draft}, service.VersionRef{Version: cms.Live}

func (w *redirectWorld) pages(ref service.VersionRef, locale string) []service.PageView {
	list, err := w.svc.Pages(w.ctx(), w.who, service.ReadPages{
		Query: cms.PageQuery{SiteID: w.site, PathPrefix: "/", Sort: cms.SortPath, IncludeOffline: true, Limit: 100}, Version: ref, Locale: locale,
	})
	w.must(err)
	return list.Items
}

func (w *redirectWorld) step() {
	w.clock.advance(time.Second)
	redirects, pages := w.redirects(draftRef), w.pages(draftRef, "")
	var locale *string
	if w.rng.IntN(2) == 0 {
		locale = new(w.pick(w.locales...))
	}
	target := w.pick(w.path(), w.path(), "/a/*", "/b/*", "https://example.com"+w.path(), "https://example.org/x")
	source := w.pick(w.path(), w.path(), "/a/*", "/b/*")
	if !strings.HasSuffix(source, "/*") {
		target = strings.TrimSuffix(target, "/*")
	}
	switch n := w.rng.IntN(14); {
	case n < 3:
		patch := cms.RedirectPatch{Source: cms.Some(source), Target: cms.Some(target), Locale: cms.Opt[*string]{Set: true, Value: locale}}
		_, err := w.svc.CreateRedirect(w.ctx(), w.who, service.Given(cms.NewRedirect{SiteID: cms.Some(w.site), RedirectPatch: patch}))
		w.try(fmt.Sprint("redirect ", source, " ", target), err)
	case n == 3 && len(redirects) > 0:
		id := redirects[w.rng.IntN(len(redirects))].ID
		w.try("delete a redirect", w.svc.DeleteRedirect(w.ctx(), w.who, id, nil))
	case n == 4 && len(redirects) > 0:
		r := redirects[w.rng.IntN(len(redirects))]
		_, err := w.svc.UpdateRedirect(w.ctx(), w.who, r.ID, service.Given(cms.RedirectPatch{Source: cms.Some(source), Target: cms.Some(target)}), nil)
		w.try(fmt.Sprint("change ", r.Source, " to ", source, " ", target), err)
	case n == 5:
		path := w.path()
		_, err := w.svc.CreatePage(w.ctx(), w.who, service.Given(cms.NewPage{SiteID: cms.Some(w.site), PagePatch: cms.PagePatch{Pathname: cms.Some(&path)}}))
		w.try("page "+path, err)
	case n < 9 && len(pages) > 0:
		path, in := w.path(), ""
		if locale != nil {
			in = *locale
		}
		page := pages[w.rng.IntN(len(pages))]
		_, err := w.svc.UpdatePage(w.ctx(), w.who, service.Ref{ID: page.ID}, in, func(bool) (cms.PagePatch, error) { return cms.PagePatch{Pathname: cms.Some(&path)}, nil }, nil)
		w.try(fmt.Sprint("move ", page.Values.Pathname, " to ", path, " in ", in), err)
	case n == 9:
		w.route()
	case n == 10:
		w.publishSome(redirects, pages)
	case n == 11:
		w.restoreOne()
	case n == 12:
		_, err := w.svc.Discard(w.ctx(), w.who, w.site, service.Given(cms.DiscardRequest{Confirm: cms.Some(true)}))
		w.try("discard", err)
	default:
		w.publishAll()
	}
	w.holds()
}

func (w *redirectWorld) route() {
	if len(w.routes) > 1 {
		w.try("delete a route", w.svc.DeleteRoute(w.ctx(), w.who, service.Ref{ID: w.routes[0]}, nil))
		w.routes = w.routes[1:]
		return
	}
	path := w.path()
	r, err := w.svc.CreateRoute(w.ctx(), w.who, service.Given(cms.NewRoute{SiteID: cms.Some(w.site), RoutePatch: cms.RoutePatch{Pathname: cms.Some(path)}}))
	w.try("route "+path, err)
	if err == nil {
		w.routes = append(w.routes, r.ID)
	}
}

// publishAll publishes what was listed, and finds the draft live.
func (w *redirectWorld) publishAll() {
	review, err := w.svc.Changes(w.ctx(), w.who, w.site, cms.SelectionRequest{}, cms.ListQuery{Limit: 100})
	w.must(err)
	p, err := w.svc.Publish(w.ctx(), w.who, w.site, service.Given(cms.PublishRequest{Plan: cms.Some(review.Plan), Confirm: cms.Some(true)}))
	w.try("publish", err)
	if err != nil || p.ID == cms.NoID {
		return
	}
	if p.ChangeCount != review.Summary.Total || p.ChangeCount != len(review.Items) {
		w.t.Fatalf("the publish has %d changes of %d\n%s", p.ChangeCount, review.Summary.Total, strings.Join(w.log, "\n"))
	}
	live := describe(w.redirects(liveRef))
	if diff := cmp.Diff(describe(w.redirects(draftRef)), live); diff != "" {
		w.t.Fatalf("not the draft is live (-draft +live):\n%s\n%s", diff, strings.Join(w.log, "\n"))
	}
	w.left[p.ID] = live
}

// publishSome publishes a page or a redirect alone.
func (w *redirectWorld) publishSome(redirects []service.RedirectView, pages []service.PageView) {
	var ask cms.PublishRequest
	if len(pages) > 0 && w.rng.IntN(2) == 0 {
		ask.PageIDs = cms.Some([]cms.ID{pages[w.rng.IntN(len(pages))].ID})
	} else if len(redirects) > 0 {
		ask.RedirectIDs = cms.Some([]cms.ID{redirects[w.rng.IntN(len(redirects))].ID})
	}
	p, err := w.svc.Publish(w.ctx(), w.who, w.site, service.Given(ask))
	w.try("publish a part", err)
	if err == nil && p.ID != cms.NoID {
		w.left[p.ID] = describe(w.redirects(liveRef))
	}
}

// restoreOne goes back to a publish, and finds its redirects live.
func (w *redirectWorld) restoreOne() {
	for id, want := range w.left {
		p, err := w.svc.RestorePublish(w.ctx(), w.who, id, nil)
		w.try("restore", err)
		if err != nil {
			return
		}
		live := describe(w.redirects(liveRef))
		if diff := cmp.Diff(want, live); diff != "" {
			w.t.Fatalf("other redirects were restored (-then +now):\n%s\n%s", diff, strings.Join(w.log, "\n"))
		}
		if p.ID != cms.NoID {
			w.left[p.ID] = live
		}
		return
	}
}

// holds checks what is so in every state.
func (w *redirectWorld) holds() {
	w.t.Helper()
	site, err := w.svc.Site(w.ctx(), w.who, w.site)
	w.must(err)
	list, err := w.svc.Locales(w.ctx(), w.who, w.site, false, cms.ListQuery{Limit: 10})
	w.must(err)
	var locales cms.Locales
	for _, l := range list.Items {
		locales = append(locales, l.Locale)
	}
	routes, err := w.svc.Routes(w.ctx(), w.who, w.site, cms.ListQuery{Limit: 10})
	w.must(err)
	sum, err := w.svc.SiteSummary(w.ctx(), w.who, w.site)
	w.must(err)
	got, want := []int{sum.Pages, sum.Redirects, sum.Routes}, []int{len(w.pages(draftRef, "")), len(w.redirects(draftRef)), len(routes.Items)}
	if !slices.Equal(got, want) {
		w.t.Fatalf("the summary has %v pages, redirects and routes, want %v\n%s", got, want, strings.Join(w.log, "\n"))
	}
	for name, ref := range map[string]service.VersionRef{"draft": draftRef, "live": liveRef} {
		var all []cms.Redirect
		for _, v := range w.redirects(ref) {
			all = append(all, v.Redirect)
		}
		for _, l := range locales {
			owners := map[string]int{}
			for _, p := range w.pages(ref, l.Code) {
				owners[p.Values.Pathname]++
			}
			for _, r := range routes.Items {
				owners[r.Pathname]++
			}
			for pathname, n := range owners {
				held := slices.ContainsFunc(all, func(r cms.Redirect) bool {
					return r.Source == pathname && (r.LocaleID == cms.NoID || r.LocaleID == l.ID)
				})
				if n > 1 || held {
					w.t.Fatalf("%s of %s in %s belongs to several\n%s", pathname, name, l.Code, strings.Join(w.log, "\n"))
				}
			}
			for _, path := range []string{"/a", "/b", "/c", "/a/x", "/b/x", "/b/y", "/a/z", "/b/z", "/a/x/z", "/b/x/z"} {
				if !ends(site, locales, all, l.ID, path) {
					w.t.Fatalf("%s of %s in %s comes round\n%s", path, name, l.Code, strings.Join(w.log, "\n"))
				}
			}
		}
	}
	for id, want := range w.left {
		if diff := cmp.Diff(want, describe(w.redirects(service.VersionRef{Version: cms.Live, Publish: id}))); diff != "" {
			w.t.Fatalf("the past changed (-then +now):\n%s\n%s", diff, strings.Join(w.log, "\n"))
		}
	}
}

// ends follows redirects from a path.
func ends(site cms.Site, locales cms.Locales, all []cms.Redirect, locale cms.ID, path string) bool {
	for range 50 {
		r, ok := cms.ActingRedirect(all, path, locale)
		if !ok {
			return true
		}
		if path = r.Expand(path); strings.HasPrefix(path, "/") {
			continue
		}
		origin, rest, _, _ := cms.SplitURL(path)
		at, ok := locales.Locate(site, origin, rest)
		if !ok {
			return true
		}
		locale, path = at.Locale.ID, at.Pathname
	}
	return false
}

func TestRedirectsHoldWhateverHappens(t *testing.T) {
	eachEngine(t, func(t *testing.T, e *engine) {
		for seed := range uint64(4) {
			w := &redirectWorld{world: &world{engine: e, t: t}, rng: rand.New(rand.NewPCG(seed, 7)), locales: []string{"en", "fr"}, left: map[cms.ID][]string{}}
			site, err := e.svc.CreateSite(t.Context(), e.who, service.Given(cms.NewSite{SitePatch: cms.SitePatch{
				Name: cms.Some("R"), DefaultLocale: cms.Some("en"), HostOrigin: cms.Some(new("https://example.com")),
			}}))
			w.must(err)
			w.site = site.ID
			_, err = e.svc.CreateLocale(t.Context(), e.who, service.Given(cms.NewLocale{SiteID: cms.Some(site.ID), LocalePatch: cms.LocalePatch{Code: cms.Some("fr")}}))
			w.must(err)
			for range 80 {
				w.step()
			}
			if w.refused > 60 || len(w.left) < 5 {
				t.Errorf("seed %d: %d steps were refused, %d publishes", seed, w.refused, len(w.left))
			}
		}
	})
}
