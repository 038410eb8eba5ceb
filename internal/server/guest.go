package server

import (
	"bytes"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// guest is a connection that was let in. It follows where requests begin and
// end, so that a busy server can refuse one before it is parsed: net/http takes
// three times as long to read a request and answer it.
type guest struct {
	net.Conn
	door *door
	left sync.Once
	raw  syscall.RawConn // nil: requests are not refused here

	// rest is how many bytes of the request under way have not been read: at 0
	// the next byte begins a request.
	rest int64
	// lost tells that this is not known any more.
	lost bool
	// known tells that net/http has had a request from here: the first one of a
	// connection is always left to it, which has its own time for it.
	known bool
	// refused is when a request was last refused here.
	refused int64
	// renew is when the time that the connection may be idle has to begin anew.
	renew time.Time
}

// Close makes room for the next.
func (g *guest) Close() error {
	g.left.Do(func() { g.door.open.Add(-1) })
	return g.Conn.Close()
}

// Read reads for net/http, which asks for the bytes of one request after the
// other, and for those of the next one only when it has answered the last. The
// only exception are single bytes, by which it finds out whether the client has
// left.
func (g *guest) Read(p []byte) (int, error) {
	for {
		n, err := g.Conn.Read(p)
		switch {
		case g.raw == nil || g.lost || n == 0:
			return n, err
		case g.rest > 0:
			g.rest -= int64(n)
			g.lost = g.rest < 0
			return n, err
		}
		length, refusable := request(p[:n])
		if err == nil && refusable && length == int64(n) && g.known && !g.door.crowded() && g.door.queue.refuses(g.raw, g.refused) {
			if err := g.refuse(); err != nil {
				return 0, err
			}
			continue
		}
		g.rest = length - int64(n)
		g.lost = g.rest < 0
		g.known, g.renew = true, time.Time{}
		return n, err
	}
}

// refuse answers a request in the place of net/http, which takes the
// connection for idle meanwhile: the time that it gives it begins anew.
func (g *guest) refuse() error {
	if now := time.Now(); now.After(g.renew) {
		if err := g.SetDeadline(now.Add(g.door.idle)); err != nil {
			return err
		}
		g.renew = now.Add(g.door.idle / 2)
	}
	_, err := g.Conn.Write(g.door.refusal(true))
	g.refused = sinceBegan()
	return err
}

// CloseWrite lets net/http say that it has said everything, and go on reading
// for a moment.
func (g *guest) CloseWrite() error {
	if half, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// request tells how long a request is that begins a text, by the text of its
// head; 0 if that can't be told for sure. Whatever is out of the ordinary is
// left to net/http: refusable tells that nothing is.
func request(text []byte) (length int64, refusable bool) {
	end := bytes.Index(text, []byte("\r\n\r\n"))
	text = text[:max(end, 0)]
	// net/http ends lines in other ways, too.
	lines := bytes.Count(text, []byte("\r\n"))
	if bytes.Count(text, []byte("\n")) != lines || bytes.Count(text, []byte("\r")) != lines {
		return 0, false
	}
	line, head, ok := bytes.Cut(text, []byte("\r\n"))
	if !ok || !bytes.HasSuffix(line, []byte(" HTTP/1.1")) {
		return 0, false
	}
	refusable = forPrograms(line)
	var body int64
	for counted := false; len(head) > 0; {
		line, head, _ = bytes.Cut(head, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || bytes.ContainsAny(name, " \t") {
			return 0, false
		}
		switch {
		case is(name, "transfer-encoding"):
			return 0, false
		case is(name, "content-length"):
			n, err := strconv.ParseUint(string(bytes.Trim(value, " \t")), 10, 62)
			if err != nil || counted {
				return 0, false
			}
			body, counted = int64(n), true
		case is(name, "connection"), is(name, "expect"), is(name, "origin"), is(name, "upgrade"):
			refusable = refusable && is(bytes.Trim(value, " \t"), "keep-alive")
		}
	}
	return int64(end) + int64(len("\r\n\r\n")) + body, refusable
}

// forPrograms tells whether a request line asks for what the REST interface
// has, and not for what operators and their probes need most when it is busy.
func forPrograms(line []byte) bool {
	method, target, _ := bytes.Cut(line, []byte(" "))
	switch string(method) {
	case "GET", "POST", "PATCH", "PUT", "DELETE":
		return bytes.HasPrefix(target, []byte("/v2/")) || bytes.HasPrefix(target, []byte("/v6/"))
	}
	return false
}

func is(text []byte, word string) bool {
	return len(text) == len(word) && bytes.EqualFold(text, []byte(word))
}
