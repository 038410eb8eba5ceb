package service

import (
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"galley/internal/cms"
)

// positions remembers where in a sorted list the last item of an answer stood
// when it was given out. A cursor is only the item's id: when the item's sort
// value changes before the next request, going on from its new place would
// skip items or meet them twice.
//
// It is bounded and may forget; a walk then goes on from where the item is
// now. Where there are other nodes, one of them may have given the item out since,
// at another place: then only the last one that a walk was given here counts, and
// not for long.
type positions struct {
	mu         sync.Mutex
	young, old map[positionKey]position
	last       map[walk]lastGiven // of the young ones
	bytes      int                // of the young ones' texts
}

// position is a place in a list, and the moment at which it was read there.
type position struct {
	cms.PagePosition
	asOf int64
}

// lastGiven is the item that a walk was given last, and when.
type lastGiven struct {
	id cms.ID
	at time.Time
}

// walk is a list as one caller goes through it.
type walk struct {
	caller cms.ID
	query  cms.PageQuery
	prefix uint64 // of pathnames, which may be long
}

var prefixSeed = maphash.MakeSeed()

// walkOf names a list by its locale's own id: another one may become the default
// meanwhile.
func walkOf(who Caller, q cms.PageQuery, lv localeView) walk {
	prefix := maphash.String(prefixSeed, q.PathPrefix)
	q.LocaleID, q.PathPrefix = lv.id, ""
	q.After, q.Limit = nil, 0 // a walk may change its step
	return walk{who.ID(), q, prefix}
}

// positionKey is where a walk goes on.
type positionKey struct {
	walk
	after cms.ID
}

// These bound each of the two generations.
const (
	maxPositions     = 20_000
	maxPositionBytes = 4 << 20 // of texts
	// sharedWalk is how long a walk may take from one request to the next, where
	// it may as well have gone to another node meanwhile.
	sharedWalk = time.Minute
)

func newPositions() *positions {
	return &positions{young: map[positionKey]position{}, last: map[walk]lastGiven{}}
}

func (p *positions) remember(w walk, last position, now time.Time) {
	last.Key.Text = strings.Clone(last.Key.Text) // it may be a part of something long
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.young) >= maxPositions || p.bytes >= maxPositionBytes {
		p.young, p.old, p.bytes = map[positionKey]position{}, p.young, 0
		clear(p.last)
	}
	key := positionKey{w, last.ID}
	p.bytes += len(last.Key.Text) - len(p.young[key].Key.Text)
	p.young[key] = last
	p.last[w] = lastGiven{last.ID, now}
}

// recall returns where an item was given out. Alone tells that there are no other
// nodes.
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
