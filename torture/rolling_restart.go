package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

var rollingRestartRun = run{
	name:   "rolling-restart",
	target: "3 nodes behind HAProxy, each restarted 10 times under GETs and POSTs: of at least 50,000 requests none fails, and every page made is there",
	short:  "3 nodes behind HAProxy, each restarted once under GETs and POSTs: of at least 500 requests none fails, and every page made is there",
	limit:  10 * time.Minute, shortLimit: 3 * time.Minute,
	do: rollingRestart,
}

const (
	rollingConnections = 16
	// rollingPause is the time for the proxy to find a node that is back.
	rollingPause = time.Second
)

func rollingRestart(t *trial) {
	rounds, least := pick(t, 10, 1), pick(t, int64(50_000), 500)
	pg := startPostgres(t, "postgres")
	serve := func(i int, addr string) *server {
		return t.serveBy(nil, fmt.Sprintf("node%d", i), addr, "--database-url", pg.url("postgres"), "--trusted-proxies", "127.0.0.1")
	}
	var nodes []*server
	for i := range nodeCount {
		nodes = append(nodes, serve(i, t.freeAddress(fmt.Sprintf(nodeHost, i+1))))
	}
	l := newLoad(startHAProxy(t, nodes), t.key)
	var restarts int
	var slowest time.Duration
	sent, stop := l.start(t, rollingConnections, 0)
	for round := 0; round < rounds || sent.Load() < least; round++ {
		for i, node := range nodes {
			start := time.Now()
			node.terminate(t)
			nodes[i] = serve(i, node.addr)
			slowest = max(slowest, time.Since(start))
			restarts++
			t.progress.show(restarts, rounds*nodeCount, "%d restarts, %d requests", restarts, sent.Load())
			t.sleep(rollingPause)
		}
	}
	back := stop()
	t.got("restarts", restarts)
	t.got("slowestRestartMs", ms(slowest))
	t.got("requests", back.sent())
	t.got("created", back.created)
	t.got("failed", back.sent()-back.good)
	t.got("p99Ms", ms(p99(back.took)))
	t.want(back.sent() >= least, "only %d requests", back.sent())
	t.want(back.good == back.sent(), "%d of %d requests failed: %s", back.sent()-back.good, back.sent(), back.first)
	there := l.count()
	t.want(int64(there) == back.created, "%d pages are there, and %d were made", there, back.created)
}

// haproxyExample is what operators are given, from the folder of the sources.
const haproxyExample = "packaging/haproxy.cfg"

// Nodes and their proxy have addresses of their own on loopback, which no
// outgoing connection uses: they are free again after a restart.
const (
	proxyHost = "127.0.1.100"
	nodeHost  = "127.0.1.%d"
)

// startHAProxy starts HAProxy on the example's settings, before three nodes,
// and returns where it listens.
func startHAProxy(t *trial, nodes []*server) (addr string) {
	text, err := os.ReadFile(haproxyExample)
	if err != nil {
		check(fmt.Errorf("run this in the folder of the sources: %w", err))
	}
	addr = t.freeAddress(proxyHost)
	replace := []string{"bind :80\n", "bind " + addr + "\n", "    user haproxy\n    group haproxy\n", ""}
	for i, node := range nodes {
		replace = append(replace, fmt.Sprintf("10.0.0.1%d:8080", i+1), node.addr)
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			check(fmt.Errorf("%s does not have %q", haproxyExample, replace[i]))
		}
	}
	file := t.folder("haproxy.cfg")
	check(os.WriteFile(file, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o600))
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program = "/usr/sbin/haproxy" // which is not on every user's path
	}
	t.waitReady(t.launch("haproxy", t.command(program, "-db", "-f", file)), addr)
	return addr
}
