package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A backup in the place of the database that it is of would be the end of both.
func TestBackupLeavesTheStoreAlone(t *testing.T) {
	t.Parallel()
	data, folder := t.TempDir(), t.TempDir()
	createApp(t, "--data", data, "--name", "Importer")
	database := filepath.Join(data, "galley.db")
	link, hardLink, folderLink, walLink := filepath.Join(folder, "link"), filepath.Join(folder, "hard"), filepath.Join(folder, "folder"), filepath.Join(folder, "wal")
	err := errors.Join(os.Symlink(database, link), os.Link(database, hardLink), os.Symlink(data, folderLink), os.Symlink(database+"-wal", walLink))
	if err != nil {
		t.Fatal(err)
	}
	check := func(t *testing.T) {
		t.Helper()
		for _, target := range []string{
			database, database + "-wal", database + "-shm", database + "-journal",
			link, hardLink, walLink, folderLink + "/galley.db", folderLink + "/galley.db-wal", folderLink + "/galley.db-journal",
			data + "/../" + filepath.Base(data) + "/galley.db", data + "/../" + filepath.Base(data) + "//galley.db-journal",
		} {
			stderr := refused(t, 1, nil, "backup", "--data", data, target)
			if !strings.Contains(stderr, "of the store itself") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s: the message does not say why in a line: %s", target, stderr)
			}
		}
		if list := mustRun(t, nil, "apps", "list", "--data", data); !strings.Contains(list, "Importer") {
			t.Errorf("the app is gone:\n%s", list)
		}
	}
	check(t)
	server := serve(t, nil, "--data", data)
	check(t)
	server.stop(t)
	left, err := filepath.Glob(filepath.Join(data, "*"))
	if err != nil || len(left) != 2 { // the database and the key of secrets
		t.Errorf("the folder has %s (%v)", left, err)
	}

	// By any other name it may be there.
	mustRun(t, nil, "backup", "--data", data, filepath.Join(data, "galley.backup"))
	// Another store's files are files like any other.
	mustRun(t, nil, "backup", "--data", data, filepath.Join(folder, "galley.db"))
}

// SQLite takes away a log that it can't read, and with it the backup.
func TestRestoreFromTheStoreItFills(t *testing.T) {
	t.Parallel()
	data, name := t.TempDir(), filepath.Join(t.TempDir(), "file")
	createApp(t, "--data", data, "--name", "Importer")
	mustRun(t, nil, "backup", "--data", data, name)
	for _, file := range []string{"galley.db", "galley.db-wal", "galley.db-journal"} {
		to := t.TempDir()
		inTheWay := filepath.Join(to, file)
		if err := os.Link(name, inTheWay); err != nil {
			t.Fatal(err)
		}
		if stderr := refused(t, 1, nil, "restore", "--data", to, inTheWay); !strings.Contains(stderr, "another folder") {
			t.Errorf("the message does not say what to do: %s", stderr)
		}
		mustRun(t, nil, "restore", "--data", t.TempDir(), inTheWay)
	}
}
