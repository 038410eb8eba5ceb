package main

import (
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
	quietPerSecond   = 15 // and the burst left alone: well within
)

func noisyNeighbour(t *trial) error {
	s, err := t.serve("server", "--data", t.folder("data"), "--app-rate", neighbourRate, "--log-level", "warn")
	if err != nil {
		return err
	}
	owner := newClient(s.addr, t.key)
	defer owner.close()
	var noisy, quiet resource
	for name, app := range map[string]*resource{"Noisy": &noisy, "Quiet": &quiet} {
		if err := owner.must(201, "POST", "/v2/apps", `{"name":"`+name+`"}`, app); err != nil {
			return err
		}
	}
	site, err := owner.newSite("Shared")
	if err != nil {
		return err
	}
	page, err := owner.newPage(site, "/shared", "Shared")
	if err != nil {
		return err
	}
	d := pick(t, 30*time.Second, 5*time.Second)
	var loud, calm tally
	var both sync.WaitGroup
	both.Go(func() { loud = paced(t, s.addr, noisy.Key, page, 16, noisyFactor*allowedPerSecond, d) })
	both.Go(func() { calm = paced(t, s.addr, quiet.Key, page, 4, quietPerSecond, d) })
	for start := time.Now(); time.Since(start) < d && t.ctx.Err() == nil; t.sleep(200 * time.Millisecond) {
		t.progress.show(int(time.Since(start)), int(d), "one key at %d times its limit beside another", noisyFactor)
	}
	both.Wait()

	t.got("quietRequests", calm.sent())
	t.got("quiet429", calm.refused)
	t.got("quiet5xx", calm.failed)
	t.got("quietP99Ms", ms(p99(calm.took)))
	t.got("noisyOffered", math.Round(float64(loud.sent())/d.Seconds()))
	t.got("noisyAdmitted", loud.good)
	t.got("noisy429", loud.refused)
	t.want(calm.good == calm.sent(), "%d of %d requests of the quiet key did not succeed: %s", calm.sent()-calm.good, calm.sent(), calm.first)
	t.want(loud.wrong+loud.broken == 0 && loud.failed == 0, "%d answers to the noisy key were neither 2xx nor 429 with Retry-After, %d missing, %d 5xx: %s",
		loud.wrong, loud.broken, loud.failed, loud.first)
	// The quiet one has nothing to fear from a limit that does not act.
	admissible := int64(200 + allowedPerSecond*(d.Seconds()+1))
	t.want(loud.refused > 0 && loud.good <= admissible, "the noisy key was admitted %d times, the limit allows %d", loud.good, admissible)
	return nil
}

// paced sends at a rate with one key: three reads to one write.
func paced(t *trial, addr, key, page string, connections int, rate float64, d time.Duration) tally {
	c := newClient(addr, key)
	read := c.request("GET", "/v6/pages/"+page, "")
	l := &load{addr: addr, reads: [][]byte{read, read, read, c.request("PATCH", "/v6/pages/"+page, `{"title":"By `+key[:6]+`"}`)}}
	return l.openLoop(t, connections, rate, d)
}
