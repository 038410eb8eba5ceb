package sqlstore

import (
	"bytes"
	"fmt"

	"github.com/google/uuid"

	"galley/internal/cms"
)

// kind is a type of columns: how what a driver hands out becomes a plain value
// that both engines have, and how such a value becomes an argument again. Null
// is dealt with elsewhere.
type kind struct {
	plain func(src any) (any, bool)
	arg   func(plain any) (any, bool)
}

// kinds are the types that migrations write. A value that is not of its
// column's type is an error: SQLite would keep it, and the other engine not.
var kinds = map[string]kind{
	"uuid":             {plainID, argID},
	"text":             {as[string], as[string]},
	"bytes":            {plainBytes, as[[]byte]},
	"bigint":           {as[int64], as[int64]},
	"integer":          {as[int64], as[int64]},
	"smallint":         {as[int64], as[int64]},
	"boolean":          {plainBool, as[bool]},
	"double precision": {as[float64], as[float64]},
}

func as[T any](v any) (any, bool) {
	value, ok := v.(T)
	return value, ok
}

// plainBytes are a copy: a driver may use the memory again.
func plainBytes(src any) (any, bool) {
	b, ok := src.([]byte)
	if len(b) == 0 {
		return []byte{}, ok // nil would be null
	}
	return bytes.Clone(b), ok
}

// plainID is an id as its 16 bytes, in which SQLite has it; PostgreSQL hands
// out text.
func plainID(src any) (any, bool) {
	if text, ok := src.(string); ok {
		id, err := uuid.Parse(text)
		return id[:], err == nil
	}
	b, ok := src.([]byte)
	return bytes.Clone(b), ok && len(b) == len(cms.NoID)
}

func argID(plain any) (any, bool) {
	b, ok := plain.([]byte)
	if !ok || len(b) != len(cms.NoID) {
		return nil, false
	}
	return cms.ID(b), true
}

// plainBool reads the 0 and 1 that SQLite has for booleans.
func plainBool(src any) (any, bool) {
	switch v := src.(type) {
	case bool:
		return v, true
	case int64:
		return v == 1, v == 0 || v == 1
	}
	return nil, false
}

// cell is a column of the row that is being read.
type cell struct {
	column column
	value  *any
}

// Scan takes what the driver hands out.
func (c cell) Scan(src any) error {
	if src == nil {
		*c.value = nil
		return nil
	}
	value, ok := c.column.kind.plain(src)
	if !ok {
		return fmt.Errorf("column %s has a %T that it can't hold", c.column.name, src)
	}
	*c.value = value
	return nil
}

// argument is a plain value as an argument of a statement.
func (c column) argument(plain any) (any, error) {
	if plain == nil {
		return nil, nil //nolint:nilnil // a null is a value
	}
	arg, ok := c.kind.arg(plain)
	if !ok {
		return nil, fmt.Errorf("column %s can't hold a %T", c.name, plain)
	}
	return arg, nil
}
