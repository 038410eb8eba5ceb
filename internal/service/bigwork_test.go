package service

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"galley/internal/cms"
)

func TestAWorkspaceDoesOneBigJobAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bigWork{jobs: newSemaphores(1, maxBigJobs)}
		a, other := cms.NewID(), cms.NewID()
		done, err := b.start(t.Context(), a, false)
		if err != nil {
			t.Fatal(err)
		}
		var waiters sync.WaitGroup
		refused := 0
		var mu sync.Mutex
		for range maxBigJobs + 2 {
			waiters.Go(func() {
				done, err := b.start(t.Context(), a, false)
				if err != nil {
					mu.Lock()
					defer mu.Unlock()
					if refused++; cms.CodeOf(err) != cms.CodeUnavailable {
						t.Errorf("got %v, want unavailable", err)
					}
					return
				}
				time.Sleep(time.Second)
				done()
			})
		}
		synctest.Wait()
		if refused != 3 {
			t.Errorf("%d refused at once, want 3: one job runs and %d wait", refused, maxBigJobs-1)
		}
		foreign, err := b.start(t.Context(), other, false)
		if err != nil {
			t.Fatal("another workspace waits", err)
		}
		foreign()
		done()
		began := time.Now()
		waiters.Wait()
		if took := time.Since(began); took != (maxBigJobs-1)*time.Second {
			t.Errorf("the jobs that waited took %s: they did not run one by one", took)
		}
		if len(b.jobs.inUse) != 0 {
			t.Error("queues without jobs are kept")
		}
	})
}

func TestWaitingForBigWorkIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bigWork{jobs: newSemaphores(1, maxBigJobs)}
		a := cms.NewID()
		done, _ := b.start(t.Context(), a, false)
		if _, err := b.start(t.Context(), a, false); cms.CodeOf(err) != cms.CodeUnavailable {
			t.Errorf("got %v, want unavailable", err)
		}
		done()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.start(gone, a, false); err == nil {
			t.Error("a caller who left has a job")
		}
	})
}

// A client that repeats a job of a second, on a store with one writer, leaves
// another tenant half of the time.
func TestBigWorkLeavesOthersTheWriter(t *testing.T) {
	for name, c := range map[string]struct {
		oneWriter, others bool
		want              int
	}{"others wait": {true, true, 6}, "alone": {true, false, 10}, "many writers": {false, true, 10}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := bigWork{jobs: newSemaphores(1, maxBigJobs)}
				a, jobs := cms.NewID(), 0
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); jobs++ {
					done, err := b.start(t.Context(), a, c.oneWriter)
					if err != nil {
						t.Fatal(err)
					}
					b.writes.Add(1) // its own
					if c.others {
						b.writes.Add(1)
					}
					time.Sleep(time.Second)
					done()
				}
				if jobs != c.want {
					t.Errorf("%d jobs of a second begun in ten seconds, want %d", jobs, c.want)
				}
				time.Sleep(maxBigPause)
			})
		})
	}
}
