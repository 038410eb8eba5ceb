package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"galley/internal/cms"
)

// schema is the result of the migrations up to a version, independent of the engine.
type schema struct {
	names   []string // of the tables, each after those that it refers to
	tables  map[string]table
	indexes []string
}

// stored are the tables whose rows are in a backup. The index of searches is derived
// from them: a load marks the pages that it stores. A backup signs nobody in.
func (s *schema) stored() []string {
	return slices.DeleteFunc(slices.Clone(s.names), func(name string) bool {
		return strings.HasPrefix(name, "search_") || name == "console_session"
	})
}

type table struct {
	name    string
	names   []string // of the columns
	columns []column
}

type column struct {
	name string
	word string // its type, as migrations write it
}

// schemaAt returns the schema of a version. It runs the migrations on a database in
// memory, where columns have the types that the migrations name.
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
	// A table can only refer to one that was created before.
	names, err := q.names(ctx, `select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not in (?, ?) order by rowid`, versionTable, countTable)
	if err != nil {
		return nil, err
	}
	s := schema{names: names, tables: map[string]table{}}
	for _, name := range names {
		t := table{name: name}
		if t.columns, err = all(ctx, q, scanColumn, `select name, type from pragma_table_info(?) order by cid`, name); err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		for _, c := range t.columns {
			t.names = append(t.names, c.name)
		}
		s.tables[name] = t
	}
	s.indexes, err = q.names(ctx, `select name from sqlite_master where type = 'index' and sql is not null order by name`)
	return &s, err
}

func (q queries) names(ctx context.Context, query string, args ...any) ([]string, error) {
	return values[string](ctx, q, query, args...)
}

func scanColumn(r row) (c column, err error) {
	if err := r.Scan(&c.name, &c.word); err != nil {
		return c, err
	}
	c.word = strings.ToLower(c.word)
	if _, known := plainValues[c.word]; !known {
		err = fmt.Errorf("column %s has the type %q, which backups do not know", c.name, c.word)
	}
	return c, err
}

// plainValues convert what a driver or a backup has for a type of columns to the
// value that a Sink takes. A value of another type is an error: SQLite would store
// it, and PostgreSQL would not.
var plainValues = map[string]func(any) (any, bool){
	"uuid":             plainID,
	"text":             as[string],
	"bytes":            plainBytes,
	"bigint":           as[int64],
	"integer":          as[int64],
	"smallint":         as[int64],
	"boolean":          plainBool,
	"double precision": as[float64],
}

func as[T any](v any) (any, bool) {
	value, ok := v.(T)
	return value, ok
}

// plainBytes returns a copy: a driver may use the memory again.
func plainBytes(v any) (any, bool) {
	b, ok := v.([]byte)
	if len(b) == 0 {
		return []byte{}, ok // nil would be null
	}
	return bytes.Clone(b), ok
}

// plainID returns the 16 bytes of an id, which PostgreSQL has as text.
func plainID(v any) (any, bool) {
	if text, ok := v.(string); ok {
		id, err := uuid.Parse(text)
		return id[:], err == nil
	}
	b, ok := v.([]byte)
	return bytes.Clone(b), ok && len(b) == len(cms.NoID)
}

// plainBool reads the 0 and 1 that SQLite has for booleans.
func plainBool(v any) (any, bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case int64:
		return v == 1, v == 0 || v == 1
	}
	return nil, false
}

// plain converts a value of the column; see plainValues.
func (c column) plain(v any) (any, error) {
	if v == nil {
		return nil, nil //nolint:nilnil // a null is a value
	}
	plain, ok := plainValues[c.word](v)
	if !ok {
		return nil, fmt.Errorf("column %s can't hold a %T", c.name, v)
	}
	return plain, nil
}

// versionTable has the migrations that were applied.
const versionTable = "goose_db_version"

// schemaVersion returns the version of a store's schema, 0 if it has none.
// It changes nothing.
func (q queries) schemaVersion(ctx context.Context) (int64, error) {
	there, err := q.names(ctx, q.dialect.tables)
	if err != nil || !slices.Contains(there, versionTable) {
		return 0, err
	}
	return value[int64](ctx, q, appliedSchema)
}

// knownVersion is schemaVersion, with an error if a newer program wrote the store.
func (q queries) knownVersion(ctx context.Context) (int64, error) {
	version, err := q.schemaVersion(ctx)
	if err == nil && version > latestSchema {
		err = &NewerStoreError{version, latestSchema}
	}
	return version, err
}
