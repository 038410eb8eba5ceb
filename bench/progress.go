package main

import (
	"fmt"
	"sync"
	"time"
)

// tellEvery is how often progress is told where lines stay.
const tellEvery = 15 * time.Second

// progress returns what tells how far a load has come, to be called with every
// part that is done, by anybody.
func (b *bench) progress(what string, done, total int) func(pages int) {
	var mu sync.Mutex
	start, from, told := time.Now(), done, time.Now()
	return func(pages int) {
		mu.Lock()
		defer mu.Unlock()
		done += pages
		text := progressText(done, total, float64(done-from)/time.Since(start).Seconds())
		if b.terminal {
			b.status("%s: %s", what, text)
			return
		}
		if time.Since(told) >= tellEvery {
			told = time.Now()
			b.line("%s: %s", what, text)
		}
	}
}

func progressText(done, total int, rate float64) string {
	left := time.Duration(float64(total-done) / rate * float64(time.Second))
	return fmt.Sprintf("%s of %s pages, %s, %s to go", count(done), count(total), rateText(rate), left.Round(time.Second))
}

// status shows what is being done, on a terminal.
func (b *bench) status(format string, args ...any) {
	if b.terminal {
		fmt.Printf("\r\033[K"+format, args...)
	}
}

// line shows what was found.
func (b *bench) line(format string, args ...any) {
	b.status("")
	fmt.Printf(format+"\n", args...)
}
