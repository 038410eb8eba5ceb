package service

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"galley/internal/cms"
)

// gate lets a number of callers in at a time, and of one workspace never all of
// them. It is for reads that take long: each holds a connection of the store,
// and there are few.
type gate struct {
	places  chan struct{}
	mu      sync.Mutex
	callers int               // inside or waiting
	shares  map[cms.ID]*share // of workspaces that have some of them
}

// Bounds on those inside and waiting, in all and of one workspace: who waits has a
// worker of the server, and others need some.
const (
	maxAtGate  = 64
	maxAtShare = 48
)

var errCrowdedGate = errors.New("too many wait for lists of changes")

// share is what a workspace may have of the places.
type share struct {
	places  chan struct{}
	callers int
}

// newGate leaves at least half of the connections that any store has to others.
func newGate() *gate {
	return &gate{places: make(chan struct{}, min(max(2, runtime.GOMAXPROCS(0)/2), 6)), shares: map[cms.ID]*share{}}
}

// enter waits for a place. Whoever has one must leave.
func (g *gate) enter(ctx context.Context, workspaceID cms.ID) (leave func(), err error) {
	s, ok := g.come(workspaceID)
	if !ok {
		return nil, cms.Unavailable(errCrowdedGate)
	}
	held := []chan struct{}{}
	leave = func() {
		for _, places := range held {
			<-places
		}
		g.giveBack(workspaceID, s)
	}
	for _, places := range []chan struct{}{s.places, g.places} {
		select {
		case places <- struct{}{}:
			held = append(held, places)
		case <-ctx.Done():
			leave()
			return nil, cms.Unavailable(ctx.Err())
		}
	}
	return leave, nil
}

// come counts a caller, unless there are too many.
func (g *gate) come(workspaceID cms.ID) (*share, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.shares[workspaceID]
	if g.callers == maxAtGate || s != nil && s.callers == maxAtShare {
		return nil, false
	}
	if s == nil {
		s = &share{places: make(chan struct{}, cap(g.places)-1)}
		g.shares[workspaceID] = s
	}
	g.callers++
	s.callers++
	return s, true
}

func (g *gate) giveBack(workspaceID cms.ID, s *share) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.callers--
	if s.callers--; s.callers == 0 {
		delete(g.shares, workspaceID)
	}
}
