package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"galley/internal/cms"
)

// examinePostgres runs the checks that only PostgreSQL has.
func examinePostgres(ctx context.Context, q queries, schema *schema, _ bool) []Finding {
	server, err := one(ctx, q, "", func(r row) (s server, err error) {
		return s, r.Scan(&s.number, &s.version, &s.syncs, &s.synchronousCommit, &s.encoding, &s.connections, &s.reserved)
	}, `select current_setting('server_version_num')::bigint, current_setting('server_version'),
		current_setting('fsync') = 'on' and current_setting('full_page_writes') = 'on', current_setting('synchronous_commit'),
		current_setting('server_encoding'), current_setting('max_connections')::bigint,
		current_setting('superuser_reserved_connections')::bigint`)
	if err != nil {
		return []Finding{broken(err).named("server")}
	}
	return []Finding{
		server.judgeVersion().named("version"), server.judgeDurability().named("durability"), server.judgeConnections().named("connections"),
		q.examineText(ctx, server.encoding, schema).named("text"), q.examineClock(ctx).named("clock"),
	}
}

// server is how a PostgreSQL server is set up.
type server struct {
	number            int64
	version           string
	syncs             bool
	synchronousCommit string
	encoding          string
	connections       int64
	reserved          int64
}

// Versions of PostgreSQL: the oldest that the statements work on, and the one that
// the tests use.
const (
	leastVersion  = 13
	testedVersion = 15
)

func (s server) judgeVersion() Finding {
	upgrade := fmt.Sprintf("upgrade to PostgreSQL %d or later", testedVersion)
	switch major := s.number / 10000; {
	case major < leastVersion:
		return failed("PostgreSQL "+s.version, upgrade)
	case major < testedVersion:
		return warned("PostgreSQL "+s.version+", which is not tested", upgrade)
	}
	return fine("PostgreSQL %s", s.version)
}

func (s server) judgeDurability() Finding {
	if !s.syncs {
		return failed("fsync or full_page_writes is off: a power failure can destroy the database", "set both to on in postgresql.conf and reload it")
	}
	if !slices.Contains(durableCommits, s.synchronousCommit) {
		return failed("synchronous_commit is "+s.synchronousCommit+" although each connection sets it to on: an acknowledged write can be lost", "remove it from the database URL; if a pooler drops the setting, run 'alter role ... set synchronous_commit = on'")
	}
	return fine("fsync, full_page_writes and synchronous_commit are on") // or stricter
}

// A node has a pool of connections, one to send notifications and one to listen.
const nodeConns = maxPostgresConns + 2

func (s server) judgeConnections() Finding {
	nodes := (s.connections - s.reserved) / nodeConns
	found := fmt.Sprintf("%d connections available: enough for %d nodes with %d connections each", s.connections-s.reserved, nodes, nodeConns)
	if nodes == 0 {
		return warned(found, fmt.Sprintf("raise max_connections to at least %d for each node", nodeConns))
	}
	return fine("%s", found)
}

// examineText checks that text is stored and compared as on SQLite.
func (q queries) examineText(ctx context.Context, encoding string, schema *schema) Finding {
	if encoding != unicodeEncoding {
		return failed("the encoding of the database is "+encoding, "create a database with encoding UTF8 and copy the store to it with 'galley copy'")
	}
	columns, err := q.names(ctx, `select table_name || '.' || column_name from information_schema.columns
		where table_schema = current_schema() and data_type = 'text' and collation_name is distinct from 'C' order by 1`)
	if err != nil {
		return broken(err)
	}
	columns = slices.DeleteFunc(columns, func(name string) bool {
		table, _, _ := strings.Cut(name, ".")
		return !slices.Contains(schema.names, table)
	})
	if len(columns) > 0 {
		return failed("columns not sorted by code point: "+strings.Join(columns, ", "), "copy the store to an empty database with 'galley copy', which creates them correctly")
	}
	return fine("UTF8, sorted by code point")
}

// maxSkew is how far clocks may be apart: nodes compare times of one another.
const maxSkew = time.Second

func (q queries) examineClock(ctx context.Context) Finding {
	before := time.Now()
	theirs, err := one(ctx, q, "", func(r row) (at time.Time, err error) { return at, r.Scan(scanTime(&at)) },
		`select (extract(epoch from clock_timestamp()) * 1000000)::bigint`)
	if err != nil {
		return broken(err)
	}
	took := time.Since(before)
	return judgeClock(theirs.Sub(before.Add(took/2)), took)
}

// judgeClock judges how far the database's clock is ahead, which is known to within
// half of the time that the query took.
func judgeClock(ahead, took time.Duration) Finding {
	if ahead.Abs() > maxSkew+took/2 {
		return warned(fmt.Sprintf("the clock of the database is %.1f s ahead of this machine's", ahead.Seconds()), "synchronize both clocks with NTP")
	}
	return fine("in sync with the database")
}

// maxReplicaBehind is how many bytes of the log a standby may be behind without a
// warning.
const maxReplicaBehind = 16 << 20

// ExamineReplica checks a standby of the store. It changes nothing.
func (s *Store) ExamineReplica(ctx context.Context, url string) (f Finding) {
	defer func() { f.Check = "replica" }()
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	r, err := s.OpenReplica(url)
	if err != nil {
		return failed(err.Error(), "correct --replica-url")
	}
	defer func() { _ = r.Close() }() // nothing was written
	position, err := value[string](ctx, s.queries, `select pg_current_wal_flush_lsn()::text`)
	if err != nil {
		return broken(err)
	}
	follows, behind, err := standbyState[float64](ctx, r, `pg_wal_lsn_diff(?::text::pg_lsn, pg_last_wal_replay_lsn())::float8`, position)
	if err != nil {
		return warned("it can't be reached: "+err.Error(), "check --replica-url and that the standby runs; until then all reads go to the primary")
	}
	if behind == nil { // nothing was replayed yet
		behind = new(0.0)
	}
	return judgeReplica(follows, *behind)
}

// ExamineListener checks that the connection on which a server listens to other
// nodes receives the notifications of the store. It changes nothing.
func (s *Store) ExamineListener(ctx context.Context, url string) (f Finding) {
	defer func() { f.Check = "listener" }()
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	config, err := parsePostgres(url)
	if err != nil {
		return failed(err.Error(), "correct --listen-url")
	}
	message, connected, received := cms.NewID().String(), false, false
	var unsent error
	err = receive(ctx, config.ConnConfig, func() {
		connected, unsent = true, s.sendNotification(ctx, message)
		time.AfterFunc(notifyTimeout, cancel)
	}, func(payload string) {
		if strings.HasPrefix(payload, message) {
			received = true
			cancel()
		}
	})
	switch {
	case received:
		return fine("it receives the notifications of the store")
	case unsent != nil:
		return broken(unsent)
	case connected && ctx.Err() != nil:
		return failed("it responds, but does not receive the notifications of the store", "point --listen-url at the same database, not through a pooler in transaction mode; until then, responses are cached for at most a second")
	}
	why := strings.Join(strings.Fields(err.Error()), " ") // it may have several lines
	return failed("it can't be reached: "+why, "check --listen-url; until it responds, responses are cached for at most a second")
}

func judgeReplica(follows bool, behind float64) Finding {
	if !follows {
		return failed(cms.ErrNoReplica.Error(), "point --replica-url at a standby of the database, not at the primary")
	}
	if behind > maxReplicaBehind {
		return warned(fmt.Sprintf("it is %.0f MB behind the primary", behind/1e6), "if this persists, check the standby; meanwhile reads go to the primary")
	}
	return fine("it is %.0f kB behind the primary", max(behind, 0)/1e3)
}
