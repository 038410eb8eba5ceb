package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

var migrationRun = run{
	name: "migration",
	target: "1,000,000 pages of the version before the newest migration, which serves at half load: the new version is killed 5 times while it " +
		"migrates, then migrates to the end; no 5xx, nobody waits for a lock for over 1 s, every page is there",
	short: "the same with 20,000 pages and 2 kills (waits are told, not judged)",
	limit: 20 * time.Minute, shortLimit: 5 * time.Minute,
	lacking: lackingHistory,
	do:      migration,
}

// lackingHistory tells whether the checkout does not know the version before.
func lackingHistory() string {
	if _, err := previousVersion(context.Background()); err != nil {
		return "the repository's history"
	}
	return ""
}

const (
	migrationsFolder = "internal/sqlstore/migrations"

	migrationPages, migrationShortPages = 1_000_000, 20_000
	migrationSites                      = 100
	migrationConnections                = 16
	// longestWait is how long anybody may wait for a lock.
	longestWait = time.Second
)

func migration(t *trial) error {
	old, commit, err := buildPrevious(t)
	if err != nil {
		return err
	}
	t.got("previous", commit)
	pg, err := startPostgres(t, "postgres", "shared_buffers=256MB", "max_wal_size=8GB") // a million pages want some room
	if err != nil {
		return err
	}
	settings := []string{"--database-url", pg.url("postgres"), "--app-rate", "off", "--log-level", "warn"}
	current := t.binary
	t.binary = old
	previous, err := t.serve("previous", settings...)
	t.binary = current
	if err != nil {
		return err
	}
	m := &migrating{trial: t, pg: pg, settings: settings}
	if m.before, err = m.version(); err != nil {
		return err
	}
	l, err := m.fill(previous)
	if err != nil {
		return err
	}
	warm := l.closedLoop(t, migrationConnections, 2*time.Second)
	steady := l.closedLoop(t, migrationConnections, pick(t, 5*time.Second, 2*time.Second))
	capacity := float64(steady.good) / pick(t, 5., 2.)
	t.got("capacity", math.Round(capacity))
	waits := m.watchWaits()
	usual := l.openLoop(t, migrationConnections, capacity/2, pick(t, 10*time.Second, 3*time.Second))
	waits.got("usualLongestWaitMs")
	t.got("usualSlowestMs", ms(usual.slowest()))

	back, err := l.during(t, migrationConnections, capacity/2, func(*atomic.Int64) error { return m.migrate() })
	longest := waits.got("longestWaitMs")
	waits.stop()
	t.got("requests", back.sent())
	t.got("5xx", back.failed)
	t.got("slowestMs", ms(back.slowest()))
	if err != nil {
		return err
	}
	t.want(back.good == back.sent(), "%d of %d requests failed: %s", back.sent()-back.good, back.sent(), back.first)
	t.want(t.short || longest <= longestWait, "somebody waited %s for a lock", longest)
	return m.check(l, warm.created+steady.created+usual.created+back.created)
}

// previousVersion is the commit before the one that added the newest migration.
func previousVersion(ctx context.Context) (commit string, err error) {
	files, err := filepath.Glob(migrationsFolder + "/*.sql")
	if err != nil || len(files) == 0 {
		return "", errors.New("run this in the folder of the sources: " + migrationsFolder + " is not here")
	}
	added, err := git(ctx, "log", "--diff-filter=A", "--format=%H", "-1", "--", files[len(files)-1])
	if err != nil {
		return "", err
	}
	if added == "" {
		return git(ctx, "rev-parse", "--short", "HEAD") // the newest is not committed yet
	}
	return git(ctx, "rev-parse", "--short", added+"^")
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("this run needs the repository's history: git %s: %w: %s", args[0], err, lastLine(out))
	}
	return strings.TrimSpace(string(out)), nil
}

// buildPrevious builds the version before.
func buildPrevious(t *trial) (program, commit string, err error) {
	if commit, err = previousVersion(t.ctx); err != nil {
		return "", "", err
	}
	sources, archive := t.folder("previous-sources"), t.folder("previous.tar")
	if _, err := git(t.ctx, "archive", "--output", archive, commit); err != nil {
		return "", "", err
	}
	if err := os.Mkdir(sources, 0o755); err != nil {
		return "", "", err
	}
	t.progress.show(0, 1, "building the version of %s", commit)
	if out, err := exec.CommandContext(t.ctx, "tar", "-xf", archive, "-C", sources).CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("tar: %w: %s", err, out)
	}
	program = t.folder("galley-previous")
	if out, err := exec.CommandContext(t.ctx, "go", "build", "-C", sources, "-buildvcs=false", "-o", program, "./cmd/galley").CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, commit, nil
}

// migrating is a database on its way to the newest schema.
type migrating struct {
	trial    *trial
	pg       *postgres
	settings []string
	before   int // the schema's version
}

// fill makes sites over REST, each with a page, and copies of that page in the
// database, which is much faster.
func (m *migrating) fill(s *server) (*load, error) {
	t := m.trial
	l, err := newLoad(s.addr, t.key)
	if err != nil {
		return nil, err
	}
	c := newClient(s.addr, t.key)
	defer c.close()
	pages := pick(t, migrationPages, migrationShortPages)
	for site := range migrationSites {
		id, err := c.newSite(fmt.Sprintf("Site %d", site))
		if err == nil {
			_, err = c.newPage(id, "/many/0", "One of many")
		}
		if err == nil {
			err = m.pg.exec("postgres", fmt.Sprintf(copyPages, id, pages/migrationSites-1))
		}
		if err != nil {
			return nil, err
		}
		t.progress.show(site, migrationSites, "%d pages", (site+1)*pages/migrationSites)
	}
	if err := m.pg.exec("postgres", "vacuum analyze"); err != nil {
		return nil, err
	}
	there, err := m.ask("select count(*)::text from page where pathname like '/many/%'")
	if err != nil {
		return nil, err
	}
	t.got("pages", there)
	t.want(there == strconv.Itoa(pages), "%s pages were made, want %d", there, pages)
	// What is read is some of the many.
	ids, err := m.ask("select string_agg(id::text, ' ') from (select id from page where pathname like '/many/%' order by random() limit 500) as chosen")
	l.reads = nil
	for id := range strings.FieldsSeq(ids) {
		l.reads = append(l.reads, c.request("GET", "/v6/pages/"+id, ""))
	}
	return l, err
}

// copyPages makes copies of a site's one page.
const copyPages = `with copies as (
		select gen_random_uuid() as id, '/many/' || n as path, site.id as site from site, generate_series(1, %[2]d) as n where site.id = '%[1]s'),
	pages as (insert into page select (jsonb_populate_record(p, jsonb_build_object('id', c.id, 'pathname', c.path))).*
		from page as p join copies as c on p.site_id = c.site),
	pathnames as (insert into pathname select (jsonb_populate_record(p, jsonb_build_object('owner_id', c.id, 'pathname', c.path))).*
		from pathname as p join copies as c on p.site_id = c.site)
	insert into directory select id, site, 'page' from copies`

// ask returns the one text that a query answers with.
func (m *migrating) ask(query string) (text string, err error) {
	err = m.pg.connected("postgres", func(c *pgx.Conn) error { return c.QueryRow(m.trial.ctx, query).Scan(&text) })
	return text, err
}

func (m *migrating) version() (int, error) {
	text, err := m.ask("select max(version_id)::text from goose_db_version where is_applied")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// migrate starts the new version and kills it in the middle, a few times, and
// lets it come to its end then.
func (m *migrating) migrate() error {
	t := m.trial
	kills := pick(t, 5, 2)
	for kill := range kills {
		if err := m.killInTheMiddle(); err != nil {
			return err
		}
		t.progress.show(kill, kills, "%d kills", kill+1)
	}
	t.got("kills", kills)
	version, err := m.version()
	if err != nil {
		return err
	}
	t.want(version == m.before, "a migration that was killed left version %d", version)
	t.sleep(time.Second)
	s, err := t.serve("new", m.settings...)
	if err != nil {
		return err
	}
	t.got("readyMs", ms(s.ready))
	version, err = m.version()
	t.got("versions", fmt.Sprintf("%d to %d", m.before, version))
	t.want(version > m.before, "the schema is still at version %d", version)
	t.sleep(pick(t, 5*time.Second, time.Second)) // the old one goes on
	return err
}

// killInTheMiddle kills the new version while it waits for a table that
// somebody reads all the time: all that comes before is done by then.
func (m *migrating) killInTheMiddle() error {
	t := m.trial
	return m.pg.connected("postgres", func(c *pgx.Conn) error {
		reader, err := c.Begin(t.ctx)
		if err != nil {
			return err
		}
		defer func() { _ = reader.Rollback(context.WithoutCancel(t.ctx)) }() // it only read
		// The last table of the newest migration.
		if _, err := reader.Exec(t.ctx, "lock table publish in access share mode"); err != nil {
			return err
		}
		cmd := exec.CommandContext(t.ctx, t.binary, append([]string{"serve", "--addr", "127.0.0.1:0"}, m.settings...)...)
		cmd.Dir, cmd.Env = t.dir, t.environment()
		p, err := t.launch(cmd)
		if err != nil {
			return err
		}
		defer p.kill()
		for p.running() && t.ctx.Err() == nil {
			waits, err := m.ask("select (count(*) > 0)::text from pg_locks where not granted and mode = 'AccessExclusiveLock'")
			if err != nil {
				return err
			}
			if waits == "true" {
				// Long enough that a migration which does not give way is seen.
				t.sleep(longestWait + time.Duration(500+t.rng.IntN(500))*time.Millisecond)
				return nil
			}
			t.sleep(time.Millisecond)
		}
		return errors.New("the new version did not wait for a table that is in use")
	})
}

// check reads what there is through the new version.
func (m *migrating) check(l *load, created int64) error {
	t := m.trial
	s, err := t.serve("another", m.settings...)
	if err != nil {
		return err
	}
	l.addr = s.addr
	read := l.closedLoop(t, migrationConnections, time.Second)
	t.want(read.good == read.sent(), "of the new version's answers %d of %d are wrong: %s", read.sent()-read.good, read.sent(), read.first)
	there, err := l.count()
	if err != nil {
		return err
	}
	t.want(int64(there) == created+read.created, "%d pages are there, and %d were made", there, created+read.created)
	return nil
}

// waits watches how long anybody waits for a lock.
type waits struct {
	trial   *trial
	longest atomic.Int64
	done    chan struct{}
	ended   chan struct{}
}

const waitsEvery = 10 * time.Millisecond

func (m *migrating) watchWaits() *waits {
	w := &waits{trial: m.trial, done: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		err := m.pg.connected("postgres", func(c *pgx.Conn) error {
			for {
				select {
				case <-w.done:
					return nil
				case <-time.After(waitsEvery):
				}
				var us int64
				if err := c.QueryRow(m.trial.ctx, `select coalesce(max(extract(epoch from clock_timestamp() - waitstart) * 1e6), 0)::bigint
					from pg_locks where not granted`).Scan(&us); err != nil {
					return err
				}
				w.longest.Store(max(w.longest.Load(), us))
			}
		})
		if err != nil {
			m.trial.problem("watching locks: %v", err)
		}
	}()
	return w
}

// got notes the longest wait so far, and begins anew.
func (w *waits) got(name string) time.Duration {
	longest := time.Duration(w.longest.Swap(0)) * time.Microsecond
	w.trial.got(name, ms(longest))
	return longest
}

func (w *waits) stop() {
	close(w.done)
	<-w.ended
}
