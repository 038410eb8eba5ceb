package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

var levelRun = run{
	name: "level",
	target: "30 minutes at half of the capacity: goroutines, file descriptors, heap and resident memory level " +
		"(median of the last quarter against that of the second), no request fails",
	short: "20 s at half of the capacity: no request fails (levels are reported, not judged: it takes longer to see them)",
	limit: 40 * time.Minute, shortLimit: 3 * time.Minute,
	do: level,
}

// levelShare is how much more the last quarter may have, beside the slack of
// each gauge.
const levelShare = 0.1

// gauge is a metric that must not grow.
type gauge struct {
	name, metric string
	unit         float64
	slack        float64 // by how much it varies at any time
	seen         []float64
}

// read reads the gauge's metric, which has no labels.
func (g *gauge) read(metrics string) {
	for line := range strings.Lines(metrics) {
		if text, ok := strings.CutPrefix(line, g.metric+" "); ok {
			g.seen = append(g.seen, must(strconv.ParseFloat(strings.TrimSpace(text), 64))/g.unit)
			return
		}
	}
	check(fmt.Errorf("there is no metric %s", g.metric))
}

func level(t *trial) {
	s, l, theirs := loadedServer(t, nil)
	l.during(t, steadyConnections, 0, time.Second)
	capacity := measureCapacity(t, s, l, theirs)
	t.got("capacity", math.Round(capacity))
	gauges := []*gauge{
		{name: "goroutines", metric: "go_goroutines", unit: 1, slack: 20},
		{name: "files", metric: "process_open_fds", unit: 1, slack: 10},
		{name: "heapMB", metric: "go_memstats_heap_alloc_bytes", unit: 1 << 20, slack: 8},
		{name: "residentMB", metric: "process_resident_memory_bytes", unit: 1 << 20, slack: 32},
	}
	_, stop := l.start(t, steadyConnections, capacity/2)
	watchLevels(t, s, gauges)
	back := stop()
	t.got("requests", back.sent())
	t.got("created", back.created)
	t.got("p99Ms", ms(p99(back.took)))
	t.got("refused", back.refused)
	t.want(back.wrong+back.broken == 0, "%d of %d requests failed: %s", back.wrong+back.broken, back.sent(), back.first)
	for _, g := range gauges {
		g.judge(t)
	}
	t.want(s.running(), "the server ended")
}

// watchLevels reads the gauges at intervals.
func watchLevels(t *trial, s *server, gauges []*gauge) {
	c := newClient(s.addr, t.key)
	defer c.close()
	d, every := pick(t, 30*time.Minute, 20*time.Second), pick(t, 5*time.Second, time.Second)
	for start := time.Now(); time.Since(start) < d; t.sleep(every) {
		check(t.ctx.Err())
		metrics := must(c.do("GET", "/metrics", ""))
		var now []string
		for _, g := range gauges {
			g.read(string(metrics.body))
			now = append(now, fmt.Sprintf("%s %.0f", g.name, g.seen[len(g.seen)-1]))
		}
		t.progress.show(int(time.Since(start)/time.Second), int(d/time.Second), "%s", strings.Join(now, ", "))
	}
}

// judge compares the median of the last quarter with that of the second: in the
// first, memory is still being filled.
func (g *gauge) judge(t *trial) {
	quarter := len(g.seen) / 4
	if quarter == 0 {
		t.problem("%s was read only %d times", g.name, len(g.seen))
		return
	}
	before, after := median(g.seen[quarter:2*quarter]), median(g.seen[3*quarter:])
	t.got(g.name, fmt.Sprintf("%.1f, then %.1f", before, after))
	t.want(t.short || after <= before*(1+levelShare)+g.slack, "%s grew from %.1f to %.1f", g.name, before, after)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
