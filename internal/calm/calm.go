// Package calm does big work so that small work hardly notices: what takes
// longer than a moment goes on in a thread of its own, of a lower priority, and
// leaves Go as many other threads to run as before.
package calm

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// moment is how long work may take before it yields to other work.
const moment = 20 * time.Millisecond

// Do does work and waits for its end. A panic of the work is one of the caller.
func Do(work func()) {
	done := make(chan any)
	go func() {
		var cause any
		defer func() { done <- cause }()
		defer func() {
			if cause = recover(); cause != nil {
				cause = fmt.Sprintf("%v\n\n%s", cause, debug.Stack())
			}
		}()
		runtime.LockOSThread()
		if onMainThread() {
			// That one can't end. While it is held here, another has to be taken.
			defer runtime.UnlockOSThread()
			Do(work)
			return
		}
		w := watch(thread())
		defer func() {
			// A thread can't get its priority back: without UnlockOSThread, it
			// ends with this goroutine. Go starts no others from a locked one.
			if !w.end() {
				runtime.UnlockOSThread()
			}
		}()
		work()
	}()
	if cause := <-done; cause != nil {
		panic(cause)
	}
}

// watched is work that is looked at when it has taken a moment.
type watched struct {
	timer *time.Timer
	mu    sync.Mutex
	ended bool
	calm  bool
}

func watch(thread int) *watched {
	w := &watched{}
	w.timer = time.AfterFunc(moment, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.ended {
			w.calm = true
			lower(thread)
			spare.take()
		}
	})
	return w
}

// end tells whether the work's thread has a lower priority by now.
func (w *watched) end() bool {
	w.timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.calm {
		spare.giveBack()
	}
	return w.calm
}

// Heard is to be called when something came from the network that calm work may
// have waited for.
//
// Go's threads look at the network when they have nothing else to do. The one
// that finds something for calm work leaves its place to that work's thread, and
// then nobody looks until the work waits again or 10 ms are over, whoever else
// is called meanwhile. A new goroutine has Go wake another thread, even one that
// does nothing, and that thread looks next.
func Heard() {
	if spare.taken.Load() {
		go func() {}()
	}
}

// spares are the threads that Go may run beside those of calm work.
type spares struct {
	mu    sync.Mutex
	count int
	usual int
	taken atomic.Bool // there is calm work
}

var spare spares

func (s *spares) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count++; s.count == 1 {
		// One is enough: a second piece of calm work takes from the first.
		s.usual = runtime.GOMAXPROCS(0)
		runtime.GOMAXPROCS(s.usual + 1)
		s.taken.Store(true)
	}
}

func (s *spares) giveBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count--; s.count > 0 {
		return
	}
	s.taken.Store(false)
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.SetDefaultGOMAXPROCS() // it follows what the machine gives
		return
	}
	runtime.GOMAXPROCS(s.usual)
}
