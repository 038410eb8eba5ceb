package main

// trail reads the audit trail and compares it with what the writers know.
type trail struct {
	client *client
	sites  []string
	seen   map[string]bool // entries
	rows   int
}

// fresh returns the entries that were not there the last time.
func (a *trail) fresh() (entries []resource) {
	for _, site := range a.sites {
		a.client.list("/v2/audit?siteId="+site, func(page []resource) bool {
			known := 0
			for _, e := range page {
				if a.seen[e.ID] {
					known++
					continue
				}
				a.seen[e.ID] = true
				entries = append(entries, e)
			}
			// Entries of the same time may be in another order than their writes:
			// only a whole page of known ones is the end.
			return known < len(page)
		})
	}
	a.rows += len(entries)
	return entries
}

// check compares the new entries with the writers' records: each write must have
// an entry for each resource, and each entry a write. It returns how many were
// missing and how many too many.
func (a *trail) check(t *trial, writers []*writer) (missing, surplus int) {
	byRequest := map[string][]string{} // resources
	for _, e := range a.fresh() {
		byRequest[e.RequestID] = append(byRequest[e.RequestID], e.Resource.ID)
	}
	acknowledged := map[string]bool{}
	for _, w := range writers {
		for _, r := range w.records {
			acknowledged[r.requestID] = true
		}
	}
	// The entries of requests without a response, by resource.
	unanswered := map[string]int{}
	for request, ids := range byRequest {
		for _, id := range ids {
			if !acknowledged[request] {
				unanswered[id]++
			}
		}
	}
	for _, w := range writers {
		for _, r := range w.records {
			ids := byRequest[r.requestID]
			if r.unseen || (r.retried && len(ids) == 0) {
				ids = nil
				for _, id := range r.resources {
					for ; unanswered[id] > 0; unanswered[id]-- {
						ids = append(ids, id)
					}
				}
			}
			lacking, excess := compare(r.resources, ids)
			missing, surplus = missing+lacking, surplus+excess
			t.want(lacking+excess == 0, "audit: a write of %v has entries of %v", r.resources, ids)
		}
		w.records = nil
	}
	for id, n := range unanswered {
		surplus += n
		t.want(n == 0, "audit: %d entries of resource %s, of which no write was seen", n, id)
	}
	return missing, surplus
}

// compare counts what is missing from a list and what it has too many.
func compare(want, got []string) (missing, surplus int) {
	count := map[string]int{}
	for _, id := range want {
		count[id]++
	}
	for _, id := range got {
		count[id]--
	}
	for _, n := range count {
		missing, surplus = missing+max(0, n), surplus+max(0, -n)
	}
	return missing, surplus
}
