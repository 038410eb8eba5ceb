package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// load is what a crowd of fast clients asks for: nine reads of a page to one
// new page, built beforehand, so that sending costs little.
type load struct {
	addr   string
	reads  [][]byte
	create []byte // with room for a number in the pathname
	digits int    // where that number is
	made   atomic.Int64
}

const (
	loadPages   = 500
	numberWidth = 12
)

// newLoad makes a site with pages to read.
func newLoad(addr, key string) (*load, error) {
	c := newClient(addr, key)
	defer c.close()
	site, err := c.newSite("Load")
	if err != nil {
		return nil, err
	}
	l := &load{addr: addr}
	for i := range loadPages {
		id, err := c.newPage(site, fmt.Sprintf("/load/%d", i), "A page like many others")
		if err != nil {
			return nil, err
		}
		l.reads = append(l.reads, c.request("GET", "/v6/pages/"+id, ""))
	}
	number := bytes.Repeat([]byte("0"), numberWidth)
	l.create = c.request("POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/new/%s","title":"A new page"}`, site, number))
	l.digits = bytes.Index(l.create, append([]byte("/new/"), number...)) + len("/new/")
	return l, nil
}

// tally is what came back.
type tally struct {
	good    int64 // 2xx
	created int64 // of these, 201
	refused int64 // 429 or 503, with Retry-After
	wrong   int64 // any other answer
	broken  int64 // no answer
	failed  int64 // of all answers, those with 5xx

	took  []time.Duration // of good answers
	first string          // the first wrong or broken one
}

func (t *tally) sent() int64 { return t.good + t.refused + t.wrong + t.broken }

func (t *tally) add(other tally) {
	t.good += other.good
	t.created += other.created
	t.refused += other.refused
	t.wrong += other.wrong
	t.broken += other.broken
	t.failed += other.failed
	t.took = append(t.took, other.took...)
	if t.first == "" {
		t.first = other.first
	}
}

func (t *tally) note(a answer, err error, took time.Duration) {
	if err == nil && a.status >= 500 {
		t.failed++
	}
	switch {
	case err != nil:
		t.broken++
		t.remember("no answer: %v", err)
	case a.status/100 == 2:
		t.good++
		if a.status == 201 {
			t.created++
		}
		t.took = append(t.took, took)
	case (a.status == 429 || a.status == 503) && a.retryAfter != "":
		t.refused++
	default:
		t.wrong++
		t.remember("status %d, Retry-After %q", a.status, a.retryAfter)
	}
}

func (t *tally) remember(format string, args ...any) {
	if t.first == "" {
		t.first = fmt.Sprintf(format, args...)
	}
}

// closedLoop lets each connection send its next request as soon as the last was
// answered.
func (l *load) closedLoop(t *trial, connections int, d time.Duration) tally {
	end := time.Now().Add(d)
	return l.each(t, connections, func() bool { return time.Now().Before(end) })
}

// openLoop sends at a rate, whatever comes back: a connection that waits for
// its answer leaves the next request to another one.
func (l *load) openLoop(t *trial, connections int, rate float64, d time.Duration) tally {
	var tickets atomic.Int64
	start := time.Now()
	return l.each(t, connections, func() bool {
		due := time.Duration(float64(tickets.Add(1)) / rate * float64(time.Second))
		time.Sleep(due - time.Since(start))
		return time.Since(start) < d && due < d
	})
}

// each runs connections that send while next says so.
func (l *load) each(t *trial, connections int, next func() bool) tally {
	var mu sync.Mutex
	var all tally
	var workers sync.WaitGroup
	for range connections {
		rng := t.random()
		workers.Go(func() {
			mine := l.connection(t, rng, next)
			mu.Lock()
			defer mu.Unlock()
			all.add(mine)
		})
	}
	workers.Wait()
	return all
}

func (l *load) connection(t *trial, rng *rand.Rand, next func() bool) (mine tally) {
	c := newClient(l.addr, "") // the requests have the key
	c.discard = true
	defer c.close()
	create := bytes.Clone(l.create)
	for next() && t.ctx.Err() == nil {
		request := l.reads[rng.IntN(len(l.reads))]
		if l.create != nil && rng.IntN(10) == 0 {
			copy(create[l.digits:], fmt.Sprintf("%0*d", numberWidth, l.made.Add(1)))
			request = create
		}
		start := time.Now()
		a, err := c.send(request)
		mine.note(a, err, time.Since(start))
	}
	return mine
}
