package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"time"
)

// A figure from a machine that did something else meanwhile is worth nothing,
// so such a run is refused.
const (
	maxForeign  = 0.15 // share of all cores
	maxStolen   = 0.25 // likewise
	quietWindow = time.Second
	quietWithin = 15 * time.Minute // a run of half an hour is worth that
)

// errRefused says that a server has turned a request away, which none does for
// as few as ask here unless its machine stands still.
var errRefused = errors.New("the server was too busy")

// refusedBy marks what a status says about an error.
func refusedBy(status int, err error) error {
	if status == http.StatusServiceUnavailable {
		return errors.Join(errRefused, err)
	}
	return err
}

// moment is what all processes had used at some time, and what a hypervisor had
// given to other machines while something was to be done here.
type moment struct {
	at           time.Time
	busy, stolen time.Duration
	table        map[int]process
}

func takeMoment() (moment, error) {
	m := moment{at: time.Now()}
	var err error
	if m.busy, m.stolen, err = busy(); err != nil {
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
	return max(0, s.share(used)), busiest
}

// stolen is the share of all cores that other machines had. It lowers rates, and
// hardly what a request costs; all contestants are measured by turns.
func (s span) stolen() float64 { return s.share(s.to.stolen - s.from.stolen) }

func (s span) share(used time.Duration) float64 {
	return float64(used) / float64(s.length()*time.Duration(runtime.NumCPU()))
}

// waitForQuiet waits until nothing runs on this machine, and no contestant has
// work left over. What is stolen then says nothing: nobody wanted it.
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

// disturbance tells what is wrong with figures from a time, if anything is.
func (s span) disturbance(measured []int) error {
	if share, busiest := s.foreign(measured); share >= maxForeign {
		return disturbed(share, busiest)
	}
	if share := s.stolen(); share >= maxStolen {
		return fmt.Errorf("other machines on this one's hardware had %.0f %% of its CPU; "+
			"try again later, or pass --force to measure anyway and keep nothing", 100*share)
	}
	return nil
}

func disturbed(share float64, by process) error {
	return fmt.Errorf("this machine does something else: %.0f %% of its CPU went elsewhere, most to %s (process %d); "+
		"stop it, or pass --force to measure anyway and keep nothing", 100*share, by.name, by.pid)
}
