package galley_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	galley "galley/sdk/go"
)

// program is the built server.
var program string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "galley-sdk")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(folder, "galley")
	build := exec.Command("go", "build", "-C", "../..", "-o", program, "./cmd/galley")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// server is a running server and its first key.
type server struct{ url, key string }

// start starts the program on SQLite, with more flags.
func start(t *testing.T, flags ...string) server {
	t.Helper()
	key, err := exec.CommandContext(t.Context(), program, "keygen").Output()
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	s := server{url: "http://" + address, key: strings.TrimSpace(string(key))}
	run := exec.Command(program, append([]string{"serve", "--addr", address, "--data", t.TempDir(), "--app-rate", "off"}, flags...)...)
	run.Env = append(os.Environ(), "GALLEY_BOOTSTRAP_KEY="+s.key)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	client := s.client(t)
	for end := time.Now().Add(time.Minute); client.Operations.Ready(t.Context()) != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server does not start")
		}
	}
	return s
}

func (s server) client(t *testing.T, options ...galley.Option) *galley.Client {
	t.Helper()
	client, err := galley.New(s.url, append([]galley.Option{galley.WithKey(s.key)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// must fails the test if there was an error.
func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// flaky is a proxy that answers some requests itself, cuts some off before the server gets
// them, and loses some responses.
func flaky(s server, chance func(n int) int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := chance(10)
		switch kind {
		case 0:
			w.Header().Set("Retry-After", "0")
			http.Error(w, `{"object":"error","code":"too_many_requests","message":"Slow down"}`, http.StatusTooManyRequests)
			return
		case 1:
			http.Error(w, "upstream", http.StatusServiceUnavailable)
			return
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			time.Sleep(5 * time.Millisecond)
		}
		forward, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, s.url+r.URL.RequestURI(), r.Body)
		if err != nil {
			panic(err)
		}
		forward.Header, forward.ContentLength = r.Header.Clone(), r.ContentLength
		response, err := http.DefaultTransport.RoundTrip(forward)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer func() { _ = response.Body.Close() }()
		if kind == 4 {
			panic(http.ErrAbortHandler) // the response is lost
		}
		for name, values := range response.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
		if kind == 5 {
			panic(http.ErrAbortHandler) // and here its end
		}
	})
}

// The README of the project has the first steps, in Go as well.
func TestReadme(t *testing.T) {
	t.Parallel()
	s := start(t)
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, snippet, _ := strings.Cut(string(text), "```go\n")
	snippet, _, found := strings.Cut(snippet, "```")
	if !found {
		t.Fatal("the README has no Go")
	}
	dir := t.TempDir()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"go.mod": "module readme\n\ngo 1.26\n\nrequire galley/sdk/go v0.0.0\n\nreplace galley/sdk/go => " + here + "\n",
		"main.go": "package main\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"os\"\n\n\t\"galley/sdk/go\"\n)\n\nfunc main() {\n\tctx := context.Background()\n" +
			strings.ReplaceAll(snippet, "http://127.0.0.1:8080", s.url) + "\tfmt.Println(page.Pathname, publish.Status, err)\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.CommandContext(t.Context(), "go", "run", ".")
	run.Dir = dir
	run.Env = append(os.Environ(), "GALLEY_KEY="+s.key)
	if out, err := run.CombinedOutput(); err != nil || string(out) != "/about published <nil>\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
