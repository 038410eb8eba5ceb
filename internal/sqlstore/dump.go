package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Sink takes the rows of one table after another. A value is nil, a bool, an
// int64, a float64, a string or a []byte, the same on both engines; ids are
// their 16 bytes. The values are the sender's again after the call.
type Sink interface {
	Table(name string, columns []string) error
	Row(values []any) error
}

// Snapshot is everything that a store holds at one moment.
type Snapshot struct {
	Schema int64 // version of the schema
	Engine string

	queries queries
	schema  *schema
}

// ErrNoSchema says that no program has used a store yet.
var ErrNoSchema = errors.New("there is nothing in the store: no galley has used it yet")

// Snapshot lets a callback read everything as it stands at one moment, while
// others go on writing. It changes nothing, whatever the schema's version.
func (s *Store) Snapshot(ctx context.Context, use func(*Snapshot) error) error {
	return s.engine.view(ctx, func(c conn) error {
		q := queries{conn: c, dialect: s.dialect}
		version, err := q.schemaVersion(ctx)
		if err != nil {
			return err
		}
		latest, err := LatestSchema()
		if err != nil {
			return err
		}
		switch {
		case version == 0:
			return ErrNoSchema
		case version > latest:
			return &NewerStoreError{version, latest}
		}
		schema, err := schemaAt(ctx, version)
		if err != nil {
			return err
		}
		return use(&Snapshot{version, s.dialect.name, q, schema})
	})
}

// Count is the number of all rows.
func (s *Snapshot) Count(ctx context.Context) (total int64, err error) {
	for _, t := range s.schema.tables {
		n, err := one(ctx, s.queries, func(r row) (n int64, err error) { return n, r.Scan(&n) }, `select count(*) from `+t.name)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// Dump sends every row of every table, in no order within a table: one would
// cost a big store more than it is worth.
func (s *Snapshot) Dump(ctx context.Context, to Sink) error {
	for _, t := range s.schema.tables {
		if err := s.dumpTable(ctx, t, to); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return nil
}

func (s *Snapshot) dumpTable(ctx context.Context, t table, to Sink) error {
	names := t.columnNames()
	if err := to.Table(t.name, names); err != nil {
		return err
	}
	values, cells := make([]any, len(t.columns)), make([]any, len(t.columns))
	for i, c := range t.columns {
		cells[i] = cell{c, &values[i]}
	}
	var refused error // by the sink: no error of the engine
	err := s.queries.conn.query(ctx, `select `+strings.Join(names, ", ")+` from `+t.name, nil, func(r row) error {
		err := r.Scan(cells...)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		refused = to.Row(values)
		return refused
	})
	if refused != nil {
		return refused
	}
	return s.queries.fail(ctx, err)
}
