package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// origin says where figures come from.
type origin struct {
	At      time.Time `json:"at"`
	Commit  string    `json:"commit"`
	Command string    `json:"command"`
	Rough   bool      `json:"rough"` // measured on a busy machine, or in a hurry
	Machine machine   `json:"machine"`
}

// machine is what it ran on and with.
type machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	Memory     int64  `json:"memory"` // in bytes
	Go         string `json:"go"`     // that Galley was built with
	Postgres   string `json:"postgres"`
	PostgresBy string `json:"postgresBy,omitempty"` // how it is reached; "" by a Unix socket
	PocketBase string `json:"pocketbase"`
}

func (b *bench) newOrigin(ctx context.Context) (origin, error) {
	o := origin{At: time.Now().UTC().Truncate(time.Second), Command: strings.Join(os.Args, " "), Rough: b.force || b.quick}
	var err1, err2 error
	o.Commit, err1 = currentCommit(ctx)
	o.Machine, err2 = b.newMachine(ctx)
	return o, errors.Join(err1, err2)
}

// currentCommit is what was built, as far as git knows. The report itself may
// have changed since.
func currentCommit(ctx context.Context) (string, error) {
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("git rev-parse: %w", err)
	}
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ".", ":(exclude)"+docsFolder+"/"+reportName+".*").Output()
	if err != nil {
		return "", fmt.Errorf("git status: %w", err)
	}
	name := string(bytes.TrimSpace(commit))
	if len(changes) > 0 {
		name += " with changes"
	}
	return name, nil
}

func (b *bench) newMachine(ctx context.Context) (m machine, err error) {
	m.Cores = runtime.NumCPU()
	cpuinfo, err1 := os.ReadFile("/proc/cpuinfo")
	meminfo, err2 := os.ReadFile("/proc/meminfo")
	program, err3 := buildinfo.ReadFile(b.galley)
	if err := errors.Join(err1, err2, err3); err != nil {
		return m, err
	}
	m.CPU, m.Go = infoOf(cpuinfo, "model name"), program.GoVersion
	if m.Memory, err = memoryOf(meminfo); err != nil {
		return m, err
	}
	if b.postgres != nil {
		if m.Postgres, err = b.postgres.version(ctx); err != nil {
			return m, err
		}
		m.PostgresBy = "TCP"
	}
	m.PocketBase, err = versionIn(b.pocketbase, "github.com/pocketbase/pocketbase")
	return m, err
}

// infoOf is the value of the first line of a file of /proc that has a name.
func infoOf(text []byte, name string) string {
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func memoryOf(meminfo []byte) (int64, error) {
	kilobytes, found := strings.CutSuffix(infoOf(meminfo, "MemTotal"), " kB")
	if !found {
		return 0, errors.New("can't read MemTotal in /proc/meminfo")
	}
	n, err := strconv.ParseInt(kilobytes, 10, 64)
	return n << 10, err
}

// versionIn is the version of a module that a program was built from.
func versionIn(program, module string) (string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", err
	}
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version, nil
		}
	}
	return "", fmt.Errorf("%s has no module %s", program, module)
}
