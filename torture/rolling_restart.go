package main

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
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
	rollingNodes       = 3
	rollingConnections = 16
	// rollingPause lets the proxy find a node that is back, as one does who
	// restarts nodes by hand.
	rollingPause = time.Second
)

func rollingRestart(t *trial) error {
	rounds, least := pick(t, 10, 1), pick(t, int64(50_000), 500)
	pg, err := startPostgres(t, "postgres")
	if err != nil {
		return err
	}
	serve := func(i int, addr string) (*server, error) {
		return t.serveBy(nil, fmt.Sprintf("node%d", i), "--addr", addr, "--database-url", pg.url("postgres"),
			"--trusted-proxies", "127.0.0.1", "--app-rate", "off", "--log-level", "warn")
	}
	var nodes []*server
	for i := range rollingNodes {
		node, err := serve(i, fmt.Sprintf(nodeHost+":0", i+1))
		if err != nil {
			return err
		}
		nodes = append(nodes, node)
	}
	proxy, err := startHAProxy(t, nodes)
	if err != nil {
		return err
	}
	l, err := newLoad(proxy, t.key)
	if err != nil {
		return err
	}
	var restarts int
	var slowest time.Duration
	back, err := l.during(t, rollingConnections, 0, func(sent *atomic.Int64) error {
		for round := 0; round < rounds || sent.Load() < least; round++ {
			for i, node := range nodes {
				start := time.Now()
				if err := node.terminate(t); err != nil {
					return err
				}
				if nodes[i], err = serve(i, node.addr); err != nil {
					return err
				}
				slowest = max(slowest, time.Since(start))
				restarts++
				t.progress.show(restarts, rounds*rollingNodes, "%d restarts, %d requests", restarts, sent.Load())
				t.sleep(rollingPause)
			}
		}
		return nil
	})
	t.got("restarts", restarts)
	t.got("slowestRestartMs", ms(slowest))
	t.got("requests", back.sent())
	t.got("created", back.created)
	t.got("failed", back.sent()-back.good)
	t.got("p99Ms", ms(p99(back.took)))
	t.want(back.sent() >= least, "only %d requests", back.sent())
	t.want(back.good == back.sent(), "%d of %d requests failed: %s", back.sent()-back.good, back.sent(), back.first)
	if err != nil {
		return err
	}
	there, err := l.count()
	t.want(int64(there) == back.created, "%d pages are there, and %d were made", there, back.created)
	return err
}

// terminate asks a server to stop and waits until it has.
func (s *server) terminate(t *trial) error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-s.ended:
	case <-t.ctx.Done():
		return t.ctx.Err()
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		return errors.New("the server ended with " + s.cmd.ProcessState.String())
	}
	return nil
}
