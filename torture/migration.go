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
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

var migrationRun = run{
	name: "migration",
	target: "1,000,000 pages of the version before the newest migrations, which serves at half load: the new version is killed 5 times while it " +
		"migrates, then migrates to the end; no 5xx, no session waits for a lock for over 1 s, every page is there",
	short: "the same with 20,000 pages and 2 kills (waits are reported, not judged)",
	limit: 20 * time.Minute, shortLimit: 10 * time.Minute, // a busy machine takes minutes to build the version before
	lacking: lackingHistory,
	do:      migration,
}

// lackingHistory reports a checkout without the version before.
func lackingHistory() string {
	if _, err := previousVersion(context.Background()); err != nil {
		return "the repository's history"
	}
	return ""
}

const (
	migrationsFolder     = "internal/sqlstore/migrations"
	migrationSites       = 100
	migrationConnections = 16
	longestWait          = time.Second // of a session for a lock
)

func migration(t *trial) {
	old, commit := buildPrevious(t)
	t.got("previous", commit)
	pg := startPostgres(t, "postgres", "shared_buffers=256MB", "max_wal_size=8GB") // a million pages want some room
	current := t.binary
	t.binary = old
	previous := t.serve("previous", "--database-url", pg.url("postgres"))
	t.binary = current
	m := &migrating{trial: t, pg: pg}
	m.before = m.version()
	l := m.fill(previous)
	warm := l.during(t, migrationConnections, 0, 2*time.Second)
	steady := l.during(t, migrationConnections, 0, pick(t, 5*time.Second, 2*time.Second))
	capacity := float64(steady.good) / pick(t, 5., 2.)
	t.got("capacity", math.Round(capacity))
	waits := m.watchWaits()
	usual := l.during(t, migrationConnections, capacity/2, pick(t, 10*time.Second, 3*time.Second))
	waits.got("usualLongestWaitMs")
	t.got("usualSlowestMs", ms(usual.slowest()))

	_, stop := l.start(t, migrationConnections, capacity/2)
	m.migrate()
	back := stop()
	longest := waits.got("longestWaitMs")
	waits.stop()
	t.got("requests", back.sent())
	t.got("5xx", back.failed)
	t.got("slowestMs", ms(back.slowest()))
	t.want(back.good == back.sent(), "%d of %d requests failed: %s", back.sent()-back.good, back.sent(), back.first)
	t.want(t.short || longest <= longestWait, "a session waited %s for a lock", longest)
	m.check(l, warm.created+steady.created+usual.created+back.created)
}

// newestMigrations is how many migrations the run goes through. The oldest of them
// change tables that are in use; one that only adds a table waits for none.
const newestMigrations = 11

// previousVersion is the commit before the ones that added the newest migrations.
func previousVersion(ctx context.Context) (commit string, err error) {
	files, err := filepath.Glob(migrationsFolder + "/*.sql")
	if err != nil || len(files) < newestMigrations {
		return "", errors.New("run this in the folder of the sources: " + migrationsFolder + " is not here")
	}
	added, err := git(ctx, append([]string{"log", "--diff-filter=A", "--format=%H", "--"}, files[len(files)-newestMigrations:]...)...)
	if err != nil {
		return "", err
	}
	commits := strings.Fields(added) // the newest first
	if len(commits) == 0 {
		return git(ctx, "rev-parse", "--short", "HEAD") // they are not committed yet
	}
	return git(ctx, "rev-parse", "--short", commits[len(commits)-1]+"^")
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("this run needs the repository's history: git %s: %w: %s", args[0], err, lastLine(out))
	}
	return strings.TrimSpace(string(out)), nil
}

// buildPrevious builds the version before.
func buildPrevious(t *trial) (program, commit string) {
	commit = must(previousVersion(t.ctx))
	sources, program := t.folder("previous-sources"), t.folder("galley-previous")
	check(os.Mkdir(sources, 0o755))
	t.progress.show(0, 1, "building the version of %s", commit)
	script := `git archive "$0" | tar -x -C "$1" && exec go build -C "$1" -buildvcs=false -o "$2" ./cmd/galley`
	if out, err := exec.CommandContext(t.ctx, "sh", "-c", script, commit, sources, program).CombinedOutput(); err != nil {
		check(fmt.Errorf("building the version of %s: %w: %s", commit, err, out))
	}
	return program, commit
}

// migrating is a database on its way to the newest schema.
type migrating struct {
	trial  *trial
	pg     *postgres
	before int // the schema's version
}

func (m *migrating) serve(name string) *server {
	return m.trial.serve(name, "--database-url", m.pg.url("postgres"))
}

// fill makes sites over REST, each with a page, and copies of that page in the
// database, which is much faster.
func (m *migrating) fill(s *server) *load {
	t := m.trial
	l := newLoad(s.addr, t.key)
	c := newClient(s.addr, t.key)
	defer c.close()
	pages := pick(t, 1_000_000, 20_000)
	for site := range migrationSites {
		id := c.newSite(fmt.Sprintf("Site %d", site))
		c.newPage(id, "/many/0", "One of many")
		check(m.pg.exec(fmt.Sprintf(copyPages, id, pages/migrationSites-1)))
		t.progress.show(site, migrationSites, "%d pages", (site+1)*pages/migrationSites)
	}
	check(m.pg.exec("vacuum analyze"))
	there := ask[int](m.pg, "select count(*) from page where pathname like '/many/%'")
	t.got("pages", strconv.Itoa(there))
	t.want(there == pages, "%d pages were made, want %d", there, pages)
	// What is read is some of the many.
	ids := ask[string](m.pg, "select string_agg(id::text, ' ') from (select id from page where pathname like '/many/%' order by random() limit 500) as chosen")
	l.reads = nil
	for id := range strings.FieldsSeq(ids) {
		l.reads = append(l.reads, c.request("GET", "/v6/pages/"+id, ""))
	}
	return l
}

// copyPages makes copies of a site's one page.
const copyPages = `with copies as (
		select gen_random_uuid() as id, '/many/' || n as path, site.id as site from site, generate_series(1, %[2]d) as n where site.id = '%[1]s'),
	pages as (insert into page select (jsonb_populate_record(p, jsonb_build_object('id', c.id, 'pathname', c.path))).*
		from page as p join copies as c on p.site_id = c.site),
	pathnames as (insert into pathname select (jsonb_populate_record(p, jsonb_build_object('owner_id', c.id, 'pathname', c.path))).*
		from pathname as p join copies as c on p.site_id = c.site)
	insert into directory select id, site, 'page' from copies`

func (m *migrating) version() int {
	return ask[int](m.pg, "select max(version_id) from goose_db_version where is_applied")
}

// migrate starts the new version and kills it in the middle, a few times, and
// then lets it migrate to the end.
func (m *migrating) migrate() {
	t := m.trial
	kills := pick(t, 5, 2)
	for kill := range kills {
		m.killInTheMiddle()
		t.progress.show(kill, kills, "%d kills", kill+1)
	}
	t.got("kills", kills)
	version := m.version()
	t.want(version == m.before, "a migration that was killed left version %d", version)
	t.sleep(time.Second)
	s := m.serve("new")
	t.got("readyMs", ms(s.ready))
	version = m.version()
	t.got("versions", fmt.Sprintf("%d to %d", m.before, version))
	t.want(version > m.before, "the schema is still at version %d", version)
	t.sleep(pick(t, 5*time.Second, time.Second)) // the old one goes on
}

// killInTheMiddle kills the new version while it waits for a table that is being
// read, after all earlier statements of the migration.
func (m *migrating) killInTheMiddle() {
	t := m.trial
	check(m.pg.connected(func(c *pgx.Conn) error {
		reader := must(c.Begin(t.ctx))
		defer func() { _ = reader.Rollback(context.WithoutCancel(t.ctx)) }() // it only read
		// Tables that the oldest of the newest migrations change.
		must(reader.Exec(t.ctx, "lock table page_past, publish in access share mode"))
		p := t.launch("killed", t.command(t.binary, "serve", "--addr", "127.0.0.1:0", "--database-url", m.pg.url("postgres")))
		defer p.kill()
		t.poll("waiting until the new version waits for a table in use", p, time.Millisecond, func() bool {
			return ask[bool](m.pg, "select count(*) > 0 from pg_locks where not granted and mode = 'AccessExclusiveLock'")
		})
		// Long enough to notice a migration that holds its locks meanwhile.
		t.sleep(longestWait + time.Duration(500+t.rng.IntN(500))*time.Millisecond)
		return nil
	}))
}

// check reads what there is through the new version.
func (m *migrating) check(l *load, created int64) {
	t := m.trial
	l.addr = m.serve("another").addr
	read := l.during(t, migrationConnections, 0, time.Second)
	t.want(read.good == read.sent(), "of the new version's answers %d of %d are wrong: %s", read.sent()-read.good, read.sent(), read.first)
	there := l.count()
	t.want(int64(there) == created+read.created, "%d pages are there, and %d were made", there, created+read.created)
}

// waits watches how long sessions wait for a lock.
type waits struct {
	trial   *trial
	longest atomic.Int64
	stop    func()
}

const waitsEvery = 10 * time.Millisecond

func (m *migrating) watchWaits() *waits {
	var done atomic.Bool
	var watching sync.WaitGroup
	w := &waits{trial: m.trial, stop: func() {
		done.Store(true)
		watching.Wait()
	}}
	watching.Go(func() {
		err := m.pg.connected(func(c *pgx.Conn) (err error) {
			for us := int64(0); err == nil && !done.Load(); m.trial.sleep(waitsEvery) {
				err = c.QueryRow(m.trial.ctx, `select coalesce(max(extract(epoch from clock_timestamp() - waitstart) * 1e6), 0)::bigint
					from pg_locks where not granted`).Scan(&us)
				w.longest.Store(max(w.longest.Load(), us))
			}
			return err
		})
		m.trial.want(err == nil, "watching locks: %v", err)
	})
	return w
}

// got records the longest wait so far, and starts again.
func (w *waits) got(name string) time.Duration {
	longest := time.Duration(w.longest.Swap(0)) * time.Microsecond
	w.trial.got(name, ms(longest))
	return longest
}
