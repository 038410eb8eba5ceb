package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// NewerStoreError says that the store was written by a newer program.
type NewerStoreError struct{ Store, Program int64 }

func (e *NewerStoreError) Error() string {
	return fmt.Sprintf("the store is at schema version %d, and this program knows versions up to %d: run a newer galley",
		e.Store, e.Program)
}

const (
	// migrationPatience is how long others are waited for.
	migrationPatience = 5 * time.Minute
	// lockPause is how often to look whether another node is done.
	lockPause = 100 * time.Millisecond
	// migrationPause leaves the tables to those who use them before the next try.
	migrationPause = 500 * time.Millisecond
)

// Migrate brings the schema up to date and returns the versions it applied.
// Any number of nodes may call it at once, and others may serve meanwhile.
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
	for tries, last := 0, int64(-1); ; {
		version, err := s.knownVersion(ctx, provider)
		if version > last {
			tries, last = 0, version
		}
		tries++
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
		// On SQLite two programs may start at once on one file; the second then
		// finds the work done, or going on.
		if err == nil || tries >= 3 && !s.inUse(err) {
			return applied, migrationError(err)
		}
		if err := pause(patience, migrationPause); err != nil {
			return nil, migrationError(err)
		}
	}
}

// inUse tells whether an error says that others use what is needed.
func (s *Store) inUse(err error) bool {
	class := s.dialect.classify(err)
	return class == failRetry || class == failBusy
}

func migrationError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("can't bring the schema up to date: %w", err)
}

// lockMigrations keeps nodes that start together from migrating together. The
// lock is that of an open transaction, not of a session: so it works through a
// pooler. Waiting in the database instead of here would make the migration that
// is waited for wait in turn, if it wants all others' statements to end first.
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
		err = s.fail(ctx, tx.QueryRowContext(ctx, s.dialect.rebind(s.dialect.tryLock), "galley migrations").Scan(&free))
		release = func() { _ = tx.Rollback() } // the lock goes, one way or another
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
		return fmt.Errorf("another node is still at it, or the tables are in use: %w", ctx.Err())
	case <-time.After(d):
		return nil
	}
}

// Ping tells whether the store can be reached and has the program's schema.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.engine.check(); err != nil {
		return s.fail(ctx, err)
	}
	provider, err := s.provider()
	if err != nil {
		return err
	}
	version, err := one(ctx, s.queries, func(r row) (version int64, err error) {
		return version, r.Scan(&version)
	}, `select coalesce(max(version_id), 0) from goose_db_version where is_applied`)
	if err != nil {
		return err
	}
	if want := latestVersion(provider); version < want {
		return fmt.Errorf("the store is at schema version %d of %d: run galley migrate", version, want)
	}
	return nil
}

// knownVersion is that of the schema, if this program knows it.
func (s *Store) knownVersion(ctx context.Context, provider *goose.Provider) (int64, error) {
	if err := s.db.PingContext(ctx); err != nil {
		return 0, s.fail(ctx, err)
	}
	if s.dialect.unfit != nil {
		if err := s.dialect.unfit(ctx, s.queries); err != nil {
			return 0, err
		}
	}
	version, err := provider.GetDBVersion(ctx)
	if err != nil {
		return 0, s.fail(ctx, err)
	}
	if latest := latestVersion(provider); version > latest {
		return 0, &NewerStoreError{version, latest}
	}
	return version, nil
}

func latestVersion(provider *goose.Provider) int64 {
	sources := provider.ListSources()
	return sources[len(sources)-1].Version
}

func newProvider(d *dialect, db *sql.DB) (*goose.Provider, error) {
	migrations, err := d.migrations()
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(d.goose, db, nil,
		goose.WithGoMigrations(migrations...), goose.WithDisableGlobalRegistry(true))
}

// migrations renders the schema's files in the words of the engine.
func (d *dialect) migrations() ([]*goose.Migration, error) {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var migrations []*goose.Migration
	for _, file := range files {
		number, _, _ := strings.Cut(strings.TrimPrefix(file, "migrations/"), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("migration %s has no number: %w", file, err)
		}
		tmpl, err := template.New("").Option("missingkey=error").ParseFS(migrationFiles, file)
		if err != nil {
			return nil, err
		}
		var script bytes.Buffer
		if err := tmpl.ExecuteTemplate(&script, strings.TrimPrefix(file, "migrations/"), d.words); err != nil {
			return nil, err
		}
		migrations = append(migrations, goose.NewGoMigration(version, &goose.GoFunc{
			RunTx: func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, d.beforeMigration+script.String())
				return err
			},
		}, nil))
	}
	return migrations, nil
}
