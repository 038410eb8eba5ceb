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
