package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

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
	o := newOutages(t, n, 2*time.Second)
	o.before = func() { standby.follow(primary) }
	defer func() { o.figures(1_000, 10*time.Second) }()
	o.each(5, "promotions", func() {
		standby.cutOff(primary)
		// A write that is acknowledged now is lost.
		t.sleep(300 * time.Millisecond)
		primary.kill()
		standby.signal(syscall.SIGCONT)
		// Operators take some time to promote it.
		t.sleep(time.Duration(t.rng.IntN(1000)) * time.Millisecond)
		check(standby.exec("postgres", "select pg_promote()"))
		primary, standby = standby, primary
	})
}

// follow makes a new standby of a primary, which from then on answers no write
// before the standby has it on its disk.
func (p *postgres) follow(primary *postgres) {
	check(os.RemoveAll(p.data()))
	p.program("pg_basebackup", "-d", primary.url("postgres"), "-D", p.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	p.start()
	check(primary.exec("postgres", "alter system set synchronous_standby_names = '*'"))
	check(primary.exec("postgres", "select pg_reload_conf()"))
	primary.waitUntil("select count(*) = 1 from pg_stat_replication where sync_state = 'sync' and state = 'streaming'")
}

// cutOff ends a standby's connection to its primary, and keeps it from making
// another.
func (p *postgres) cutOff(primary *postgres) {
	p.signal(syscall.SIGSTOP)
	check(primary.exec("postgres", "select pg_terminate_backend(pid) from pg_stat_replication"))
	primary.waitUntil("select count(*) = 0 from pg_stat_replication")
}
