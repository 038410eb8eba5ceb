package sqlstore_test

import (
	"os"
	"path/filepath"
	"testing"

	"galley/internal/cms"
	"galley/internal/pgtest"
	"galley/internal/sqlstore"
	"galley/internal/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// engines are the ways to open an empty database.
var engines = map[string]func(t *testing.T) *sqlstore.Store{
	"sqlite":   func(t *testing.T) *sqlstore.Store { return openSQLite(t, t.TempDir()) },
	"postgres": func(t *testing.T) *sqlstore.Store { return openPostgres(t, pgtest.URL(t)) },
}

func openSQLite(t *testing.T, dir string) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.OpenSQLite(dir, nil)
	return opened(t, store, err)
}

func openPostgres(t *testing.T, url string) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.OpenPostgres(url, nil)
	return opened(t, store, err)
}

func opened(t *testing.T, store *sqlstore.Store, err error) *sqlstore.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func migrated(t *testing.T, store *sqlstore.Store) *sqlstore.Store {
	t.Helper()
	if _, err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

func TestStore(t *testing.T) {
	t.Parallel()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) cms.Store { return migrated(t, open(t)) })
		})
	}
}

// The folder's name goes into a URL, in which these characters mean something.
func TestSQLiteInAFolderWithAnyName(t *testing.T) {
	for _, name := range []string{"with blanks", "100%41", "a?mode=memory", "a#b", "é\U0001F4C1", "a&b=c;d+e", "deep/er"} {
		dir := filepath.Join(t.TempDir(), name)
		store := migrated(t, openSQLite(t, dir))
		if _, err := store.Workspaces(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		info, err := os.Stat(filepath.Join(dir, sqlstore.DatabaseFile))
		if err != nil || info.Size() == 0 {
			t.Errorf("%s: the database is not in its folder: %v", name, err)
		}
	}
}

func TestSQLiteWithoutAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlstore.OpenSQLite(file, nil); err == nil {
		t.Error("a file was taken for a folder")
	}
}

// What one store wrote, another one on the same file or database reads at once.
func TestTwoStoresShareADatabase(t *testing.T) {
	dir, url := t.TempDir(), pgtest.URL(t)
	for name, open := range map[string]func() *sqlstore.Store{
		"sqlite":   func() *sqlstore.Store { return openSQLite(t, dir) },
		"postgres": func() *sqlstore.Store { return openPostgres(t, url) },
	} {
		t.Run(name, func(t *testing.T) {
			one, two := migrated(t, open()), migrated(t, open())
			for i, pair := range [][2]*sqlstore.Store{{one, two}, {two, one}} {
				w := cms.Workspace{ID: cms.NewID(), Name: "W"}
				err := pair[0].InTx(t.Context(), func(tx cms.Tx) error { return tx.CreateWorkspace(t.Context(), w) })
				if err != nil {
					t.Fatal(err)
				}
				if _, err := pair[1].Workspace(t.Context(), w.ID); err != nil {
					t.Errorf("way %d: %v", i, err)
				}
			}
		})
	}
}
