package server

import (
	"math"
	"net"
	"net/http"
	"time"
)

// NextLimit is what the collector is told.
var NextLimit = nextLimit

// MaxRefusing is how many connections are refused at a time.
const MaxRefusing = maxRefusing

// RequestLength tells how long a request is, and whether it may be refused
// before it is parsed.
var RequestLength = request

// ReadPlain makes a request of its text, if it is one that is read without
// net/http.
func ReadPlain(text string) (*http.Request, bool) {
	if length, ok := request([]byte(text)); !ok || length != int64(len(text)) {
		return nil, false
	}
	p, ok := readPlain(text, nil)
	if !ok {
		return nil, false
	}
	return p.request("")
}

// Overload makes the server refuse what it can, or end that, whatever it sees.
func (s *Server) Overload(on bool) {
	s.door.queue.next.Store(math.MaxInt64)
	s.door.queue.long.Store(on)
}

// Queue judges waits; times are told, not taken.
type Queue struct{ queue }

// Look tells of a wait, and returns whether requests are refused now.
func (q *Queue) Look(wait time.Duration, now time.Time, open int64) bool {
	q.look(wait, now.UnixNano(), open)
	return q.long.Load()
}

// The bounds of a wait.
const (
	Late     = late
	Standing = standing
	Wary     = wary
	Crowd    = crowd
)

// Waited is how long ago a connection got its last byte.
var Waited = waited

// HeldFor is how much memory of its own an answer takes that has been written.
func HeldFor(conn net.Conn, body []byte) (int, error) {
	w := &reply{guest: &guest{Conn: conn, door: &door{write: time.Minute}}, header: http.Header{}}
	_, err := w.Write(body)
	return cap(w.text) + cap(w.body), err
}
