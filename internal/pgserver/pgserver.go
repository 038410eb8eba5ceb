// Package pgserver finds the PostgreSQL that is installed, for programs that
// start one of their own: tests and torture runs. It starts nothing itself.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Programs finds the folder of the server's programs.
func Programs() (string, error) {
	candidates, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if out, err := exec.CommandContext(context.Background(), "pg_config", "--bindir").Output(); err == nil {
		candidates = append(candidates, strings.TrimSpace(string(out)))
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
	return "", errors.New("PostgreSQL 15 or later is missing: run 'make deps', or on Debian 'apt-get install postgresql'")
}

// User is who the server runs as, and makes a folder theirs: PostgreSQL refuses
// to run as root. It is nil if that is who we are.
func User(dir string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // as we are
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("we run as root and there is no user postgres: %w", err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2, os.Chown(dir, int(uid), int(gid))); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
