package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// contestant is one of those that are measured side by side.
type contestant interface {
	name() string
	// start makes it ready for requests, with what it was loaded with before.
	start(ctx context.Context) error
	// load puts the dataset in, once, while it runs.
	load(ctx context.Context, data dataset) error
	// stop ends it and keeps its data.
	stop() error
	// service and database are its processes: those whose CPU time is compared,
	// and those that it keeps its data in.
	service() []int
	database() []int
	// does tells whether an operation makes sense on it.
	does(op operation) bool
	// driver loads it with an operation.
	driver(op operation) (driver, error)
}

// driver runs an operation again and again for some time, and tells how long
// each time took. It fails on any answer that is not the expected one.
type driver interface {
	run(ctx context.Context, length time.Duration) ([]time.Duration, error)
	close()
}

// workers is a driver without a server: goroutines that do the work themselves.
type workers struct {
	count int
	do    func(ctx context.Context, worker int, r *rand.Rand) error
	end   func()
}

func (w workers) close() { w.end() }

func (w workers) run(ctx context.Context, length time.Duration) ([]time.Duration, error) {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		all  []time.Duration
		errs []error
		end  = time.Now().Add(length)
	)
	for i := range w.count {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), rand.Uint64()))
			var took []time.Duration
			var err error
			for start := time.Now(); err == nil && start.Before(end); {
				err = w.do(ctx, i, r)
				answered := time.Now()
				took = append(took, answered.Sub(start))
				start = answered
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return all, errors.Join(errs...)
}

// headed appends a request line and the headers that every request has.
func headed(dst []byte, method, target, headers string) []byte {
	dst = append(dst, method...)
	dst = append(dst, ' ')
	dst = append(dst, target...)
	dst = append(dst, " HTTP/1.1\r\nHost: bench\r\n"...)
	return append(dst, headers...)
}

// request appends a request with a body, or without one.
func request(dst []byte, method, target, headers, body string) []byte {
	dst = headed(dst, method, target, headers)
	if body != "" {
		dst = fmt.Appendf(dst, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	dst = append(dst, "\r\n"...)
	return append(dst, body...)
}
