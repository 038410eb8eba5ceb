package modeltest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"galley/internal/cms"
)

// release is what a publish or restore does to the live redirects.
type release struct {
	next       Redirects         // without the new automatic ones
	created    []automatic       // the new automatic ones
	retargeted map[cms.ID]string // automatic ones that follow a page, and where they led
	refused    bool              // pages, routes or redirects would share a pathname
	// unsure is set if automatic redirects would close a circle: then some of them are
	// left out, and the model does not tell which.
	unsure bool
}

// automatic is an automatic redirect, with what tells it from a later one like it.
type automatic struct {
	Redirect
	at    time.Time
	since int
}

// move is a pathname that a page leaves in a locale, or in all of them (NoID).
type move struct {
	locale   cms.ID
	from, to string
}

func (s *Site) moves(before, after Page) (moves []move) {
	owned := false
	for _, l := range s.shown() {
		for _, p := range []Page{before, after} {
			_, own := p.Own[l.ID]["pathname"]
			owned = owned || own
		}
		if from, to := before.In(l.ID)["pathname"].(string), after.In(l.ID)["pathname"].(string); from != to {
			moves = append(moves, move{l.ID, from, to})
		}
	}
	if !owned && len(moves) > 0 {
		moves = []move{{cms.NoID, moves[0].from, moves[0].to}}
	}
	return moves
}

// releaseOf is what publishing a selection does to redirects, if it puts these pages live.
func (s *Site) releaseOf(sel Selection, pages Version) release {
	rel := release{next: maps.Clone(s.LiveRedirects), retargeted: map[cms.ID]string{}}
	moved := map[cms.ID]bool{} // redirects that are not what they were
	for id, draft := range s.Redirects {
		live, isLive := s.LiveRedirects[id]
		switch {
		case !s.hasRedirect(sel, id):
		case draft.Deleted:
			delete(rel.next, id)
			moved[id] = isLive
		default:
			rel.next[id] = draft
			moved[id] = !isLive || live != draft
		}
	}
	for _, id := range cms.SortIDs(slices.Clone(s.PageIDs)) {
		before, after := s.Live.at(id), pages.at(id)
		if before == nil || after == nil || len(s.pageChanges(id, before, after, s.shown())) == 0 {
			continue
		}
		for _, m := range s.moves(*before, *after) {
			rel.created = append(rel.created, automatic{Redirect{Locale: m.locale, Source: m.from, Target: m.to, Automatic: true}, after.UpdatedAt, s.since[id]})
			for id, r := range s.visibleRedirects(s.LiveRedirects) {
				_, done := rel.retargeted[id]
				if r.Automatic && !moved[id] && !done && r.Target == m.from && (m.locale == cms.NoID || m.locale == r.Locale) {
					rel.retargeted[id] = r.Target
					r.Target = m.to
					rel.next[id] = r
				}
			}
		}
	}
	rel.created = slices.DeleteFunc(rel.created, func(a automatic) bool {
		alone := Redirects{cms.NoID: a.Redirect}
		both := maps.Clone(rel.next)
		both[cms.NoID] = a.Redirect
		return len(s.sharing(pages, alone)) > 0 || s.twins(both) && !s.twins(rel.next)
	})
	for _, id := range s.sharing(pages, rel.next) {
		if live := s.LiveRedirects[id]; !live.Automatic || !rel.next[id].Automatic || s.routed(rel.next[id]) {
			rel.refused = true
			continue
		}
		delete(rel.next, id)
		delete(rel.retargeted, id)
	}
	rel.refused = rel.refused || s.twins(rel.next) || s.clash(pages)
	all := rel.with(rel.next, nil)
	if s.circle(all) {
		rel.unsure = len(rel.created)+len(rel.retargeted) > 0
		rel.refused = rel.refused || !rel.unsure
	}
	return rel
}

// routed reports whether a route has the source.
func (s *Site) routed(r Redirect) bool { return len(s.sharing(Version{}, Redirects{cms.NoID: r})) > 0 }

// with are redirects and the new automatic ones, by the ids that they have.
func (rel release) with(rs Redirects, ids []cms.ID) Redirects {
	all := maps.Clone(rs)
	for i, a := range rel.created {
		id := cms.ID{byte(i + 1)}
		if ids != nil {
			id = ids[i]
		}
		all[id] = a.Redirect
	}
	return all
}

// follow puts the redirects of a release live, and lets the drafts of automatic ones
// follow. Ids of new ones come from the service, and so does what the model does not tell.
func (s *Site) follow(rel release) {
	known := s.LiveRedirects
	var seen Redirects
	if rel.unsure || len(rel.created) > 0 {
		seen = s.Observe(cms.Live)
	}
	if rel.unsure {
		s.LiveRedirects = rel.adopt(known, seen)
	} else {
		var ids []cms.ID
		for _, a := range rel.created {
			ids = append(ids, idOf(seen, known, a.Redirect))
		}
		s.LiveRedirects = rel.with(rel.next, ids)
	}
	drafts := maps.Clone(s.Redirects)
	followed := map[cms.ID]bool{}
	for id, r := range s.LiveRedirects {
		from, retargeted := rel.retargeted[id]
		draft, there := s.Redirects[id]
		_, was := known[id]
		switch {
		case retargeted && draft.Automatic && !draft.Deleted && draft.Target == from && r.Target != from:
			draft.Target = r.Target
			drafts[id], followed[id] = draft, true
		case !there && !was:
			s.RedirectIDs = append(s.RedirectIDs, id)
			drafts[id], followed[id] = r, true
		}
	}
	// An automatic one has no place in a draft where its source is held.
	refuse := func(id cms.ID) {
		if before, there := s.Redirects[id]; there {
			drafts[id] = before
		} else {
			r := drafts[id]
			r.Deleted = true
			drafts[id] = r
		}
	}
	for id := range followed {
		others := maps.Clone(s.Redirects)
		others[id] = drafts[id]
		if len(s.sharing(s.Draft, Redirects{id: drafts[id]})) > 0 || s.twins(others) {
			refuse(id)
			delete(followed, id)
		}
	}
	if len(followed) > 0 && s.circle(drafts) { // some of them do not follow
		seen := s.Observe(cms.Draft)
		for id := range followed {
			if seen[id] != drafts[id] {
				refuse(id)
			}
		}
	}
	s.Redirects = drafts
}

// adopt are the live redirects that the service has, if they are what they should be but
// for automatic ones that do not follow.
func (rel release) adopt(known, seen Redirects) Redirects {
	next := maps.Clone(rel.next)
	for id, from := range rel.retargeted {
		if seen[id].Target == from {
			next[id] = known[id]
		}
	}
	for _, a := range rel.created {
		if id := idOf(seen, known, a.Redirect); seen[id] == a.Redirect {
			next[id] = a.Redirect
		}
	}
	return next
}

// idOf is the id of a new redirect among those that the service has.
func idOf(seen, known Redirects, r Redirect) cms.ID {
	for id, got := range seen {
		if _, old := known[id]; !old && got == r {
			return id
		}
	}
	return cms.NewID() // it is missed
}

// restoredRedirects are the live redirects after a restore. Those of hidden locales stay as
// they are.
func (s *Site) restoredRedirects(past Redirects) Redirects {
	next := maps.Clone(s.LiveRedirects)
	hidden := func(r Redirect) bool { return r.Locale != cms.NoID && !s.visible(r.Locale) }
	for id, live := range s.LiveRedirects {
		if _, was := past[id]; !was && !hidden(live) {
			delete(next, id)
		}
	}
	for id, was := range past {
		if live, ok := s.LiveRedirects[id]; !hidden(was) && (!ok || !hidden(live)) {
			next[id] = was
		}
	}
	return next
}

// differs reports whether the drafts of redirects are not what is live, as when an
// automatic one could not follow in the draft.
func (s *Site) differs() bool {
	return len(s.redirectChanges(s.visibleRedirects(s.LiveRedirects), s.visibleRedirects(s.Redirects))) > 0
}

// RedirectChange is what a publish does to a redirect.
type RedirectChange struct {
	ID             cms.ID // NoID for a new automatic one, whose id the model does not know
	Kind           cms.ChangeKind
	Before, After  Redirect
	Locale, Source string
	at             time.Time // what tells new automatic ones apart
	since          int
}

// redirectChanges are what turns redirects into others.
func (s *Site) redirectChanges(before, after Redirects) []RedirectChange {
	var list []RedirectChange
	for id, was := range before {
		is, stays := after[id]
		switch {
		case !stays:
			list = append(list, s.redirectChange(id, cms.ChangeRedirectDeleted, was, Redirect{}))
		case was != is:
			list = append(list, s.redirectChange(id, cms.ChangeRedirectUpdated, was, is))
		}
	}
	for id, is := range after {
		if _, was := before[id]; !was {
			list = append(list, s.redirectChange(id, cms.ChangeRedirectCreated, Redirect{}, is))
		}
	}
	return sortedChanges(list)
}

func (s *Site) redirectChange(id cms.ID, kind cms.ChangeKind, was, is Redirect) RedirectChange {
	shown := is
	if kind == cms.ChangeRedirectDeleted {
		shown = was
	}
	c := RedirectChange{ID: id, Kind: kind, Before: was, After: is, Source: shown.Source}
	if l := s.locale(shown.Locale); l != nil {
		c.Locale = l.Code
	}
	return c
}

func sortedChanges(list []RedirectChange) []RedirectChange {
	slices.SortFunc(list, func(a, b RedirectChange) int {
		if order := cms.CompareIDs(a.ID, b.ID); order != 0 {
			return order
		}
		return strings.Compare(a.Source+" "+a.Locale, b.Source+" "+b.Locale)
	})
	return list
}

// changes are those of a release, the new automatic ones without their ids.
func (rel release) changes(s *Site) []RedirectChange {
	list := s.redirectChanges(s.LiveRedirects, rel.next)
	for _, a := range rel.created {
		c := s.redirectChange(cms.NoID, cms.ChangeRedirectCreated, Redirect{}, a.Redirect)
		c.at, c.since = a.at, a.since
		list = append(list, c)
	}
	return sortedChanges(list)
}
