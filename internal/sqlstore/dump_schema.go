package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// schema is what the migrations up to a version make, in words that are no
// engine's own.
type schema struct {
	tables  []table // each after those that it refers to
	indexes []string
}

type table struct {
	name    string
	columns []column
}

type column struct {
	name string
	word string // its type, as migrations write it
	kind kind
}

func (t table) columnNames() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}

func (s *schema) tableNames() []string {
	names := make([]string, len(s.tables))
	for i, t := range s.tables {
		names[i] = t.name
	}
	return names
}

func (s *schema) table(name string) (table, bool) {
	for _, t := range s.tables {
		if t.name == name {
			return t, true
		}
	}
	return table{}, false
}

// schemaAt works out the schema of a version. It runs the migrations on an
// empty database in memory, so that what they add is never forgotten here; the
// types there have the names that the migrations give them.
func schemaAt(ctx context.Context, version int64) (found *schema, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have a database of its own
	defer func() { err = errors.Join(err, db.Close()) }()

	neutral := *sqliteDialect
	neutral.words = maps.Clone(sqliteDialect.words)
	neutral.words["UUID"], neutral.words["Bytes"] = "uuid", "bytes"
	provider, err := newProvider(&neutral, db)
	if err != nil {
		return nil, err
	}
	if _, err := provider.UpTo(ctx, version); err != nil {
		return nil, err
	}
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	err = c.Raw(func(driverConn any) (err error) {
		on, err := newSession(driverConn)
		if err != nil {
			return err
		}
		defer on.closeStatements()
		found, err = queries{conn: on, dialect: &neutral}.readSchema(ctx)
		return err
	})
	return found, err
}

func (q queries) readSchema(ctx context.Context) (*schema, error) {
	// A table can only refer to one that was made before.
	names, err := q.names(ctx, `select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by rowid`)
	if err != nil {
		return nil, err
	}
	var s schema
	for _, name := range names {
		if name == versionTable {
			continue
		}
		columns, err := all(ctx, q, scanColumn, `select name, type from pragma_table_info(?) order by cid`, name)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		s.tables = append(s.tables, table{name, columns})
	}
	s.indexes, err = q.names(ctx, `select name from sqlite_master where type = 'index' and sql is not null order by name`)
	return &s, err
}

func (q queries) names(ctx context.Context, query string) ([]string, error) {
	return all(ctx, q, func(r row) (name string, err error) { return name, r.Scan(&name) }, query)
}

func scanColumn(r row) (c column, err error) {
	if err := r.Scan(&c.name, &c.word); err != nil {
		return c, err
	}
	c.word = strings.ToLower(c.word)
	var known bool
	if c.kind, known = kinds[c.word]; !known {
		return c, fmt.Errorf("column %s has the type %q, which backups do not know", c.name, c.word)
	}
	return c, nil
}

// versionTable is where the migrations note how far they came.
const versionTable = "goose_db_version"

// LatestSchema is the version of the schema that this program makes.
func LatestSchema() (int64, error) {
	migrations, err := sqliteDialect.migrations()
	if err != nil {
		return 0, err
	}
	return migrations[len(migrations)-1].Version, nil
}

// schemaVersion is the version that a store is at, 0 if it has no schema yet.
// It changes nothing.
func (q queries) schemaVersion(ctx context.Context) (int64, error) {
	there, err := q.tablesThere(ctx)
	if err != nil || !there[versionTable] {
		return 0, err
	}
	return one(ctx, q, func(r row) (version int64, err error) {
		return version, r.Scan(&version)
	}, `select coalesce(max(version_id), 0) from goose_db_version where is_applied`)
}

func (q queries) tablesThere(ctx context.Context) (map[string]bool, error) {
	names, err := q.names(ctx, q.dialect.tables)
	there := map[string]bool{}
	for _, name := range names {
		there[name] = true
	}
	return there, err
}
