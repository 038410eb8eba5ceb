package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

var backupRun = run{
	name: "backup",
	target: "10 backups under 8 writers, by turns of SQLite and PostgreSQL, each restored into an empty store, every other time of the " +
		"other engine: all that was acknowledged before the backup's start is there with its content, and all is of one point in time; " +
		"the writes' p99 during backups is at most 3 times the usual",
	short: "2 backups under 8 writers, of SQLite and of PostgreSQL, each restored into an empty store of the other engine: " +
		"all that was acknowledged before the backup's start is there with its content, and all is of one point in time",
	limit: 15 * time.Minute, shortLimit: 4 * time.Minute,
	do: backUp,
}

const backupWriters = 8

// engine is a database engine on which stores can be created.
type engine struct {
	name     string
	newStore func(name string) (flags []string, remove func())
}

// engines returns both, PostgreSQL on a server of the run's own.
func engines(t *trial) []engine {
	pg := startPostgres(t, "postgres")
	return []engine{
		{"sqlite", func(name string) ([]string, func()) {
			return []string{"--data", t.folder(name)}, func() { check(os.RemoveAll(t.folder(name))) }
		}},
		{"postgres", func(name string) ([]string, func()) {
			check(pg.exec("create database " + name))
			return []string{"--database-url", pg.url(name)}, func() { check(pg.exec("drop database " + name + " with (force)")) }
		}},
	}
}

func backUp(t *trial) {
	engines := engines(t)
	var sources []*source
	for _, e := range engines {
		sources = append(sources, newSource(t, e))
	}
	defer func() {
		for _, s := range sources {
			t.section(s.engine.name, func() { s.figures(t) })
		}
	}()
	backups := pick(t, 10, 2)
	for i := range backups {
		s := sources[i%2]
		s.backUp(t, t.folder("backup.galley"))
		// Every other backup is restored on the same engine.
		s.restore(t, t.folder("backup.galley"), engines[(i+1+i/2)%2])
		t.progress.show(i+1, backups, "%d backups restored, the last of %s", i+1, s.engine.name)
	}
}

// source is a server that is backed up under its writers.
type source struct {
	engine engine
	flags  []string
	server *server
	fleet  *fleet
	bulk   string // a site that no writer uses
	pages  int    // its pages

	backups       int
	usual, during []time.Duration // of writes
	taken         time.Duration   // by all backups
	before        []int           // of each writer's journal, done at the start of the last backup
	wrong         int             // writers and pages that differ in a copy
}

// newSource starts a server with so many pages that a backup takes some time.
func newSource(t *trial, e engine) *source {
	s := &source{engine: e, pages: pick(t, 50_000, 2_000)}
	s.flags, _ = e.newStore("source")
	s.server = t.serve(e.name, s.flags...)
	s.fleet = newFleet(t, s.server.addr, backupWriters, 2)
	c := newClient(s.server.addr, t.key)
	defer c.close()
	s.bulk = c.filledSite("Bulk", s.pages, func(i int) string { return fmt.Sprintf(`"pathname":"/bulk/%d","title":"Page %d"`, i, i) })
	return s
}

// backUp writes a backup while all write. The usual duration of writes is measured
// right before.
func (s *source) backUp(t *trial, file string) {
	s.before = make([]int, len(s.fleet.writers))
	for _, w := range s.fleet.writers {
		w.keepJournal()
	}
	s.fleet.whileWriting(t, fails, func() {
		t.sleep(pick(t, 2*time.Second, 500*time.Millisecond))
		for i, w := range s.fleet.writers {
			s.before[i] = int(w.journal.count.Load())
		}
		begun := time.Now()
		t.galley(slices.Concat([]string{"backup"}, s.flags, []string{file})...)
		s.taken += time.Since(begun)
	})
	s.backups++
	for i, w := range s.fleet.writers {
		s.usual = append(s.usual, w.journal.took[:s.before[i]]...)
		s.during = append(s.during, w.journal.took[s.before[i]:]...)
	}
}

// restore restores the last backup into an empty store and compares what a
// server on it returns with the journals.
func (s *source) restore(t *trial, file string, into engine) {
	flags, remove := into.newStore("restored")
	t.galley(slices.Concat([]string{"restore"}, flags, []string{file})...)
	restored := t.serve("restored", flags...)
	c := newClient(restored.addr, t.key)
	defer c.close()
	s.compare(t, c)
	restored.kill()
	remove()
}

// compare compares a restored store with the journals.
func (s *source) compare(t *trial, c *client) {
	wrong := func(format string, args ...any) {
		s.wrong++
		t.problem("backup %d of %s: %s", s.backups, s.engine.name, fmt.Sprintf(format, args...))
	}
	sites := map[string]replica{}
	for _, site := range append(s.fleet.trail.sites, s.bulk) {
		sites[site] = readReplica(c, site)
	}
	for i, w := range s.fleet.writers {
		n, err := w.match(sites[w.site])
		switch {
		case err != nil:
			wrong("writer %d: %v", w.number, err)
		case n < s.before[i]:
			wrong("writer %d had done %d writes before its start, and it has %d", w.number, s.before[i], n)
		}
	}
	for i := range s.pages {
		pathname, want := fmt.Sprintf("/bulk/%d", i), state{exists: true, title: fmt.Sprintf("Page %d", i)}
		if got := sites[s.bulk].pages[pathname]; got != want {
			wrong("%s must be %+v and is %+v", pathname, want, got)
		}
	}
}

func (s *source) figures(t *trial) {
	usual, during := p99(s.usual), p99(s.during)
	t.got("backups", s.backups)
	t.got("acknowledged", s.fleet.acknowledged())
	t.got("wrong", s.wrong)
	t.got("backupMs", ms(s.taken/time.Duration(max(1, s.backups))))
	t.got("usualP99Ms", ms(usual))
	t.got("duringP99Ms", ms(during))
	t.got("writesDuring", len(s.during))
	t.want(len(s.during) > 0, "nothing was written during the backups")
	// A short form has too few writes to judge.
	t.want(t.short || during <= 3*usual, "p99 of writes during backups is %s, usually %s", during, usual)
}
