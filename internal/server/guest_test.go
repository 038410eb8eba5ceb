package server_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"galley/internal/server"
)

func TestRequestLength(t *testing.T) {
	t.Parallel()
	const get = "GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, c := range []struct {
		text      string
		length    int
		refusable bool
	}{
		{get, len(get), true},
		{get + get, len(get), true},
		{"DELETE /v2/sites/1 HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n", 64, true},
		{"POST /v6/pages HTTP/1.1\r\ncontent-LENGTH: 12 \r\n\r\n{}", 60, true},
		{"POST /v6/pages HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", 70, false},
		{"GET /v6/pages HTTP/1.1\r\nHost: x\r\nOrigin: https://x\r\n\r\n", 54, false},
		{"GET /v6/pages HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 54, false},
		{"GET /v6/pages HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\n\r\n", 49, false},
		{"HEAD /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n", 36, false},
		{"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 34, false},
		{"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 34, false},
		// What net/http might read in another way has no length.
		{"", 0, false},
		{"G", 0, false},
		{"GET /v6/pages HTTP/1.1\r\nHost: x\r\n", 0, false},
		{"GET /v6/pages HTTP/1.0\r\nHost: x\r\n\r\n", 0, false},
		{"GET /v6/pages HTTP/1.1\nHost: x\n\n", 0, false},
		{"POST /v6/pages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 0, false},
		{"POST /v6/pages HTTP/1.1\r\nHost: x\nContent-Length: 5\r\n\r\n", 0, false},
		{"POST /v6/pages HTTP/1.1\r\nHost: x\r\n Content-Length: 5\r\n\r\n", 0, false},
		{"POST /v6/pages HTTP/1.1\r\nContent-Length : 5\r\n\r\n", 0, false},
		{"POST /v6/pages HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 0, false},
		{"POST /v6/pages HTTP/1.1\r\nContent-Length: +5\r\n\r\n", 0, false},
		{"POST /v6/pages HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 0, false},
		{"POST /v6/pages HTTP/1.1\r\nno header\r\n\r\n", 0, false},
		{"GET /v2/x HTTP/1.1\nContent-Length: 40\nX: HTTP/1.1\r\nHost: x\r\n\r\n", 0, false},
		{"POST /v6/pages HTTP/1.1\r\nX: a\rContent-Length: 5\r\n\r\n", 0, false},
		{"POST /v6/pages HTTP/1.1\r\nContent-Length:\u00a05\r\n\r\n", 0, false},
	} {
		length, refusable := server.RequestLength([]byte(c.text))
		if length != int64(c.length) || refusable != c.refusable {
			t.Errorf("%q: %d, %v, want %d, %v", c.text, length, refusable, c.length, c.refusable)
		}
	}
}

func TestOverloadIsAQueueThatStands(t *testing.T) {
	t.Parallel()
	var q server.Queue
	start := time.Now()
	at := func(after time.Duration, wait time.Duration, want bool) {
		t.Helper()
		if got := q.Look(wait, start.Add(after), server.Crowd); got != want {
			t.Errorf("after %v, a wait of %v: refused %v", after, wait, got)
		}
	}
	at(0, server.Late, false)
	at(server.Standing/2, 0, false)
	at(server.Standing-1, server.Late, false)
	at(server.Standing, server.Late, false) // not all the time
	at(2*server.Standing-2, server.Late, false)
	at(2*server.Standing-1, server.Late, true)
	at(2*server.Standing, server.Late-1, false) // this one is served, the next late one is not
	at(2*server.Standing+1, server.Late, true)
	// What is long past does not count.
	at(3*server.Standing, 0, false)
	later := 3*server.Standing + server.Wary
	at(later, server.Late, false)
	at(later+time.Hour, server.Late, false)
	at(later+time.Hour+server.Standing, server.Late, true)
}

func TestFewConnectionsAreNoOverload(t *testing.T) {
	t.Parallel()
	var q server.Queue
	start := time.Now()
	for n := range 100 {
		if q.Look(time.Second, start.Add(time.Duration(n)*server.Late), server.Crowd-1) {
			t.Fatal("refused, with fewer connections than requests that are worked on")
		}
	}
}

// echo answers with the method and the length of the body.
func echo(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body)
	_, _ = fmt.Fprintf(w, "%s %d", r.Method, n)
}

const kept = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nbusy"

func refusing(s *server.Server) {
	s.Refusal = func(bool) []byte { return []byte(kept) }
	s.Overload(false) // until a test says so
}

// exchange sends a request in parts and reads one answer.
func exchange(t *testing.T, conn *caller, in *bufio.Reader, texts ...string) (status int, body string) {
	t.Helper()
	for i, text := range texts {
		if i == 0 {
			conn.begin(t, text)
		} else {
			conn.goOn(t, text)
		}
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("%q: %v", texts, err)
	}
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

func TestOverloadedServerRefusesBeforeItParses(t *testing.T) {
	t.Parallel()
	r := runWith(t, echo, refusing)
	conn := r.dial(t)
	in := bufio.NewReader(conn)
	const (
		get   = "GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n"
		post  = "POST /v6/pages HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"
		probe = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"
	)
	expect := func(overload, want string, texts ...string) {
		t.Helper()
		if status, body := exchange(t, conn, in, texts...); body != want {
			t.Errorf("%s: %q is answered %d %s, want %s", overload, texts, status, body, want)
		}
	}
	r.Overload(true)
	expect("the first of a connection", "GET 0", get)
	for range 3 {
		expect("overload", "busy", get)
		expect("overload", "busy", post+"12345")
		expect("overload", "GET 0", probe)
	}
	// The body is still to come: net/http has to read it.
	expect("overload", "POST 5", post, "12345")
	expect("overload", "busy", get)
	expect("overload", "POST 5", post+"1", "2", "345")
	expect("overload", "busy", get)
	r.Overload(false)
	expect("no overload", "GET 0", get)
	expect("no overload", "POST 5", post+"12345")
	if n := r.Late(); n != 8 {
		t.Errorf("%d were counted, want 8", n)
	}
	// Where a request begins is not known any more once two came at once.
	r.Overload(true)
	expect("overload", "GET 0", get+get)
	if _, body := exchange(t, conn, in); body != "GET 0" {
		t.Errorf("the second of two at once: %s", body)
	}
	expect("overload, after two at once", "GET 0", get)
}

// In a crowd connections are not kept, which only net/http says.
func TestCrowdedServerLeavesRefusalsToTheHandler(t *testing.T) {
	t.Parallel()
	r := runWith(t, echo, func(s *server.Server) {
		refusing(s)
		s.Quick = func(dst []byte, _ string, _ [][2]string) ([]byte, bool) { return append(dst, quickly...), true }
		s.MaxConnections = 1
	})
	conn := r.dial(t)
	in := bufio.NewReader(conn)
	r.Overload(true)
	for range 2 {
		if _, body := exchange(t, conn, in, "GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n"); body != "GET 0" {
			t.Errorf("answered %s", body)
		}
	}
}

// Whatever is sent, in whatever parts, each request has one answer of its own.
func TestEveryRequestHasOneAnswer(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	var quick atomic.Int64
	r := runWith(t, echo, func(s *server.Server) {
		refusing(s)
		s.Quick = func(dst []byte, target string, _ [][2]string) ([]byte, bool) {
			if !strings.HasPrefix(target, "/v6/") {
				return append(dst, "nothing of this is sent"...), false
			}
			quick.Add(1)
			return append(dst, quickly...), true
		}
	})
	for range 40 {
		conn := r.dial(t)
		in := bufio.NewReader(conn)
		for range 10 {
			text, want := anyRequest(rng)
			r.Overload(rng.IntN(4) > 0)
			parts := []string{text}
			// Seldom: of most connections, it is not known any more what they say then.
			if cut := rng.IntN(8 * len(text)); cut > 0 && cut < len(text) {
				parts = []string{text[:cut], text[cut:]}
			}
			if status, body := exchange(t, conn, in, parts...); body != want && body != "busy" && (body != "quick" || want != "GET 0") {
				t.Fatalf("seed %d: %q is answered %d %s, want %s", seed, parts, status, body, want)
			}
		}
	}
	if r.Late() == 0 || quick.Load() == 0 {
		t.Errorf("seed %d: %d were refused, %d answered quickly, and this test proves nothing", seed, r.Late(), quick.Load())
	}
}

// net/http would answer it by itself, without a name or anything else of ours.
func TestOptionsOfEverythingAreTheHandlers(t *testing.T) {
	t.Parallel()
	r := run(t, echo)
	conn := r.dial(t)
	if status, body := exchange(t, conn, bufio.NewReader(conn), "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"); body != "OPTIONS 0" {
		t.Errorf("answered %d %q, not by the handler", status, body)
	}
}

const quickly = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nquick"

func TestPlainRequestsAreAnsweredQuickly(t *testing.T) {
	t.Parallel()
	const get = "GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n"
	r := runWith(t, echo, func(s *server.Server) {
		refusing(s)
		s.Quick = func(dst []byte, target string, _ [][2]string) ([]byte, bool) {
			if target != "/v6/pages" {
				return dst, false
			}
			return append(dst, quickly...), true
		}
	})
	conn := r.dial(t)
	in := bufio.NewReader(conn)
	expect := func(want string, texts ...string) {
		t.Helper()
		if status, body := exchange(t, conn, in, texts...); body != want {
			t.Errorf("%q is answered %d %s, want %s", texts, status, body, want)
		}
	}
	expect("GET 0", get) // the first of a connection
	for range 3 {
		expect("quick", get)
		expect("GET 0", "GET /v6/pages?a HTTP/1.1\r\nHost: x\r\n\r\n")
		expect("POST 2", "POST /v6/pages HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
	}
	r.Overload(true)
	expect("quick", get) // no dearer than a refusal
	expect("busy", "GET /v6/pages?a HTTP/1.1\r\nHost: x\r\n\r\n")
	expect("GET 0", get[:20], get[20:]) // in parts
}

func anyRequest(rng *rand.Rand) (text, want string) {
	target := []string{"/v6/pages", "/v2/sites", "/healthz"}[rng.IntN(3)]
	if rng.IntN(2) == 0 {
		return "GET " + target + " HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n", "GET 0"
	}
	// The body looks like a request, in case that somebody takes it for one.
	body := strings.Repeat("GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n", rng.IntN(200))
	if rng.IntN(4) == 0 {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", target, len(body)+1, body+"x"), fmt.Sprintf("POST %d", len(body)+1)
	}
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", target, len(body), body), fmt.Sprintf("POST %d", len(body))
}

// net/http reads the first byte of a request that comes while it works on
// another. What comes after is still known for what it is.
func TestARequestThatComesEarlyIsNotTheLastQuickOne(t *testing.T) {
	t.Parallel()
	const get = "GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n"
	r := runWith(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v6/slow" {
			time.Sleep(50 * time.Millisecond)
		}
		echo(w, r)
	}, func(s *server.Server) {
		refusing(s)
		s.Quick = func(dst []byte, target string, _ [][2]string) ([]byte, bool) {
			return append(dst, quickly...), target == "/v6/pages"
		}
	})
	conn := r.dial(t)
	in := bufio.NewReader(conn)
	for range 2 {
		if _, body := exchange(t, conn, in, "GET /v6/slow HTTP/1.1\r\nHost: x\r\n\r\n", get); body != "GET 0" {
			t.Errorf("the slow one is answered %s", body)
		}
		if _, body := exchange(t, conn, in); body != "GET 0" && body != "quick" {
			t.Errorf("the early one is answered %s", body)
		}
		if _, body := exchange(t, conn, in, get); body != "quick" {
			t.Errorf("the one after it is answered %s", body)
		}
	}
}
