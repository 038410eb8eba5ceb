package service

import (
	"fmt"
	"strings"
	"testing"

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
		p.remember(w, last)
	}
	if most := 2*maxPositionBytes/len(long) + 2; len(p.young)+len(p.old) > most {
		t.Errorf("%d are remembered, at most %d should be", len(p.young)+len(p.old), most)
	}
	// One that is remembered again and again takes no more room, and nobody
	// else's.
	again := position{PagePosition: cms.PagePosition{ID: cms.NewID()}}
	again.Key.Text = long
	for range 10 * maxPositionBytes / len(long) {
		p.remember(walk{}, again)
	}
	if _, ok := p.recall(w, last.ID); !ok {
		t.Error("the last one is forgotten")
	}
}

// A prefix that is asked for takes no room, however long it is: it costs others
// nothing.
func TestAPrefixTakesNoRoomOfPositions(t *testing.T) {
	p := newPositions()
	first := position{PagePosition: cms.PagePosition{ID: cms.NewID()}}
	of := func(prefix string) walk {
		return walkOf(Caller{App: &cms.App{}}, cms.PageQuery{PathPrefix: prefix}, speech{})
	}
	p.remember(of("/a"), first)
	long := strings.Repeat("x", 2000)
	for i := range 4 * maxPositionBytes / len(long) {
		p.remember(of(fmt.Sprint("/", i, long)), position{PagePosition: cms.PagePosition{ID: cms.NewID()}})
	}
	if _, ok := p.recall(of("/a"), first.ID); !ok {
		t.Error("the first one is forgotten")
	}
	if _, ok := p.recall(of("/b"), first.ID); ok {
		t.Error("lists of two prefixes are taken for one")
	}
}
