package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serving starts a server that responds with a status and how many requests it
// has seen.
func serving(t *testing.T, status func(seen int64) int) (address string, seen *atomic.Int64) {
	seen = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := seen.Add(1)
		w.WriteHeader(status(n))
		_, _ = fmt.Fprintf(w, `{"seen":%d}`, n)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), seen
}

func always(status int) func(int64) int { return func(int64) int { return status } }

func asking(t *testing.T, address string, connections, status int, want string) *generator {
	g := newGenerator(address, "", connections, status, func(*rand.Rand) request { return request{"GET", "/", "", want} })
	t.Cleanup(g.close)
	return g
}

func TestGeneratorCountsEveryAnswer(t *testing.T) {
	address, seen := serving(t, always(200))
	for _, pause := range []time.Duration{0, time.Millisecond} {
		g := asking(t, address, 4, 200, `"seen"`)
		g.pause = pause
		before := seen.Load()
		took, err := g.run(t.Context(), 50*time.Millisecond)
		if err != nil || len(took) < 4 || int64(len(took)) != seen.Load()-before {
			t.Errorf("%d responses to %d requests, %v", len(took), seen.Load()-before, err)
		}
	}
}

func TestGeneratorFinishesEarly(t *testing.T) {
	address, seen := serving(t, always(200))
	g := asking(t, address, 2, 200, `"seen"`)
	g.pause = time.Millisecond
	go func() {
		for seen.Load() < 20 {
			time.Sleep(time.Millisecond)
		}
		g.finish()
	}()
	took, err := g.run(t.Context(), time.Hour)
	if err != nil || len(took) < 20 || int64(len(took)) != seen.Load() {
		t.Errorf("%d responses to %d requests, %v", len(took), seen.Load(), err)
	}
}

func TestGeneratorRefusesOtherAnswers(t *testing.T) {
	address, _ := serving(t, always(200))
	for want, status := range map[string]int{"": 201, "something else": 200} {
		if took, err := asking(t, address, 1, status, want).run(t.Context(), time.Second); err == nil {
			t.Errorf("%d responses are accepted as status %d and %q", len(took), status, want)
		}
	}
}

// A server that refuses a request with 503 is measured again, one that responds
// with another unexpected status is not.
func TestRefusedRequestsAreMeasuredAgain(t *testing.T) {
	address, _ := serving(t, func(seen int64) int {
		if seen <= 2 {
			return 503
		}
		return 200
	})
	measure := func(status int) (tries int, err error) {
		err = recovered(func() {
			(&bench{force: true}).undisturbed(t.Context(), "reads", nil, func() span {
				tries++
				return spanOf(func() { must(asking(t, address, 1, status, "").run(t.Context(), 10*time.Millisecond)) })
			})
		})
		return tries, err
	}
	if tries, err := measure(200); tries != 3 || err != nil {
		t.Errorf("after two refusals: %d tries, %v", tries, err)
	}
	if tries, err := measure(201); tries != 1 || err == nil {
		t.Errorf("another status: %d tries, %v", tries, err)
	}
}

func TestParseAnswer(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nX-Request-Id: 1\r\n"
	for text, want := range map[string]struct {
		status int
		body   string
		whole  bool
	}{
		"":                                       {},
		"HTTP/1.1 200 OK\r\n":                    {},
		head + "Content-Length: 5\r\n\r\n{\"a\"": {200, `{"a"`, false},
		head + "Content-Length: 5\r\n\r\n{\"a\"}":                                       {200, `{"a"}`, true},
		"HTTP/1.1 204 No Content\r\nVary: x-api-key\r\n\r\n":                            {204, "", true},
		head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n":                          {200, "2\r\n{}\r\n", false},
		head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n":                 {200, "2\r\n{}\r\n0\r\n\r\n", true},
		"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n": {429, "", true},
	} {
		a, whole, err := parseAnswer([]byte(text))
		if err != nil || a.status != want.status || string(a.body) != want.body || whole != want.whole {
			t.Errorf("%q is read as %d %q, whole %t, %v", text, a.status, a.body, whole, err)
		}
	}
	for _, text := range []string{
		"SSH-2.0\r\n\r\n", "HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n", head + "\r\n", head + "Content-Length: many\r\n\r\n",
	} {
		if a, _, err := parseAnswer([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, a)
		}
	}
}
