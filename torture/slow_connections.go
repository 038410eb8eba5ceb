package main

import (
	"fmt"
	"io"
	"math"
	"net"
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
	deaf  bool   // the window for answers is as small as it can be
}

func slowConnections(t *trial) error {
	connections := pick(t, 10_000, 1_000)
	hold := pick(t, 18*time.Second, 5*time.Second)
	if err := allowFiles(connections + 1000); err != nil {
		return err
	}
	s, err := t.serve("server", "--data", t.folder("data"), "--app-rate", "off", "--log-level", "warn")
	if err != nil {
		return err
	}
	site, err := bigSite(newClient(s.addr, t.key))
	if err != nil {
		return err
	}
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
	h := startHealthy(s.addr, t.key, site)
	var most float64
	for i, phase := range phases {
		if err := s.forgetPeak(); err != nil {
			return err
		}
		crowd := startCrowd(s.addr, connections, hold/2, phase)
		for end := time.Now().Add(hold); time.Now().Before(end) && t.ctx.Err() == nil && s.running(); t.sleep(200 * time.Millisecond) {
			now, _ := s.memory()
			t.progress.show(int(100*(float64(i)+1-time.Until(end).Seconds()/hold.Seconds())), 100*len(phases),
				"slow %s: %d connections, %.0f MB, healthy %d, failed %d", phase.name, crowd.open.Load(), now, h.sent.Load(), h.failed.Load())
		}
		_, peak := s.memory()
		most = max(most, peak)
		t.got(phase.name+"Open", crowd.most())
		t.got(phase.name+"Cut", crowd.cut.Load())
		t.got(phase.name+"PeakMB", math.Round(peak))
		crowd.stop()
	}
	h.stop()
	t.got("healthyRequests", h.sent.Load())
	t.got("failures", h.failed.Load())
	t.got("healthyP99Ms", ms(p99(h.took)))
	t.got("peakMB", math.Round(most))
	t.want(s.running(), "the server ended")
	t.want(h.failed.Load() == 0, "%d of %d requests of the healthy client failed, the first: %v", h.failed.Load(), h.sent.Load(), h.firstFailure())
	t.want(most < maxMemory, "the server took %.0f MB", most)
	return nil
}

// bigSite makes a site whose list is a long answer: 150 kB, more than a
// connection's buffers take.
func bigSite(c *client) (string, error) {
	defer c.close()
	site, err := c.newSite("Big")
	if err != nil {
		return "", err
	}
	words := strings.Repeat("word ", 400)
	var operations []string
	url := "https://example.com/" + strings.ReplaceAll(words, " ", "/")
	for i := range 15 {
		operations = append(operations, fmt.Sprintf(
			`{"op":"create","pathname":"/big/%d","title":%q,"description":%q,"canonicalUrl":%q,"socialImageUrl":%q}`, i, words, words, url, url))
	}
	return site, c.must(200, "POST", "/v6/pages/batch", fmt.Sprintf(`{"siteId":%q,"operations":[%s]}`, site, strings.Join(operations, ",")), nil)
}

// allowFiles makes room for open connections, here and in the programs that
// are started from here.
func allowFiles(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Max < uint64(n) {
		limit.Max = uint64(n)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("this run needs %d open files: raise the hard limit with 'ulimit -Hn %d' as root (%w)", n, n, err)
	}
	return nil
}

// crowd is many slow connections.
type crowd struct {
	addr      string
	phase     slowPhase
	open, cut atomic.Int64
	highest   atomic.Int64
	stopping  chan struct{}
	workers   sync.WaitGroup
}

// crowdWorkers take care of the connections, each of its share.
const crowdWorkers = 50

// startCrowd opens the connections one after the other: all at once would be a
// flood, which is another run's matter.
func startCrowd(addr string, connections int, arrival time.Duration, phase slowPhase) *crowd {
	c := &crowd{addr: addr, phase: phase, stopping: make(chan struct{})}
	start := time.Now()
	for worker := range crowdWorkers {
		share := make([]slowConnection, connections/crowdWorkers)
		for i := range share {
			number := i*crowdWorkers + worker
			share[i] = slowConnection{first: phase.first, next: start.Add(arrival * time.Duration(number) / time.Duration(connections))}
			if phase.tenth != "" && number%10 == 0 {
				share[i].first = phase.tenth
			}
		}
		c.workers.Go(func() { c.work(share) })
	}
	return c
}

func (c *crowd) stop() {
	close(c.stopping)
	c.workers.Wait()
}

// most is how many connections were open at once.
func (c *crowd) most() int64 { return c.highest.Load() }

type slowConnection struct {
	conn    net.Conn
	first   string
	dripped int
	next    time.Time // when to open it, or to drip
}

const (
	dripEvery = time.Second
	// reopenAfter keeps slow clients slow also where they are turned away.
	reopenAfter = 5 * time.Second
)

func (c *crowd) work(connections []slowConnection) {
	defer func() {
		for i := range connections {
			c.drop(&connections[i])
		}
	}()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		for i := range connections {
			if connections[i].next.After(time.Now()) {
				continue
			}
			select {
			case <-c.stopping:
				return
			default:
				c.tend(&connections[i])
			}
		}
		select {
		case <-c.stopping:
			return
		case <-ticker.C:
		}
	}
}

// tend opens a connection that is not open, and drips a byte into one that is.
func (c *crowd) tend(s *slowConnection) {
	s.next = time.Now().Add(dripEvery)
	if s.conn == nil {
		c.connect(s)
		return
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)) // else it would block for good
	_, err := s.conn.Write([]byte{c.phase.drip[s.dripped%len(c.phase.drip)]})
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // net returns it bare
		return // the server reads nothing more, and holds the connection
	}
	if err != nil {
		c.cut.Add(1)
		c.drop(s)
		return
	}
	s.dripped++
}

func (c *crowd) connect(s *slowConnection) {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	if c.phase.deaf {
		dialer.Control = func(_, _ string, raw syscall.RawConn) error {
			return raw.Control(func(fd uintptr) {
				// The least window there is, and segments of a real network:
				// by loopback's, the kernel would buffer megabytes.
				_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1)
				_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 1400)
			})
		}
	}
	conn, err := dialer.Dial("tcp", c.addr)
	if err != nil {
		s.next = time.Now().Add(reopenAfter)
		return
	}
	// Reset at the end: ports that linger would run out.
	_ = conn.(*net.TCPConn).SetLinger(0)
	s.conn, s.dripped = conn, 0
	if n := c.open.Add(1); n > c.highest.Load() {
		c.highest.Store(n)
	}
	if _, err := io.WriteString(conn, s.first); err != nil {
		c.cut.Add(1)
		c.drop(s)
	}
}

func (c *crowd) drop(s *slowConnection) {
	if s.conn == nil {
		return
	}
	_ = s.conn.Close() // it is given up
	s.conn, s.next = nil, time.Now().Add(reopenAfter)
	c.open.Add(-1)
}
