package service

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"galley/internal/cms"
)

// followed is a replica that lets every look through, whatever reads meet.
type followed struct{ cms.Replica }

func (followed) Mark(context.Context) error           { return nil }
func (followed) Marked(context.Context) (bool, error) { return true, nil }

func TestReplicaThatFailedAReaderRests(t *testing.T) {
	var states []ReplicaState
	r := NewReplica(followed{}, ReplicaEvents{State: func(s ReplicaState, _ error) { states = append(states, s) }})
	r.look(t.Context(), &changes{})
	seen := r.sight.Load()
	if seen == nil {
		t.Fatal("a replica that follows is not used")
	}
	r.lose(seen, errors.New("no"))
	r.lose(seen, errors.New("no")) // another reader that had begun
	for range 5 {
		r.look(t.Context(), &changes{})
	}
	if seen.use.Err() == nil || r.sight.Load() != nil {
		t.Error("a replica that has just failed a reader is used")
	}
	r.lost = time.Now().Add(-lossRest)
	r.look(t.Context(), &changes{})
	if want := []ReplicaState{ReplicaInUse, ReplicaAway, ReplicaInUse}; !slices.Equal(states, want) {
		t.Errorf("states were %v, want %v", states, want)
	}
}
