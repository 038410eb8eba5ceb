package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"galley/internal/pgtest"
)

// exampleNodes are the nodes' addresses in the examples of packaging.
var exampleNodes = []string{"10.0.0.11:8080", "10.0.0.12:8080", "10.0.0.13:8080"}

// balancers start a proxy on its example, before three nodes.
var balancers = map[string]func(t *testing.T, nodes cluster) *process{"haproxy": startHAProxy, "nginx": startNginx}

// example is a file of packaging with the test's addresses in place of its own.
func example(t *testing.T, name string, nodes cluster, replace ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../packaging", name))
	if err != nil {
		t.Fatal(err)
	}
	for i, node := range nodes {
		replace = append(replace, exampleNodes[i], node.address())
	}
	for i := 0; i < len(replace); i += 2 {
		if !bytes.Contains(text, []byte(replace[i])) {
			t.Fatalf("%s does not have %q", name, replace[i])
		}
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func startHAProxy(t *testing.T, nodes cluster) *process {
	t.Helper()
	addr := pgtest.FreeAddress(t)
	file := example(t, "haproxy.cfg", nodes, "bind :80\n", "bind "+addr+"\n", "    user haproxy\n    group haproxy\n", "")
	return startBalancer(t, addr, "haproxy", "-db", "-f", file)
}

func startNginx(t *testing.T, nodes cluster) *process {
	t.Helper()
	addr, dir := pgtest.FreeAddress(t), t.TempDir()
	site := example(t, "nginx.conf", nodes, "listen 80;", "listen "+addr+";")
	// As root its worker is somebody else, who reads and writes nothing here.
	main := fmt.Sprintf("daemon off; pid %s/pid; error_log stderr; events {} http { access_log off; include %s;", dir, site)
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		main += fmt.Sprintf(" %s_temp_path %s/%s;", kind, dir, kind)
	}
	file := filepath.Join(dir, "main.conf")
	if err := os.WriteFile(file, []byte(main+" }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return startBalancer(t, addr, "nginx", "-p", dir, "-e", "stderr", "-c", file)
}

// startBalancer starts a proxy and waits until it has nodes to ask.
func startBalancer(t *testing.T, addr, name string, args ...string) *process {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		program = "/usr/sbin/" + name // which is not on everybody's path
	}
	p := &process{cmd: exec.Command(program, args...), ended: make(chan struct{}), url: "http://" + addr}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("this test needs %s: run 'make deps' (%v)", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code tells
		close(p.ended)
	}()
	// By its own way to stop: nginx's workers would outlive a kill.
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		<-p.ended
	})
	eventually(t, name+" answers", func() bool {
		select {
		case <-p.ended:
			t.Fatalf("%s ended\n%s%s", name, &p.stdout, &p.stderr)
		default:
		}
		r, err := p.try("", "GET", "/healthz", "")
		return err == nil && r.status == 200
	})
	return p
}

// behindBalancers runs a test on each proxy, before three nodes that trust it.
func behindBalancers(t *testing.T, test func(t *testing.T, proxy *process, nodes cluster), args ...string) {
	t.Helper()
	for name, start := range balancers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := newCluster(t, len(exampleNodes), append(args, "--trusted-proxies", "127.0.0.1")...)
			test(t, start(t, nodes), nodes)
		})
	}
}

// ownHeaders are those that a proxy may set itself, and changing those that
// differ between any two answers.
var (
	ownHeaders = []string{"Server", "Date", "Connection", "Keep-Alive"}
	changing   = []string{"X-Request-Id", "Ratelimit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}
)

// checkSame holds an answer that came through a proxy against a node's own.
func checkSame(t *testing.T, what string, through, direct reply) {
	t.Helper()
	if through.status != direct.status || through.body != direct.body {
		t.Errorf("%s: %d %s, and from a node %d %s", what, through.status, through.body, direct.status, direct.body)
	}
	for _, h := range []http.Header{through.header, direct.header} {
		for _, name := range ownHeaders {
			h.Del(name)
		}
	}
	for name := range through.header {
		if len(direct.header[name]) == 0 {
			t.Errorf("%s: the proxy adds %s", what, name)
		}
	}
	for name, want := range direct.header {
		if got := through.header[name]; !slices.Equal(got, want) && (!slices.Contains(changing, name) || len(got) != 1) {
			t.Errorf("%s: %s is %q, and from a node %q", what, name, got, want)
		}
	}
}

// noNode tells that a proxy takes all nodes for dead, as it may when the machine
// stops for longer than it waits for them.
func noNode(r reply) bool { return r.status == 503 && strings.Contains(r.body, "No node can answer") }

func TestAnswersPassProxiesUnchanged(t *testing.T) {
	t.Parallel()
	behindBalancers(t, func(t *testing.T, proxy *process, nodes cluster) {
		key := nodes[0].key(t)
		siteID, _ := nodes[0].newSite(t, key)
		page := nodes[0].must(t, 201, key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/about/us"}`, siteID))
		target, tag := "/v6/pages/"+page.field(t, "id"), page.header.Get("ETag")
		if tag == "" || page.header.Get("RateLimit") == "" {
			t.Fatalf("headers %v", page.header)
		}
		for _, c := range []struct {
			method, target, body string
			header, value        string
			status               int
		}{
			{"GET", target, "", "", "", 200},
			{"HEAD", target, "", "", "", 200},
			{"GET", target, "", "If-None-Match", tag, 304},
			{"PATCH", target, `{"title":"Stale"}`, "If-Match", `"stale"`, 412},
			{"PATCH", target, `{}`, "If-Match", tag, 200},
			{"GET", "/v6/pages/%2Fabout%2Fus?siteId=" + siteID, "", "", "", 200},
			{"GET", "/v6/pages/about/us?siteId=" + siteID, "", "", "", 200},
			{"GET", "/v6/pages?siteId=" + siteID + "&limit=5", "", "", "", 200},
			{"GET", "/v2//sites", "", "", "", 404},
			{"GET", "/v2/./sites", "", "", "", 404},
			{"PUT", target, `{}`, "", "", 405},
			{"POST", "/v6/pages", `{"siteId":1}`, "", "", 400},
			{"POST", "/v6/pages", `{}`, "Content-Type", "text/plain", 415},
			{"POST", "/v6/pages", strings.Repeat(" ", 1<<20), "", "", 400}, // as large as it may be
		} {
			what := fmt.Sprintf("%s %s %s %s", c.method, c.target, c.header, c.value)
			var headers []string
			if c.header != "" {
				headers = []string{c.header, c.value}
			}
			var through reply
			var err error
			eventually(t, what+" comes to a node", func() bool {
				through, err = proxy.ask(key, c.method, c.target, c.body, headers...)
				return !noNode(through)
			})
			if err != nil || through.status != c.status {
				t.Errorf("%s: got %d, want %d (%v) %s", what, through.status, c.status, err, through.body)
				continue
			}
			direct, err := nodes[0].ask(key, c.method, c.target, c.body, headers...)
			if err != nil {
				t.Fatal(err)
			}
			checkSame(t, what, through, direct)
		}
	})
}

func TestProxiesRefuseLargeBodies(t *testing.T) {
	t.Parallel()
	behindBalancers(t, func(t *testing.T, proxy *process, nodes cluster) {
		key := nodes[0].key(t)
		large := strings.Repeat(" ", 5<<20)
		for what, rest := range map[string]string{
			"a byte too large": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", 1<<20+1, large[:1<<20+1]),
			"much too large":   fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(large), large),
			"in chunks":        fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(large), large),
		} {
			var r reply
			// Who sends for longer than a node goes on reading may miss the answer.
			eventually(t, what+" is answered", func() bool {
				s := proxy.slowRequest(t, fmt.Sprintf("POST /v6/pages HTTP/1.1\r\nHost: galley\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\n", key))
				go func() { _, _ = io.WriteString(s.conn, rest) }() // it may be told to stop before the end
				var err error
				r, err = s.read()
				return err == nil && r.status != 502 && !noNode(r)
			})
			if r.status != 413 || r.field(t, "code") != "payload_too_large" || r.header.Get("X-Request-Id") == "" {
				t.Errorf("%s: %d %v %s", what, r.status, r.header, r.body)
			}
		}
		proxy.must(t, 200, key, "GET", "/v2/sites", "")
	})
}

func TestProxiesTellWhoTheClientIs(t *testing.T) {
	t.Parallel()
	for name, start := range balancers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := newCluster(t, len(exampleNodes), "--trusted-proxies", "127.0.0.1", "--auth-rate", "1/86400", "--redis-url", newRedis(t, "strangers").url())
			proxy := start(t, nodes)
			for _, c := range []struct {
				from, forged string
				want         int
			}{
				{"127.0.1.2", "", 401}, {"127.0.1.2", "", 429}, {"127.0.1.2", "198.51.100.1", 429},
				{"127.0.1.3", "", 401}, {"127.0.1.3", "127.0.1.4", 429}, {"127.0.1.4", "", 401},
			} {
				var r reply
				eventually(t, "a request comes to a node", func() bool {
					r = askFrom(t, c.from, c.forged, proxy.url+"/v2/sites")
					return !noNode(r)
				})
				if r.status != c.want {
					t.Errorf("from %s, forged %q: status %d, want %d", c.from, c.forged, r.status, c.want)
				}
			}
		})
	}
}

// askFrom sends a request without a key from an address of this machine.
func askFrom(t *testing.T, from, forged, target string) reply {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client := http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	if forged != "" {
		req.Header.Set("X-Forwarded-For", forged)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

func TestNodeBehindAProxyStopsUnnoticed(t *testing.T) {
	t.Parallel()
	behindBalancers(t, func(t *testing.T, proxy *process, nodes cluster) {
		key := nodes[0].key(t)
		siteID, _ := nodes[0].newSite(t, key)
		nginx := strings.HasSuffix(t.Name(), "/nginx")
		// HAProxy says so when it takes all nodes for dead. Two are well all the time:
		// then the machine has stopped for longer than it waits for them.
		stopped := func(r reply) bool {
			if !noNode(r) || !strings.Contains(proxy.stdout.String()+proxy.stderr.String(), "has no server available") {
				return false
			}
			time.Sleep(100 * time.Millisecond)
			return true
		}
		var done atomic.Bool
		var sent atomic.Int64
		var clients sync.WaitGroup
		t.Cleanup(func() {
			done.Store(true)
			clients.Wait()
		})
		for client := range 6 {
			clients.Go(func() {
				for n := 0; !done.Load(); n++ {
					pathname := fmt.Sprintf("/%d/%d", client, n)
					create := func() (reply, error) {
						return proxy.ask(key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":%q}`, siteID, pathname), "Idempotency-Key", pathname)
					}
					r, err := create()
					// nginx may have sent the request to a node that was just closing the
					// connection, and does not send a POST twice by itself.
					for tries := 0; nginx && r.status == 503 && r.header.Get("Retry-After") != "" && tries < 5 || stopped(r); tries++ {
						r, err = create()
					}
					if err != nil || r.status != 201 {
						t.Errorf("POST %s: %d %s %v", pathname, r.status, r.body, err)
					}
					read := func() (reply, error) {
						return proxy.ask(key, "GET", "/v6/pages"+pathname+"?siteId="+siteID, "")
					}
					for r, err = read(); stopped(r); {
						r, err = read()
					}
					if err != nil || r.status != 200 {
						t.Errorf("GET %s: %d %s %v", pathname, r.status, r.body, err)
					}
					sent.Add(2)
					time.Sleep(2 * time.Millisecond) // the machine has other tests to run
				}
			})
		}
		more := func(n int64) {
			t.Helper()
			want := sent.Load() + n
			eventually(t, "requests are served", func() bool { return sent.Load() >= want })
		}
		more(100)
		if code := nodes[1].stop(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
		more(100)
		done.Store(true)
		clients.Wait()
		t.Logf("%d requests", sent.Load())

		// With nobody left the proxy says so as a node would.
		nodes[0].kill()
		nodes[2].kill()
		eventually(t, "the proxy has no node", func() bool {
			r, err := proxy.ask(key, "GET", "/v2/sites", "")
			return err == nil && r.status == 503 && r.header.Get("Retry-After") == "1" && r.header.Get("X-Request-Id") != "" && r.field(t, "code") == "unavailable"
		})
	}, "--app-rate", "off")
}
