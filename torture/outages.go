package main

import (
	"errors"
	"fmt"
	"time"
)

// outages are times when nodes lose their database, and what writers and
// readers meet then.
type outages struct {
	trial   *trial
	nodes   *nodes
	fleet   *fleet
	lead    time.Duration // how long all is well before the next one, at least
	count   int
	slowest time.Duration // from the end of one until every node wrote and read again
}

func newOutages(t *trial, n *nodes, lead time.Duration) (*outages, error) {
	f, err := newFleet(t, n.servers[0].addr, killWriters, killSites)
	return &outages{trial: t, nodes: n, fleet: f, lead: lead}, err
}

// next has one outage while all write and read: it begins and ends in cause.
// Then everything is read back, from any node.
func (o *outages) next(cause func() error) error {
	t := o.trial
	o.fleet.spread(o.nodes.servers)
	err := o.nodes.whileReading(func() error {
		return o.fleet.whileWriting(t, waitForServer(t), func() error {
			t.sleep(o.lead + time.Duration(t.rng.IntN(400))*time.Millisecond)
			if err := cause(); err != nil {
				return err
			}
			took, err := o.nodes.recovery()
			o.slowest = max(o.slowest, took)
			t.sleep(100 * time.Millisecond)
			return err
		})
	})
	if err != nil {
		return err
	}
	o.count++
	t.sleep(settled)
	return o.fleet.inspect(t, o.nodes.servers[t.rng.IntN(nodeCount)].addr)
}

// waitForServer lets a writer wait for the end of an outage. The server itself
// never fails.
func waitForServer(t *trial) func(*writer, error) error {
	return func(w *writer, err error) error {
		if errors.Is(err, errUnavailable) {
			err = w.persist(t)
		}
		if err != nil && !errors.Is(err, errUnexpected) {
			return fmt.Errorf("%w: a server that lives did not answer: %w", errUnexpected, err)
		}
		return err
	}
}

func (o *outages) figures(least int, within time.Duration) {
	t := o.trial
	t.got("outages", o.count)
	o.fleet.figures(t, least)
	o.nodes.figures()
	t.got("slowestRecoveryMs", ms(o.slowest))
	t.want(t.short || o.slowest <= within, "the slowest node took %s to write and read again", o.slowest)
	t.want(o.nodes.running(), "a node has ended")
}
