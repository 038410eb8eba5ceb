package sqlstore

import (
	"context"
	"strings"

	"github.com/pressly/goose/v3"
)

// engine holds what differs between the engines when a store is looked at as a
// whole.
type engine struct {
	name    string
	tables  string // a query for the names of the tables
	indexes string // a query for the names of the indexes that can be used
	// definitions is a query for the names of the indexes that are no table's
	// key, and the statements that make them.
	definitions string
	// prepare are statements to run before a store is filled.
	prepare []string
	// settle is a statement to run when a store has been filled.
	settle func(tables []string) string
	// examine looks at what only this engine has.
	examine func(ctx context.Context, q queries, schema *schema, deep bool) []Finding
}

var engines = map[goose.Dialect]engine{
	goose.DialectSQLite3: {
		name:        "sqlite",
		tables:      `select name from sqlite_master where type = 'table'`,
		indexes:     `select name from sqlite_master where type = 'index'`,
		definitions: `select name, sql from sqlite_master where type = 'index' and sql is not null`,
		// Sorting for an index takes as much memory as this, and else the disk.
		prepare: []string{`pragma temp_store = file`, `pragma cache_size = -32768`},
		// The log of one big transaction is as big as the database.
		settle:  func([]string) string { return sqliteGuesses + `pragma wal_checkpoint(truncate)` },
		examine: examineSQLite,
	},
	goose.DialectPostgres: {
		name:   "postgres",
		tables: `select tablename from pg_tables where schemaname = current_schema()`,
		indexes: `select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
			where i.indisvalid and c.relnamespace = current_schema()::regnamespace`,
		// Of a table in parts, PostgreSQL tells how to make an index of the empty
		// parent only; each part has to have it as well.
		definitions: `select c.relname, replace(pg_get_indexdef(c.oid), ' ON ONLY ', ' ON ') from pg_index i join pg_class c on c.oid = i.indexrelid
			where not c.relispartition and c.relnamespace = current_schema()::regnamespace and not exists (select 1 from pg_constraint where conindid = c.oid)`,
		// Until it has looked at the tables, the planner takes them for empty.
		settle:  func(tables []string) string { return `analyze ` + strings.Join(tables, ", ") },
		examine: examinePostgres,
	},
}
