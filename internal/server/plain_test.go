package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"galley/internal/server"
)

// byNetHTTP tells whether net/http has read a request.
func byNetHTTP(r *http.Request) bool { return r.Context().Value(http.ServerContextKey) != nil }

// describe answers with all that there is to a request.
func describe(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	text := fmt.Sprintf("%s %s %#v %s %s %d %q %v %v\n", r.Method, r.RequestURI, r.URL, r.Host, r.Proto, r.ContentLength, body, err, r.RemoteAddr)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		text += fmt.Sprintf("%s: %q\n", name, r.Header[name])
	}
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("X-By-Net-Http", fmt.Sprint(byNetHTTP(r)))
	_, _ = io.WriteString(w, text)
}

func TestPlainRequestsAreReadAsNetHTTPReadsThem(t *testing.T) {
	t.Parallel()
	const post = "POST /v6/pages HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
	for _, c := range []struct {
		text  string
		plain bool
	}{
		{"GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n", true},
		{"GET /v6/pages?a=b&c=%20d;e HTTP/1.1\r\nHost: 127.0.0.1:80\r\nx-api-key: sk_1\r\nAccept: */*\r\n\r\n", true},
		{"GET /v6/pages/%2Fa%2Fb?siteId=1#f HTTP/1.1\r\nHost: x\r\nAccept:*/*\r\nACCEPT:  text/plain  \r\n\r\n", true},
		{"GET /v6/a/../b//c?? HTTP/1.1\r\nhOST: x\r\nConnection: keep-alive\r\nIf-None-Match: \"a\", W/\"b\"\r\nAuthorization: Bearer a b\r\n\r\n", true},
		{post, true},
		{strings.Replace(post, "POST", "PATCH", 1), true},
		{"DELETE /v6/pages/1 HTTP/1.1\r\nHost: x\r\nEmpty:\r\nContent-Length: 0\r\n\r\n", true},
		{"POST /v6/pages HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", true},
		// These are left to net/http.
		{"GET /v6/pages HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", false},
		{"GET /v6/pages HTTP/1.1\r\nHost: x\r\nOrigin: https://x\r\n\r\n", false},
		{"GET /v6/pages HTTP/1.1\r\nHost: x\r\nOrigin: keep-alive\r\n\r\n", false},
		{"GET /v6/pages HTTP/1.1\r\nHost: x\r\nPragma: no-cache\r\n\r\n", false},
		{"GET /v6/pages HTTP/1.1\r\nHost: x\r\nTE: trailers\r\n\r\n", false},
		{"GET /v6/pages HTTP/1.1\r\nHost: [::1]\r\n\r\n", false},
		{"GET /v6/pages HTTP/1.1\r\nHost: x\r\nX_Odd: 1\r\n\r\n", false},
		{"GET /v6/pages HTTP/1.1\r\nHost: x\r\nName: caf\u00e9\r\n\r\n", false},
		{"GET /v6/pages HTTP/1.1\r\nHost: x\r\nName: a\tb\r\n\r\n", false},
		{"GET /v6/caf\u00e9 HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", false},
	} {
		r := runWith(t, describe, refusing)
		conn := r.dial(t)
		in := bufio.NewReader(conn)
		var described [2]string
		for i := range described {
			conn.begin(t, c.text)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("%q: %v", c.text, err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			described[i] = string(body)
			if by, want := resp.Header.Get("X-By-Net-Http"), fmt.Sprint(i == 0 || !c.plain); by != want {
				t.Errorf("%q, number %d: read by net/http %s, want %s", c.text, i, by, want)
			}
		}
		if described[0] != described[1] {
			t.Errorf("%q is read as\n%s\nand then as\n%s", c.text, described[0], described[1])
		}
	}
}

// FuzzPlainRequests holds what is read here against what net/http reads.
func FuzzPlainRequests(f *testing.F) {
	for _, seed := range []string{
		"GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v6/pages/%2Fa?siteId=1&x=%zz#f HTTP/1.1\r\nHost: 127.0.0.1:80\r\nx-api-key: sk_1\r\nAccept: a\r\nACCEPT: b\r\n\r\n",
		"POST /v6/pages HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}",
		"POST /v2/sites HTTP/1.1\r\nHost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
		"PATCH /v6/a//b?? HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 3\r\nTrailer: a\r\n\r\nabc",
		"DELETE /v6/pages/1 HTTP/1.1\r\nHost:x\r\nEmpty:\r\n Folded: a\r\nContent-Length: 0\r\n\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := server.ReadPlain(text)
		if !ok {
			return
		}
		in := bufio.NewReader(strings.NewReader(text))
		want, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("%q is read, and net/http says %v", text, err)
		}
		gotBody, err1 := io.ReadAll(got.Body)
		wantBody, err2 := io.ReadAll(want.Body)
		rest, err3 := io.ReadAll(in)
		if err := errors.Join(err1, err2, err3); err != nil || string(gotBody) != string(wantBody) || len(rest) > 0 {
			t.Errorf("%q has the body %q, for net/http %q, %v, and then %q", text, gotBody, wantBody, err, rest)
		}
		for _, r := range []*http.Request{got, want} {
			r.Body = nil
		}
		if g, w := fmt.Sprintf("%+v %#v", *got, got.URL), fmt.Sprintf("%+v %#v", *want, want.URL); g != w {
			t.Errorf("%q is read as\n%s\nand by net/http as\n%s", text, g, w)
		}
	})
}

// What net/http refuses is refused, whatever came before.
func TestBadRequestsAreLeftToNetHTTP(t *testing.T) {
	t.Parallel()
	r := runWith(t, describe, refusing)
	for _, bad := range []string{
		"GET /v6/pages HTTP/1.1\r\nHost: x\r\nExpect: keep-alive\r\n\r\n",
		"GET /v6/pages HTTP/1.1\r\n\r\n",
		"GET /v6/pages HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
		"GET /v6/pages HTTP/1.1\r\nHost: a b\r\n\r\n",
		"GET /v6/%zz HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v6/a b HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v6/pages HTTP/1.1\r\nHost: x\r\na b: c\r\n\r\n",
		"GET /v6/pages HTTP/1.1\r\nHost: x\r\n: c\r\n\r\n",
		"GET /v6/pages HTTP/1.1\r\nHost: x\r\na: b\x00c\r\n\r\n",
	} {
		conn := r.dial(t)
		in := bufio.NewReader(conn)
		if status, _ := exchange(t, conn, in, "GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n"); status != http.StatusOK {
			t.Fatalf("answered %d", status)
		}
		if status, body := exchange(t, conn, in, bad); status != http.StatusBadRequest && status != http.StatusExpectationFailed {
			t.Errorf("%q is answered %d %s", bad, status, body)
		}
	}
}

func TestPlainRequestsAreAnsweredAsNetHTTPAnswersThem(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 20_000)
	say := func(status int, body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Add(header[i], header[i+1])
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"a body":                say(200, "hello", "Content-Type", "text/plain", "Content-Length", "5"),
		"of unknown length":     say(200, "hello", "Content-Type", "text/plain"),
		"an error":              say(404, "{}", "Content-Type", "text/plain", "X-Twice", "a", "X-Twice", "b"),
		"nothing new":           func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Etag", `"a"`); w.WriteHeader(304) },
		"nothing new, in words": say(304, "hello", "Etag", `"a"`, "Content-Type", "text/plain", "Content-Length", "5"),
		"no content, in words":  say(204, "hello", "Content-Type", "text/plain", "Content-Length", "5"),
		"no content":            func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		"no word":               func(http.ResponseWriter, *http.Request) {},
		"a long body":           say(200, long, "Content-Type", "text/plain", "Content-Length", fmt.Sprint(len(long))),
		"in parts": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", fmt.Sprint(2*len(long)+4))
			for _, part := range []string{"ab", long, "cd", long} {
				_, _ = io.WriteString(w, part)
			}
		},
		"the last":      say(200, "hello", "Content-Type", "text/plain", "Connection", "close"),
		"a second line": say(200, "hello", "Content-Type", "text/plain", "X-Line", "a\r\nX-Other: b"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var usual atomic.Bool
			r := runWith(t, func(w http.ResponseWriter, r *http.Request) {
				usual.Store(byNetHTTP(r))
				if r.URL.Path == "/v6/first" {
					w.WriteHeader(204)
					return
				}
				handler(w, r)
			}, refusing)
			answered := func(first bool) string {
				conn := r.dial(t)
				in := bufio.NewReader(conn)
				if !first {
					exchange(t, conn, in, "GET /v6/first HTTP/1.1\r\nHost: x\r\n\r\n")
				}
				conn.begin(t, "GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n")
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				if usual.Load() != first {
					t.Errorf("answered by net/http: %v", usual.Load())
				}
				if resp.Close {
					ends(t, conn)
				} else if status, _ := exchange(t, conn, in, "GET /v6/first HTTP/1.1\r\nHost: x\r\n\r\n"); status != 204 {
					t.Errorf("the next one is answered %d", status)
				}
				if len(resp.Header["Date"]) != 1 {
					t.Errorf("dates: %v", resp.Header["Date"])
				}
				delete(resp.Header, "Date")
				return fmt.Sprintf("%s %v %v %d %s", resp.Status, resp.Header, resp.Close, resp.ContentLength, body)
			}
			if want, got := answered(true), answered(false); got != want {
				t.Errorf("net/http answers %.500q, and then comes %.500q", want, got)
			}
		})
	}
}

// A long answer whose length nobody told ends with its connection.
func TestLongAnswerOfUnknownLength(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 20_000)
	r := runWith(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, long) }, refusing)
	conn := r.dial(t)
	in := bufio.NewReader(conn)
	for range 2 {
		if _, body := exchange(t, conn, in, "GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n"); body != long {
			t.Errorf("%d bytes came, want %d", len(body), len(long))
		}
	}
	ends(t, conn)
}

// askPlainly sends a request on a connection that net/http has had one from.
func (r *running) askPlainly(t *testing.T) (*caller, *bufio.Reader) {
	t.Helper()
	const get = "GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n"
	conn := r.dial(t)
	in := bufio.NewReader(conn)
	exchange(t, conn, in, get)
	conn.begin(t, get)
	return conn, in
}

// net/http takes a connection for idle while a plain request is worked on.
func TestServerThatStopsWaitsForPlainRequests(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	r := runWith(t, func(w http.ResponseWriter, r *http.Request) {
		if !byNetHTTP(r) {
			close(begun)
			<-release
		}
		hello(w, r)
	}, refusing)
	conn, in := r.askPlainly(t)
	<-begun
	r.stop()
	eventually(t, "it is not ready", func() bool { return r.Ready() != nil })
	select {
	case err := <-r.ended:
		t.Fatalf("the server ended before its request: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if _, body := exchange(t, conn, in); body != "hello" {
		t.Errorf("got %q", body)
	}
	r.wait(t)
}

func TestPlainAnswerThatNobodyReadsIsGivenUp(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	r := runWith(t, func(w http.ResponseWriter, r *http.Request) {
		if byNetHTTP(r) {
			hello(w, r)
			return
		}
		_, err := w.Write(make([]byte, 64<<20))
		failed <- err
	}, func(s *server.Server) {
		refusing(s)
		within(func(d *server.Deadlines) { d.Write = unhurried })(s)
	})
	conn, _ := r.askPlainly(t)
	isGivenUp(t, failed)
	ends(t, conn)
}

// A handler may hurry a client. That is over with the answer.
func TestDeadlinesOfAPlainRequestEndWithIt(t *testing.T) {
	t.Parallel()
	r := runWith(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if err := control.SetReadDeadline(time.Unix(1, 0)); err != nil {
			t.Error(err)
		}
		if err := control.SetWriteDeadline(time.Now().Add(time.Hour)); err != nil {
			t.Error(err)
		}
		hello(w, r)
	}, refusing)
	conn := r.dial(t)
	in := bufio.NewReader(conn)
	for range 4 {
		if _, body := exchange(t, conn, in, "GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n"); body != "hello" {
			t.Errorf("got %q", body)
		}
	}
}

func TestIdleConnectionIsClosedAfterAPlainRequest(t *testing.T) {
	t.Parallel()
	r := runWith(t, hello, func(s *server.Server) {
		refusing(s)
		within(func(d *server.Deadlines) { d.Idle = unhurried })(s)
	})
	conn := r.dial(t)
	in := bufio.NewReader(conn)
	for range 3 {
		if _, body := exchange(t, conn, in, "GET /v6/pages HTTP/1.1\r\nHost: x\r\n\r\n"); body != "hello" {
			t.Errorf("got %q", body)
		}
	}
	if text := ends(t, conn); text != "" {
		t.Errorf("then came %q", text)
	}
}

// A long answer may be in memory once for all who ask for it: each of them takes
// no copy of it, however long it takes them to read it.
func TestLongAnswersAreNotCopied(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	body := []byte(strings.Repeat("long ", 1<<18))
	received := make(chan string)
	go func() {
		text, _ := io.ReadAll(there)
		received <- string(text)
	}()
	held, err := server.HeldFor(here, body)
	if err != nil || held > 4<<10 {
		t.Errorf("%d bytes are held for an answer of %d: %v", held, len(body), err)
	}
	_ = here.Close()
	if text := <-received; !strings.HasPrefix(text, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(text, "\r\n\r\n"+string(body)) {
		t.Errorf("received %d bytes, from %.40q", len(text), text)
	}
}
