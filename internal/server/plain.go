package server

import (
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A request that has arrived whole, and of which nothing is out of the ordinary,
// is read here and handed to the handler; whatever is odd is left to net/http,
// which alone knows what becomes of that. net/http takes as long for the way in
// and out as a read of one page takes in all.

// plain is a request that net/http would make the same of.
type plain struct {
	method, target, host string
	headers              [][2]string // names, in their usual form, and values
	body                 string
}

// readPlain reads the text of a request. The headers are appended to some that
// are of no more use.
func readPlain(text string, headers [][2]string) (p plain, ok bool) {
	head, body, _ := strings.Cut(text, "\r\n\r\n")
	line, head, more := strings.Cut(head, "\r\n")
	p.method, p.target, _ = strings.Cut(line, " ")
	p.target, _ = strings.CutSuffix(p.target, " HTTP/1.1")
	p.headers, p.body = headers[:0], body
	if !visible(p.target, false) || (body != "" && p.method != http.MethodPost && p.method != http.MethodPatch) {
		return p, false
	}
	for more {
		line, head, more = strings.Cut(head, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.Trim(value, " ")
		if !isWord(name) || !visible(value, true) {
			return p, false
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		switch name {
		case "Host":
			if p.host != "" || !isHost(value) {
				return p, false
			}
			p.host = value
		case "Pragma", "Te", "Trailer", "Proxy-Connection", "Http2-Settings":
			return p, false
		default:
			p.headers = append(p.headers, [2]string{name, value})
		}
	}
	return p, p.host != ""
}

// request is the request as a handler knows it, if its target can be read.
func (p plain) request(from string) (*http.Request, bool) {
	address, err := url.ParseRequestURI(p.target)
	if err != nil {
		return nil, false
	}
	r := &http.Request{
		Method: p.method, URL: address, RequestURI: p.target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, len(p.headers)), Host: p.host, RemoteAddr: from,
		Body: http.NoBody, ContentLength: int64(len(p.body)),
	}
	if p.body != "" {
		r.Body = io.NopCloser(strings.NewReader(p.body))
	}
	for _, h := range p.headers {
		r.Header[h[0]] = append(r.Header[h[0]], h[1])
	}
	return r, true
}

// isWord tells whether a text is of letters, digits and hyphens.
func isWord(text string) bool {
	for _, c := range []byte(text) {
		if !isAlphanumeric(c) && c != '-' {
			return false
		}
	}
	return text != ""
}

// isHost tells whether a text is a host's name or address, as most are.
func isHost(text string) bool {
	for _, c := range []byte(text) {
		if !isAlphanumeric(c) && c != '.' && c != '-' && c != ':' {
			return false
		}
	}
	return text != ""
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// visible tells whether a text is of characters that can be seen; spaces may be
// among them.
func visible(text string, spaces bool) bool {
	for _, c := range []byte(text) {
		if c <= ' ' && (c != ' ' || !spaces) || c >= 0x7f {
			return false
		}
	}
	return true
}

// work has the handler answer a plain request, and tells whether it did. An
// error ends the connection.
func (g *guest) work(p plain) (done bool, err error) {
	r, ok := p.request(g.from)
	if !ok {
		return false, nil
	}
	w, _ := replies.Get().(*reply)
	w.guest = g
	g.door.handler.ServeHTTP(w, r)
	err = w.end()
	w.putBack()
	return true, err
}

// reply is what a handler answers a plain request with.
type reply struct {
	guest  *guest
	header http.Header
	status int
	names  []string // of the header, in order, or of the last one's
	body   []byte   // what was not sent yet
	text   []byte   // what is being sent
	begun  bool     // the head was sent
	last   bool     // the connection ends with it
	err    error    // of the connection
}

var replies = sync.Pool{New: func() any { return &reply{header: make(http.Header, 24)} }}

const (
	// smallReply is sent once it is complete. It fits into what the kernel
	// buffers for a connection.
	smallReply = 4 << 10
	// maxScratch is the largest buffer that is kept for others.
	maxScratch = 64 << 10
)

func (w *reply) putBack() {
	if cap(w.text) > maxScratch {
		return
	}
	clear(w.header)
	*w = reply{header: w.header, names: w.names, text: w.text[:0], body: w.body[:0]}
	replies.Put(w)
}

func (w *reply) Header() http.Header { return w.header }

func (w *reply) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write keeps what is small until the answer is complete.
func (w *reply) Write(part []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.bodiless() {
		return 0, http.ErrBodyNotAllowed // it would be taken for the beginning of the next answer
	}
	if len(w.body)+len(part) <= smallReply {
		w.body = append(w.body, part...)
		return len(part), nil
	}
	if err := w.SetWriteDeadline(time.Now().Add(w.guest.door.write)); err != nil {
		return 0, err
	}
	if err := w.send(part); err != nil {
		return 0, err
	}
	return len(part), nil
}

// end sends what is left.
func (w *reply) end() error {
	w.WriteHeader(http.StatusOK)
	if !w.begun && w.header["Content-Length"] == nil {
		w.header["Content-Length"] = []string{strconv.Itoa(len(w.body))}
	}
	if err := w.guest.stay(); err != nil {
		return err
	}
	if err := w.send(nil); err != nil {
		return err
	}
	if w.last {
		return io.EOF
	}
	return nil
}

// send sends the head, what was kept, and a part of the body.
func (w *reply) send(part []byte) error {
	w.text = w.text[:0]
	if !w.begun {
		w.begun = true
		if w.header["Content-Length"] == nil && part != nil {
			w.header["Connection"] = []string{"close"} // where it ends, the body does
		}
		w.last = w.header.Get("Connection") == "close"
		w.appendHead()
	}
	w.text = append(w.text, w.body...)
	w.body = w.body[:0]
	if w.err != nil {
		return w.err
	}
	if len(part) > 0 { // it may be large, and others' as well: it is not copied
		both := net.Buffers{w.text, part}
		_, w.err = both.WriteTo(w.guest.Conn)
	} else if len(w.text) > 0 {
		_, w.err = w.guest.Conn.Write(w.text)
	}
	return w.err
}

// bodiless tells whether the answer is of a kind that has no body.
func (w *reply) bodiless() bool {
	return w.status == http.StatusNoContent || w.status == http.StatusNotModified
}

func (w *reply) appendHead() {
	if w.bodiless() {
		delete(w.header, "Content-Length")
	}
	if w.status == http.StatusNotModified {
		delete(w.header, "Content-Type")
	}
	w.header["Date"] = []string{time.Now().UTC().Format(http.TimeFormat)}
	w.orderNames()
	w.text = append(w.text, "HTTP/1.1 "...)
	w.text = strconv.AppendInt(w.text, int64(w.status), 10)
	w.text = append(append(append(w.text, ' '), http.StatusText(w.status)...), "\r\n"...)
	for _, name := range w.names {
		for _, value := range w.header[name] {
			w.text = append(append(append(append(w.text, name...), ": "...), oneLine(value)...), "\r\n"...)
		}
	}
	w.text = append(w.text, "\r\n"...)
}

// orderNames puts the names of the header in order. Most answers have those of the
// last one that was written here.
func (w *reply) orderNames() {
	missing := func(name string) bool { _, ok := w.header[name]; return !ok }
	if len(w.names) == len(w.header) && !slices.ContainsFunc(w.names, missing) {
		return
	}
	w.names = w.names[:0]
	for name := range w.header {
		w.names = append(w.names, name)
	}
	slices.Sort(w.names)
}

// oneLine keeps a value from beginning another header.
func oneLine(value string) string {
	if strings.IndexByte(value, '\r') < 0 && strings.IndexByte(value, '\n') < 0 {
		return value
	}
	return lineEnds.Replace(value)
}

var lineEnds = strings.NewReplacer("\r", " ", "\n", " ")

// SetReadDeadline and SetWriteDeadline are for http.ResponseController. Others
// than the handler may call them.

func (w *reply) SetReadDeadline(t time.Time) error {
	w.guest.moved.Store(true)
	return w.guest.Conn.SetReadDeadline(t)
}

func (w *reply) SetWriteDeadline(t time.Time) error {
	w.guest.moved.Store(true)
	return w.guest.Conn.SetWriteDeadline(t)
}
