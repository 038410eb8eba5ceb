package service

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

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

// Who waits has a worker of the server, and others need some.
func TestGateRefusesACrowd(t *testing.T) {
	t.Parallel()
	g := newGate()
	ctx, end := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	come := func(workspaceID cms.ID, n int) {
		for range n {
			crowd.Go(func() {
				if leave, err := g.enter(ctx, workspaceID); err == nil {
					<-ctx.Done()
					leave()
				}
			})
		}
	}
	isFull := func(workspaceID cms.ID) bool {
		now, cancel := context.WithCancel(t.Context())
		cancel()
		leave, err := g.enter(now, workspaceID)
		if err == nil {
			leave()
		}
		return errors.Is(err, errCrowdedGate)
	}
	busy, other := cms.NewID(), cms.NewID()
	come(busy, maxAtShare)
	for !isFull(busy) {
		time.Sleep(time.Millisecond)
	}
	if isFull(other) {
		t.Error("one workspace fills the gate")
	}
	come(other, maxAtGate-maxAtShare)
	for !isFull(other) {
		time.Sleep(time.Millisecond)
	}
	end()
	crowd.Wait()
	if isFull(busy) || isFull(other) || len(g.shares) != 0 || g.callers != 0 {
		t.Errorf("everybody has left: %d callers, %d workspaces are known", g.callers, len(g.shares))
	}
}
