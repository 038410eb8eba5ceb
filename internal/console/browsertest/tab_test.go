package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// tab is a tab of the browser with cookies of its own.
type tab struct {
	t   *testing.T
	s   *server
	ctx context.Context //nolint:containedctx // it is the tab, as chromedp has it

	mu       sync.Mutex
	messages []string // that the browser wrote about the page
	dialogs  []string

	hasNoScript bool
}

// tab opens an empty tab.
func (s *server) tab(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chrome, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	tb := &tab{t: t, s: s, ctx: ctx}
	messages, dialogs := chromedp.Console(ctx), chromedp.Events(ctx, page.JavascriptDialogOpening)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			bad := m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException || m.Type == chromedp.ConsoleWarning
			// A screen of an error has its status; files must be there.
			if m.Source == "network" && !strings.Contains(m.URL+m.Text, "/assets/") {
				bad = false
			}
			if bad {
				tb.mu.Lock()
				tb.messages = append(tb.messages, m.String()+" "+m.URL)
				tb.mu.Unlock()
			}
		}
	}()
	go func() {
		for d, err := range dialogs {
			if err != nil {
				return
			}
			tb.mu.Lock()
			tb.dialogs = append(tb.dialogs, d.Message)
			tb.mu.Unlock()
			_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}
	}()
	tb.size(1440, 900)
	return tb
}

// signedIn opens a tab and signs in with the key that has every scope, or another.
func (s *server) signedIn(t *testing.T, key ...string) *tab {
	t.Helper()
	tb := s.tab(t)
	tb.open("/console/sign-in")
	tb.signIn(append(key, s.key)[0])
	tb.at("/console/sites")
	return tb
}

// signIn fills the form that the tab shows.
func (b *tab) signIn(key string) {
	b.t.Helper()
	b.fill("App key", key)
	b.submit("Sign in")
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patient)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%v\n%s", err, b.text())
	}
}

// eval returns the value of an expression, or of the promise that it is.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patient)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// try is eval without a failure: the page may be between two addresses.
func try[T any](b *tab, expression string) (v T, ok bool) {
	ctx, cancel := context.WithTimeout(b.ctx, patient)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	return v, err == nil
}

// wait waits until an expression is true.
func (b *tab) wait(what, expression string) {
	b.t.Helper()
	for end := time.Now().Add(patient); time.Now().Before(end); time.Sleep(15 * time.Millisecond) {
		if is, ok := try[bool](b, "!!("+expression+")"); ok && is {
			return
		}
	}
	b.t.Fatalf("%s: %s\n%s", b.location(), what, b.text())
}

// quote makes a string of JavaScript.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (b *tab) text() string     { text, _ := try[string](b, "document.body.innerText"); return text }
func (b *tab) location() string { text, _ := try[string](b, "location.href"); return text }

// open goes to an address of the server, or to another one.
func (b *tab) open(address string) {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.s.url + address
	}
	b.do(chromedp.Navigate(address))
	b.ready()
}

// ready waits until the script has run.
func (b *tab) ready() {
	b.t.Helper()
	b.wait("the page is loaded", `document.readyState === "complete"`)
}

// at waits until the tab is at an address: a path, with its query if one is given.
func (b *tab) at(address string) {
	b.t.Helper()
	b.wait("the tab is at "+address, fmt.Sprintf(`location.pathname + (%s.includes("?") ? location.search : "") === %[1]s && document.readyState === "complete"`, quote(address)))
}

// see waits until a text is shown, and notSee until it is not.
func (b *tab) see(text string) {
	b.t.Helper()
	b.wait("shows "+text, `document.body?.innerText.includes(`+quote(text)+`)`)
}

func (b *tab) notSee(text string) {
	b.t.Helper()
	b.wait("does not show "+text, `document.readyState === "complete" && !document.body.innerText.includes(`+quote(text)+`)`)
}

// found is an expression for the control with an accessible name, or that begins with
// it, among those that a selector has.
func found(selector, name string) string {
	return fmt.Sprintf(`(() => {
		const nameOf = (e) => (e.getAttribute("aria-label") ?? (e.labels?.length ? [...e.labels].map((l) => l.innerText).join(" ") : null) ?? e.innerText ?? "").trim().replace(/\s+/g, " ");
		const all = [...document.querySelectorAll(%s)].filter((e) => e.checkVisibility());
		return all.find((e) => nameOf(e) === %s) ?? all.find((e) => nameOf(e).startsWith(%[2]s)) ?? null;
	})()`, quote(selector), quote(name))
}

const (
	controls = `a[href], button, summary, [role=button], [role=option], [role=menuitem], input[type=checkbox], input[type=radio], label:has(input[type=radio])`
	fields   = `input, textarea, select`
)

// has waits until there is a control with an accessible name.
func (b *tab) has(name string) {
	b.t.Helper()
	b.wait("has "+name, found(controls+", "+fields, name))
}

// click clicks a control with the mouse, in its middle.
func (b *tab) click(name string) {
	b.t.Helper()
	b.clickOn("the control "+name, found(controls, name))
}

// submit clicks a control and waits for the page that it leads to.
func (b *tab) submit(name string) {
	b.t.Helper()
	b.leave(func() { b.click(name) })
}

// leave does something that leads to another page, and waits for that.
func (b *tab) leave(do func()) {
	b.t.Helper()
	eval[bool](b, "window.isOld = true")
	do()
	b.wait("there is another page", `!window.isOld && document.readyState === "complete"`)
}

func (b *tab) clickOn(what, element string) {
	b.t.Helper()
	b.wait("there is "+what, element+` && !`+element+`.disabled`)
	point := eval[[]float64](b, `(() => { const e = `+element+`; e.scrollIntoView({block: "center", inline: "center", behavior: "instant"}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
	b.do(chromedp.MouseClickXY(point[0], point[1]))
}

// fill types a text into a field, in place of what it has.
func (b *tab) fill(name, text string) {
	b.t.Helper()
	field := found(fields, name)
	b.wait("there is the field "+name, field)
	eval[bool](b, `(() => { const e = `+field+`; e.focus(); e.select?.(); return true; })()`)
	if text == "" {
		b.keys("\b")
		return
	}
	b.keys(text)
}

// choose selects an option.
func (b *tab) choose(name, value string) {
	b.t.Helper()
	field := found("select", name)
	b.wait("there is the field "+name, field)
	eval[bool](b, `(() => { const e = `+field+`; e.value = `+quote(value)+`; e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true})); return true; })()`)
}

// keys presses keys: letters, and those that the package kb names.
func (b *tab) keys(text string, options ...chromedp.KeyOption) {
	b.t.Helper()
	if !b.hasNoScript {
		b.wait("the page listens to keys", `document.readyState === "complete" && "ready" in document.documentElement.dataset`)
	}
	for _, r := range text {
		if len(options) > 0 || !unicode.IsPrint(r) || r >= 0x300 && r < 0x400 { // kb's special keys are there
			b.do(chromedp.KeyEvent(string(r), options...))
			continue
		}
		// A letter in one event is not typed where a script takes the key for itself.
		b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
				press := input.DispatchKeyEventParams{Type: kind, Key: string(r)}
				if kind == input.DispatchKeyEventTypeKeyDown {
					press.Text = string(r)
				}
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, press); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// value is what a field has.
func (b *tab) value(name string) string {
	b.t.Helper()
	field := found(fields, name)
	b.wait("there is the field "+name, field)
	return eval[string](b, field+".value")
}

// back goes back in the history, as the button of the browser does.
func (b *tab) back() {
	b.t.Helper()
	try[bool](b, "history.back(), true") // the page may go before it answers
}

// focusIn waits until a control has the focus.
func (b *tab) focusIn(name string) {
	b.t.Helper()
	b.wait("the focus is in "+name, found(controls+", "+fields, name)+" === document.activeElement")
}

// size sets the size of the window.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

// dark sets what the system prefers.
func (b *tab) dark(on bool) {
	b.t.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// noScript turns scripts off or on.
func (b *tab) noScript(off bool) {
	b.hasNoScript = off
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: off}); err != nil {
		b.t.Fatal(err)
	}
}

// path is the path and query that the tab is at.
func (b *tab) path() string {
	b.t.Helper()
	u, err := url.Parse(b.location())
	if err != nil {
		b.t.Fatal(err)
	}
	return u.RequestURI()
}

// quiet fails if the browser complained about a page, or a dialog was opened.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.messages {
		b.t.Errorf("%s: the browser says: %s", b.location(), m)
	}
	for _, d := range b.dialogs {
		b.t.Errorf("%s: a dialog was opened: %s", b.location(), d)
	}
	b.messages, b.dialogs = nil, nil
}
