package service

import (
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"

	"galley/internal/cms"
)

// Lists begin anywhere and come in many orders, so that few are asked for
// twice. But they show the same pages: shelves remember those, as they were
// shown, and which comes after which in each order, for as long as none of them
// changes. A list is then put together from what is there.

// shelf has pages of a site as one version and locale shows them. Everything
// in it was so at its moment, and is while the site has not changed since.
type shelf struct {
	form   form
	spoken speech
	moment int64

	mu     sync.Mutex
	places map[cms.ID]place
	pages  []shownPage // by place
	orders map[pageOrder]*links
	texts  int // bytes of the pages' texts and values
}

// shelfKey names a shelf. The locale is as it was asked for, by id or code.
type shelfKey struct {
	site    cms.ID
	version cms.Version
	locale  string
}

// about is what everything on the shelf follows from.
func (k shelfKey) about() []cms.Subject { return cms.SubjectsOf(k.site, k.version) }

// place is where a page is on its shelf. The edge stands before the first item
// of every list and after the last one.
type place int32

const (
	nowhere place = iota
	edge
	firstPlace
)

// shownPage is a page as lists show it, and what they are ordered by.
type shownPage struct {
	id                           cms.ID
	text                         string // "": not known
	pathname, title, description string
	titled, described            bool  // they are not null
	apart                        int   // bytes of values that are not part of the text
	createdAt, updatedAt         int64 // milliseconds, which is what times have
}

// pageOrder is an order that lists have, without its direction.
type pageOrder struct {
	sort    cms.PageSort
	offline bool
}

// links tell which page comes after which: in one direction, and in the other.
type links struct {
	next   [2][]place
	missed int  // lists that were not to be had from here, since more was learned
	begun  bool // its beginning was learned
}

func newShelf(from listRead) *shelf {
	return &shelf{
		form: from.form, spoken: from.spoken, moment: from.moment,
		places: map[cms.ID]place{}, pages: make([]shownPage, firstPlace), orders: map[pageOrder]*links{},
	}
}

func orderOf(q cms.PageQuery) (order pageOrder, direction int) {
	if q.Descending {
		direction = 1
	}
	return pageOrder{q.Sort, q.IncludeOffline}, direction
}

func (s *shelf) linksOf(order pageOrder) *links {
	if s.orders[order] == nil {
		s.orders[order] = &links{}
	}
	return s.orders[order]
}

func (l *links) after(direction int, at place) place {
	if next := l.next[direction]; int(at) < len(next) {
		return next[at]
	}
	return nowhere
}

func (l *links) set(direction int, at, next place) {
	for len(l.next[direction]) <= int(at) {
		l.next[direction] = append(l.next[direction], nowhere)
	}
	l.next[direction][at] = next
}

// learning is what is to be learned of an order beyond the next list: first how
// it begins, which is all of it in most sites, and then what comes after the
// cursor.
type learning int

const (
	learnNothing learning = iota
	learnBeginning
	learnOnward
)

// find returns the items of a list, if all of it is here.
func (s *shelf) find(q cms.PageQuery, after cms.ID) (items []shownPage, hasMore, found bool, learn learning) {
	s.mu.Lock()
	defer s.mu.Unlock()
	order, direction := orderOf(q)
	links := s.linksOf(order)
	at := edge
	if after != cms.NoID {
		at = s.places[after]
	}
	items = make([]shownPage, 0, q.Limit)
	for {
		at = links.after(direction, at)
		switch {
		case at == nowhere:
			return nil, false, false, links.miss()
		case at == edge:
			return items, false, true, learnNothing
		case len(items) == q.Limit:
			return items, true, true, learnNothing
		case s.pages[at].text == "":
			return nil, false, false, learnNothing
		}
		items = append(items, s.pages[at])
	}
}

const (
	// missesToLearn is how many lists of an order are read each for itself
	// before its beginning is learned, and toLearn is how much of it: both cost
	// about the same. What comes after it takes more of them.
	missesToLearn = 4
	missesToGoOn  = 8 * missesToLearn
	toLearn       = 1_000
)

// miss counts a list that is not here, and tells whether to learn more.
func (l *links) miss() learning {
	l.missed++
	switch {
	case !l.begun && l.missed == missesToLearn:
		l.missed, l.begun = 0, true
		return learnBeginning
	case l.begun && l.missed == missesToGoOn:
		l.missed = 0
		return learnOnward
	}
	return learnNothing
}

// place finds the place of a page, which it is given if need be.
func (s *shelf) place(id cms.ID) place {
	at, ok := s.places[id]
	if !ok {
		at = place(len(s.pages))
		s.places[id] = at
		s.pages = append(s.pages, shownPage{id: id})
	}
	return at
}

// lesson is a part of a list that was read.
type lesson struct {
	from  listRead
	after cms.ID      // the cursor; NoID: none
	pure  bool        // the part begins where the cursor is now
	ids   []cms.ID    // in their order
	ended bool        // nothing comes after them
	texts []shownPage // of some of them
}

func (l lesson) bytes() (bytes int64) {
	for _, p := range l.texts {
		bytes += int64(p.bytes() + pageBytes)
	}
	return bytes + int64(len(l.ids)*len(cms.ID{}))
}

// learn adds what was read.
func (s *shelf) learn(l lesson) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range l.texts {
		at := s.place(p.id)
		s.texts += p.bytes() - s.pages[at].bytes()
		s.pages[at] = p
	}
	order, direction := orderOf(l.from.query)
	links := s.linksOf(order)
	last := nowhere
	switch {
	case l.after == cms.NoID:
		last = edge
	case l.pure:
		last = s.place(l.after)
	}
	// A cursor need not be an item: it may be deleted, or offline. Then it comes
	// after nothing.
	isItem := l.after == cms.NoID
	join := func(next place) {
		if last != nowhere {
			links.set(direction, last, next)
			if isItem {
				links.set(1-direction, next, last)
			}
		}
		last, isItem = next, true
	}
	for _, id := range l.ids {
		join(s.place(id))
	}
	if l.ended {
		join(edge)
	}
}

// without leaves out of a lesson the texts that are here already.
func (s *shelf) without(texts []shownPage) []shownPage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(texts, func(p shownPage) bool { return s.pages[s.places[p.id]].text != "" })
}

// What a shelf takes beside its texts, about.
const (
	shelfBytes = 1_000
	pageBytes  = 160
	linkBytes  = 2 * 4
)

func (s *shelf) bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(shelfBytes + s.texts + len(s.pages)*(pageBytes+linkBytes*len(s.orders)))
}

// newShownPage keeps of a view what lists need. Where a value stands in the
// text as it is, that is where it is kept.
func newShownPage(v PageView, text string) shownPage {
	p := shownPage{id: v.ID, text: text, createdAt: v.CreatedAt.UnixMilli(), updatedAt: v.UpdatedAt.UnixMilli()}
	keep := func(value string) string {
		if i := strings.Index(text, value); i >= 0 {
			return text[i : i+len(value)]
		}
		p.apart += len(value)
		return value
	}
	p.pathname = keep(v.Values.Pathname)
	if v.Values.Title != nil {
		p.title, p.titled = keep(*v.Values.Title), true
	}
	if v.Values.Description != nil {
		p.description, p.described = keep(*v.Values.Description), true
	}
	return p
}

func (p shownPage) bytes() int { return len(p.text) + p.apart }

// position is where the page stands in a list.
func (p shownPage) position(sort cms.PageSort) cms.PagePosition {
	row := cms.PageRow{ID: p.id, CreatedAt: time.UnixMilli(p.createdAt).UTC(), UpdatedAt: time.UnixMilli(p.updatedAt).UTC()}
	row.Values.Pathname = p.pathname
	if p.titled {
		row.Values.Title = &p.title
	}
	if p.described {
		row.Values.Description = &p.description
	}
	return row.Position(sort)
}

// shelves are those of all sites, bounded in bytes: who was not used for the
// longest time goes first.
type shelves struct {
	max  int64
	told func(bytes int64) // when they take more or less, in steps

	mu      sync.Mutex
	byKey   map[shelfKey]*list.Element
	order   *list.List // of shelved, the last used one first
	bytes   int64      // of all shelves and lessons
	share   int64      // what was told
	pending []pending  // the oldest first
	waiting int64      // bytes of those
}

type shelved struct {
	key   shelfKey
	shelf *shelf
	bytes int64
}

// pending is a lesson that is not believed yet.
type pending struct {
	key    shelfKey
	lesson lesson
	due    time.Time
}

const (
	// shareStep is how exactly it is told what shelves take.
	shareStep = 1 << 20
	// pendingShare is the part of all bytes that lessons may wait in. Those with
	// texts leave a quarter of it to orders, which are worth more.
	pendingShare = 4
)

func newShelves(bytes int64, told func(int64)) *shelves {
	return &shelves{max: bytes, told: told, byKey: map[shelfKey]*list.Element{}, order: list.New()}
}

func (s *shelves) find(key shelfKey) *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.byKey[key]
	if !ok {
		return nil
	}
	s.order.MoveToFront(at)
	found, _ := at.Value.(*shelved)
	return found.shelf
}

// teach puts a lesson on its shelf, or on a new one, unless something has changed
// since. That is asked last: whatever changes afterwards makes the shelf old, and
// nobody takes from it.
func (s *shelves) teach(key shelfKey, l lesson, unchanged func(since int64) bool) {
	sh := s.find(key)
	if sh == nil || !unchanged(sh.moment) {
		sh = newShelf(l.from)
	}
	if !unchanged(l.from.moment) {
		return
	}
	sh.learn(l)
	s.put(key, sh)
}

// put keeps a shelf that is new or has grown.
func (s *shelves) put(key shelfKey, sh *shelf) {
	bytes := sh.bytes()
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.byKey[key]; ok {
		s.remove(at)
	}
	if bytes <= s.max {
		s.byKey[key] = s.order.PushFront(&shelved{key, sh, bytes})
		s.bytes += bytes
	}
	s.settle()
}

func (s *shelves) remove(at *list.Element) {
	gone, _ := s.order.Remove(at).(*shelved)
	delete(s.byKey, gone.key)
	s.bytes -= gone.bytes
}

// settle makes room, and tells how much is taken.
func (s *shelves) settle() {
	for s.bytes > s.max && s.order.Len() > 0 {
		s.remove(s.order.Back())
	}
	if share := (s.bytes + shareStep - 1) / shareStep * shareStep; share != s.share {
		s.share = share
		s.told(share)
	}
}

// wait has a lesson wait until it is due, if there is room.
func (s *shelves) wait(p pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes, room := p.lesson.bytes(), s.max/pendingShare
	if len(p.lesson.texts) > 0 {
		room = room / 4 * 3
	}
	if s.waiting+bytes > room {
		return
	}
	s.pending = append(s.pending, p)
	s.waiting += bytes
	s.bytes += bytes
	s.settle()
}

// due takes the lessons that have waited until now.
func (s *shelves) due(now time.Time) []pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.pending) && !now.Before(s.pending[n].due) {
		bytes := s.pending[n].lesson.bytes()
		s.waiting -= bytes
		s.bytes -= bytes
		n++
	}
	due := s.pending[:n:n]
	if s.pending = s.pending[n:]; len(s.pending) == 0 {
		s.pending = nil // with what it has had
	}
	return due
}
