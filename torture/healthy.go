package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// healthy is a client that does nothing wrong and must not notice what others
// do: a steady rate of reads and writes, half of them on connections that it
// keeps and half on new ones.
type healthy struct {
	addr, key, site string

	sent, failed atomic.Int64
	mu           sync.Mutex
	took         []time.Duration
	causes       []string
	stopping     chan struct{}
	workers      sync.WaitGroup
}

// healthyWorkers send one request each 1/10 s.
const (
	healthyWorkers = 10
	healthyEvery   = 100 * time.Millisecond
)

func startHealthy(addr, key, site string) *healthy {
	h := &healthy{addr: addr, key: key, site: site, stopping: make(chan struct{})}
	for worker := range healthyWorkers {
		h.workers.Go(func() { h.work(worker) })
	}
	return h
}

func (h *healthy) stop() {
	close(h.stopping)
	h.workers.Wait()
}

func (h *healthy) work(worker int) {
	c := newClient(h.addr, h.key)
	c.timeout = 10 * time.Second
	defer c.close()
	ticker := time.NewTicker(healthyEvery)
	defer ticker.Stop()
	page := ""
	for n := 0; ; n++ {
		select {
		case <-h.stopping:
			return
		case <-ticker.C:
		}
		if n%2 == 0 {
			c.close()
		}
		start := time.Now()
		err := h.request(c, worker, n, &page)
		h.note(time.Since(start), err)
	}
}

// request takes turns: a new page, a change of it, and two reads.
func (h *healthy) request(c *client, worker, n int, page *string) error {
	if n%4 == 0 || *page == "" {
		id, err := c.newPage(h.site, fmt.Sprintf("/healthy/%d/%d", worker, n), "Healthy")
		*page = id
		return err
	}
	switch n % 4 {
	case 1:
		return c.must(200, "PATCH", "/v6/pages/"+*page, `{"title":"Changed"}`, nil)
	case 2:
		return c.must(200, "GET", "/v6/pages/"+*page, "", nil)
	default:
		return c.must(200, "GET", "/v6/pages?pathPrefix=/healthy&siteId="+h.site, "", nil)
	}
}

func (h *healthy) note(took time.Duration, err error) {
	h.sent.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took = append(h.took, took)
	if err != nil {
		h.failed.Add(1)
		h.causes = append(h.causes, err.Error())
	}
}

// firstFailure tells what went wrong first.
func (h *healthy) firstFailure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.causes) == 0 {
		return nil
	}
	return errors.New(h.causes[0])
}

// p99 is the time that one in a hundred took longer than.
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
