package main

import (
	"fmt"
	"time"
)

// sample is a site with a page, to see whether servers read and write.
type sample struct {
	trial      *trial
	site, page string
}

func newSample(t *trial, addr string) (sample, error) {
	c := newClient(addr, t.key)
	defer c.close()
	site, err := c.newSite("Sample")
	if err != nil {
		return sample{}, err
	}
	page, err := c.newPage(site, "/sample", "Read over and over")
	return sample{t, site, page}, err
}

// reader reads the page from one server, over and over: by turns by its id,
// which may be answered from memory, and in a list that nobody asked for before.
type reader struct {
	stopping chan struct{}
	stopped  chan tally
}

func (s sample) startReader(addr string) *reader {
	r := &reader{make(chan struct{}), make(chan tally)}
	c, rng := newClient(addr, s.trial.key), s.trial.random()
	go func() {
		defer c.close()
		var mine tally
		for n := 0; ; n++ {
			address := "/v6/pages/" + s.page
			if n%2 == 0 {
				address = fmt.Sprintf("/v6/pages?siteId=%s&pathPrefix=/%d", s.site, rng.Uint64())
			}
			start := time.Now()
			a, err := c.do("GET", address, "")
			mine.note(a, err, time.Since(start))
			select {
			case <-r.stopping:
				r.stopped <- mine
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return r
}

// stop returns what the reader saw.
func (r *reader) stop() tally {
	close(r.stopping)
	return <-r.stopped
}

// probe writes and reads until both have succeeded, and takes no for an answer
// only if it says when to try again.
func (s sample) probe(addr string) error {
	t := s.trial
	c := newClient(addr, t.key)
	defer c.close()
	pathname := fmt.Sprintf("/probe/%d", t.random().Uint64())
	requests := [][]byte{
		c.request("POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":%q}`, s.site, pathname), "Idempotency-Key: "+pathname),
		c.request("GET", "/v6/pages/"+s.page, ""),
	}
	for _, request := range requests {
		for {
			a, err := c.send(request)
			if err != nil {
				return fmt.Errorf("%w: a server that lives did not answer: %w", errUnexpected, err)
			}
			if a.status/100 == 2 {
				break
			}
			if a.status != 503 || a.retryAfter == "" {
				return fmt.Errorf("%w: status %d, Retry-After %q: %s", errUnexpected, a.status, a.retryAfter, a.body)
			}
			if t.ctx.Err() != nil {
				return t.ctx.Err()
			}
			t.sleep(10 * time.Millisecond)
		}
	}
	return nil
}
