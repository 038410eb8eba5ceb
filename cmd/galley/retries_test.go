package main_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// oneNodeOrMore runs a test on one node with SQLite, which has one, and on
// several with PostgreSQL.
func oneNodeOrMore(t *testing.T, number int, test func(t *testing.T, nodes cluster)) {
	t.Run("sqlite", func(t *testing.T) { test(t, cluster{serve(t, nil, "--app-rate", "off")}) })
	t.Run("postgres", func(t *testing.T) { test(t, newCluster(t, number, "--app-rate", "off")) })
}

const (
	onceKeys  = 1000
	onceTwins = 20
)

// A request that is sent many times at once, to any node, happens once, and
// everyone gets the one answer. What is made here has no name that must be
// unique, so that nothing else could keep it from happening twice.
func TestManyTwinsOfManyRequestsHappenOnce(t *testing.T) {
	oneNodeOrMore(t, 3, func(t *testing.T, nodes cluster) {
		key := nodes[0].key(t)
		var underWay atomic.Int64
		begin := time.Now()
		flood(t, onceKeys, 4, func(n int) (reply, error) {
			checkTwins(t, nodes, key, n, &underWay)
			return reply{}, nil
		})
		t.Logf("%d keys x %d twins on %d nodes in %.1f s; %d times told to wait",
			onceKeys, onceTwins, len(nodes), time.Since(begin).Seconds(), underWay.Load())
		made := siteNames(t, nodes[0], key)
		for n := range onceKeys {
			if name := fmt.Sprintf("Site %d", n); made[name] != 1 {
				t.Errorf("%s was made %d times", name, made[name])
			}
		}
		if len(made) != onceKeys {
			t.Errorf("%d sites, want %d", len(made), onceKeys)
		}
	})
}

// checkTwins sends one request many times at once, each again for as long as
// another of them is under way.
func checkTwins(t *testing.T, nodes cluster, key string, n int, underWay *atomic.Int64) {
	t.Helper()
	body, name := fmt.Sprintf(`{"name":"Site %d"}`, n), fmt.Sprintf("key-%d", n)
	answers := make([]reply, onceTwins)
	var twins sync.WaitGroup
	for i := range onceTwins {
		twins.Go(func() {
			node := nodes[(n+i)%len(nodes)]
			for pause := 10 * time.Millisecond; ; pause *= 2 {
				r, err := node.ask(key, "POST", "/v2/sites", body, "Idempotency-Key", name)
				if err != nil {
					t.Errorf("key %d: %v", n, err)
					return
				}
				if r.status != 409 {
					answers[i] = r
					return
				}
				if !strings.Contains(r.body, "under way") {
					t.Errorf("key %d: %s", n, r.body)
					return
				}
				underWay.Add(1)
				time.Sleep(pause)
			}
		})
	}
	twins.Wait()
	for _, r := range answers {
		same := r.body == answers[0].body && r.header.Get("Location") == answers[0].header.Get("Location") &&
			r.header.Get("ETag") == answers[0].header.Get("ETag")
		if r.status != 201 || !same {
			t.Errorf("key %d: twins got\n%d %s\n%d %s", n, answers[0].status, answers[0].body, r.status, r.body)
			return
		}
	}
}

// Only the first is waited for: once it is answered, everyone is.
func TestTwinsOfAnAnsweredRequestNeedNotWait(t *testing.T) {
	t.Parallel()
	oneNodeOrMore(t, 2, func(t *testing.T, nodes cluster) {
		key := nodes[0].key(t)
		ask := func(n int) (reply, error) {
			return nodes[n%len(nodes)].ask(key, "POST", "/v2/sites", `{"name":"Once"}`, "Idempotency-Key", "k")
		}
		first, err := ask(0)
		if err != nil || first.status != 201 {
			t.Fatalf("got %d %s %v", first.status, first.body, err)
		}
		for _, r := range flood(t, 200, onceTwins, ask) {
			if r.status != 201 || r.body != first.body {
				t.Fatalf("an answered request is answered with %d %s", r.status, r.body)
			}
		}
	})
}

// siteNames counts all sites by name.
func siteNames(t *testing.T, server *process, key string) map[string]int {
	t.Helper()
	names := map[string]int{}
	for after := ""; ; {
		var list struct {
			Data    []struct{ ID, Name string }
			HasMore bool
		}
		r := server.must(t, 200, key, "GET", "/v2/sites?limit=100"+after, "")
		if err := json.Unmarshal([]byte(r.body), &list); err != nil {
			t.Fatal(err)
		}
		for _, site := range list.Data {
			names[site.Name]++
		}
		if !list.HasMore {
			return names
		}
		after = "&startingAfter=" + list.Data[len(list.Data)-1].ID
	}
}

const counters = 64

// Writers who read, add and write back with If-Match, and begin anew when
// another was first, lose nothing. The number is kept in a page's title.
func TestNoUpdateIsLost(t *testing.T) {
	oneNodeOrMore(t, 2, func(t *testing.T, nodes cluster) {
		key := nodes[0].key(t)
		siteID, _ := nodes[0].newSite(t, key)
		page := "/v6/pages/" + nodes[0].must(t, 201, key, "POST", "/v6/pages",
			fmt.Sprintf(`{"siteId":%q,"pathname":"/counter","title":"0"}`, siteID)).field(t, "id")
		var stale atomic.Int64
		want := 0
		var writers sync.WaitGroup
		for n := range counters {
			amount := n + 1
			want += amount
			writers.Go(func() {
				for {
					status, err := add(nodes[n%len(nodes)], key, page, amount)
					switch {
					case err != nil:
						t.Error(err)
						return
					case status == 200:
						return
					case status != 412:
						t.Errorf("writer %d got %d", n, status)
						return
					}
					stale.Add(1)
				}
			})
		}
		writers.Wait()
		t.Logf("%d writers, %d times too late", counters, stale.Load())
		if stale.Load() == 0 {
			t.Error("no writer met another: nothing was put to the test")
		}
		for _, node := range nodes {
			if got := node.must(t, 200, key, "GET", page, "").field(t, "title"); got != strconv.Itoa(want) {
				t.Errorf("the counter is %s, want %d", got, want)
			}
		}
	})
}

// add adds to the number in a page's title, unless it has changed since it was
// read.
func add(node *process, key, page string, amount int) (status int, err error) {
	r, err := node.ask(key, "GET", page, "")
	if err != nil || r.status != 200 {
		return r.status, err
	}
	var shown struct{ Title string }
	if err := json.Unmarshal([]byte(r.body), &shown); err != nil {
		return 0, err
	}
	was, err := strconv.Atoi(shown.Title)
	if err != nil {
		return 0, err
	}
	r, err = node.ask(key, "PATCH", page, fmt.Sprintf(`{"title":"%d"}`, was+amount), "If-Match", r.header.Get("ETag"))
	return r.status, err
}
