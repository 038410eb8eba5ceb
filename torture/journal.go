package main

import (
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"
)

// journal has all writes of a writer since its start, in order, from which the
// state of the writer's pages after each write follows.
type journal struct {
	start    map[*page]state
	writes   []*write
	requests []string // their ids
	took     []time.Duration
	count    atomic.Int64 // of the writes, for other goroutines
}

// keepJournal starts a journal.
func (w *writer) keepJournal() {
	w.journal = &journal{start: map[*page]state{}}
	for _, p := range w.pages {
		w.journal.start[p] = p.is
	}
}

func (j *journal) add(done *write, requestID string, took time.Duration) {
	if j == nil {
		return
	}
	j.writes = append(j.writes, done)
	j.requests = append(j.requests, requestID)
	j.took = append(j.took, took)
	j.count.Add(1)
}

// replica is what a copied store has of a site.
type replica struct {
	client  *client
	pages   map[string]state // by pathname
	audited map[string]bool  // requests
}

// match compares a replica with the journal. A writer does one write after the
// other, so a consistent replica has all up to one write, in every table, and
// nothing of later ones. It returns how many writes of the journal it has.
func (w *writer) match(r replica) (int, error) {
	n := 0
	for n < len(w.journal.requests) && r.audited[w.journal.requests[n]] {
		n++
	}
	for i, request := range w.journal.requests[n:] {
		if r.audited[request] {
			return n, fmt.Errorf("the audit trail has write %d and not write %d", n+i, n)
		}
	}
	want := maps.Clone(w.journal.start)
	for _, done := range w.journal.writes[:n] {
		for _, c := range done.changes {
			want[c.page] = c.to
		}
	}
	known := map[string]bool{}
	for _, p := range w.pages {
		known[p.pathname] = true
		if r.pages[p.pathname] != want[p] {
			return n, fmt.Errorf("%s must be %+v after %d writes, and is %+v", p.pathname, want[p], n, r.pages[p.pathname])
		}
	}
	for pathname := range r.pages {
		if strings.HasPrefix(pathname, w.prefix()) && !known[pathname] {
			return n, fmt.Errorf("no writer made %s", pathname)
		}
	}
	return n, w.matchPathnames(r.client, want)
}

// matchPathnames looks up the pages of the journal by their pathnames, which are
// in a table of their own.
func (w *writer) matchPathnames(c *client, want map[*page]state) error {
	for _, done := range w.journal.writes {
		for _, change := range done.changes {
			status := 404
			if want[change.page].exists {
				status = 200
			}
			if a := must(c.do("GET", "/v6/pages"+change.page.pathname+"?siteId="+w.site, "")); a.status != status {
				return fmt.Errorf("%s: status %d, want %d: %s", change.page.pathname, a.status, status, a.body)
			}
		}
	}
	return nil
}

// readReplica reads all of a site.
func readReplica(c *client, site string) replica {
	r := replica{client: c, pages: pagesOf(c, site), audited: map[string]bool{}}
	for _, e := range (&trail{client: c, sites: []string{site}, seen: map[string]bool{}}).fresh() {
		r.audited[e.RequestID] = true
	}
	return r
}

// pagesOf reads all pages of a site, by pathname.
func pagesOf(c *client, site string) map[string]state {
	pages := map[string]state{}
	c.list("/v6/pages?siteId="+site+"&versionRef=ref:draft", func(some []resource) bool {
		for _, p := range some {
			pages[p.Pathname] = state{exists: true, title: p.Title}
		}
		return true
	})
	c.list("/v6/pages?siteId="+site+"&versionRef=ref:live", func(some []resource) bool {
		for _, p := range some {
			s := pages[p.Pathname]
			s.live = p.Title
			pages[p.Pathname] = s
		}
		return true
	})
	return pages
}
