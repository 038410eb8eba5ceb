package main

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

var killNodeRun = run{
	name: "kill-node",
	target: "20 kills -9 of one of 3 nodes on PostgreSQL, under 16 writers with at least 3,000 acknowledged writes: none lost, " +
		"none half done or doubled, each with its audit entry; the other nodes answer as expected, or 503",
	short: "3 kills -9 of one of 3 nodes on PostgreSQL, under 16 writers with at least 100 acknowledged writes: none lost, " +
		"none half done or doubled, each with its audit entry; the other nodes answer as expected, or 503",
	limit: 10 * time.Minute, shortLimit: 4 * time.Minute,
	do: killNode,
}

func killNode(t *trial) error {
	kills, least := pick(t, 20, 3), pick(t, 3_000, 100)
	pg, err := startPostgres(t, "postgres")
	if err != nil {
		return err
	}
	n, err := startNodes(t, pg.url("postgres"))
	if err != nil {
		return err
	}
	f, err := newFleet(t, n.servers[0].addr, killWriters, killSites)
	if err != nil {
		return err
	}
	killed := 0
	defer func() {
		t.got("kills", killed)
		f.figures(t, least)
		n.figures()
	}()
	for range kills {
		f.spread(n.servers)
		victim := t.rng.IntN(nodeCount)
		if err := n.whileReading(func() error { return killOneNode(t, pg, n, f, victim) }); err != nil {
			return err
		}
		killed++
		t.sleep(settled)
		if err := f.inspect(t, n.servers[t.rng.IntN(nodeCount)].addr); err != nil {
			return err
		}
		t.progress.show(killed, kills, "%d kills, %d acknowledged writes, %d lost", killed, f.acknowledged(), f.lost())
	}
	return f.inspectAll(t)
}

// killOneNode kills a node under its writers and starts it again. Who had sent
// a request with a key sends it again to another node at once, and goes on
// there; the others find out later what became of theirs.
func killOneNode(t *trial, pg *postgres, n *nodes, f *fleet, victim int) error {
	dead, refuge := n.servers[victim].addr, n.servers[(victim+1+t.rng.IntN(nodeCount-1))%nodeCount].addr
	var killed atomic.Bool
	meet := func(w *writer, err error) error {
		switch {
		case errors.Is(err, errUnavailable):
			return w.persist(t)
		case errors.Is(err, errUnexpected):
			return err
		case w.client.addr != dead || !killed.Load():
			return fmt.Errorf("%w: a node that lives did not answer: %w", errUnexpected, err)
		case w.pending.key == "":
			return errSitOut
		}
		w.use(refuge)
		return w.persist(t)
	}
	return f.whileWriting(t, meet, func() error {
		t.sleep(time.Duration(200+t.rng.IntN(400)) * time.Millisecond)
		n.stopReader(victim)
		killed.Store(true)
		n.servers[victim].kill()
		// A commit may have been on its way when its node died.
		if err := pg.waitUntil(fmt.Sprintf("select count(*) = 0 from pg_stat_activity where application_name = '%s'", n.name(victim))); err != nil {
			return err
		}
		if err := n.start(victim); err != nil {
			return err
		}
		n.startReader(victim)
		t.sleep(100 * time.Millisecond)
		return nil
	})
}
