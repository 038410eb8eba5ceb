package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"
)

// settled is how long it takes until every node has invalidated what another one
// wrote, also where that one died before it announced the write.
const settled = 1500 * time.Millisecond

const nodeCount = 3

// nodes are several servers on one database.
type nodes struct {
	trial    *trial
	database string // its address
	flags    []string
	servers  []*server
	sample   sample
	readers  []func() tally // how to stop them
	reads    tally          // of readers that have stopped
}

func startNodes(t *trial, database string, flags ...string) *nodes {
	n := &nodes{trial: t, database: database, flags: flags, servers: make([]*server, nodeCount), readers: make([]func() tally, nodeCount)}
	for i := range n.servers {
		n.start(i)
	}
	n.sample = newSample(t, n.servers[0].addr)
	return n
}

// start starts a node; PostgreSQL knows it by its name.
func (n *nodes) start(i int) {
	address := must(url.Parse(n.database))
	query := address.Query()
	query.Set("application_name", n.name(i))
	address.RawQuery = query.Encode()
	n.servers[i] = n.trial.serve(n.name(i), append(slices.Clone(n.flags), "--database-url", address.String())...)
}

func (n *nodes) name(i int) string { return fmt.Sprintf("node-%d", i+1) }

func (n *nodes) startReader(i int) { n.readers[i] = n.sample.startReader(n.servers[i].addr) }

func (n *nodes) stopReader(i int) { n.reads.add(n.readers[i]()) }

// whileReading has a reader on each node while something is done.
func (n *nodes) whileReading(do func()) {
	for i := range n.readers {
		n.startReader(i)
	}
	do()
	for i := range n.readers {
		n.stopReader(i)
	}
}

// figures reports what the readers saw.
func (n *nodes) figures() {
	t := n.trial
	t.got("reads", n.reads.sent())
	t.got("reads503", n.reads.refused)
	t.want(n.reads.wrong+n.reads.broken == 0, "%d reads were answered wrongly and %d not at all, the first: %s", n.reads.wrong, n.reads.broken, n.reads.first)
}

// recovery waits until every node writes and reads again, and returns how long
// that took the slowest.
func (n *nodes) recovery() time.Duration {
	start := time.Now()
	took := make([]time.Duration, len(n.servers))
	parallel(len(n.servers), func(i int) {
		n.sample.probe(n.servers[i].addr)
		took[i] = time.Since(start)
	})
	return slices.Max(took)
}

// outages are times when nodes lose their database, or one of them dies, under
// writers and readers.
type outages struct {
	*trial
	nodes   *nodes
	fleet   *fleet
	name    string // of the outages, in figures
	wanted  int
	lead    time.Duration // between two outages, at least
	quota   int           // how many writes come between two outages, at least
	before  func()        // prepares each of them; nil: nothing
	count   int
	within  time.Duration // how long it may take until every node writes and reads again; 0: not measured
	slowest time.Duration // how long it took
}

func newOutages(t *trial, n *nodes, name string, wanted int, lead time.Duration) *outages {
	f := newFleet(t, n.servers[0].addr, killWriters, killSites)
	return &outages{trial: t, nodes: n, fleet: f, name: name, wanted: wanted, lead: lead}
}

// once has an outage, which begins and ends in cause, while all write and read.
// Then it reads everything back, from any node.
func (o *outages) once(handle func(*writer, error) error, cause func()) {
	o.fleet.spread(o.nodes.servers)
	o.nodes.whileReading(func() {
		o.fleet.whileWriting(o.trial, handle, func() {
			o.sleep(o.lead + time.Duration(o.rng.IntN(400))*time.Millisecond)
			o.fleet.waitForWrites(o.trial, o.quota)
			cause()
			o.sleep(100 * time.Millisecond)
		})
	})
	o.count++
	o.sleep(settled)
	o.fleet.inspect(o.trial, o.nodes.servers[o.rng.IntN(nodeCount)].addr)
	o.progress.show(o.count, o.wanted, "%d %s, %d acknowledged writes, %d lost", o.count, o.name, o.fleet.acknowledged(), o.fleet.lost())
}

// each has outages of the database, after which every node must write and read
// again within some time.
func (o *outages) each(within time.Duration, cause func()) {
	o.within = within
	for range o.wanted {
		if o.before != nil {
			o.before()
		}
		o.once(waitForServer(o.trial), func() {
			cause()
			o.slowest = max(o.slowest, o.nodes.recovery())
		})
	}
	o.fleet.inspectAll(o.trial)
}

// waitForServer is for whileWriting: a writer waits for the end of an outage.
// The server itself never fails.
func waitForServer(t *trial) func(*writer, error) error {
	return func(w *writer, err error) error {
		if errors.Is(err, errUnavailable) {
			err = w.persist(t)
		}
		if err != nil && !errors.Is(err, errUnexpected) {
			return fmt.Errorf("%w: a running server did not respond: %w", errUnexpected, err)
		}
		return err
	}
}

func (o *outages) figures(least int) {
	o.got(o.name, o.count)
	o.fleet.figures(o.trial, least)
	o.nodes.figures()
	if o.within > 0 {
		o.got("slowestRecoveryMs", ms(o.slowest))
		o.want(o.short || o.slowest <= o.within, "the slowest node took %s to write and read again", o.slowest)
	}
	for _, s := range o.nodes.servers {
		o.want(s.running(), "a node has ended")
	}
}

// sample is a site with a page, to see whether servers read and write.
type sample struct {
	trial      *trial
	site, page string
}

func newSample(t *trial, addr string) sample {
	c := newClient(addr, t.key)
	defer c.close()
	site := c.newSite("Sample")
	return sample{t, site, c.newPage(site, "/sample", "Read over and over")}
}

// startReader reads from one server, up to 400 times a second, until it is
// stopped: the page by its id, which may be cached, and lists that
// were not asked for before.
func (s sample) startReader(addr string) (stop func() tally) {
	c := newClient(addr, s.trial.key)
	list := fmt.Sprintf("/v6/pages?siteId=%s&pathPrefix=/%d/%s", s.site, s.trial.random().Uint64(), blank)
	l := &load{addr: addr, reads: [][]byte{c.request("GET", "/v6/pages/"+s.page, "")}, writes: [][]byte{c.request("GET", list, "")}, writing: 0.5}
	_, stop = l.start(s.trial, 1, 400)
	return stop
}

// probe writes and reads until both have succeeded. Any other response than 503
// with Retry-After fails the run.
func (s sample) probe(addr string) {
	t := s.trial
	c := newClient(addr, t.key)
	defer c.close()
	pathname := fmt.Sprintf("/probe/%d", t.random().Uint64())
	for _, request := range [][]byte{
		c.request("POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":%q}`, s.site, pathname), "Idempotency-Key: "+pathname),
		c.request("GET", "/v6/pages/"+s.page, ""),
	} {
		for {
			a := must(c.send(request))
			if a.status/100 == 2 {
				break
			}
			if a.status != 503 || a.retryAfter == "" {
				check(fmt.Errorf("%w: status %d, Retry-After %q: %s", errUnexpected, a.status, a.retryAfter, a.body))
			}
			check(t.ctx.Err())
			t.sleep(10 * time.Millisecond)
		}
	}
}
