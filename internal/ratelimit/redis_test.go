package ratelimit_test

import (
	"net"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"galley/internal/pgtest"
	"galley/internal/ratelimit"
)

// startRedis runs a real server on an address, which must be free.
func startRedis(t *testing.T, addr string) (stop func()) {
	t.Helper()
	_, port, _ := net.SplitHostPort(addr)
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("these tests need Redis: run 'make deps', or on Debian 'apt-get install redis-server'")
	}
	cmd := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			_ = conn.Close()
			return stop
		}
	}
	t.Fatal("redis-server was started and does not answer")
	return nil
}

// newRedis is a node that waits for Redis as long as a busy machine takes: only
// one that is gone is away.
func newRedis(t *testing.T, addr string, changed func(error)) *ratelimit.Redis {
	t.Helper()
	r, err := ratelimit.NewRedis("redis://"+addr+"/0?dial_timeout=30s&read_timeout=30s&write_timeout=30s", changed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestNodesCountTogetherInRedis(t *testing.T) {
	addr := pgtest.FreeAddress(t)
	startRedis(t, addr)
	rate := ratelimit.Rate{Requests: 50, Period: time.Hour}
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 3 { // nodes
		node := newRedis(t, addr, func(away error) { t.Errorf("Redis is away: %v", away) })
		for range 40 {
			wg.Go(func() {
				if node.Take(t.Context(), "app:1", rate).Allowed {
					admitted.Add(1)
				}
			})
		}
	}
	wg.Wait()
	if got := admitted.Load(); got != 50 {
		t.Errorf("120 requests on 3 nodes against a limit of 50: %d admitted", got)
	}
}

func TestRedisRemainingAddsUp(t *testing.T) {
	addr := pgtest.FreeAddress(t)
	startRedis(t, addr)
	node := newRedis(t, addr, func(error) {})
	rate := ratelimit.Rate{Requests: 5, Period: time.Hour}
	for want := 4; want >= 0; want-- {
		if got := node.Take(t.Context(), "app:1", rate); !got.Allowed || got.Remaining != want {
			t.Errorf("got %+v, want %d remaining", got, want)
		}
	}
	if got := node.Take(t.Context(), "app:1", rate); got.Allowed || got.RetryAfter <= 0 {
		t.Errorf("the sixth of five: got %+v", got)
	}
}

func TestRedisCharges(t *testing.T) {
	addr := pgtest.FreeAddress(t)
	startRedis(t, addr)
	node := newRedis(t, addr, func(away error) { t.Errorf("Redis is away: %v", away) })
	rate := ratelimit.Rate{Requests: 10, Period: time.Hour}
	node.Charge(t.Context(), "app:1", rate, 4)
	if got := node.Take(t.Context(), "app:1", rate); !got.Allowed || got.Remaining != 5 {
		t.Errorf("after a charge of 4: %+v, want 5 of 10 remaining", got)
	}
	node.Charge(t.Context(), "app:1", rate, 1_000_000)
	if got := node.Take(t.Context(), "app:1", rate); got.Allowed {
		t.Errorf("all is owed: %+v", got)
	}
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = client.Close() }()
	if ttl := client.TTL(t.Context(), "rate:galley:app:1:"+rate.String()).Val(); ttl < 119*time.Minute || ttl > 121*time.Minute {
		t.Errorf("the bucket is kept for %s, want twice its period", ttl)
	}
}

// A clock that is set back leaves buckets that are full later than any bucket
// takes to fill.
func TestRedisWhoseClockWasSetBack(t *testing.T) {
	addr := pgtest.FreeAddress(t)
	startRedis(t, addr)
	rate := ratelimit.Rate{Requests: 5, Period: time.Hour}
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = client.Close() }()
	began := time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC) // when the time of a bucket begins
	full := time.Now().Add(rate.Period + 10*time.Minute).Sub(began).Seconds()
	if err := client.Set(t.Context(), "rate:galley:app:1:"+rate.String(), full, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	node := newRedis(t, addr, func(away error) { t.Errorf("Redis is away: %v", away) })
	want := ratelimit.Result{ResetAfter: rate.Period, RetryAfter: rate.Period / 5}
	if got := node.Take(t.Context(), "app:1", rate); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAChangedRateCountsAtOnceInRedis(t *testing.T) {
	addr := pgtest.FreeAddress(t)
	startRedis(t, addr)
	node := newRedis(t, addr, func(away error) { t.Errorf("Redis is away: %v", away) })
	slow, fast := ratelimit.Rate{Requests: 1, Period: 24 * time.Hour}, ratelimit.Rate{Requests: 5, Period: time.Hour}
	for node.Take(t.Context(), "app:1", slow).Allowed {
	}
	for want := 4; want >= 0; want-- {
		if got := node.Take(t.Context(), "app:1", fast); !got.Allowed || got.Remaining != want {
			t.Errorf("raised: %+v, want %d remaining", got, want)
		}
	}
	if node.Take(t.Context(), "app:1", fast).Allowed {
		t.Error("the raised limit is no limit")
	}
}

// A Redis that says nothing is waited for, but not for long.
func TestSilentRedisIsAway(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	for _, query := range []string{"", "?read_timeout=1ms", "?read_timeout=-1"} {
		changes := make(chan error, 1)
		node, err := ratelimit.NewRedis("redis://"+silent.Addr().String()+"/0"+query, func(away error) { changes <- away })
		if err != nil {
			t.Fatal(err)
		}
		taken := make(chan ratelimit.Result, 1)
		go func() { taken <- node.Take(t.Context(), "app:1", ratelimit.Rate{Requests: 3, Period: time.Hour}) }()
		select {
		case got := <-taken:
			if away := <-changes; !got.Allowed || got.Remaining != 2 || away == nil {
				t.Errorf("%q: %+v, away: %v", query, got, away)
			}
		case <-time.After(time.Minute):
			t.Errorf("%q: it is waited for forever", query)
		}
		_ = node.Close()
	}
}

func TestNodeCountsAloneWhileRedisIsAway(t *testing.T) {
	addr := pgtest.FreeAddress(t)
	stop := startRedis(t, addr)
	changes := make(chan error, 10)
	node := newRedis(t, addr, func(away error) { changes <- away })
	rate := ratelimit.Rate{Requests: 3, Period: time.Hour}
	node.Take(t.Context(), "app:1", rate)
	stop()
	admitted := 0
	for range 10 {
		if node.Take(t.Context(), "app:1", rate).Allowed {
			admitted++
		}
	}
	if admitted != 3 {
		t.Errorf("alone, against a limit of 3: %d admitted", admitted)
	}
	if away := <-changes; away == nil {
		t.Error("told that Redis is back before it went away")
	}
	startRedis(t, addr)
	for deadline := time.Now().Add(time.Minute); len(changes) == 0; time.Sleep(50 * time.Millisecond) {
		node.Take(t.Context(), "app:2", rate)
		if time.Now().After(deadline) {
			t.Fatal("Redis is back and not used")
		}
	}
	if away := <-changes; away != nil {
		t.Errorf("told twice that Redis is away: %v", away)
	}
}
