package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that a run started.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// starts are calls for the one thread that starts programs: a program is told
// to die when the thread that started it does, so that thread must last.
var starts = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}

// launch starts a program; the run ends it, if nothing else does.
func (t *trial) launch(cmd *exec.Cmd) (*process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	// An interrupt at the terminal is for us: we end our programs in order.
	cmd.SysProcAttr.Setpgid = true
	p := &process{cmd: cmd, ended: make(chan struct{})}
	done := make(chan error)
	starts <- func() { done <- cmd.Start() }
	if err := <-done; err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		close(p.ended)
	}()
	t.atEnd(p.kill)
	return p, nil
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
	addr  string
	ready time.Duration // from its start until it took requests
}

var listens = regexp.MustCompile(`listens on http://(\S+)`)

// serve starts a server on a free port of loopback and waits until it is ready.
// Its log goes to a file in the run's folder.
func (t *trial) serve(name string, args ...string) (*server, error) {
	return t.serveBy(nil, name, append([]string{"--addr", "127.0.0.1:0"}, args...)...)
}

// serveBy starts a server by way of another program, such as taskset.
func (t *trial) serveBy(by []string, name string, args ...string) (*server, error) {
	line := append(append(by, t.binary, "serve"), args...)
	cmd := exec.Command(line[0], line[1:]...) //nolint:noctx // the run ends it itself, and sees that it ended
	cmd.Dir = t.dir
	cmd.Env = t.environment()
	log, err := os.OpenFile(t.folder(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the server has its own
	cmd.Stderr = log
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = in
	start := time.Now()
	p, err := t.launch(cmd)
	_ = in.Close() // the server has its own
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	s := &server{process: p}
	address := make(chan string, 1)
	go func() {
		defer func() { _ = out.Close() }()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := listens.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
	}()
	select {
	case s.addr = <-address:
	case <-p.ended:
		tail, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("the server ended at its start: %s", lastLine(tail))
	case <-t.ctx.Done():
		return nil, t.ctx.Err()
	}
	if err := t.waitReady(s); err != nil {
		return nil, err
	}
	s.ready = time.Since(start)
	return s, nil
}

// environment has no setting of Galley's but the App key of the first start.
func (t *trial) environment() []string {
	env := []string{"GALLEY_BOOTSTRAP_KEY=" + t.key}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GALLEY_") {
			env = append(env, entry)
		}
	}
	return env
}

func (t *trial) waitReady(s *server) error {
	c := newClient(s.addr, "")
	defer c.close()
	for s.running() && t.ctx.Err() == nil {
		if a, err := c.do("GET", "/readyz", ""); err == nil && a.status == 200 {
			return nil
		}
		t.sleep(5 * time.Millisecond)
	}
	return errors.New("the server did not become ready")
}

func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}

// memory is what the kernel says of a process's resident memory, in MB: now,
// and the most there was since it was last forgotten.
func (p *process) memory() (now, peak float64) {
	for name, value := range map[string]*float64{"VmRSS:": &now, "VmHWM:": &peak} {
		kb, err := statusField(p.proc("status"), name)
		if err != nil {
			return 0, 0 // it has ended
		}
		*value, _ = strconv.ParseFloat(kb, 64)
		*value /= 1024
	}
	return now, peak
}

// forgetPeak makes the kernel count the most memory anew.
func (p *process) forgetPeak() error {
	return os.WriteFile(p.proc("clear_refs"), []byte("5"), 0)
}

// cpu is the processor time that a process has used.
func (p *process) cpu() time.Duration {
	text, err := os.ReadFile(p.proc("stat"))
	if err != nil {
		return 0
	}
	// The fields after the name, which may have blanks in it.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / ticksPerSecond
}

// ticksPerSecond is the kernel's unit in /proc, the same on every Linux.
const ticksPerSecond = 100

func (p *process) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(p.pid()), name)
}

// statusField is the first word of a line of a process's status.
func statusField(file, name string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("%s has no %s", file, name)
}

// children are the processes that this one has started.
func (p *process) children() (pids []int) {
	list, _ := os.ReadFile(p.proc(filepath.Join("task", strconv.Itoa(p.pid()), "children"))) // it may have ended
	for word := range strings.FieldsSeq(string(list)) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func alive(pid int) bool {
	state, err := statusField(filepath.Join("/proc", strconv.Itoa(pid), "status"), "State:")
	return err == nil && state != "Z" // dead, until somebody takes notice
}

// galley runs the program to its end.
func (t *trial) galley(command string, args ...string) error {
	cmd := exec.CommandContext(t.ctx, t.binary, append([]string{command}, args...)...)
	cmd.Dir = t.dir
	cmd.Env = t.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("galley %s: %w: %s", command, err, lastLine(out))
	}
	return nil
}
