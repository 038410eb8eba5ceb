package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"galley/internal/backup"
	"galley/internal/pgtest"
)

// betweenEngines runs a test with the flags of a store of one engine and of an
// empty one of the other.
func betweenEngines(t *testing.T, test func(t *testing.T, from, to []string)) {
	t.Run("sqlite to postgres", func(t *testing.T) {
		test(t, []string{"--data", t.TempDir()}, []string{"--database-url", pgtest.URL(t)})
	})
	t.Run("postgres to sqlite", func(t *testing.T) {
		test(t, []string{"--database-url", pgtest.URL(t)}, []string{"--data", t.TempDir()})
	})
}

// with is a command with the flags of a store.
func with(store []string, args ...string) []string { return append(slices.Clone(args), store...) }

// rowsOf are the rows of each table in a backup, in an order of their own.
func rowsOf(t *testing.T, name string) map[string][]string {
	t.Helper()
	file, err := backup.Open(t.Context(), name, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	all := &rowList{tables: map[string][]string{}}
	if err := file.Replay(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for _, rows := range all.tables {
		slices.Sort(rows)
	}
	return all.tables
}

type rowList struct {
	tables map[string][]string
	table  string
}

func (l *rowList) Table(name string, columns []string) error {
	l.table, l.tables[name] = name, []string{fmt.Sprint(columns)}
	return nil
}

func (l *rowList) Row(values []any) error {
	l.tables[l.table] = append(l.tables[l.table], fmt.Sprintf("%#v", values))
	return nil
}

// sameRows checks that two backups have the same rows.
func sameRows(t *testing.T, one, two string) {
	t.Helper()
	first, second := rowsOf(t, one), rowsOf(t, two)
	if len(first) != len(second) {
		t.Errorf("%d and %d tables", len(first), len(second))
	}
	for name, rows := range first {
		if !slices.Equal(rows, second[name]) {
			t.Errorf("table %s differs: %d and %d rows, of which the first that differ are %v", name, len(rows)-1, len(second[name])-1, firstDifference(rows, second[name]))
		}
	}
}

func firstDifference(one, two []string) [2]string {
	for i := range min(len(one), len(two)) {
		if one[i] != two[i] {
			return [2]string{one[i], two[i]}
		}
	}
	return [2]string{"none", "none"}
}

// pairWriter makes pages of a site of its own two by two, until it is stopped.
type pairWriter struct {
	site  string
	pairs atomic.Int64
	stop  func()
}

func (w *world) writePairs(t *testing.T) *pairWriter {
	t.Helper()
	p := &pairWriter{}
	p.site, _ = w.server.newSite(t, w.admin)
	done := make(chan struct{})
	var writing sync.WaitGroup
	for n := range 2 {
		writing.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				body := fmt.Sprintf(`{"siteId":%q,"operations":[{"op":"create","pathname":"/a/%d-%d"},{"op":"create","pathname":"/b/%d-%d"}]}`, p.site, n, i, n, i)
				if r, err := w.server.try(w.admin, "POST", "/v6/pages/batch", body); err != nil || r.status != 200 {
					t.Errorf("got %d %s %v", r.status, r.body, err)
					return
				}
				p.pairs.Add(1)
			}
		})
	}
	p.stop = sync.OnceFunc(func() { close(done); writing.Wait() })
	t.Cleanup(p.stop)
	return p
}

// checkPairs checks that a server has pages of the site in pairs only.
func (p *pairWriter) checkPairs(t *testing.T, server *process, key string) {
	t.Helper()
	found, after := map[string]int{}, ""
	for {
		var list struct {
			Data []struct {
				ID       string
				Pathname string
			}
			HasMore bool
		}
		r := server.must(t, 200, key, "GET", "/v6/pages?limit=100&siteId="+p.site+after, "")
		if err := json.Unmarshal([]byte(r.body), &list); err != nil {
			t.Fatal(err)
		}
		for _, page := range list.Data {
			found[page.Pathname[2:]]++
			after = "&startingAfter=" + page.ID
		}
		if !list.HasMore {
			break
		}
	}
	if len(found) == 0 || len(found) > int(p.pairs.Load()) {
		t.Errorf("%d of %d pairs", len(found), p.pairs.Load())
	}
	for name, n := range found {
		if n != 2 {
			t.Errorf("of the pair %s there is one half", name)
		}
	}
}

var backedUp = regexp.MustCompile(`^Backed up [\d,]+ rows to (\S+): [\d.]+ [kM]B in [\d.]+ s\.\n$`)

func TestBackupWhileWritersWriteIsRestoredOnTheOtherEngine(t *testing.T) {
	t.Parallel()
	betweenEngines(t, func(t *testing.T, from, to []string) {
		world := newWorld(t, from)
		writers := world.writePairs(t)
		eventually(t, "the writers write", func() bool { return writers.pairs.Load() > 10 })
		folder := t.TempDir()
		first, second := filepath.Join(folder, "first.galley"), filepath.Join(folder, "second.galley")

		eventually(t, "somebody writes during a backup", func() bool {
			_ = os.Remove(first)
			before := writers.pairs.Load()
			if said := mustRun(t, nil, with(from, "backup", first)...); found(t, backedUp, said) != first {
				t.Errorf("said %q", said)
			}
			return writers.pairs.Load() > before
		})
		writers.stop()

		if said := mustRun(t, nil, with(to, "restore", first)...); !strings.HasPrefix(said, "Restored ") {
			t.Errorf("said %q", said)
		}
		mustRun(t, nil, with(to, "backup", second)...)
		sameRows(t, first, second)
		restored := serve(t, nil, with(to, "--app-rate", "off")...)
		if strings.Contains(restored.stdout.String(), "First start") {
			t.Error("the restored store was taken for a new one")
		}
		writers.checkPairs(t, restored, world.admin)
		world.check(t, restored)

		// What is being backed up is private, and nothing else is left behind.
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) != 2 {
			t.Errorf("the folder has %v (%v)", entries, err)
		}
		if info, err := os.Stat(first); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file's mode is %v (%v)", info.Mode(), err)
		}
	})
}

func TestCopyToTheOtherEngineAndBack(t *testing.T) {
	t.Parallel()
	betweenEngines(t, func(t *testing.T, from, to []string) {
		world := newWorld(t, from)
		files := filepath.Join(t.TempDir(), "file")
		mustRun(t, nil, with(from, "backup", files+"1")...)
		if said := mustRun(t, nil, "copy", "--from", from[1], "--to", to[1]); !strings.HasPrefix(said, "Copied ") {
			t.Errorf("said %q", said)
		}
		back := filepath.Join(t.TempDir(), "back")
		mustRun(t, nil, "copy", "--from", to[1], "--to", back)
		mustRun(t, nil, with([]string{"--data", back}, "backup", files+"2")...)
		sameRows(t, files+"1", files+"2")
		world.check(t, serve(t, nil, with(to, "--app-rate", "off")...))

		stderr := refused(t, 1, nil, "copy", "--from", from[1], "--to", to[1])
		if !strings.Contains(stderr, "not empty") {
			t.Errorf("the message does not say why: %s", stderr)
		}
	})
}

func TestBackupToStandardOutput(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	createApp(t, "--data", data, "--name", "A")
	for file, said := range map[string]string{"-": "to standard output", "/dev/stdout": "to /dev/stdout"} {
		code, stdout, stderr := run(t, nil, "backup", "--data", data, file)
		if code != 0 || !strings.Contains(stderr, said) {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		name := filepath.Join(t.TempDir(), "piped")
		if err := os.WriteFile(name, []byte(stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		mustRun(t, nil, "restore", "--data", t.TempDir(), name)
	}
}

// A file of settings keeps passwords off the command line.
func TestCopyByAFileOfSettings(t *testing.T) {
	t.Parallel()
	data, copied, file := t.TempDir(), filepath.Join(t.TempDir(), "copied"), filepath.Join(t.TempDir(), "copy.yaml")
	createApp(t, "--data", data, "--name", "Copied by file")
	if err := os.WriteFile(file, []byte("from: "+data+"\nto: "+copied+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, nil, "copy", "--config", file)
	if list := mustRun(t, nil, "apps", "list", "--data", copied); !strings.Contains(list, "Copied by file") {
		t.Errorf("the copy has not the app:\n%s", list)
	}
}

// unused is a folder in which a command must leave nothing.
func unused(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "unused")
}

func TestRestoreRefusesBadFilesAndTouchesNothing(t *testing.T) {
	t.Parallel()
	data, name := t.TempDir(), filepath.Join(t.TempDir(), "good")
	createApp(t, "--data", data, "--name", "A")
	mustRun(t, nil, "backup", "--data", data, name)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	half := len(good) / 2
	damaged := bytes.Clone(good)
	damaged[half] ^= 1
	var newer bytes.Buffer
	w, err := backup.NewWriter(&newer, backup.Header{Schema: 99999})
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		data []byte
		says string
	}{
		"damaged":       {damaged, "damaged"},
		"cut":           {good[:half], "damaged or truncated"},
		"another file":  {[]byte("# Notes\n"), "not a backup"},
		"newer format":  {bytes.Replace(good, []byte(`{"format":1,`), []byte(`{"format":9,`), 1), "newer galley"},
		"newer schema":  {newer.Bytes(), "newer galley"},
		"empty":         {nil, "not a backup"},
		"another again": {[]byte(strings.Repeat("SQLite format 3\x00", 5000)), "not a backup"},
	} {
		t.Run(what, func(t *testing.T) {
			bad, to := filepath.Join(t.TempDir(), "bad"), unused(t)
			if err := os.WriteFile(bad, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			stderr := refused(t, 1, nil, "restore", "--data", to, bad)
			if !strings.Contains(stderr, c.says) || !strings.Contains(stderr, bad) {
				t.Errorf("the message does not say %q and which file: %s", c.says, stderr)
			}
			if _, err := os.Stat(to); !os.IsNotExist(err) {
				t.Errorf("the data folder was made (%v)", err)
			}
		})
	}
}

func TestRestoreRefusesAStoreThatIsNotEmpty(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		createApp(t, with(store, "--name", "A")...)
		name := filepath.Join(t.TempDir(), "file")
		mustRun(t, nil, with(store, "backup", name)...)
		stderr := refused(t, 1, nil, with(store, "restore", name)...)
		if !strings.Contains(stderr, "not empty") {
			t.Errorf("the message does not say why: %s", stderr)
		}
		mustRun(t, nil, with(store, "backup", name+"2")...)
		sameRows(t, name, name+"2")
	})
}

func TestBadBackupCommandsAreRefused(t *testing.T) {
	t.Parallel()
	data, nowhere := t.TempDir(), unused(t)
	mustRun(t, nil, "migrate", "--data", data)
	file, notAFolder := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(notAFolder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		code int
		args []string
		says string
	}{
		"no file":            {2, []string{"backup"}, "<file>"},
		"no store":           {1, []string{"backup", "--data", nowhere, file}, "no store"},
		"no folder":          {1, []string{"backup", "--data", data, filepath.Join(nowhere, "file")}, "can't write the backup"},
		"no database":        {1, []string{"backup", "--database-url", "postgres://u:hunter2@127.0.0.1:1/x", file}, "its URL"},
		"unused database":    {1, []string{"backup", "--database-url", pgtest.URL(t), file}, "the store is empty"},
		"no backup":          {1, []string{"restore", "--data", nowhere, file}, "no such file"},
		"copy from nowhere":  {1, []string{"copy", "--from", nowhere, "--to", nowhere + "2"}, "no store"},
		"copy out of reach":  {1, []string{"copy", "--from", data, "--to", "postgres://u:hunter2@127.0.0.1:1/x"}, "can't reach"},
		"copy to mysql":      {1, []string{"copy", "--from", data, "--to", "mysql://u:hunter2@127.0.0.1:1/x"}, "postgres://"},
		"copy to settings":   {1, []string{"copy", "--from", data, "--to", "host=127.0.0.1 dbname=x password=hunter2"}, "postgres://"},
		"a folder":           {1, []string{"backup", "--data", data, filepath.Dir(file)}, "is a folder"},
		"from a device":      {1, []string{"restore", "--data", nowhere, os.DevNull}, "is not a file"},
		"why in vain":        {1, []string{"backup", "--database-url", "postgres://u:hunter2@127.0.0.1:1/x", file}, "connection refused"},
		"store is no folder": {1, []string{"backup", "--data", filepath.Join(notAFolder, "data"), file}, "can't read"},
		"copy without to":    {2, []string{"copy", "--from", data}, "--to"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stderr := refused(t, test.code, nil, test.args...)
			if !strings.Contains(stderr, test.says) {
				t.Errorf("the message does not say %q: %s", test.says, stderr)
			}
			if strings.Contains(stderr, "hunter2") {
				t.Errorf("the message has the password: %s", stderr)
			}
			if test.args[0] == "copy" && (strings.Contains(stderr, "--data") || strings.Contains(stderr, "--database-url")) {
				t.Errorf("the message names flags that copy does not have: %s", stderr)
			}
		})
	}
	for _, left := range []string{nowhere, nowhere + "2", file, file + ".partial"} {
		if _, err := os.Stat(left); !os.IsNotExist(err) {
			t.Errorf("%s was made (%v)", left, err)
		}
	}
}

// What a killed backup left is in nobody's way, and one that runs is.
func TestBackupBesideAPartialOne(t *testing.T) {
	t.Parallel()
	data, name := t.TempDir(), filepath.Join(t.TempDir(), "file")
	createApp(t, "--data", data, "--name", "A")
	partial, err := os.Create(name + ".partial")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := partial.WriteString(strings.Repeat("half of a longer backup", 1000)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(partial.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if stderr := refused(t, 1, nil, "backup", "--data", data, name); !strings.Contains(stderr, "another backup") {
		t.Errorf("the message does not say why: %s", stderr)
	}
	// Another test's child may have the file open for a moment.
	if err := errors.Join(syscall.Flock(int(partial.Fd()), syscall.LOCK_UN), partial.Close()); err != nil {
		t.Fatal(err)
	}
	mustRun(t, nil, "backup", "--data", data, name)
	mustRun(t, nil, "restore", "--data", t.TempDir(), name)
}

// A backup is for its owner alone, and what is there under its name stays what it
// is: a link leads to the backup, and a pipe passes it on.
func TestBackupToWhatIsThere(t *testing.T) {
	t.Parallel()
	data, folder := t.TempDir(), t.TempDir()
	createApp(t, "--data", data, "--name", "A")
	file, link, pipe, saved := filepath.Join(folder, "file"), filepath.Join(folder, "link"), filepath.Join(folder, "pipe"), filepath.Join(folder, "saved")
	err := errors.Join(
		os.WriteFile(file, nil, 0o644), os.WriteFile(file+".partial", nil, 0o644), //nolint:gosec // others may read them
		os.Symlink("file", link), syscall.Mkfifo(pipe, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, nil, "backup", "--data", data, link)
	if info, err := os.Lstat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file is %v (%v)", info, err)
	}
	if target, err := os.Readlink(link); err != nil || target != "file" {
		t.Errorf("the link leads to %q (%v)", target, err)
	}
	ahead, later := filepath.Join(folder, "ahead"), filepath.Join(folder, "later")
	if err := errors.Join(os.Mkdir(later, 0o700), os.Symlink("later/file", ahead)); err != nil {
		t.Fatal(err)
	}
	mustRun(t, nil, "backup", "--data", data, ahead)
	sameRows(t, file, filepath.Join(later, "file"))
	if target, err := os.Readlink(ahead); err != nil || target != "later/file" {
		t.Errorf("the link to what was not there leads to %q (%v)", target, err)
	}
	passed := make(chan error)
	go func() {
		in, err := os.Open(pipe)
		if err != nil {
			passed <- err
			return
		}
		text, err := io.ReadAll(in)
		passed <- errors.Join(err, os.WriteFile(saved, text, 0o600))
	}()
	mustRun(t, nil, "backup", "--data", data, pipe)
	if err := <-passed; err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v (%v)", info, err)
	}
	sameRows(t, file, saved)
	refused(t, 1, nil, "restore", "--data", t.TempDir(), pipe)

	// What somebody else has put in the way is not written through.
	if err := os.Symlink(saved, filepath.Join(folder, "new.partial")); err != nil {
		t.Fatal(err)
	}
	refused(t, 1, nil, "backup", "--data", data, filepath.Join(folder, "new"))
	sameRows(t, file, saved)
}

// A store of a newer program is not read as if it were ours.
func TestBackupRefusesAStoreOfANewerProgram(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	mustRun(t, nil, "migrate", "--data", data)
	sqlite(t, data, `insert into goose_db_version (version_id, is_applied) values (99999, 1)`)
	file := filepath.Join(t.TempDir(), "file")
	for _, args := range [][]string{{"backup", "--data", data, file}, {"copy", "--from", data, "--to", unused(t)}} {
		if stderr := refused(t, 1, nil, args...); !strings.Contains(stderr, "99999") || !strings.Contains(stderr, "newer") {
			t.Errorf("galley %v does not say why: %s", args, stderr)
		}
	}
}
