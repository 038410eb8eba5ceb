package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
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

	"galley/internal/pgtest"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "galley-bin")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // other users run it, too
		panic(err)
	}
	binary = filepath.Join(dir, "galley")
	// The sources may have been unpacked without a repository around them.
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return pgtest.Run(m)
}

// output is a process's stream, safe to read while it is written.
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

// process is a run of the program.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr output
	ended          chan struct{}
	url            string // of a server
}

// launch starts the program in an empty folder. Its environment has no setting
// but those given, as NAME=VALUE.
func launch(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := prepare(t, env, binary, args...)
	p.start(t)
	return p
}

// prepare is launch up to the start, for a test that changes something before.
func prepare(t *testing.T, env []string, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Dir = t.TempDir()
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GALLEY_") {
			p.cmd.Env = append(p.cmd.Env, entry)
		}
	}
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	return p
}

func (p *process) start(t *testing.T) {
	t.Helper()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code tells
		close(p.ended)
	}()
	t.Cleanup(p.kill)
}

// kill ends the process at once, if it still runs.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.ended
}

// exitCode waits for the end.
func (p *process) exitCode(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("%v does not end\n%s%s", p.cmd.Args, &p.stdout, &p.stderr)
		return 0
	}
}

// stop asks the process to end and waits for it.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	return p.exitCode(t)
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

var listens = regexp.MustCompile(`(?m)^Galley 0\.1\.0 listens on (https?://\S+)`)

// serve starts a server on a free port and waits until it takes requests.
func serve(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return serveOn(t, env, append([]string{"--addr", "127.0.0.1:0"}, args...)...)
}

// serveOn is serve for a test that says itself where to listen.
func serveOn(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := launch(t, env, append([]string{"serve"}, args...)...)
	p.waitUntilItListens(t, listens, &p.stdout)
	return p
}

// waitUntilItListens waits until a server says in a stream where it listens.
func (p *process) waitUntilItListens(t *testing.T, says *regexp.Regexp, in *output) {
	t.Helper()
	eventually(t, "the server listens", func() bool {
		select {
		case <-p.ended:
			t.Fatalf("the server ended with code %d\n%s%s", p.cmd.ProcessState.ExitCode(), &p.stdout, &p.stderr)
		default:
		}
		m := says.FindStringSubmatch(in.String())
		if m == nil {
			return false
		}
		p.url = m[1]
		return true
	})
}

// ready waits until a server is ready: a busy store may take longer than it is
// asked to.
func (p *process) ready(t *testing.T) {
	t.Helper()
	eventually(t, "the server is ready", func() bool { return p.send(t, "", "GET", "/readyz", "").status == 200 })
}

// healthy wants the health check to be passed, likewise.
func healthy(t *testing.T, env []string, args ...string) {
	t.Helper()
	eventually(t, "the server is healthy", func() bool {
		code, stdout, _ := run(t, env, append([]string{"healthcheck"}, args...)...)
		return code == 0 && stdout == "ready\n"
	})
}

func (p *process) address() string {
	_, address, _ := strings.Cut(p.url, "://")
	return address
}

// patience is how long a busy machine may take for anything.
const patience = 3 * time.Minute

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain until %s", what)
}

// run runs a command to its end.
func run(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	p := launch(t, env, args...)
	code = p.exitCode(t)
	return code, p.stdout.String(), p.stderr.String()
}

// mustRun is run for commands that have to succeed; it returns what they print.
func mustRun(t *testing.T, env []string, args ...string) string {
	t.Helper()
	code, stdout, stderr := run(t, env, args...)
	if code != 0 {
		t.Fatalf("galley %v: exit code %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout
}

var printedKey = regexp.MustCompile(`(?m)^\s*Key\s+(sk_\w+)$`)
var printedWorkspace = regexp.MustCompile(`(?m)^\s*Workspace\s+(\S+)$`)

// found is the first group of a pattern that has to be in a text.
func found(t *testing.T, pattern *regexp.Regexp, text string) string {
	t.Helper()
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%s is not in\n%s", pattern, text)
	}
	return m[1]
}

// reply is what came back for a request.
type reply struct {
	status int
	header http.Header
	body   string
}

// field is a string field of the body.
func (r reply) field(t *testing.T, name string) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(r.body), &object); err != nil {
		t.Fatalf("no JSON object: %v\n%s", err, r.body)
	}
	s, ok := object[name].(string)
	if !ok {
		t.Fatalf("no string %s in %s", name, r.body)
	}
	return s
}

// try sends a request that may find nobody at home. A body is sent as JSON
// unless it is "", a key unless it is "".
func (p *process) try(key, method, target, body string) (reply, error) {
	return p.askBy(http.DefaultClient, key, method, target, body)
}

// askBy sends a request by a client, and again as long as the server says that it
// is too busy, as it may on a machine that has other tests to run: it has done
// nothing then.
func (p *process) askBy(client *http.Client, key, method, target, body string, headers ...string) (reply, error) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		r, err := p.askOnce(client, key, method, target, body, headers...)
		busy := r.status == http.StatusServiceUnavailable && strings.Contains(r.body, "The server is busy")
		missed := err != nil && len(body) > 1<<20 // who sends for longer than a server goes on reading may miss the answer
		if !busy && !missed || time.Now().After(end) {
			return r, err
		}
	}
}

func (p *process) askOnce(client *http.Client, key, method, target, body string, headers ...string) (reply, error) {
	req, err := http.NewRequest(method, p.url+target, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text)}, errors.Join(err, resp.Body.Close())
}

// send is try for a server that has to answer.
func (p *process) send(t *testing.T, key, method, target, body string) reply {
	t.Helper()
	r, err := p.try(key, method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// must is send for requests that have to be answered with a status.
func (p *process) must(t *testing.T, status int, key, method, target, body string) reply {
	t.Helper()
	r := p.send(t, key, method, target, body)
	if r.status != status {
		t.Fatalf("%s %s: got %d, want %d\n%s", method, target, r.status, status, r.body)
	}
	return r
}

// key is the App key that first start printed.
func (p *process) key(t *testing.T) string {
	t.Helper()
	return found(t, printedKey, p.stdout.String())
}

// newSite makes a site and returns its id and Site key.
func (p *process) newSite(t *testing.T, key string) (id, siteKey string) {
	t.Helper()
	r := p.must(t, 201, key, "POST", "/v2/sites", `{"name":"Shop"}`)
	return r.field(t, "id"), r.field(t, "publicApiKey")
}

// onBothEngines runs a test with the flags of a fresh store of each engine.
func onBothEngines(t *testing.T, test func(t *testing.T, store ...string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "--data", t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { test(t, "--database-url", pgtest.URL(t)) })
}
