package service

import (
	"strings"
	"testing"

	"galley/internal/cms"
)

// Long texts are remembered for shorter than short ones: what all take is
// bounded.
func TestPositionsAreBoundedInBytes(t *testing.T) {
	p, caller := newPositions(), cms.NewID()
	long := strings.Repeat("x", 2000)
	var last position
	for range 10 * maxPositionBytes / len(long) {
		last = position{PagePosition: cms.PagePosition{ID: cms.NewID()}}
		last.Key.Text = long
		p.remember(caller, cms.PageQuery{PathPrefix: long}, last)
	}
	if most := 2*maxPositionBytes/(2*len(long)) + 2; len(p.young)+len(p.old) > most {
		t.Errorf("%d are remembered, at most %d should be", len(p.young)+len(p.old), most)
	}
	// One that is remembered again and again takes no more room, and nobody
	// else's.
	again := position{PagePosition: cms.PagePosition{ID: cms.NewID()}}
	again.Key.Text = long
	for range 10 * maxPositionBytes / len(long) {
		p.remember(caller, cms.PageQuery{}, again)
	}
	if _, ok := p.recall(caller, cms.PageQuery{PathPrefix: long}, last.ID); !ok {
		t.Error("the last one is forgotten")
	}
}
