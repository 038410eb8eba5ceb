package main

import "fmt"

// trail reads the audit trail and holds it against what the writers know.
type trail struct {
	client *client
	sites  []string
	seen   map[string]bool // entries
	rows   int
}

type auditEntry struct {
	ID        string   `json:"id"`
	RequestID string   `json:"requestId"`
	Operation string   `json:"operation"`
	Resource  resource `json:"resource"`
}

// fresh returns the entries that were not there the last time.
func (a *trail) fresh() ([]auditEntry, error) {
	var entries []auditEntry
	for _, site := range a.sites {
		for after := ""; ; {
			var list struct {
				Data    []auditEntry `json:"data"`
				HasMore bool         `json:"hasMore"`
			}
			if err := a.client.must(200, "GET", "/v2/audit?limit=100&siteId="+site+after, "", &list); err != nil {
				return nil, err
			}
			known := 0
			for _, e := range list.Data {
				if a.seen[e.ID] {
					known++
					continue
				}
				a.seen[e.ID] = true
				entries = append(entries, e)
			}
			// Entries of one moment may come in another order than their
			// writes: only a whole page of known ones is the end.
			if !list.HasMore || known == len(list.Data) {
				break
			}
			after = "&startingAfter=" + list.Data[len(list.Data)-1].ID
		}
	}
	a.rows += len(entries)
	return entries, nil
}

// check holds the new entries against the writers' records: each write that was
// done has its entries, one for each resource, and each entry has its write. It
// returns how many were missing and how many too many.
func (a *trail) check(t *trial, writers []*writer) (missing, surplus int, err error) {
	entries, err := a.fresh()
	if err != nil {
		return 0, 0, err
	}
	byRequest := map[string][]string{} // resources
	for _, e := range entries {
		byRequest[e.RequestID] = append(byRequest[e.RequestID], e.Resource.ID)
	}
	acknowledged := map[string]bool{}
	for _, w := range writers {
		for _, r := range w.records {
			acknowledged[r.requestID] = true
		}
	}
	// What the requests did whose answers were cut off, by resource.
	unasked := map[string]int{}
	for request, ids := range byRequest {
		for _, id := range ids {
			if !acknowledged[request] {
				unasked[id]++
			}
		}
	}
	for _, w := range writers {
		for _, r := range w.records {
			ids := byRequest[r.requestID]
			if r.unseen || (r.retried && len(ids) == 0) {
				ids = nil
				for _, id := range r.resources {
					for ; unasked[id] > 0; unasked[id]-- {
						ids = append(ids, id)
					}
				}
			}
			lacking, excess := compare(r.resources, ids)
			missing, surplus = missing+lacking, surplus+excess
			if lacking+excess > 0 {
				t.problem("audit: a write of %v has entries of %v", r.resources, ids)
			}
		}
		w.records = nil
	}
	for id, n := range unasked {
		if n > 0 {
			surplus += n
			t.problem("audit: %d entries of resource %s, of which no write was seen", n, id)
		}
	}
	return missing, surplus, nil
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
		missing += max(0, n)
		surplus += max(0, -n)
	}
	return missing, surplus
}

// compareLists walks every page of a site, in draft and live, and holds the
// whole against the ledger: a page that nobody asked for is as wrong as one
// that is missing.
func compareLists(t *trial, c *client, site string, writers []*writer) (wrong int, err error) {
	for _, version := range []string{"ref:draft", "ref:live"} {
		want := map[string]string{}
		for _, w := range writers {
			for _, p := range w.pages {
				if w.site != site {
					break
				}
				if p.is.exists && version == "ref:draft" {
					want[p.pathname] = p.is.title
				}
				if p.is.live != "" && version == "ref:live" {
					want[p.pathname] = p.is.live
				}
			}
		}
		got, err := walk(c, site, version)
		if err != nil {
			return wrong, err
		}
		for pathname, title := range want {
			if got[pathname] != title {
				wrong++
				t.problem("%s: %s must have %q and has %q", version, pathname, title, got[pathname])
			}
			delete(got, pathname)
		}
		for pathname := range got {
			wrong++
			t.problem("%s: nobody made %s", version, pathname)
		}
	}
	return wrong, nil
}

// walk reads a whole list: titles by pathname.
func walk(c *client, site, version string) (map[string]string, error) {
	titles := map[string]string{}
	for after := ""; ; {
		var list struct {
			Data []struct {
				resource
				Pathname string `json:"pathname"`
			} `json:"data"`
			HasMore bool `json:"hasMore"`
		}
		if err := c.must(200, "GET", fmt.Sprintf("/v6/pages?limit=100&siteId=%s&versionRef=%s%s", site, version, after), "", &list); err != nil {
			return nil, err
		}
		for _, p := range list.Data {
			titles[p.Pathname] = p.Title
		}
		if !list.HasMore {
			return titles, nil
		}
		after = "&startingAfter=" + list.Data[len(list.Data)-1].ID
	}
}
