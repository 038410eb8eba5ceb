package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
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

// Migrate brings the schema up to date and returns the versions it applied.
// Any number of nodes may call it at once.
func (s *Store) Migrate(ctx context.Context) ([]int64, error) {
	provider, err := s.provider()
	if err != nil {
		return nil, err
	}
	var results []*goose.MigrationResult
	for try := 1; ; try++ {
		if err := s.checkNotNewer(ctx, provider); err != nil {
			return nil, err
		}
		results, err = provider.Up(ctx)
		// On SQLite two programs may start at once on one file; the second
		// then finds the work done.
		if err == nil || try == 3 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("can't bring the schema up to date: %w", err)
	}
	var versions []int64
	for _, result := range results {
		versions = append(versions, result.Source.Version)
	}
	return versions, nil
}

// Ping tells whether the store can be reached and has the program's schema.
func (s *Store) Ping(ctx context.Context) error {
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

func (s *Store) checkNotNewer(ctx context.Context, provider *goose.Provider) error {
	if err := s.write.PingContext(ctx); err != nil {
		return s.queries.fail(ctx, err)
	}
	version, err := provider.GetDBVersion(ctx)
	if err != nil {
		return s.queries.fail(ctx, err)
	}
	if latest := latestVersion(provider); version > latest {
		return &NewerStoreError{version, latest}
	}
	return nil
}

func latestVersion(provider *goose.Provider) int64 {
	sources := provider.ListSources()
	return sources[len(sources)-1].Version
}

func (s *Store) newProvider() (*goose.Provider, error) {
	migrations, err := s.migrations()
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{
		goose.WithGoMigrations(migrations...),
		goose.WithDisableGlobalRegistry(true),
	}
	if s.dialect.migrationLock != nil {
		locker, err := s.dialect.migrationLock()
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(s.dialect.goose, s.write, nil, options...)
}

// migrations renders the schema's files in the words of the engine.
func (s *Store) migrations() ([]*goose.Migration, error) {
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
		if err := tmpl.ExecuteTemplate(&script, strings.TrimPrefix(file, "migrations/"), s.dialect.words); err != nil {
			return nil, err
		}
		migrations = append(migrations, goose.NewGoMigration(version, &goose.GoFunc{
			RunTx: func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, script.String())
				return err
			},
		}, nil))
	}
	return migrations, nil
}
