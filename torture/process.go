package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that a run started.
type process struct {
	cmd   *exec.Cmd
	log   string // the file of its output
	ended chan struct{}
}

// starts are calls for the one thread that starts programs: the kernel kills a
// program when the thread that started it ends, so that thread must last.
var starts = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}

// launch starts a program, whose output is appended to a log in the run's
// folder. The program is killed at the end of the run.
func (t *trial) launch(name string, cmd *exec.Cmd) *process {
	p := &process{cmd: cmd, log: t.folder(name + ".log"), ended: make(chan struct{})}
	log := must(os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))
	defer func() { _ = log.Close() }() // the program has its own
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr.Setpgid = true // an interrupt at the terminal ends the run, which ends its programs
	done := make(chan error)
	starts <- func() { done <- cmd.Start() }
	check(<-done)
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		close(p.ended)
	}()
	t.atEnd(p.kill)
	return p
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process at once, as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// server is a running Galley.
type server struct {
	*process
	database *process // on the same cores; nil: none
	addr     string
	ready    time.Duration // from its start until it accepted requests
}

// serve starts a server on loopback and waits until it is ready. It has no rate
// limit, unless the arguments set one.
func (t *trial) serve(name string, args ...string) *server {
	return t.serveBy(nil, name, t.freeAddress("127.0.0.1"), args...)
}

// serveBy starts a server by way of another program, such as taskset, on an
// address.
func (t *trial) serveBy(by []string, name, addr string, args ...string) *server {
	s := &server{addr: addr}
	start := time.Now()
	s.process = t.launch(name, t.command(slices.Concat(by, []string{t.binary, "serve", "--addr", addr, "--app-rate", "off", "--log-level", "warn"}, args)...))
	t.waitReady(s.process, addr)
	s.ready = time.Since(start)
	return s
}

// command runs in the run's folder and environment, which has no setting of
// Galley's but the App key of the first start.
func (t *trial) command(line ...string) *exec.Cmd {
	cmd := exec.Command(line[0], line[1:]...) //nolint:noctx // the run ends it itself, and waits for its end
	cmd.Dir = t.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "GALLEY_") }),
		"GALLEY_BOOTSTRAP_KEY="+t.key)
	return cmd
}

// galley runs the program to its end and returns its output.
func (t *trial) galley(args ...string) []byte {
	var problem bytes.Buffer
	command := t.command(append([]string{t.binary}, args...)...)
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		check(fmt.Errorf("galley %s: %w: %s", args[0], err, lastLine(problem.Bytes())))
	}
	return out
}

// waitReady waits until a server, or a proxy with a server behind it, is ready.
func (t *trial) waitReady(p *process, addr string) {
	c := newClient(addr, "")
	defer c.close()
	t.poll("waiting for "+addr, p, 5*time.Millisecond, func() bool {
		a, err := c.do("GET", "/readyz", "")
		return err == nil && a.status == 200
	})
}

// freeAddress finds a port below those that the kernel gives to outgoing
// connections: it stays free while its server is down.
func (t *trial) freeAddress(host string) string {
	rng := t.random()
	for range 100 {
		addr := fmt.Sprintf("%s:%d", host, 20_000+rng.IntN(12_000))
		if l, err := (&net.ListenConfig{}).Listen(t.ctx, "tcp", addr); err == nil {
			check(l.Close())
			return addr
		}
	}
	check(errors.New("no free port between 20000 and 32000"))
	return ""
}

// terminate asks a server to stop and waits until it has.
func (s *server) terminate(t *trial) {
	check(s.cmd.Process.Signal(syscall.SIGTERM))
	t.poll("stopping a server", nil, time.Millisecond, func() bool { return !s.running() })
	if !s.cmd.ProcessState.Success() {
		check(errors.New("the server ended with " + s.cmd.ProcessState.String()))
	}
}

func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}

// memory is the resident memory of a process, in MB: now, and the peak since
// forgetPeak.
func (p *process) memory() (now, peak float64) {
	read := func(name string) float64 {
		kb, _ := strconv.ParseFloat(statusField(p.pid(), name), 64) // it may have ended
		return kb / 1024
	}
	return read("VmRSS:"), read("VmHWM:")
}

// forgetPeak makes the kernel count the peak of memory anew.
func (p *process) forgetPeak() { check(os.WriteFile(procFile(p.pid(), "clear_refs"), []byte("5"), 0)) }

// cpu is the processor time that a server and its database have used.
func (s *server) cpu() (used time.Duration) {
	pids := []int{s.pid()}
	if s.database != nil {
		pids = append(append(pids, s.database.pid()), s.database.children()...)
	}
	for _, pid := range pids {
		text, err := os.ReadFile(procFile(pid, "stat"))
		if err != nil {
			continue // it has ended
		}
		// The fields after the name, which may contain spaces: those of the process
		// and of its children that have ended.
		for _, field := range strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))[11:15] {
			ticks, _ := strconv.ParseInt(field, 10, 64)
			used += time.Duration(ticks) * time.Second / ticksPerSecond
		}
	}
	return used
}

// ticksPerSecond is the kernel's unit in /proc, the same on every Linux.
const ticksPerSecond = 100

func procFile(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

// statusField is the first word of a line of a process's status; "" if there is
// no such line, or the process has ended.
func statusField(pid int, name string) string {
	text, _ := os.ReadFile(procFile(pid, "status"))
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			return fields[1]
		}
	}
	return ""
}

// children are the processes that this one has started.
func (p *process) children() (pids []int) {
	list, _ := os.ReadFile(procFile(p.pid(), fmt.Sprintf("task/%d/children", p.pid()))) // it may have ended
	for word := range strings.FieldsSeq(string(list)) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	state := statusField(pid, "State:")
	return state != "" && state != "Z"
}
