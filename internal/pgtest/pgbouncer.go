package pgtest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"galley/internal/pgserver"
)

// bouncerSettings lend a connection for one transaction at a time, and so few
// that they change hands.
const bouncerSettings = `[databases]
* = host=%s user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 8
max_client_conn = 1000
ignore_startup_parameters = synchronous_commit
`

// Bouncer starts a PgBouncer that lends connections by the transaction, and
// returns what makes of a database's address one that leads through it.
func Bouncer(t testing.TB) (through func(database string) string) {
	t.Helper()
	startShared(t)
	dir, err := os.MkdirTemp("", "galley-pgbouncer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	user, err := pgserver.User(dir) // it refuses to run as root, too
	if err != nil {
		t.Fatal(err)
	}
	addr := FreeAddress(t)
	_, port, _ := strings.Cut(addr, ":")
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, fmt.Appendf(nil, bouncerSettings, shared.dir, port), 0o644); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // which is not on everybody's path
	}
	cmd := exec.Command(program, "-q", file)
	cmd.Dir = dir
	started := make(chan error, 1)
	go func() {
		// The signal comes when the thread ends, so the thread must not.
		runtime.LockOSThread()
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user, Pdeathsig: syscall.SIGKILL}
		started <- cmd.Start()
		select {}
	}()
	if err := <-started; err != nil {
		t.Fatalf("this test needs PgBouncer: run 'make deps' (%v)", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // nothing is worth keeping
		_ = cmd.Wait()
	})
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
			return func(database string) string {
				u, err := url.Parse(database)
				if err != nil {
					t.Fatal(err)
				}
				u.Host, u.RawQuery = addr, "sslmode=disable&default_query_exec_mode=exec"
				return u.String()
			}
		}
	}
	t.Fatal("PgBouncer was started and does not answer")
	return nil
}
