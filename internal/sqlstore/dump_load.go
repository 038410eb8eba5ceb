package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"galley/internal/cms"
)

// ErrNotEmpty reports that a store that should be empty is not.
var ErrNotEmpty = errors.New("the store is not empty")

// ErrNotReady reports that a store has been filled, and the steps after that failed.
var ErrNotReady = errors.New("everything is in the store, but it could not be made ready")

// Load fills an empty store with rows of a version of the schema, and brings the
// schema up to date. The rows are inserted in one transaction: a load that fails
// leaves the store empty.
func (s *Store) Load(ctx context.Context, version int64, send func(Sink) error) error {
	schema, err := s.prepareLoad(ctx, version)
	if err != nil {
		return err
	}
	err = s.engine.tx(ctx, func(c conn) error {
		q := queries{conn: c, dialect: s.dialect}
		if err := q.checkEmpty(ctx, schema); err != nil {
			return err
		}
		return q.withoutIndexes(ctx, schema, func() error {
			l := &loader{ctx: ctx, queries: q, schema: schema}
			if err := send(l); err != nil {
				return err
			}
			return l.flush()
		})
	})
	if err != nil {
		return err
	}
	// A store that is neither empty nor ready is of no use: this is not cancelled.
	ctx = context.WithoutCancel(ctx)
	if _, err = s.Migrate(ctx); err == nil {
		err = s.numberLoaded(ctx)
	}
	if err == nil {
		schema, err = schemaAt(ctx, latestSchema)
	}
	if err == nil {
		for _, statement := range s.dialect.filled(schema.names) {
			_, failed := s.db.ExecContext(ctx, statement)
			err = errors.Join(err, s.fail(ctx, failed))
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	return nil
}

// numberLoaded numbers the events that had no position in the other store: their numbers
// are not of this store's sequence.
func (s *Store) numberLoaded(ctx context.Context) error {
	for n := eventChunk; n == eventChunk; {
		err := s.InTx(ctx, func(tx cms.Tx) (err error) {
			n, err = tx.NumberEvents(ctx, eventChunk)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const eventChunk = 1000

// withoutIndexes drops the schema's indexes and creates them again after a callback
// has filled the tables: to sort once costs less than many inserts.
func (q queries) withoutIndexes(ctx context.Context, schema *schema, fill func() error) error {
	type index struct{ name, definition string }
	indexes, err := all(ctx, q, func(r row) (i index, err error) { return i, r.Scan(&i.name, &i.definition) }, q.dialect.definitions)
	if err != nil {
		return err
	}
	before, after := slices.Clone(q.dialect.fill), []string{}
	for _, i := range indexes {
		if slices.Contains(schema.indexes, i.name) {
			before, after = append(before, `drop index `+i.name), append(after, i.definition)
		}
	}
	if err := q.runAll(ctx, before); err != nil {
		return err
	}
	if err := fill(); err != nil {
		return err
	}
	return q.runAll(ctx, after)
}

func (q queries) runAll(ctx context.Context, statements []string) error {
	for _, statement := range statements {
		if err := q.run(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// prepareLoad creates the schema of the rows; they are migrated after the load.
func (s *Store) prepareLoad(ctx context.Context, version int64) (*schema, error) {
	if version > latestSchema {
		return nil, fmt.Errorf("the rows have schema version %d and this program supports up to %d: use a newer galley", version, latestSchema)
	}
	there, err := s.queries.knownVersion(ctx)
	if err != nil {
		return nil, err
	}
	newest, err := schemaAt(ctx, max(there, version))
	if err != nil {
		return nil, err
	}
	if err := s.queries.checkEmpty(ctx, newest); err != nil {
		return nil, err
	}
	if there > version {
		return nil, fmt.Errorf("the store is empty but already has schema version %d, and the rows have version %d: use a new folder or a database without tables, or run 'galley migrate' on the source first", there, version)
	}
	provider, err := s.provider()
	if err != nil {
		return nil, err
	}
	if _, err := provider.UpTo(ctx, version); err != nil {
		return nil, fmt.Errorf("can't create the schema: %w", err)
	}
	return schemaAt(ctx, version)
}

// checkEmpty returns an error if one of the tables that exist has a row.
func (q queries) checkEmpty(ctx context.Context, schema *schema) error {
	there, err := q.names(ctx, q.dialect.tables)
	if err != nil {
		return err
	}
	for _, name := range schema.names {
		if !slices.Contains(there, name) {
			continue
		}
		found, err := values[int64](ctx, q, `select 1 from `+name+` limit 1`)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return ErrNotEmpty
		}
	}
	return nil
}

// The loader inserts about this many values, or bytes, at a time.
const (
	insertValues = 4800
	insertBytes  = 1 << 20
)

// loader inserts rows, many at a time.
type loader struct {
	ctx     context.Context //nolint:containedctx // of the load, which a sink's methods do not know
	queries queries
	schema  *schema

	table table
	args  []any
	bytes int
}

// Table starts a table.
func (l *loader) Table(name string, columns []string) error {
	if err := l.flush(); err != nil {
		return err
	}
	var known bool
	if l.table, known = l.schema.tables[name]; !known {
		return fmt.Errorf("the schema has no table %s", name)
	}
	if !slices.Equal(columns, l.table.names) {
		return fmt.Errorf("table %s has the columns %v where the schema has %v", name, columns, l.table.names)
	}
	return nil
}

// Row adds a row to the table.
func (l *loader) Row(values []any) error {
	if len(values) != len(l.table.columns) {
		return fmt.Errorf("table %s: a row of %d values", l.table.name, len(values))
	}
	for i, c := range l.table.columns {
		arg, err := c.plain(values[i])
		if err == nil && reflect.TypeOf(arg) != reflect.TypeOf(values[i]) {
			err = fmt.Errorf("column %s can't hold a %T", c.name, values[i])
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", l.table.name, err)
		}
		if id, ok := arg.([]byte); ok && c.word == "uuid" {
			arg = cms.ID(id)
		}
		l.args = append(l.args, arg)
		l.bytes += size(values[i])
	}
	if len(l.args) > insertValues || l.bytes > insertBytes {
		return l.flush()
	}
	return nil
}

// size returns about how many bytes a value takes.
func size(plain any) int {
	switch v := plain.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	}
	return 8
}

func (l *loader) flush() error {
	if len(l.args) == 0 {
		return nil
	}
	into := l.table.name + ` (` + strings.Join(l.table.names, ", ") + `)`
	if _, err := l.queries.insert(l.ctx, false, into, len(l.table.columns), l.args, ""); err != nil {
		return fmt.Errorf("table %s: %w", l.table.name, err)
	}
	clear(l.args)
	l.args, l.bytes = l.args[:0], 0
	return nil
}
