package server

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// limitListener bounds the number of open connections. Connections beyond the
// limit wait in the kernel's queue until another one closes.
type limitListener struct {
	net.Listener
	slots  *semaphore.Weighted
	open   *atomic.Int64
	closed context.Context //nolint:containedctx // it ends with the listener
	cancel context.CancelFunc
}

func newLimitListener(l net.Listener, most int, open *atomic.Int64) *limitListener {
	closed, cancel := context.WithCancel(context.Background())
	return &limitListener{l, semaphore.NewWeighted(int64(most)), open, closed, cancel}
}

// Accept waits until another connection may be opened, and then for one.
func (l *limitListener) Accept() (net.Conn, error) {
	if l.slots.Acquire(l.closed, 1) != nil {
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		l.slots.Release(1)
		return nil, err
	}
	l.open.Add(1)
	return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { l.open.Add(-1); l.slots.Release(1) })}, nil
}

// Close also ends an Accept that waits for another connection to close.
func (l *limitListener) Close() error {
	l.cancel()
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite is used by net/http to end a response before it stops reading: a
// reset of the connection could lose the response.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// SetWriteBuffer sets how much the kernel takes for a client that does not read.
func (c *limitedConn) SetWriteBuffer(bytes int) error {
	if buffered, ok := c.Conn.(interface{ SetWriteBuffer(bytes int) error }); ok {
		return buffered.SetWriteBuffer(bytes)
	}
	return nil
}

// otherFiles are open files that are not connections of clients, such as those
// of the store.
const otherFiles = 512

// RoomFor returns how many of the connections the limit on open files allows.
func RoomFor(connections int) int {
	files := maxFiles()
	if files == 0 {
		return connections
	}
	return min(connections, max(1, files-otherFiles))
}
