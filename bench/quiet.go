package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// A figure from a machine that did something else meanwhile is worth nothing,
// so such a run is refused.
const (
	maxForeign  = 0.15 // share of all cores
	quietWindow = time.Second
	quietWithin = 5 * time.Minute // a run of half an hour is worth that
	maxTries    = 3
)

// moment is what all processes had used at some time.
type moment struct {
	at    time.Time
	busy  time.Duration
	table map[int]process
}

func takeMoment() (moment, error) {
	m := moment{at: time.Now()}
	var err error
	if m.busy, err = busy(); err != nil {
		return m, err
	}
	m.table, err = processes()
	return m, err
}

// span is the time between two moments.
type span struct{ from, to moment }

// spanOf is the time that something takes.
func spanOf(happens func() error) (s span, err error) {
	if s.from, err = takeMoment(); err != nil {
		return s, err
	}
	if err = happens(); err != nil {
		return s, err
	}
	s.to, err = takeMoment()
	return s, err
}

func (s span) length() time.Duration { return s.to.at.Sub(s.from.at) }

// spent is the CPU time that processes used, with those below them.
func (s span) spent(roots []int) time.Duration {
	if isSelf(roots) {
		return s.to.table[os.Getpid()].cpu - s.from.table[os.Getpid()].cpu
	}
	return total(within(s.to.table, roots)) - total(within(s.from.table, roots))
}

// foreign tells which share of all cores others used than this process and
// those under measurement, and the busiest of those others.
func (s span) foreign(measured []int) (share float64, busiest process) {
	self := os.Getpid()
	own := within(s.to.table, slices.DeleteFunc(slices.Clone(measured), func(pid int) bool { return pid == self }))
	own[self] = s.to.table[self]
	used := s.to.busy - s.from.busy
	for pid, p := range s.to.table {
		spent := p.cpu - s.from.table[pid].cpu
		if _, ok := own[pid]; ok {
			used -= spent
			continue
		}
		if spent > busiest.cpu {
			busiest = process{pid: pid, name: p.name, cpu: spent}
		}
	}
	all := s.length() * time.Duration(runtime.NumCPU())
	return max(0, float64(used)/float64(all)), busiest
}

// waitForQuiet waits until nothing runs on this machine, and no contestant has
// work left over.
func waitForQuiet(ctx context.Context) error {
	deadline := time.Now().Add(quietWithin)
	for {
		window, err := spanOf(func() error { return pause(ctx, quietWindow) })
		if err != nil {
			return err
		}
		share, busiest := window.foreign(nil)
		if share < maxForeign {
			return nil
		}
		if time.Now().After(deadline) {
			return disturbed(share, busiest)
		}
	}
}

// pause waits, unless everything ends.
func pause(ctx context.Context, length time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(length):
		return nil
	}
}

func disturbed(share float64, by process) error {
	return fmt.Errorf("this machine does something else: %.0f %% of its CPU went elsewhere, most to %s (process %d); "+
		"stop it, or pass --force to measure anyway and keep nothing", 100*share, by.name, by.pid)
}
