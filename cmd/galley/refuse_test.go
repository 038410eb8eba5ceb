package main_test

import (
	"crypto/rand"
	"database/sql"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite" // reaches into the store as no galley would

	"galley/internal/pgtest"
)

// stackTrace is what a person at a terminal should never see.
var stackTrace = regexp.MustCompile(`goroutine \d+|panic:|\.go:\d+|runtime error`)

// refused runs a command that has to end with a code and a message of its own
// on stderr, and returns the message.
func refused(t *testing.T, want int, env []string, args ...string) string {
	t.Helper()
	code, stdout, stderr := run(t, env, args...)
	if code != want {
		t.Errorf("galley %v: exit code %d, want %d\n%s%s", args, code, want, stdout, stderr)
	}
	if !strings.HasPrefix(stderr, "galley: ") {
		t.Errorf("galley %v: the message does not say who speaks: %q", args, stderr)
	}
	if stackTrace.MatchString(stderr) || strings.Count(stderr, "\n") > 5 {
		t.Errorf("galley %v: more than a message:\n%s", args, stderr)
	}
	if strings.Contains(stdout, "listens on") {
		t.Errorf("galley %v says that it listens:\n%s", args, stdout)
	}
	return stderr
}

func TestStartIsRefusedClearly(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	notADatabase := t.TempDir()
	if err := os.WriteFile(filepath.Join(notADatabase, "galley.db"), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}

	tests := map[string]struct {
		args []string
		says []string
	}{
		"port in use":              {[]string{"--addr", busy.Addr().String()}, []string{busy.Addr().String(), "in use", "--addr"}},
		"address without port":     {[]string{"--addr", "localhost"}, []string{"localhost", "port"}},
		"data folder under a file": {[]string{"--data", filepath.Join(file, "data")}, []string{"data folder"}},
		"data folder is a file":    {[]string{"--data", file}, []string{"data folder"}},
		"file is no database":      {[]string{"--data", notADatabase}, []string{filepath.Join(notADatabase, "galley.db"), "not a database", "restore the last backup"}},
		"database does not answer": {[]string{"--database-url", "postgres://u:hunter2@127.0.0.1:1/x"}, []string{"database", "its URL"}},
		"database URL is bad":      {[]string{"--database-url", "postgres://u:hunter2@127.0.0.1:port/x"}, []string{"database URL", "postgres://"}},
		"certificate is not there": {[]string{"--database-url", "postgres://u:hunter2@127.0.0.1/x?sslmode=verify-full&sslrootcert=/nope.pem"}, []string{"/nope.pem", "no such file"}},
		"another database":         {[]string{"--database-url", "mysql://u:hunter2@127.0.0.1/x"}, []string{"database URL", "postgres://"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stderr := refused(t, 1, nil, append([]string{"serve", "--addr", "127.0.0.1:0"}, test.args...)...)
			for _, word := range test.says {
				if !strings.Contains(stderr, word) {
					t.Errorf("the message does not say %q: %s", word, stderr)
				}
			}
			if strings.Contains(stderr, "hunter2") {
				t.Errorf("the message has the password: %s", stderr)
			}
		})
	}
}

// What a first try on PostgreSQL may meet is told with what to do about it, and
// nothing is made.
func TestDatabasesThatAreNotFitAreRefused(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t)
	db, err := sql.Open("pgx", direct)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	execute := func(statement string) {
		t.Helper()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	guest, japanese := "guest"+strings.ToLower(rand.Text()), "japanese"+strings.ToLower(rand.Text())
	execute("create role " + guest + " login")
	execute("create database " + japanese + " encoding 'EUC_JP' lc_collate 'C' lc_ctype 'C' template template0")
	defer execute("drop database " + japanese)
	defer execute("drop role " + guest)

	own, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	ofAnother, inJapanese := *own, *own
	ofAnother.User, inJapanese.Path = url.User(guest), "/"+japanese
	for name, test := range map[string]struct {
		at   url.URL
		says []string
	}{
		"of another encoding": {inJapanese, []string{"EUC_JP", "create database", "UTF8"}},
		"of another's":        {ofAnother, []string{"alter database", "owner", "permission denied"}},
	} {
		for _, command := range []string{"serve", "migrate"} {
			// A server may say first that it waits.
			code, _, stderr := run(t, []string{"GALLEY_ADDR=127.0.0.1:0"}, command, "--database-url", test.at.String())
			for _, word := range test.says {
				if !strings.Contains(stderr, word) {
					t.Errorf("galley %s on a database %s does not say %q: %s", command, name, word, stderr)
				}
			}
			if code != 1 || strings.Contains(stderr, "goose") {
				t.Errorf("galley %s on a database %s: exit code %d, %s", command, name, code, stderr)
			}
		}
	}
}

func TestStoreOfANewerProgramIsRefusedByEveryCommand(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	mustRun(t, nil, "migrate", "--data", data)
	sqlite(t, data, `insert into goose_db_version (version_id, is_applied) values (99999, 1)`)

	for _, command := range [][]string{
		{"serve", "--addr", "127.0.0.1:0"}, {"migrate"}, {"apps", "create", "--name", "Importer"}, {"apps", "list"},
	} {
		stderr := refused(t, 1, nil, append(command, "--data", data)...)
		for _, word := range []string{"99999", "newer"} {
			if !strings.Contains(stderr, word) {
				t.Errorf("galley %v does not say %q: %s", command, word, stderr)
			}
		}
	}
}

// sqlite runs a statement on the database of a data folder.
func sqlite(t *testing.T, data, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, "galley.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// A second server on a port must leave the first one's store alone, and one with
// bad settings any store: to bring it up to date is for good.
func TestServerThatCannotStartMakesNoStore(t *testing.T) {
	t.Parallel()
	first := serve(t, nil)
	for _, args := range [][]string{
		{"--addr", first.address()}, {"--addr", "127.0.0.1:0", "--redis-url", "http://127.0.0.1"},
	} {
		data := filepath.Join(t.TempDir(), "data")
		refused(t, 1, nil, append([]string{"serve", "--data", data}, args...)...)
		if _, err := os.Stat(data); !os.IsNotExist(err) {
			t.Errorf("%v: the data folder was made (%v)", args, err)
		}
	}
}

// The same on PostgreSQL, whose further URLs may be bad.
func TestServerWithABadURLMakesNoTables(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--listen-url", "--replica-url"} {
		database := pgtest.URL(t)
		stderr := refused(t, 1, nil, "serve", "--addr", "127.0.0.1:0", "--database-url", database, flag, "mysql://u@127.0.0.1/x")
		if !strings.Contains(stderr, flag) {
			t.Errorf("the message does not say %s: %s", flag, stderr)
		}
		if out := mustRun(t, nil, "migrate", "--database-url", database); !strings.Contains(out, "Applied schema version 1.") {
			t.Errorf("%s: there were tables:\n%s", flag, out)
		}
	}
}

// runAsAnother is run as a user who owns nothing: root may look everywhere.
func runAsAnother(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	p := prepare(t, nil, binary, args...)
	p.cmd.Dir = folderForAll(t)
	if os.Geteuid() == 0 {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	p.start(t)
	code = p.exitCode(t)
	return code, p.stdout.String() + p.stderr.String()
}

const nobody = 65534

// folderForAll is a folder that other users find.
func folderForAll(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, f := range []string{filepath.Dir(folder), folder} {
		if err := os.Chmod(f, 0o755); err != nil { //nolint:gosec // as said
			t.Fatal(err)
		}
	}
	return folder
}

func TestStoreThatCanNotBeLookedAt(t *testing.T) {
	t.Parallel()
	data := folderForAll(t)
	mustRun(t, nil, "migrate", "--data", data)
	changeMode(t, data, 0)
	for _, args := range [][]string{
		{"backup", "--data", data, "file"}, {"apps", "list", "--data", data}, {"doctor", "--data", data}, {"copy", "--from", data, "--to", "x"},
	} {
		code, said := runAsAnother(t, args...)
		if code != 1 || strings.Contains(said, "there is no store") || !strings.Contains(said, "can't read") || !strings.Contains(said, "permission denied") {
			t.Errorf("galley %v: exit code %d\n%s", args, code, said)
		}
	}
}

// Commands are for those who can do something about it: "try again" is not.
func TestStoreThatCanNotBeWritten(t *testing.T) {
	t.Parallel()
	data := folderForAll(t)
	mustRun(t, nil, "migrate", "--data", data)
	if os.Geteuid() == 0 {
		if err := os.Chown(filepath.Join(data, "galley.db"), nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	changeMode(t, data, 0o555)
	for _, args := range [][]string{
		{"serve", "--addr", "127.0.0.1:0"}, {"migrate"}, {"apps", "create", "--name", "A"}, {"apps", "list"}, {"doctor"}, {"backup", "-"},
	} {
		code, said := runAsAnother(t, append(args, "--data", data)...)
		if code != 1 || strings.Contains(said, "try again") || !strings.Contains(said, "the folder is not writable") || !strings.Contains(said, "permission denied") {
			t.Errorf("galley %v: exit code %d\n%s", args, code, said)
		}
	}
}

// changeMode changes what others may do with a folder, until the test ends.
func changeMode(t *testing.T, folder string, mode os.FileMode) {
	t.Helper()
	t.Cleanup(func() { _ = os.Chmod(folder, 0o700) }) //nolint:gosec // a folder has to be entered
	if err := os.Chmod(folder, mode); err != nil {
		t.Fatal(err)
	}
}
