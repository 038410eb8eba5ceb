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

func (b *bench) newOrigin(ctx context.Context) origin {
	return origin{
		At: time.Now().UTC().Truncate(time.Second), Command: strings.Join(os.Args, " "), Rough: b.force || b.quick,
		Commit: must(currentCommit(ctx)), Machine: b.newMachine(ctx),
	}
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

func (b *bench) newMachine(ctx context.Context) machine {
	m := machine{
		CPU:        infoOf(must(os.ReadFile("/proc/cpuinfo")), "model name"),
		Cores:      runtime.NumCPU(),
		Memory:     must(memoryOf(must(os.ReadFile("/proc/meminfo")))),
		Go:         must(buildinfo.ReadFile(b.galley)).GoVersion,
		PocketBase: must(versionIn(b.pocketbase, "github.com/pocketbase/pocketbase")),
	}
	if b.postgres != nil {
		m.Postgres, m.PostgresBy = b.postgres.version(ctx), "TCP"
	}
	return m
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
