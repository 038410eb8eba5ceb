package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var slowConnectionsRun = run{
	name:   "slow-connections",
	target: "10,000 connections that drip headers, drip bodies or never read: no request of a healthy client fails, under 256 MB",
	short:  "1,000 connections that drip headers, drip bodies or never read: no request of a healthy client fails, under 256 MB",
	limit:  3 * time.Minute, shortLimit: 3 * time.Minute,
	do: slowConnections,
}

const maxMemory = 256 // MB

// slowPhase is one way to be slow.
type slowPhase struct {
	name  string
	first string // sent at once
	tenth string // sent instead by every tenth connection; "": the same
	drip  string // sent byte by byte, one each second, and from its start again
	deaf  bool   // the receive window is as small as it can be
}

func slowConnections(t *trial) {
	connections := pick(t, 10_000, 1_000)
	hold := pick(t, 18*time.Second, 5*time.Second)
	allowFiles(connections + 1000)
	s := t.serve("server", "--data", t.folder("data"))
	site := bigSite(newClient(s.addr, t.key))
	client := newClient(s.addr, t.key)
	list := string(client.request("GET", "/v6/pages?pathPrefix=/big&siteId="+site, ""))
	document := string(newClient(s.addr, "").request("GET", "/openapi.json", ""))
	post := string(client.request("POST", "/v6/pages", strings.Repeat(" ", 4096)))
	phases := []slowPhase{
		{name: "headers", drip: list},
		{name: "bodies", first: post[:len(post)-4096], drip: " "},
		// Anyone can ask for the interface document; lists need a key, cost the
		// server more to make, and each is another.
		{name: "answers", first: document + document, tenth: list + list, drip: list, deaf: true},
	}
	// The healthy client sends 100 requests a second, half of them on new connections.
	healthy := newLoad(s.addr, t.key)
	healthy.mix()
	healthy.writing, healthy.reconnect, healthy.timeout = 0.5, true, 10*time.Second
	sent, stop := healthy.start(t, 10, 100)
	var most float64
	for i, phase := range phases {
		s.forgetPeak()
		crowd := startCrowd(t, s.addr, connections, hold/2, phase)
		for end := time.Now().Add(hold); time.Now().Before(end) && t.ctx.Err() == nil && s.running(); t.sleep(200 * time.Millisecond) {
			now, _ := s.memory()
			t.progress.show(int(100*(float64(i)+1-time.Until(end).Seconds()/hold.Seconds())), 100*len(phases),
				"slow %s: %d connections, %.0f MB, %d requests of the healthy client", phase.name, crowd.open.Load(), now, sent.Load())
		}
		_, peak := s.memory()
		most = max(most, peak)
		t.got(phase.name+"Open", crowd.highest.Load())
		t.got(phase.name+"Cut", crowd.cut.Load())
		t.got(phase.name+"PeakMB", math.Round(peak))
		crowd.stop()
	}
	back := stop()
	failed := back.sent() - back.good
	t.got("healthyRequests", back.sent())
	t.got("failures", failed)
	t.got("healthyP99Ms", ms(p99(back.took)))
	t.got("peakMB", math.Round(most))
	t.want(s.running(), "the server ended")
	t.want(failed == 0, "%d of %d requests of the healthy client failed, the first: %s", failed, back.sent(), back.first)
	t.want(most < maxMemory, "the server took %.0f MB", most)
}

// bigSite creates a site whose list is a long response: 150 kB, more than a
// connection's buffers hold.
func bigSite(c *client) string {
	defer c.close()
	words := strings.Repeat("word ", 400)
	url := "https://example.com/" + strings.ReplaceAll(words, " ", "/")
	return c.filledSite("Big", 15, func(i int) string {
		return fmt.Sprintf(`"pathname":"/big/%d","title":%q,"description":%q,"canonicalUrl":%q,"socialImageUrl":%q`, i, words, words, url, url)
	})
}

// allowFiles raises the limit of open files, here and in the programs that are
// started from here.
func allowFiles(n int) {
	var limit syscall.Rlimit
	check(syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	limit.Max = max(limit.Max, uint64(n))
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		check(fmt.Errorf("this run needs %d open files: raise the hard limit with 'ulimit -Hn %d' as root (%w)", n, n, err))
	}
}

// crowd is many slow connections.
type crowd struct {
	addr               string
	phase              slowPhase
	open, cut, highest atomic.Int64
	stop               func()
}

const (
	dripEvery = time.Second
	// reopenAfter keeps slow clients slow also where they are refused.
	reopenAfter = 5 * time.Second
)

// startCrowd opens the connections one after the other: all at once would be a
// flood, which the run overload has.
func startCrowd(t *trial, addr string, connections int, arrival time.Duration, phase slowPhase) *crowd {
	c := &crowd{addr: addr, phase: phase}
	ctx, cancel := context.WithCancel(t.ctx)
	var workers sync.WaitGroup
	for number := range connections {
		first := phase.first
		if phase.tenth != "" && number%10 == 0 {
			first = phase.tenth
		}
		workers.Go(func() {
			for wait := arrival * time.Duration(number) / time.Duration(connections); pause(ctx, wait); wait = reopenAfter {
				c.connection(ctx, first)
			}
		})
	}
	c.stop = func() {
		cancel()
		workers.Wait()
	}
	return c
}

// pause waits, and reports whether the context is still valid.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// connection opens a connection and sends a byte each second, until the server
// cuts it.
func (c *crowd) connection(ctx context.Context, first string) {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	if c.phase.deaf {
		dialer.Control = func(_, _ string, raw syscall.RawConn) error {
			return raw.Control(func(fd uintptr) {
				// The smallest window, and segments of a real network: with
				// those of loopback, the kernel would buffer megabytes.
				_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1)
				_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 1400)
			})
		}
	}
	conn, err := dialer.DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()  // nothing is under way
	_ = conn.(*net.TCPConn).SetLinger(0) // else lingering connections use up all ports
	if n := c.open.Add(1); n > c.highest.Load() {
		c.highest.Store(n)
	}
	defer c.open.Add(-1)
	_, err = io.WriteString(conn, first)
	for dripped := 0; err == nil && pause(ctx, dripEvery); {
		_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)) // else a write could block for good
		_, err = conn.Write([]byte{c.phase.drip[dripped%len(c.phase.drip)]})
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = nil // the server reads nothing more, and holds the connection
			continue
		}
		dripped++
	}
	if err != nil {
		c.cut.Add(1)
	}
}
