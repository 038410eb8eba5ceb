package main

import (
	"bytes"
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
// request when its last was answered, and after a pause if one is asked for.
// All are served by one thread with epoll, because every microsecond that the
// generator takes is one that the server on the same cores does not have.
type generator struct {
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
	unsent  []byte // the part of the request that the socket has not taken yet
	answer  []byte
	want    []byte
	sentAt  time.Time
	dueAt   time.Time // of the next request, when it pauses
}

// silence is how long no answer at all may come.
const silence = 60 * time.Second

func newGenerator(address string, connections, status int, build builder) (*generator, error) {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	g := &generator{status: status, build: build, random: rand.New(rand.NewPCG(1, 2)), epoll: epoll}
	for i := range connections {
		fd, err := dial(address)
		if err != nil {
			g.close()
			return nil, err
		}
		g.connections = append(g.connections, &connection{fd: fd, answer: make([]byte, 0, 64<<10)})
		event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)}
		if err := syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, fd, &event); err != nil {
			g.close()
			return nil, fmt.Errorf("epoll: %w", err)
		}
	}
	return g, nil
}

func dial(address string) (int, error) {
	to, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return 0, err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	err = errors.Join(
		syscall.Connect(fd, &syscall.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}),
		syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1),
		syscall.SetNonblock(fd, true),
	)
	if err != nil {
		return 0, errors.Join(fmt.Errorf("can't connect to %s: %w", address, err), syscall.Close(fd))
	}
	return fd, nil
}

func (g *generator) close() {
	for _, c := range g.connections {
		_ = syscall.Close(c.fd) // nothing is under way
	}
	_ = syscall.Close(g.epoll)
}

// finish ends a run before its time.
func (g *generator) finish() { g.finished.Store(true) }

// run sends requests for some time and waits for every answer. An answer that
// is not the one expected ends it.
func (g *generator) run(ctx context.Context, length time.Duration) ([]time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var took []time.Duration
	end := time.Now().Add(length)
	over := func(at time.Time) bool { return at.After(end) || g.finished.Load() }
	waiting := 0 // for answers
	var resting []*connection
	send := func(c *connection) error {
		waiting++
		return g.send(c)
	}
	for _, c := range g.connections {
		if err := send(c); err != nil {
			return nil, err
		}
	}
	events := make([]syscall.EpollEvent, len(g.connections))
	lastAnswer := time.Now()
	for waiting > 0 || len(resting) > 0 {
		n, err := syscall.EpollWait(g.epoll, events, g.timeout(resting))
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return nil, fmt.Errorf("epoll: %w", err)
		}
		for _, event := range events[:max(n, 0)] {
			c := g.connections[event.Fd]
			done, err := g.receive(c, event.Events)
			if err != nil {
				return nil, err
			}
			if !done {
				continue
			}
			answered := time.Now()
			lastAnswer = answered
			took = append(took, answered.Sub(c.sentAt))
			waiting--
			switch {
			case over(answered):
			case g.pause > 0:
				c.dueAt = answered.Add(g.pause)
				resting = append(resting, c)
			default:
				if err := send(c); err != nil {
					return nil, err
				}
			}
		}
		at := time.Now()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if at.Sub(lastAnswer) > silence {
			return nil, fmt.Errorf("no answer for %s", silence)
		}
		if over(at) {
			resting = nil
		}
		for len(resting) > 0 && !resting[0].dueAt.After(at) {
			if err := send(resting[0]); err != nil {
				return nil, err
			}
			resting = resting[1:]
		}
	}
	return took, nil
}

// timeout is how long to wait for answers, in milliseconds, before the next
// request is due.
func (g *generator) timeout(resting []*connection) int {
	if len(resting) == 0 {
		return 1000
	}
	return int(max(0, time.Until(resting[0].dueAt)+time.Millisecond-1) / time.Millisecond)
}

func (g *generator) send(c *connection) error {
	request, want := g.build(c.request[:0], g.random)
	c.request, c.unsent = request, request
	c.want = append(c.want[:0], want...)
	c.answer = c.answer[:0]
	c.sentAt = time.Now()
	return g.flush(c)
}

// flush writes what the socket takes; the rest follows when it takes more.
func (g *generator) flush(c *connection) error {
	for len(c.unsent) > 0 {
		n, err := syscall.Write(c.fd, c.unsent)
		if errors.Is(err, syscall.EAGAIN) {
			return g.watch(c, syscall.EPOLLIN|syscall.EPOLLOUT)
		}
		if err != nil {
			return fmt.Errorf("can't send a request: %w", err)
		}
		c.unsent = c.unsent[n:]
	}
	return nil
}

func (g *generator) watch(c *connection, events uint32) error {
	event := syscall.EpollEvent{Events: events, Fd: int32(slices.Index(g.connections, c))}
	return syscall.EpollCtl(g.epoll, syscall.EPOLL_CTL_MOD, c.fd, &event)
}

// receive reads what has come, and tells whether the answer is whole.
func (g *generator) receive(c *connection, events uint32) (done bool, err error) {
	if events&syscall.EPOLLOUT != 0 {
		if err := g.flush(c); err != nil {
			return false, err
		}
		if len(c.unsent) == 0 {
			if err := g.watch(c, syscall.EPOLLIN); err != nil {
				return false, err
			}
		}
	}
	if events&^syscall.EPOLLOUT == 0 {
		return false, nil
	}
	c.answer = slices.Grow(c.answer, 16<<10)
	n, err := syscall.Read(c.fd, c.answer[len(c.answer):cap(c.answer)])
	if errors.Is(err, syscall.EAGAIN) {
		return false, nil
	}
	if n == 0 && err == nil {
		err = io.EOF
	}
	if err != nil {
		return false, fmt.Errorf("the server closed a connection after %q: %w", c.answer, err)
	}
	c.answer = c.answer[:len(c.answer)+n]
	a, done, err := parseAnswer(c.answer)
	if err != nil || !done {
		return false, err
	}
	if a.status != g.status || !bytes.Contains(a.body, c.want) {
		return false, refusedBy(a.status, fmt.Errorf("expected status %d and %q, got status %d: %.500s", g.status, c.want, a.status, a.body))
	}
	return true, nil
}

// request appends a request with a body, or without one.
func request(dst []byte, method, target, headers, body string) []byte {
	for _, part := range []string{method, " ", target, " HTTP/1.1\r\nHost: bench\r\n", headers} {
		dst = append(dst, part...)
	}
	if body != "" {
		dst = fmt.Appendf(dst, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	dst = append(dst, "\r\n"...)
	return append(dst, body...)
}

// answer is a whole answer of a server. Its body is as sent: in chunks, if it
// came in chunks.
type answer struct {
	status int
	body   []byte
}

var (
	headEnd       = []byte("\r\n\r\n")
	contentLength = []byte("\r\nContent-Length: ")
	chunked       = []byte("\r\nTransfer-Encoding: chunked\r\n")
	lastChunk     = []byte("\r\n0\r\n\r\n")
)

// parseAnswer reads an answer as far as it has come. It knows no more of HTTP
// than Go's servers make use of.
func parseAnswer(text []byte) (a answer, whole bool, err error) {
	end := bytes.Index(text, headEnd)
	if end < 0 {
		return a, false, nil
	}
	head, rest := text[:end+2], text[end+len(headEnd):]
	if len(head) < len("HTTP/1.1 200") {
		return a, false, fmt.Errorf("no HTTP: %q", head)
	}
	if a.status, err = strconv.Atoi(string(head[9:12])); err != nil {
		return a, false, fmt.Errorf("no HTTP: %q", head)
	}
	if bytes.Contains(head, chunked) {
		a.body = rest
		// What a chunk holds is JSON, which has no bare line ends.
		return a, bytes.HasSuffix(rest, lastChunk), nil
	}
	_, value, ok := bytes.Cut(head, contentLength)
	if !ok {
		if a.status == 204 {
			return a, true, nil
		}
		return a, false, fmt.Errorf("an answer without a length: %q", head)
	}
	digits, _, _ := bytes.Cut(value, headEnd[:2])
	length, err := strconv.Atoi(string(digits))
	if err != nil {
		return a, false, fmt.Errorf("an answer without a length: %q", head)
	}
	a.body = rest
	return a, len(rest) >= length, nil
}
