package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"galley/internal/cms"
)

// Times are stored as microseconds since 1970, since the engines' own types
// disagree.

type timeScanner struct{ dst *time.Time }

func (s timeScanner) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return errors.New("a time is not a number")
	}
	*s.dst = time.UnixMicro(n).UTC()
	return nil
}

func scanTime(dst *time.Time) timeScanner { return timeScanner{dst} }

type nullTimeScanner struct{ dst **time.Time }

func (s nullTimeScanner) Scan(src any) error {
	if src == nil {
		*s.dst = nil
		return nil
	}
	*s.dst = new(time.Time)
	return timeScanner{*s.dst}.Scan(src)
}

func scanNullTime(dst **time.Time) nullTimeScanner { return nullTimeScanner{dst} }

// sqliteRow is a row as the driver of SQLite has it.
type sqliteRow []driver.Value

// Scan copies the values.
func (r sqliteRow) Scan(dest ...any) error {
	if len(dest) != len(r) {
		return fmt.Errorf("a row has %d columns, want %d", len(r), len(dest))
	}
	for i, value := range r {
		if err := scanValue(dest[i], value); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

// scanValue knows the types of most columns, and leaves named ones and pointers
// to reflection.
func scanValue(dest any, value driver.Value) error {
	ok := false
	switch dest := dest.(type) {
	case *cms.ID:
		b, _ := value.([]byte)
		ok = copy(dest[:], b) == len(dest)
	case *string:
		*dest, ok = value.(string)
	case **string:
		ok = scanPointer(dest, value, func(text string) string { return text })
	case **float64:
		ok = scanPointer(dest, value, func(n float64) float64 { return n })
	case **cms.Frequency:
		ok = scanPointer(dest, value, func(text string) cms.Frequency { return cms.Frequency(text) })
	case **bool:
		ok = scanPointer(dest, value, func(n int64) bool { return n != 0 })
	case *int64:
		*dest, ok = value.(int64)
	case *cms.FieldSet:
		n, isNumber := value.(int64)
		*dest, ok = cms.FieldSet(n), isNumber
	case *bool:
		n, isNumber := value.(int64)
		*dest, ok = n != 0, isNumber
	case sql.Scanner:
		return dest.Scan(value)
	}
	if ok {
		return nil
	}
	to := reflect.ValueOf(dest).Elem()
	if to.Kind() == reflect.Pointer {
		to.SetZero()
		if value == nil {
			return nil
		}
		to.Set(reflect.New(to.Type().Elem()))
		return scanValue(to.Interface(), value)
	}
	from := reflect.ValueOf(value)
	switch {
	case value == nil && to.Kind() == reflect.Slice:
		to.SetZero()
	case value == nil:
		return fmt.Errorf("null does not fit a %T", dest)
	case from.Kind() == reflect.Int64 && to.Kind() == reflect.String:
		to.SetString(strconv.FormatInt(from.Int(), 10))
	case from.CanConvert(to.Type()):
		to.Set(from.Convert(to.Type()))
	default:
		return fmt.Errorf("a %T does not fit a %T", value, dest)
	}
	return nil
}

// scanPointer copies a value that may be null.
func scanPointer[T, V any](dest **T, value driver.Value, convert func(V) T) bool {
	*dest = nil
	v, ok := value.(V)
	if ok {
		*dest = new(convert(v))
	}
	return ok || value == nil
}

// ignored is a column that nobody reads.
type ignored struct{}

func (ignored) Scan(any) error { return nil }

// withColumn is a row with one column more than its scanner asks for.
func withColumn(r row, last any) row { return longerRow{r, last} }

type longerRow struct {
	row
	last any
}

func (r longerRow) Scan(dest ...any) error { return r.row.Scan(append(dest, r.last)...) }

func scanID(r row) (cms.ID, error) {
	var id cms.ID
	err := r.Scan(&id)
	return id, err
}

// idChunk is how many ids, and rowChunk how many rows, one statement names:
// both engines bound the number of its values.
const (
	idChunk  = 500
	rowChunk = 100
)

// marks are n placeholders for a list of values.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// atMost ends a query after so many rows. The number is part of the text: one
// that is bound makes SQLite prepare the statement anew each time.
func atMost(n int) string { return " limit " + strconv.Itoa(n) }

func anys[T any](values []T) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return list
}
