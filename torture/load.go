package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// load is the requests of many fast clients, built beforehand, so that sending
// costs little: nine reads of a page to one new page, unless mix was called.
type load struct {
	addr    string
	key     string
	site    string
	pages   []string
	reads   [][]byte
	writes  [][]byte // each with a blank
	writing float64  // the share of writes
	made    atomic.Int64
	end     time.Time // responses after it are counted apart; zero: none

	reconnect bool          // every other request is sent on a new connection
	timeout   time.Duration // of a request
}

// blank is the place of a number in a write, so that no two are alike.
const blank = "000000000000"

const loadPages = 500

// newLoad creates a site with pages to read.
func newLoad(addr, key string) *load {
	c := newClient(addr, key)
	defer c.close()
	site := c.newSite("Load")
	l := &load{addr: addr, key: key, site: site, writing: 0.1}
	for i := range loadPages {
		id := c.newPage(site, fmt.Sprintf("/load/%d", i), "A page like many others")
		l.pages = append(l.pages, id)
		l.reads = append(l.reads, c.request("GET", "/v6/pages/"+id, ""))
	}
	l.writes = [][]byte{c.request("POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/new/%s","title":"A new page"}`, site, blank))}
	return l
}

// mix makes it equal parts of a page by its id, a page by its pathname, a list
// of 20, a new page and a new title.
func (l *load) mix() {
	c := newClient(l.addr, l.key)
	create := l.writes[0]
	for i, id := range l.pages {
		l.reads = append(l.reads,
			c.request("GET", fmt.Sprintf("/v6/pages/load/%d?siteId=%s", i, l.site), ""),
			c.request("GET", "/v6/pages?includeOffline=true&siteId="+l.site+"&startingAfter="+id, ""))
		l.writes = append(l.writes, c.request("PATCH", "/v6/pages/"+id, fmt.Sprintf(`{"title":"Title %s"}`, blank)))
	}
	l.writes = append(l.writes, slices.Repeat([][]byte{create}, len(l.pages)-1)...)
	l.writing = 0.4
}

// tally counts responses.
type tally struct {
	good    int64 // 2xx
	created int64 // of these, 201
	written int64 // of the good ones, writes before the load's end
	after   int64 // of the good ones, those after the load's end
	refused int64 // 429 or 503, with Retry-After
	wrong   int64 // any other response
	broken  int64 // no response
	failed  int64 // of all responses, those with 5xx

	took  []time.Duration // of good responses
	first string          // the first wrong or broken one
}

func (t *tally) sent() int64 { return t.good + t.refused + t.wrong + t.broken }

func (t *tally) add(other tally) {
	t.good += other.good
	t.created += other.created
	t.written += other.written
	t.after += other.after
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
		t.remember("no response: %v", err)
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

func (t *tally) slowest() time.Duration { return slices.Max(append(t.took, 0)) }

func (t *tally) remember(format string, args ...any) {
	if t.first == "" {
		t.first = fmt.Sprintf(format, args...)
	}
}

// during sends for some time, at a rate or, with 0, in a closed loop; see start.
func (l *load) during(t *trial, connections int, rate float64, d time.Duration) tally {
	l.end = time.Now().Add(d)
	defer func() { l.end = time.Time{} }()
	_, stop := l.start(t, connections, rate)
	t.sleep(d)
	return stop()
}

// start sends until it is stopped, and counts what was sent so far. With a rate,
// so many requests are sent each second, on any connection that does not wait for
// a response. With 0, each connection sends as soon as it has its response.
func (l *load) start(t *trial, connections int, rate float64) (sent *atomic.Int64, stop func() tally) {
	sent = new(atomic.Int64)
	var stopped atomic.Bool
	start := time.Now()
	next := func() bool {
		n := sent.Add(1)
		if rate > 0 {
			time.Sleep(time.Duration(float64(n)/rate*float64(time.Second)) - time.Since(start))
		}
		return !stopped.Load()
	}
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
	return sent, func() tally {
		stopped.Store(true)
		workers.Wait()
		return all
	}
}

// count returns how many pages there are of those that the load created.
func (l *load) count() (pages int) {
	c := newClient(l.addr, l.key)
	defer c.close()
	c.list("/v6/pages?pathPrefix=/new/&siteId="+l.site, func(some []resource) bool {
		pages += len(some)
		return true
	})
	return pages
}

func (l *load) connection(t *trial, rng *rand.Rand, next func() bool) (mine tally) {
	c := newClient(l.addr, "") // the requests have the key
	c.discard = true
	if l.timeout > 0 {
		c.timeout = l.timeout
	}
	defer c.close()
	for n := 0; next() && t.ctx.Err() == nil; n++ {
		writes := len(l.reads) == 0 || rng.Float64() < l.writing
		var request []byte
		if writes {
			number := fmt.Appendf(nil, "%0*d", len(blank), l.made.Add(1))
			request = bytes.Replace(l.writes[rng.IntN(len(l.writes))], []byte(blank), number, 1)
		} else {
			request = l.reads[rng.IntN(len(l.reads))]
		}
		if l.reconnect && n%2 == 0 {
			c.close()
		}
		start := time.Now()
		a, err := c.send(request)
		now := time.Now()
		mine.note(a, err, now.Sub(start))
		if err != nil || a.status/100 != 2 {
			continue
		}
		if !l.end.IsZero() && now.After(l.end) {
			mine.after++
		} else if writes {
			mine.written++
		}
	}
	return mine
}

// p99 is the time within which 99 of 100 requests were done.
func p99(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[len(sorted)*99/100]
}

// ms is a duration as figures show it.
func ms(d time.Duration) float64 {
	return float64(d.Round(100*time.Microsecond)) / float64(time.Millisecond)
}
