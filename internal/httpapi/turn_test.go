package httpapi_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"galley/internal/httpapi"
	"galley/internal/service"
)

func TestOneNodeTakesEachTurn(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		var clock atomic.Int64
		now := func() time.Time { return time.Unix(1_800_000_000+clock.Load(), 0) }
		nodes := []*service.Service{
			service.New(s.store, now, httpapi.AuditState), service.New(s.store, now, httpapi.AuditState), service.New(s.store, now, httpapi.AuditState),
		}
		for turn := range 3 {
			var taken atomic.Int64
			var all sync.WaitGroup
			for range 4 {
				for _, node := range nodes {
					all.Go(func() {
						mine, err := node.AcquireLease(t.Context(), "a job", 30*time.Second)
						if err != nil {
							t.Error(err)
						}
						if mine {
							taken.Add(1)
						}
					})
				}
			}
			all.Wait()
			if taken.Load() != 1 {
				t.Errorf("turn %d was taken %d times", turn, taken.Load())
			}
			clock.Add(29) // too early for the next one
			if mine, err := nodes[1].AcquireLease(t.Context(), "a job", 30*time.Second); mine || err != nil {
				t.Errorf("turn %d was taken once more: %v", turn, err)
			}
			if mine, err := nodes[2].AcquireLease(t.Context(), "another job", 10*time.Second); !mine || err != nil {
				t.Errorf("another job's turn: %v, %v", mine, err)
			}
			clock.Add(2)
		}
	})
}

// A clock that was ahead for a while leaves a turn in the future.
func TestATurnOfAWrongClockKeepsNobodyFromTheNext(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		now := time.Unix(1_800_000_000, 0)
		node := service.New(s.store, func() time.Time { return now }, httpapi.AuditState)
		take := func(when string, want bool) {
			t.Helper()
			if mine, err := node.AcquireLease(t.Context(), "a job", 30*time.Second); mine != want || err != nil {
				t.Errorf("%s: taken %v, %v", when, mine, err)
			}
		}
		now = now.AddDate(0, 1, 0)
		take("ahead", true)
		now = now.AddDate(0, -1, 0)
		take("set right", true)
		take("again", false)
		now = now.Add(-20 * time.Second)
		take("a little behind", false)
	})
}
