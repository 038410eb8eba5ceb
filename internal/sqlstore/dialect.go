package sqlstore

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"galley/internal/cms"
)

// dialect holds every difference between the engines. Nothing outside the
// dialects asks which engine it is.
type dialect struct {
	name  string
	local bool // statements go to no other process: many small ones cost no more than one
	goose goose.Dialect
	words map[string]string // of the schema's templates

	placeholder func(text []byte, n int) []byte // appends one; nil: a ? is one
	id          func(cms.ID) any
	lockShared  string // suffixes of a select that locks
	lockUpdate  string
	skipLocked  string // suffix of a select that locks and passes over what is locked
	size        string // a query for the bytes that the database takes
	pathList    string // an aggregate of locales and pathnames, a line for each
	unseen      string // a query for tables of sites' pages that the planner has no good statistics of
	guess       string // what the planner thinks of a query, as JSON; the query comes after it
	analyze     string // a statement that gathers the statistics of a table, named at its end
	// wholes has the planner join tables as wholes until the end of the
	// transaction, and parts lets it choose again; "": it always does.
	wholes, parts string
	// among is a condition that a column has one of some values, which are all
	// strings or all ids, and its arguments.
	among func(column string, values []any) (condition string, args []any)
	// merge joins selects that each have an index in the order that comes after
	// them, so that no more of each is read than the whole needs.
	merge   func(selects []string, order string) string
	tryLock string // a query that takes a lock by name, or answers false

	// Queries for the names of the tables, of the indexes that can be used, and of
	// the indexes that are no table's key with the statements that make them.
	tables, indexes, definitions string
	// fill are statements to run before a store is filled, and filled is one to run
	// afterwards.
	fill   []string
	filled func(tables []string) string
	// examine returns findings about what only this engine has.
	examine func(ctx context.Context, q queries, schema *schema, deep bool) []Finding

	// beforeMigration begins each migration's script.
	beforeMigration string
	// unfit tells why a database can't be used as it is set up; nil: any can.
	unfit func(context.Context, queries) error

	// classify tells what kind of failure a driver's error is.
	classify func(error) failure
}

// failure is what a driver's error means to us.
type failure int

const (
	failOther       failure = iota
	failUnique              // a unique key is taken
	failRetry               // run the transaction again
	failUnavailable         // the engine is out of reach, or out of space
	failBusy                // another program has the database to itself
)

// fail turns a driver's error into one that the caller of the store knows.
func (d *dialect) fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return cms.Unavailable(fmt.Errorf("%w: %w", ctx.Err(), err))
	}
	switch d.classify(err) {
	case failUnique:
		return cms.Conflict("A resource with these values already exists")
	case failRetry:
		return &retryError{err}
	case failUnavailable, failBusy:
		return cms.Unavailable(err)
	}
	return fmt.Errorf("store: %w", err)
}

// rebind turns the ? of a statement into the engine's placeholders. No
// statement has a ? in a literal.
func (d *dialect) rebind(query string) string {
	if d.placeholder == nil {
		return query
	}
	text := make([]byte, 0, len(query)+3*strings.Count(query, "?"))
	n := 0
	for part := range strings.SplitSeq(query, "?") {
		if n > 0 {
			text = d.placeholder(text, n)
		}
		text = append(text, part...)
		n++
	}
	return string(text)
}

// args turns values of the domain into values that every driver takes.
func (d *dialect) args(values []any) []any {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = d.arg(v)
	}
	return args
}

func (d *dialect) arg(v any) any {
	switch v := v.(type) {
	case string, []byte, int64, bool, nil:
		return v
	case *string:
		if v == nil {
			return nil
		}
		return *v
	case cms.ID:
		return d.id(v)
	case *cms.ID:
		if v == nil {
			return nil
		}
		return d.id(*v)
	case time.Time:
		return v.UnixMicro()
	case *time.Time:
		if v == nil {
			return nil
		}
		return v.UnixMicro()
	case cms.KeyHash:
		return v[:]
	}
	// Named types of the domain become the plain types beneath them.
	r := reflect.ValueOf(v)
	if r.Kind() == reflect.Pointer {
		if r.IsNil() {
			return nil
		}
		r = r.Elem()
	}
	switch r.Kind() {
	case reflect.String:
		return r.String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int64:
		return r.Int()
	case reflect.Uint16:
		return int64(r.Uint())
	case reflect.Bool:
		return r.Bool()
	case reflect.Float64:
		return r.Float()
	}
	return v
}

func dollar(text []byte, n int) []byte { return strconv.AppendInt(append(text, '$'), int64(n), 10) }
