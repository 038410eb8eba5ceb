// Package ratelimit implements rate limits with a burst by the generic cell rate
// algorithm. Buckets are identified by name.
package ratelimit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Rate admits Requests in each Period, and as many at once. The zero Rate
// admits everything.
type Rate struct {
	Requests int
	Period   time.Duration
}

// Off reports whether the rate admits everything.
func (r Rate) Off() bool { return r.Requests == 0 }

// UnmarshalText reads REQUESTS/SECONDS, or off.
func (r *Rate) UnmarshalText(text []byte) error {
	if string(text) == "off" {
		*r = Rate{}
		return nil
	}
	requests, seconds, ok := strings.Cut(string(text), "/")
	n, err1 := strconv.Atoi(requests)
	s, err2 := strconv.Atoi(seconds)
	if !ok || err1 != nil || err2 != nil || n < 1 || s < 1 || n > 1e9 || s > 86400 {
		return fmt.Errorf("%q is not a rate: write REQUESTS/SECONDS such as 600/60, or off", text)
	}
	*r = Rate{n, time.Duration(s) * time.Second}
	return nil
}

func (r Rate) String() string {
	if r.Off() {
		return "off"
	}
	return fmt.Sprintf("%d/%d", r.Requests, int(r.Period.Seconds()))
}

// Result is the result of Take.
type Result struct {
	Allowed    bool
	Remaining  int
	ResetAfter time.Duration // until the bucket is full again
	RetryAfter time.Duration // until a request is admitted; 0 if one is now
}

// take is the algorithm. full is when the bucket is full again; it returns the new
// time.
func (r Rate) take(full, now time.Time) (time.Time, Result) {
	if full.Before(now) {
		full = now
	}
	next := full.Add(r.each())
	if wait := next.Sub(now) - r.burst(); wait > 0 {
		return full, Result{Remaining: r.remaining(full, now), ResetAfter: full.Sub(now), RetryAfter: wait}
	}
	return next, Result{Allowed: true, Remaining: r.remaining(next, now), ResetAfter: next.Sub(now)}
}

// charge takes n requests without asking. The bucket may go negative, by at most
// its size.
func (r Rate) charge(full, now time.Time, n int) time.Time {
	if full.Before(now) {
		full = now
	}
	n = min(n, 2*r.Requests)
	if next, most := full.Add(time.Duration(n)*r.each()), now.Add(2*r.burst()); next.Before(most) {
		return next
	} else if full.Before(most) {
		return most
	}
	return full
}

// each is the time in which one request is refilled.
func (r Rate) each() time.Duration { return r.Period / time.Duration(r.Requests) }

// burst is the time in which a bucket is refilled: the period, less what is lost
// by rounding each.
func (r Rate) burst() time.Duration { return r.each() * time.Duration(r.Requests) }

func (r Rate) remaining(full, now time.Time) int {
	return max(0, int((r.burst()-full.Sub(now))/r.each()))
}

// Memory counts in this process.
type Memory struct {
	mu      sync.Mutex
	buckets map[counted]time.Time
	swept   time.Time
	latest  time.Time // of the times given to Take
}

// counted is a bucket at a rate. A bucket whose rate is changed starts full, since
// the use at the old rate could block it for longer than the new rate would.
type counted struct {
	bucket string
	rate   Rate
}

// NewMemory creates an empty limiter.
func NewMemory() *Memory { return &Memory{buckets: map[counted]time.Time{}} }

// Take takes a request from a bucket if it has one. Concurrent callers may pass
// times out of order; the latest one counts.
func (m *Memory) Take(bucket string, rate Rate, now time.Time) Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Before(m.latest) {
		now = m.latest
	}
	m.latest = now
	m.sweep(now)
	key := counted{bucket, rate}
	full, result := rate.take(m.buckets[key], now)
	m.buckets[key] = full
	return result
}

// Charge takes n requests from a bucket, whether or not it has them.
func (m *Memory) Charge(bucket string, rate Rate, n int, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := counted{bucket, rate}
	m.buckets[key] = rate.charge(m.buckets[key], now, n)
}

// Local is Memory with the time of the system.
type Local struct{ *Memory }

// Take takes a request from a bucket if it has one.
func (l Local) Take(_ context.Context, bucket string, rate Rate) Result {
	return l.Memory.Take(bucket, rate, time.Now())
}

// Charge takes n requests from a bucket, whether or not it has them.
func (l Local) Charge(_ context.Context, bucket string, rate Rate, n int) {
	l.Memory.Charge(bucket, rate, n, time.Now())
}

// sweepEvery is how often full buckets are removed.
const sweepEvery = time.Minute

func (m *Memory) sweep(now time.Time) {
	if now.Sub(m.swept) < sweepEvery {
		return
	}
	m.swept = now
	for bucket, full := range m.buckets {
		if !full.After(now) {
			delete(m.buckets, bucket)
		}
	}
}
