package server

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// maxRefusing are the connections that are being told that there is no
	// room. While they are so many, the next ones wait in the kernel's queue.
	maxRefusing = 256
	// maxRefused is how much of a refused request is read.
	maxRefused = 64 << 10
)

// door is a listener that lets a number of connections in at a time.
type door struct {
	net.Listener
	max     int64 // 0: any number
	refusal func(keep bool) []byte
	quick   Quick         // nil: none
	crowded func() bool   // connections are not to be kept
	handler http.Handler  // answers what is asked for
	idle    time.Duration // how long guests may be idle
	write   time.Duration // and take to read an answer
	refuses time.Duration // how long it may take to refuse one
	queue   queue

	open, refused atomic.Int64
	working       atomic.Int64 // requests that net/http has not seen
	refusing      chan struct{}
}

// Accept waits for the next connection for which there is room.
func (d *door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if n := d.open.Add(1); d.max == 0 || n <= d.max {
			return d.let(conn), nil
		}
		d.open.Add(-1)
		d.refused.Add(1)
		d.refusing <- struct{}{} // not for longer than that may take with one
		go func() {
			defer func() { <-d.refusing }()
			d.refuse(conn)
		}()
	}
}

// let makes a guest of a connection.
func (d *door) let(conn net.Conn) *guest {
	g := &guest{Conn: conn, door: d, from: conn.RemoteAddr().String()}
	if socket, ok := conn.(syscall.Conn); ok && d.refusal != nil {
		g.raw, _ = socket.SyscallConn() // without it, all is left to net/http
	}
	return g
}

// refuse tells a connection that there is no room. The answer comes after the
// first of the request, and what else is sent is read: a client could take an
// answer before its question for an error, and the kernel would reset a
// connection that is closed with something unread, and drop the answer.
func (d *door) refuse(conn net.Conn) {
	defer func() { _ = conn.Close() }() // there is nobody to tell
	if d.refusal == nil {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(d.refuses))
	if _, err := conn.Read(make([]byte, 1024)); err != nil {
		return
	}
	if _, err := conn.Write(d.refusal(false)); err != nil {
		return
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.CopyN(io.Discard, conn, maxRefused) // until it is closed, or enough
}

// otherFiles are those that are not connections of clients: the store's, the
// program's own, and connections that are being refused.
const otherFiles = 512

// RoomFor is how many of so many connections the process's limit on open files
// leaves room for.
func RoomFor(connections int) int {
	files := maxFiles()
	if files == 0 {
		return connections
	}
	return min(connections, max(1, files-otherFiles))
}
