package main

import (
	"encoding/json"
	"math"
	"sync"
	"time"
)

var noisyNeighbourRun = run{
	name:   "noisy-neighbour",
	target: "a key at 20 times its limit: another key, within its own limit, gets no 429 and no 5xx",
	limit:  3 * time.Minute, shortLimit: 3 * time.Minute,
	do: noisyNeighbour,
}

// Both keys have the rate 200/10: a burst of 200, and 20 each second.
const (
	neighbourRate    = "200/10"
	allowedPerSecond = 20
	noisyFactor      = 20
	quietPerSecond   = 15 // well within, without the burst
)

func noisyNeighbour(t *trial) {
	data := t.folder("data")
	s := t.serve("server", "--data", data, "--app-rate", neighbourRate)
	owner := newClient(s.addr, t.key)
	defer owner.close()
	var noisy, quiet resource
	// Apps that an app creates would share its rate limit.
	for name, app := range map[string]*resource{"Noisy": &noisy, "Quiet": &quiet} {
		check(json.Unmarshal(t.galley("apps", "create", "--json", "--name", name, "--data", data), app))
	}
	page := owner.newPage(owner.newSite("Shared"), "/shared", "Shared")
	d := pick(t, 30*time.Second, 5*time.Second)
	var flood, steady tally
	var both sync.WaitGroup
	both.Go(func() { flood = paced(t, s.addr, noisy.Key, page, 16, noisyFactor*allowedPerSecond, d) })
	both.Go(func() { steady = paced(t, s.addr, quiet.Key, page, 4, quietPerSecond, d) })
	for start := time.Now(); time.Since(start) < d && t.ctx.Err() == nil; t.sleep(200 * time.Millisecond) {
		t.progress.show(int(time.Since(start)), int(d), "one key at %d times its limit beside another", noisyFactor)
	}
	both.Wait()

	t.got("quietRequests", steady.sent())
	t.got("quiet429", steady.refused)
	t.got("quiet5xx", steady.failed)
	t.got("quietP99Ms", ms(p99(steady.took)))
	t.got("noisyOffered", math.Round(float64(flood.sent())/d.Seconds()))
	t.got("noisyAdmitted", flood.good)
	t.got("noisy429", flood.refused)
	t.want(steady.good == steady.sent(), "%d of %d requests of the quiet key did not succeed: %s", steady.sent()-steady.good, steady.sent(), steady.first)
	t.want(flood.wrong+flood.broken == 0 && flood.failed == 0, "%d answers to the noisy key were neither 2xx nor 429 with Retry-After, %d missing, %d 5xx: %s",
		flood.wrong, flood.broken, flood.failed, flood.first)
	// The run shows nothing if the limit does not act.
	admissible := int64(200 + allowedPerSecond*(d.Seconds()+1))
	t.want(flood.refused > 0 && flood.good <= admissible, "the noisy key was admitted %d times, the limit allows %d", flood.good, admissible)
}

// paced sends at a rate with one key: three reads to one write.
func paced(t *trial, addr, key, page string, connections int, rate float64, d time.Duration) tally {
	c := newClient(addr, key)
	read := c.request("GET", "/v6/pages/"+page, "")
	l := &load{addr: addr, reads: [][]byte{read, read, read, c.request("PATCH", "/v6/pages/"+page, `{"title":"By `+key[:6]+`"}`)}}
	return l.during(t, connections, rate, d)
}
