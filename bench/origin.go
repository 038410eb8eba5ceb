package main

import (
	"context"
	"debug/buildinfo"
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
		Commit: currentCommit(ctx), Machine: b.newMachine(ctx),
	}
}

// currentCommit is the commit of the working tree, as far as git knows. The report
// itself may have changed since.
func currentCommit(ctx context.Context) string {
	git := func(args ...string) string {
		return strings.TrimSpace(string(must(exec.CommandContext(ctx, "git", args...).Output())))
	}
	name := git("rev-parse", "--short=12", "HEAD")
	if git("status", "--porcelain", "--", ".", ":(exclude)"+docsFolder+"/"+reportName+".*") != "" {
		name += " with changes"
	}
	return name
}

func (b *bench) newMachine(ctx context.Context) machine {
	m := machine{
		CPU:        infoOf(must(os.ReadFile("/proc/cpuinfo")), "model name"),
		Cores:      runtime.NumCPU(),
		Memory:     memoryOf(must(os.ReadFile("/proc/meminfo"))),
		Go:         must(buildinfo.ReadFile(b.galley)).GoVersion,
		PocketBase: versionIn(b.pocketbase, "github.com/pocketbase/pocketbase"),
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

// memoryOf is the machine's memory in bytes.
func memoryOf(meminfo []byte) int64 {
	return must(strconv.ParseInt(strings.TrimSuffix(infoOf(meminfo, "MemTotal"), " kB"), 10, 64)) << 10
}

// versionIn is the version of a module that a program was built from.
func versionIn(program, module string) string {
	for _, dependency := range must(buildinfo.ReadFile(program)).Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return "unknown"
}
