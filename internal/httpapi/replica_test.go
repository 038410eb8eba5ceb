package httpapi_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"galley/internal/httpapi"
	"galley/internal/pgtest"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

// replicated is a system whose reads may go to a real hot standby.
type replicated struct {
	*system
	standby   *pgtest.Standby
	there     atomic.Int64 // reads that the standby answered
	here      atomic.Int64
	mu        sync.Mutex
	state     service.ReplicaState
	databases string // the primary's URL
}

func newReplicated(t *testing.T, maxBehind time.Duration, options ...func(*httpapi.Options)) *replicated {
	t.Helper()
	r := &replicated{databases: pgtest.URL(t)}
	store, err := sqlstore.OpenPostgres(r.databases, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.standby = pgtest.NewStandby(t)
	replica, err := store.OpenReplica(r.standby.URL(r.databases))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = replica.Close() })
	r.system = newSystem(t, store, nil, append(options, func(o *httpapi.Options) {
		o.Service.Replica = service.NewReplica(replica, service.ReplicaEvents{Read: r.read, State: r.enter})
		o.Service.Replica.MaxBehind = maxBehind
	})...)
	r.reach(t, service.ReplicaInUse)
	return r
}

func (r *replicated) read(fromReplica bool) {
	if fromReplica {
		r.there.Add(1)
	} else {
		r.here.Add(1)
	}
}

func (r *replicated) enter(state service.ReplicaState, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = state
}

func (r *replicated) reach(t *testing.T, state service.ReplicaState) {
	t.Helper()
	eventually(t, "the replica is "+string(state), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.state == state
	})
}

// readThere reads until the standby is the one that answers, and returns what
// it said. Memory does not know the addresses.
func (r *replicated) readThere(t *testing.T, target string) (last reply) {
	t.Helper()
	mark := "?"
	if strings.Contains(target, "?") {
		mark = "&"
	}
	eventually(t, "the standby answers "+target, func() bool {
		before := r.there.Load()
		last = r.must(t, 200, "GET", target+mark+strings.Repeat("&", rand.IntN(5000)), "")
		return r.there.Load() > before
	})
	return last
}

// pause keeps the standby from going on, and returns once it stands still.
func (r *replicated) pause(t *testing.T) {
	t.Helper()
	r.standby.Ask(t, "select pg_wal_replay_pause()::text")
	eventually(t, "the standby pauses", func() bool {
		return r.standby.Ask(t, "select pg_get_wal_replay_pause_state()") == "paused"
	})
}

func (r *replicated) resume(t *testing.T) {
	t.Helper()
	r.standby.Ask(t, "select pg_wal_replay_resume()::text")
}

func withoutMemory(o *httpapi.Options) { o.CacheBytes = 0 }

// TestReplicaAnswersReads reads everything that is about one site, with and
// without the standby.
func TestReplicaAnswersReads(t *testing.T) {
	r := newReplicated(t, time.Minute, withoutMemory)
	store, err := sqlstore.OpenPostgres(r.databases, nil)
	alone := newSystem(t, store, err, withoutMemory)
	alone.key = r.key
	site, _ := r.newSite(t)
	page := r.newPage(t, site, "/a")
	r.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"fr"}`)
	r.must(t, 200, "PATCH", "/v6/pages/"+page+"?locale=fr", `{"title":"Un"}`)
	route := r.must(t, 201, "POST", "/v2/routes", `{"siteId":"`+site+`","pathname":"/r"}`).str(t, "id")
	publish := r.must(t, 201, "POST", "/v2/sites/"+site+"/publish", `{}`).str(t, "id")
	r.must(t, 200, "PATCH", "/v6/pages/"+page, `{"title":"Two"}`)
	for _, target := range []string{
		"/v2/sites/" + site, "/v2/sites/" + site + "/pages", "/v2/sites/" + site + "/changes", "/v2/sites/" + site + "/publishes",
		"/v2/locales?siteId=" + site, "/v2/locales/fr?siteId=" + site, "/v2/routes?siteId=" + site, "/v2/routes/" + route,
		"/v6/pages/" + page, "/v6/pages/a?siteId=" + site, "/v6/pages/" + page + "?locale=fr", "/v6/pages/" + page + "?versionRef=ref:live",
		"/v6/pages/" + page + "?versionRef=publish:" + publish, "/v6/pages/" + page + "/publishes",
		"/v6/pages?siteId=" + site, "/v6/pages?locale=fr&siteId=" + site,
		"/v2/publishes/" + publish, "/v2/publishes/" + publish + "/changes",
	} {
		there, here := r.readThere(t, target), alone.must(t, 200, "GET", target, "")
		if string(there.body) != string(here.body) {
			t.Errorf("%s: the standby says\n%s\nand the primary\n%s", target, there.body, here.body)
		}
	}
	before := r.there.Load()
	for _, target := range []string{"/v2/sites", "/v2/apps", "/v2/apps/" + r.first.ID.String(), "/v2/audit", "/v2/workspace"} {
		r.must(t, 200, "GET", target, "")
	}
	if r.there.Load() != before {
		t.Error("what is about no single site was read from the standby")
	}
	if got := r.call(t, "GET", "/v6/pages/nowhere?siteId="+site, ""); got.status != 404 {
		t.Errorf("a page that is not there is answered %d", got.status)
	}
}

// TestReplicaPaused has the standby stand still: whoever wrote reads that.
func TestReplicaPaused(t *testing.T) {
	r := newReplicated(t, time.Hour)
	still, _ := r.newSite(t)
	site, _ := r.newSite(t)
	page := r.newPage(t, site, "/a")
	targets := []string{"/v6/pages/" + page, "/v6/pages/a?siteId=" + site}
	for _, target := range targets {
		r.readThere(t, target) // the standby has it
	}
	r.readThere(t, "/v2/sites/"+still)
	r.pause(t)
	for n := 1; n <= 100; n++ {
		r.must(t, 200, "PATCH", targets[0], fmt.Sprintf(`{"title":"%d"}`, n))
		for _, target := range targets {
			if got := r.counter(t, target); got != n {
				t.Fatalf("%s says %d right after %d was written", target, got, n)
			}
		}
		list := r.must(t, 200, "GET", "/v6/pages?siteId="+site, "").json(t)["data"].([]any)
		if got := list[0].(map[string]any)["title"]; got != fmt.Sprint(n) {
			t.Fatalf("the list says %v right after %d was written", got, n)
		}
	}
	eventually(t, "the standby answers for a site that nobody wrote to", func() bool {
		before := r.there.Load()
		r.must(t, 200, "GET", "/v2/sites/"+still+"?"+strings.Repeat("&", rand.IntN(5000)), "")
		if r.there.Load() > before {
			return true
		}
		// A look for which a busy machine had no time gave it up, and one that
		// stands still is not taken up again.
		r.resume(t)
		r.readThere(t, "/v2/sites/"+still)
		r.pause(t)
		r.must(t, 200, "PATCH", "/v2/sites/"+site, fmt.Sprintf(`{"name":"%d"}`, rand.Int())) // which it lacks
		return false
	})
	r.resume(t)
	for _, target := range targets {
		if got := r.readThere(t, target).str(t, "title"); got != "100" {
			t.Errorf("%s: the standby goes on and says %s", target, got)
		}
	}
}

// TestReplicaTooFarBehind has the standby stand still for longer than it may.
func TestReplicaTooFarBehind(t *testing.T) {
	r := newReplicated(t, 300*time.Millisecond, withoutMemory)
	still, _ := r.newSite(t)
	site, _ := r.newSite(t)
	page := r.newPage(t, site, "/a")
	r.readThere(t, "/v2/sites/"+still)
	r.pause(t)
	r.must(t, 200, "PATCH", "/v6/pages/"+page, `{"title":"1"}`)
	r.reach(t, service.ReplicaBehind)
	eventually(t, "the standby is not read from", func() bool { // once it has said all that it knew before
		before := r.there.Load()
		r.must(t, 200, "GET", "/v2/sites/"+still, "")
		return r.there.Load() == before
	})
	r.resume(t)
	r.reach(t, service.ReplicaInUse)
	r.readThere(t, "/v2/sites/"+still)
}

// TestReplicaAlwaysLate has a standby that always gets there, and always too
// late: it is not used now and then.
func TestReplicaAlwaysLate(t *testing.T) {
	r := newReplicated(t, 300*time.Millisecond, withoutMemory)
	still, _ := r.newSite(t)
	site, _ := r.newSite(t)
	r.readThere(t, "/v2/sites/"+still)
	r.standby.Set(t, "recovery_min_apply_delay", "800ms")
	write := func() { r.must(t, 200, "PATCH", "/v2/sites/"+site, fmt.Sprintf(`{"name":"%d"}`, rand.Int())) }
	eventually(t, "the replica is too far behind", func() bool {
		write()
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.state == service.ReplicaBehind
	})
	// A clock that is set makes the delay another, once.
	eventually(t, "the standby is not read from", func() bool {
		before := r.there.Load()
		for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); { // it gets there three times
			write()
			r.must(t, 200, "GET", "/v2/sites/"+still, "")
		}
		return r.there.Load() == before
	})
	r.standby.Set(t, "recovery_min_apply_delay", "0")
	r.readThere(t, "/v2/sites/"+still)
}

// TestReplicaAway ends and freezes the standby in the middle of reads.
func TestReplicaAway(t *testing.T) {
	r := newReplicated(t, time.Minute, withoutMemory)
	site, _ := r.newSite(t)
	page := "/v6/pages/" + r.newPage(t, site, "/a")
	r.must(t, 200, "PATCH", page, `{"title":"7"}`)
	r.readThere(t, page)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := r.counter(t, page); got != 7 { // it takes no answer but a page
					t.Errorf("a reader was told %d", got)
					return
				}
			}
		})
	}
	for range 3 {
		r.standby.Stop(t)
		r.reach(t, service.ReplicaAway)
		r.standby.Start(t)
		r.reach(t, service.ReplicaInUse)
		r.readThere(t, page)
	}
	r.standby.Freeze(t)
	r.reach(t, service.ReplicaAway)
	before := r.here.Load()
	eventually(t, "the primary answers", func() bool { return r.here.Load() > before+100 })
	r.standby.Thaw(t)
	r.reach(t, service.ReplicaInUse)
	r.readThere(t, page)
	close(stop)
	readers.Wait()
}

// TestReplicaPromoted makes the standby a primary of its own.
func TestReplicaPromoted(t *testing.T) {
	r := newReplicated(t, time.Minute, withoutMemory)
	site, _ := r.newSite(t)
	page := "/v6/pages/" + r.newPage(t, site, "/a")
	r.readThere(t, page)
	r.standby.Ask(t, "select pg_promote()::text")
	r.reach(t, service.ReplicaNone)
	before := r.there.Load()
	for n := 1; n <= 10; n++ {
		r.must(t, 200, "PATCH", page, fmt.Sprintf(`{"title":"%d"}`, n))
		if got := r.counter(t, page); got != n {
			t.Errorf("a reader sees %d after %d was acknowledged", got, n)
		}
	}
	if r.there.Load() != before {
		t.Error("a standby that is none was read from")
	}
}

// TestReplicaUnderFire has readers and writers while the standby stands still
// now and then, with and without memory: no reader sees an older state than one
// that was acknowledged before its request.
func TestReplicaUnderFire(t *testing.T) {
	for name, options := range map[string][]func(*httpapi.Options){"with memory": nil, "without": {withoutMemory}} {
		t.Run(name, func(t *testing.T) {
			r := newReplicated(t, time.Minute, options...)
			stop := make(chan struct{})
			var readers, writers sync.WaitGroup
			for range 3 {
				site, _ := r.newSite(t)
				page := "/v6/pages/" + r.newPage(t, site, "/a")
				var acknowledged atomic.Int64
				for _, target := range []string{page + "?", "/v6/pages/a?siteId=" + site} {
					readers.Go(func() { r.readUntil(t, stop, target, &acknowledged) })
				}
				writers.Go(func() {
					begin := time.Now()
					both := func() bool { return r.there.Load() > 0 && r.here.Load() > 0 }
					for n := int64(1); n <= 60 || !both() && time.Since(begin) < 2*time.Minute; n++ {
						r.must(t, 200, "PATCH", page, fmt.Sprintf(`{"title":"%d"}`, n))
						acknowledged.Store(n)
						time.Sleep(rand.N(time.Duration(n) * 2 * time.Millisecond)) // the standby catches up with some
					}
				})
			}
			var pauses sync.WaitGroup
			pauses.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(rand.N(40 * time.Millisecond)):
					}
					r.pause(t)
					time.Sleep(rand.N(40 * time.Millisecond))
					r.resume(t)
				}
			})
			writers.Wait()
			close(stop)
			readers.Wait()
			pauses.Wait()
			t.Logf("reads: %d from the standby, %d from the primary", r.there.Load(), r.here.Load())
			if r.there.Load() == 0 || r.here.Load() == 0 {
				t.Error("only one of the two was read from: nothing was tried")
			}
		})
	}
}

func (r *replicated) readUntil(t *testing.T, stop <-chan struct{}, target string, acknowledged *atomic.Int64) {
	t.Helper()
	for seen := 0; ; {
		select {
		case <-stop:
			return
		default:
		}
		least := max(int(acknowledged.Load()), seen)
		if least == 0 {
			time.Sleep(time.Millisecond) // there is no title yet
			continue
		}
		// Of several addresses, some come into memory from the standby.
		if seen = r.counter(t, target+strings.Repeat("&", rand.N(50))); seen < least {
			t.Errorf("a reader of %s sees %d after %d", target, seen, least)
			return
		}
	}
}
