package modeltest

import (
	"maps"
	"strings"
	"time"

	"galley/internal/cms"
	"galley/internal/service"
)

// review reads the changes and keeps their plan for later.
func (w *world) review(s *Site, st step) (cms.Code, error) {
	sel := selectionOf(s, st)
	review, err := w.svc.Changes(w.ctx(), w.who, s.ID, sel.request(), cms.ListQuery{Limit: cms.MaxLimit})
	if !s.has(sel) {
		return notFound, err
	}
	delete(w.plans, s.ID)
	if !s.releaseOf(sel, s.published(sel)).unsure {
		w.plans[s.ID] = reviewed{review.Plan, s.planOf(sel)}
	}
	return done, err
}

func selectionOf(s *Site, st step) Selection {
	var sel Selection
	for _, i := range st.pages {
		sel.Pages = append(sel.Pages, pageAt(s, i))
	}
	for _, i := range st.redirects {
		sel.Redirects = append(sel.Redirects, redirectAt(s, i, func(Redirect) bool { return true }))
	}
	for _, i := range st.locales {
		sel.Locales = append(sel.Locales, localeAt(s, i))
	}
	return sel
}

// discardSite discards a selection, which leaves nothing of it to publish.
func (w *world) discardSite(s *Site, st step) (cms.Code, error) {
	sel := selectionOf(s, st)
	_, err := w.svc.Discard(w.ctx(), w.who, s.ID, service.Given(cms.DiscardRequest{SelectionRequest: sel.request(), Confirm: cms.Some(st.confirm)}))
	code := s.Discard(sel, st.confirm, guard)
	if code == done && err == nil {
		if left := s.pending(sel); len(left) > 0 {
			w.t.Errorf("there are changes of what was discarded: %v", left)
		}
	}
	return code, err
}

// reviewed is a plan and what the model says that it covers.
type reviewed struct {
	plan    string
	changes Plan
}

func (w *world) publish(s *Site, st step) (cms.Code, error) {
	ask := Ask{Confirm: st.confirm, Select: selectionOf(s, st)}
	request := cms.PublishRequest{SelectionRequest: ask.Select.request(), Confirm: cms.Some(st.confirm)}
	switch st.plan { // what is reviewed is kept in w.plans
	case freshPlan:
		_, _ = w.review(s, step{})
	case ownPlan:
		_, _ = w.review(s, st)
	}
	unsure := s.releaseOf(ask.Select, s.published(ask.Select)).unsure || s.releaseOf(Selection{}, s.published(Selection{})).unsure
	if saved, ok := w.plans[s.ID]; ok && st.plan != noPlan && !unsure {
		request.Plan = cms.Some(saved.plan)
		ask.Reviewed = &saved.changes
	}
	if st.op == "schedule" {
		// No two at one time: their order would be undefined.
		w.schedules++
		ask.PublishAt = w.now().Add(time.Duration(st.seconds)*time.Second + time.Duration(w.schedules)*time.Millisecond)
		request.PublishAt = cms.Some(new(ask.PublishAt))
	}
	p, err := w.svc.Publish(w.ctx(), w.who, s.ID, service.Given(request))
	s.Refused = err != nil
	code := s.Publish(p.ID, ask, guard, w.now())
	if code == done && st.op == "publish" && st.pages == nil && st.redirects == nil && st.locales == nil && !s.differs() && len(w.readChanges(s, Selection{})) > 0 {
		w.t.Errorf("there are changes right after publishing everything")
	}
	return code, err
}

func (w *world) publishPage(s *Site, st step) (cms.Code, error) {
	id := pageAt(s, st.page)
	p, err := w.svc.PublishPage(w.ctx(), w.who, id, nil)
	s.Refused = err != nil
	if s.Draft.at(id) == nil && s.Live.at(id) == nil {
		return notFound, err
	}
	return s.Publish(p.ID, Ask{Select: Selection{Pages: []cms.ID{id}}}, guard, w.now()), err
}

func (w *world) restorePublish(s *Site, st step) (cms.Code, error) {
	from := publishAt(s, st.publish)
	p, err := w.svc.RestorePublish(w.ctx(), w.who, from, nil)
	return s.RestorePublish(p.ID, from, w.now()), err
}

func (w *world) cancelPublish(s *Site, st step) (cms.Code, error) {
	waiting := likely(s.Publishes, func(p *Publish) bool { return p.Status == cms.StatusScheduled })
	id := pick(waiting, st.publish, &Publish{ID: cms.NewID()}).ID
	return s.CancelPublish(id), w.svc.CancelPublish(w.ctx(), w.who, id, nil)
}

// publishAndUndo publishes everything and restores what was live before.
func (w *world) publishAndUndo(s *Site, _ step) (cms.Code, error) {
	last := s.lastLive()
	if s.Deleted || last == nil {
		return done, nil
	}
	before := w.readVersion(s, service.VersionRef{Version: cms.Live})
	code, err := w.publish(s, step{op: "publish", confirm: true})
	if code != done || err != nil {
		return code, err
	}
	p, err := w.svc.RestorePublish(w.ctx(), w.who, last.ID, nil)
	if code := s.RestorePublish(p.ID, last.ID, w.now()); code != done || err != nil {
		return code, err
	}
	after := w.readVersion(s, service.VersionRef{Version: cms.Live})
	w.sameReading("publishing everything and restoring what was live", unpublished(before), unpublished(after))
	return done, nil
}

// unpublished is a reading without the times at which pages went live.
func unpublished(r reading) reading {
	for _, pages := range r {
		for i := range pages {
			pages[i].PublishedAt = nil
		}
	}
	return r
}

// publishInParts publishes one copy of a site at once and others page by page
// and locale by locale. Where none meets a clash, all are the same then; where
// everything at once clashes, so does a part.
func (w *world) publishInParts(s *Site, _ step) (cms.Code, error) {
	if s.Deleted {
		return done, nil
	}
	var pages, locales []cms.PublishRequest
	whole, wholeErr := w.publishCopy(s, func(*Site) []cms.PublishRequest { return []cms.PublishRequest{{}} })
	byPage, pageErr := w.publishCopy(s, func(twin *Site) []cms.PublishRequest {
		for _, id := range twin.PageIDs {
			if twin.Draft.at(id) == nil && twin.Live.at(id) == nil {
				continue
			}
			pages = append(pages, cms.PublishRequest{SelectionRequest: Selection{Pages: []cms.ID{id}}.request()})
		}
		return pages
	})
	byLocale, localeErr := w.publishCopy(s, func(twin *Site) []cms.PublishRequest {
		locales = append(locales, cms.PublishRequest{SelectionRequest: Selection{Locales: []cms.ID{twin.Default}}.request()})
		for _, l := range twin.Locales {
			locales = append(locales, cms.PublishRequest{SelectionRequest: Selection{Locales: []cms.ID{l.ID}}.request()})
		}
		return locales
	})
	for name, part := range map[string]struct {
		live reading
		err  error
	}{"page by page": {byPage, pageErr}, "locale by locale": {byLocale, localeErr}} {
		switch {
		case wholeErr == nil && part.err == nil:
			w.sameReading("publishing everything "+name, whole, part.live)
		case wholeErr != nil && part.err == nil && !s.differs(): // pages alone publish no redirects
			w.t.Errorf("publishing everything: %v; but it can be published %s", wholeErr, name)
		}
	}
	return done, nil
}

// publishCopy publishes parts of a copy of a site and reads what is live then,
// without what differs between copies. A clash is returned, and the copy is gone.
func (w *world) publishCopy(s *Site, parts func(*Site) []cms.PublishRequest) (reading, error) {
	twin, err := w.duplicate(s)
	if err != nil {
		w.t.Fatalf("duplicating: %v", err)
	}
	var clash error
	for _, part := range parts(twin) {
		part.Confirm = cms.Some(true)
		if _, err := w.svc.Publish(w.ctx(), w.who, twin.ID, service.Given(part)); err != nil {
			clash = err
		}
	}
	if clash == nil && len(toldBy(w.readChanges(twin, Selection{}))) > 0 {
		w.t.Errorf("there are changes after publishing everything")
	}
	live := unpublished(w.readVersion(twin, service.VersionRef{Version: cms.Live}))
	for _, pages := range live {
		for i := range pages {
			pages[i].ID = cms.NoID
			pages[i].CreatedAt, pages[i].UpdatedAt = time.Time{}, time.Time{}
		}
	}
	if err := w.svc.DeleteSite(w.ctx(), w.who, twin.ID, nil); err != nil {
		w.t.Fatalf("deleting a copy: %v", err)
	}
	return live, clash
}

func (w *world) duplicateSite(s *Site, _ step) (cms.Code, error) {
	if len(w.sites) == maxSites {
		return done, nil
	}
	twin, err := w.duplicate(s)
	if s.Deleted {
		return notFound, err
	}
	if err == nil {
		w.sites = append(w.sites, twin)
	}
	return done, err
}

// duplicate copies a site and finds out what the copy's parts are called.
func (w *world) duplicate(s *Site) (*Site, error) {
	site, err := w.svc.DuplicateSite(w.ctx(), w.who, s.ID, service.Given(cms.DuplicateSite{Name: cms.Some("A copy")}))
	if err != nil {
		return nil, err
	}
	ids := Copies{Site: site.ID, Of: map[cms.ID]cms.ID{}}
	named := w.partsOf(site.ID)
	for _, l := range s.shown() {
		ids.Of[l.ID] = named[l.Code]
	}
	for _, r := range s.Routes {
		ids.Of[r.ID] = named[r.Pathname]
	}
	for id, p := range s.Draft {
		ids.Of[id] = named[rootName(p.Name)]
	}
	ids.Publish = named["publish"]
	maps.Copy(ids.Of, w.copiedRedirects(s, site.ID, ids.Of))
	return w.observes(s.Duplicate(ids, w.now())), nil
}

// partsOf are the ids of locales, routes, pages and the publish of a site, by
// what names them.
func (w *world) partsOf(siteID cms.ID) map[string]cms.ID {
	all := cms.ListQuery{Limit: cms.MaxLimit}
	named := map[string]cms.ID{}
	locales, err := w.svc.Locales(w.ctx(), w.who, siteID, false, all)
	w.must(err)
	for _, l := range locales.Items {
		named[l.Code] = l.ID
	}
	routes, err := w.svc.Routes(w.ctx(), w.who, siteID, all)
	w.must(err)
	for _, r := range routes.Items {
		named[r.Pathname] = r.ID
	}
	publishes, err := w.svc.Publishes(w.ctx(), w.who, siteID, all)
	w.must(err)
	for _, p := range publishes.Items {
		named["publish"] = p.ID
	}
	for _, version := range []cms.Version{cms.Live, cms.Draft} {
		pages, err := w.svc.Pages(w.ctx(), w.who, service.ReadPages{
			Query:   cms.PageQuery{SiteID: siteID, PathPrefix: "/", Sort: cms.SortPath, IncludeOffline: true, Limit: cms.MaxLimit},
			Version: service.VersionRef{Version: version},
		})
		w.must(err)
		for _, p := range pages.Items {
			if p.Name == nil || !strings.HasPrefix(*p.Name, "page ") {
				w.t.Fatalf("page %v has lost its name", p.ID)
			}
			named[rootName(*p.Name)] = p.ID
		}
	}
	return named
}
