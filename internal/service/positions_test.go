package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
)

// Long texts are remembered for shorter than short ones: what all take is
// bounded.
func TestPositionsAreBoundedInBytes(t *testing.T) {
	p, w := newPositions(), walk{caller: cms.NewID()}
	long := strings.Repeat("x", 2000)
	var last position
	for range 10 * maxPositionBytes / len(long) {
		last = position{PagePosition: cms.PagePosition{ID: cms.NewID()}}
		last.Key.Text = long
		p.remember(w, last, time.Time{})
	}
	if most := 2*maxPositionBytes/len(long) + 2; len(p.young)+len(p.old) > most {
		t.Errorf("%d are remembered, at most %d should be", len(p.young)+len(p.old), most)
	}
	// One that is remembered again and again takes no more room, and none of
	// the others'.
	again := position{PagePosition: cms.PagePosition{ID: cms.NewID()}}
	again.Key.Text = long
	for range 10 * maxPositionBytes / len(long) {
		p.remember(walk{}, again, time.Time{})
	}
	if _, ok := p.recall(w, last.ID, true, time.Time{}); !ok {
		t.Error("the last one is forgotten")
	}
}

// A prefix that is asked for takes no room, however long it is: it costs others
// nothing.
func TestAPrefixTakesNoRoomOfPositions(t *testing.T) {
	p := newPositions()
	first := position{PagePosition: cms.PagePosition{ID: cms.NewID()}}
	of := func(prefix string) walk {
		return walkOf(Caller{App: &cms.App{}}, cms.PageQuery{PathPrefix: prefix}, localeView{})
	}
	p.remember(of("/a"), first, time.Time{})
	long := strings.Repeat("x", 2000)
	for i := range 4 * maxPositionBytes / len(long) {
		p.remember(of(fmt.Sprint("/", i, long)), position{PagePosition: cms.PagePosition{ID: cms.NewID()}}, time.Time{})
	}
	if _, ok := p.recall(of("/a"), first.ID, true, time.Time{}); !ok {
		t.Error("the first one is forgotten")
	}
	if _, ok := p.recall(of("/b"), first.ID, true, time.Time{}); ok {
		t.Error("lists of two prefixes are taken for one")
	}
}

// Where there are other nodes, one may have given an item out since.
func TestPositionsOfWalksThatOthersGoOnWith(t *testing.T) {
	p, w, other := newPositions(), walk{caller: cms.NewID()}, walk{caller: cms.NewID()}
	given := time.Now()
	first, second := position{PagePosition: cms.PagePosition{ID: cms.NewID()}}, position{PagePosition: cms.PagePosition{ID: cms.NewID()}}
	p.remember(w, first, given)
	p.remember(w, second, given)
	p.remember(other, first, given)
	for _, c := range []struct {
		name  string
		walk  walk
		after cms.ID
		alone bool
		later time.Duration
		want  bool
	}{
		{"alone", w, first.ID, true, 0, true},
		{"alone, much later", w, first.ID, true, time.Hour, true},
		{"not the last", w, first.ID, false, 0, false},
		{"the last", w, second.ID, false, 0, true},
		{"the last, a minute later", w, second.ID, false, sharedWalk, true},
		{"the last, later", w, second.ID, false, sharedWalk + 1, false},
		{"the last of another walk", other, first.ID, false, 0, true},
	} {
		if _, ok := p.recall(c.walk, c.after, c.alone, given.Add(c.later)); ok != c.want {
			t.Errorf("%s: %v", c.name, ok)
		}
	}
}
