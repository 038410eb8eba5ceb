package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"
)

var powerCutSQLiteRun = run{
	name:   "power-cut-sqlite",
	target: "at least 1,000 writes by 8 writers: by a trace of system calls, each is synced to the disk before it is answered",
	short:  "at least 100 writes by 8 writers: by a trace of system calls, each is synced to the disk before it is answered",
	limit:  5 * time.Minute, shortLimit: 4 * time.Minute,
	do: powerCutSQLite,
}

const traceWriters = 8

// powerCutSQLite can't cut the power. But a power cut leaves what was synced, and
// a trace of system calls shows that.
func powerCutSQLite(t *trial) {
	if _, err := exec.LookPath("strace"); err != nil {
		check(errors.New("this run needs strace: run 'tools/deps.sh torture', or on Debian 'apt-get install strace'"))
	}
	file := t.folder("trace")
	// With -D the process that is started becomes the server; the tracer ends with it.
	s := t.serveBy([]string{
		"strace", "-D", "-f", "--seccomp-bpf", "-y", "-s", "5000", "-e", "signal=none",
		"-e", "trace=write,writev,pwrite64,pwritev,sendto,sendmsg,fsync,fdatasync", "-o", file,
	}, "server", t.freeAddress("127.0.0.1"), "--data", t.folder("data"))
	tracer, err := strconv.Atoi(must(statusField(s.pid(), "TracerPid:")))
	if err != nil || tracer == 0 {
		check(fmt.Errorf("the server is not traced: %w", err))
	}
	f := newFleet(t, s.addr, traceWriters, 2)
	least := pick(t, 1000, 100)
	f.whileWriting(t, fails, func() { f.waitForWrites(t, least) })
	s.kill()
	// The trace is complete when the tracer has ended.
	t.poll("waiting for strace", nil, 20*time.Millisecond, func() bool { return !alive(tracer) })
	trace := must(readTrace(file))
	acknowledged, violations := 0, 0
	for _, w := range f.writers {
		for _, r := range w.records {
			acknowledged++
			if err := trace.synced(r.requestID); err != nil {
				violations++
				t.problem("request %s: %v", r.requestID, err)
			}
		}
	}
	t.got("writes", acknowledged)
	t.got("violations", violations)
	t.got("logWrites", len(trace.writes))
	t.got("logSyncs", len(trace.syncs))
	t.got("logRestarts", trace.restarts)
	t.got("unsafeRestarts", trace.unsafeRestarts)
	t.want(acknowledged >= least, "only %d writes", acknowledged)
	t.want(trace.unsafeRestarts == 0, "%d times the log was begun anew before the database was synced", trace.unsafeRestarts)
}
