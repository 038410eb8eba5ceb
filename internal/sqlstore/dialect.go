package sqlstore

import (
	"context"
	"fmt"

	"github.com/pressly/goose/v3"

	"galley/internal/cms"
)

// dialect holds the differences between the engines' SQL. No other code depends on
// the engine.
type dialect struct {
	name  string
	local bool // many small statements cost no more than a large one
	goose goose.Dialect
	words map[string]string // of the schema's templates

	lockShared string // suffixes of a select that locks
	lockUpdate string
	skipLocked string // suffix of a select that locks and skips locked rows
	size       string // a query for the bytes that the database takes
	pathList   string // an aggregate of locales and pathnames, a line for each
	unseen     string // a query for tables of sites' pages without good statistics
	guess      string // prefix of a query whose plan is to be returned as JSON
	analyze    string // prefix of a table whose statistics are to be gathered
	// bulkJoins turns nested loops off in the transaction, and anyJoins on again.
	bulkJoins, anyJoins string
	// among returns the condition that a column has one of some values, all strings,
	// all ids or all int64, and its arguments.
	among func(column string, values []any) (condition string, args []any)
	// merge unites selects that each have an index in the given order, so that the
	// engine reads no more of each than the result needs.
	merge   func(selects []string, order string) string
	tryLock string // a query that takes a lock by name, or returns false
	// lockEvents takes the lock under which events are numbered; "": there is one
	// writer, which numbers them when it records them.
	lockEvents string

	// Queries for the names of the tables, of the indexes that can be used, and of
	// the indexes that are no table's key with their definitions.
	tables, indexes, definitions string
	// fill are statements to run before a store is filled, and filled those to run
	// afterwards.
	fill   []string
	filled func(tables []string) []string
	// examine runs the checks that only this engine has.
	examine func(ctx context.Context, q queries, schema *schema, deep bool) []Finding

	// beforeMigration begins each migration's script.
	beforeMigration string
	// unfit returns an error if the settings of a database do not suffice.
	unfit func(context.Context, queries) error

	// classify returns the kind of a driver's error.
	classify func(error) failure
}

// failure is a kind of driver's errors.
type failure int

const (
	failOther       failure = iota
	failUnique              // a unique key is taken
	failRetry               // run the transaction again
	failUnavailable         // the engine can't be reached, or is out of space
	failBusy                // another program has locked the database
)

// fail converts a driver's error to one of the domain.
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
