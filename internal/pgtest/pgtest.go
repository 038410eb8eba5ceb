// Package pgtest gives tests a real PostgreSQL: one server for each test
// process, started from the installed binaries in a folder of its own, and one
// empty database for each test. It never skips: without PostgreSQL the tests
// fail and say what to install.
package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver that creates databases
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
	shared.once.Do(func() { shared.err = shared.start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	name := fmt.Sprintf("test%d", shared.count.Add(1))
	if err := shared.exec("create database " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.exec("drop database if exists " + name + " with (force)"); err != nil {
			t.Error(err)
		}
	})
	return shared.url(name)
}

var shared cluster

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
	bin, err := binaries()
	if err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp("", "galley-pg"); err != nil {
		return err
	}
	owner, err := serverUser(c.dir)
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
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", c.dir,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=400", "-c", "log_min_messages=fatal")
	server.Dir = c.dir
	started := make(chan error, 1)
	go func() {
		// The signal comes when the thread ends, so the thread must not.
		runtime.LockOSThread()
		server.SysProcAttr = &syscall.SysProcAttr{Credential: owner, Pdeathsig: syscall.SIGQUIT}
		started <- server.Start()
		select {}
	}()
	if err := <-started; err != nil {
		return err
	}
	c.process = server.Process
	for range 200 {
		if err = c.exec("select 1"); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("PostgreSQL was started and does not answer: %w", err)
}

// serverUser is who the server runs as: PostgreSQL refuses to run as root.
func serverUser(dir string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // as we are
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("the tests run as root and there is no user postgres: %w", err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2, os.Chown(dir, int(uid), int(gid))); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// binaries finds the folder of the server's programs.
func binaries() (string, error) {
	candidates, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if out, err := exec.CommandContext(context.Background(), "pg_config", "--bindir").Output(); err == nil {
		candidates = append(candidates, string(out[:len(out)-1]))
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		candidates = append(candidates, filepath.Dir(path))
	}
	for _, dir := range candidates {
		_, err1 := os.Stat(filepath.Join(dir, "initdb"))
		_, err2 := os.Stat(filepath.Join(dir, "postgres"))
		if err1 == nil && err2 == nil {
			return dir, nil
		}
	}
	return "", errors.New("these tests need PostgreSQL 15 or later: run 'make deps', or on Debian 'apt-get install postgresql'")
}
