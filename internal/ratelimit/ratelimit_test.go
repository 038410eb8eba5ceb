package ratelimit_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"galley/internal/ratelimit"
)

var start = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

func rate(t *testing.T, text string) ratelimit.Rate {
	t.Helper()
	var r ratelimit.Rate
	if err := r.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return r
}

// The uneven rates are those whose period does not divide by their requests:
// what is lost in rounding must not admit one more.
var rates = []string{"1/1", "1/60", "3/1", "7/10", "7/60", "300/60", "600/60", "997/1", "10000/1", "70000/1"}

func TestExactlyTheBurstIsAdmittedAtOnce(t *testing.T) {
	for _, text := range rates {
		t.Run(text, func(t *testing.T) {
			r, m := rate(t, text), ratelimit.NewMemory()
			admitted := 0
			for range r.Requests + 10 {
				if m.Take("k", r, start).Allowed {
					admitted++
				}
			}
			if admitted != r.Requests {
				t.Errorf("admitted %d at once, want %d", admitted, r.Requests)
			}
		})
	}
}

func TestExactlyTheBurstIsAdmittedToManyAtOnce(t *testing.T) {
	r, m := rate(t, "500/60"), ratelimit.NewMemory()
	var admitted atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 40 {
				if m.Take("k", r, start).Allowed {
					admitted.Add(1)
				}
			}
		})
	}
	all.Wait()
	if admitted.Load() != 500 {
		t.Errorf("admitted %d, want 500", admitted.Load())
	}
}

func TestOneIsAdmittedForEachShareOfThePeriod(t *testing.T) {
	r, m := rate(t, "6/60"), ratelimit.NewMemory()
	for range 6 {
		m.Take("k", r, start)
	}
	steps := []struct {
		after   time.Duration
		allowed bool
	}{
		{0, false}, {10*time.Second - 1, false}, {10 * time.Second, true}, {10 * time.Second, false},
		{35 * time.Second, true}, {35 * time.Second, true}, {35 * time.Second, false}, {40 * time.Second, true},
	}
	for i, step := range steps {
		if got := m.Take("k", r, start.Add(step.after)).Allowed; got != step.allowed {
			t.Errorf("step %d, after %v: allowed %v, want %v", i, step.after, got, step.allowed)
		}
	}
}

func TestNoMoreThanTheBurstIsSavedUp(t *testing.T) {
	r, m := rate(t, "5/10"), ratelimit.NewMemory()
	m.Take("k", r, start)
	admitted := 0
	for range 20 {
		if m.Take("k", r, start.Add(24*time.Hour)).Allowed {
			admitted++
		}
	}
	if admitted != 5 {
		t.Errorf("admitted %d after a day, want 5", admitted)
	}
}

func TestRefusedRequestsCostNothing(t *testing.T) {
	r, m := rate(t, "1/10"), ratelimit.NewMemory()
	m.Take("k", r, start)
	for i := range 100 {
		m.Take("k", r, start.Add(time.Duration(i)*time.Millisecond))
	}
	if !m.Take("k", r, start.Add(10*time.Second)).Allowed {
		t.Error("a caller that went on asking is kept out longer")
	}
}

func TestBucketsAreApart(t *testing.T) {
	r, m := rate(t, "1/60"), ratelimit.NewMemory()
	for i := range 100 {
		if !m.Take(fmt.Sprint(i), r, start).Allowed {
			t.Errorf("bucket %d pays for another", i)
		}
	}
}

// What a refused caller is told to wait for must be the truth.
func TestRetryAfterIsWhenOneIsAdmitted(t *testing.T) {
	for _, text := range rates {
		t.Run(text, func(t *testing.T) {
			r, m := rate(t, text), ratelimit.NewMemory()
			for m.Take("k", r, start).Allowed {
			}
			refused := m.Take("k", r, start)
			if refused.Allowed || refused.RetryAfter <= 0 || refused.RetryAfter > r.Period {
				t.Errorf("%+v", refused)
			}
			wait := refused.RetryAfter
			if m.Take("k", r, start.Add(wait-1)).Allowed {
				t.Error("admitted before RetryAfter")
			}
			if !m.Take("k", r, start.Add(wait)).Allowed {
				t.Error("not admitted after RetryAfter")
			}
		})
	}
}

// Remaining and ResetAfter become the RateLimit header: together they must
// describe one bucket.
func TestNumbersAddUp(t *testing.T) {
	for _, text := range rates {
		t.Run(text, func(t *testing.T) {
			r, m := rate(t, text), ratelimit.NewMemory()
			each := r.Period / time.Duration(r.Requests)
			for i := range min(r.Requests, 2000) {
				result := m.Take("k", r, start)
				if want := r.Requests - i - 1; result.Remaining != want {
					t.Fatalf("request %d: %d remaining, want %d", i, result.Remaining, want)
				}
				used := time.Duration(i+1) * each
				if slack := result.ResetAfter - used; slack < 0 || slack > time.Duration(i+1) {
					t.Fatalf("request %d: full after %v, want %v", i, result.ResetAfter, used)
				}
				if result.RetryAfter != 0 {
					t.Fatalf("request %d was admitted and is told to wait %v", i, result.RetryAfter)
				}
			}
		})
	}
}

// An operator who raises a limit means the next request, whatever was used of
// the old one.
func TestAChangedRateCountsAtOnce(t *testing.T) {
	slow, fast, m := rate(t, "1/86400"), rate(t, "5/60"), ratelimit.NewMemory()
	for m.Take("k", slow, start).Allowed {
	}
	for want := 4; want >= 0; want-- {
		if got := m.Take("k", fast, start); !got.Allowed || got.Remaining != want {
			t.Errorf("raised: %+v, want %d remaining", got, want)
		}
	}
	if m.Take("k", fast, start).Allowed {
		t.Error("the raised limit is no limit")
	}
	if m.Take("k", slow, start).Allowed {
		t.Error("a limit that was used up is full again because it was changed in between")
	}
}

func TestSweepingForgetsNothingThatCounts(t *testing.T) {
	r, m := rate(t, "2/3600"), ratelimit.NewMemory()
	m.Take("k", r, start)
	m.Take("k", r, start)
	for i := range 20 {
		now := start.Add(time.Duration(i) * time.Minute)
		m.Take(fmt.Sprint("other", i), r, now)
		if m.Take("k", r, now).Allowed {
			t.Fatalf("admitted after %v", now.Sub(start))
		}
	}
}

func TestAClockThatGoesBackAdmitsNoMore(t *testing.T) {
	r, m := rate(t, "3/60"), ratelimit.NewMemory()
	for range 3 {
		m.Take("k", r, start)
	}
	if result := m.Take("k", r, start.Add(-time.Minute)); result.Allowed || result.Remaining != 0 {
		t.Errorf("%+v", result)
	}
}

func TestRateText(t *testing.T) {
	for text, want := range map[string]ratelimit.Rate{
		"off": {}, "600/60": {Requests: 600, Period: time.Minute}, "1/86400": {Requests: 1, Period: 24 * time.Hour},
	} {
		got := rate(t, text)
		if got != want || got.String() != text || got.Off() != (text == "off") {
			t.Errorf("%s reads as %+v and writes as %s", text, got, got)
		}
	}
	for _, text := range []string{
		"", "OFF", "/", "600", "600/", "/60", "0/60", "600/0", "-1/60", "600/-60", "1.5/60", "600/60s", " 600/60",
		"600 /60", "600/60/60", "1e3/60", "1000000001/60", "1/86401", "99999999999999999999/60", "1/99999999999999999999",
	} {
		var r ratelimit.Rate
		if err := r.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q reads as %+v", text, r)
		}
	}
}

// Who looked at the clock first may be counted last.
func TestTheOrderOfCallersDoesNotMatter(t *testing.T) {
	r, m := rate(t, "3/60"), ratelimit.NewMemory()
	for want := 2; want >= 0; want-- {
		got := m.Take("k", r, start.Add(time.Duration(want)*time.Second))
		if reset := time.Duration(3-want) * 20 * time.Second; !got.Allowed || got.Remaining != want || got.ResetAfter != reset {
			t.Errorf("%+v, want %d remaining, reset after %v", got, want, reset)
		}
	}
	if got := m.Take("k", r, start); got.Allowed || got.ResetAfter != time.Minute || got.RetryAfter != 20*time.Second {
		t.Errorf("the fourth of three: %+v", got)
	}
}

func TestChargesAreOwed(t *testing.T) {
	r, m := rate(t, "10/10"), ratelimit.NewMemory()
	m.Charge("k", r, 4, start)
	if got := m.Take("k", r, start); !got.Allowed || got.Remaining != 5 {
		t.Errorf("after a charge of 4: %+v, want 5 of 10 remaining", got)
	}
	m.Charge("k", r, 8, start) // 3 more than there are
	if got := m.Take("k", r, start); got.Allowed || got.RetryAfter != 4*time.Second {
		t.Errorf("3 are owed: %+v, want to wait for those and one more", got)
	}
	if got := m.Take("k", r, start.Add(4*time.Second)); !got.Allowed {
		t.Errorf("what was owed is paid: %+v", got)
	}
	m = ratelimit.NewMemory()
	for range 3 {
		m.Charge("all", r, 1_000_000_000, start)
	}
	if got := m.Take("all", r, start); got.Allowed || got.RetryAfter != 11*time.Second {
		t.Errorf("more than the bucket holds is owed: %+v", got)
	}
}
