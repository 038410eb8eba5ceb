package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"galley/internal/cms"
)

// examinePostgres runs the checks that only PostgreSQL has.
func examinePostgres(ctx context.Context, q queries, schema *schema, _ bool) []Finding {
	server, err := one(ctx, q, "", scanServer, `select current_setting('server_version_num')::bigint, current_setting('server_version'),
		current_setting('fsync') = 'on' and current_setting('full_page_writes') = 'on', current_setting('synchronous_commit'),
		current_setting('server_encoding'), current_setting('max_connections')::bigint,
		current_setting('superuser_reserved_connections')::bigint`)
	if err != nil {
		return []Finding{broken("server", err)}
	}
	return []Finding{
		server.judgeVersion(), server.judgeDurability(), server.judgeConnections(),
		q.examineText(ctx, server.encoding, schema), q.examineClock(ctx),
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

func scanServer(r row) (s server, err error) {
	return s, r.Scan(&s.number, &s.version, &s.syncs, &s.synchronousCommit, &s.encoding, &s.connections, &s.reserved)
}

// Versions of PostgreSQL: the oldest that the statements work on, and the one that
// the tests use.
const (
	leastVersion  = 13
	testedVersion = 15
)

func (s server) judgeVersion() Finding {
	const check = "version"
	switch major := s.number / 10000; {
	case major < leastVersion:
		return failed(check, "PostgreSQL "+s.version, fmt.Sprintf("upgrade it to %d or later", testedVersion))
	case major < testedVersion:
		return warned(check, "PostgreSQL "+s.version+", which is not tested", fmt.Sprintf("upgrade it to %d or later", testedVersion))
	}
	return fine(check, "PostgreSQL %s", s.version)
}

func (s server) judgeDurability() Finding {
	const check = "durability"
	if !s.syncs {
		return failed(check, "fsync or full_page_writes is off: a power cut may destroy the database", "set both to on in postgresql.conf and reload it")
	}
	if !slices.Contains(durableCommits, s.synchronousCommit) {
		return failed(check, "synchronous_commit is "+s.synchronousCommit+" although each connection sets it to on: an acknowledged write may be lost", "take it out of the database's URL; where a pooler drops the setting, run 'alter role ... set synchronous_commit = on'")
	}
	return fine(check, "fsync, full_page_writes and synchronous_commit are on") // or waits for even more
}

// A node has a pool of connections, one to send notifications and one to listen.
const nodeConns = maxPostgresConns + 2

func (s server) judgeConnections() Finding {
	const check = "connections"
	nodes := (s.connections - s.reserved) / nodeConns
	found := fmt.Sprintf("%d connections available: enough for %d nodes with %d connections each", s.connections-s.reserved, nodes, nodeConns)
	if nodes == 0 {
		return warned(check, found, fmt.Sprintf("raise max_connections to at least %d for each node", nodeConns))
	}
	return fine(check, "%s", found)
}

// examineText checks that text is stored and compared as on SQLite.
func (q queries) examineText(ctx context.Context, encoding string, schema *schema) Finding {
	const check = "text"
	if encoding != unicodeEncoding {
		return failed(check, "the database's encoding is "+encoding, "make a database with the encoding UTF8, and fill it with 'galley copy'")
	}
	columns, err := q.names(ctx, `select table_name || '.' || column_name from information_schema.columns
		where table_schema = current_schema() and data_type = 'text' and collation_name is distinct from 'C' order by 1`)
	if err != nil {
		return broken(check, err)
	}
	columns = slices.DeleteFunc(columns, func(name string) bool {
		table, _, _ := strings.Cut(name, ".")
		_, ours := schema.table(table)
		return !ours
	})
	if len(columns) > 0 {
		return failed(check, "not in the order of code points: "+strings.Join(columns, ", "), "fill an empty database with 'galley copy': its columns are right")
	}
	return fine(check, "UTF8, in the order of code points")
}

// maxSkew is how far clocks may be apart: nodes compare times of one another.
const maxSkew = time.Second

func (q queries) examineClock(ctx context.Context) Finding {
	const check = "clock"
	before := time.Now()
	theirs, err := one(ctx, q, "", func(r row) (at time.Time, err error) { return at, r.Scan(scanTime(&at)) },
		`select (extract(epoch from clock_timestamp()) * 1000000)::bigint`)
	if err != nil {
		return broken(check, err)
	}
	took := time.Since(before)
	return judgeClock(theirs.Sub(before.Add(took/2)), took)
}

// judgeClock knows how far the database's clock is ahead, to within half of the
// time that the query took.
func judgeClock(ahead, took time.Duration) Finding {
	const check = "clock"
	if ahead.Abs() > maxSkew+took/2 {
		return warned(check, fmt.Sprintf("the database's is %.1f s ahead of this machine's", ahead.Seconds()), "run a time service (NTP) on both machines")
	}
	return fine(check, "as the database's")
}

// maxReplicaBehind is how many bytes of the log a standby may lack without a
// warning.
const maxReplicaBehind = 16 << 20

// ExamineReplica checks a standby of the store. It changes nothing.
func (s *Store) ExamineReplica(ctx context.Context, url string) Finding {
	const check = "replica"
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	r, err := s.OpenReplica(url)
	if err != nil {
		return failed(check, err.Error(), "correct --replica-url")
	}
	defer func() { _ = r.Close() }() // nothing was written
	position, err := value[string](ctx, s.queries, `select pg_current_wal_flush_lsn()::text`)
	if err != nil {
		return broken(check, err)
	}
	follows, behind, err := standbyState[float64](ctx, r, `pg_wal_lsn_diff(?::text::pg_lsn, pg_last_wal_replay_lsn())::float8`, position)
	if err != nil {
		return warned(check, "it can't be reached: "+err.Error(), "check --replica-url and that the standby runs; until then every read goes to the primary")
	}
	if behind == nil { // nothing was replayed yet
		behind = new(0.0)
	}
	return judgeReplica(follows, *behind)
}

// ExamineListener checks the connection on which a server listens to other nodes:
// it has to receive what the store sends. It changes nothing.
func (s *Store) ExamineListener(ctx context.Context, url string) Finding {
	const check = "listener"
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	config, err := parsePostgres(url)
	if err != nil {
		return failed(check, err.Error(), "correct --listen-url")
	}
	unreachable := func(err error) Finding {
		why := strings.Join(strings.Fields(err.Error()), " ") // it may have several lines
		return failed(check, "it can't be reached: "+why, "check --listen-url: until it responds, no response comes from the cache")
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return unreachable(err)
	}
	defer func() { _ = conn.Close(ctx) }() // nothing was written
	message := cms.NewID().String()
	if _, err := conn.Exec(ctx, `listen `+channel); err != nil {
		return unreachable(err)
	}
	if err := s.sendNotification(ctx, message); err != nil {
		return broken(check, err)
	}
	waiting, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(waiting)
		switch {
		case err != nil && waiting.Err() == nil:
			return unreachable(err)
		case err != nil:
			return failed(check, "it responds, and does not receive the notifications of the store", "let --listen-url lead to the same database without a pooler in transaction mode: until then, no response comes from the cache")
		case strings.HasPrefix(n.Payload, message):
			return fine(check, "it receives the notifications of the store")
		}
	}
}

func judgeReplica(follows bool, behind float64) Finding {
	const check = "replica"
	if !follows {
		return failed(check, cms.ErrNoReplica.Error(), "let --replica-url lead to a standby of the database, and not to the primary")
	}
	if behind > maxReplicaBehind {
		return warned(check, fmt.Sprintf("it lacks %.0f MB of the primary's log", behind/1e6), "if this persists, check the standby: reads go to the primary meanwhile")
	}
	return fine(check, "it follows, and lacks %.0f kB of the primary's log", max(behind, 0)/1e3)
}
