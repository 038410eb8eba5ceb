package browsertest

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestFirstStartSignsIn(t *testing.T) {
	t.Parallel()
	s := serve(t)
	first := s.tab(t)
	first.open(s.link)
	first.at("/console/sites")
	first.see("A site is where pages live.")
	first.quiet()

	second := s.tab(t)
	second.open(s.link)
	second.see("This link has been used")
	second.quiet()

	out, err := exec.Command(binary, "console", "--data", s.data, "--url", s.url).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, link, ok := strings.Cut(string(out), "http://")
	if !ok {
		t.Fatalf("printed %q", out)
	}
	second.open("about:blank")
	second.open("http://" + strings.TrimSpace(link))
	second.at("/console/sites")
}

func TestStartWithoutScripts(t *testing.T) {
	t.Parallel()
	s := serve(t)
	b := s.tab(t)
	b.noScript(true)
	b.open("/console/start")
	b.fill("Link", s.link)
	b.click("Sign in")
	b.at("/console/sites")
}

func TestWrongKey(t *testing.T) {
	t.Parallel()
	s := serve(t, "--auth-rate", "5/60")
	b := s.tab(t)
	b.open("/console/sign-in")
	for range 5 {
		b.signIn("sk_wrong")
		b.see("This key does not work.")
		b.focusIn("App key")
	}
	b.signIn("sk_wrong")
	b.see("Too many attempts. Try again in ")
	b.quiet()
	b.signIn(s.key)
	b.at("/console/sites")
}

func TestSiteKeyCanNotSignIn(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site := s.must("POST", "/v2/sites", `{"name": "Shop"}`)
	b := s.tab(t)
	b.open("/console/sign-in")
	b.signIn(site.text("publicApiKey"))
	b.see("Use an App key.")
}

func TestDeletedKeyEndsItsSessions(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key, id := s.app(`{"name": "Editor", "scopes": ["read", "write"]}`)
	b := s.signedIn(t, key)
	b.open("/console/session")
	b.see("Editor")
	s.must("DELETE", "/v2/apps/"+id, "")
	b.click("All sites")
	b.at("/console/sign-in?next=%2Fconsole%2Fsites")
	b.open("/console/session")
	b.at("/console/sign-in?next=%2Fconsole%2Fsession")
	b.signIn(s.key)
	b.at("/console/session")
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	s := serve(t)
	here, there := s.signedIn(t), s.signedIn(t)
	here.open("/console/session")
	here.click("End the session of")
	here.see("The session has ended.")
	there.open("/console/sites")
	there.at("/console/sign-in?next=%2Fconsole%2Fsites")
	there.signIn(s.key)
	there.at("/console/sites")

	here.open("/console/session")
	here.click("Sign out everywhere")
	here.at("/console/sign-in")
	there.open("/console/sites")
	there.at("/console/sign-in?next=%2Fconsole%2Fsites")
}

func TestUnusedSessionsEnd(t *testing.T) {
	t.Parallel()
	s := serve(t, "--console-idle", "2s")
	resp := s.post("/console/sign-in", "key="+s.key)
	cookie := resp.Cookies()[0]
	isIn := func() bool { return s.get("/console/sites", cookie).StatusCode == http.StatusOK }
	for range 4 { // it lasts while it is used
		time.Sleep(time.Second)
		if !isIn() {
			t.Fatal("a session that is used has ended")
		}
	}
	time.Sleep(4 * time.Second)
	if isIn() {
		t.Error("a session that is not used has not ended")
	}
}

func TestSessionsEndAtLast(t *testing.T) {
	t.Parallel()
	s := serve(t, "--console-session", "3s")
	cookie := s.post("/console/sign-in", "key="+s.key).Cookies()[0]
	if cookie.MaxAge < 1 || cookie.MaxAge > 3 {
		t.Errorf("the browser keeps the cookie for %d seconds", cookie.MaxAge)
	}
	eventually(t, "the session ends", func() bool { return s.get("/console/sites", cookie).StatusCode == http.StatusSeeOther })
}

// cookies are those of the tab.
func (s *server) cookies(b *tab) []*network.Cookie {
	s.t.Helper()
	got, err := chromedp.Call(b.ctx, network.GetCookies, network.GetCookiesParams{})
	if err != nil {
		s.t.Fatal(err)
	}
	return got.Cookies
}

func TestCookiesAreHidden(t *testing.T) {
	t.Parallel()
	s := serve(t)
	b := s.signedIn(t)
	b.open("/console/session")
	b.submit("Dark")
	for _, address := range []string{"/console/sites", "/console/sites/new", "/console/session"} {
		b.open(address)
		if got := eval[string](b, "document.cookie"); got != "" {
			t.Errorf("%s: a script reads %q", address, got)
		}
	}
	cookies := s.cookies(b)
	if len(cookies) < 2 {
		t.Fatalf("%d cookies", len(cookies))
	}
	for _, c := range cookies {
		if !c.HTTPOnly || c.SameSite != network.CookieSameSiteStrict || c.Path != "/" {
			t.Errorf("%+v", c)
		}
	}
	if got := eval[string](b, "document.documentElement.dataset.theme"); got != "dark" {
		t.Errorf("the theme is %q", got)
	}
}

// foreign is a page on another origin.
func foreign(t *testing.T, html string) string {
	t.Helper()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(html))
	}))
	t.Cleanup(other.Close)
	return strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
}

func TestOtherOriginsCanNotWrite(t *testing.T) {
	t.Parallel()
	s := serve(t)
	b := s.signedIn(t)
	b.open(foreign(t, `<form method="post" action="`+s.url+`/console/sites/new"><input name="name" value="Stolen"><input name="defaultLocale" value="en"><button>Send</button></form>`))
	b.click("Send")
	b.see("A page of another site can't do this")
	if list := s.must("GET", "/v2/sites", "")["data"].([]any); len(list) != 0 {
		t.Errorf("it was written: %v", list)
	}
	// Without a cookie of its own, a page of the same host on another port is no different.
	b.open(foreign(t, `<script>fetch("`+s.url+`/console/sites/new", {method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams({name: "Stolen", defaultLocale: "en"})}).finally(() => document.title = "sent")</script>`))
	b.wait("it is sent", `document.title === "sent"`)
	if list := s.must("GET", "/v2/sites", "")["data"].([]any); len(list) != 0 {
		t.Errorf("it was written: %v", list)
	}
}

func TestLinksFromElsewhereFindTheSession(t *testing.T) {
	t.Parallel()
	s := serve(t)
	b := s.signedIn(t)
	b.open(foreign(t, `<a href="`+s.url+`/console/session">Look</a>`))
	b.click("Look")
	b.at("/console/session")
	b.see("Signed in with this key")

	out := s.tab(t)
	out.open(foreign(t, `<a href="`+s.url+`/console/session">Look</a>`))
	out.click("Look")
	out.at("/console/sign-in?next=%2Fconsole%2Fsession")
}

func TestNoOpenRedirects(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, next := range []string{"https://elsewhere.example/", "//elsewhere.example/", "/\\elsewhere.example", "/console/../../x", "javascript:alert(1)", "/console/\\/elsewhere.example", "/v2/sites"} {
		resp := s.post("/console/sign-in?"+strings.ReplaceAll("next="+next, " ", "%20"), "key="+s.key)
		if to := resp.Header.Get("Location"); !strings.HasPrefix(to, "/console/") || strings.Contains(to, "\\") || resp.StatusCode != http.StatusSeeOther {
			t.Errorf("next=%s leads to %q, %d", next, to, resp.StatusCode)
		}
	}
}

// post sends a form without a browser, and get asks for a screen.
func (s *server) post(path, form string, cookies ...*http.Cookie) *http.Response {
	s.t.Helper()
	return s.plain(http.MethodPost, path, form, cookies)
}

func (s *server) get(path string, cookies ...*http.Cookie) *http.Response {
	s.t.Helper()
	return s.plain(http.MethodGet, path, "", cookies)
}

func (s *server) plain(method, path, form string, cookies []*http.Cookie) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(form))
	if err != nil {
		s.t.Fatal(err)
	}
	if form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, c := range cookies {
		req.AddCookie(c)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}

func TestKeysLeadToScreens(t *testing.T) {
	t.Parallel()
	s := serve(t)
	b := s.signedIn(t)
	b.open("/console/session")
	b.keys("gs")
	b.at("/console/sites")
	b.keys("/")
	b.keys("abc")
	b.see("Nothing matches")
	b.keys(kb.Escape)
	b.quiet()
}
