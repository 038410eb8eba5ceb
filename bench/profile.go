package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// layers say which part of the program a function belongs to, by the beginning
// of its name. What is in none of them counts for its caller.
var layers = []struct{ prefix, name string }{
	{"internal/runtime/syscall/", "system calls: sockets, files, waiting"},
	{"runtime.gc", "memory: allocation and collection"},
	{"runtime.bg", "memory: allocation and collection"},
	{"runtime.mallocgc", "memory: allocation and collection"},
	{"runtime.schedule", "Go's scheduler"},
	{"runtime.mcall", "Go's scheduler"},
	{"runtime.futex", "Go's scheduler"},
	{"runtime.netpoll", "Go's scheduler"},
	{"modernc.org/", "SQLite"},
	{"database/sql", "database/sql"},
	{"github.com/jackc/", "pgx"},
	{"github.com/maypok86/otter", "answers in memory"},
	{"log/slog", "log"},
	{"github.com/prometheus/", "metrics"},
	{"galley/internal/httpapi.(*metrics)", "metrics"},
	{"galley/internal/cli.(*logBuffer)", "log"},
	{"galley/internal/httpapi", "httpapi: keys, limits, routes, encoding"},
	{"galley/internal/ratelimit", "limits"},
	{"galley/internal/service", "service"},
	{"galley/internal/cms", "cms: rules"},
	{"galley/internal/sqlstore", "sqlstore: statements and rows"},
	{"galley/internal/server", "server: the connection"},
	{"net/http", "net/http"},
}

const elsewhere = "elsewhere"

// layerOf finds the layer of a stack, whose first function is the innermost.
func layerOf(stack []string) string {
	for _, function := range stack {
		for _, layer := range layers {
			if strings.HasPrefix(function, layer.prefix) {
				return layer.name
			}
		}
	}
	return elsewhere
}

// share is a layer's part of the time.
type share struct {
	layer string
	part  float64
}

// sharesOf sums a profile up by layers, the largest first.
func sharesOf(p *profile.Profile) []share {
	spent := map[string]int64{}
	var all int64
	for _, sample := range p.Sample {
		var stack []string
		for _, location := range sample.Location {
			for _, line := range location.Line {
				stack = append(stack, line.Function.Name)
			}
		}
		took := sample.Value[len(sample.Value)-1]
		spent[layerOf(stack)] += took
		all += took
	}
	var shares []share
	for layer, took := range spent {
		shares = append(shares, share{layer, float64(took) / float64(all)})
	}
	slices.SortFunc(shares, func(a, b share) int { return int(1e6 * (b.part - a.part)) })
	return shares
}

// printProfile loads a Galley once more, and prints where its time went. What is
// measured is measured without a profiler.
func (b *bench) printProfile(ctx context.Context, g *galley, op operation, f figure) {
	build, status := g.builder(op)
	clients, _ := op.load()
	var text []byte
	newGenerator(g.address, g.headers(), clients, status, build).runBeside(ctx, time.Hour, func() {
		g.call(ctx, "GET", fmt.Sprintf("/debug/pprof/profile?seconds=%d", max(1, int(b.lengths.measured.Seconds()))), nil, &text)
	})
	b.line("%s: %s of the processor for each", op.name, durationText(f.CPU))
	for _, s := range sharesOf(must(profile.ParseData(text))) {
		b.line("  %6.1f us  %3.0f %%  %s", s.part*float64(f.CPU)/1e3, 100*s.part, s.layer)
	}
}
