package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"text/template"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// NewerStoreError reports that the store was written by a newer program.
type NewerStoreError struct{ Store, Program int64 }

func (e *NewerStoreError) Error() string {
	return fmt.Sprintf("the store has schema version %d and this program supports up to %d: use a newer galley", e.Store, e.Program)
}

const (
	migrationPatience = 5 * time.Minute        // how long to wait for other nodes
	lockPause         = 100 * time.Millisecond // between tries of the lock
	migrationPause    = 500 * time.Millisecond // lets other statements run
)

// Migrate brings the schema up to date and returns the versions it applied.
// Any number of nodes may call it at once, while others serve requests.
func (s *Store) Migrate(ctx context.Context) (applied []int64, err error) {
	provider, err := s.provider()
	if err != nil {
		return nil, err
	}
	patience, cancel := context.WithTimeout(ctx, migrationPatience)
	defer cancel()
	release, err := s.lockMigrations(ctx, patience)
	if err != nil {
		return nil, err
	}
	defer release()
	for tries, last := 1, int64(-1); ; tries++ {
		version, err := s.migratable(ctx, provider)
		if version > last {
			tries, last = 1, version
		}
		if err != nil && !s.inUse(err) {
			return nil, err
		}
		if err == nil {
			var results []*goose.MigrationResult
			results, err = provider.Up(ctx)
			if partial, ok := errors.AsType[*goose.PartialError](err); ok {
				results = partial.Applied
			}
			for _, result := range results {
				applied = append(applied, result.Source.Version)
			}
		}
		if err == nil {
			return applied, nil
		}
		// Two programs may start at once on one SQLite file: the second one then
		// fails, and finds the migrations applied or in progress.
		if tries < 3 || s.inUse(err) {
			err = pause(patience, migrationPause)
		}
		if err != nil {
			return applied, fmt.Errorf("can't bring the schema up to date: %w", err)
		}
	}
}

// inUse reports whether an error means that a table or the database is locked.
func (s *Store) inUse(err error) bool {
	class := s.dialect.classify(err)
	return class == failRetry || class == failBusy
}

// lockMigrations lets one node migrate at a time. The lock belongs to a transaction
// and not to a session, so that it works through a pooler. It is polled: a migration
// that waits for all other statements would wait for one that waits for the lock.
func (s *Store) lockMigrations(ctx, patience context.Context) (release func(), err error) {
	if s.dialect.tryLock == "" {
		return func() {}, nil
	}
	for {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return nil, s.fail(ctx, err)
		}
		var free bool
		err = s.fail(ctx, tx.QueryRowContext(ctx, rebind(s.dialect.tryLock), "galley migrations").Scan(&free))
		release = func() { _ = tx.Rollback() } // it releases the lock
		if free && err == nil {
			return release, nil
		}
		release()
		if err == nil {
			err = pause(patience, lockPause)
		}
		if err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("another node is still migrating, or the tables are in use: %w", ctx.Err())
	case <-time.After(d):
		return nil
	}
}

// Ping returns an error unless the store can be reached and has the program's schema.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.engine.check(); err != nil {
		return s.fail(ctx, err)
	}
	version, err := value[int64](ctx, s.queries, appliedSchema)
	if err != nil {
		return err
	}
	if version < latestSchema {
		return fmt.Errorf("the store has schema version %d of %d: run 'galley migrate'", version, latestSchema)
	}
	return nil
}

// migratable returns the version of the schema, or an error if this program can't
// migrate the store.
func (s *Store) migratable(ctx context.Context, provider *goose.Provider) (int64, error) {
	if err := s.db.PingContext(ctx); err != nil {
		return 0, s.fail(ctx, err)
	}
	if s.dialect.unfit != nil {
		if err := s.dialect.unfit(ctx, s.queries); err != nil {
			return 0, err
		}
	}
	version, err := provider.GetDBVersion(ctx) // it creates the table of versions
	if err == nil && version > latestSchema {
		return 0, &NewerStoreError{version, latestSchema}
	}
	return version, s.fail(ctx, err)
}

func newProvider(d *dialect, db *sql.DB) (*goose.Provider, error) {
	migrations, err := d.migrations()
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(d.goose, db, nil,
		goose.WithGoMigrations(migrations...), goose.WithDisableGlobalRegistry(true))
}

// migrationNames are the files of the schema, in order. They are numbered from 1.
var migrationNames, _ = fs.Glob(migrationFiles, "migrations/*.sql") // fails only for a bad pattern

var latestSchema = int64(len(migrationNames))

// LatestSchema returns the version of the schema that this program creates.
func LatestSchema() int64 { return latestSchema }

// appliedSchema is a query for the version of a store's schema.
const appliedSchema = `select coalesce(max(version_id), 0) from goose_db_version where is_applied`

// migrations renders the files of the schema in the words of the engine.
func (d *dialect) migrations() ([]*goose.Migration, error) {
	templates, err := template.New("").Option("missingkey=error").ParseFS(migrationFiles, migrationNames...)
	if err != nil {
		return nil, err
	}
	var migrations []*goose.Migration
	for i, name := range migrationNames {
		var script bytes.Buffer
		if err := templates.ExecuteTemplate(&script, path.Base(name), d.words); err != nil {
			return nil, err
		}
		migrations = append(migrations, goose.NewGoMigration(int64(i+1), &goose.GoFunc{
			RunTx: func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, d.beforeMigration+script.String())
				return err
			},
		}, nil))
	}
	return migrations, nil
}
