package sqlstore

import "github.com/pressly/goose/v3"

// engine holds what differs between the engines when a store is looked at as a
// whole.
type engine struct {
	name    string
	tables  string // a query for the names of the tables
	indexes string // a query for the names of the indexes that can be used
	analyze string // a statement that lets the planner look at a table
}

var engines = map[goose.Dialect]engine{
	goose.DialectSQLite3: {
		name:    "sqlite",
		tables:  `select name from sqlite_master where type = 'table'`,
		indexes: `select name from sqlite_master where type = 'index'`,
	},
	goose.DialectPostgres: {
		name:   "postgres",
		tables: `select tablename from pg_tables where schemaname = current_schema()`,
		indexes: `select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
			where i.indisvalid and c.relnamespace = current_schema()::regnamespace`,
		analyze: `analyze`,
	},
}
