package sqlstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"galley/internal/cms"
)

// doubling is a gathering that finds twice a number, and what it was asked.
type doubling struct {
	gathering[int, int]
	mu     sync.Mutex
	rounds [][]int
}

// newDoubling makes a gathering whose rounds wait until they are let go.
func newDoubling(letGo <-chan struct{}, fails func(keys []int) error) *doubling {
	d := &doubling{}
	d.read = func(ctx context.Context, keys []int) (map[int]int, error) {
		d.mu.Lock()
		d.rounds = append(d.rounds, slices.Clone(keys))
		d.mu.Unlock()
		<-letGo
		if err := errors.Join(ctx.Err(), fails(keys)); err != nil {
			return nil, err
		}
		found := map[int]int{}
		for _, k := range keys {
			found[k] = 2 * k
		}
		return found, nil
	}
	return d
}

func (g *gathering[K, V]) waiting() (keys int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.queue {
		keys += len(r.keys)
	}
	return keys
}

func (g *gathering[K, V]) underWay() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running
}

// shared tells whether several wait for the next round.
func (g *gathering[K, V]) shared() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue) > 0 && g.queue[0].shared
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func never([]int) error { return nil }

// fill takes every place, by keys below zero: they overtake each other.
func (d *doubling) fill(t *testing.T, readers *sync.WaitGroup) {
	t.Helper()
	for i := range maxRounds {
		readers.Go(func() { d.wants(t, -i) })
		until(t, "a place is taken", func() bool { d.mu.Lock(); defer d.mu.Unlock(); return len(d.rounds) == i+1 })
	}
}

func (d *doubling) wants(t *testing.T, key int) {
	t.Helper()
	if got, err := d.find(t.Context(), key); got != 2*key || err != nil {
		t.Errorf("%d led to %d, %v", key, got, err)
	}
}

func TestWhoWaitsSharesARound(t *testing.T) {
	letGo := make(chan struct{})
	d := newDoubling(letGo, never)
	var readers sync.WaitGroup
	d.fill(t, &readers)
	const others = maxRoundSize + 10
	for i := range others {
		readers.Go(func() { d.wants(t, 100+i) })
		readers.Go(func() { d.wants(t, 100+i) })
	}
	until(t, "everybody waits", func() bool { return d.waiting() >= others })
	close(letGo)
	readers.Wait()
	until(t, "no round runs or waits after all have ended", func() bool { return d.underWay() == 0 && d.waiting() == 0 })
	longest := slices.MaxFunc(d.rounds, func(a, b []int) int { return len(a) - len(b) })
	if len(longest) != maxRoundSize {
		t.Errorf("the longest round had %d keys, want %d", len(longest), maxRoundSize)
	}
	for _, keys := range d.rounds {
		if distinct := len(slices.Compact(slices.Sorted(slices.Values(keys)))); distinct != len(keys) {
			t.Errorf("a round asked twice for the same: %v", keys)
		}
	}
}

// One round at a time is enough, unless it takes long.
func TestASlowRoundIsOvertaken(t *testing.T) {
	letGo := make(chan struct{})
	d := newDoubling(letGo, never)
	var readers sync.WaitGroup
	begun := func() int { d.mu.Lock(); defer d.mu.Unlock(); return len(d.rounds) }
	readers.Go(func() { d.wants(t, 1) })
	until(t, "the first is under way", func() bool { return begun() == 1 })
	readers.Go(func() { d.wants(t, 2) })
	until(t, "the second is, beside it", func() bool { return begun() == 2 })
	letGo <- struct{}{} // one ends, and its place is nobody's
	until(t, "one is under way", func() bool { return d.underWay() == 1 })
	close(letGo)
	readers.Wait()
	until(t, "no round runs or waits after all have ended", func() bool { return d.underWay() == 0 && d.waiting() == 0 })
}

// Who has waited too long already has the first place that is free, whatever
// becomes of the others.
func TestALateRoundHasTheNextPlace(t *testing.T) {
	letGo := make(chan struct{})
	d := newDoubling(letGo, never)
	var readers sync.WaitGroup
	d.fill(t, &readers)
	readers.Go(func() { d.wants(t, 100) })
	until(t, "it is late", func() bool {
		d.gathering.mu.Lock()
		defer d.gathering.mu.Unlock()
		return len(d.queue) == 1 && d.queue[0].late
	})
	letGo <- struct{}{}
	until(t, "it has begun", func() bool { d.mu.Lock(); defer d.mu.Unlock(); return len(d.rounds) == maxRounds+1 })
	close(letGo)
	readers.Wait()
}

func TestNobodyFailsBecauseOfOthers(t *testing.T) {
	letGo := make(chan struct{})
	d := newDoubling(letGo, func(keys []int) error {
		if len(keys) > 1 {
			return errors.New("the connection broke")
		}
		return nil
	})
	var readers sync.WaitGroup
	d.fill(t, &readers)
	for i := range 10 {
		readers.Go(func() { d.wants(t, 100+i) })
	}
	until(t, "everybody waits", func() bool { return d.waiting() == 10 })
	close(letGo)
	readers.Wait()
}

func TestARoundOutlivesWhoBeganIt(t *testing.T) {
	for name, other := range map[string]int{"for who wants the same": 100, "for who wants something else": 200} {
		t.Run(name, func(t *testing.T) {
			letGo := make(chan struct{})
			d := newDoubling(letGo, never)
			var readers sync.WaitGroup
			d.fill(t, &readers)
			ctx, leave := context.WithCancel(t.Context())
			readers.Go(func() { _, _ = d.find(ctx, 100) }) // it may have its answer or not
			until(t, "the first waits", func() bool { return d.waiting() == 1 })
			readers.Go(func() { d.wants(t, other) })
			until(t, "another waits", d.gathering.shared)
			leave()
			close(letGo)
			readers.Wait()
			if len(d.rounds) != maxRounds+1 {
				t.Errorf("there were %d rounds, want %d: nobody read alone", len(d.rounds), maxRounds+1)
			}
		})
	}
}

func TestWhoBeganARoundMayLeave(t *testing.T) {
	letGo := make(chan struct{})
	d := newDoubling(letGo, never)
	var readers sync.WaitGroup
	d.fill(t, &readers)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := d.find(ctx, 100)
		left <- err
	}()
	until(t, "the first waits", func() bool { return d.waiting() == 1 })
	readers.Go(func() { d.wants(t, 200) })
	until(t, "another waits", d.gathering.shared)
	leave()
	select {
	case err := <-left:
		if cms.CodeOf(err) != cms.CodeUnavailable {
			t.Errorf("who left is told %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("who left is held until those before have ended")
	}
	close(letGo)
	readers.Wait()
}

// A connection on which nothing comes any more holds nobody up for long.
func TestARoundHasItsTime(t *testing.T) {
	long, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	ctx, cancel := stayOn(long)
	defer cancel()
	if end, ok := ctx.Deadline(); !ok || time.Until(end) > maxRoundTime {
		t.Errorf("it ends at %v, %v", end, ok)
	}
}

func TestARoundThatPanicsFindsNothing(t *testing.T) {
	letGo := make(chan struct{})
	d := newDoubling(letGo, func(keys []int) error {
		if len(keys) > 1 {
			panic("a bug")
		}
		return nil
	})
	var readers sync.WaitGroup
	d.fill(t, &readers)
	readers.Go(func() {
		defer func() { _ = recover() }() // as a server does
		_, _ = d.find(t.Context(), 100)
		t.Error("who ran the round did not see the panic")
	})
	until(t, "the first waits", func() bool { return d.waiting() == 1 })
	readers.Go(func() { d.wants(t, 200) })
	until(t, "another waits", d.gathering.shared)
	close(letGo)
	readers.Wait()
}
