package main_test

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// killer is a proxy before a server that kills the client when it writes.
type killer struct {
	server http.Handler
	client *process
	writes atomic.Int32
	at     int32 // the write at which to kill; 0: never
	after  bool  // the server has done it, but the client did not hear of it
}

func (k *killer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet || k.writes.Add(1) != k.at {
		k.server.ServeHTTP(w, r)
		return
	}
	if k.after {
		k.server.ServeHTTP(httptest.NewRecorder(), r)
	}
	_ = k.client.cmd.Process.Signal(syscall.SIGKILL) // it may not hear of it otherwise
	panic(http.ErrAbortHandler)
}

// applyKilled applies a bundle and is killed at a write. It reports whether it ended by
// itself before.
func applyKilled(t *testing.T, p *process, dir, site string, at int32, after bool) bool {
	t.Helper()
	target, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	k := &killer{server: httputil.NewSingleHostReverseProxy(target), at: at, after: after}
	proxy := httptest.NewServer(k)
	defer proxy.Close()
	k.client = prepare(t, []string{"GALLEY_URL=" + proxy.URL, "GALLEY_KEY=" + p.key(t)}, binary, "apply", dir, "--site", site, "--yes")
	k.client.start(t)
	switch code := k.client.exitCode(t); code {
	case 0:
		return true
	case -1:
		return false
	default:
		t.Fatalf("exit code %d\n%s", code, &k.client.stderr)
		return false
	}
}

// A client that is killed again and again, before or after the server did what it wanted,
// and is run again, ends at the same site.
func TestBundleAppliedByAKilledClient(t *testing.T) {
	t.Parallel()
	sqlite, postgres := twoServers(t)
	pages := []int{1050, 120} // more than a batch takes, and less
	for i, p := range []*process{sqlite, postgres} {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		target, kills := emptySite(t, p), 0
		for seed := range 2 { // to an empty site, and then to one that has another bundle
			site := newRandomSite(t, newClient(t, p), uint64(20+seed), pages[i])
			dir := filepath.Join(t.TempDir(), "site")
			want := exportTo(t, p, site.id, dir)
			for !applyKilled(t, p, dir, target, 1+rng.Int32N(8), rng.IntN(2) == 0) {
				kills++
			}
			got := exportTo(t, p, target, filepath.Join(t.TempDir(), "copy"))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("after %d kills, the site differs:\n%s", kills, diff)
			}
		}
		if kills < 6 {
			t.Errorf("the client was killed only %d times", kills)
		}
	}
}
