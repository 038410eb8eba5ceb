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

	"github.com/jackc/pgx/v5"

	"galley/internal/pgserver"
)

// engine is one of the databases that Galley keeps its data in, as a place for
// several stores, each with a name.
type engine interface {
	// label is the name of a Galley on it.
	label() string
	// flags are Galley's settings that choose a store.
	flags(store string) []string
	create(ctx context.Context, store string)
	// settle does what the database would do by itself some time after a load.
	settle(ctx context.Context, store string)
	// copy makes a settled store like another one, which is not in use.
	copy(ctx context.Context, from, to string)
	drop(ctx context.Context, store string)
	// pids are the processes of the database, if it has its own.
	pids() []int
}

// engines are those of this run.
func (b *bench) engines() []engine {
	if b.postgres == nil {
		return []engine{sqlite{b.folder}}
	}
	return []engine{sqlite{b.folder}, b.postgres}
}

// sqlite keeps each store in a folder of its own.
type sqlite struct{ folder string }

func (s sqlite) label() string                  { return onSQLite }
func (s sqlite) path(store string) string       { return filepath.Join(s.folder, store) }
func (s sqlite) flags(store string) []string    { return []string{"--data", s.path(store)} }
func (s sqlite) create(context.Context, string) {} // Galley does it
func (s sqlite) settle(context.Context, string) {}
func (s sqlite) pids() []int                    { return nil }

func (s sqlite) copy(_ context.Context, from, to string) {
	check(os.CopyFS(s.path(to), os.DirFS(s.path(from))))
	syscall.Sync() // nothing is left to be written to the disk later, under measurement
}

func (s sqlite) drop(_ context.Context, store string) { check(os.RemoveAll(s.path(store))) }

// postgres is a PostgreSQL in a folder of its own. Unlike that of the tests, it
// syncs commits to the disk, and it is reached as one on another machine is.
type postgres struct {
	address string
	server  *server
}

func startPostgres(ctx context.Context, folder string) *postgres {
	bin := must(pgserver.Programs())
	check(os.Mkdir(folder, 0o700))
	owner := must(pgserver.User(folder))
	p := &postgres{address: freeAddress(ctx)}
	host, port, err := net.SplitHostPort(p.address)
	check(err)
	data := filepath.Join(folder, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8")
	// A quarter of a small server's memory goes to the cache, as its manual says.
	command := exec.Command(filepath.Join(bin, "postgres"), "-D", //nolint:noctx // stop ends it by a signal
		data, "-k", folder, "-p", port,
		"-c", "listen_addresses="+host, "-c", "shared_buffers=1GB", "-c", "max_wal_size=4GB", "-c", "max_connections=200", "-c", "log_min_messages=fatal")
	for _, c := range []*exec.Cmd{initdb, command} {
		c.Dir, c.SysProcAttr = folder, &syscall.SysProcAttr{Credential: owner}
	}
	if out, err := initdb.CombinedOutput(); err != nil {
		check(fmt.Errorf("initdb failed: %w\n%s", err, out))
	}
	p.server = launch(command, nil)
	p.server.waitUntil(ctx, func() bool { return p.exec(ctx, "postgres", "select 1") == nil })
	return p
}

func (p *postgres) url(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", p.address, database)
}

// exec runs statements in a database, each by itself.
func (p *postgres) exec(ctx context.Context, database string, statements ...string) error {
	conn, err := pgx.Connect(ctx, p.url(database))
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err = conn.Exec(ctx, statement); err != nil {
			break
		}
	}
	return errors.Join(err, conn.Close(ctx))
}

func (p *postgres) do(ctx context.Context, statement string) {
	check(p.exec(ctx, "postgres", statement))
}

// version is the server's version.
func (p *postgres) version(ctx context.Context) (version string) {
	conn := must(pgx.Connect(ctx, p.url("postgres")))
	check(errors.Join(conn.QueryRow(ctx, "show server_version").Scan(&version), conn.Close(ctx)))
	return version
}

func (p *postgres) label() string { return onPostgres }

func (p *postgres) flags(store string) []string { return []string{"--database-url", p.url(store)} }

func (p *postgres) create(ctx context.Context, store string) { p.do(ctx, "create database "+store) }

func (p *postgres) drop(ctx context.Context, store string) { p.do(ctx, "drop database "+store) }

func (p *postgres) pids() []int { return []int{p.server.pid()} }

func (p *postgres) settle(ctx context.Context, store string) {
	check(p.exec(ctx, store, "vacuum analyze", "checkpoint"))
}

func (p *postgres) copy(ctx context.Context, from, to string) {
	p.settle(ctx, from)
	p.do(ctx, "create database "+to+" template "+from+" strategy file_copy")
	p.settle(ctx, to)
}
