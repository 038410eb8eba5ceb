package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// comparison is a run of all contestants.
type comparison struct {
	Origin origin            `json:"origin"`
	Sites  int               `json:"sites"`
	Pages  int               `json:"pages"` // of each site
	Rounds results[figure]   `json:"rounds"`
	Memory map[string]memory `json:"memory"`
}

// memory is the resident memory of a service, in bytes: after its start, and
// after all operations.
type memory struct {
	Idle   int64 `json:"idle"`
	Loaded int64 `json:"loaded"`
}

// contestant is one of those that are measured side by side.
type contestant interface {
	name() string
	// start makes it ready for requests, with what it was loaded with before.
	start(ctx context.Context)
	// load puts the dataset in, once, while it runs.
	load(ctx context.Context, data dataset)
	// stop ends it and keeps its data.
	stop()
	// processes are those of the service, whose CPU time is compared, and those
	// of the database beside it.
	processes() (service, database []int)
	// does reports whether an operation makes sense on it.
	does(op operation) bool
	// builder creates the requests of an operation, and status is that of success.
	builder(op operation) (build builder, status int)
	headers() string // of all requests
	target() string  // its address
}

// compare measures all contestants.
func (b *bench) compare(ctx context.Context, o origin) *comparison {
	data := dataset{sites: 100, pages: 1000, locales: []string{locale}}
	if b.quick {
		data.sites = 10
	}
	c := &comparison{Origin: o, Sites: data.sites, Pages: data.pages, Memory: map[string]memory{}}
	b.contestants = b.newContestants(ctx)
	defer func() {
		for _, who := range b.contestants {
			who.stop()
		}
	}()
	// All are started anew after the load: what is measured has not just been
	// written by itself.
	for _, who := range b.contestants {
		b.status("%s: start and load %s pages", who.name(), count(data.size()))
		start := time.Now()
		who.start(ctx)
		who.load(ctx, data)
		who.stop()
		who.start(ctx)
		b.line("%s: loaded in %s", who.name(), durationText(time.Since(start)))
	}
	idle := b.memories()
	// Writes come after all rounds of reads: each round reads the same pages.
	for _, reads := range []bool{true, false} {
		for round := range b.rounds {
			for _, op := range operations {
				if op.isRead() == reads && (op.quick || !b.quick) {
					b.compareOnce(ctx, round, op, c)
				}
			}
		}
	}
	loaded := b.memories()
	for _, who := range slices.Sorted(maps.Keys(idle)) {
		c.Memory[who] = memory{idle[who], loaded[who]}
		b.line("%s: %s when idle, %s after the load", who, bytesText(idle[who]), bytesText(loaded[who]))
	}
	return c
}

func (b *bench) compareOnce(ctx context.Context, round int, op operation, c *comparison) {
	for _, who := range b.contestants {
		if !who.does(op) {
			continue
		}
		b.status("round %d of %d: %s, %s", round+1, b.rounds, op.name, who.name())
		g, isGalley := who.(*galley)
		if isGalley && op.isRead() && !g.uncached { // the cache has room for the responses of one operation
			g.stop()
			g.start(ctx)
		}
		f := b.measure(ctx, who, op)
		c.Rounds = c.Rounds.add(round, op.name, who.name(), f)
		b.line("%-27s %-30s %11s  CPU %8s  db %8s  p50 %8s  p99 %8s", op.name, who.name(), rateText(f.Rate),
			durationText(f.CPU), durationText(f.Database), durationText(f.P50), durationText(f.P99))
		if isGalley && b.profiles {
			b.printProfile(ctx, g, op, f)
		}
	}
}

func (b *bench) newContestants(ctx context.Context) []contestant {
	const store, copied = "galley", "uncached"
	cached := func(e engine) *galley { return b.galleyOn(ctx, e, store) }
	uncached := func(of *galley) *galley {
		return &galley{service: service{label: of.label + ", uncached"}, binary: b.galley, engine: of.engine, store: copied, uncached: true, of: of}
	}
	first := cached(sqlite{b.folder})
	all := []contestant{
		first, uncached(first),
		&bare{service: service{label: bareLimit}, folder: filepath.Join(b.folder, "bare"), model: first},
		&pocketbase{service: service{label: peer}, binary: b.pocketbase, folder: filepath.Join(b.folder, "pocketbase")},
	}
	if b.postgres != nil {
		second := cached(b.postgres)
		all = append(all, second, uncached(second))
	}
	return all
}

// memories reads the memory of all contestants.
func (b *bench) memories() map[string]int64 {
	found := map[string]int64{}
	for _, c := range b.contestants {
		service, _ := c.processes()
		for _, pid := range service {
			found[c.name()] += residentOf(pid)
		}
	}
	return found
}

// service is a process that is measured.
type service struct {
	label   string
	address string
	server  *server
}

func (s *service) name() string                         { return s.label }
func (s *service) target() string                       { return s.address }
func (s *service) processes() (service, database []int) { return []int{s.server.pid()}, nil } //nolint:unparam // as the interface wants
func (s *service) stop()                                { s.server.stop(syscall.SIGTERM) }

// run starts a program and waits until it listens on its address. Lines of its
// output go to a function, if there is one.
func (s *service) run(ctx context.Context, env []string, line func(string), name string, args ...string) {
	command := exec.Command(name, args...) //nolint:noctx // stop ends it by a signal
	command.Env = env
	s.server = launch(command, line)
	s.server.waitUntil(ctx, func() bool { return listens(ctx, s.address) })
}

// action is what a request does.
type action int

const (
	getByID action = iota
	getByPathname
	list
	create
	update
	batch
)

// operation is one row of the comparison, or of growth.
type operation struct {
	name      string
	action    action
	live      bool   // reads the live version, not the draft
	localized bool   // reads in a second locale
	quick     bool   // is part of the quick run
	sort      string // of a list; "": any
	deep      bool   // the list begins far down
}

const (
	connections = 32
	batchSize   = 1000
	listSize    = 20

	listLive = "list of 20, live"
)

// operations are run in this order: writes come last.
var operations = []operation{
	{name: "get by id, draft", action: getByID, quick: true},
	{name: "get by id, live", action: getByID, live: true},
	{name: "get by id, localized", action: getByID, live: true, localized: true, quick: true},
	{name: "get by pathname, draft", action: getByPathname},
	{name: "get by pathname, live", action: getByPathname, live: true, quick: true},
	{name: "get by pathname, localized", action: getByPathname, live: true, localized: true},
	{name: "list of 20", action: list},
	{name: listLive, action: list, live: true, quick: true},
	{name: "list of 20, localized", action: list, live: true, localized: true, quick: true},
	{name: "create", action: create, quick: true},
	{name: "update", action: update, quick: true},
	{name: "batch of 1,000", action: batch, quick: true},
}

// kind is the operation without the version and locale that it reads.
func (o operation) kind() string {
	switch {
	case o.isGet():
		return "get"
	case o.action == list:
		return "list of 20"
	}
	return o.name
}

func (o operation) isGet() bool  { return o.action == getByID || o.action == getByPathname }
func (o operation) isRead() bool { return o.isGet() || o.action == list }

// load is how many connections send it, and how many pages one request is
// about. A batch comes from one client, as an import does.
func (o operation) load() (clients, items int) {
	if o.action == batch {
		return 1, batchSize
	}
	return connections, 1
}

// builder creates the next request.
type builder func(r *rand.Rand) request
