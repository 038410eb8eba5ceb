package sqlstore_test

import (
	"strings"
	"sync"
	"testing"

	"galley/internal/cms"
	"galley/internal/pgtest"
	"galley/internal/storetest"
)

func TestStoreThroughPgBouncer(t *testing.T) {
	t.Parallel()
	through := pgtest.Bouncer(t)
	storetest.Run(t, func(t *testing.T) cms.Store { return migrated(t, openPostgres(t, through(pgtest.URL(t)))) })
}

// A lock that a session keeps would stay with the pooler's connection, and the
// next node would wait for it in vain.
func TestMigrateThroughPgBouncer(t *testing.T) {
	t.Parallel()
	database := pgtest.Bouncer(t)(pgtest.URL(t))
	var running sync.WaitGroup
	for range 4 {
		store := openPostgres(t, database)
		running.Go(func() {
			if _, err := store.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for range 20 { // more than the pooler has connections
		store := openPostgres(t, database)
		if again, err := store.Migrate(t.Context()); err != nil || len(again) != 0 {
			t.Fatalf("applied %v, %v", again, err)
		}
		if err := store.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A pooler that does not pass our setting on leaves the server's.
func TestAStoreThatAnswersBeforeItHasWrittenIsRefused(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	through := openPostgres(t, pgtest.Bouncer(t)(database))
	execute(t, database, `do $$ begin execute format('alter database %I set synchronous_commit = off', current_database()); end $$`)
	if _, err := through.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "synchronous_commit is off") {
		t.Errorf("got %v", err)
	}
	if _, err := openPostgres(t, database).Migrate(t.Context()); err != nil { // where our own setting wins
		t.Error(err)
	}
}
