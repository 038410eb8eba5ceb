package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"galley/internal/pgserver"
)

// postgres is a PostgreSQL of the run's own, on loopback. It syncs commits to
// the disk.
type postgres struct {
	trial    *trial
	name     string
	folder   string
	addr     string
	programs string
	user     *syscall.Credential
	settings []string
	*process
}

// startPostgres creates an empty cluster in a folder of the run's and starts it.
// Settings are like "max_connections=50".
func startPostgres(t *trial, name string, settings ...string) *postgres {
	p := newPostgres(t, name, settings...)
	p.initdb()
	p.start()
	return p
}

// newPostgres creates the folder of a cluster, and leaves it empty.
func newPostgres(t *trial, name string, settings ...string) *postgres {
	p := &postgres{
		trial: t, name: name, folder: t.folder(name), addr: t.freeAddress("127.0.0.1"),
		programs: must(pgserver.Programs()), settings: settings,
	}
	check(os.MkdirAll(p.folder, 0o755))
	p.user = must(pgserver.User(p.folder))
	return p
}

func (p *postgres) data() string { return filepath.Join(p.folder, "data") }

// initdb fills the folder with an empty cluster.
func (p *postgres) initdb(args ...string) {
	p.program("initdb", append([]string{"-D", p.data(), "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"}, args...)...)
}

// url is the address of a database.
func (p *postgres) url(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s", p.addr, database)
}

func (p *postgres) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.programs, name), args...)
	cmd.Dir = p.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user}
	return cmd
}

// program runs one of PostgreSQL's programs to its end.
func (p *postgres) program(name string, args ...string) {
	if out, err := p.command(p.trial.ctx, name, args...).CombinedOutput(); err != nil {
		check(fmt.Errorf("%s: %w: %s", name, err, lastLine(out)))
	}
}

// start starts the server and returns as soon as it accepts connections.
func (p *postgres) start() {
	host, port, err := net.SplitHostPort(p.addr)
	check(err)
	args := []string{"-D", p.data(), "-k", p.folder}
	for _, setting := range append([]string{"listen_addresses=" + host, "port=" + port, "max_connections=200"}, p.settings...) {
		args = append(args, "-c", setting)
	}
	// The run ends it itself, and waits for its end.
	p.process = p.trial.launch(p.name, p.command(context.WithoutCancel(p.trial.ctx), "postgres", args...))
	p.trial.atEnd(p.kill)
	p.trial.poll("starting PostgreSQL", p.process, 5*time.Millisecond, func() bool { return p.exec("select 1") == nil })
}

// exec runs a statement on a connection of its own.
func (p *postgres) exec(statement string) error {
	return p.connected(func(c *pgx.Conn) error {
		_, err := c.Exec(p.trial.ctx, statement)
		return err
	})
}

// ask returns the one value of a query.
func ask[T any](p *postgres, query string) (value T) {
	check(p.connected(func(c *pgx.Conn) error { return c.QueryRow(p.trial.ctx, query).Scan(&value) }))
	return value
}

// waitUntil repeats a query until its result is true.
func (p *postgres) waitUntil(query string) {
	p.trial.poll(query, nil, 5*time.Millisecond, func() bool { return ask[bool](p, query) })
}

func (p *postgres) connected(use func(*pgx.Conn) error) error {
	c, err := pgx.Connect(p.trial.ctx, p.url("postgres"))
	if err != nil {
		return err
	}
	err = use(c)
	return errors.Join(err, c.Close(p.trial.ctx))
}

// signal sends a signal to all of the server's processes.
func (p *postgres) signal(s syscall.Signal) {
	for _, pid := range append(p.children(), p.pid()) {
		_ = syscall.Kill(pid, s) // one may have ended
	}
}

// kill ends the server and all of its processes at once, as a crash of the
// machine would. Killing the first alone would let the others end in order.
func (p *postgres) kill() {
	if !p.running() {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGSTOP) // no more children; it may have ended already
	children := p.children()
	p.process.kill()
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended with its parent
	}
	for _, pid := range children {
		for alive(pid) {
			time.Sleep(time.Millisecond)
		}
	}
}
