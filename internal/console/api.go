package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// API is the service as the console uses it. Whatever the console does, it does by
// requests of the REST interface, with the rights of the key that somebody signed in
// with.
type API interface {
	// Do runs a request of the REST interface with the rights of a session. It is
	// routed, limited, decoded and audited as one that was sent with a key.
	Do(from *http.Request, session string, r Request) Answer
	// Stream is Do for an answer that does not end, which goes to w.
	Stream(w http.ResponseWriter, from *http.Request, session string, r Request)

	// SignIn makes a session for the holder of an App key, and Start for that of a link.
	// The answer says why there is none.
	SignIn(from *http.Request, key string) (Session, Answer)
	Start(from *http.Request, link string) (Session, Answer)
	// Sessions are those of the same app.
	Sessions(from *http.Request, session string) ([]Session, Answer)
	// EndSession ends one of them, or all if id is empty.
	EndSession(from *http.Request, session, id string) Answer

	// IsSecure reports whether the browser is connected by TLS.
	IsSecure(from *http.Request) bool
}

// Request is a request of the REST interface.
type Request struct {
	Method  string
	Address string // path and query
	Body    any    // encoded as JSON; nil: none; json.RawMessage: as it is
	IfMatch string // "": none
}

// Answer is the answer to a Request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Session is somebody who is signed in.
type Session struct {
	ID         string
	Token      string // only of a new one
	UserAgent  string
	IsCurrent  bool
	CreatedAt  time.Time
	LastSeenAt time.Time
	EndsAt     time.Time
}

// Failed reports whether the answer is an error.
func (a Answer) Failed() bool { return a.Status < 200 || a.Status > 299 }

// problem is the error that an answer has.
type problem struct {
	Status     int
	Code       string `json:"code"`
	Message    string `json:"message"`
	Details    []detail
	RequestID  string
	RetryAfter string // in seconds
}

type detail struct{ Field, Message string }

// Error is the message.
func (p *problem) Error() string { return p.Message }

// field is what is wrong with a field, or "".
func (p *problem) field(name string) string {
	if p == nil {
		return ""
	}
	for _, d := range p.Details {
		if d.Field == name {
			return d.Message
		}
	}
	return ""
}

func (a Answer) problem() *problem {
	if !a.Failed() {
		return nil
	}
	p := &problem{Status: a.Status, RequestID: a.Header.Get("X-Request-Id"), RetryAfter: a.Header.Get("Retry-After")}
	_ = json.Unmarshal(a.Body, p) // a body that is no error has no message
	return p
}

// read decodes an answer.
func read[T any](a Answer) (value T, err error) {
	if p := a.problem(); p != nil {
		return value, p
	}
	return value, json.Unmarshal(a.Body, &value)
}

// list is the envelope of every list.
type list[T any] struct {
	Data    []T
	HasMore bool
}

// at makes an address of a path and the names and values of its query. Parameters
// without a value are left out.
func at(path string, query ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		if query[i+1] != "" {
			q.Set(query[i], query[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
