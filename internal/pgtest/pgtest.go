// Package pgtest gives tests a real PostgreSQL: one server for each test
// process, started from the installed binaries in a folder of its own, and one
// empty database for each test. It never skips: without PostgreSQL the tests
// fail and say what to install.
package pgtest

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver that creates databases

	"galley/internal/pgserver"
)

// Run runs a package's tests and stops the server afterwards:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }
func Run(m *testing.M) int {
	code := m.Run()
	if shared.process != nil {
		_ = shared.process.Signal(syscall.SIGQUIT) // at once: nothing is worth keeping
		_, _ = shared.process.Wait()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	return code
}

// URL returns the address of a new empty database.
func URL(t testing.TB) string {
	t.Helper()
	startShared(t)
	name := fmt.Sprintf("test%d", shared.count.Add(1))
	if err := patiently(func() error { return shared.exec("create database " + name) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := patiently(func() error { return shared.exec("drop database if exists " + name + " with (force)") }); err != nil {
			t.Error(err)
		}
	})
	return shared.url(name)
}

// patiently does what waits for others, who may take longer than it waits.
func patiently(do func() error) (err error) {
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if err = do(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

var shared cluster

func startShared(t testing.TB) {
	t.Helper()
	shared.once.Do(func() { shared.err = shared.start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
}

type cluster struct {
	once    sync.Once
	err     error
	dir     string
	process *os.Process
	count   atomic.Int64
}

func (c *cluster) url(database string) string {
	return fmt.Sprintf("postgres://postgres@/%s?host=%s", database, c.dir)
}

func (c *cluster) exec(statement string) error {
	db, err := sql.Open("pgx", c.url("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.Exec(statement)
	return err
}

// start makes a cluster and waits until it answers.
func (c *cluster) start() error {
	bin, err := pgserver.Programs()
	if err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp("", "galley-pg"); err != nil {
		return err
	}
	owner, err := pgserver.User(c.dir)
	if err != nil {
		return err
	}
	data := filepath.Join(c.dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	initdb.Dir = c.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb failed: %w\n%s", err, out)
	}
	return c.serve(bin, owner)
}

// serve starts the server on its data and waits until it answers.
func (c *cluster) serve(bin string, owner *syscall.Credential) error {
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", filepath.Join(c.dir, "data"), "-k", c.dir,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=400", "-c", "log_min_messages=fatal",
		"-c", "wal_keep_size=1GB") // a standby that is stopped for a while must find what it missed
	server.Dir = c.dir
	started := make(chan error, 1)
	go func() {
		// The signal comes when the thread ends, so the thread must not.
		runtime.LockOSThread()
		server.SysProcAttr = &syscall.SysProcAttr{Credential: owner, Pdeathsig: syscall.SIGQUIT}
		started <- server.Start()
		select {}
	}()
	err := <-started
	if err != nil {
		return err
	}
	c.process = server.Process
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = c.exec("select 1"); err == nil {
			return nil
		}
	}
	return fmt.Errorf("PostgreSQL was started and does not answer: %w", err)
}
