package browsertest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// paste pastes what was copied into a field.
func (b *tab) paste(name string) {
	b.t.Helper()
	b.fill(name, "")
	if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "v", Modifiers: 2, Commands: []string{"paste"}}); err != nil {
		b.t.Fatal(err)
	}
}

func TestKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	s := serve(t)
	b := s.signedIn(t)
	b.open("/console/keys")
	b.submit("New key")
	b.submit("Release manager")
	b.submit("Create key")
	b.see("must not be blank")
	b.fill("Name", "Ada")
	b.submit("Create key")
	b.see("Keep it now")
	key := b.value("App key")
	if status, me := s.send(key, "GET", "/v2/me", ""); status != http.StatusOK || me.text("name") != "Ada" {
		t.Fatalf("the key: %d %v", status, me)
	}
	b.click("Copy")
	b.see("Copied")
	eval[bool](b, "window.isOld = true")
	b.do(chromedp.Reload())
	b.wait("there is another page", `!window.isOld && document.readyState === "complete"`)
	b.see("…" + key[len(key)-4:])
	if source := eval[string](b, "document.documentElement.outerHTML"); strings.Contains(source, key) {
		t.Error("the key is still in the page")
	}
	if n := len(s.must("GET", "/v2/apps", "")["data"].([]any)); n != 2 {
		t.Errorf("there are %d keys: a reload made one", n)
	}
	b.open("/console/audit")
	b.paste("Operation")
	b.wait("the key was copied", `document.querySelector("[name=operation]").value === `+quote(key))
	b.quiet()
}

func TestKeyIsChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site := s.create("/v2/sites", `{"name": "Shop"}`)
	key, id := s.app(`{"name": "Importer", "scopes": ["read", "write"]}`)
	b := s.signedIn(t)
	b.open("/console/keys/" + id)
	b.fill("Name", "Reader of one site")
	b.click("write change drafts")
	b.click("Only some sites")
	b.click("Shop")
	b.submit("Save")
	b.see("Saved.")
	got := s.must("GET", "/v2/apps/"+id, "")
	if text, err := json.Marshal(got); err != nil || got.text("name") != "Reader of one site" || !strings.Contains(string(text), `"scopes":["read"]`) || !strings.Contains(string(text), `"siteIds":["`+site+`"]`) {
		t.Errorf("%s", text)
	}
	b.submit("Delete key")
	b.focusIn("Cancel")
	b.submit("Delete key")
	b.see("The key is deleted.")
	eventually(t, "the key ends", func() bool { status, _ := s.send(key, "GET", "/v2/me", ""); return status == http.StatusUnauthorized })
	b.quiet()
}

func TestRotateWithGrace(t *testing.T) {
	t.Parallel()
	s := serve(t)
	old, id := s.app(`{"name": "Importer"}`)
	b := s.signedIn(t)
	b.open("/console/keys/" + id)
	b.choose("The old one works", "3600")
	b.submit("Rotate key")
	made := b.value("App key")
	for _, key := range []string{old, made} {
		if status, _ := s.send(key, "GET", "/v2/me", ""); status != http.StatusOK {
			t.Errorf("a key does not work: %d", status)
		}
	}
	b.quiet()
}

func TestRotateOwnKeySignsOut(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key, id := s.app(`{"name": "Mine"}`)
	b := s.signedIn(t, key)
	b.open("/console/keys/" + id)
	b.choose("The old one works", "0")
	b.submit("Rotate key")
	b.see("This is the key that you are signed in with")
	b.focusIn("Cancel")
	b.submit("Rotate key")
	made := b.value("App key")
	eventually(t, "the old key ends", func() bool { status, _ := s.send(key, "GET", "/v2/me", ""); return status == http.StatusUnauthorized })
	b.submit("I have kept it")
	b.at("/console/sign-in")
	b.signIn(made)
	b.at("/console/keys/" + id)
	b.quiet()
}

func TestAuditShowsBeforeAndAfter(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.shop()
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/pages/" + pages["/about"])
	b.fill("Title", "About us")
	b.submit("Save")
	b.see("Saved in the draft.")
	b.open("/console/audit?resourceId=" + pages["/about"])
	b.wait("the save is there, before and after", `(() => {
		const entry = [...document.querySelectorAll(".trail > li")].find((e) => e.innerText.includes("updatePage"));
		return entry?.querySelector("del").innerText === "Title of /about" && entry.querySelector("ins").innerText === "About us";
	})()`)
	b.submit("/about")
	b.at("/console/sites/" + site + "/pages/" + pages["/about"])
	b.open("/console/audit")
	b.fill("Operation", "createLocale")
	b.submit("Filter")
	b.wait("one operation is listed", `document.querySelectorAll(".trail > li").length === 1`)
	resp := s.get("/console/audit?format=json", s.post("/console/sign-in", "key="+s.key).Cookies()[0])
	if resp.Header.Get("Content-Type") != "application/json" || !strings.Contains(resp.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%v", resp.Header)
	}
	b.quiet()
}

// receiver is a server that webhooks are sent to.
type receiver struct {
	mu     sync.Mutex
	types  []string
	status int
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body) // what is cut off is no event
	var e struct{ Type string }
	_ = json.Unmarshal(body, &e)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.types = append(r.types, e.Type)
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, "from the receiver")
}

func (r *receiver) count(kind string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.types {
		if t == kind {
			n++
		}
	}
	return n
}

func TestWebhookAndItsLog(t *testing.T) {
	t.Parallel()
	s := serve(t, "--webhook-allow-networks", "127.0.0.0/8")
	r := &receiver{status: http.StatusOK}
	to := httptest.NewServer(r)
	t.Cleanup(to.Close)
	b := s.signedIn(t)
	b.open("/console/webhooks")
	b.see("No webhooks yet.")
	b.submit("New webhook")
	b.fill("URL", "no url")
	b.fill("Types", "page.nonsense")
	b.submit("Create webhook")
	b.see("must be")
	b.fill("URL", to.URL)
	b.fill("Types", "site.created, site.updated")
	b.submit("Create webhook")
	if secret := b.value("Secret"); !strings.HasPrefix(secret, "whsec_") {
		t.Errorf("the secret is %q", secret)
	}
	b.submit("I have kept it")
	b.see("Nothing was sent yet.")
	s.create("/v2/sites", `{"name": "Shop"}`)
	eventually(t, "the event arrives", func() bool { return r.count("site.created") == 1 })
	self := b.path()
	eventually(t, "the log has it", func() bool {
		return strings.Contains(string(s.body("/v2/webhooks/"+lastPart(self)+"/deliveries")), `"delivered"`)
	})
	b.open(self)
	b.see("site.created")
	b.see("from the receiver")
	b.submit("Send again: site.created")
	b.see("It is being sent again.")
	eventually(t, "it arrives again", func() bool { return r.count("site.created") == 2 })
	b.submit("Send a test")
	b.see("A test was sent")
	eventually(t, "the test arrives", func() bool { return r.count("webhook.test") == 1 })
	eval[bool](b, `(() => { const f = document.querySelector("[name=since]"); f.value = "2020-01-01T00:00:00"; f.dispatchEvent(new Event("input", {bubbles: true})); return true; })()`)
	b.submit("Send events again")
	b.see("1 event is being sent again.")
	eventually(t, "the events arrive again", func() bool { return r.count("site.created") == 3 })
	b.submit("Rotate secret")
	b.see("The secret was changed")
	b.submit("I have kept it")
	b.submit("Failed")
	b.see("Nothing was sent yet.")
	b.click("Send events")
	b.submit("Save")
	b.see("Disabled")
	b.submit("Delete webhook")
	b.submit("Delete webhook")
	b.see("The webhook is deleted.")
	b.see("No webhooks yet.")
	b.quiet()
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// body is what REST answers, as it is.
func (s *server) body(path string) []byte {
	s.t.Helper()
	text, err := json.Marshal(s.must("GET", path, ""))
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

func TestEventsAreListed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.shop()
	s.must("PATCH", "/v6/pages/"+pages["/about"]+"?locale=fr", `{"title": "À propos"}`)
	b := s.signedIn(t)
	b.open("/console/events")
	b.see("site.created")
	b.fill("Types", "page.updated")
	b.submit("Filter")
	b.wait("one event is listed", `document.querySelectorAll("tbody tr").length === 1`)
	b.see("fr")
	b.see("title")
	b.submit("/about")
	b.at("/console/sites/" + site + "/pages/" + pages["/about"])
	b.open("/console/events?types=page.nonsense")
	b.see("must")
	b.quiet()
}

func TestPalette(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.shop()
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/pages")
	b.keys("k", chromedp.KeyModifiers(2))
	b.wait("the palette is open", `document.querySelector("#palette[open] #palette-find") === document.activeElement`)
	b.wait("it offers screens", `[...document.querySelectorAll("#palette a.open")].some((a) => a.innerText.includes("Review"))`)
	b.accessible()
	b.keys("rev")
	b.wait("it found the screen", `document.querySelectorAll("#palette a.open").length === 1`)
	b.keys(kb.Enter)
	b.at("/console/sites/" + site + "/review")
	b.keys("k", chromedp.KeyModifiers(2))
	b.keys("storm")
	b.wait("it found the page", `[...document.querySelectorAll("#palette a.open")].some((a) => a.innerText.includes("/shop/jackets/storm"))`)
	b.keys(kb.Enter)
	b.wait("the page is open", `new URL(location.href).searchParams.get("page") === `+quote(pages["/shop/jackets/storm"])+` && document.querySelector("#pt")`)
	b.keys("k", chromedp.KeyModifiers(2))
	b.keys("zzz")
	b.see("Nothing called “zzz”")
	b.keys(kb.Escape)
	b.wait("it is closed, and the page is not", `!document.querySelector("dialog[open]") && document.querySelector("#pt")`)
	b.quiet()

	key, _ := s.app(`{"name": "Reader", "scopes": ["read"], "siteIds": ["` + site + `"]}`)
	other := s.create("/v2/sites", `{"name": "Storm elsewhere"}`)
	reader := s.signedIn(t, key)
	reader.open("/console/palette?site=" + site)
	reader.has("Review")
	for _, name := range []string{"New page", "New site", "New key", "Keys", "Audit"} {
		reader.wait("it does not offer "+name, "!"+found("#answers a", name))
	}
	reader.open("/console/palette?find=storm")
	reader.notSee("Storm elsewhere")
	reader.open("/console/palette?site=" + other)
	reader.see("Site not found")
}

func TestKeyboardHelp(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, _ := s.shop()
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/pages")
	b.keys("?")
	b.see("search and commands")
	b.accessible()
	b.click("Turn single letters off")
	b.see("Turn single letters on")
	b.keys(kb.Escape)
	b.wait("it is closed", `!document.querySelector("dialog[open]")`)
	b.keys("gr")
	b.keys("?")
	b.wait("letters do nothing", `!document.querySelector("dialog[open]") && location.pathname.endsWith("/pages")`)
	b.open("/console/keyboard")
	b.click("Turn single letters on")
	b.keys("gs")
	b.at("/console/sites")
	b.quiet()
}
