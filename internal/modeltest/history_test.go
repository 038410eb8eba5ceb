package modeltest

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"galley/internal/cms"
	"galley/internal/service"
)

// shownPublish is a publish as the interface shows it.
type shownPublish struct {
	ID, Previous, RestoredFrom cms.ID
	Status                     cms.PublishStatus
	ChangeCount                int
}

// checkHistory compares the list of publishes, and in turn one of the versions
// that they left and one page's own history.
func (w *world) checkHistory(s *Site) {
	w.t.Helper()
	list, err := w.svc.Publishes(w.ctx(), w.who, s.ID, cms.ListQuery{Limit: cms.MaxLimit})
	w.must(err)
	var want []shownPublish
	for _, p := range slices.Backward(s.Publishes) {
		want = append(want, shownPublish{p.ID, p.Previous, p.RestoredFrom, p.Status, p.ChangeCount})
	}
	if len(want) > cms.MaxLimit {
		want = want[:cms.MaxLimit]
	}
	if diff := cmp.Diff(want, shownPublishes(list.Items), cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatalf("the publishes are others (-model +service):\n%s", diff)
	}
	if len(s.wentLive) > 0 {
		w.checkPast(s, s.wentLive[w.steps%len(s.wentLive)])
	}
	if len(s.PageIDs) > 0 {
		w.checkPageHistory(s, s.PageIDs[w.steps%len(s.PageIDs)])
	}
}

func shownPublishes(list []cms.Publish) []shownPublish {
	var shown []shownPublish
	for _, p := range list {
		t := shownPublish{ID: p.ID, Status: p.Status, ChangeCount: p.ChangeCount}
		if p.PreviousID != nil {
			t.Previous = *p.PreviousID
		}
		if p.RestoredFrom != nil {
			t.RestoredFrom = *p.RestoredFrom
		}
		shown = append(shown, t)
	}
	return shown
}

// checkPast compares what a publish left and what it changed. In a locale that
// was hidden then and is back now, a past version may show a pathname twice.
func (w *world) checkPast(s *Site, p *Publish) {
	w.t.Helper()
	name, ref := "publish "+p.ID.String(), service.VersionRef{Publish: p.ID}
	for _, l := range s.shown() {
		if diff := cmp.Diff(s.expect(p.Live, l), w.list(s, ref, l, true), cmpopts.EquateEmpty(), listFields); diff != "" {
			w.t.Fatalf("readers of %s in %s see something else (-model +service):\n%s", name, l.Code, diff)
		}
	}
	w.checkRedirects(s, name, ref, p.Redirects, nil)
	turn := s.shown()[w.steps%len(s.shown())]
	w.checkLookups(s, name, ref, turn, p.Live)
	w.checkByID(s, name, ref, turn, p.Live)
	got := w.walk(func(q cms.ListQuery) (cms.List[service.ChangeView], error) {
		return w.svc.PublishChanges(w.ctx(), w.who, p.ID, q)
	})
	// What was hidden before it, and still is, had no part in it.
	locales := slices.DeleteFunc(slices.Clone(s.Locales), func(l *Locale) bool { return l.Hidden && l.since <= slices.Index(s.wentLive, p) })
	want := s.shownChanges(s.changes(p.Before, p.Live, locales))
	if diff := cmp.Diff(want, toldBy(got), cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatalf("the changes of %s are others (-model +service):\n%s", name, diff)
	}
	if len(s.shown()) < len(s.Locales) {
		return
	}
	// What a route has taken from the live version since is among them, too.
	var before Redirects
	if n := slices.Index(s.wentLive, p); n > 0 {
		before = s.wentLive[n-1].Redirects
	}
	w.checkRedirectChanges(s, name, s.redirectChanges(before, p.Redirects), got)
}

func (w *world) checkPageHistory(s *Site, id cms.ID) {
	w.t.Helper()
	list, err := w.svc.PagePublishes(w.ctx(), w.who, id, cms.ListQuery{Limit: cms.MaxLimit})
	var want []cms.ID
	for _, p := range slices.Backward(s.Publishes) {
		if p.Live != nil && p.Changed[id] {
			want = append(want, p.ID)
		}
	}
	if len(want) == 0 && s.Draft.at(id) == nil {
		if cms.CodeOf(err) != notFound {
			w.t.Fatalf("the history of page %v, which is gone and was never live: %v", id, err)
		}
		return
	}
	w.must(err)
	var got []cms.ID
	for _, p := range list.Items {
		got = append(got, p.ID)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatalf("the history of page %v is another (-model +service):\n%s", id, diff)
	}
}
