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

// counting answers with how many requests it has seen.
func counting(t *testing.T) (address string, seen *atomic.Int64) {
	seen = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"seen":%d}`, seen.Add(1))
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), seen
}

func asking(want string) builder {
	return func(dst []byte, _ *rand.Rand) ([]byte, string) { return request(dst, "GET", "/", "", ""), want }
}

func TestGeneratorCountsEveryAnswer(t *testing.T) {
	address, seen := counting(t)
	for _, pause := range []time.Duration{0, time.Millisecond} {
		g, err := newGenerator(address, 4, http.StatusOK, asking(`"seen"`))
		if err != nil {
			t.Fatal(err)
		}
		g.pause = pause
		before := seen.Load()
		took, err := g.run(t.Context(), 50*time.Millisecond)
		if err != nil || len(took) < 4 || int64(len(took)) != seen.Load()-before {
			t.Errorf("%d answers to %d requests, %v", len(took), seen.Load()-before, err)
		}
		g.close()
	}
}

func TestGeneratorFinishesEarly(t *testing.T) {
	address, seen := counting(t)
	g, err := newGenerator(address, 2, http.StatusOK, asking(`"seen"`))
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	g.pause = time.Millisecond
	go func() {
		for seen.Load() < 20 {
			time.Sleep(time.Millisecond)
		}
		g.finish()
	}()
	took, err := g.run(t.Context(), time.Hour)
	if err != nil || len(took) < 20 || int64(len(took)) != seen.Load() {
		t.Errorf("%d answers to %d requests, %v", len(took), seen.Load(), err)
	}
}

func TestGeneratorRefusesOtherAnswers(t *testing.T) {
	address, _ := counting(t)
	for _, c := range []struct {
		status int
		want   string
	}{{http.StatusCreated, ""}, {http.StatusOK, "something else"}} {
		g, err := newGenerator(address, 1, c.status, asking(c.want))
		if err != nil {
			t.Fatal(err)
		}
		if took, err := g.run(t.Context(), time.Second); err == nil {
			t.Errorf("%d answers are taken for status %d and %q", len(took), c.status, c.want)
		}
		g.close()
	}
}

// A server that turns a request away is measured once more, one that answers
// something else is not.
func TestRefusedRequestsAreMeasuredAgain(t *testing.T) {
	var refusals atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refusals.Add(-1) >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	b := &bench{force: true}
	measure := func(status int) (tries int, err error) {
		err = b.undisturbed(t.Context(), "reads", nil, func() (s span, err error) {
			tries++
			g, err := newGenerator(strings.TrimPrefix(server.URL, "http://"), 1, status, asking(""))
			if err != nil {
				return s, err
			}
			defer g.close()
			return spanOf(func() error {
				_, err := g.run(t.Context(), 10*time.Millisecond)
				return err
			})
		})
		return tries, err
	}
	refusals.Store(2)
	if tries, err := measure(http.StatusOK); tries != 3 || err != nil {
		t.Errorf("after two refusals: %d tries, %v", tries, err)
	}
	if tries, err := measure(http.StatusCreated); tries != 1 || err == nil {
		t.Errorf("another answer: %d tries, %v", tries, err)
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
