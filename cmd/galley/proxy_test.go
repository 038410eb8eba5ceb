package main_test

import (
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"galley/internal/pgtest"
)

// proxy stands between a server and its database, so that a test can take the
// database away and give it back.
type proxy struct {
	url    string // of the database, through the proxy
	target string
	addr   string

	// stalled keeps connections open and lets nothing through.
	stalled atomic.Bool

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

// newProxy opens a way to a database that listens on a Unix socket.
func newProxy(t *testing.T, database string) *proxy {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"), addr: pgtest.FreeAddress(t)}
	p.open(t)
	t.Cleanup(func() {
		p.stalled.Store(false)
		p.cut()
	})
	u.Host, u.RawQuery = p.addr, "sslmode=disable"
	p.url = u.String()
	return p
}

// open lets connections through, from the same address each time.
func (p *proxy) open(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.listener, p.addr = l, l.Addr().String()
	p.mu.Unlock()
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return // cut
			}
			to, err := net.Dial("unix", p.target)
			if err != nil {
				_ = from.Close()
				continue
			}
			if !p.let(l, from, to) {
				return
			}
			go p.join(from, to)
			go p.join(to, from)
		}
	}()
}

// let lets a connection through that came by a listener, unless that was cut off
// meanwhile.
func (p *proxy) let(l net.Listener, from, to net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != l {
		_, _ = from.Close(), to.Close()
		return false
	}
	p.conns = append(p.conns, from, to)
	return true
}

// join copies one direction, with a stop where the test says so.
func (p *proxy) join(to, from net.Conn) {
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		for p.stalled.Load() {
			time.Sleep(10 * time.Millisecond)
		}
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

// cut ends every connection and lets no new one in.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}
