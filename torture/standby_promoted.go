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

func standbyPromoted(t *trial) error {
	// Enough of the log is kept for a standby to catch up.
	primary, err := startPostgres(t, "postgres-1", "wal_keep_size=512MB")
	if err != nil {
		return err
	}
	standby, err := newPostgres(t, "postgres-2", primary.settings...)
	if err != nil {
		return err
	}
	if err := standby.follow(primary); err != nil {
		return err
	}
	n, err := startNodes(t, fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?target_session_attrs=read-write", primary.port, standby.port))
	if err != nil {
		return err
	}
	o, err := newOutages(t, n, 2*time.Second)
	if err != nil {
		return err
	}
	const promotions = 5
	defer func() { o.figures(1_000, 10*time.Second) }()
	for range promotions {
		err := o.next(func() error {
			if err := standby.cutOff(primary); err != nil {
				return err
			}
			// What is answered now is lost.
			t.sleep(300 * time.Millisecond)
			primary.kill()
			standby.signal(syscall.SIGCONT)
			// Somebody has to notice first.
			t.sleep(time.Duration(t.rng.IntN(1000)) * time.Millisecond)
			return standby.exec("postgres", "select pg_promote()")
		})
		if err != nil {
			return err
		}
		primary, standby = standby, primary
		if err := standby.follow(primary); err != nil {
			return err
		}
		t.progress.show(o.count, promotions, "%d promotions, %d acknowledged writes, %d lost, slowest recovery %s", o.count, o.fleet.acknowledged(), o.fleet.lost(), o.slowest.Round(time.Millisecond))
	}
	return o.fleet.inspectAll(t)
}

// follow makes a new standby of a primary, which from then on answers no write
// before the standby has it on its disk.
func (p *postgres) follow(primary *postgres) error {
	if err := os.RemoveAll(p.data()); err != nil {
		return err
	}
	if err := p.program("pg_basebackup", "-d", primary.url("postgres"), "-D", p.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync"); err != nil {
		return err
	}
	if err := p.start(); err != nil {
		return err
	}
	for _, statement := range []string{"alter system set synchronous_standby_names = '*'", "select pg_reload_conf()"} {
		if err := primary.exec("postgres", statement); err != nil {
			return err
		}
	}
	return primary.waitUntil("select count(*) = 1 from pg_stat_replication where sync_state = 'sync' and state = 'streaming'")
}

// cutOff ends a standby's connection to its primary, and keeps it from making
// another.
func (p *postgres) cutOff(primary *postgres) error {
	p.signal(syscall.SIGSTOP)
	if err := primary.exec("postgres", "select pg_terminate_backend(pid) from pg_stat_replication"); err != nil {
		return err
	}
	return primary.waitUntil("select count(*) = 0 from pg_stat_replication")
}

// signal sends a signal to all of the server's processes.
func (p *postgres) signal(s syscall.Signal) {
	for _, pid := range append(p.children(), p.pid()) {
		_ = syscall.Kill(pid, s) // one may have ended
	}
}
