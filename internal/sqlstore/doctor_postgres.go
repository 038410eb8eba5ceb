package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// examinePostgres looks at what is PostgreSQL's own.
func examinePostgres(ctx context.Context, q queries, schema *schema, _ bool) []Finding {
	server, err := one(ctx, q, scanServer, `select current_setting('server_version_num')::bigint, current_setting('server_version'),
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

// Versions of PostgreSQL: what the statements need, and what the tests run on.
const (
	leastVersion  = 13
	testedVersion = 15
)

func (s server) judgeVersion() Finding {
	const check = "version"
	switch major := s.number / 10000; {
	case major < leastVersion:
		return Finding{check, LevelFail, "PostgreSQL " + s.version, fmt.Sprintf("upgrade it to %d or later", testedVersion)}
	case major < testedVersion:
		return Finding{check, LevelWarn, "PostgreSQL " + s.version + ", which nobody tests with", fmt.Sprintf("upgrade it to %d or later", testedVersion)}
	}
	return fine(check, "PostgreSQL %s", s.version)
}

func (s server) judgeDurability() Finding {
	const check = "durability"
	if !s.syncs {
		return Finding{
			check, LevelFail, "fsync or full_page_writes is off: a power cut may destroy the database",
			"set both to on in postgresql.conf and reload it",
		}
	}
	if !slices.Contains(durableCommits, s.synchronousCommit) {
		return Finding{
			check, LevelFail, "synchronous_commit is " + s.synchronousCommit + " in spite of us: an answered write may be lost",
			"take it out of the database's URL; where a pooler leaves our setting out, run 'alter role ... set synchronous_commit = on'",
		}
	}
	return fine(check, "fsync, full_page_writes and synchronous_commit are on") // or waits for even more
}

// A node has a pool of connections, one to tell others on and one to listen on.
const nodeConns = maxPostgresConns + 2

func (s server) judgeConnections() Finding {
	const check = "connections"
	nodes := (s.connections - s.reserved) / nodeConns
	found := fmt.Sprintf("%d connections available: enough for %d nodes with %d connections each", s.connections-s.reserved, nodes, nodeConns)
	if nodes == 0 {
		return Finding{check, LevelWarn, found, fmt.Sprintf("raise max_connections to at least %d for each node", nodeConns)}
	}
	return fine(check, "%s", found)
}

// examineText checks that text is kept and compared as on every engine.
func (q queries) examineText(ctx context.Context, encoding string, schema *schema) Finding {
	const check = "text"
	if encoding != unicodeEncoding {
		return Finding{check, LevelFail, "the database's encoding is " + encoding, "make a database with the encoding UTF8, and fill it with 'galley copy'"}
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
		return Finding{
			check, LevelFail, "not in the order of code points: " + strings.Join(columns, ", "),
			"fill an empty database with 'galley copy': its columns are right",
		}
	}
	return fine(check, "UTF8, in the order of code points")
}

// maxSkew is how far clocks may be apart: times are ours, and several nodes
// compare theirs.
const maxSkew = time.Second

func (q queries) examineClock(ctx context.Context) Finding {
	const check = "clock"
	before := time.Now()
	theirs, err := one(ctx, q, func(r row) (at time.Time, err error) { return at, r.Scan(scanTime(&at)) },
		`select (extract(epoch from clock_timestamp()) * 1000000)::bigint`)
	if err != nil {
		return broken(check, err)
	}
	took := time.Since(before)
	return judgeClock(theirs.Sub(before.Add(took/2)), took)
}

// judgeClock knows how far the database's clock is ahead, but for half of the
// time that asking took.
func judgeClock(ahead, took time.Duration) Finding {
	const check = "clock"
	if ahead.Abs() > maxSkew+took/2 {
		return Finding{
			check, LevelWarn, fmt.Sprintf("the database's is %.1f s ahead of this machine's", ahead.Seconds()),
			"run a time service (NTP) on both machines",
		}
	}
	return fine(check, "as the database's")
}
