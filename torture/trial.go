package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// trial is the execution of a run: its folder, its choices, its processes, and
// its results.
type trial struct {
	ctx      context.Context //nolint:containedctx // a trial is one bounded piece of work, and the context is its bound
	dir      string
	binary   string
	key      string // App key with every scope
	short    bool
	rng      *rand.Rand
	progress *progress

	mu       sync.Mutex
	figures  figures
	problems []string
	ends     []func() // of what was started, in that order
}

func newTrial(ctx context.Context, name, dir, binary string, short bool, seed uint64) *trial {
	return &trial{
		ctx: ctx, dir: dir, binary: binary, short: short,
		rng: rand.New(rand.NewPCG(seed, seed)), progress: newProgress(name),
	}
}

// prepare creates the folder and the App key.
func (t *trial) prepare() {
	check(os.Mkdir(t.dir, 0o755))
	t.key = strings.TrimSpace(string(must(exec.CommandContext(t.ctx, t.binary, "keygen").Output())))
}

// random returns a source of choices for one goroutine.
func (t *trial) random() *rand.Rand {
	t.mu.Lock()
	defer t.mu.Unlock()
	return rand.New(rand.NewPCG(t.rng.Uint64(), t.rng.Uint64()))
}

// pick returns the first value, or in the short form the second.
func pick[T any](t *trial, full, short T) T {
	if t.short {
		return short
	}
	return full
}

func (t *trial) folder(name string) string { return filepath.Join(t.dir, name) }

// got records a figure.
func (t *trial) got(name string, value any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.figures = append(t.figures, figure{name, value})
}

// section records the figures of a part of the run under a name.
func (t *trial) section(name string, note func()) {
	first := len(t.figures)
	note()
	inner := slices.Clone(t.figures[first:])
	t.figures = append(t.figures[:first], figure{name, inner})
}

// want records a problem unless something holds.
func (t *trial) want(holds bool, format string, args ...any) {
	if !holds {
		t.problem(format, args...)
	}
}

// problem records what failed the run.
func (t *trial) problem(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

// shownProblems is how many problems a line shows.
const shownProblems = 5

func (t *trial) report() figures {
	shown := t.problems
	if more := len(shown) - shownProblems; more > 0 {
		shown = append(slices.Clone(shown[:shownProblems]), fmt.Sprintf("and %d more", more))
	}
	if len(shown) > 0 {
		return append(t.figures, figure{"problems", shown})
	}
	return t.figures
}

// atEnd calls a function at the end of the run, also if that fails.
func (t *trial) atEnd(end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends = append(t.ends, end)
}

// stopAll ends what was started, the last first.
func (t *trial) stopAll() {
	for _, end := range slices.Backward(t.ends) {
		end()
	}
}

// poll waits until a condition holds. It fails the run when the run's time is
// over, or when a process that it depends on has ended.
func (t *trial) poll(what string, p *process, every time.Duration, holds func() bool) {
	for !holds() {
		check(t.ctx.Err())
		if p != nil && !p.running() {
			log, _ := os.ReadFile(p.log) // it may have none
			check(fmt.Errorf("%s: the process ended: %s", what, lastLine(log)))
		}
		t.sleep(every)
	}
}

// sleep waits, or returns at once when the run is over.
func (t *trial) sleep(d time.Duration) {
	select {
	case <-t.ctx.Done():
	case <-time.After(d):
	}
}

// figure is one thing that a run measured.
type figure struct {
	name  string
	value any
}

// figures keep their order, which a map would not.
type figures []figure

// MarshalJSON writes an object.
func (f figures) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, fig := range f {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(fig.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", fig.name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// progress prints how far a run is: on one line of a terminal, and elsewhere on
// a new line every few seconds.
type progress struct {
	name     string
	terminal bool
	start    time.Time

	mu   sync.Mutex
	last time.Time
}

func newProgress(name string) *progress {
	info, err := os.Stderr.Stat()
	return &progress{name: name, start: time.Now(), terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// show prints how much of total is done, and what the run does.
func (p *progress) show(done, total int, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	every := 3 * time.Second
	if p.terminal {
		every = 100 * time.Millisecond
	}
	if time.Since(p.last) < every {
		return
	}
	p.last = time.Now()
	done = min(done, total)
	text := fmt.Sprintf("%s: %3.0f s, %d %%: %s", p.name, time.Since(p.start).Seconds(), 100*done/max(1, total), fmt.Sprintf(format, args...))
	if p.terminal {
		say(os.Stderr, "\r\033[K%s", text)
	} else {
		say(os.Stderr, "%s\n", text)
	}
}

func (p *progress) end() {
	if p.terminal {
		say(os.Stderr, "\r\033[K")
	}
}
