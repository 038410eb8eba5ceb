package service

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"galley/internal/cms"
)

// followed is a replica that passes every check, whether or not reads fail.
type followed struct{ cms.Replica }

func (followed) Mark(context.Context) error           { return nil }
func (followed) Marked(context.Context) (bool, error) { return true, nil }

func TestReplicaThatFailedAReadIsNotUsed(t *testing.T) {
	var states []ReplicaState
	r := NewReplica(followed{}, ReplicaEvents{State: func(s ReplicaState, _ error) { states = append(states, s) }})
	r.check(t.Context(), &changes{})
	seen := r.progress.Load()
	if seen == nil {
		t.Fatal("a replica that follows is not used")
	}
	r.fail(seen, errors.New("no"))
	r.fail(seen, errors.New("no")) // another reader that had begun
	for range 5 {
		r.check(t.Context(), &changes{})
	}
	if seen.inUse.Err() == nil || r.progress.Load() != nil {
		t.Error("a replica that has just failed a reader is used")
	}
	r.failedAt = time.Now().Add(-failurePause)
	r.check(t.Context(), &changes{})
	if want := []ReplicaState{ReplicaInUse, ReplicaAway, ReplicaInUse}; !slices.Equal(states, want) {
		t.Errorf("states were %v, want %v", states, want)
	}
}
