package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

var powerCutSQLiteRun = run{
	name:   "power-cut-sqlite",
	target: "at least 1,000 writes by 8 writers: by a trace of system calls, each is synced to the disk before it is answered",
	short:  "at least 100 writes by 8 writers: by a trace of system calls, each is synced to the disk before it is answered",
	limit:  5 * time.Minute, shortLimit: 4 * time.Minute,
	do: powerCutSQLite,
}

const traceWriters = 8

// powerCutSQLite traces system calls instead of cutting the power: a power cut
// leaves what was synced.
func powerCutSQLite(t *trial) {
	if _, err := exec.LookPath("strace"); err != nil {
		check(errors.New("this run needs strace: run 'tools/deps.sh torture', or on Debian 'apt-get install strace'"))
	}
	file := t.folder("trace")
	// With -D the process that is started becomes the server; the tracer ends with it.
	s := t.serveBy([]string{
		"strace", "-D", "-f", "--seccomp-bpf", "-y", "-x", "-s", "5000", "-e", "signal=none",
		"-e", "trace=write,writev,pwrite64,pwritev,sendto,sendmsg,fsync,fdatasync", "-o", file,
	}, "server", t.freeAddress("127.0.0.1"), "--data", t.folder("data"))
	tracer, err := strconv.Atoi(statusField(s.pid(), "TracerPid:"))
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

// trace is what a server wrote and synced, in the order of the system calls.
// Times are line numbers of the trace: only their order matters.
type trace struct {
	writes  []*logWrite
	syncs   []*span        // of the log
	first   map[string]int // the first write with a UUID
	answers map[string]int // when a response began to be written, by request id

	restarts, unsafeRestarts int
}

// span is from when to when a call lasted.
type span struct{ start, end int }

// never is the end of calls that failed or were cut off.
const never = math.MaxInt

// finish notes the end of a call, unless it failed.
func (s *span) finish(number int, line string) {
	tail := line[max(0, len(line)-80):] // the written bytes may contain the same text
	if !strings.Contains(tail, " = -1 E") {
		s.end = number
	}
}

// logWrite is a write to SQLite's write-ahead log.
type logWrite struct {
	*span
	commit bool // it is the header of a transaction's last frame
}

var requestIDs = regexp.MustCompile(`X-Request-Id: ([0-9a-f-]{36})`)

// cutCall splits a line about a call on a file:
//
//	17 pwrite64(9</data/galley.db-wal>, "...", 24, 32) = 24
func cutCall(line string) (thread, name, path, rest string, ok bool) {
	thread, line, _ = strings.Cut(line, " ")
	name, line, _ = strings.Cut(strings.TrimLeft(line, " "), "(")
	_, line, _ = strings.Cut(line, "<")
	path, rest, ok = strings.Cut(line, ">")
	return thread, name, path, strings.TrimPrefix(rest, ", "), ok
}

// readTrace reads what strace wrote.
func readTrace(file string) (*trace, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	tr := &trace{first: map[string]int{}, answers: map[string]int{}}
	open := map[string]*span{}                // calls that are under way, by thread
	written, synced := &span{-1, -1}, &span{} // the database file itself
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for number := 0; lines.Scan(); number++ {
		line := lines.Text()
		// The end of a call, during which other threads made calls:
		//	17 <... fsync resumed>) = 0
		if thread, rest, _ := strings.Cut(line, " "); strings.HasPrefix(strings.TrimLeft(rest, " "), "<... ") {
			if call := open[thread]; call != nil {
				call.finish(number, line)
			}
			delete(open, thread)
			continue
		}
		thread, name, path, rest, ok := cutCall(line)
		if !ok {
			continue
		}
		call := &span{number, never}
		syncs := name == "fsync" || name == "fdatasync"
		switch {
		case strings.HasSuffix(path, ".db-wal") && syncs:
			tr.syncs = append(tr.syncs, call)
		case strings.HasSuffix(path, ".db-wal"):
			data, numbers := cutBytes(rest)
			if strings.HasPrefix(numbers, "32, 0") {
				tr.restarts++
				if written.end > synced.start {
					tr.unsafeRestarts++
				}
			}
			tr.noteIDs(data)
			// The second number of a frame's header is the size of the database in
			// the last frame of a transaction, and 0 in all others.
			commit := strings.HasPrefix(numbers, "24, ") && len(data) == 24 && data[4:8] != "\x00\x00\x00\x00"
			tr.writes = append(tr.writes, &logWrite{call, commit})
		case strings.HasSuffix(path, ".db") && syncs:
			synced = call
		case strings.HasSuffix(path, ".db"):
			written = call
		case strings.HasPrefix(rest, `"HTTP/1.1 2`):
			if id := requestIDs.FindStringSubmatch(rest); id != nil {
				tr.answers[id[1]] = number
			}
		}
		if strings.HasSuffix(line, "<unfinished ...>") {
			open[thread] = call
		} else {
			call.finish(number, line)
		}
	}
	return tr, lines.Err()
}

// cutBytes splits the arguments of a write: the bytes, which strace quotes as Go
// does, and what follows: how many, and where.
func cutBytes(arguments string) (data, numbers string) {
	end := strings.LastIndexByte(arguments, '"') + 1
	data, _ = strconv.Unquote(arguments[:end]) // "" where there is no string
	return data, strings.TrimPrefix(arguments[end:], ", ")
}

// noteIDs notes the UUIDs of version 7 in the next write.
func (tr *trace) noteIDs(data string) {
	for i := 0; i+len(uuid.UUID{}) <= len(data); i++ {
		if data[i+6]>>4 != 7 || data[i+8]>>6 != 2 {
			continue
		}
		id := uuid.UUID([]byte(data[i : i+len(uuid.UUID{})])).String()
		if _, ok := tr.first[id]; !ok {
			tr.first[id] = len(tr.writes)
		}
	}
}

// synced returns an error unless a request's commit was synced before its
// response. The commit is that of the audit entry, which has the request's id.
func (tr *trace) synced(requestID string) error {
	answer, ok := tr.answers[requestID]
	if !ok {
		return errors.New("its answer is not in the trace")
	}
	first, ok := tr.first[requestID]
	if !ok || first == 0 {
		return errors.New("it was never written to the log")
	}
	// The frame's own header stands before it, and the transaction ends with
	// the frame after the header that says so.
	last := first - 1
	for last < len(tr.writes) && !tr.writes[last].commit {
		last++
	}
	if last+1 >= len(tr.writes) {
		return errors.New("it was never committed")
	}
	written := tr.writes[last+1].end
	for _, s := range tr.syncs {
		if s.start > written && s.end < answer {
			return nil
		}
	}
	return fmt.Errorf("it was answered at line %d of the trace; its commit was written at line %d and not synced in between", answer, written)
}
