package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// server is a process of a contestant.
type server struct {
	command *exec.Cmd
	ended   chan error
}

// starter starts processes from one thread that lasts: they get a signal when
// that thread ends, so that none outlives this program.
var starter = sync.OnceValue(func() chan<- func() {
	tasks := make(chan func())
	go func() {
		runtime.LockOSThread()
		for task := range tasks {
			task()
		}
	}()
	return tasks
})

// launch starts a process. Lines of its output go to a function, if there is
// one.
func launch(command *exec.Cmd, line func(string)) *server {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	command.SysProcAttr.Setpgid = true // an interrupt at the terminal ends the run, which ends its servers
	var output io.ReadCloser
	if line != nil {
		output = must(command.StdoutPipe())
	}
	started := make(chan error)
	starter() <- func() { started <- command.Start() }
	check(<-started)
	s := &server{command, make(chan error, 1)}
	go func() {
		if line != nil {
			for lines := bufio.NewScanner(output); lines.Scan(); {
				line(lines.Text())
			}
		}
		s.ended <- command.Wait()
	}()
	return s
}

func (s *server) pid() int { return s.command.Process.Pid }

// stopTimeout is how long a server may take to end.
const stopTimeout = 60 * time.Second

// stop asks the process to end, and waits for it. It may have ended already, or
// was never started, when a run fails.
func (s *server) stop(signal syscall.Signal) {
	if s == nil {
		return
	}
	if err := s.command.Process.Signal(signal); err != nil {
		if !errors.Is(err, os.ErrProcessDone) {
			check(err)
		}
		return
	}
	select {
	case <-s.ended: // its exit status does not matter
	case <-time.After(stopTimeout):
		check(errors.Join(fmt.Errorf("%s does not end", s.command.Path), s.command.Process.Kill()))
	}
}

// waitUntil polls until a condition holds.
func (s *server) waitUntil(ctx context.Context, holds func() bool) {
	for range 600 {
		if holds() {
			return
		}
		select {
		case err := <-s.ended:
			check(errors.Join(fmt.Errorf("%v ended", s.command.Args), err))
		case <-ctx.Done():
			check(ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	check(fmt.Errorf("%v was started and does not answer", s.command.Args))
}

// listens reports whether a server accepts connections at an address.
func listens(ctx context.Context, address string) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// freeAddress is one that no server listens on.
func freeAddress(ctx context.Context) string {
	listener := must((&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"))
	check(listener.Close())
	return listener.Addr().String()
}
