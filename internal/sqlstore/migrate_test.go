package sqlstore_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"galley/internal/pgtest"
	"galley/internal/sqlstore"
)

// database is one empty database that can be opened again and again.
type database struct {
	open func(t *testing.T) *sqlstore.Store
	exec func(t *testing.T, statement string)
}

func databases(t *testing.T) map[string]database {
	t.Helper()
	dir, url := t.TempDir(), pgtest.URL(t)
	exec := func(driver, source string) func(t *testing.T, statement string) {
		return func(t *testing.T, statement string) {
			t.Helper()
			db, err := sql.Open(driver, source)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	return map[string]database{
		"sqlite": {
			func(t *testing.T) *sqlstore.Store { return openSQLite(t, dir) },
			exec("sqlite", filepath.Join(dir, sqlstore.DatabaseFile)),
		},
		"postgres": {
			func(t *testing.T) *sqlstore.Store { return openPostgres(t, url) },
			exec("pgx", url),
		},
	}
}

func TestMigrateAgainDoesNothing(t *testing.T) {
	for name, db := range databases(t) {
		t.Run(name, func(t *testing.T) {
			store := db.open(t)
			if err := store.Ping(t.Context()); err == nil {
				t.Error("an empty database has the program's schema")
			}
			first, err := store.Migrate(t.Context())
			if err != nil || len(first) == 0 {
				t.Fatalf("the first migration applied %v: %v", first, err)
			}
			for _, s := range []*sqlstore.Store{store, db.open(t)} {
				again, err := s.Migrate(t.Context())
				if err != nil || len(again) != 0 {
					t.Errorf("a later migration applied %v: %v", again, err)
				}
				if err := s.Ping(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Nodes start together, on a database that none of them has seen.
func TestMigrateFromManyNodesAtOnce(t *testing.T) {
	t.Parallel() // nodes wait for each other, and other tests need not
	const nodes = 4
	for name, db := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var running sync.WaitGroup
			for range nodes {
				store := db.open(t)
				running.Go(func() {
					if _, err := store.Migrate(t.Context()); err != nil {
						t.Error(err)
					}
					if err := store.Ping(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			running.Wait()
			if again, err := db.open(t).Migrate(t.Context()); err != nil || len(again) != 0 {
				t.Errorf("a migration was left to do: %v, %v", again, err)
			}
		})
	}
}

func TestMigrateRefusesANewerStore(t *testing.T) {
	for name, db := range databases(t) {
		t.Run(name, func(t *testing.T) {
			store := migrated(t, db.open(t))
			db.exec(t, `insert into goose_db_version (version_id, is_applied) values (999, true)`)
			for _, s := range []*sqlstore.Store{store, db.open(t)} {
				applied, err := s.Migrate(t.Context())
				newer, ok := errors.AsType[*sqlstore.NewerStoreError](err)
				if !ok || newer.Store != 999 || newer.Program >= 999 {
					t.Errorf("got %v, %v", applied, err)
				}
			}
		})
	}
}

// A node that meets a database it has not migrated must not call itself ready.
func TestPingTellsAnOlderStore(t *testing.T) {
	for name, db := range databases(t) {
		t.Run(name, func(t *testing.T) {
			store := migrated(t, db.open(t))
			db.exec(t, `delete from goose_db_version where version_id > 0`)
			if err := store.Ping(t.Context()); err == nil {
				t.Error("a store without its migrations was called ready")
			}
		})
	}
}
