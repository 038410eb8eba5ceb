package main_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// crowd is a client with a connection for each of many requests at once.
var crowd = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}, Timeout: 60 * time.Second}

// ask sends a request with headers, given as name, value. A key is sent unless
// it is "", a body as JSON unless it is "".
func (p *process) ask(key, method, target, body string, headers ...string) (reply, error) {
	return p.askBy(crowd, key, method, target, body, headers...)
}

// flood sends requests from many clients at once, to the nodes in turn, and
// returns every answer.
func flood(t *testing.T, requests, clients int, send func(n int) (reply, error)) []reply {
	t.Helper()
	replies := make([]reply, requests)
	next := make(chan int)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for n := range next {
				r, err := send(n)
				if err != nil {
					t.Errorf("request %d: %v", n, err)
				}
				replies[n] = r
			}
		})
	}
	for n := range requests {
		next <- n
	}
	close(next)
	all.Wait()
	return replies
}

// statuses counts answers by status.
func statuses(replies []reply) map[int]int {
	counts := map[int]int{}
	for _, r := range replies {
		counts[r.status]++
	}
	return counts
}

// A limit of a day gives nothing back while a test runs, however slow.
const (
	dayLimit = 50
	day      = 24 * 60 * 60
)

var dayRate = fmt.Sprintf("%d/%d", dayLimit, day)

var limitHeader = regexp.MustCompile(`^"default";r=(\d+);t=(\d+)$`)

// remaining holds the headers of a limit against each other and returns what
// they say is left.
func remaining(t *testing.T, r reply, limit, period int) int {
	t.Helper()
	wrong := func(name string) {
		t.Helper()
		t.Errorf("%d with %s: %q, beside %v", r.status, name, r.header.Get(name), r.header)
	}
	if r.header.Get("RateLimit-Policy") != fmt.Sprintf(`"default";q=%d;w=%d`, limit, period) {
		wrong("RateLimit-Policy")
	}
	if r.header.Get("X-RateLimit-Limit") != strconv.Itoa(limit) {
		wrong("X-RateLimit-Limit")
	}
	parts := limitHeader.FindStringSubmatch(r.header.Get("RateLimit"))
	if parts == nil {
		wrong("RateLimit")
		return -1
	}
	if r.header.Get("X-RateLimit-Remaining") != parts[1] {
		wrong("X-RateLimit-Remaining")
	}
	if r.header.Get("X-RateLimit-Reset") != parts[2] {
		wrong("X-RateLimit-Reset")
	}
	left, _ := strconv.Atoi(parts[1])
	reset, _ := strconv.Atoi(parts[2])
	// What was used comes back at a steady pace, so the two numbers are one, give or
	// take a second by which the clock of Redis may be set back.
	each := period / limit
	if used := limit - left; used < 0 || reset > used*each+1 || reset <= (used-1)*each {
		wrong("RateLimit")
	}
	wait, err := strconv.Atoi(r.header.Get("Retry-After"))
	if r.status != 429 {
		if r.header.Get("Retry-After") != "" {
			wrong("Retry-After")
		}
		return left
	}
	if left != 0 || err != nil || wait < 1 || wait > each {
		wrong("Retry-After")
	}
	return left
}

// checkExactly wants a number of answers of one status that count down what is
// left, each number once, and all others to be 429.
func checkExactly(t *testing.T, replies []reply, status int) {
	t.Helper()
	if counts := statuses(replies); counts[status] != dayLimit || counts[status]+counts[429] != len(replies) {
		t.Errorf("%d requests at once against a limit of %d: %v", len(replies), dayLimit, counts)
	}
	seen := map[int]int{}
	for _, r := range replies {
		left := remaining(t, r, dayLimit, day)
		if r.status == status {
			seen[left]++
		} else if r.field(t, "code") != "too_many_requests" {
			t.Errorf("got %s", r.body)
		}
	}
	for left := range dayLimit {
		if seen[left] != 1 {
			t.Errorf("%d requests were told that %d are left", seen[left], left)
		}
	}
}

func TestLimitsAreExactUnderManyAtOnce(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, append(store, "--app-rate", dayRate, "--site-rate", dayRate, "--auth-rate", dayRate)...)
		first := server.key(t)
		siteID, siteKey := server.newSite(t, first)
		app := createApp(t, append(store, "--name", "Busy")...)
		tests := map[string]struct {
			key, target string
			status      int
		}{
			"App key":     {app.Key, "/v2/sites", 200},
			"Site key":    {siteKey, "/v6/pages?siteId=" + siteID, 200},
			"wrong key":   {swapLast(first), "/v2/sites", 401},
			"unknown key": {strings.TrimSpace(mustRun(t, nil, "keygen")), "/v2/sites", 429}, // the address has used its share
		}
		for _, name := range []string{"App key", "Site key", "wrong key", "unknown key"} {
			test := tests[name]
			replies := flood(t, 8*dayLimit, 40, func(int) (reply, error) { return server.ask(test.key, "GET", test.target, "") })
			if test.status == 429 {
				if counts := statuses(replies); counts[429] != len(replies) {
					t.Errorf("%s: %v", name, counts)
				}
				continue
			}
			checkExactly(t, replies, test.status)
		}
		// Who has a key does not pay for the strangers behind the same address.
		server.must(t, 200, first, "GET", "/v2/sites", "")
	})
}

// One credential has one bucket, in whatever way it is shown.
func TestEveryAnswerTellsWhatIsLeft(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, append(store, "--app-rate", dayRate)...)
		key := server.key(t)
		appID := onlyApp(t, server, key)
		site := server.must(t, 201, key, "POST", "/v2/sites", `{"name":"Shop"}`)
		target := "/v2/sites/" + site.field(t, "id")
		r := server.must(t, 200, key, "POST", "/v2/apps/"+appID+"/rotate", `{"graceSeconds":3600}`)
		second := r.field(t, "key")
		left := remaining(t, r, dayLimit, day)

		tag := site.header.Get("ETag")
		for _, test := range []struct {
			key, method, target, body string
			headers                   []string
			status                    int
		}{
			{key, "GET", target, "", nil, 200},
			{second, "GET", target, "", nil, 200},
			{"", "GET", target, "", []string{"Authorization", "Bearer " + key}, 200},
			{key, "GET", target, "", []string{"If-None-Match", tag}, 304},
			{key, "HEAD", target, "", nil, 200},
			{key, "POST", "/v2/sites", `{"name":""}`, nil, 400},
			{key, "GET", "/v2/sites/" + fixedWorkspace, "", nil, 404},
			{key, "GET", "/nowhere", "", nil, 404},
			{key, "PUT", target, "{}", nil, 405},
			{key, "PATCH", target, `{"name":"Other"}`, []string{"If-Match", `"other"`}, 412},
			{key, "POST", "/v2/sites", "name", []string{"Content-Type", "text/plain"}, 415},
			{key, "POST", "/v2/sites", `{"name":"` + strings.Repeat("a", 1<<20) + `"}`, nil, 413},
			{key, "GET", "/metrics", "", nil, 200},
			{key, "DELETE", target, "", nil, 204},
		} {
			r, err := server.ask(test.key, test.method, test.target, test.body, test.headers...)
			if err != nil || r.status != test.status {
				t.Fatalf("%s %s: got %d, want %d (%v)\n%s", test.method, test.target, r.status, test.status, err, r.body)
			}
			if now := remaining(t, r, dayLimit, day); now != left-1 {
				t.Errorf("%s %s (%d): %d are left, after %d", test.method, test.target, r.status, now, left)
			}
			left--
		}
	})
}

func TestWaitingForRetryAfterIsEnough(t *testing.T) {
	t.Parallel()
	const limit, period = 3, 6
	server := serve(t, nil, "--app-rate", fmt.Sprintf("%d/%d", limit, period))
	key := server.key(t)
	for range 2 {
		var r reply
		eventually(t, "the limit is used up", func() bool {
			r = server.send(t, key, "GET", "/v2/sites", "")
			return r.status == 429
		})
		remaining(t, r, limit, period)
		wait, err := strconv.Atoi(r.header.Get("Retry-After"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(wait) * time.Second)
		server.must(t, 200, key, "GET", "/v2/sites", "")
	}
}

// A key far over its limit must be felt by nobody else.
func TestNoisyKeyDisturbsNoOther(t *testing.T) {
	const (
		limit  = 10 // a second
		length = 4 * time.Second
	)
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, append(store, "--app-rate", fmt.Sprintf("%d/1", limit))...)
		noisy := server.key(t)
		quiet := createApp(t, append(store, "--name", "Quiet")...).Key
		begin := time.Now()
		counts := map[string]map[int]int{"noisy": {}, "quiet": {}}
		var mu sync.Mutex
		var all sync.WaitGroup
		every := func(pause time.Duration, name, key string, method, body string) {
			all.Go(func() {
				tick := time.NewTicker(pause) // which drops what a slow server has no time for
				defer tick.Stop()
				for time.Since(begin) < length {
					<-tick.C
					r, err := server.ask(key, method, "/v2/sites", body)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					counts[name][r.status]++
					mu.Unlock()
				}
			})
		}
		for range limit {
			every(time.Second/20, "noisy", noisy, "POST", `{"name":"Noise"}`)
		}
		every(time.Second/8, "quiet", quiet, "GET", "")
		all.Wait()

		took := time.Since(begin).Seconds()
		sent := counts["noisy"][201] + counts["noisy"][429]
		t.Logf("noisy sent %.0f requests a second against a limit of %d: %v; quiet: %v", float64(sent)/took, limit, counts["noisy"], counts["quiet"])
		if got := slices.Collect(maps.Keys(counts["quiet"])); !slices.Equal(got, []int{200}) {
			t.Errorf("the quiet key got %v", counts["quiet"])
		}
		if counts["noisy"][429] == 0 || float64(counts["noisy"][201]) > limit*(took+1) || len(counts["noisy"]) != 2 {
			t.Errorf("the noisy key got %v in %.1f s", counts["noisy"], took)
		}
	})
}
