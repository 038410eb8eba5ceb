package server

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// queue judges by how long requests have waited before they were read, in the
// kernel and for a processor, whether the server can do what it is asked for.
// Where requests need processors more than the store, they queue up there, and
// nothing else sees them.
type queue struct {
	next  atomic.Int64 // when to look again
	since atomic.Int64 // since when all that was seen was late; 0: the last was not
	last  atomic.Int64 // when something was late last
	long  atomic.Bool  // requests are to be refused
	ended atomic.Int64 // when that was so last
	count atomic.Int64 // how many were refused
}

const (
	// lookEvery is how often a request's wait is looked at: others wait alike.
	lookEvery = time.Millisecond
	// late is a wait that tells of more work than can be done.
	late = 50 * time.Millisecond
	// standing is how long all must have been late before one is refused: a
	// crowd that comes at once is no overload.
	standing = 200 * time.Millisecond
	// wary is how long that is remembered: within it, late requests are refused
	// at once.
	wary = time.Second
	// crowd is how many connections there must be. Fewer can't ask for more at a
	// time than is worked on anyway, unless that is set lower: if they are all
	// late, the machine gives the server no time, and to refuse them would help
	// nobody.
	crowd = 128
)

// began is what times are counted from, whatever becomes of the clock; what is
// 0 is long past.
var began = time.Now().Add(-time.Hour)

func sinceBegan() int64 { return int64(time.Since(began)) }

// refuses tells whether to refuse a request that was read from a connection,
// one of all that are open, which was last refused one at some time.
func (q *queue) refuses(conn syscall.RawConn, open, refused int64) bool {
	now := sinceBegan()
	next := q.next.Load()
	if now < next && q.long.Load() {
		q.count.Add(1)
		return true
	}
	if now-q.last.Load() < int64(wary) {
		// Go lets goroutines that wake each other go first, for as long as they
		// do: connections whose clients are quick would keep all others waiting.
		runtime.Gosched()
	}
	if now >= next && q.next.CompareAndSwap(next, now+int64(lookEvery)) {
		now = sinceBegan()
		wait := waited(conn)
		// What came before our last answer was sent in advance, to look late: it
		// tells nothing. The kernel counts in steps of up to 10 ms.
		if int64(wait) <= now-refused+int64(10*time.Millisecond) {
			q.look(wait, now, open)
		}
	}
	if !q.long.Load() {
		return false
	}
	q.count.Add(1)
	return true
}

// look learns from how long a request has waited, on one of all connections
// that are open.
func (q *queue) look(wait time.Duration, now, open int64) {
	if wait < late || open < crowd {
		q.since.Store(0)
		q.long.Store(false)
		return
	}
	if before := q.last.Swap(now); now-before > int64(standing) {
		q.since.Store(now) // what was late long ago tells nothing about now
	}
	q.since.CompareAndSwap(0, now)
	long := now-q.since.Load() >= int64(standing) || now-q.ended.Load() < int64(wary)
	if long {
		q.ended.Store(now)
	}
	q.long.Store(long)
}
