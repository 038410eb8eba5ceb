package calm_test

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"time"

	"galley/internal/calm"
)

// priority is that of a thread, as nice(1) counts.
func priority(t *testing.T, thread int) int {
	t.Helper()
	raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, thread)
	if err != nil {
		t.Fatal(err)
	}
	return 20 - raw // the kernel's way to tell it from an error
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestLongWorkYields(t *testing.T) {
	usual, mine := runtime.GOMAXPROCS(0), priority(t, 0)
	calm.Do(func() {
		thread := syscall.Gettid()
		eventually(t, "long work has a lower priority", func() bool { return priority(t, thread) > mine })
		eventually(t, "Go has one more thread to run", func() bool { return runtime.GOMAXPROCS(0) == usual+1 })
		if now := syscall.Gettid(); now != thread {
			t.Errorf("work went on in thread %d, having been in %d", now, thread)
		}
	})
	if got := runtime.GOMAXPROCS(0); got != usual {
		t.Errorf("Go runs %d threads afterwards, want %d", got, usual)
	}
	eventually(t, "no thread keeps the lower priority", func() bool {
		threads, err := filepath.Glob("/proc/self/task/*/stat")
		if err != nil || len(threads) == 0 {
			t.Fatalf("no threads in /proc: %v", err)
		}
		for _, file := range threads {
			stat, err := os.ReadFile(file)
			if err != nil {
				continue // it has ended
			}
			_, after, _ := strings.Cut(string(stat), ") ")
			if fields := strings.Fields(after); len(fields) > 16 && fields[16] == "10" {
				return false
			}
		}
		return true
	})
}

func TestLongWorkAtATime(t *testing.T) {
	usual := runtime.GOMAXPROCS(0)
	calm.Do(func() {
		eventually(t, "Go has one more thread to run", func() bool { return runtime.GOMAXPROCS(0) > usual })
		calm.Do(func() {
			thread := syscall.Gettid()
			eventually(t, "the second yields, too", func() bool { return priority(t, thread) == 10 })
		})
		if got := runtime.GOMAXPROCS(0); got != usual+1 {
			t.Errorf("Go runs %d threads beside long work, want %d", got, usual+1)
		}
	})
	if got := runtime.GOMAXPROCS(0); got != usual {
		t.Errorf("Go runs %d threads afterwards, want %d", got, usual)
	}
}

// started is how many goroutines there have been.
func started() uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func TestOthersAreHeardBesideLongWork(t *testing.T) {
	const times = 1000
	heard := func() uint64 {
		before := started()
		for range times {
			calm.Heard()
		}
		return started() - before
	}
	usual := runtime.GOMAXPROCS(0)
	if n := heard(); n >= times {
		t.Errorf("%d goroutines were started without long work, want none", n)
	}
	calm.Do(func() {
		eventually(t, "the work is long", func() bool { return runtime.GOMAXPROCS(0) > usual })
		eventually(t, "a thread is woken each time", func() bool { return heard() >= times })
	})
	if n := heard(); n >= times {
		t.Errorf("%d goroutines were started after long work, want none", n)
	}
}

func TestPanicsAreTheCallers(t *testing.T) {
	defer func() {
		cause, _ := recover().(string)
		if !strings.HasPrefix(cause, "no more") || !strings.Contains(cause, "TestPanicsAreTheCallers") {
			t.Errorf("recovered %q, want the cause and where it was", cause)
		}
	}()
	calm.Do(func() { panic("no more") })
	t.Error("the panic was lost")
}
