package service

import (
	"context"
	"testing"

	"galley/internal/cms"
)

func TestGateLeavesRoomForOtherWorkspaces(t *testing.T) {
	t.Parallel()
	g := newGate()
	busy := cms.NewID()
	var leaves []func()
	for range cap(g.places) - 1 {
		leave, err := g.enter(t.Context(), busy)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.enter(impatient, busy); cms.CodeOf(err) != cms.CodeUnavailable {
		t.Errorf("one workspace has every place: %v", err)
	}
	leave, err := g.enter(t.Context(), cms.NewID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.enter(impatient, cms.NewID()); cms.CodeOf(err) != cms.CodeUnavailable {
		t.Errorf("more are inside than there are places: %v", err)
	}
	for _, leave := range append(leaves, leave) {
		leave()
	}
	if len(g.places) != 0 || len(g.shares) != 0 {
		t.Errorf("everybody has left: %d places are taken, %d workspaces are known", len(g.places), len(g.shares))
	}
}
