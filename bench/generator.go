package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// generator loads a server over keep-alive connections: each sends its next
// request when its last was answered, after a pause if there is one. One thread
// with epoll serves all, because every microsecond that the generator takes is
// one that the server on the same cores does not have.
type generator struct {
	headers     string
	status      int
	build       builder
	pause       time.Duration
	finished    atomic.Bool
	random      *rand.Rand
	epoll       int
	connections []*connection
}

type connection struct {
	fd      int
	request []byte
	answer  []byte
	want    string
	sentAt  time.Time
	dueAt   time.Time // of the next request
}

// silence is how long a server may take to read a request, or to respond to any.
const silence = 60 * time.Second

func newGenerator(address, headers string, connections, status int, build builder) *generator {
	g := &generator{
		headers: headers, status: status, build: build, random: rand.New(rand.NewPCG(1, 2)),
		epoll: must(syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)),
	}
	to := must(net.ResolveTCPAddr("tcp4", address))
	for i := range connections {
		fd := must(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0))
		g.connections = append(g.connections, &connection{fd: fd, answer: make([]byte, 0, 64<<10)})
		check(errors.Join(
			syscall.Connect(fd, &syscall.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}),
			syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1),
			syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &syscall.Timeval{Sec: int64(silence.Seconds())}),
			syscall.EpollCtl(g.epoll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)}),
		))
	}
	return g
}

func (g *generator) close() {
	for _, c := range g.connections {
		_ = syscall.Close(c.fd) // no request is in flight
	}
	_ = syscall.Close(g.epoll)
}

// finish ends a run before its time.
func (g *generator) finish() { g.finished.Store(true) }

// runBeside runs while something happens, for some time at most, and closes the
// generator.
func (g *generator) runBeside(ctx context.Context, length time.Duration, happens func()) (took []time.Duration) {
	defer g.close()
	failed := make(chan error, 1)
	go func() {
		var err error
		took, err = g.run(ctx, length)
		failed <- err
	}()
	err := recovered(happens)
	g.finish()
	check(errors.Join(err, <-failed))
	return took
}

// run sends requests for some time and waits for every response. A response that
// is not the one expected ends it.
func (g *generator) run(ctx context.Context, length time.Duration) (took []time.Duration, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	end := time.Now().Add(length)
	inFlight, idle := 0, slices.Clone(g.connections)
	sendDue := func(now time.Time) error {
		if now.After(end) || g.finished.Load() {
			idle = nil
		}
		for len(idle) > 0 && !idle[0].dueAt.After(now) {
			if err := g.send(idle[0]); err != nil {
				return err
			}
			idle = idle[1:]
			inFlight++
		}
		return nil
	}
	err = sendDue(time.Now())
	events := make([]syscall.EpollEvent, len(g.connections))
	for lastAnswer := time.Now(); err == nil && inFlight+len(idle) > 0; {
		wait := time.Second
		if len(idle) > 0 {
			wait = max(0, time.Until(idle[0].dueAt)+time.Millisecond-1)
		}
		n, err := syscall.EpollWait(g.epoll, events, int(wait/time.Millisecond))
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return nil, fmt.Errorf("epoll: %w", err)
		}
		for _, event := range events[:max(n, 0)] {
			c := g.connections[event.Fd]
			done, err := g.receive(c)
			if done {
				lastAnswer = time.Now()
				took = append(took, lastAnswer.Sub(c.sentAt))
				c.dueAt = lastAnswer.Add(g.pause)
				inFlight--
				idle = append(idle, c)
				err = sendDue(lastAnswer)
			}
			if err != nil {
				return nil, err
			}
		}
		if err := errors.Join(ctx.Err(), sendDue(time.Now())); err != nil {
			return nil, err
		}
		if time.Since(lastAnswer) > silence {
			return nil, fmt.Errorf("no response for %s", silence)
		}
	}
	return took, err
}

func (g *generator) send(c *connection) error {
	next := g.build(g.random)
	c.request = next.appendTo(c.request[:0], g.headers)
	c.want = next.want
	c.answer = c.answer[:0]
	c.sentAt = time.Now()
	for unsent := c.request; len(unsent) > 0; {
		n, err := syscall.Write(c.fd, unsent)
		if err != nil {
			return fmt.Errorf("can't send a request: %w", err)
		}
		unsent = unsent[n:]
	}
	return nil
}

// receive reads what has arrived, and reports whether the response is complete.
func (g *generator) receive(c *connection) (done bool, err error) {
	c.answer = slices.Grow(c.answer, 16<<10)
	n, err := syscall.Read(c.fd, c.answer[len(c.answer):cap(c.answer)])
	if n <= 0 {
		return false, fmt.Errorf("the server closed a connection after %q: %w", c.answer, cmp.Or(err, io.EOF))
	}
	c.answer = c.answer[:len(c.answer)+n]
	a, done, err := parseAnswer(c.answer)
	if err != nil || !done {
		return false, err
	}
	if a.status != g.status || !bytes.Contains(a.body, []byte(c.want)) {
		return false, refusedBy(a.status, fmt.Errorf("expected status %d and %q, got status %d: %.500s", g.status, c.want, a.status, a.body))
	}
	return true, nil
}

// request is a request with a body, or without one, and what the response to it
// must contain.
type request struct{ method, target, body, want string }

func (r request) appendTo(dst []byte, headers string) []byte {
	for _, part := range []string{r.method, " ", r.target, " HTTP/1.1\r\nHost: bench\r\n", headers} {
		dst = append(dst, part...)
	}
	if r.body != "" {
		dst = fmt.Appendf(dst, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(r.body))
	}
	dst = append(dst, "\r\n"...)
	return append(dst, r.body...)
}

// answer is a complete response. Its body is as sent: in chunks, if it came in
// chunks.
type answer struct {
	status int
	body   []byte
}

var (
	lineEnd       = []byte("\r\n")
	headEnd       = []byte("\r\n\r\n")
	contentLength = []byte("\r\nContent-Length: ")
	chunked       = []byte("\r\nTransfer-Encoding: chunked\r\n")
	lastChunk     = []byte("\r\n0\r\n\r\n")
)

// parseAnswer parses a response as far as it has arrived. It supports no more of
// HTTP than Go's servers make use of.
func parseAnswer(text []byte) (a answer, whole bool, err error) {
	end := bytes.Index(text, headEnd)
	if end < 0 {
		return a, false, nil
	}
	head := text[:end+len(lineEnd)]
	a.body = text[end+len(headEnd):]
	if len(head) > 12 {
		a.status, err = strconv.Atoi(string(head[9:12]))
	}
	_, value, _ := bytes.Cut(head, contentLength)
	digits, _, _ := bytes.Cut(value, lineEnd)
	length, noLength := strconv.Atoi(string(digits))
	switch {
	case err != nil || a.status == 0:
		return a, false, fmt.Errorf("no HTTP: %q", head)
	case bytes.Contains(head, chunked):
		// The chunks contain JSON, which has no bare line ends.
		return a, bytes.HasSuffix(a.body, lastChunk), nil
	case a.status == 204:
		return a, true, nil
	case noLength != nil:
		return a, false, fmt.Errorf("a response without a length: %q", head)
	}
	return a, len(a.body) >= length, nil
}
