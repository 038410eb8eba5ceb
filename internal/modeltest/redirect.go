package modeltest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"galley/internal/cms"
)

// Redirect is a redirect in one version.
type Redirect struct {
	Locale         cms.ID // NoID: every locale
	Source, Target string
	Automatic      bool
	Deleted        bool // of the draft alone
}

func (r Redirect) wild() bool { return strings.HasSuffix(r.Source, "/*") }

// base is what a source with a star covers everything below.
func (r Redirect) base() string { return strings.TrimSuffix(r.Source, "/*") }

// Redirects are the redirects of a version.
type Redirects map[cms.ID]Redirect

// origin is where the sites of the model are. A locale other than the default one has its
// code as a prefix.
const origin = "https://example.com"

// locate is the place of a URL on the site.
func (s *Site) locate(url string) (locale cms.ID, path string, ok bool) {
	path, ok = strings.CutPrefix(url, origin)
	for _, l := range s.shown() {
		if rest, found := strings.CutPrefix(path, "/"+l.Code); found && l.ID != s.Default && (rest == "" || rest[0] == '/') {
			return l.ID, "/" + strings.TrimPrefix(rest, "/"), ok
		}
	}
	return s.Default, path, ok
}

// acting is the redirect that acts on a pathname: an exact one before one with a star,
// the longer before the shorter, the locale's before that of every locale.
func acting(rs Redirects, locale cms.ID, path string) (best Redirect, ok bool) {
	rank := func(r Redirect) int {
		n := 4 * len(r.base())
		if !r.wild() {
			n += 4 * len(path)
		}
		if r.Locale != cms.NoID {
			n++
		}
		return n
	}
	for _, r := range rs {
		covers := r.Source == path || (r.wild() && strings.HasPrefix(path, r.base()+"/") && len(path) > len(r.base())+1)
		if !r.Deleted && (r.Locale == cms.NoID || r.Locale == locale) && covers && (!ok || rank(r) > rank(best)) {
			best, ok = r, true
		}
	}
	return best, ok
}

// circle reports whether following redirects comes round or never ends, from any source
// and from anything below one.
func (s *Site) circle(rs Redirects) bool {
	for _, r := range rs {
		for _, rest := range []string{"", "/z", "/x", "/x/z", "/z/z"} {
			for _, l := range s.shown() {
				if (rest != "") == r.wild() && s.comesRound(rs, l.ID, r.base()+rest) {
					return true
				}
			}
		}
	}
	return false
}

func (s *Site) comesRound(rs Redirects, locale cms.ID, path string) bool {
	for range 100 {
		r, ok := acting(rs, locale, path)
		if !ok {
			return false
		}
		target := r.Target
		if star, taken := strings.CutSuffix(target, "/*"); taken {
			target = star + strings.TrimPrefix(path, r.base())
		}
		path = target
		if strings.HasPrefix(path, "/") {
			continue
		}
		if locale, path, ok = s.locate(path); !ok {
			return false
		}
	}
	return true
}

// sharing are the redirects whose source a page or route of a version has.
func (s *Site) sharing(v Version, rs Redirects) []cms.ID {
	var ids []cms.ID
	for _, l := range s.shown() {
		taken := map[any]bool{}
		for _, r := range s.Routes {
			taken[r.Pathname] = taken[r.Pathname] || !r.Deleted
		}
		for _, p := range v {
			pathname := p.In(l.ID)["pathname"]
			taken[pathname] = taken[pathname] || !p.Deleted
		}
		for id, r := range rs {
			if !r.Deleted && (r.Locale == cms.NoID || r.Locale == l.ID) && taken[r.Source] {
				ids = append(ids, id)
			}
		}
	}
	return cms.SortIDs(ids)
}

// twins reports whether two redirects of a locale have one source.
func (s *Site) twins(rs Redirects) bool {
	seen := map[Redirect]bool{}
	for _, r := range s.visibleRedirects(rs) {
		key := Redirect{Locale: r.Locale, Source: r.Source}
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

// visibleRedirects are those that readers see.
func (s *Site) visibleRedirects(rs Redirects) Redirects {
	seen := Redirects{}
	for id, r := range rs {
		if !r.Deleted && (r.Locale == cms.NoID || s.visible(r.Locale)) {
			seen[id] = r
		}
	}
	return seen
}

// allowed reports whether a version may have these pages and redirects.
func (s *Site) allowed(v Version, rs Redirects) bool {
	return !s.clash(v) && len(s.sharing(v, rs)) == 0 && !s.twins(rs) && !s.circle(rs)
}

// giveWay returns the redirects without the automatic ones whose source pages and routes
// have now. Others, and those that were moved, do not give way.
func (s *Site) giveWay(v Version, rs Redirects, moved map[cms.ID]bool) (Redirects, bool) {
	next := maps.Clone(rs)
	for _, id := range s.sharing(v, rs) {
		r := next[id]
		if !r.Automatic || moved[id] {
			return nil, false
		}
		r.Deleted = true
		next[id] = r
	}
	return next, s.allowed(v, next)
}

// saveRedirect stores the draft of a redirect.
func (s *Site) saveRedirect(id cms.ID, r Redirect) cms.Code {
	next := maps.Clone(s.Redirects)
	if next[id] = r; !s.allowed(s.Draft, next) {
		return conflict
	}
	if _, known := s.Redirects[id]; !known {
		s.RedirectIDs = append(s.RedirectIDs, id)
	}
	s.Redirects = next
	return done
}

// redirect is the draft of a redirect that can be read.
func (s *Site) redirect(id cms.ID) (Redirect, bool) {
	r, ok := s.visibleRedirects(s.Redirects)[id]
	return r, ok && !s.Deleted
}

// CreateRedirect creates a redirect in the draft.
func (s *Site) CreateRedirect(id cms.ID, r Redirect) cms.Code {
	if s.Deleted || (r.Locale != cms.NoID && !s.visible(r.Locale)) {
		return notFound
	}
	return s.saveRedirect(id, r)
}

// UpdateRedirect changes a redirect of the draft, which is then an ordinary one.
func (s *Site) UpdateRedirect(id cms.ID, set Redirect) cms.Code {
	before, ok := s.redirect(id)
	if !ok || (set.Locale != cms.NoID && !s.visible(set.Locale)) {
		return notFound
	}
	if set.Automatic = before.Automatic; set == before {
		return done
	}
	set.Automatic = false
	return s.saveRedirect(id, set)
}

// DeleteRedirect deletes a redirect from the draft.
func (s *Site) DeleteRedirect(id cms.ID) cms.Code {
	r, ok := s.redirect(id)
	if !ok {
		return notFound
	}
	r.Deleted = true
	return s.saveRedirect(id, r)
}

// RestoreRedirect brings a redirect that was deleted from the draft back.
func (s *Site) RestoreRedirect(id cms.ID) cms.Code {
	r, ok := s.Redirects[id]
	switch {
	case s.Deleted || !ok || (r.Locale != cms.NoID && !s.visible(r.Locale)):
		return notFound
	case !r.Deleted:
		return conflict
	}
	r.Deleted = false
	return s.saveRedirect(id, r)
}

// DiscardRedirect takes the draft of a redirect back to what is live.
func (s *Site) DiscardRedirect(id cms.ID) cms.Code {
	if !s.has(Selection{Redirects: []cms.ID{id}}) {
		return notFound
	}
	return s.saveRedirect(id, s.discardedRedirect(id))
}

func (s *Site) discardedRedirect(id cms.ID) Redirect {
	r := s.Redirects[id]
	if live, ok := s.LiveRedirects[id]; ok {
		return live
	}
	r.Deleted = true
	return r
}

// hasRedirect reports whether a redirect is selected. Pages alone select none, and those
// of every locale belong to the default one.
func (s *Site) hasRedirect(sel Selection, id cms.ID) bool {
	r := s.Redirects[id]
	locale := r.Locale
	if locale == cms.NoID {
		locale = s.Default
	}
	named := sel.Redirects == nil && sel.Pages == nil || slices.Contains(sel.Redirects, id)
	return named && s.visible(locale) && (sel.Locales == nil || slices.Contains(sel.Locales, locale))
}

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
		if live := s.LiveRedirects[id]; !live.Automatic || !rel.next[id].Automatic || !s.givesWay(pages, rel.next[id]) {
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

// givesWay reports whether no route has the source.
func (s *Site) givesWay(_ Version, r Redirect) bool {
	return len(s.sharing(Version{}, Redirects{cms.NoID: r})) == 0
}

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
		s.LiveRedirects = rel.adopt(s, known, seen)
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
func (rel release) adopt(s *Site, known, seen Redirects) Redirects {
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
