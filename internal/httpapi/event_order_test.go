package httpapi_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/pgtest"
	"galley/internal/sqlstore"
)

// lateCommits delays each commit that records something, by another time each, so that
// transactions overtake each other.
const lateCommits = `create function late() returns trigger language plpgsql as $$ begin perform pg_sleep(random() * 0.06); return null; end $$;
	create constraint trigger late after insert on audit_entry deferrable initially deferred for each row execute function late();`

// Every walk, on any node, meets every committed change exactly once, in the order of the
// commits of a site, while 32 writers write to 8 sites.
func TestWalksMeetEveryEventOnce(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
		walkWhileWriting(t, newSystem(t, store, err))
	})
	for name, setup := range map[string]string{"postgres": "", "late commits": lateCommits} {
		t.Run(name, func(t *testing.T) {
			database := pgtest.URL(t)
			var nodes []*system
			for range 3 {
				store, err := sqlstore.OpenPostgres(database, nil)
				nodes = append(nodes, newSystem(t, store, err))
				nodes[len(nodes)-1].key, nodes[len(nodes)-1].first = nodes[0].key, nodes[0].first
			}
			db, err := sql.Open("pgx", database)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.ExecContext(t.Context(), setup); err != nil {
				t.Fatal(err)
			}
			walkWhileWriting(t, nodes...)
		})
	}
}

const (
	writersAtOnce = 32
	sitesWritten  = 8
	writesEach    = 12
)

// answered is a write that was answered, which is one event.
type answered struct {
	request, site string
	began, ended  time.Time
}

func walkWhileWriting(t *testing.T, nodes ...*system) {
	first := nodes[0]
	var sites, pages []string
	for i := range sitesWritten {
		site, _ := first.newSite(t)
		sites, pages = append(sites, site), append(pages, first.newPage(t, site, fmt.Sprintf("/shared-%d", i)))
	}
	start := first.events(t, "")
	cursor := start[len(start)-1].ID

	done, stop := context.WithCancel(t.Context())
	defer stop()
	var walking sync.WaitGroup
	walks := make([][]event, 6)
	filters := make([]string, len(walks))
	for i := range walks {
		if i >= 4 {
			filters[i] = "&siteId=" + sites[i]
		}
		walking.Go(func() {
			walks[i] = nodes[i%len(nodes)].walk(done, t, cursor, fmt.Sprintf("limit=%d%s", 5+18*i, filters[i]))
		})
	}
	var streams []*stream
	for i := range 4 {
		streams = append(streams, nodes[i%len(nodes)].stream(t, "startingAfter="+cursor))
	}
	writes := writeToSites(t, nodes, sites, pages)
	for _, node := range nodes { // a client sees what it wrote, on any node
		last := node.events(t, "startingAfter="+cursor)
		if len(last) != len(writes) {
			t.Errorf("a node lists %d events after %d writes", len(last), len(writes))
		}
	}
	stop()
	walking.Wait()

	place := map[string]int{} // of a request in the first walk
	for i, e := range walks[0] {
		place[*e.RequestID] = i
	}
	for i, walk := range walks {
		site := strings.TrimPrefix(filters[i], "&siteId=")
		checkWalk(t, fmt.Sprintf("walk %d", i), walk, site, writes)
		if !slices.IsSortedFunc(walk, func(a, b event) int { return place[*a.RequestID] - place[*b.RequestID] }) {
			t.Errorf("walk %d has another order than the first", i)
		}
	}
	for i, st := range streams {
		for n, want := range walks[0] {
			if got := st.next(t, 10*time.Second); got.id != want.ID {
				t.Fatalf("event %d of stream %d is %s, want %s", n, i, got.id, want.ID)
			}
		}
	}
	checkChains(t, first, pages)
}

// checkWalk checks that a walk has each write once, and after those that were answered
// before it began.
func checkWalk(t *testing.T, name string, walk []event, site string, writes []answered) {
	t.Helper()
	place := map[string]int{}
	for i, e := range walk {
		if _, twice := place[*e.RequestID]; twice {
			t.Errorf("%s has %s twice", name, *e.RequestID)
		}
		place[*e.RequestID] = i
	}
	expected, overtaken := 0, 0
	for _, a := range writes {
		if site != "" && a.site != site {
			continue
		}
		expected++
		at, met := place[a.request]
		if !met {
			t.Errorf("%s lacks %s", name, a.request)
			continue
		}
		for _, b := range writes {
			if a.site == b.site && a.ended.Before(b.began) && at > place[b.request] {
				overtaken++
			}
		}
	}
	if overtaken > 0 {
		t.Errorf("%s has %d pairs of writes of a site in the wrong order", name, overtaken)
	}
	if len(walk) != expected {
		t.Errorf("%s has %d events, want %d", name, len(walk), expected)
	}
}

// checkChains checks that the events of a page that all write to follow each other: each
// one begins with what the one before left.
func checkChains(t *testing.T, s *system, pages []string) {
	t.Helper()
	states := map[string]string{}
	links := 0
	for after := int64(0); ; {
		events, err := s.store.Events(t.Context(), cms.EventQuery{WorkspaceID: s.first.WorkspaceID, After: after, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if id := e.ResourceID.String(); e.Kind == cms.KindPage && slices.Contains(pages, id) {
				if was, known := states[id]; known && was != string(e.Before) {
					t.Errorf("event %d of page %s begins with\n%s\nafter\n%s", e.Position, id, e.Before, was)
				}
				states[id] = string(e.After)
				links++
			}
			after = e.Position
		}
		if len(events) < 100 {
			break
		}
	}
	if links < 4*len(pages) {
		t.Errorf("%d pages have %d events", len(pages), links)
	}
}

// writeToSites sends writes by many clients to all nodes.
func writeToSites(t *testing.T, nodes []*system, sites, pages []string) (all []answered) {
	t.Helper()
	var mu sync.Mutex
	var writing sync.WaitGroup
	for w := range writersAtOnce {
		writing.Go(func() {
			node, site, shared := nodes[w%len(nodes)], sites[w%sitesWritten], pages[w%sitesWritten]
			own := ""
			for n := range writesEach {
				method, target, body := "PATCH", "/v6/pages/"+shared, fmt.Sprintf(`{"title":"%d of %d"}`, n, w)
				switch {
				case n == 0:
					method, target, body = "POST", "/v6/pages", fmt.Sprintf(`{"siteId":"%s","pathname":"/p-%d"}`, site, w)
				case n%3 == 1:
					target = "/v6/pages/" + own
				case n == 8:
					method, target, body = "POST", "/v2/sites/"+site+"/rotate-key", ""
				}
				a := answered{site: site, began: time.Now()}
				r := node.quietly(t, method, target, body)
				a.ended, a.request = time.Now(), r.header.Get("X-Request-Id")
				if n == 0 {
					own = r.str(t, "id")
				}
				mu.Lock()
				all = append(all, a)
				mu.Unlock()
			}
		})
	}
	writing.Wait()
	return all
}

// quietly sends a request that has to succeed, without holding it against the document.
func (s *system) quietly(t *testing.T, method, target, body string) reply {
	for {
		req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, s.url+target, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return reply{}
		}
		req.Header.Set("X-Api-Key", s.key)
		req.Header.Set("Content-Type", "application/json")
		r, err := s.roundTrip(req)
		if err == nil && r.status == 503 {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if err != nil || r.status >= 300 {
			t.Errorf("%s %s: %d %s %v", method, target, r.status, r.body, err)
		}
		return r
	}
}

// walk goes on from a cursor until done, and then to the end.
func (s *system) walk(done context.Context, t *testing.T, cursor, query string) (walk []event) {
	for last := false; ; {
		finished := done.Err() != nil
		r := s.quietly(t, "GET", "/v2/events?"+query+"&startingAfter="+cursor, "")
		var list struct{ Data []event }
		if err := json.Unmarshal(r.body, &list); err != nil {
			t.Error(err)
			return walk
		}
		if walk = append(walk, list.Data...); len(list.Data) > 0 {
			cursor = list.Data[len(list.Data)-1].ID
			continue
		}
		if last {
			return walk
		}
		last = finished
	}
}
