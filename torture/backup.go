package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

var backupRun = run{
	name: "backup",
	target: "10 backups under 8 writers, by turns of SQLite and PostgreSQL, each restored into an empty store, every other time of the " +
		"other engine: all that was acknowledged before the backup's start is there with its content, and all is of one moment; " +
		"the writes' p99 during backups is at most 3 times the usual",
	short: "2 backups under 8 writers, of SQLite and of PostgreSQL, each restored into an empty store of the other engine: " +
		"all that was acknowledged before the backup's start is there with its content, and all is of one moment",
	limit: 15 * time.Minute, shortLimit: 4 * time.Minute,
	do: backUp,
}

const (
	backupWriters = 8
	batchSize     = 1000
)

// engine is a database engine on which stores can be made.
type engine struct {
	name     string
	newStore func(name string) (flags []string, remove func() error, err error)
}

// engines are both, PostgreSQL on a server of the run's own.
func engines(t *trial) ([]engine, error) {
	pg, err := startPostgres(t, "postgres")
	if err != nil {
		return nil, err
	}
	return []engine{
		{"sqlite", func(name string) ([]string, func() error, error) {
			return []string{"--data", t.folder(name)}, func() error { return os.RemoveAll(t.folder(name)) }, nil
		}},
		{"postgres", func(name string) ([]string, func() error, error) {
			return []string{"--database-url", pg.url(name)}, func() error {
				return pg.exec("postgres", "drop database "+name+" with (force)")
			}, pg.exec("postgres", "create database "+name)
		}},
	}, nil
}

func backUp(t *trial) error {
	engines, err := engines(t)
	if err != nil {
		return err
	}
	var sources []*source
	for _, e := range engines {
		s, err := newSource(t, e)
		if err != nil {
			return err
		}
		sources = append(sources, s)
	}
	defer func() {
		for _, s := range sources {
			t.section(s.engine.name, func() { s.figures(t) })
		}
	}()
	backups := pick(t, 10, 2)
	for i := range backups {
		s := sources[i%2]
		if err := s.backUp(t, t.folder("backup.galley")); err != nil {
			return err
		}
		// By turns the other engine and the same.
		if err := s.restore(t, t.folder("backup.galley"), engines[(i+1+i/2)%2]); err != nil {
			return err
		}
		t.progress.show(i+1, backups, "%d backups restored, the last of %s", i+1, s.engine.name)
	}
	return nil
}

// source is a server that is backed up under its writers.
type source struct {
	engine engine
	flags  []string
	server *server
	fleet  *fleet
	bulk   string // a site that nobody writes to
	pages  int    // its pages

	backups       int
	usual, during []time.Duration // what writes took
	taken         time.Duration   // by all backups
	before        []int           // of each writer's journal, done at the start of the last backup
	wrong         int             // writers and pages that a copy tells otherwise
}

func newSource(t *trial, e engine) (*source, error) {
	s := &source{engine: e, pages: pick(t, 50*batchSize, 2*batchSize)}
	var err error
	if s.flags, _, err = e.newStore("source"); err != nil {
		return nil, err
	}
	if s.server, err = t.serve(e.name, append(s.flags, "--app-rate", "off", "--log-level", "warn")...); err != nil {
		return nil, err
	}
	if s.fleet, err = newFleet(t, s.server.addr, backupWriters, 2); err != nil {
		return nil, err
	}
	return s, s.fill(t)
}

// fill makes pages, so that a backup takes its time.
func (s *source) fill(t *trial) (err error) {
	c := newClient(s.server.addr, t.key)
	defer c.close()
	if s.bulk, err = c.newSite("Bulk"); err != nil {
		return err
	}
	for first := 0; first < s.pages; first += batchSize {
		var operations []string
		for i := first; i < first+batchSize; i++ {
			operations = append(operations, fmt.Sprintf(`{"op":"create","pathname":"/bulk/%d","title":"Page %d"}`, i, i))
		}
		if err := c.must(200, "POST", "/v6/pages/batch", fmt.Sprintf(`{"siteId":%q,"operations":[%s]}`, s.bulk, strings.Join(operations, ",")), nil); err != nil {
			return err
		}
	}
	return nil
}

// backUp writes a backup while all write. What writes take otherwise is measured
// right before.
func (s *source) backUp(t *trial, file string) error {
	// Nothing fails here, so nothing is to be settled.
	fail := func(_ *writer, err error) error { return err }
	s.before = make([]int, len(s.fleet.writers))
	for _, w := range s.fleet.writers {
		w.keepJournal()
	}
	err := s.fleet.whileWriting(t, fail, func() error {
		t.sleep(pick(t, 2*time.Second, 500*time.Millisecond))
		for i, w := range s.fleet.writers {
			s.before[i] = int(w.journal.count.Load())
		}
		begun := time.Now()
		err := t.galley("backup", append(slices.Clone(s.flags), file)...)
		s.taken += time.Since(begun)
		return err
	})
	if err != nil {
		return err
	}
	s.backups++
	for i, w := range s.fleet.writers {
		s.usual = append(s.usual, w.journal.took[:s.before[i]]...)
		s.during = append(s.during, w.journal.took[s.before[i]:]...)
	}
	return nil
}

// restore restores the last backup into an empty store and holds what a server
// on it tells against the journals.
func (s *source) restore(t *trial, file string, into engine) error {
	flags, remove, err := into.newStore("restored")
	if err != nil {
		return err
	}
	if err := t.galley("restore", append(slices.Clone(flags), file)...); err != nil {
		return err
	}
	restored, err := t.serve("restored", append(flags, "--app-rate", "off", "--log-level", "warn")...)
	if err != nil {
		return err
	}
	c := newClient(restored.addr, t.key)
	defer c.close()
	if err := s.hold(t, c); err != nil {
		return err
	}
	restored.kill()
	return remove()
}

// hold holds a restored store against the journals.
func (s *source) hold(t *trial, c *client) error {
	sites := map[string]replica{}
	for _, site := range slices.Concat(s.fleet.trail.sites, []string{s.bulk}) {
		var err error
		if sites[site], err = readReplica(c, site); err != nil {
			return err
		}
	}
	for i, w := range s.fleet.writers {
		n, err := w.match(sites[w.site])
		switch {
		case err != nil:
			s.wrong++
			t.problem("backup %d of %s: writer %d: %v", s.backups, s.engine.name, w.number, err)
		case n < s.before[i]:
			s.wrong++
			t.problem("backup %d of %s: writer %d had done %d writes before its start, and it has %d", s.backups, s.engine.name, w.number, s.before[i], n)
		}
	}
	for i := range s.pages {
		pathname, want := fmt.Sprintf("/bulk/%d", i), state{exists: true, title: fmt.Sprintf("Page %d", i)}
		if got := sites[s.bulk].pages[pathname]; got != want {
			s.wrong++
			t.problem("backup %d of %s: %s must be %+v and is %+v", s.backups, s.engine.name, pathname, want, got)
		}
	}
	return nil
}

// slower is how much slower writes may be during a backup.
const slower = 3

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
	t.want(t.short || during <= slower*usual, "p99 of writes during backups is %s, usually %s", during, usual)
}
