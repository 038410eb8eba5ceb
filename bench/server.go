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
	"strings"
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

// program is a command that lasts until it is stopped.
func program(name string, args ...string) *exec.Cmd {
	return exec.Command(name, args...) //nolint:noctx // each is stopped by its own signal, see stop
}

// launch starts a process. Lines of its output go to a function, as long as
// there is one; what it says on the other stream is shown if it fails.
func launch(command *exec.Cmd, line func(string)) (*server, error) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	command.SysProcAttr.Setpgid = true // an interrupt is ours to pass on
	var output io.ReadCloser
	if line != nil {
		var err error
		if output, err = command.StdoutPipe(); err != nil {
			return nil, err
		}
	}
	started := make(chan error)
	starter() <- func() { started <- command.Start() }
	if err := <-started; err != nil {
		return nil, err
	}
	s := &server{command, make(chan error, 1)}
	go func() {
		if line != nil {
			for lines := bufio.NewScanner(output); lines.Scan(); {
				line(lines.Text())
			}
		}
		s.ended <- command.Wait()
	}()
	return s, nil
}

func (s *server) pid() int { return s.command.Process.Pid }

// stopTimeout is how long a server may take to end.
const stopTimeout = 60 * time.Second

// stop asks the process to end, and waits for it. One that has ended, or was
// never started, is no error: not everybody runs when a run fails.
func (s *server) stop(signal syscall.Signal) error {
	if s == nil {
		return nil
	}
	if err := s.command.Process.Signal(signal); err != nil {
		if errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		return err
	}
	select {
	case <-s.ended:
		return nil // how it ended is of no matter
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("%s does not end", s.command.Path), s.command.Process.Kill())
	}
}

// waitUntil polls until something holds, or the process has ended.
func (s *server) waitUntil(ctx context.Context, holds func() bool) error {
	for range 600 {
		if holds() {
			return nil
		}
		select {
		case err := <-s.ended:
			return errors.Join(fmt.Errorf("%s ended", s.command.Path), err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s was started and does not answer", s.command.Path)
}

// listens tells whether somebody takes connections at an address.
func listens(ctx context.Context, address string) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// freeAddress is one that nobody listens on.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// cleanEnv is the environment without settings of Galley.
func cleanEnv() []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GALLEY_") {
			env = append(env, entry)
		}
	}
	return env
}
