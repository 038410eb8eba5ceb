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
	name: "overload",
	target: "5 times the capacity: goodput at least 80 % of it, all else 429 or 503 with Retry-After, no broken connection, " +
		"/healthz and /readyz answer 200 with a p99 of at most 100 ms, 90 % of the capacity again within 5 s and no 5xx",
	short: "5 times the capacity: only 2xx, and 429 or 503 with Retry-After, no broken connection, /healthz and /readyz answer 200, " +
		"and within 5 s no 5xx (rates and times are reported, not judged: it takes longer to measure them)",
	limit: 4 * time.Minute, shortLimit: 3 * time.Minute,
	do: func(t *trial) { overload(t, nil) },
}

var overloadPostgresRun = run{
	name: "overload-postgres", target: overloadRun.target, short: overloadRun.short,
	limit: overloadRun.limit, shortLimit: overloadRun.shortLimit,
	do: func(t *trial) { overload(t, startPostgres(t, "postgres")) },
}

const (
	steadyConnections = 32
	floodConnections  = 2000
	overloadFactor    = 5
	overloadRounds    = 5
	recoverySeconds   = 5
	// probesPerSecond is how often /healthz and /readyz are asked during a flood.
	probesPerSecond = 50
	maxProbeP99     = 100 * time.Millisecond
)

// overload runs on SQLite, or on a PostgreSQL.
func overload(t *trial, pg *postgres) {
	s, l, theirs := loadedServer(t, pg)
	l.mix()
	t.progress.show(0, overloadRounds, "warming up")
	l.during(t, steadyConnections, 0, time.Second)
	o := overloaded{trial: t, server: s, load: l, theirs: theirs, probes: map[string]*tally{"healthz": {}, "readyz": {}}}
	o.capacity()
	for round := range pick(t, overloadRounds, 1) {
		t.progress.show(round, overloadRounds, "offering %d times the capacity of %.0f/s", overloadFactor, o.before)
		o.round()
	}
	o.judge()
	_, peak := s.memory()
	t.got("peakMB", math.Round(peak))
	t.want(s.running(), "the server ended")
}

// loadedServer starts a server and a load on a half of the cores each, until the
// run ends, so that the load does not take processor time from the server. A
// PostgreSQL has the server's cores.
func loadedServer(t *trial, pg *postgres) (s *server, l *load, theirs cores) {
	mine, theirs := splitCores()
	store := []string{"--data", t.folder("data")}
	if pg != nil {
		store = []string{"--database-url", pg.url("postgres")}
		pin(t, theirs, append(pg.children(), pg.pid())...)
	}
	pin(t, mine, os.Getpid())
	t.atEnd(func() { pin(t, allCores(), os.Getpid()) })
	s = t.serveBy([]string{"taskset", "-c", theirs.String()}, "server", t.freeAddress("127.0.0.1"), store...)
	if pg != nil {
		s.database = pg.process
	}
	return s, newLoad(s.addr, t.key), theirs
}

// overloaded is what is seen of a server in some rounds. A machine's speed
// changes from one second to the next, so the capacity is measured before and
// after each flood, and the median round counts.
type overloaded struct {
	*trial
	server *server
	load   *load
	theirs cores

	before   float64           // the capacity, when it was last measured
	all      tally             // of the floods
	probes   map[string]*tally // of the floods, by endpoint
	measured struct{ capacity, goodput, share, written, offered, recovery []float64 }
}

func (o *overloaded) capacity() float64 {
	o.before = measureCapacity(o.trial, o.server, o.load, o.theirs)
	o.measured.capacity = append(o.measured.capacity, o.before)
	return o.before
}

// measureCapacity is how many requests a second are done for clients that wait
// for their responses.
func measureCapacity(t *trial, s *server, l *load, theirs cores) float64 {
	d := pick(t, 4*time.Second, time.Second)
	cpuBefore, busyBefore := s.cpu(), busy(theirs)
	steady := l.during(t, steadyConnections, 0, d)
	cpu := (s.cpu() - cpuBefore).Seconds() / d.Seconds()
	others := (busy(theirs)-busyBefore).Seconds()/d.Seconds() - cpu
	t.want(t.short || others < 0.1, "other programs took %.0f %% of the server's cores: nothing can be measured", 100*others)
	t.want(steady.good == steady.sent(), "under steady load %d of %d requests did not succeed: %s", steady.sent()-steady.good, steady.sent(), steady.first)
	return float64(steady.good) / d.Seconds()
}

// round is a flood and the recovery after it.
func (o *overloaded) round() {
	d := pick(o.trial, 10*time.Second, 2*time.Second)
	before := o.before
	stop := map[string]func() tally{}
	for name := range o.probes {
		probe := &load{addr: o.server.addr, reads: [][]byte{newClient("", "").request("GET", "/"+name, "")}}
		_, stop[name] = probe.start(o.trial, 1, probesPerSecond)
	}
	back := o.load.during(o.trial, floodConnections, overloadFactor*before, d)
	for name := range o.probes {
		o.probes[name].add(stop[name]())
	}
	goodput := float64(back.good-back.after) / d.Seconds()
	recovery := o.recovery(0.9 * before)
	capacity := (before + o.capacity()) / 2
	o.all.add(back)
	m := &o.measured
	m.goodput = append(m.goodput, goodput)
	m.share = append(m.share, goodput/capacity)
	m.written = append(m.written, float64(back.written)/d.Seconds()/(o.load.writing*capacity))
	m.offered = append(m.offered, float64(back.sent())/d.Seconds()/capacity)
	m.recovery = append(m.recovery, recovery)
}

// recovery measures whole seconds until one of them is as good as before.
func (o *overloaded) recovery(least float64) (seconds float64) {
	for seconds = 1; seconds <= recoverySeconds; seconds++ {
		last := o.load.during(o.trial, steadyConnections, 0, time.Second)
		if last.failed == 0 && (o.short || float64(last.good) >= least) {
			break
		}
	}
	return seconds
}

func (o *overloaded) judge() {
	m := &o.measured
	share, offered, recovery := median(m.share), median(m.offered), median(m.recovery)
	o.got("capacity", math.Round(median(m.capacity)))
	o.got("offeredTimes", rounded(offered))
	o.got("goodput", math.Round(median(m.goodput)))
	o.got("goodputShare", rounded(share))
	o.got("writesShare", rounded(median(m.written)))
	o.got("recoveredAfterS", recovery)
	o.got("refused", o.all.refused)
	o.got("wrong", o.all.wrong)
	o.got("broken", o.all.broken)
	o.got("goodP99Ms", ms(p99(o.all.took)))
	o.want(o.short || share >= 0.8, "goodput fell to %.0f %% of the capacity", 100*share)
	o.want(o.short || offered >= 0.9*overloadFactor, "only %.1f times the capacity could be offered: every connection waits for an answer", offered)
	o.want(recovery <= recoverySeconds, "it was not as before within %d s", recoverySeconds)
	for _, name := range []string{"healthz", "readyz"} {
		seen := o.probes[name]
		o.got(name+"P99Ms", ms(p99(seen.took)))
		o.want(seen.good == seen.sent(), "%d of %d requests of /%s failed: %s", seen.sent()-seen.good, seen.sent(), name, seen.first)
		o.want(o.short || p99(seen.took) <= maxProbeP99, "the p99 of /%s was %s", name, p99(seen.took))
	}
	o.want(o.all.wrong+o.all.broken == 0, "%d wrong answers and %d without one, the first: %s", o.all.wrong, o.all.broken, o.all.first)
}

// cores are some of the processor's, from one to another.
type cores struct{ first, last int }

func (c cores) String() string { return fmt.Sprintf("%d-%d", c.first, c.last) }

func allCores() cores { return cores{0, runtime.NumCPU() - 1} }

// splitCores halves the processor's cores: for the load and for the server. Both
// have the only one.
func splitCores() (mine, theirs cores) {
	n := runtime.NumCPU()
	return cores{n / 2, n - 1}, cores{0, max(0, n/2-1)}
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

// pin keeps processes on some cores.
func pin(t *trial, c cores, pids ...int) {
	for _, pid := range pids {
		out, err := exec.CommandContext(context.WithoutCancel(t.ctx), "taskset", "-a", "-p", "-c", c.String(), strconv.Itoa(pid)).CombinedOutput()
		t.want(err == nil, "taskset (Debian's package util-linux): %v: %s", err, out)
	}
}

func rounded(x float64) float64 { return math.Round(100*x) / 100 }
