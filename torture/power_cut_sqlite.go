package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
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

// powerCutSQLite can't cut the power; but what a power cut leaves is what was
// synced, and the kernel is asked for that.
func powerCutSQLite(t *trial) error {
	if _, err := exec.LookPath("strace"); err != nil {
		return errors.New("this run needs strace: run 'tools/deps.sh torture', or on Debian 'apt-get install strace'")
	}
	file := t.folder("trace")
	// -D leaves the process that we start to the server; the tracer ends with it.
	s, err := t.serveBy([]string{
		"strace", "-D", "-f", "--seccomp-bpf", "-y", "-s", "5000", "-e", "signal=none",
		"-e", "trace=write,writev,pwrite64,pwritev,sendto,sendmsg,fsync,fdatasync", "-o", file,
	}, "server", "--addr", "127.0.0.1:0", "--data", t.folder("data"), "--app-rate", "off", "--log-level", "warn")
	if err != nil {
		return err
	}
	tracer, err := s.tracer()
	if err != nil {
		return err
	}
	f, err := newFleet(t, s.addr, traceWriters, 2)
	if err != nil {
		return err
	}
	least := pick(t, 1000, 100)
	errs := make([]error, len(f.writers))
	var writing sync.WaitGroup
	for i, w := range f.writers {
		writing.Go(func() {
			for errs[i] == nil && t.ctx.Err() == nil && w.acknowledged < least/traceWriters+1 {
				errs[i] = w.step()
				t.progress.show(w.acknowledged, least/traceWriters, "writing under strace: %d of %d by the first writer", f.writers[0].acknowledged, least/traceWriters)
			}
		})
	}
	writing.Wait()
	s.kill()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := tracer.wait(t); err != nil {
		return err
	}
	trace, err := readTrace(file)
	if err != nil {
		return err
	}
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
	return nil
}

// tracer is the process that traces the server.
func (p *process) tracer() (*tracer, error) {
	pid, err := statusField(p.proc("status"), "TracerPid:")
	if err != nil || pid == "0" {
		return nil, fmt.Errorf("the server is not traced: %w", err)
	}
	number, err := strconv.Atoi(pid)
	return &tracer{number}, err
}

type tracer struct{ pid int }

// wait waits until the tracer has ended: then its file is complete.
func (tr *tracer) wait(t *trial) error {
	for alive(tr.pid) && t.ctx.Err() == nil {
		t.sleep(20 * time.Millisecond)
	}
	return t.ctx.Err()
}
