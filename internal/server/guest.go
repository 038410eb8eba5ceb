package server

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// guest is a connection that was let in. It follows where requests begin and
// end, so that a plain one is answered without net/http, which takes three times
// as long to read a request and answer it, and any one is refused before it is
// parsed when the server is busy.
type guest struct {
	net.Conn
	door *door
	from string // its address
	left sync.Once
	raw  syscall.RawConn // nil: requests are not answered here

	// rest is how many bytes of the request under way have not been read: at 0
	// the next byte begins a request.
	rest int64
	// lost tells that this is not known any more.
	lost bool
	// ahead is the first byte of a request that net/http has had before the
	// others; hasAhead tells that it has.
	ahead    byte
	hasAhead bool
	// known tells that net/http has had a request from here: the first one of a
	// connection is always left to it, which has its own time for it.
	known bool
	// refused is when a request was last refused here.
	refused int64
	// renew is when the time that the connection may be idle has to begin anew.
	renew time.Time
	// moved tells that somebody has set another deadline.
	moved atomic.Bool
}

// Close makes room for the next.
func (g *guest) Close() error {
	g.left.Do(func() { g.door.open.Add(-1) })
	return g.Conn.Close()
}

// Read reads for net/http, which asks for the bytes of one request after the
// other, and for those of the next one only when it has answered the last. The
// only exception is the first byte of the next one, by which it finds out
// whether the client has left.
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
		case len(p) == 1 && !g.hasAhead:
			g.ahead, g.hasAhead = p[0], true
			return n, err
		}
		text := p[:n]
		if g.hasAhead {
			text = append([]byte{g.ahead}, text...)
		}
		length, plain := request(text)
		if err == nil && plain && length == int64(n) && g.known && !g.hasAhead {
			done, err := g.serve(text)
			if err != nil {
				return 0, err
			}
			if done {
				continue
			}
		}
		g.rest = length - int64(len(text))
		g.lost = g.rest < 0
		g.known, g.hasAhead, g.renew = true, false, time.Time{}
		return n, err
	}
}

// serve answers a plain request in the place of net/http, unless there is
// something about it that only net/http knows.
func (g *guest) serve(request []byte) (done bool, err error) {
	g.door.working.Add(1) // before the look whether the server stops, which waits for those at work
	defer g.door.working.Add(-1)
	if g.door.crowded() {
		return false, nil
	}
	scratch, _ := scratches.Get().(*scratch)
	defer scratches.Put(scratch)
	ask, plain := readPlain(string(request), scratch.headers)
	scratch.headers = ask.headers
	if plain && ask.method == http.MethodGet && g.door.quick != nil {
		if scratch.answer, done = g.door.quick(scratch.answer[:0], ask.target, ask.headers); done {
			return true, g.send(scratch.answer)
		}
	}
	if g.door.queue.refuses(g.raw, g.door.open.Load(), g.refused) {
		err = g.send(g.door.refusal(true))
		g.refused = sinceBegan()
		return true, err
	}
	if !plain {
		return false, nil
	}
	return g.work(ask)
}

// scratch is where requests are read to, and quick answers written.
type scratch struct {
	headers [][2]string
	answer  []byte
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

// send sends an answer.
func (g *guest) send(answer []byte) error {
	if err := g.stay(); err != nil {
		return err
	}
	_, err := g.Conn.Write(answer)
	return err
}

// stay renews the time that net/http gives the connection, which it takes for
// idle meanwhile.
func (g *guest) stay() error {
	now := time.Now()
	if moved := g.moved.Swap(false); !moved && now.Before(g.renew) {
		return nil
	}
	g.renew = now.Add(g.door.idle / 16) // seldom, since it takes longer than a look at the clock
	return g.SetDeadline(now.Add(g.door.idle))
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
// left to net/http: plain tells that nothing is.
func request(text []byte) (length int64, plain bool) {
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
	plain = forPrograms(line)
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
		case is(name, "connection"):
			plain = plain && is(bytes.Trim(value, " \t"), "keep-alive")
		case is(name, "expect"), is(name, "origin"), is(name, "upgrade"):
			plain = false
		}
	}
	return int64(end) + int64(len("\r\n\r\n")) + body, plain
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
