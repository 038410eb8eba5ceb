package main_test

import (
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"galley/internal/pgtest"
)

// redisServer is a real Redis that a test can kill and start again.
type redisServer struct {
	port     int
	password string
	process  *exec.Cmd
}

func newRedis(t *testing.T, password string) *redisServer {
	t.Helper()
	_, port, err := net.SplitHostPort(pgtest.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	r := &redisServer{password: password}
	if r.port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	r.start(t)
	t.Cleanup(r.kill)
	return r
}

func (r *redisServer) address() string { return fmt.Sprintf("127.0.0.1:%d", r.port) }

// url has nodes wait for Redis as long as a busy machine takes: only one that is
// gone is away.
func (r *redisServer) url() string {
	return fmt.Sprintf("redis://:%s@%s/0?dial_timeout=30s&read_timeout=30s&write_timeout=30s", r.password, r.address())
}

func (r *redisServer) start(t *testing.T) {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("this test needs Redis: run 'make deps'")
	}
	// Settings come by standard input, so that the password is on no command line.
	r.process = exec.Command(program, "-")
	r.process.Stdin = strings.NewReader(fmt.Sprintf("port %d\nbind 127.0.0.1\nsave \"\"\ndir %s\nrequirepass %s\n", r.port, t.TempDir(), r.password))
	if err := r.process.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Redis answers", func() bool {
		conn, err := net.Dial("tcp", r.address())
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
}

func (r *redisServer) kill() {
	_ = r.process.Process.Signal(syscall.SIGKILL)
	_ = r.process.Wait()
}

const (
	redisAway = "Redis is unavailable: this node counts requests by itself"
	redisBack = "Redis is back: nodes count requests together"
)

// saidOfRedis is what the log says about Redis, in order.
func (p *process) saidOfRedis() []string {
	var said []string
	for line := range strings.Lines(p.stderr.String()) {
		for _, message := range []string{redisAway, redisBack} {
			if strings.Contains(line, `"msg":"`+message+`"`) {
				said = append(said, message)
			}
		}
	}
	return said
}

// cluster are nodes on one database and one Redis.
type cluster []*process

func newCluster(t *testing.T, number int, args ...string) cluster {
	t.Helper()
	args = append(args, "--database-url", pgtest.URL(t))
	var nodes cluster
	for range number {
		nodes = append(nodes, serve(t, nil, args...))
	}
	return nodes
}

// each tells whether something holds for every node.
func (c cluster) each(holds func(*process) bool) bool {
	return !slices.ContainsFunc(c, func(p *process) bool { return !holds(p) })
}

// lines is how many lines each node's log has about Redis.
func (c cluster) lines() []int {
	var counts []int
	for _, node := range c {
		counts = append(counts, len(node.saidOfRedis()))
	}
	return counts
}

// newKey returns the key of a new app with an unused bucket. The command line
// creates it: apps that an app creates share the bucket of their creator.
func (c cluster) newKey(t *testing.T) string {
	t.Helper()
	args := c[0].cmd.Args
	database := args[slices.Index(args, "--database-url")+1]
	return createApp(t, "--database-url", database, "--name", "Busy", "--scopes", "read,operator").Key
}

// lastSaid tells whether the last word of a node about Redis is this one.
func (p *process) lastSaid(message string) bool {
	said := p.saidOfRedis()
	return len(said) > 0 && said[len(said)-1] == message
}

// checkTogether floods all nodes with one key.
func (c cluster) checkTogether(t *testing.T) {
	t.Helper()
	key := c.newKey(t)
	replies := flood(t, 12*dayLimit, 45, func(n int) (reply, error) { return c[n%len(c)].ask(key, "GET", "/v2/sites", "") })
	counts := statuses(replies)
	if counts[200]+counts[429] != len(replies) {
		t.Errorf("answers %v, want 200 and 429 alone", counts)
	}
	for _, r := range replies {
		remaining(t, r, dayLimit, day)
	}
	t.Logf("%d nodes admitted %d of %d requests, the limit is %d", len(c), counts[200], len(replies), dayLimit)
	// Redis goes by the clock of its machine: one that is set back costs a request.
	if counts[200] < dayLimit-1 || counts[200] > dayLimit {
		t.Errorf("%d nodes admitted %d, want %d", len(c), counts[200], dayLimit)
	}
}

func TestNodesAdmitOneLimitTogether(t *testing.T) {
	redis := newRedis(t, "counting")
	nodes := newCluster(t, 3, "--app-rate", dayRate, "--redis-url", redis.url())
	nodes.checkTogether(t)
}

// keepReading sends requests of a Site key to every node until it is stopped,
// all of which have to be answered as ever.
func (c cluster) keepReading(t *testing.T, siteID, siteKey string) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	var readers sync.WaitGroup
	for n := range 2 * len(c) {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond): // the machine has other tests to run
				}
				if r, err := c[n%len(c)].ask(siteKey, "GET", "/v2/sites/"+siteID, ""); err != nil || r.status != 200 {
					t.Errorf("a reader got %d %s %v", r.status, r.body, err)
				}
			}
		})
	}
	stop = sync.OnceFunc(func() {
		close(done)
		readers.Wait()
	})
	t.Cleanup(stop)
	return stop
}

func TestRedisThatDiesAndComesBack(t *testing.T) {
	redis := newRedis(t, "dying")
	nodes := newCluster(t, 3, "--app-rate", dayRate, "--redis-url", redis.url())
	siteID, siteKey := nodes[0].newSite(t, nodes[0].key(t))
	busy, watcher := nodes.newKey(t), nodes.newKey(t)
	stop := nodes.keepReading(t, siteID, siteKey)

	redis.kill()
	eventually(t, "every node says that Redis is away", func() bool { return nodes.each(func(p *process) bool { return p.lastSaid(redisAway) }) })
	told := nodes.lines()
	for n, node := range nodes {
		if away := node.sample(t, watcher, "galley_redis_away"); away != "1" {
			t.Errorf("node %d: galley_redis_away is %s while Redis is away", n, away)
		}
		checkExactly(t, flood(t, 4*dayLimit, 20, func(int) (reply, error) { return node.ask(busy, "GET", "/v2/sites", "") }), 200)
	}
	if again := nodes.lines(); !slices.Equal(told, again) {
		t.Errorf("%v lines of the log when Redis went away became %v", told, again)
	}

	redis.start(t)
	eventually(t, "every node says that Redis is back", func() bool { return nodes.each(func(p *process) bool { return p.lastSaid(redisBack) }) })
	for n, node := range nodes { // each may have tried just before, and say so last
		eventually(t, fmt.Sprintf("node %d counts in Redis again", n), func() bool {
			return node.lastSaid(redisBack) && node.sample(t, watcher, "galley_redis_away") == "0"
		})
	}
	stop()
	nodes.checkTogether(t)
	for n, node := range nodes {
		said := node.saidOfRedis()
		for i, message := range said {
			if want := []string{redisAway, redisBack}[i%2]; message != want {
				t.Errorf("node %d said %v: want one line each time", n, said)
				break
			}
		}
	}
}
