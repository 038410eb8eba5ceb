package service

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"galley/internal/cms"
)

// Guard is when a publish has to be confirmed: if it takes away more than a share of
// the live pages, and at least Pages of them.
type Guard struct {
	Share float64
	Pages int
}

// asks reports whether a publish that takes some pages away has to be confirmed.
func (g Guard) asks(gone, pages int) bool {
	return gone >= g.Pages && float64(gone) > g.Share*float64(pages)
}

// DefaultGuard is the guard unless another is configured.
var DefaultGuard = Guard{Share: 0.5, Pages: 10}

// release is what a publish or restore would put live.
type release struct {
	pages     []cms.PageChange
	changes   []cms.Change
	takenAway int      // pages that readers lose
	clean     []cms.ID // pages whose draft is then what is live
	redirects *redirectPlan
}

// addRedirects adds what the plan changes.
func (rel *release) addRedirects(plan *redirectPlan) {
	rel.redirects = plan
	for _, c := range plan.sorted() {
		if change, ok := c.Change(plan.locales); ok {
			rel.changes = append(rel.changes, change)
		}
	}
}

// add takes a page from one live state to another.
func (rel *release) add(page cms.PageChange, locales cms.Locales) {
	changes := cms.Changes(page.Before, page.After, locales)
	if len(changes) == 0 {
		return
	}
	rel.pages = append(rel.pages, page)
	rel.changes = append(rel.changes, changes...)
	if cms.TakesAway(page.Before, page.After) {
		rel.takenAway++
	}
}

// dirtyChunk is how many pages one step reads.
const dirtyChunk = 500

// collect computes what publishing a selection of the draft would put live. Its
// cost follows the number of pages touched since the last publish.
func (f siteSnapshot) collect(ctx context.Context, tx cms.Reader, selected cms.Selection) (*release, error) {
	rel := &release{}
	selected = selected.Applied(f.site.DefaultLocaleID)
	err := eachDirty(ctx, tx, f.site.ID, dirtyWalk{only: selected.PageIDs}, func(id cms.ID, draft, live *cms.Page) bool {
		next := cms.PublishPage(draft, live, selected, f.locales)
		same := draft != nil && next != nil && draft.SameContent(*next)
		rel.add(cms.PageChange{Before: live, After: next, AsDraft: same}, f.locales)
		if cms.IsClean(draft, next, f.locales) {
			rel.clean = append(rel.clean, id)
		}
		return true
	})
	if err == nil {
		err = rel.keepHidden(ctx, tx, f)
	}
	if err != nil {
		return nil, err
	}
	plan, err := f.planRedirects(ctx, tx, selected, rel.pages)
	if err != nil {
		return nil, err
	}
	rel.addRedirects(plan)
	return rel, nil
}

// keepHidden restores the values of hidden locales in pages that go live again.
func (rel *release) keepHidden(ctx context.Context, tx cms.Reader, f siteSnapshot) error {
	if !slices.ContainsFunc(f.locales, func(l cms.Locale) bool { return l.DeletedAt != nil }) {
		return nil
	}
	var ids []cms.ID
	for _, page := range rel.pages {
		if page.Before == nil {
			ids = append(ids, page.ID())
		}
	}
	hidden, err := tx.HiddenLive(ctx, f.site.ID, ids)
	for i, page := range rel.pages {
		if was, ok := hidden[page.ID()]; ok {
			page.After.KeepHidden(*was)
			rel.pages[i].AsDraft = false
		}
	}
	return err
}

// dirtyWalk is which pages are visited, and from where on.
type dirtyWalk struct {
	only  []cms.ID // nil: all
	from  cms.ID
	chunk int // pages in a step; 0: dirtyChunk
}

// eachDirty visits the pages that may differ from what is live, in order, until
// visit returns false.
func eachDirty(ctx context.Context, r cms.Reader, siteID cms.ID, walk dirtyWalk, visit func(id cms.ID, draft, live *cms.Page) bool) error {
	size := cmp.Or(walk.chunk, dirtyChunk)
	next := func(after cms.ID) ([]cms.ID, error) { return r.DirtyPages(ctx, siteID, after, size) }
	if walk.only != nil {
		next = func(after cms.ID) ([]cms.ID, error) {
			i, found := slices.BinarySearchFunc(walk.only, after, cms.CompareIDs)
			if found {
				i++
			}
			return walk.only[i:min(i+size, len(walk.only))], nil
		}
	}
	ids, err := next(walk.from)
	if walk.from != cms.NoID && (walk.only == nil || slices.Contains(walk.only, walk.from)) {
		ids = append([]cms.ID{walk.from}, ids...)
	}
	for err == nil && len(ids) > 0 {
		drafts, err := r.PagesByID(ctx, siteID, cms.Draft, ids)
		if err != nil {
			return err
		}
		lives, err := r.PagesByID(ctx, siteID, cms.Live, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if !visit(id, drafts[id], lives[id]) {
				return nil
			}
		}
		if ids, err = next(ids[len(ids)-1]); err != nil {
			return err
		}
	}
	return err
}

// Publish puts the draft live, or a selection of it, or schedules that.
// Nothing to publish is a publish without an id.
func (s *Service) Publish(ctx context.Context, who Caller, siteID cms.ID, in Input[cms.PublishRequest]) (cms.Publish, error) {
	return inSite(ctx, s, who, ofSite(siteID), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (cms.Publish, []written, error) {
		ask, err := in()
		if err != nil {
			return cms.Publish{}, nil, err
		}
		return s.publish(ctx, tx, who, f, ask)
	})
}

// PublishPage publishes one page alone.
func (s *Service) PublishPage(ctx context.Context, who Caller, id cms.ID, body Empty) (cms.Publish, error) {
	return inSite(ctx, s, who, ofEditedPage(id), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (cms.Publish, []written, error) {
		err := hasDraftOrLive(ctx, tx, f.site.ID, id)
		if err == nil {
			err = body.check()
		}
		if err != nil {
			return cms.Publish{}, nil, err
		}
		return s.publish(ctx, tx, who, f, cms.PublishRequest{SelectionRequest: cms.SelectionRequest{PageIDs: cms.Some([]cms.ID{id})}})
	})
}

// publish runs or schedules a publish. It holds the site lock.
func (s *Service) publish(ctx context.Context, tx cms.Tx, who Caller, f siteSnapshot, ask cms.PublishRequest) (p cms.Publish, _ []written, err error) {
	p = cms.Publish{
		ID: cms.NewID(), SiteID: f.site.ID, Name: ask.Name.Value, CreatedAt: s.now(), CreatedBy: who.ID(), CreatedName: who.App.Name,
		Actor: who.Request.Actor, Confirm: ask.Confirm.Value, PublishAt: ask.PublishAt.Value,
	}
	if p.Select, err = f.selection(ctx, tx, ask.SelectionRequest); err != nil {
		return p, nil, err
	}
	var plan *string
	if ask.Plan.Set {
		plan = &ask.Plan.Value
	}
	var rel *release
	if plan != nil || p.PublishAt == nil {
		if rel, err = f.prepare(ctx, tx, p.Select, plan); err != nil {
			return p, nil, err
		}
	}
	if p.PublishAt == nil {
		return s.releaseNew(ctx, tx, rel, p)
	}
	p.Status, p.Plan = cms.StatusScheduled, plan // the plan has to hold then, too
	return p, wrotePublish(nil, p), tx.CreatePublish(ctx, p)
}

// prepare computes what a publish would put live, and checks that the plan, if
// there is one, is still that of its selection or of everything.
func (f siteSnapshot) prepare(ctx context.Context, tx cms.Reader, selected cms.Selection, plan *string) (*release, error) {
	rel, err := f.collect(ctx, tx, selected)
	if err != nil || plan == nil {
		return rel, err
	}
	own := newPlanHash()
	for _, c := range rel.changes {
		own.add(c)
	}
	if own.plan() == *plan {
		return rel, nil
	}
	if selected.All() {
		return nil, errPlan
	}
	all := newPlanHash()
	err = f.everyChange(ctx, tx, cms.Selection{}, all.add)
	if err == nil && all.plan() != *plan {
		err = errPlan
	}
	return rel, err
}

// selection reads which pages, redirects and locales a request names.
func (f siteSnapshot) selection(ctx context.Context, r cms.Reader, ask cms.SelectionRequest) (cms.Selection, error) {
	var selected cms.Selection
	if ask.RedirectIDs.Value != nil {
		selected.PageIDs, selected.RedirectIDs = []cms.ID{}, cms.SortIDs(ask.RedirectIDs.Value)
		if err := f.checkRedirects(ctx, r, selected.RedirectIDs); err != nil {
			return selected, err
		}
	}
	if ask.PageIDs.Value != nil {
		selected.PageIDs = cms.SortIDs(ask.PageIDs.Value)
		drafts, err := r.PagesByID(ctx, f.site.ID, cms.Draft, selected.PageIDs)
		if err != nil {
			return selected, err
		}
		var deleted []cms.ID
		for _, id := range selected.PageIDs {
			if drafts[id] == nil {
				return selected, cms.NotFound(cms.KindPage)
			}
			if drafts[id].DeletedAt != nil {
				deleted = append(deleted, id)
			}
		}
		lives, err := r.PagesByID(ctx, f.site.ID, cms.Live, deleted)
		if err != nil {
			return selected, err
		}
		if len(lives) < len(deleted) {
			return selected, cms.NotFound(cms.KindPage)
		}
	}
	for _, name := range ask.Locales.Value {
		l, ok := f.locales.Find(name)
		if !ok {
			return selected, cms.NotFound(cms.KindLocale)
		}
		selected.Locales = append(selected.Locales, l.ID)
	}
	selected.Locales = cms.SortIDs(selected.Locales) // each once
	return selected, nil
}

var errPlan = cms.Conflict("The draft has changed since the plan was made, review the changes again")

// release puts a new version live. save stores the publish, new or changed.
func (s *Service) release(ctx context.Context, tx cms.Tx, rel *release, p *cms.Publish, save func(context.Context, cms.Publish) error) error {
	now := s.now()
	p.Status, p.ChangeCount = cms.StatusPublished, len(rel.changes)
	touched(ctx, len(rel.changes))
	if len(rel.changes) == 0 {
		p.ID = cms.NoID
		if err := rel.redirects.storeDrafts(ctx, tx); err != nil {
			return err
		}
		return tx.MarkPages(ctx, p.SiteID, rel.clean, nil, false)
	}
	if err := s.checkGuard(ctx, tx, p.SiteID, cms.Live, rel.takenAway, p.Confirm); err != nil {
		return err
	}
	if err := rel.redirects.refused(); err != nil {
		return err
	}
	last, err := tx.LastPublish(ctx, p.SiteID)
	if err != nil && cms.CodeOf(err) != cms.CodeNotFound {
		return err
	}
	if err == nil {
		p.PreviousID = &last.ID
	}
	p.Seq, p.PublishedAt = last.Seq+1, &now
	for _, page := range rel.pages {
		if page.After != nil {
			page.After.Since, page.After.PublishedAt = p.Seq, &now
		}
	}
	urls, err := rel.urls(ctx, tx) // before anything is live
	if err != nil {
		return err
	}
	if err := tx.ReplaceLive(ctx, p.SiteID, p.Seq, rel.pages); err != nil {
		return err
	}
	if err := rel.redirects.store(ctx, tx, *p); err != nil {
		return err
	}
	if err := markDrafts(ctx, tx, rel, *p); err != nil {
		return err
	}
	if err := tx.AddPublishURLs(ctx, p.SiteID, p.ID, urls); err != nil {
		return err
	}
	return save(ctx, *p)
}

// checkGuard refuses to remove most pages of a version without a confirmation.
func (s *Service) checkGuard(ctx context.Context, tx cms.Tx, siteID cms.ID, version cms.Version, gone int, confirm bool) error {
	if confirm || gone < s.Guard.Pages {
		return nil
	}
	pages, _, err := tx.CountPages(ctx, siteID, version)
	if err != nil || !s.Guard.asks(gone, pages) {
		return err
	}
	what := "take %d of %d live pages offline or away"
	if version == cms.Draft {
		what = "delete %d of %d pages of the draft"
	}
	return cms.Conflict(fmt.Sprintf("This would "+what+", send confirm: true if that is meant", gone, pages))
}

// markDrafts notes in the drafts when their pages went live, and whether they
// still may differ from what is live.
func markDrafts(ctx context.Context, tx cms.Tx, rel *release, p cms.Publish) error {
	clean := make(map[cms.ID]bool, len(rel.clean))
	for _, id := range rel.clean {
		clean[id] = true
	}
	live, gone := map[bool][]cms.ID{}, map[bool][]cms.ID{} // by whether they are clean
	for _, page := range rel.pages {
		id := page.ID()
		if page.After != nil {
			live[clean[id]] = append(live[clean[id]], id)
		} else {
			gone[clean[id]] = append(gone[clean[id]], id)
		}
		delete(clean, id)
	}
	rest := slices.AppendSeq(gone[true], maps.Keys(clean)) // with those that do not change
	for _, mark := range []struct {
		ids         []cms.ID
		publishedAt *time.Time
		dirty       bool
	}{
		{live[true], p.PublishedAt, false}, {live[false], p.PublishedAt, true}, {gone[false], nil, true}, {rest, nil, false},
	} {
		if err := tx.MarkPages(ctx, p.SiteID, mark.ids, mark.publishedAt, mark.dirty); err != nil {
			return err
		}
	}
	return nil
}

// RestorePublish restores the live version that a publish left, as a new publish.
// The draft does not change.
func (s *Service) RestorePublish(ctx context.Context, who Caller, id cms.ID, body Empty) (cms.Publish, error) {
	return inSite(ctx, s, who, ofPublish(id), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (p cms.Publish, _ []written, err error) {
		from, err := tx.LockPublish(ctx, f.site.ID, id)
		if err == nil {
			err = body.check()
		}
		if err != nil {
			return p, nil, err
		}
		seq, err := leftBy(ctx, tx, from)
		if cms.CodeOf(err) == cms.CodeNotFound {
			err = cms.Conflict("This publish has not gone live, so there is nothing to go back to")
		}
		if err != nil {
			return p, nil, err
		}
		rel, err := f.rewind(ctx, tx, seq)
		if err != nil {
			return p, nil, err
		}
		return s.releaseNew(ctx, tx, rel, cms.Publish{
			ID: cms.NewID(), SiteID: f.site.ID, CreatedAt: s.now(), CreatedBy: who.ID(), CreatedName: who.App.Name, Actor: who.Request.Actor,
			RestoredFrom: &from.ID, Confirm: true,
		})
	})
}

// releaseNew puts a new publish live, if it changes anything.
func (s *Service) releaseNew(ctx context.Context, tx cms.Tx, rel *release, p cms.Publish) (cms.Publish, []written, error) {
	if err := s.release(ctx, tx, rel, &p, tx.CreatePublish); err != nil || p.ID == cms.NoID {
		return p, nil, err
	}
	return p, wrotePublish(nil, p), nil
}

// rewind computes what restores the live version that a publish left.
func (f siteSnapshot) rewind(ctx context.Context, tx cms.Tx, seq int64) (*release, error) {
	ids, err := tx.PagesSince(ctx, f.site.ID, seq)
	if err != nil {
		return nil, err
	}
	was, err := tx.PagesByID(ctx, f.site.ID, cms.AfterPublish(seq), ids)
	if err != nil {
		return nil, err
	}
	lives, err := tx.PagesByID(ctx, f.site.ID, cms.Live, ids)
	if err != nil {
		return nil, err
	}
	rel := &release{}
	for _, id := range ids {
		rel.add(cms.PageChange{Before: lives[id], After: cms.RestorePage(was[id], lives[id], f.locales)}, f.locales)
	}
	plan, err := f.rewindRedirects(ctx, tx, seq, rel.pages)
	if err != nil {
		return nil, err
	}
	rel.addRedirects(plan)
	return rel, nil
}

// wrotePublish is a write of a publish; before is nil for a new one.
func wrotePublish(before any, after cms.Publish) []written {
	return []written{{kind: cms.KindPublish, id: after.ID, siteID: after.SiteID, before: before, after: after}}
}
