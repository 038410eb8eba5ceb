// Package browsertest tests the console as people meet it: the real program, a real
// Chromium, and nothing between them.
//
// A test starts a server, opens a tab and says what a person does:
//
//	s := serve(t)
//	site := s.create("/v2/sites", `{"name": "Shop"}`)
//	tab := s.signedIn(t)
//	tab.open("/console/sites/" + site + "/pages")
//	tab.click("New page")
//	tab.fill("Pathname", "/about")
//	tab.click("Create page")
//	tab.see("Created /about")
//
// Controls are found by their accessible name, as people and screen readers find them.
// Every step waits until it can be done, for at most a while. A new screen gets a row in
// screens_test.go, which checks every screen for accessibility, width, both themes,
// hostile text and the policy.
package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var (
	binary  string          // the program under test
	chrome  context.Context // one browser for all tests
	patient = 20 * time.Second
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "galley-console")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "galley")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "galley/cmd/galley").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	program := ""
	for _, name := range []string{"/usr/bin/chromium", "chromium", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && program == "" {
			program = found
		}
	}
	if program == "" {
		fmt.Fprintln(os.Stderr, "these tests need Chromium: run make deps")
		return 1
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.UserDataDir(filepath.Join(dir, "browser")),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("lang", "en-GB"))...)
	defer stop()
	var closeBrowser context.CancelFunc
	chrome, closeBrowser = chromedp.NewContext(allocator)
	defer closeBrowser()
	if err := chromedp.Do(chrome); err != nil {
		fmt.Fprintf(os.Stderr, "chromium: %v\n", err)
		return 1
	}
	return m.Run()
}

// server is a running program with an empty store.
type server struct {
	t    *testing.T
	url  string
	key  string // with every scope
	link string // that signs in once
	data string
}

type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

var (
	listens  = regexp.MustCompile(`(?m)^Galley \S+ listens on (https?://\S+)`)
	keyForm  = regexp.MustCompile(`(?m)^  Key +(\S+)`)
	linkForm = regexp.MustCompile(`(?m)^  Console +(\S+)`)
)

// serve starts the program on a free port, with the given flags, and waits until it
// listens.
func serve(t *testing.T, flags ...string) *server {
	t.Helper()
	s := &server{t: t, data: t.TempDir()}
	s.start(append([]string{"--data", s.data}, flags...)...)
	return s
}

func (s *server) start(flags ...string) {
	s.t.Helper()
	out := s.run(append([]string{"serve", "--addr", "127.0.0.1:0", "--drain-delay", "0s"}, flags...)...)
	eventually(s.t, "the server listens", func() bool { return listens.MatchString(out.String()) })
	text := out.String()
	s.url = listens.FindStringSubmatch(text)[1]
	if found := keyForm.FindStringSubmatch(text); found != nil {
		s.key = found[1]
	}
	if found := linkForm.FindStringSubmatch(text); found != nil {
		s.link = found[1]
	}
}

// run starts the program until the end of the test.
func (s *server) run(args ...string) *output {
	s.t.Helper()
	cmd := exec.Command(binary, args...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GALLEY_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL) // it may have ended
		_ = cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("the server wrote:\n%s", lastLines(out.String(), 15))
		}
	})
	return out
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// eventually waits for something that another program does.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patient); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("it did not happen that %s", what)
}

// object is a decoded answer.
type object map[string]any

func (o object) text(name string) string { s, _ := o[name].(string); return s }

// send sends a request of the REST interface.
func (s *server) send(key, method, path, body string) (int, object) {
	s.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	got := object{"etag": resp.Header.Get("Etag")}
	if len(text) > 0 && json.Unmarshal(text, &got) != nil {
		s.t.Fatalf("%s %s: %s", method, path, text)
	}
	return resp.StatusCode, got
}

// must is send for a request that succeeds.
func (s *server) must(method, path, body string) object {
	s.t.Helper()
	status, got := s.send(s.key, method, path, body)
	if status > 299 {
		s.t.Fatalf("%s %s: %d %v", method, path, status, got)
	}
	return got
}

// create makes a resource and returns its id.
func (s *server) create(path, body string) string {
	s.t.Helper()
	return s.must(http.MethodPost, path, body).text("id")
}

// app makes an App key.
func (s *server) app(body string) (key, id string) {
	s.t.Helper()
	made := s.must(http.MethodPost, "/v2/apps", body)
	return made.text("key"), made.text("id")
}
