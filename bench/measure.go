package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// figure is what one measurement of an operation found.
type figure struct {
	Rate     float64       `json:"rate"`     // requests a second, pages for a batch
	CPU      time.Duration `json:"cpu"`      // of the service, for each of them
	Database time.Duration `json:"database"` // of the database beside it, likewise
	Requests int           `json:"requests"`
	latency
}

// latency is how long requests took: half of them at most, and all but one in
// a hundred.
type latency struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
}

func latencyOf(took []time.Duration) latency {
	slices.Sort(took)
	return latency{P50: took[len(took)/2], P99: took[len(took)*99/100]}
}

// lengths say how long things are measured.
type lengths struct{ warm, measured time.Duration }

// measure loads a contestant with an operation and returns what that took.
func (b *bench) measure(ctx context.Context, c contestant, op operation) (f figure) {
	service, database := c.processes()
	b.undisturbed(ctx, c.name()+", "+op.name, slices.Concat(service, database), func() (during span) {
		f, during = b.try(ctx, c, op)
		return during
	})
	return f
}

// warmUp is how many requests it takes until a contestant has every page in its
// cache.
func warmUp(c contestant, op operation) int {
	if g, ok := c.(*galley); ok && !g.uncached && op.isGet() {
		return g.loaded.size()
	}
	return 1
}

func (b *bench) try(ctx context.Context, c contestant, op operation) (f figure, during span) {
	build, status := c.builder(op)
	clients, items := op.load()
	d := newGenerator(c.target(), c.headers(), clients, status, build)
	defer d.close()
	var took []time.Duration
	for sent := 0; sent < warmUp(c, op); sent += max(1, len(took)) {
		took = must(d.run(ctx, b.lengths.warm))
	}
	during = spanOf(func() { took = must(d.run(ctx, b.lengths.measured)) })
	service, database := c.processes()
	items *= len(took)
	return figure{
		Rate:     float64(items) / during.length().Seconds(),
		CPU:      during.spent(service) / time.Duration(items),
		Database: during.spent(database) / time.Duration(items),
		Requests: len(took),
		latency:  latencyOf(took),
	}, during
}

// undisturbed measures something, and again if other processes than the given
// ones used the machine meanwhile.
func (b *bench) undisturbed(ctx context.Context, what string, processes []int, measure func() span) {
	for end := time.Now().Add(quietWithin); ; {
		if !b.force {
			waitForQuiet(ctx)
		}
		var during span
		err := recovered(func() { during = measure() })
		if err == nil {
			if err = during.disturbance(processes); err == nil || b.force {
				return
			}
		} else if !errors.Is(err, errRefused) {
			check(fmt.Errorf("%s: %w", what, err))
		}
		if time.Now().After(end) {
			check(fmt.Errorf("%s: %w", what, err))
		}
		b.status("%s: once more, since %v", what, err)
	}
}

// A figure is measured again if the machine did something else meanwhile.
const (
	maxForeign  = 0.15 // share of all cores
	maxStolen   = 0.25 // likewise
	quietWindow = time.Second
	quietWithin = 15 * time.Minute // a run of half an hour is worth that
)

// errRefused means that a server responded with 503, which none does at this
// load unless its machine is stalled.
var errRefused = errors.New("the server was too busy")

// refusedBy adds errRefused to the error of a 503.
func refusedBy(status int, err error) error {
	if status == http.StatusServiceUnavailable {
		return errors.Join(errRefused, err)
	}
	return err
}

// reading is the CPU time that all processes had used at some time, and that
// which a hypervisor had given to other machines.
type reading struct {
	at           time.Time
	busy, stolen time.Duration
	table        map[int]process
}

func takeReading() reading {
	r := reading{at: time.Now(), table: processes()}
	line, _, _ := strings.Cut(string(must(os.ReadFile("/proc/stat"))), "\n")
	r.busy, r.stolen = parseBusy(line)
	return r
}

// span is the time between two readings.
type span struct{ from, to reading }

// spanOf is the time that something takes.
func spanOf(happens func()) (s span) {
	s.from = takeReading()
	happens()
	s.to = takeReading()
	return s
}

func (s span) length() time.Duration { return s.to.at.Sub(s.from.at) }

// spent is the CPU time that processes used, with those below them.
func (s span) spent(roots []int) time.Duration {
	return total(within(s.to.table, roots)) - total(within(s.from.table, roots))
}

// foreign returns which share of all cores others used than this process and
// those under measurement, and the busiest of those others.
func (s span) foreign(measured []int) (share float64, busiest process) {
	own := within(s.to.table, measured)
	own[os.Getpid()] = s.to.table[os.Getpid()]
	used := s.to.busy - s.from.busy
	for pid, p := range s.to.table {
		spent := p.cpu - s.from.table[pid].cpu
		if _, ok := own[pid]; ok {
			used -= spent
		} else if spent > busiest.cpu {
			busiest = process{pid: pid, name: p.name, cpu: spent}
		}
	}
	return max(0, s.share(used)), busiest
}

func (s span) share(used time.Duration) float64 {
	return float64(used) / float64(s.length()*time.Duration(runtime.NumCPU()))
}

// waitForQuiet waits until nothing else runs on this machine, and no contestant
// has work left over.
func waitForQuiet(ctx context.Context) {
	for deadline := time.Now().Add(quietWithin); ; {
		share, busiest := spanOf(func() { pause(ctx, quietWindow) }).foreign(nil)
		if share < maxForeign {
			return
		} else if time.Now().After(deadline) {
			check(disturbed(share, busiest))
		}
	}
}

// pause waits, unless the context ends.
func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
		check(ctx.Err())
	case <-time.After(length):
	}
}

// disturbance returns an error if something else disturbed the measurement.
func (s span) disturbance(measured []int) error {
	if share, busiest := s.foreign(measured); share >= maxForeign {
		return disturbed(share, busiest)
	}
	// It lowers rates, and hardly the cost of a request: contestants are measured alternately.
	if share := s.share(s.to.stolen - s.from.stolen); share >= maxStolen {
		return fmt.Errorf("other machines on this one's hardware had %.0f %% of its CPU; "+
			"try again later, or pass --force to measure anyway and keep nothing", 100*share)
	}
	return nil
}

func disturbed(share float64, by process) error {
	return fmt.Errorf("this machine does something else: %.0f %% of its CPU went elsewhere, most to %s (process %d); "+
		"stop it, or pass --force to measure anyway and keep nothing", 100*share, by.name, by.pid)
}
