package console

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
)

// visit is a request of somebody who is signed in.
type visit struct {
	*http.Request
	c      *Console
	w      http.ResponseWriter
	token  string
	me     me
	screen screen
	site   *site // of the address; nil: none
	nav    navFacts
}

// me is the credential that somebody signed in with.
type me struct {
	AppID       string
	Name        string
	Scopes      []string
	SiteIDs     []string
	WorkspaceID string
	ExpiresAt   string
}

// can reports whether the key has a scope.
func (m me) can(scope string) bool { return scope == "" || slices.Contains(m.Scopes, scope) }

// lacks says which scope an action needs, if the key has it not.
func (v *visit) lacks(scope string) string {
	if v.me.can(scope) {
		return ""
	}
	return needsScope(scope)
}

// isPartial reports whether htmx asks for the screen without its frame.
func isPartial(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

// do sends a request of the REST interface.
func (v *visit) do(r Request) Answer { return v.c.api.Do(v.Request, v.token, r) }

// get reads from the REST interface.
func (v *visit) get(path string, query ...string) Answer {
	return v.do(Request{Method: http.MethodGet, Address: at(path, query...)})
}

// send writes to the REST interface.
func (v *visit) send(method, address string, body any) Answer {
	return v.do(Request{Method: method, Address: address, Body: body})
}

// visited is the handler of a screen: it finds out who asks, and for which site.
func (c *Console) visited(s screen) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Request: r, c: c, w: w, token: c.cookie(r, sessionCookie), screen: s}
		if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
			w.Header().Set("Allow", "GET, HEAD, POST")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if v.token == "" && isForeignLink(r) {
			v.comeBack()
			return
		}
		if err := v.begin(); err != nil {
			v.fail(err)
			return
		}
		if err := s.handle(v); err != nil {
			v.fail(err)
		}
	}
}

// isForeignLink reports whether the browser follows a link on another site, and so did
// not send the session's cookie.
func isForeignLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate"
}

// comeBack lets the browser ask again, from a page of the console.
func (v *visit) comeBack() {
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Set("Refresh", "0")
	_ = comeBackPage().Render(v.Context(), v.w) // it fails if the client has disconnected
}

var errSignedOut = &problem{Status: http.StatusUnauthorized}

func (v *visit) begin() (err error) {
	if v.token == "" {
		return errSignedOut
	}
	if v.me, err = read[me](v.get("/v2/me")); err != nil {
		return err
	}
	if !v.me.can(v.screen.scope) {
		return &problem{Status: http.StatusForbidden, Code: needsScopeCode, Message: needsScope(v.screen.scope)}
	}
	id := v.PathValue("site")
	if id == "" {
		return v.parse()
	}
	if err := v.enter(id); err != nil {
		return err
	}
	return v.parse()
}

// enter makes a site that of the screen.
func (v *visit) enter(id string) error {
	s, err := read[site](v.get("/v2/sites/" + url.PathEscape(id)))
	if err != nil {
		return v.hidden(err, siteNotFound)
	}
	v.site = &s
	return nil
}

// hidden does not tell a key that is restricted to sites whether something exists
// elsewhere.
func (v *visit) hidden(err error, message string) error {
	if p := problemOf(err); p != nil && p.Status == http.StatusForbidden && v.me.can("read") {
		return &problem{Status: http.StatusNotFound, Message: message, RequestID: p.RequestID}
	}
	return err
}

// parse reads the form of a write.
func (v *visit) parse() error {
	if v.Method != http.MethodPost {
		return nil
	}
	if err := v.ParseForm(); err != nil {
		return &problem{Status: http.StatusBadRequest, Message: badForm}
	}
	return nil
}

func problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	return nil
}

// show sends a screen, in its frame or without.
func (v *visit) show(status int, title string, body templ.Component) error {
	v.loadNav()
	toast := v.takeToast()
	component := layout(v, title, toast, body)
	if isPartial(v.Request) {
		component = partial(v, title, toast, body)
	}
	return v.c.render(v.w, v.Request, status, component)
}

// render sends a component, compressed if the browser takes that.
func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, component templ.Component) error {
	var page bytes.Buffer
	if err := component.Render(r.Context(), &page); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	content := page.Bytes()
	if len(content) > smallPage && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		var out bytes.Buffer
		packed, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level is valid
		_, _ = packed.Write(content)                           // memory never fails
		_ = packed.Close()
		content = out.Bytes()
	}
	w.WriteHeader(status)
	_, _ = w.Write(content) // it fails if the client has disconnected
	return nil
}

// smallPage is not worth compressing.
const smallPage = 1 << 10

// done sends the browser to an address after a write, with a message to show there.
func (v *visit) done(address, message string, link ...string) error {
	toast := toast{Message: message}
	if len(link) == 2 {
		toast.Link, toast.LinkText = link[0], link[1]
	}
	v.setToast(toast)
	redirect(v.w, v.Request, address)
	return nil
}

// fail shows an error. Who is signed out goes to sign in, and then back.
func (v *visit) fail(err error) {
	p := problemOf(err)
	if p == nil {
		p = &problem{Status: http.StatusInternalServerError, Message: somethingWrong}
	}
	if p.Status == http.StatusUnauthorized {
		v.c.clearCookie(v.w, v.Request, sessionCookie)
		redirect(v.w, v.Request, at(signInPath, "next", v.URL.RequestURI()))
		return
	}
	if p.RetryAfter != "" {
		v.w.Header().Set("Retry-After", p.RetryAfter)
	}
	if err := v.show(p.Status, errorTitle(p), errorScreen(v, p)); err != nil {
		http.Error(v.w, somethingWrong, http.StatusInternalServerError)
	}
}

// unknown is the handler of addresses without a screen.
func (c *Console) unknown(w http.ResponseWriter, r *http.Request) {
	c.visited(screen{handle: func(*visit) error { return &problem{Status: http.StatusNotFound, Message: nothingHere} }})(w, r)
}

func (c *Console) denyOrigin(w http.ResponseWriter, r *http.Request) {
	http.Error(w, crossOrigin, http.StatusForbidden)
}

// toast is a message about a write, shown once on the next screen.
type toast struct {
	Message  string
	Link     string `json:",omitempty"`
	LinkText string `json:",omitempty"`
}

func (v *visit) setToast(t toast) {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // it has texts only
	}
	v.c.setCookie(v.w, v.Request, toastCookie, base64.RawURLEncoding.EncodeToString(text), 60)
}

func (v *visit) takeToast() *toast {
	value := v.c.cookie(v.Request, toastCookie)
	if value == "" {
		return nil
	}
	v.c.clearCookie(v.w, v.Request, toastCookie)
	text, err := base64.RawURLEncoding.DecodeString(value)
	var t toast
	if err != nil || json.Unmarshal(text, &t) != nil || (t.Link != "" && !isOwn(t.Link)) {
		return nil
	}
	return &t
}
