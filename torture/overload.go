package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

var overloadRun = run{
	name:   "overload",
	target: "5 times the capacity: goodput at least 80 % of it, all else 429 or 503 with Retry-After, no broken connection, 90 % of it again within 5 s and no 5xx",
	short:  "5 times the capacity: only 2xx, and 429 or 503 with Retry-After, no broken connection, and within 5 s no 5xx (rates are told, not judged: it takes longer to measure them)",
	limit:  2 * time.Minute, shortLimit: 30 * time.Second,
	do: overload,
}

const (
	steadyConnections = 32
	floodConnections  = 4000
	overloadFactor    = 5
)

func overload(t *trial) error {
	// Capacity means something only where the flood does not take the server's
	// processor away: each gets a half of the cores.
	mine, theirs := splitCores()
	restore, err := pin(t, mine)
	if err != nil {
		return err
	}
	defer restore()
	s, err := t.serveBy([]string{"taskset", "-c", theirs.String()}, "server",
		"--addr", "127.0.0.1:0", "--data", t.folder("data"), "--app-rate", "off", "--log-level", "warn")
	if err != nil {
		return err
	}
	l, err := newLoad(s.addr, t.key)
	if err != nil {
		return err
	}
	t.progress.show(0, 4, "warming up")
	l.closedLoop(t, steadyConnections, time.Second)
	t.progress.show(1, 4, "measuring the capacity")
	capacity := measureCapacity(t, s, l, theirs)
	t.progress.show(2, 4, "offering %d times the capacity of %.0f/s", overloadFactor, capacity)
	flood(t, s, l, capacity)
	t.progress.show(3, 4, "watching it recover")
	recovery(t, l, capacity)
	_, peak := s.memory()
	t.got("peakMB", math.Round(peak))
	t.want(s.running(), "the server ended")
	return nil
}

// measureCapacity is how many requests a second are done for clients that wait
// for their answers.
func measureCapacity(t *trial, s *server, l *load, theirs cores) float64 {
	d := pick(t, 8*time.Second, 2*time.Second)
	cpuBefore, busyBefore := s.cpu(), busy(theirs)
	steady := l.closedLoop(t, steadyConnections, d)
	cpu := (s.cpu() - cpuBefore).Seconds() / d.Seconds()
	others := (busy(theirs)-busyBefore).Seconds()/d.Seconds() - cpu
	capacity := float64(steady.good) / d.Seconds()
	t.got("capacity", math.Round(capacity))
	t.got("capacityWrites", math.Round(float64(steady.created)/d.Seconds()))
	t.got("capacityP99Ms", ms(p99(steady.took)))
	t.got("capacityCPU", rounded(cpu))
	t.got("othersCPU", rounded(others)) // on the server's cores: the less, the better the measurement
	t.want(steady.good == steady.sent(), "under steady load %d of %d requests did not succeed: %s", steady.sent()-steady.good, steady.sent(), steady.first)
	return capacity
}

func flood(t *trial, s *server, l *load, capacity float64) {
	d := pick(t, 15*time.Second, 3*time.Second)
	cpuBefore, start := s.cpu(), time.Now()
	back := l.openLoop(t, floodConnections, overloadFactor*capacity, d)
	cpu := (s.cpu() - cpuBefore).Seconds() / d.Seconds()
	// Answers that came after the end do not make the flood's seconds better.
	offered, goodput := float64(back.sent())/d.Seconds(), float64(back.good)/time.Since(start).Seconds()
	t.got("offered", math.Round(offered))
	t.got("goodput", math.Round(goodput))
	t.got("goodputWrites", math.Round(float64(back.created)/time.Since(start).Seconds()))
	t.got("goodputShare", rounded(goodput/capacity))
	t.got("refused", back.refused)
	t.got("wrong", back.wrong)
	t.got("broken", back.broken)
	t.got("goodP99Ms", ms(p99(back.took)))
	t.got("overloadCPU", rounded(cpu))
	t.want(t.short || goodput >= 0.8*capacity, "goodput fell to %.0f %% of the capacity", 100*goodput/capacity)
	t.want(t.short || offered >= 0.9*overloadFactor*capacity, "only %.1f times the capacity could be offered: every connection waits for an answer", offered/capacity)
	t.want(back.wrong+back.broken == 0, "%d wrong answers and %d without one, the first: %s", back.wrong, back.broken, back.first)
}

// recovery looks at whole seconds until one of them is as good as before.
func recovery(t *trial, l *load, capacity float64) {
	const seconds = 5
	least := pick(t, 0.9, 0) * capacity
	var last tally
	for second := 1; second <= seconds; second++ {
		last = l.closedLoop(t, steadyConnections, time.Second)
		if float64(last.good) >= least && last.failed == 0 {
			t.got("recoveredAfterS", second)
			return
		}
	}
	t.problem("after %d s it did %d/s with %d 5xx", seconds, last.good, last.failed)
}

// cores are some of the processor's, from one to another.
type cores struct{ first, last int }

func (c cores) String() string { return fmt.Sprintf("%d-%d", c.first, c.last) }

func allCores() cores { return cores{0, runtime.NumCPU() - 1} }

// splitCores halves the processor's cores: for the load and for the server.
func splitCores() (mine, theirs cores) {
	n := runtime.NumCPU()
	if n == 1 {
		return allCores(), allCores()
	}
	return cores{n / 2, n - 1}, cores{0, n/2 - 1}
}

// busy is how long cores were not idle, since the machine started.
func busy(c cores) (d time.Duration) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		core, err := strconv.Atoi(strings.TrimPrefix(fields[0], "cpu"))
		if err != nil || core < c.first || core > c.last {
			continue
		}
		for i, field := range fields[1:8] {
			const idle, waiting = 3, 4
			if ticks, _ := strconv.ParseInt(field, 10, 64); i != idle && i != waiting {
				d += time.Duration(ticks) * time.Second / ticksPerSecond
			}
		}
	}
	return d
}

// pin keeps this program on some cores until it is restored.
func pin(t *trial, mine cores) (restore func(), err error) {
	set := func(c cores) error {
		out, err := exec.CommandContext(context.WithoutCancel(t.ctx), "taskset", "-a", "-p", "-c", c.String(), strconv.Itoa(os.Getpid())).CombinedOutput()
		if err != nil {
			return fmt.Errorf("taskset (Debian's package util-linux): %w: %s", err, out)
		}
		return nil
	}
	if err := set(mine); err != nil {
		return nil, err
	}
	return func() {
		if err := set(allCores()); err != nil {
			t.problem("%v", err)
		}
	}, nil
}

func rounded(x float64) float64 { return math.Round(100*x) / 100 }
