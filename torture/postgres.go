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

// postgres is a PostgreSQL of the run's own, on loopback. It writes to the disk
// what it has answered.
type postgres struct {
	trial    *trial
	folder   string
	port     int
	programs string
	user     *syscall.Credential
	settings []string
	*process
}

// startPostgres makes an empty cluster in a folder of the run's and starts it.
// Settings are like "max_connections=50".
func startPostgres(t *trial, name string, settings ...string) (*postgres, error) {
	p, err := newPostgres(t, name, settings...)
	if err != nil {
		return nil, err
	}
	if err := p.initdb(); err != nil {
		return nil, err
	}
	return p, p.start()
}

// initdb fills the folder with an empty cluster.
func (p *postgres) initdb(args ...string) error {
	return p.program("initdb", append([]string{"-D", p.data(), "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"}, args...)...)
}

// newPostgres makes the folder of a cluster, and leaves it empty.
func newPostgres(t *trial, name string, settings ...string) (*postgres, error) {
	programs, err := pgserver.Programs()
	if err != nil {
		return nil, err
	}
	p := &postgres{trial: t, folder: t.folder(name), programs: programs, settings: settings}
	if err := os.MkdirAll(p.folder, 0o755); err != nil {
		return nil, err
	}
	if p.user, err = pgserver.User(p.folder); err != nil {
		return nil, err
	}
	p.port, err = freePort(t)
	return p, err
}

// freePort finds a port below those that the kernel gives to connections: it
// stays free while the server is away.
func freePort(t *trial) (int, error) {
	rng := t.random()
	var listening net.ListenConfig
	for range 100 {
		port := 20_000 + rng.IntN(12_000)
		if l, err := listening.Listen(t.ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port between 20000 and 32000")
}

func (p *postgres) data() string { return filepath.Join(p.folder, "data") }

// url is the address of a database.
func (p *postgres) url(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s", p.port, database)
}

func (p *postgres) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.programs, name), args...)
	cmd.Dir = p.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user}
	return cmd
}

// program runs one of PostgreSQL's programs to its end.
func (p *postgres) program(name string, args ...string) error {
	if out, err := p.command(p.trial.ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, lastLine(out))
	}
	return nil
}

// start starts the server and returns as soon as it accepts connections.
func (p *postgres) start() error {
	if err := p.launch(); err != nil {
		return err
	}
	return p.waitReady()
}

// launch starts the server and does not wait for it.
func (p *postgres) launch() error {
	args := []string{"-D", p.data(), "-k", p.folder}
	for _, setting := range append([]string{"listen_addresses=127.0.0.1", fmt.Sprintf("port=%d", p.port), "max_connections=200"}, p.settings...) {
		args = append(args, "-c", setting)
	}
	// The run ends it itself, and sees that it ended.
	cmd := p.command(context.WithoutCancel(p.trial.ctx), "postgres", args...)
	log, err := os.OpenFile(p.folder+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has its own
	cmd.Stdout, cmd.Stderr = log, log
	if p.process, err = p.trial.launch(cmd); err != nil {
		return err
	}
	p.trial.atEnd(p.kill)
	return nil
}

// waitReady returns as soon as the server accepts connections.
func (p *postgres) waitReady() error {
	for p.running() && p.trial.ctx.Err() == nil {
		if err := p.exec("postgres", "select 1"); err == nil {
			return nil
		}
		p.trial.sleep(5 * time.Millisecond)
	}
	if err := p.trial.ctx.Err(); err != nil {
		return err
	}
	log, _ := os.ReadFile(p.folder + ".log")
	return fmt.Errorf("PostgreSQL ended at its start: %s", lastLine(log))
}

// exec runs a statement on a connection of its own.
func (p *postgres) exec(database, statement string) error { //nolint:unparam // named as in url, for runs with databases of their own
	return p.connected(database, func(c *pgx.Conn) error {
		_, err := c.Exec(p.trial.ctx, statement)
		return err
	})
}

// waitUntil asks a question until the answer is true.
func (p *postgres) waitUntil(query string) error {
	return p.connected("postgres", func(c *pgx.Conn) error {
		for {
			var holds bool
			if err := c.QueryRow(p.trial.ctx, query).Scan(&holds); err != nil || holds {
				return err
			}
			p.trial.sleep(5 * time.Millisecond)
		}
	})
}

func (p *postgres) connected(database string, use func(*pgx.Conn) error) error {
	c, err := pgx.Connect(p.trial.ctx, p.url(database))
	if err != nil {
		return err
	}
	err = use(c)
	return errors.Join(err, c.Close(p.trial.ctx))
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
