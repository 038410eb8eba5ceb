package sqlstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"galley/internal/cms"
)

// placeForTest is a file, which it makes if need be.
func placeForTest(t *testing.T, file string) place {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	do(t, err)
	was, err := f.Stat()
	do(t, errors.Join(err, f.Close()))
	return place{file, was}
}

// Nobody is told that something was written which nobody finds again, nor reads
// from two databases.
func TestAFolderThatIsMovedIsNoticed(t *testing.T) {
	for name, move := range map[string]func(dir string) error{
		"moved":   func(dir string) error { return os.Rename(dir, dir+".old") },
		"removed": os.RemoveAll,
		"replaced": func(dir string) error {
			err := os.Rename(dir, dir+".old")
			s, opened := OpenSQLite(dir, nil)
			_, migrated := s.Migrate(t.Context())
			return errors.Join(err, opened, migrated, s.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			s, err := OpenSQLite(dir, nil)
			readyForTest(t, s, err)
			create := func() error {
				w := cms.Workspace{ID: cms.NewID(), Name: "w", CreatedAt: time.Now()}
				return s.InTx(t.Context(), func(tx cms.Tx) error { return tx.CreateWorkspace(t.Context(), w) })
			}
			do(t, create())
			do(t, move(dir))
			if err := create(); !errors.Is(err, errMoved) || cms.CodeOf(err) != cms.CodeUnavailable {
				t.Errorf("a write: %v", err)
			}
			if err := s.Ping(t.Context()); !errors.Is(err, errMoved) {
				t.Errorf("ready: %v", err)
			}
			// A read comes from where it did before, or not at all: by a connection
			// that was open, or one that is opened while others read.
			var read func(more int) error
			read = func(more int) error {
				return s.View(t.Context(), func(r cms.Reader) error {
					there, err := r.Workspaces(t.Context())
					if err != nil {
						return err
					}
					if len(there) != 1 {
						t.Errorf("read %d workspaces", len(there))
					}
					if more == 0 {
						return nil
					}
					return read(more - 1)
				})
			}
			if err := read(3); !errors.Is(err, errMoved) {
				t.Errorf("a read: %v", err)
			}
			if name == "moved" {
				do(t, os.Rename(dir+".old", dir))
				do(t, create())
				do(t, s.Ping(t.Context()))
			}
		})
	}
}
