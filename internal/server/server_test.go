package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"galley/internal/server"
)

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// running is a server that runs, and what it takes to end it.
type running struct {
	*server.Server
	url   string
	log   *lockedBuffer
	stop  context.CancelFunc
	ended chan error
}

func run(t *testing.T, handler http.HandlerFunc, jobs ...server.Job) *running {
	t.Helper()
	return runWith(t, handler, func(*server.Server) {}, jobs...)
}

// runWith is run for a server with settings.
func runWith(t *testing.T, handler http.HandlerFunc, set func(*server.Server), jobs ...server.Job) *running {
	t.Helper()
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	log := &lockedBuffer{}
	r := &running{
		Server: server.New(slog.New(slog.NewTextHandler(log, nil)), 0, jobs...),
		url:    "http://" + listener.Addr().String(), log: log, stop: stop, ended: make(chan error, 1),
	}
	set(r.Server)
	go func() { r.ended <- r.Run(ctx, listener, handler) }()
	t.Cleanup(stop)
	return r
}

// end tells the server to stop and waits until it has.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	r.wait(t)
}

func (r *running) wait(t *testing.T) {
	t.Helper()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server does not end")
	}
}

// eventually waits until something holds, with patience for a busy machine.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func get(url string) (string, error) {
	resp, err := http.Get(url)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), errors.Join(err, resp.Body.Close())
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func TestRunServesUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	r := run(t, hello)
	if body, err := get(r.url); err != nil || body != "hello" {
		t.Fatalf("got %q, %v", body, err)
	}
	if err := r.Ready(); err != nil {
		t.Errorf("not ready while it runs: %v", err)
	}
	r.end(t)
	if _, err := get(r.url); err == nil {
		t.Error("a server that ended answers")
	}
	if err := r.Ready(); !errors.Is(err, server.ErrStopping) {
		t.Errorf("got %v, want ErrStopping", err)
	}
}

func TestRequestUnderWayFinishesAndReadinessIsOff(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	r := run(t, func(w http.ResponseWriter, req *http.Request) {
		close(begun)
		<-release
		if req.Context().Err() != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
		hello(w, req)
	})
	answer := make(chan string, 1)
	go func() {
		body, err := get(r.url)
		if err != nil {
			body = err.Error()
		}
		answer <- body
	}()
	<-begun
	r.stop()
	for end := time.Now().Add(time.Minute); r.Ready() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server is ready after it was told to stop")
		}
	}
	select {
	case err := <-r.ended:
		t.Fatalf("the server ended before its request: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if body := <-answer; body != "hello" {
		t.Errorf("got %q", body)
	}
	r.wait(t)
}

// Readiness is the last result of the check, and never waits for one.
func TestReadinessFollowsTheCheck(t *testing.T) {
	t.Parallel()
	away := errors.New("the store is away")
	var broken atomic.Bool
	hang, release := make(chan struct{}, 1), make(chan struct{})
	r := runWith(t, hello, func(s *server.Server) {
		s.Check = func(ctx context.Context) error {
			select {
			case hang <- struct{}{}:
				<-release
			default:
			}
			if broken.Load() {
				return away
			}
			return ctx.Err()
		}
	})
	<-hang // the check hangs, and there is no result yet
	if err := r.Ready(); err != nil {
		t.Errorf("not ready before the first result: %v", err)
	}
	broken.Store(true)
	hang <- struct{}{}
	close(release)
	eventually(t, "it is not ready", func() bool { return errors.Is(r.Ready(), away) })
	broken.Store(false)
	eventually(t, "it is ready again", func() bool { return r.Ready() == nil })
	r.end(t)
	if log := r.log.String(); strings.Count(log, "not ready") != 1 || !strings.Contains(log, away.Error()) {
		t.Errorf("the log says\n%s", log)
	}
}

func TestListenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	for addr, words := range map[string][]string{
		busy.Addr().String(): {"in use", "--addr"},
		"127.0.0.1":          {"port"},
		"127.0.0.1:99999":    {"99999"},
		"127.0.0.1:http2":    {"http2"},
	} {
		l, err := server.Listen(t.Context(), addr)
		if err == nil {
			t.Errorf("%s: listens on %s", addr, l.Addr())
			_ = l.Close()
			continue
		}
		for _, word := range append(words, "can't listen on "+addr) {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q is not in %q", addr, word, err)
			}
		}
	}
}

// Who names an address of IPv4 may have rules for nothing else.
func TestAnAddressOfIPv4IsListenedOnAlone(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{"0.0.0.0:0": "0.0.0.0", "127.0.0.1:0": "127.0.0.1"} {
		l, err := server.Listen(t.Context(), addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		if host, _, _ := net.SplitHostPort(l.Addr().String()); host != want {
			t.Errorf("%s is listened on as %s", addr, l.Addr())
		}
	}
}

func TestJobsRunAgainAndAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	enough := make(chan struct{})
	r := run(t, hello, server.Job{Name: "sweep", Every: time.Millisecond, Run: func(context.Context) error {
		switch n := runs.Add(1); n {
		case 3:
			return nil
		case 6:
			close(enough)
		}
		return errors.New("broom is missing")
	}})
	select {
	case <-enough:
	case <-time.After(time.Minute):
		t.Fatal("the job does not run again")
	}
	r.end(t)
	// Not each time, but again after it has worked.
	log := r.log.String()
	if strings.Count(log, "broom is missing") != 2 || strings.Count(log, "job works again") != 1 || strings.Count(log, "sweep") != 3 {
		t.Errorf("the failure is not logged as it should be:\n%s", log)
	}
	after := runs.Load()
	time.Sleep(20 * time.Millisecond)
	if runs.Load() != after {
		t.Error("the job runs after the server has ended")
	}
}

// A node may be gone before an hour is over.
func TestJobRunsFirstWhenItWantsTo(t *testing.T) {
	t.Parallel()
	ran := make(chan struct{}, 1)
	r := run(t, hello, server.Job{Name: "sweep", Every: time.Hour, First: time.Millisecond, Run: func(context.Context) error {
		ran <- struct{}{}
		return nil
	}})
	select {
	case <-ran:
	case <-time.After(time.Minute):
		t.Error("the job does not run")
	}
	r.end(t)
}

func TestJobRunsOnceMoreAtTheEndIfItWantsTo(t *testing.T) {
	t.Parallel()
	var wanted, unwanted atomic.Int32
	var failed error
	count := func(n *atomic.Int32) func(context.Context) error {
		return func(ctx context.Context) error {
			n.Add(1)
			failed = errors.Join(failed, ctx.Err())
			return nil
		}
	}
	r := run(t, hello,
		server.Job{Name: "save", Every: time.Hour, Run: count(&wanted), AtStop: true},
		server.Job{Name: "sweep", Every: time.Hour, Run: count(&unwanted)})
	if _, err := get(r.url); err != nil {
		t.Fatal(err)
	}
	r.end(t)
	if wanted.Load() != 1 || unwanted.Load() != 0 {
		t.Errorf("ran %d and %d times, want 1 and 0", wanted.Load(), unwanted.Load())
	}
	if failed != nil {
		t.Errorf("the last run was given a context that has ended: %v", failed)
	}
}

// What a request did while the server was stopping must not be lost either.
func TestLastRunOfAJobComesAfterTheLastRequest(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	var requests, saved atomic.Int32
	r := run(t, func(w http.ResponseWriter, req *http.Request) {
		close(begun)
		<-release
		requests.Add(1)
		hello(w, req)
	}, server.Job{Name: "save", Every: time.Hour, AtStop: true, Run: func(context.Context) error {
		saved.Store(requests.Load())
		return nil
	}})
	go func() { _, _ = get(r.url) }()
	<-begun
	r.stop()
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	r.wait(t)
	if saved.Load() != 1 {
		t.Errorf("saved %d requests, want 1", saved.Load())
	}
}

func TestRunEndsWhenTheListenerFails(t *testing.T) {
	t.Parallel()
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := server.New(slog.New(slog.DiscardHandler), 0).Run(t.Context(), listener, http.HandlerFunc(hello)); err == nil {
		t.Error("a server without a listener ended well")
	}
}
