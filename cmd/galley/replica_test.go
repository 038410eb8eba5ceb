package main_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"galley/internal/pgtest"
)

const (
	replicaUsable = `galley_replica_usable`
	replicaReads  = `galley_replica_reads_total{target="replica"}`
)

// readReplica reads until the standby answers, and returns what it said. Each
// address is a new one, so that it does not come from memory.
func (p *process) readReplica(t *testing.T, key, target string) (said reply) {
	t.Helper()
	eventually(t, "the standby answers", func() bool {
		before := p.sample(t, key, replicaReads)
		said = p.must(t, 200, key, "GET", target+"?"+strings.Repeat("&", rand.IntN(5000)), "")
		return p.sample(t, key, replicaReads) != before
	})
	return said
}

// lastSaidOfReplica is the last message of a node's log about the replica.
func (p *process) lastSaidOfReplica() (last string) {
	for line := range strings.Lines(p.stderr.String()) {
		if _, rest, ok := strings.Cut(line, `"msg":"the replica `); ok {
			message, _, _ := strings.Cut(rest, `"`)
			last = "the replica " + message
		}
	}
	return last
}

// TestNodesReadFromAStandby has two nodes and a standby that goes away.
func TestNodesReadFromAStandby(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	standby := pgtest.NewStandby(t)
	store := []string{"--database-url", url, "--replica-url", standby.URL(url)}
	here := serve(t, nil, store...)
	key := here.key(t)
	there := serve(t, []string{"GALLEY_REPLICA_URL=" + standby.URL(url)}, "--database-url", url)
	site, _ := here.newSite(t, key)
	here.readReplica(t, key, "/v2/sites/"+site)
	there.must(t, 200, key, "PATCH", "/v2/sites/"+site, `{"name":"Bakery"}`)
	for _, node := range []*process{here, there} {
		eventually(t, "both nodes read what one has written", func() bool {
			return node.readReplica(t, key, "/v2/sites/"+site).field(t, "name") == "Bakery"
		})
	}
	// It has other things to say about a server of tests.
	eventually(t, "the doctor finds that the standby follows", func() bool {
		_, report, _ := run(t, nil, append([]string{"doctor", "--json"}, store...)...)
		return strings.Contains(report, `"check":"replica","status":"ok"`)
	})

	standby.Stop(t)
	for n, node := range []*process{here, there} {
		for range 20 {
			node.must(t, 200, key, "GET", "/v2/sites/"+site+"?"+strings.Repeat("&", rand.IntN(5000)), "")
		}
		eventually(t, "the metric tells that the standby is away", func() bool { return node.sample(t, key, replicaUsable) == "0" })
		eventually(t, "the log does", func() bool { return node.lastSaidOfReplica() == "the replica is not used" })
		name := fmt.Sprintf("Number %d", n)
		node.must(t, 200, key, "PATCH", "/v2/sites/"+site, `{"name":"`+name+`"}`)
		if got := node.must(t, 200, key, "GET", "/v2/sites/"+site, "").field(t, "name"); got != name {
			t.Errorf("the standby is away, and the site is called %s after %s", got, name)
		}
	}
	standby.Start(t)
	for _, node := range []*process{here, there} {
		node.readReplica(t, key, "/v2/sites/"+site)
		eventually(t, "the log tells of its return", func() bool { return node.lastSaidOfReplica() == "the replica is in use" })
		if code := node.stop(t); code != 0 {
			t.Errorf("a node ends with %d", code)
		}
	}
}
