package service

import (
	"bytes"
	"context"
	"time"

	"galley/internal/cms"
)

// ShownList is one page of a page list, each item as Depict shows it.
type ShownList struct {
	Items      []string
	HasMore    bool
	Pure       bool   // as PageList has it
	GiveOut    func() // likewise
	Remembered bool   // all of it was in memory
}

// KeepLists lets the service keep so many bytes of what lists showed. It tells
// how many of them it takes, in whole mebibytes.
func (s *Service) KeepLists(bytes int64, told func(taken int64)) { s.shelves = newShelves(bytes, told) }

// ShownPages is Pages for those who show them. What was shown before comes from
// memory.
func (s *Service) ShownPages(ctx context.Context, who Caller, ask ReadPages) (ShownList, error) {
	key, keeps := s.shelfKey(ask)
	var learn learning
	if keeps {
		for _, p := range s.shelves.due(time.Now()) {
			s.teach(p.key, p.lesson)
		}
		var list ShownList
		var found bool
		if list, found, learn = s.shelvedPages(who, ask, key); found {
			return list, nil
		}
	}
	read, err := s.Pages(ctx, who, ask)
	if err != nil {
		return ShownList{}, err
	}
	list := ShownList{Items: make([]string, len(read.Items)), HasMore: read.HasMore, Pure: read.Pure, GiveOut: read.GiveOut}
	for i, view := range read.Items {
		list.Items[i] = string(bytes.TrimSuffix(s.depict(view), []byte("\n")))
	}
	if !keeps || !s.changes.unchanged(read.from.moment, key.about()...) {
		return list, nil
	}
	l := lesson{
		from: read.from, after: ask.After, pure: read.Pure, ended: !read.HasMore,
		ids: make([]cms.ID, len(list.Items)), texts: make([]shownPage, len(list.Items)),
	}
	for i, view := range read.Items {
		l.ids[i], l.texts[i] = view.ID, newShownPage(view, list.Items[i])
	}
	s.teachSoon(key, l)
	if learn == learnBeginning {
		l.after, l.from.query.After = cms.NoID, nil
	}
	if learn != learnNothing {
		s.learnOrder(ctx, who, key, l)
	}
	return list, nil
}

// shelfKey names the shelf that has a list. What was live once is seldom asked
// for, and a prefix makes another order of its own.
func (s *Service) shelfKey(ask ReadPages) (shelfKey, bool) {
	keeps := s.shelves != nil && ask.Version.Publish == cms.NoID && (ask.Query.PathPrefix == "" || ask.Query.PathPrefix == "/")
	return shelfKey{ask.Query.SiteID, ask.Version.Version, ask.Locale}, keeps
}

// shelvedPages puts a list together from what its shelf has, if the caller may
// read it and nothing has changed.
func (s *Service) shelvedPages(who Caller, ask ReadPages, key shelfKey) (list ShownList, found bool, learn learning) {
	sh := s.shelves.find(key)
	if sh == nil || !s.changes.asTold(sh.moment, key.about()...) || !sh.form.admits(who, ask.Version) {
		return list, false, learnNothing
	}
	q := ask.Query
	q.Version, q.LocaleID = key.version, sh.spoken.localeID
	if ask.After != cms.NoID {
		// A walk goes on from where its cursor was, even if that has moved.
		if known, ok := s.whereItWas(walkOf(who, q, sh.spoken), ask.After); ok && !s.changes.asTold(known.moment, key.about()...) {
			return list, false, learnNothing
		}
	}
	items, hasMore, found, learn := sh.find(q, ask.After)
	if !found {
		return list, false, learn
	}
	list = ShownList{Items: make([]string, len(items)), HasMore: hasMore, Pure: true, GiveOut: func() {}, Remembered: true}
	for i := range items {
		list.Items[i] = items[i].text
	}
	if n := len(items); n > 0 {
		list.GiveOut = s.goOnFrom(walkOf(who, q, sh.spoken), position{items[n-1].position(q.Sort), sh.moment})
	}
	return list, true, learnNothing
}

// learnOrder reads which pages come after those of a lesson's cursor, for lists
// to come.
func (s *Service) learnOrder(ctx context.Context, who Caller, key shelfKey, l lesson) {
	q := l.from.query
	q.Limit = toLearn
	l.texts = nil
	siteID := key.site
	err := s.read(ctx, who, &siteID, func(ctx context.Context, from source) (err error) {
		l.ids, err = from.PageOrder(ctx, q)
		return err
	})
	if err == nil { // otherwise nothing is learned: the list itself has been read
		l.ended = len(l.ids) <= toLearn
		s.teachSoon(key, l)
	}
}

// teachSoon puts what was read on its shelf, once it is sure that nobody had
// changed the site before: others may have committed what is heard of only
// later, and a list must not have some of a publish and lack the rest.
func (s *Service) teachSoon(key shelfKey, l lesson) {
	after := s.store.HearsWithin()
	if after == 0 {
		s.teach(key, l)
		return
	}
	if sh := s.shelves.find(key); sh != nil {
		l.texts = sh.without(l.texts)
	}
	s.shelves.wait(pending{key, l, time.Now().Add(after)})
}

// teach puts what was read on its shelf, unless the site has changed.
func (s *Service) teach(key shelfKey, l lesson) {
	s.shelves.teach(key, l, func(since int64) bool { return s.changes.unchanged(since, key.about()...) })
}
