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

const full = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 4\r\n\r\nfull"

// withRoom makes a server for a number of connections.
func withRoom(connections int) func(*server.Server) {
	return func(s *server.Server) {
		s.MaxConnections, s.Deadlines.Refuse = connections, time.Hour
		s.Refusal = func(bool) []byte { return []byte(full) }
	}
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

func TestConnectionsBeyondTheCapAreRefused(t *testing.T) {
	t.Parallel()
	const most = 3
	r := runWith(t, hello, withRoom(most))
	var guests []net.Conn
	for range most {
		conn := r.dial(t)
		if resp, err := ask(conn); err != nil || resp.StatusCode != 200 {
			t.Fatalf("a connection within the cap: %v %v", resp, err)
		}
		guests = append(guests, conn)
	}
	if n := r.Connections(); n != most {
		t.Errorf("%d connections, want %d", n, most)
	}
	for range 5 {
		resp, err := ask(r.dial(t))
		if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" || !resp.Close {
			t.Fatalf("a connection beyond the cap: %v %v", resp, err)
		}
	}
	if n := r.Refused(); n != 5 {
		t.Errorf("%d refused, want 5", n)
	}
	// Those who are in are served, and who leaves makes room.
	if resp, err := ask(guests[0]); err != nil || resp.StatusCode != 200 {
		t.Errorf("a connection that is in: %v %v", resp, err)
	}
	_ = guests[1].Close()
	eventually(t, "there is room", func() bool { return r.Connections() < most })
	if resp, err := ask(r.dial(t)); err != nil || resp.StatusCode != 200 {
		t.Errorf("after one has left: %v %v", resp, err)
	}
	r.end(t)
	eventually(t, "all are gone", func() bool { return r.Connections() == 0 })
}

// A client that still sends when it is refused must get the answer too, and no
// reset: a connection that is closed with something unread is reset.
func TestRefusalReachesAClientThatStillSends(t *testing.T) {
	t.Parallel()
	r := runWith(t, hello, withRoom(1))
	if _, err := ask(r.dial(t)); err != nil {
		t.Fatal(err)
	}
	conn := r.dial(t)
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 30000\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len(full))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != full {
		t.Fatalf("got %q, %v", answer, err)
	}
	for range 10 {
		if _, err := io.WriteString(conn, strings.Repeat("x", 3000)); err != nil {
			t.Fatal(err)
		}
	}
	if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
		t.Errorf("then %q, %v", rest, err)
	}
}

// Clients take an answer to no question for an error.
func TestRefusalWaitsForTheRequest(t *testing.T) {
	t.Parallel()
	r := runWith(t, hello, withRoom(1))
	if _, err := ask(r.dial(t)); err != nil {
		t.Fatal(err)
	}
	conn := r.dial(t)
	_ = conn.SetReadDeadline(time.Now().Add(short))
	if n, _ := conn.Read(make([]byte, 1)); n > 0 {
		t.Error("answered before anything was asked")
	}
}

// Connections that say nothing must not use up the means to refuse others, nor
// keep the server from ending.
func TestSilentConnectionsBeyondTheCap(t *testing.T) {
	t.Parallel()
	r := runWith(t, hello, func(s *server.Server) {
		withRoom(1)(s)
		s.Deadlines.Refuse = short
	})
	if _, err := ask(r.dial(t)); err != nil {
		t.Fatal(err)
	}
	for range 2 * server.MaxRefusing {
		r.dial(t)
	}
	eventually(t, "one among silent ones is refused", func() bool { // if it asks within the time
		resp, err := ask(r.dial(t))
		return err == nil && resp.StatusCode == 503
	})
	for range 2 * server.MaxRefusing {
		r.dial(t)
	}
	r.end(t)
}

func TestWithoutARefusalConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	r := runWith(t, hello, func(s *server.Server) { s.MaxConnections = 1 })
	if _, err := ask(r.dial(t)); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r.dial(t)); len(text) > 0 {
		t.Errorf("got %q, %v", text, err)
	}
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
		s.Deadlines = server.Deadlines{Header: long, Body: long, Write: long, Idle: long, Refuse: long}
		set(&s.Deadlines)
	}
}

const (
	short = 100 * time.Millisecond
	// unhurried leaves a busy machine time for what must be answered before.
	unhurried = 10 * time.Second
)

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
	isGivenUp(t, failed)
}

// isGivenUp waits for the error of an answer that nobody reads.
func isGivenUp(t *testing.T, failed chan error) {
	t.Helper()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("64 MB went to a client that reads nothing")
		}
	case <-time.After(2 * time.Minute):
		t.Error("the answer is held")
	}
}
