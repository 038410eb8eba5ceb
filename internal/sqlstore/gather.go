package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"galley/internal/cms"
)

// A small read takes PostgreSQL less time than the way there and back and the
// start of a statement. So reads of one kind that wait for each other share a
// statement, as writers on SQLite share a commit: one is under way at a time, and
// who comes meanwhile is in the next one. That one begins when all who are in it
// have come, so nobody is told of what was before.

const (
	// roundPatience is how long a statement is waited for before the next one
	// begins beside it. Two at a time would be smaller, and cost PostgreSQL more
	// for each key.
	roundPatience = 10 * time.Millisecond
	maxRounds     = 4  // of one kind at a time, when they are slow
	maxRoundSize  = 32 // keys
	// maxRoundTime is how long a statement may take that several wait for. One
	// that meets a connection on which nothing comes any more holds up others.
	maxRoundTime = 5 * time.Second
)

var errNotRead = errors.New("a shared read did not end")

// gathering reads what keys lead to.
type gathering[K comparable, V any] struct {
	read func(ctx context.Context, keys []K) (map[K]V, error)

	mu      sync.Mutex
	running int
	queue   []*round[K, V] // of those that wait for one to end
}

// round is one statement, for several who wait.
type round[K comparable, V any] struct {
	keys   []K
	shared bool
	turn   chan struct{} // closed when it may begin; nil: at once
	late   bool          // it would have begun if there had been a place
	done   chan struct{} // closed when it has ended
	found  map[K]V
	err    error
	panics any // what the read ended with, if not by itself
}

// find returns what a key leads to. Nobody fails because of others: who shared
// a statement that failed reads alone.
func (g *gathering[K, V]) find(ctx context.Context, key K) (V, error) {
	r, leads := g.join(key)
	switch {
	case leads && r.turn == nil:
		g.run(ctx, r) // nobody joins what has begun
	case leads:
		go func() { // others need it when the caller leaves
			g.await(r)
			g.run(ctx, r)
		}()
	}
	var none V
	select {
	case <-r.done:
	case <-ctx.Done():
		return none, cms.Unavailable(ctx.Err())
	}
	if leads && r.panics != nil {
		panic(r.panics)
	}
	if r.err == nil || !r.shared {
		return r.found[key], r.err
	}
	found, err := g.read(ctx, []K{key})
	return found[key], err
}

// join takes part in a round that has not begun, and tells whether the caller is
// the one to run it.
func (g *gathering[K, V]) join(key K) (r *round[K, V], leads bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := len(g.queue); n > 0 && len(g.queue[n-1].keys) < maxRoundSize {
		r = g.queue[n-1]
		r.shared = true
		if !slices.Contains(r.keys, key) {
			r.keys = append(r.keys, key)
		}
		return r, false
	}
	r = &round[K, V]{keys: []K{key}, done: make(chan struct{})}
	if g.running == 0 {
		g.running++
	} else {
		r.turn = make(chan struct{})
		g.queue = append(g.queue, r)
	}
	return r, true
}

// await waits until a round may begin.
func (g *gathering[K, V]) await(r *round[K, V]) {
	patience := time.NewTimer(roundPatience)
	defer patience.Stop()
	select {
	case <-r.turn:
		return
	case <-patience.C:
	}
	if !g.overtake(r) {
		<-r.turn // never long: those before it end
	}
}

// overtake lets a round begin beside those under way, and tells whether it could.
func (g *gathering[K, V]) overtake(r *round[K, V]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.queue, r)
	if at < 0 || g.running == maxRounds {
		r.late = true
		return false
	}
	g.queue = slices.Delete(g.queue, at, at+1)
	g.running++
	return true
}

func (g *gathering[K, V]) run(ctx context.Context, r *round[K, V]) {
	defer g.end(r)
	defer func() {
		if cause := recover(); cause != nil {
			r.panics = fmt.Sprintf("%v\n%s", cause, debug.Stack())
		}
	}()
	if r.shared { // others need it after the caller has left
		var cancel context.CancelFunc
		ctx, cancel = stayOn(ctx)
		defer cancel()
	}
	r.err = errNotRead // should it panic
	r.found, r.err = g.read(ctx, r.keys)
}

// end gives the round's place to the next one.
func (g *gathering[K, V]) end(r *round[K, V]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(r.done)
	if len(g.queue) == 0 || (g.running > 1 && !g.queue[0].late) { // those under way see to it
		g.running--
		return
	}
	close(g.queue[0].turn)
	g.queue = g.queue[1:]
}

// stayOn is a context that does not end when its caller leaves, but when a round
// has had its time.
func stayOn(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), maxRoundTime)
}
