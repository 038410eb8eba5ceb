package httpapi

import (
	"bytes"
	"container/list"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// maxBacklog bounds all that waits for slow peers.
	maxBacklog = 48 << 20
	// stayBytes is what a connection costs beside the body or the answer.
	stayBytes = 16 << 10
	// shortStay is how long anyone may take, however crowded it is.
	shortStay = 250 * time.Millisecond
	// smallAnswer always fits into what the kernel buffers for a connection.
	smallAnswer = 4 << 10
	// restTimeout is how long the rest of a body that nobody reads may take.
	restTimeout = time.Second
)

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// backlog bounds the memory that waits for the network: bodies that are on
// their way, and answers that are not taken. When it is full, those who keep us
// waiting longest are cut off, and who is quick comes through.
type backlog struct {
	mu    sync.Mutex
	used  int
	stays list.List // of *stay, the longest first: those that may be cut off

	cut, refused prometheus.Counter
}

func newBacklog(registry *prometheus.Registry) *backlog {
	b := &backlog{cut: prometheus.NewCounter(ShedCounter("slow")), refused: prometheus.NewCounter(ShedCounter("memory"))}
	registry.MustRegister(b.cut, b.refused)
	return b
}

// stay is one body or answer in the backlog.
type stay struct {
	*backlog
	since  time.Time
	cutOff func()
	bytes  int
	place  *list.Element // nil: it is not cut off, or was
	late   bool          // it was cut off
}

// enter begins a stay; cutOff has to end it soon.
func (b *backlog) enter(cutOff func()) *stay {
	s := &stay{backlog: b, since: time.Now(), cutOff: cutOff}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.place = b.stays.PushBack(s)
	return s
}

// grow counts bytes, and makes room for them. It returns false if there is no
// room and nobody to cut off.
func (s *stay) grow(bytes int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += bytes
	s.used += bytes
	for s.used > maxBacklog {
		oldest, ok := s.oldest()
		if !ok || oldest == s || time.Since(oldest.since) < shortStay {
			return false
		}
		oldest.remove()
		oldest.late = true
		oldest.cutOff()
		s.cut.Inc()
	}
	return true
}

func (b *backlog) oldest() (*stay, bool) {
	first := b.stays.Front()
	if first == nil {
		return nil, false
	}
	s, ok := first.Value.(*stay)
	return s, ok
}

// settle ends the danger of being cut off: nobody is waited for any more.
func (s *stay) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlist()
}

// leave ends the stay.
func (s *stay) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove()
}

func (s *stay) remove() {
	s.unlist()
	s.used -= s.bytes
	s.bytes = 0
}

func (s *stay) unlist() {
	if s.place != nil {
		s.stays.Remove(s.place)
		s.place = nil
	}
}

func (s *stay) wasCut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late
}

// receive reads the body of a request as a whole, so that no worker and no
// transaction waits for the network. What was read counts until the caller
// ends the stay.
func (a *API) receive(w http.ResponseWriter, r *request, path string) (*stay, error) {
	control := http.NewResponseController(w)
	s := a.backlog.enter(func() { _ = control.SetReadDeadline(longAgo) })
	defer s.settle()
	e, _, _ := a.router.route(r.Method, path)
	if e == nil || (r.Method != http.MethodPost && r.Method != http.MethodPatch) || r.ContentLength > e.maxBody() {
		r.Body = http.NoBody // nobody will ask for it, or for all of it
		return s, nil
	}
	raw, err := s.read(r.Body, r.ContentLength, int(e.maxBody()))
	switch {
	case errors.Is(err, errBusy):
		return s, err
	case err != nil:
		r.Body = io.NopCloser(cutBody{err})
	default:
		r.unread = len(raw) > int(e.maxBody())
		r.Body = io.NopCloser(bytes.NewReader(raw))
	}
	return s, nil
}

// cutBody is a body that did not arrive: who asks for it is told.
type cutBody struct{ err error }

func (b cutBody) Read([]byte) (int, error) { return 0, b.err }

// read reads a body, up to the first byte that is too much. Memory is taken
// for what has arrived, not for what was announced.
func (s *stay) read(from io.Reader, length int64, limit int) ([]byte, error) {
	const first = 4 << 10 // this much is in stayBytes
	if !s.grow(stayBytes) {
		s.refused.Inc()
		return nil, errBusy
	}
	most := limit + 1
	if length > 0 {
		most = int(length)
	}
	raw := make([]byte, 0, min(first, most))
	for {
		n, err := from.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		switch {
		case errors.Is(err, io.EOF) || len(raw) > limit:
			return raw, nil
		case err != nil && s.wasCut():
			return nil, errBusy
		case err != nil:
			return nil, err
		}
		if len(raw) < cap(raw) {
			continue
		}
		larger := max(len(raw)+1, min(2*cap(raw), most))
		if !s.grow(larger - cap(raw)) {
			s.refused.Inc()
			return nil, errBusy
		}
		raw = append(make([]byte, 0, larger), raw...)
	}
}

// send writes a part of an answer that the peer may take long to read. shared
// tells that the part is not this answer's own memory.
func (b *backlog) send(w http.ResponseWriter, part []byte, shared bool) (int, error) {
	if len(part) <= smallAnswer {
		return w.Write(part)
	}
	control := http.NewResponseController(w)
	s := b.enter(func() { _ = control.SetWriteDeadline(longAgo) })
	defer s.leave()
	bytes := stayBytes
	if !shared {
		bytes += cap(part)
	}
	s.grow(bytes) // the answer is there, with room or without
	return w.Write(part)
}
