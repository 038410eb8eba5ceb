package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"galley/internal/cms"
	"galley/internal/console"
	"galley/internal/service"
)

// SetConsole serves the console below /console.
func (a *API) SetConsole(handler http.Handler) {
	a.console = handler
	a.open["/"] = redirectTo(consolePath)
}

const consolePath = "/console"

func isConsole(path string) bool {
	return path == consolePath || strings.HasPrefix(path, consolePath+"/")
}

// Do runs a request with the rights of a session.
func (a *API) Do(from *http.Request, session string, c console.Request) console.Answer {
	w := newRecorder()
	a.Stream(w, from, session, c)
	return w.answer
}

// Stream is Do for an answer that goes to w as it is made.
func (a *API) Stream(w http.ResponseWriter, from *http.Request, session string, c console.Request) {
	var body []byte
	if c.Body != nil {
		body = encodeBody(c.Body)
	}
	r, err := http.NewRequestWithContext(from.Context(), c.Method, c.Address, bytes.NewReader(body))
	if err != nil || !strings.HasPrefix(c.Address, "/") {
		http.Error(w, "", http.StatusNotFound)
		return
	}
	r.RequestURI, r.RemoteAddr, r.TLS = c.Address, from.RemoteAddr, from.TLS
	r.Header["X-Forwarded-For"] = from.Header["X-Forwarded-For"]
	if c.Body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.IfMatch != "" {
		r.Header.Set("If-Match", c.IfMatch)
	}
	a.serveAs(w, r, session)
}

func encodeBody(body any) []byte {
	if raw, ok := body.(json.RawMessage); ok {
		return raw
	}
	return encode(body)
}

// recorder keeps a response in memory.
type recorder struct{ answer console.Answer }

func newRecorder() *recorder { return &recorder{console.Answer{Header: http.Header{}}} }

func (w *recorder) Header() http.Header { return w.answer.Header }

func (w *recorder) WriteHeader(status int) {
	if w.answer.Status == 0 {
		w.answer.Status = status
	}
}

func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.answer.Body = append(w.answer.Body, b...)
	return len(b), nil
}

// attempt runs what the console does about sessions, which is no request of the
// interface. Its error becomes that of a request.
func (a *API) attempt(from *http.Request, run func(h http.Header, r *request) error) console.Answer {
	r := &request{Request: from, id: cms.NewID().String(), start: time.Now(), pattern: consolePath}
	w := newRecorder()
	w.Header().Set("X-Request-Id", r.id)
	if err := a.admission.do(from.Context(), true, func() error { return run(w.Header(), r) }); err != nil {
		a.refuse(w, r, err)
	} else {
		w.WriteHeader(http.StatusNoContent)
	}
	return w.answer
}

var errNoAppKey = cms.Forbidden("Use an App key")

// SignIn makes a session for the holder of an App key. Failures count as those of any
// request do.
func (a *API) SignIn(from *http.Request, key string) (made console.Session, answer console.Answer) {
	answer = a.attempt(from, func(h http.Header, r *request) error {
		appKey, isAppKey := cms.ParseAppKey(key)
		who, err := a.svc.Authenticate(r.Context(), key)
		switch {
		case cms.CodeOf(err) == cms.CodeUnauthorized || (err == nil && who.Session != nil):
			return a.refuseUnauthenticated(h, r, cms.ErrUnauthorized)
		case err != nil:
			return err
		case !isAppKey:
			return errNoAppKey
		}
		token, session, err := a.svc.SignIn(r.Context(), who, appKey, from.UserAgent())
		made = newSession(session, token)
		return err
	})
	return made, answer
}

// Start makes a session for the holder of a link.
func (a *API) Start(from *http.Request, link string) (made console.Session, answer console.Answer) {
	answer = a.attempt(from, func(h http.Header, r *request) error {
		token, session, err := a.svc.UseConsoleLink(r.Context(), link, from.UserAgent())
		if cms.CodeOf(err) == cms.CodeUnauthorized {
			return a.refuseUnauthenticated(h, r, err)
		}
		made = newSession(session, token)
		return err
	})
	return made, answer
}

func newSession(s cms.Session, token cms.SessionToken) console.Session {
	return console.Session{
		ID: s.ID.String(), Token: string(token), UserAgent: s.UserAgent, CreatedAt: s.CreatedAt, LastSeenAt: s.LastSeenAt, EndsAt: s.EndsAt,
	}
}

// signedIn is attempt for the holder of a session.
func (a *API) signedIn(from *http.Request, session string, run func(r *request, who service.Caller) error) console.Answer {
	return a.attempt(from, func(h http.Header, r *request) error {
		r.session = session
		if err := a.authenticate(h, r); err != nil {
			return err
		}
		return run(r, r.who)
	})
}

// Sessions are those of the same app.
func (a *API) Sessions(from *http.Request, session string) (list []console.Session, answer console.Answer) {
	answer = a.signedIn(from, session, func(r *request, who service.Caller) error {
		found, err := a.svc.Sessions(r.Context(), who)
		for _, s := range found {
			listed := newSession(s, "")
			listed.IsCurrent = s.ID == who.Session.ID
			list = append(list, listed)
		}
		return err
	})
	return list, answer
}

// EndSession ends a session of the same app, or all of them.
func (a *API) EndSession(from *http.Request, session, id string) console.Answer {
	return a.signedIn(from, session, func(r *request, who service.Caller) error {
		if id == "" {
			return a.svc.EndSessions(r.Context(), who)
		}
		parsed, ok := cms.ParseID(id)
		if !ok {
			return cms.NotFound(cms.KindSession)
		}
		return a.svc.EndSession(r.Context(), who, parsed)
	})
}

// IsSecure reports whether the client is connected by TLS, to this server or to a
// trusted proxy.
func (a *API) IsSecure(from *http.Request) bool {
	address, ok := parseAddress(from.RemoteAddr)
	return from.TLS != nil || (ok && a.proxies.trust(address) && from.Header.Get("X-Forwarded-Proto") == "https")
}
