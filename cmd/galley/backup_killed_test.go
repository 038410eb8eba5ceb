package main_test

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"galley/internal/pgtest"
)

// bigBackup is a backup that takes a while to restore.
func bigBackup(t *testing.T) string {
	t.Helper()
	data, name := t.TempDir(), filepath.Join(t.TempDir(), "big")
	createApp(t, "--data", data, "--name", "A")
	sqlite(t, data, `insert into audit (workspace_id, id, site_id, resource_id, app_id, kind, operation, request_id, state_after)
		with recursive n (i) as (select 1 union all select i + 1 from n where i < 30000)
		select randomblob(16), randomblob(16), randomblob(16), randomblob(16), randomblob(16), 'page', 'updatePage', i, hex(randomblob(50)) from n`)
	mustRun(t, nil, "backup", "--data", data, name)
	return name
}

func TestRestoreThatIsKilledCanBeRunAgainOnSQLite(t *testing.T) {
	t.Parallel()
	name := bigBackup(t)
	for range 20 { // it may be quicker than we
		data := filepath.Join(t.TempDir(), "data")
		p := launch(t, nil, "restore", "--data", data, name)
		eventually(t, "the restore writes", func() bool {
			info, err := os.Stat(filepath.Join(data, "galley.db-wal"))
			select {
			case <-p.ended:
				return true
			default:
				return err == nil && info.Size() > 200_000 // the schema is there
			}
		})
		p.kill()
		if wasEmpty(t, name, "--data", data) {
			return
		}
	}
	t.Error("no restore was killed before its end")
}

// wasEmpty restores into a store that a killed restore left, and tells whether
// that was empty. If not, it has to be whole.
func wasEmpty(t *testing.T, name string, store ...string) bool {
	t.Helper()
	code, _, stderr := run(t, nil, with(store, "restore", name)...)
	if code != 0 && !strings.Contains(stderr, "not empty") {
		t.Errorf("the store was left in no good state: %s", stderr)
	}
	again := filepath.Join(t.TempDir(), "again")
	mustRun(t, nil, with(store, "backup", again)...)
	sameRows(t, name, again)
	return code == 0
}

func TestRestoreThatIsKilledCanBeRunAgainOnPostgres(t *testing.T) {
	t.Parallel()
	name := bigBackup(t)
	for range 20 { // it may be quicker than we
		url := pgtest.URL(t)
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		others := func(state string) (n int) {
			err := db.QueryRow(`select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and ` + state).Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		p := launch(t, nil, "restore", "--database-url", url, name)
		eventually(t, "the restore writes", func() bool {
			select {
			case <-p.ended:
				return true
			default:
				return others(`query like 'insert into audit%'`) > 0
			}
		})
		p.kill()
		eventually(t, "the server has noticed", func() bool { return others(`true`) == 0 })
		if wasEmpty(t, name, "--database-url", url) {
			return
		}
	}
	t.Error("no restore was killed before its end")
}

func TestBackupThatIsInterruptedLeavesNothing(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	createApp(t, "--database-url", url, "--name", "A")
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.Exec(`lock table audit in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "file")
	p := launch(t, nil, "backup", "--database-url", url, name)
	eventually(t, "the backup is under way", func() bool {
		_, err := os.Stat(name + ".partial")
		return err == nil
	})
	if code := p.stop(t); code != 1 || !strings.Contains(p.stderr.String(), "stopped before the end") {
		t.Errorf("exit code %d: %s", code, &p.stderr)
	}
	for _, left := range []string{name, name + ".partial"} {
		if _, err := os.Stat(left); !os.IsNotExist(err) {
			t.Errorf("%s was left (%v)", left, err)
		}
	}
}

// onTerminal runs a command on a terminal and returns what is shown there.
func onTerminal(t *testing.T, args ...string) string {
	t.Helper()
	quoted := "'" + strings.Join(append([]string{binary}, args...), "' '") + "'"
	cmd := exec.Command("script", "--quiet", "--return", "--command", quoted, os.DevNull)
	cmd.Dir = t.TempDir()
	shown, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatalf("this test needs the program script: %v", err)
	}
	return string(shown)
}

func TestProgressIsShownOnATerminal(t *testing.T) {
	t.Parallel()
	name := bigBackup(t)
	data, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	checkShown(t, []string{"restore", "--data", data, name}, []string{"Verifying", "Restoring", "rows/s", "Restored 30,0"})
	checkShown(t, []string{"copy", "--from", data, "--to", other}, []string{"Copying", "Copied 30,0"})
	checkShown(t, []string{"backup", "--data", data, name + "2"}, []string{"Backing up", "Backed up 30,0"})
	checkShown(t, []string{"backup", "--data", data, "-"}, []string{"refusing to write a backup to the terminal"})
	if said := mustRun(t, nil, "backup", "--data", data, name+"3"); strings.Contains(said, "\r") {
		t.Errorf("a bar was shown to nobody: %q", said)
	}
}

func checkShown(t *testing.T, args, want []string) {
	t.Helper()
	shown := onTerminal(t, args...)
	for _, words := range want {
		if !strings.Contains(shown, words) {
			t.Errorf("galley %v does not show %q:\n%s", args, words, shown)
		}
	}
}
