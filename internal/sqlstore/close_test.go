package sqlstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"galley/internal/cms"
)

// TestClosedDatabaseIsOneFile closes a store that was written to: all of it
// must be in the database then, and nothing in the log beside it.
func TestClosedDatabaseIsOneFile(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenSQLite(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = s.InTx(t.Context(), func(tx cms.Tx) error {
		return tx.CreateWorkspace(t.Context(), cms.Workspace{ID: cms.NewID(), Name: "W", CreatedAt: time.Now()})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Workspaces(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.View(t.Context(), func(r cms.Reader) error { _, err := r.Workspaces(t.Context()); return err }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, DatabaseFile+"-wal")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log is still there: %v", err)
	}
}
