package sqlstore

import (
	"errors"
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
