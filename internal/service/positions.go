package service

import (
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"galley/internal/cms"
)

// positions remembers the position that the last item of a list response had. A
// cursor is only the id of the item: if its sort value changes before the next
// request, continuing from its new position would skip or repeat items.
//
// It is bounded: a walk whose position is dropped continues from the present
// position. Where other nodes may have sent the item since, only the last item of
// a walk counts, for a short time.
type positions struct {
	mu         sync.Mutex
	young, old map[positionKey]position
	last       map[walk]lastSent // of the young ones
	bytes      int               // of the young ones' texts
}

// position is a position in a list, and the version of the store before the read.
type position struct {
	cms.PagePosition
	asOf int64
}

// lastSent is the item that was last sent to a walk, and when.
type lastSent struct {
	id cms.ID
	at time.Time
}

// walk identifies the requests of one caller for one list.
type walk struct {
	caller cms.ID
	query  cms.PageQuery
	texts  uint64 // of the prefix and the search, which may be long
}

var textSeed = maphash.MakeSeed()

// walkOf uses the id of the locale, since another one may become the default.
func walkOf(who Caller, q cms.PageQuery, lv localeView) walk {
	texts := maphash.String(textSeed, q.PathPrefix+"\x00"+q.Search)
	q.LocaleID, q.PathPrefix, q.Search, q.Under = lv.id, "", "", "" // the caller decides what is under what
	q.After, q.Limit = nil, 0                                       // the limit may change from request to request
	return walk{who.ID(), q, texts}
}

// positionKey is a cursor of a walk.
type positionKey struct {
	walk
	after cms.ID
}

// These bound each of the two generations.
const (
	maxPositions     = 20_000
	maxPositionBytes = 4 << 20 // of texts
	// sharedWalk bounds the time between two requests of a walk that may have used
	// another node in between.
	sharedWalk = time.Minute
)

func newPositions() *positions {
	return &positions{young: map[positionKey]position{}, last: map[walk]lastSent{}}
}

func (p *positions) remember(w walk, last position, now time.Time) {
	last.Key.Text = strings.Clone(last.Key.Text) // it may be part of a long string
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.young) >= maxPositions || p.bytes >= maxPositionBytes {
		p.young, p.old, p.bytes = map[positionKey]position{}, p.young, 0
		clear(p.last)
	}
	key := positionKey{w, last.ID}
	p.bytes += len(last.Key.Text) - len(p.young[key].Key.Text)
	p.young[key] = last
	p.last[w] = lastSent{last.ID, now}
}

// recall returns the position at which an item was sent. alone is set if there are
// no other nodes.
func (p *positions) recall(w walk, after cms.ID, alone bool, now time.Time) (position, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := p.last[w]; !alone && (last.id != after || now.Sub(last.at) > sharedWalk) {
		return position{}, false
	}
	key := positionKey{w, after}
	known, ok := p.young[key]
	if !ok {
		known, ok = p.old[key]
	}
	return known, ok
}
