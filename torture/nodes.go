package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"
)

// settled is when every node has heard of what was written on another, or has
// missed a node that died with its news: a second, and a beat of the silence.
const settled = 1500 * time.Millisecond

// nodes are several servers on one database.
type nodes struct {
	trial    *trial
	database string // its address
	servers  []*server
	sample   sample
	readers  []*reader
	reads    tally // of readers that have stopped
}

const nodeCount = 3

func startNodes(t *trial, database string) (*nodes, error) {
	n := &nodes{trial: t, database: database, servers: make([]*server, nodeCount), readers: make([]*reader, nodeCount)}
	for i := range n.servers {
		if err := n.start(i); err != nil {
			return nil, err
		}
	}
	var err error
	n.sample, err = newSample(t, n.servers[0].addr)
	return n, err
}

// start starts a node; PostgreSQL knows it by its name.
func (n *nodes) start(i int) (err error) {
	address, err := url.Parse(n.database)
	if err != nil {
		return err
	}
	query := address.Query()
	query.Set("application_name", n.name(i))
	address.RawQuery = query.Encode()
	n.servers[i], err = n.trial.serve(n.name(i), "--database-url", address.String(), "--app-rate", "off", "--log-level", "warn")
	return err
}

func (n *nodes) name(i int) string { return fmt.Sprintf("node-%d", i+1) }

// running tells whether every node lives.
func (n *nodes) running() bool {
	for _, s := range n.servers {
		if !s.running() {
			return false
		}
	}
	return true
}

func (n *nodes) startReader(i int) {
	n.readers[i] = n.sample.startReader(n.servers[i].addr)
}

func (n *nodes) stopReader(i int) { n.reads.add(n.readers[i].stop()) }

// whileReading has a reader on each node while something is done.
func (n *nodes) whileReading(do func() error) error {
	for i := range n.readers {
		n.startReader(i)
	}
	err := do()
	for i := range n.readers {
		n.stopReader(i)
	}
	return err
}

// figures tells what the readers saw.
func (n *nodes) figures() {
	t := n.trial
	t.got("reads", n.reads.sent())
	t.got("reads503", n.reads.refused)
	t.want(n.reads.wrong+n.reads.broken == 0, "%d reads were answered wrongly and %d not at all, the first: %s", n.reads.wrong, n.reads.broken, n.reads.first)
}

// recovery waits until every node writes and reads again, and returns how long
// that took the slowest.
func (n *nodes) recovery() (time.Duration, error) {
	start := time.Now()
	took, errs := make([]time.Duration, len(n.servers)), make([]error, len(n.servers))
	var probing sync.WaitGroup
	for i, s := range n.servers {
		probing.Go(func() {
			errs[i] = n.sample.probe(s.addr)
			took[i] = time.Since(start)
		})
	}
	probing.Wait()
	return slices.Max(took), errors.Join(errs...)
}
