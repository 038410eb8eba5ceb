package service

import (
	"strings"
	"sync"

	"galley/internal/cms"
)

// positions remembers where in a sorted list the last item of an answer stood
// when it was given out. A cursor is only the item's id: when the item's sort
// value changes before the next request, going on from its new place would
// skip items or meet them twice.
//
// It is bounded and may forget; a walk then goes on from where the item is
// now.
type positions struct {
	mu         sync.Mutex
	young, old map[positionKey]position
	bytes      int // of the young ones' texts
}

// position is a place in a list, and the moment at which it was read there.
type position struct {
	cms.PagePosition
	moment int64
}

// positionKey is a list as one caller walks it.
type positionKey struct {
	caller cms.ID
	query  cms.PageQuery // without After
	after  cms.ID
}

// bytes are those of an entry's texts.
func (k positionKey) bytes(at position) int { return len(at.Key.Text) + len(k.query.PathPrefix) }

// These bound each of the two generations.
const (
	maxPositions     = 20_000
	maxPositionBytes = 4 << 20 // of texts
)

func newPositions() *positions {
	return &positions{young: map[positionKey]position{}}
}

func (p *positions) remember(caller cms.ID, q cms.PageQuery, last position) {
	last.Key.Text = strings.Clone(last.Key.Text) // it may be a part of something long
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.young) >= maxPositions || p.bytes >= maxPositionBytes {
		p.young, p.old, p.bytes = map[positionKey]position{}, p.young, 0
	}
	key := newPositionKey(caller, q, last.ID)
	if was, known := p.young[key]; known {
		p.bytes -= key.bytes(was)
	}
	p.young[key] = last
	p.bytes += key.bytes(last)
}

func (p *positions) recall(caller cms.ID, q cms.PageQuery, after cms.ID) (position, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := newPositionKey(caller, q, after)
	known, ok := p.young[key]
	if !ok {
		known, ok = p.old[key]
	}
	return known, ok
}

func newPositionKey(caller cms.ID, q cms.PageQuery, after cms.ID) positionKey {
	q.After = nil
	q.Limit = 0 // a walk may change its step
	return positionKey{caller, q, after}
}
