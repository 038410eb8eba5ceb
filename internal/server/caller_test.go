package server_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// watched is the server's end of a connection, of which a test sees what is
// read when.
type watched struct {
	*net.TCPConn
	took  atomic.Int64 // the bytes that were read
	waits atomic.Bool  // for a request, or the rest of one
}

func (w *watched) Read(p []byte) (int, error) {
	w.waits.Store(len(p) > 1) // net/http reads one byte to find out whether the client has left
	n, err := w.TCPConn.Read(p)
	w.waits.Store(false)
	w.took.Add(int64(n))
	return n, err
}

// watchman is a listener whose connections are watched, by who calls.
type watchman struct {
	net.Listener
	conns sync.Map
}

func (l *watchman) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	tcp, ok := conn.(*net.TCPConn)
	if err != nil || !ok {
		return conn, err
	}
	w := &watched{TCPConn: tcp}
	l.conns.Store(conn.RemoteAddr().String(), w)
	return w, nil
}

// caller is a test's end of a connection.
type caller struct {
	net.Conn
	server *watchman
	sent   int64
}

func (r *running) dial(t *testing.T) *caller {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	return &caller{Conn: conn, server: r.listener}
}

// begin sends a request, or the first part of one, once the server is done with
// all that came before and waits for it.
func (c *caller) begin(t *testing.T, text string) {
	t.Helper()
	c.send(t, "waits", (*watched).isWaiting, text)
}

// goOn sends another part, once the server has read those before.
func (c *caller) goOn(t *testing.T, text string) {
	t.Helper()
	c.send(t, "has read", func(w *watched) bool { return w.took.Load() == c.sent }, text)
}

func (w *watched) isWaiting() bool { return w.waits.Load() }

func (c *caller) send(t *testing.T, does string, ready func(*watched) bool, text string) {
	t.Helper()
	eventually(t, "the server "+does, func() bool {
		w, ok := c.server.conns.Load(c.LocalAddr().String())
		return ok && ready(w.(*watched))
	})
	if _, err := io.WriteString(c.Conn, text); err != nil {
		t.Fatal(err)
	}
	c.sent += int64(len(text))
}
