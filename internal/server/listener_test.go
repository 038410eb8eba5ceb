package server_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"galley/internal/server"
)

func (r *running) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	return conn
}

// withRoom makes a server for a number of connections.
func withRoom(connections int) func(*server.Server) {
	return func(s *server.Server) { s.MaxConnections = connections }
}

// ask sends a request on a connection and reads the answer.
func ask(conn net.Conn) (*http.Response, error) {
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp, err
}

func TestConnectionsBeyondTheLimitWait(t *testing.T) {
	t.Parallel()
	const most = 3
	r := runWith(t, hello, withRoom(most))
	var open []net.Conn
	for range most {
		conn := r.dial(t)
		if resp, err := ask(conn); err != nil || resp.StatusCode != 200 {
			t.Fatalf("a connection within the limit: %v %v", resp, err)
		}
		open = append(open, conn)
	}
	late := r.dial(t) // the kernel accepts it
	answered := make(chan error, 1)
	go func() {
		_, err := ask(late)
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("a connection beyond the limit was served: %v", err)
	case <-time.After(short):
	}
	if n := r.Connections(); n != most {
		t.Errorf("%d connections, want %d", n, most)
	}
	if resp, err := ask(open[0]); err != nil || resp.StatusCode != 200 {
		t.Errorf("an open connection: %v %v", resp, err)
	}
	_ = open[1].Close()
	if err := <-answered; err != nil {
		t.Errorf("after another has closed: %v", err)
	}
	r.end(t)
	eventually(t, "all are closed", func() bool { return r.Connections() == 0 })
}

// A server at its limit waits for no connection when it stops.
func TestServerAtItsLimitStops(t *testing.T) {
	t.Parallel()
	r := runWith(t, hello, withRoom(1))
	if _, err := ask(r.dial(t)); err != nil {
		t.Fatal(err)
	}
	r.dial(t)
	r.end(t)
}

func TestCrowded(t *testing.T) {
	t.Parallel()
	r := runWith(t, hello, withRoom(4))
	for n := range 4 {
		if want := n > 2; r.Crowded() != want {
			t.Errorf("%d of 4: crowded %v", n, r.Crowded())
		}
		if _, err := ask(r.dial(t)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRoomForConnections(t *testing.T) {
	t.Parallel()
	if n := server.RoomFor(10); n != 10 {
		t.Errorf("room for %d of 10", n)
	}
	if n := server.RoomFor(1 << 40); n < 1 || n >= 1<<40 {
		t.Errorf("room for %d of very many", n)
	}
}

// deadlines of a server that a test can wait for; one of them at a time.
func within(set func(*server.Deadlines)) func(*server.Server) {
	return func(s *server.Server) {
		long := time.Hour
		s.Deadlines = server.Deadlines{Header: long, Body: long, Write: long, Idle: long}
		set(&s.Deadlines)
	}
}

const short = 100 * time.Millisecond

// ends tells that the server closes a connection, with or without an answer.
func ends(t *testing.T, conn net.Conn) string {
	t.Helper()
	text, err := io.ReadAll(conn)
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		t.Errorf("the connection is held, after %q", text)
	}
	return string(text)
}

func TestHeadThatDoesNotEndIsCutOff(t *testing.T) {
	t.Parallel()
	r := runWith(t, hello, within(func(d *server.Deadlines) { d.Header = short }))
	for _, begun := range []string{"G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: x\r\nX-Drip: a"} {
		conn := r.dial(t)
		if _, err := io.WriteString(conn, begun); err != nil {
			t.Fatal(err)
		}
		if text := ends(t, conn); strings.Contains(text, " 200 ") {
			t.Errorf("half a head is answered %q", text)
		}
	}
}

func TestBodyThatDoesNotEndIsCutOff(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	r := runWith(t, func(w http.ResponseWriter, req *http.Request) {
		_, err := io.ReadAll(req.Body)
		failed <- err
		hello(w, req)
	}, within(func(d *server.Deadlines) { d.Body = short }))
	conn := r.dial(t)
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf"); err != nil {
		t.Fatal(err)
	}
	ends(t, conn)
	if err := <-failed; err == nil {
		t.Error("half a body was read as a whole one")
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	t.Parallel()
	r := runWith(t, hello, within(func(d *server.Deadlines) { d.Idle = short }))
	conn := r.dial(t)
	if resp, err := ask(conn); err != nil || resp.Close {
		t.Fatalf("%v %v", resp, err)
	}
	if text := ends(t, conn); text != "" {
		t.Errorf("then came %q", text)
	}
}

func TestAnswerThatNobodyReadsIsGivenUp(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	r := runWith(t, func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, 64<<20))
		failed <- err
	}, within(func(d *server.Deadlines) { d.Write = short }))
	conn := r.dial(t)
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		if err == nil {
			t.Error("64 MB went to a client that reads nothing")
		}
	case <-time.After(2 * time.Minute):
		t.Error("the answer is held")
	}
}
