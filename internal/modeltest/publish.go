package modeltest

import (
	"maps"
	"slices"
	"time"

	"galley/internal/cms"
)

// Ask is the request of a publish.
type Ask struct {
	Select    Selection
	Confirm   bool
	Reviewed  *Plan     // what its plan covers; nil: it has none
	PublishAt time.Time // zero: now
}

// Publish puts a selection of the draft live, or schedules that. A publish of
// nothing has no id and is not kept.
func (s *Site) Publish(id cms.ID, ask Ask, guard Guard, now time.Time) cms.Code {
	if !s.has(ask.Select) {
		return notFound
	}
	if s.movedOn(ask.Reviewed, ask.Select) {
		return conflict
	}
	p := &Publish{ID: id, Select: ask.Select, Confirm: ask.Confirm, PublishAt: ask.PublishAt, Reviewed: ask.Reviewed}
	if !ask.PublishAt.IsZero() {
		p.Status = cms.StatusScheduled
		s.Publishes = append(s.Publishes, p)
		return done
	}
	return s.goLive(p, s.published(ask.Select), s.releaseOf(ask.Select, s.published(ask.Select)), guard, now)
}

// has reports whether everything that a selection names exists.
func (s *Site) has(sel Selection) bool {
	gone := slices.ContainsFunc(sel.Pages, func(id cms.ID) bool { return s.Draft.at(id) == nil && s.Live.at(id) == nil }) ||
		slices.ContainsFunc(sel.Redirects, func(id cms.ID) bool {
			r, ok := s.Redirects[id]
			_, live := s.LiveRedirects[id]
			return !ok || (r.Deleted && !live) || (r.Locale != cms.NoID && !s.visible(r.Locale))
		})
	return !s.Deleted && !gone && !slices.ContainsFunc(sel.Locales, func(id cms.ID) bool { return !s.visible(id) })
}

// movedOn reports whether neither a publish of the selection nor one of everything
// would do what was reviewed.
func (s *Site) movedOn(reviewed *Plan, sel Selection) bool {
	return reviewed != nil && !samePlan(*reviewed, s.planOf(sel)) && !samePlan(*reviewed, s.planOf(Selection{}))
}

// goLive replaces the live version, if the new one is allowed and differs.
func (s *Site) goLive(p *Publish, next Version, rel release, guard Guard, now time.Time) cms.Code {
	changes := s.changes(s.Live, next, s.shown())
	p.Changed = map[cms.ID]bool{}
	for _, c := range changes {
		p.Changed[c.PageID] = true
	}
	dark := s.dark(next)
	switch {
	case len(changes)+len(rel.changes(s)) == 0:
		p.Status, p.Before, p.Live, p.Redirects = cms.StatusPublished, s.Live.clone(), s.Live.clone(), maps.Clone(s.LiveRedirects)
		if last := s.lastLive(); last != nil {
			p.Previous = last.ID
		}
		return done
	case !p.Confirm && dark >= guard.Pages && float64(dark) > guard.Share*float64(len(s.Live)):
		return conflict
	case rel.refused, rel.unsure && s.Refused:
		return conflict
	}
	before := s.Live.clone()
	redirects := s.LiveRedirects
	s.follow(rel)
	changed := len(changes) + len(s.redirectChanges(redirects, s.LiveRedirects))
	if last := s.lastLive(); last != nil {
		p.Previous = last.ID
	}
	for id := range p.Changed {
		page, stays := next[id]
		if !stays {
			s.left[id], s.leftAt[id] = before[id].clone(), len(s.wentLive)
			delete(s.Live, id)
			continue
		}
		page.PublishedAt = &now
		s.PublishedAt[id] = now
		s.Live[id], s.since[id] = page, len(s.wentLive)+1
	}
	p.Status, p.ChangeCount, p.Before, p.Live, p.Redirects = cms.StatusPublished, changed, before, s.Live.clone(), maps.Clone(s.LiveRedirects)
	if !slices.Contains(s.Publishes, p) {
		s.Publishes = append(s.Publishes, p)
	}
	s.wentLive = append(s.wentLive, p)
	return done
}

// lastLive is the last publish that changed the live version.
func (s *Site) lastLive() *Publish {
	if len(s.wentLive) == 0 {
		return nil
	}
	return s.wentLive[len(s.wentLive)-1]
}

func (s *Site) publish(id cms.ID) *Publish {
	i := slices.IndexFunc(s.Publishes, func(p *Publish) bool { return p.ID == id })
	if s.Deleted || i < 0 {
		return nil
	}
	return s.Publishes[i]
}

// RestorePublish restores the live version that a publish left.
func (s *Site) RestorePublish(id, from cms.ID, now time.Time) cms.Code {
	p := s.publish(from)
	switch {
	case p == nil:
		return notFound
	case p.Live == nil:
		return conflict
	}
	pages, rel := s.restored(p.Live), release{next: s.restoredRedirects(p.Redirects)}
	rel.refused = !s.allowed(pages, rel.next)
	return s.goLive(&Publish{ID: id, RestoredFrom: from, Confirm: true}, pages, rel, Guard{}, now)
}

// CancelPublish cancels a scheduled publish.
func (s *Site) CancelPublish(id cms.ID) cms.Code {
	p := s.publish(id)
	switch {
	case p == nil:
		return notFound
	case p.Status != cms.StatusScheduled:
		return conflict
	}
	p.Status = cms.StatusCanceled
	return done
}

// due are the scheduled publishes that are due.
func (s *Site) due(now time.Time) []*Publish {
	return slices.DeleteFunc(slices.Clone(s.Publishes), func(p *Publish) bool {
		return p.Status != cms.StatusScheduled || p.PublishAt.After(now)
	})
}

// run runs a scheduled publish.
func (s *Site) run(p *Publish, guard Guard, now time.Time) {
	hidden := slices.ContainsFunc(p.Select.Locales, func(id cms.ID) bool { return !s.visible(id) })
	if s.Deleted || hidden || s.movedOn(p.Reviewed, p.Select) || s.goLive(p, s.published(p.Select), s.releaseOf(p.Select, s.published(p.Select)), guard, now) != done {
		p.Status = cms.StatusFailed
	}
}

// Copies are the ids of the parts of a copied site.
type Copies struct {
	Site    cms.ID
	Publish cms.ID
	Of      map[cms.ID]cms.ID // locales, pages and routes
}

// Duplicate is a copy of the site: what is deleted or hidden stays behind, and
// so does history.
func (s *Site) Duplicate(ids Copies, now time.Time) *Site {
	twin := NewSite(ids.Site, ids.Of[s.Default], "")
	twin.Locales = nil
	for _, l := range s.shown() {
		twin.Locales = append(twin.Locales, &Locale{ID: ids.Of[l.ID], Code: l.Code})
	}
	for _, r := range s.Routes {
		if !r.Deleted {
			twin.Routes = append(twin.Routes, &Route{ID: ids.Of[r.ID], Pathname: r.Pathname})
		}
	}
	for _, id := range s.PageIDs {
		live := s.Live.at(id)
		if live == nil && s.Draft[id].Deleted {
			continue
		}
		copied := ids.Of[id]
		twin.PageIDs = append(twin.PageIDs, copied)
		twin.Draft[copied] = s.copyPage(s.Draft[id], ids, now)
		if live != nil {
			page := s.copyPage(*live, ids, now)
			page.PublishedAt = &now
			twin.Live[copied], twin.PublishedAt[copied] = page, now
		}
	}
	redirects := Redirects{}
	for _, id := range s.RedirectIDs {
		draft := s.Redirects[id]
		live, isLive := s.LiveRedirects[id]
		copied, ok := ids.Of[id]
		if !ok {
			continue
		}
		twin.RedirectIDs = append(twin.RedirectIDs, copied)
		draft.Locale = ids.Of[draft.Locale]
		twin.Redirects[copied] = draft
		if isLive && (live.Locale == cms.NoID || s.visible(live.Locale)) {
			live.Locale = ids.Of[live.Locale]
			redirects[copied] = live
		}
	}
	if len(twin.Live)+len(redirects) > 0 {
		first := &Publish{ID: ids.Publish}
		next := maps.Clone(twin.Live)
		twin.Live = Version{}
		twin.goLive(first, next, release{next: redirects}, Guard{Pages: len(next) + 1}, now)
	}
	return twin
}

// copiesRedirect reports whether a copy of the site has a redirect.
func (s *Site) copiesRedirect(id cms.ID) bool {
	draft := s.Redirects[id]
	_, live := s.LiveRedirects[id]
	return (!draft.Deleted || live) && (draft.Locale == cms.NoID || s.visible(draft.Locale))
}

func (s *Site) copyPage(p Page, ids Copies, now time.Time) Page {
	c := p.clone()
	c.Own = map[cms.ID]Fields{}
	for _, l := range s.shown() {
		c.setOwn(ids.Of[l.ID], p.Own[l.ID])
	}
	c.CreatedAt, c.UpdatedAt = now, now
	return c
}
