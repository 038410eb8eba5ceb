package main

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

var killSQLiteRun = run{
	name: "kill-sqlite",
	target: "200 kills -9 under 16 writers, at least 50,000 acknowledged writes: none lost, none half done or doubled, " +
		"each with its audit entry, ready again within 1 s",
	short: "5 kills -9 under 16 writers, at least 1,000 acknowledged writes: none lost, none half done or doubled, " +
		"each with its audit entry, and the server is ready again (times are reported, not judged)",
	limit: 20 * time.Minute, shortLimit: 4 * time.Minute,
	do: killSQLite,
}

var killNodeRun = run{
	name: "kill-node",
	target: "20 kills -9 of one of 3 nodes on PostgreSQL, under 16 writers with at least 3,000 acknowledged writes: none lost, " +
		"none half done or doubled, each with its audit entry; the other nodes answer as expected, or 503",
	short: "the same with 3 kills and at least 100 acknowledged writes",
	limit: 10 * time.Minute, shortLimit: 4 * time.Minute,
	do: killNode,
}

var killPostgresRun = run{
	name: "kill-postgres",
	target: "PostgreSQL killed with -9 20 times under 3 nodes and 16 writers with at least 3,000 acknowledged writes: none lost, " +
		"none half done or doubled, each with its audit entry; only 503 meanwhile, and no broken connection; " +
		"every node writes and reads within 2 s after PostgreSQL accepts connections; no node is started again",
	short: "the same with 3 kills and at least 100 acknowledged writes (times are reported, not judged)",
	limit: 10 * time.Minute, shortLimit: 4 * time.Minute,
	do: killPostgres,
}

const (
	killWriters = 16
	killSites   = 4
)

func killSQLite(t *trial) { killServer(t, pick(t, 200, 5), pick(t, 50_000, 1_000), nil) }

// killServer kills the only server again and again under its writers, until the least
// number of writes is acknowledged. The receivers of webhooks, if any, hear of it.
func killServer(t *trial, kills, least int, r *receivers) {
	serve := func() *server { return t.serve("server", append(r.flags(), "--data", t.folder("data"))...) }
	s := serve()
	f := newFleet(t, s.addr, killWriters, killSites)
	r.subscribe(s.addr)
	var slowest time.Duration
	killed := 0
	defer func() {
		t.got("kills", killed)
		f.figures(t, least)
		t.got("slowestReadyMs", ms(slowest))
		t.want(t.short || r != nil || slowest <= time.Second, "the server took %s to be ready again", slowest)
	}()
	cut := func(_ *writer, err error) error {
		if errors.Is(err, errUnexpected) || errors.Is(err, errUnavailable) {
			return err
		}
		return errSitOut
	}
	for kill := range kills {
		quota := least/kills + t.rng.IntN(least/kills/5)
		if kill == kills-1 { // the last round does what is left
			quota = max(quota, least-f.acknowledged())
		}
		f.whileWriting(t, cut, func() {
			f.waitForWrites(t, quota)
			time.Sleep(time.Duration(t.rng.IntN(20_000)) * time.Microsecond)
			s.kill()
			r.killed()
		})
		killed++
		s = serve()
		slowest = max(slowest, s.ready)
		f.inspect(t, s.addr)
		t.progress.show(killed, kills, "%d kills, %d acknowledged writes, %d lost, slowest start %s", killed, f.acknowledged(), f.lost(), slowest.Round(time.Millisecond))
	}
	f.inspectAll(t)
	r.judge(s.addr)
}

func killNode(t *trial) { killNodes(t, pick(t, 20, 3), pick(t, 3_000, 100), nil) }

// killNodes kills one of several nodes again and again under their writers.
func killNodes(t *trial, kills, least int, r *receivers) {
	pg := startPostgres(t, "postgres")
	o := newOutages(t, startNodes(t, pg.url("postgres"), r.flags()...), "kills", kills, 200*time.Millisecond)
	defer func() { o.figures(least) }()
	if r != nil {
		r.subscribe(o.nodes.servers[0].addr)
		o.quota = least / kills
	}
	for range o.wanted {
		killOneNode(o, pg, t.rng.IntN(nodeCount), r)
	}
	o.fleet.inspectAll(t)
	r.judge(o.nodes.servers[0].addr)
}

// killOneNode kills a node under its writers and starts it again. A writer whose
// request had a key sends it again to another node at once, and continues there;
// the others find out later whether theirs was done.
func killOneNode(o *outages, pg *postgres, victim int, r *receivers) {
	t, n := o.trial, o.nodes
	dead, refuge := n.servers[victim].addr, n.servers[(victim+1+t.rng.IntN(nodeCount-1))%nodeCount].addr
	var killed atomic.Bool
	handle := func(w *writer, err error) error {
		switch {
		case errors.Is(err, errUnavailable):
			return w.persist(t)
		case errors.Is(err, errUnexpected):
			return err
		case w.client.addr != dead || !killed.Load():
			return fmt.Errorf("%w: a running node did not respond: %w", errUnexpected, err)
		case w.pending.key == "":
			return errSitOut
		}
		w.use(refuge)
		return w.persist(t)
	}
	o.once(handle, func() {
		n.stopReader(victim)
		killed.Store(true)
		n.servers[victim].kill()
		r.killed()
		// A commit may have been in flight when its node died.
		pg.waitUntil(fmt.Sprintf("select count(*) = 0 from pg_stat_activity where application_name = '%s'", n.name(victim)))
		n.start(victim)
		n.startReader(victim)
	})
}

func killPostgres(t *trial) {
	pg := startPostgres(t, "postgres")
	o := newOutages(t, startNodes(t, pg.url("postgres")), "outages", pick(t, 20, 3), 200*time.Millisecond)
	defer func() { o.figures(pick(t, 3_000, 100)) }()
	o.each(2*time.Second, func() {
		pg.kill()
		t.sleep(time.Duration(t.rng.IntN(500)) * time.Millisecond)
		pg.start()
	})
}

var standbyPromotedRun = run{
	name: "standby-promoted",
	target: "5 times the synchronous standby is cut off, the primary killed with -9, and the standby promoted, under 3 nodes and 16 writers with at least " +
		"1,000 acknowledged writes: none lost, none half done or doubled, each with its audit entry; only 503 meanwhile; " +
		"every node writes within 10 s of the promotion; no node is started again",
	limit: 10 * time.Minute,
	do:    standbyPromoted,
}

func standbyPromoted(t *trial) {
	// Enough of the log is kept for a standby to catch up.
	primary := startPostgres(t, "postgres-1", "wal_keep_size=512MB")
	standby := newPostgres(t, "postgres-2", primary.settings...)
	n := startNodes(t, fmt.Sprintf("postgres://postgres@%s,%s/postgres?target_session_attrs=read-write", primary.addr, standby.addr))
	o := newOutages(t, n, "outages", 5, 2*time.Second)
	o.before = func() { standby.follow(primary) }
	defer func() { o.figures(1_000) }()
	o.each(10*time.Second, func() {
		standby.cutOff(primary)
		// A write that is acknowledged now is lost.
		t.sleep(300 * time.Millisecond)
		primary.kill()
		standby.signal(syscall.SIGCONT)
		// Operators take some time to promote it.
		t.sleep(time.Duration(t.rng.IntN(1000)) * time.Millisecond)
		check(standby.exec("select pg_promote()"))
		primary, standby = standby, primary
	})
}

// follow creates a new standby of a primary, which from then on acknowledges no
// write before the standby has it on its disk.
func (p *postgres) follow(primary *postgres) {
	check(os.RemoveAll(p.data()))
	p.program("pg_basebackup", "-d", primary.url("postgres"), "-D", p.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	p.start()
	check(primary.exec("alter system set synchronous_standby_names = '*'"))
	check(primary.exec("select pg_reload_conf()"))
	primary.waitUntil("select count(*) = 1 from pg_stat_replication where sync_state = 'sync' and state = 'streaming'")
}

// cutOff ends a standby's connection to its primary, and keeps it from making
// another.
func (p *postgres) cutOff(primary *postgres) {
	p.signal(syscall.SIGSTOP)
	check(primary.exec("select pg_terminate_backend(pid) from pg_stat_replication"))
	primary.waitUntil("select count(*) = 0 from pg_stat_replication")
}
