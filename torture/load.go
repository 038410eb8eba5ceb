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

// load is what a crowd of fast clients asks for, built beforehand, so that
// sending costs little: nine reads of a page to one new page, unless it is told
// otherwise.
type load struct {
	addr    string
	key     string
	site    string
	pages   []string
	reads   [][]byte
	writes  []form
	writing float64 // the share of writes
	made    atomic.Int64
	end     time.Time // when answers begin to be late; zero: never
}

// form is a request with room for a number.
type form struct {
	text   []byte
	digits int // where the number is
}

func newForm(request []byte) form {
	return form{request, bytes.Index(request, []byte(blank))}
}

// fill is the request with a number.
func (f form) fill(number int64) []byte {
	text := bytes.Clone(f.text)
	copy(text[f.digits:], fmt.Sprintf("%0*d", len(blank), number))
	return text
}

const blank = "000000000000"

const loadPages = 500

// newLoad makes a site with pages to read.
func newLoad(addr, key string) (*load, error) {
	c := newClient(addr, key)
	defer c.close()
	site, err := c.newSite("Load")
	if err != nil {
		return nil, err
	}
	l := &load{addr: addr, key: key, site: site, writing: 0.1}
	for i := range loadPages {
		id, err := c.newPage(site, fmt.Sprintf("/load/%d", i), "A page like many others")
		if err != nil {
			return nil, err
		}
		l.pages = append(l.pages, id)
		l.reads = append(l.reads, c.request("GET", "/v6/pages/"+id, ""))
	}
	l.writes = []form{newForm(c.request("POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/new/%s","title":"A new page"}`, site, blank)))}
	return l, nil
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
		l.writes = append(l.writes, newForm(c.request("PATCH", "/v6/pages/"+id, fmt.Sprintf(`{"title":"Title %s"}`, blank))))
	}
	l.writes = append(l.writes, slices.Repeat([]form{create}, len(l.pages)-1)...)
	l.writing = 0.4
}

// tally is what came back.
type tally struct {
	good    int64 // 2xx
	created int64 // of these, 201
	written int64 // of the good ones, writes that came before the load's end
	after   int64 // of the good ones, those that came after the load's end
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

func (t *tally) slowest() (longest time.Duration) {
	for _, took := range t.took {
		longest = max(longest, took)
	}
	return longest
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
	l.end = start.Add(d)
	defer func() { l.end = time.Time{} }()
	return l.each(t, connections, func() bool {
		due := time.Duration(float64(tickets.Add(1)) / rate * float64(time.Second))
		time.Sleep(due - time.Since(start))
		return time.Since(start) < d && due < d
	})
}

// during sends for as long as something else goes on, which is told how many
// requests were sent so far. Rate is how many a second there are; 0: each
// connection sends its next one as soon as the last was answered.
func (l *load) during(t *trial, connections int, rate float64, work func(sent *atomic.Int64) error) (tally, error) {
	var sent atomic.Int64
	start, done, back := time.Now(), make(chan struct{}), make(chan tally, 1)
	go func() {
		back <- l.each(t, connections, func() bool {
			n := sent.Add(1)
			if rate > 0 {
				time.Sleep(time.Duration(float64(n)/rate*float64(time.Second)) - time.Since(start))
			}
			select {
			case <-done:
				return false
			default:
				return true
			}
		})
	}()
	err := work(&sent)
	close(done)
	return <-back, err
}

// count is how many pages there are of those that the load made.
func (l *load) count() (pages int, err error) {
	c := newClient(l.addr, l.key)
	defer c.close()
	for after := ""; ; {
		var list struct {
			Data    []resource
			HasMore bool
		}
		if err := c.must(200, "GET", "/v6/pages?pathPrefix=/new/&limit=100&siteId="+l.site+after, "", &list); err != nil {
			return pages, err
		}
		pages += len(list.Data)
		if !list.HasMore {
			return pages, nil
		}
		after = "&startingAfter=" + list.Data[len(list.Data)-1].ID
	}
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
	for next() && t.ctx.Err() == nil {
		request := l.reads[rng.IntN(len(l.reads))]
		writes := rng.Float64() < l.writing
		if writes {
			request = l.writes[rng.IntN(len(l.writes))].fill(l.made.Add(1))
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
