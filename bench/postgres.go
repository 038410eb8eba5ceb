package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// postgres is a PostgreSQL of our own, in a folder of its own. Unlike that of
// the tests, it writes to the disk what it has answered, and it is reached as
// one on another machine is.
type postgres struct {
	address string
	server  *server
}

func startPostgres(ctx context.Context, folder string) (*postgres, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	owner, err := postgresUser(folder)
	if err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(folder, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8")
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	initdb.Dir = folder
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb failed: %w\n%s", err, out)
	}
	// A quarter of a small server's memory goes to the cache, as its manual says.
	command := program(filepath.Join(bin, "postgres"), "-D", data, "-k", folder, "-p", port,
		"-c", "listen_addresses="+host, "-c", "shared_buffers=1GB", "-c", "max_wal_size=4GB", "-c", "max_connections=200", "-c", "log_min_messages=fatal")
	command.Dir = folder
	command.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	p := &postgres{address: address}
	if p.server, err = launch(command, nil); err != nil {
		return nil, err
	}
	return p, p.server.waitUntil(ctx, func() bool { return p.exec(ctx, "postgres", "select 1") == nil })
}

func (p *postgres) stop() error { return p.server.stop(syscall.SIGINT) }

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

// version is what the server calls itself.
func (p *postgres) version(ctx context.Context) (version string, err error) {
	conn, err := pgx.Connect(ctx, p.url("postgres"))
	if err != nil {
		return "", err
	}
	err = conn.QueryRow(ctx, "show server_version").Scan(&version)
	return version, errors.Join(err, conn.Close(ctx))
}

// postgresUser is who the server runs as: PostgreSQL refuses to run as root.
func postgresUser(folder string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // as we are
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("this runs as root and there is no user postgres: %w", err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2, os.Chown(folder, int(uid), int(gid))); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// postgresPrograms finds the folder of the server's programs.
func postgresPrograms() (string, error) {
	candidates, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if path, err := exec.LookPath("initdb"); err == nil {
		candidates = append(candidates, filepath.Dir(path))
	}
	for _, folder := range candidates {
		_, err1 := os.Stat(filepath.Join(folder, "initdb"))
		_, err2 := os.Stat(filepath.Join(folder, "postgres"))
		if err1 == nil && err2 == nil {
			return folder, nil
		}
	}
	return "", errors.New("PostgreSQL 15 or later is needed: run 'make deps', or on Debian 'apt-get install postgresql'")
}
