package console

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	sessionCookie = "galley"
	toastCookie   = "galley-toast"
	themeCookie   = "galley-theme"

	signInPath = "/console/sign-in"
	startPath  = "/console/start"
	sitesPath  = "/console/sites"
)

// cookieName is the name of a cookie. By TLS it has a prefix, by which browsers take it
// from this host alone.
func (c *Console) cookieName(r *http.Request, name string) string {
	if c.api.IsSecure(r) {
		return "__Host-" + name
	}
	return name
}

func (c *Console) cookie(r *http.Request, name string) string {
	cookie, err := r.Cookie(c.cookieName(r, name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// setCookie stores a value in the browser, where no script can read it. A link on
// another site does not send it.
func (c *Console) setCookie(w http.ResponseWriter, r *http.Request, name, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: c.cookieName(r, name), Value: value, Path: "/", MaxAge: seconds, Secure: c.api.IsSecure(r),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

func (c *Console) clearCookie(w http.ResponseWriter, r *http.Request, name string) {
	c.setCookie(w, r, name, "", -1)
}

// enter begins a session in the browser.
func (c *Console) enter(w http.ResponseWriter, r *http.Request, s Session) {
	c.setCookie(w, r, sessionCookie, s.Token, int(time.Until(s.EndsAt).Seconds()))
}

// entry is what the screens show that need no session.
type entry struct {
	c       *Console
	theme   string
	next    string
	problem *problem
}

func (c *Console) entry(r *http.Request) entry {
	e := entry{c: c, theme: c.theme(r), next: r.FormValue("next")}
	if !isOwn(e.next) {
		e.next = ""
	}
	return e
}

// signIn is the handler of the screen Sign in.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	e := c.entry(r)
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		_ = c.render(w, r, http.StatusOK, signInScreen(e)) // components do not fail
	case http.MethodPost:
		session, answer := c.api.SignIn(r, strings.TrimSpace(r.PostFormValue("key")))
		if e.problem = answer.problem(); e.problem != nil {
			c.refuse(w, r, e.problem)
			_ = c.render(w, r, e.problem.Status, signInScreen(e))
			return
		}
		c.enter(w, r, session)
		redirect(w, r, orElse(e.next, sitesPath))
	default:
		notAllowed(w)
	}
}

// start is the handler of a link that signs in once. The token is in the fragment of
// the address, which browsers do not send; a script puts it into the form, or a person
// does.
func (c *Console) start(w http.ResponseWriter, r *http.Request) {
	e := c.entry(r)
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		_ = c.render(w, r, http.StatusOK, startScreen(e))
	case http.MethodPost:
		token := strings.TrimSpace(r.PostFormValue("token"))
		if _, fragment, ok := strings.Cut(token, "#"); ok { // the whole link was pasted
			token = fragment
		}
		session, answer := c.api.Start(r, token)
		if e.problem = answer.problem(); e.problem != nil {
			c.refuse(w, r, e.problem)
			_ = c.render(w, r, e.problem.Status, startScreen(e))
			return
		}
		c.enter(w, r, session)
		redirect(w, r, sitesPath)
	default:
		notAllowed(w)
	}
}

func (c *Console) refuse(w http.ResponseWriter, _ *http.Request, p *problem) {
	if p.RetryAfter != "" {
		w.Header().Set("Retry-After", p.RetryAfter)
	}
}

func notAllowed(w http.ResponseWriter) {
	w.Header().Set("Allow", "GET, HEAD, POST")
	w.WriteHeader(http.StatusMethodNotAllowed)
}

// themes are what somebody may choose; "" is what the system has.
var themes = []string{"", "light", "dark"}

func (c *Console) theme(r *http.Request) string {
	switch theme := c.cookie(r, themeCookie); theme {
	case "light", "dark":
		return theme
	}
	return ""
}

// setTheme keeps a choice of the theme in a cookie.
func (c *Console) setTheme(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		redirect(w, r, sitesPath)
		return
	}
	const year = 365 * 24 * 3600
	switch theme := r.PostFormValue("theme"); theme {
	case "light", "dark":
		c.setCookie(w, r, themeCookie, theme, year)
	default:
		c.clearCookie(w, r, themeCookie)
	}
	redirect(w, r, orElse(c.entry(r).next, sitesPath))
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// retryMessage says when to come back.
func retryMessage(p *problem) string {
	n, err := strconv.Atoi(p.RetryAfter)
	if err != nil || n < 1 {
		n = 1
	}
	return tooManyAttempts(n)
}
