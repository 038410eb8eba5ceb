package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Sink takes the rows of one table after another. A value is nil, a bool, an
// int64, a float64, a string or a []byte, the same on both engines; ids are
// their 16 bytes. The values are valid during the call.
type Sink interface {
	Table(name string, columns []string) error
	Row(values []any) error
}

// Snapshot is the content of a store at one time.
type Snapshot struct {
	Schema int64 // version of the schema
	Engine string

	queries queries
	schema  *schema
}

// ErrNoSchema reports that a store has no schema.
var ErrNoSchema = errors.New("the store is empty: it has no schema yet")

// Snapshot lets a callback read everything from one snapshot, while others write.
// It changes nothing, whatever the schema's version.
func (s *Store) Snapshot(ctx context.Context, use func(*Snapshot) error) error {
	return s.engine.view(ctx, func(c conn) error {
		q := queries{conn: c, dialect: s.dialect}
		version, err := q.knownVersion(ctx)
		if err != nil {
			return err
		}
		if version == 0 {
			return ErrNoSchema
		}
		schema, err := schemaAt(ctx, version)
		if err != nil {
			return err
		}
		return use(&Snapshot{version, s.dialect.name, q, schema})
	})
}

// Count returns the number of all rows.
func (s *Snapshot) Count(ctx context.Context) (total int64, err error) {
	for _, name := range s.schema.stored() {
		n, err := value[int64](ctx, s.queries, `select count(*) from `+name)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// Dump sends every row of every table that is no index. The rows of a table have no order.
func (s *Snapshot) Dump(ctx context.Context, to Sink) error {
	for _, name := range s.schema.stored() {
		if err := s.dumpTable(ctx, s.schema.tables[name], to); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	return nil
}

// cell is a column of the row that is being read.
type cell struct {
	column column
	value  *any
}

// Scan converts the driver's value.
func (c cell) Scan(src any) (err error) {
	*c.value, err = c.column.plain(src)
	return err
}

func (s *Snapshot) dumpTable(ctx context.Context, t table, to Sink) error {
	if err := to.Table(t.name, t.names); err != nil {
		return err
	}
	values, cells := make([]any, len(t.columns)), make([]any, len(t.columns))
	for i, c := range t.columns {
		cells[i] = cell{c, &values[i]}
	}
	var refused error // by the sink: no error of the engine
	err := s.queries.conn.query(ctx, `select `+strings.Join(t.names, ", ")+` from `+t.name, nil, func(r row) error {
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
