package pgtest

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"galley/internal/pgserver"
)

// Standby is a hot standby of the server: it follows every database.
type Standby struct {
	cluster
	bin   string
	owner *syscall.Credential
}

// NewStandby starts a standby, which ends with the test.
func NewStandby(t testing.TB) *Standby {
	t.Helper()
	startShared(t)
	s := &Standby{}
	var err error
	if s.bin, err = pgserver.Programs(); err != nil {
		t.Fatal(err)
	}
	if s.dir, err = os.MkdirTemp("", "galley-standby"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	if s.owner, err = pgserver.User(s.dir); err != nil {
		t.Fatal(err)
	}
	backup := exec.Command(filepath.Join(s.bin, "pg_basebackup"), "-h", shared.dir, "-U", "postgres",
		"-D", filepath.Join(s.dir, "data"), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	backup.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	backup.Dir = s.dir
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup failed: %v\n%s", err, out)
	}
	t.Cleanup(func() { s.Stop(t) })
	s.Start(t)
	return s
}

// URL is the address of a database of the server on the standby.
func (s *Standby) URL(ofServer string) string {
	return strings.Replace(ofServer, shared.dir, s.dir, 1)
}

// Start starts the standby again.
func (s *Standby) Start(t testing.TB) {
	t.Helper()
	if err := s.serve(s.bin, s.owner); err != nil {
		t.Fatal(err)
	}
}

// Stop ends the standby at once, and every connection to it.
func (s *Standby) Stop(t testing.TB) {
	t.Helper()
	if s.process == nil {
		return
	}
	if err := s.process.Signal(syscall.SIGQUIT); err != nil {
		t.Error(err)
	}
	_, _ = s.process.Wait() // it was told to end
	s.process = nil
}

// Freeze stops all of the standby's processes where they are, and Thaw lets
// them go on: meanwhile it takes connections and says nothing.
func (s *Standby) Freeze(t testing.TB) {
	t.Cleanup(func() { s.Thaw(t) }) // it could not be stopped
	s.signal(t, syscall.SIGSTOP)
}

// Thaw ends what Freeze began.
func (s *Standby) Thaw(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *Standby) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if s.process == nil {
		return
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state parent ...", and a name may have spaces.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && (pid == s.process.Pid || fields[1] == strconv.Itoa(s.process.Pid)) {
			_ = syscall.Kill(pid, signal) // it may have ended
		}
	}
}

// Set changes a setting of the standby.
func (s *Standby) Set(t testing.TB, name, value string) {
	t.Helper()
	if err := s.exec(fmt.Sprintf("alter system set %s = '%s'", name, value)); err != nil {
		t.Fatal(err)
	}
	s.Ask(t, "select pg_reload_conf()::text")
}

// Ask runs a query on the standby that answers one value.
func (s *Standby) Ask(t testing.TB, query string) (answer string) {
	t.Helper()
	db, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRow(query).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return answer
}
