package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// figure is what one measurement of an operation found.
type figure struct {
	Rate     float64       `json:"rate"`     // requests a second, pages for a batch
	CPU      time.Duration `json:"cpu"`      // of the service, for each of them
	Database time.Duration `json:"database"` // of the database beside it, likewise
	Requests int           `json:"requests"`
	latency
}

// latency is how long requests took: half of them at most, and all but one in
// a hundred.
type latency struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
}

func latencyOf(took []time.Duration) latency {
	slices.Sort(took)
	return latency{P50: took[len(took)/2], P99: took[len(took)*99/100]}
}

// lengths say how long things are measured.
type lengths struct{ warm, measured time.Duration }

// subject is what is measured: processes under an operation.
type subject struct {
	name              string
	service, database []int
	items             int // that one request is about
	different         int // requests until it has been asked for everything that it keeps; or 0
	driver            func() (driver, error)
}

func subjectOf(c contestant, op operation) subject {
	s := subject{
		name: c.name() + ", " + op.name, service: c.service(), database: c.database(), items: op.items(),
		driver: func() (driver, error) { return c.driver(op) },
	}
	if g, ok := c.(*galley); ok {
		switch {
		case op.isGet():
			s.different = len(g.loaded.pages)
		case op.action == list:
			// Every page once, and then every order of its site; with several nodes
			// it takes a while until what was read is kept.
			s.different = 12 * len(g.loaded.pages) / listSize
		}
	}
	return s
}

// measure loads a subject and tells what that took.
func (b *bench) measure(ctx context.Context, s subject) (f figure, err error) {
	err = b.undisturbed(ctx, s.name, slices.Concat(s.service, s.database), func() (span, error) {
		var during span
		f, during, err = b.try(ctx, s)
		return during, err
	})
	return f, err
}

func (b *bench) try(ctx context.Context, s subject) (f figure, during span, err error) {
	d, err := s.driver()
	if err != nil {
		return f, during, err
	}
	defer d.close()
	var took []time.Duration
	for sent := 0; sent == 0 || sent < s.different; sent += len(took) {
		if took, err = d.run(ctx, b.lengths.warm); err != nil {
			return f, during, err
		}
	}
	during, err = spanOf(func() error {
		took, err = d.run(ctx, b.lengths.measured)
		return err
	})
	if err != nil {
		return f, during, err
	}
	if len(took) == 0 {
		return f, during, errors.New("nothing was answered")
	}
	items := len(took) * s.items
	return figure{
		Rate:     float64(items) / during.length().Seconds(),
		CPU:      during.spent(s.service) / time.Duration(items),
		Database: during.spent(s.database) / time.Duration(items),
		Requests: len(took),
		latency:  latencyOf(took),
	}, during, nil
}

// undisturbed measures something, and once more when the machine did something
// else meanwhile than the given processes asked for.
func (b *bench) undisturbed(ctx context.Context, what string, processes []int, measure func() (span, error)) error {
	for end := time.Now().Add(quietWithin); ; {
		if !b.force {
			if err := waitForQuiet(ctx); err != nil {
				return err
			}
		}
		during, err := measure()
		if err == nil {
			if err = during.disturbance(processes); err == nil || b.force {
				return nil
			}
		} else if !errors.Is(err, errRefused) {
			return fmt.Errorf("%s: %w", what, err)
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s: %w", what, err)
		}
		b.status("%s: once more, since %v", what, err)
	}
}

// isSelf tells whether processes are this one: whoever works in it has the
// other contestants below it.
func isSelf(pids []int) bool { return slices.Contains(pids, os.Getpid()) }
