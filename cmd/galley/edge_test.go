package main_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestTrustedProxiesCanBeSetEverywhere(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]int{"flag": byFlag, "variable": byVariable, "file": byFile} {
		t.Run(name, func(t *testing.T) {
			env, args := give(t, place, map[string]string{"auth-rate": "1/86400", "trusted-proxies": "10.0.0.0/8,127.0.0.1"})
			server := serve(t, env, args...)
			for _, c := range []struct {
				forwarded string
				want      int
			}{
				{"198.51.100.1", 401}, {"198.51.100.2", 401}, {"198.51.100.1", 429}, {"203.0.113.1, 198.51.100.2", 429},
				{"2001:db8::1", 401}, {"2001:db8::2", 429},
			} {
				if r, err := server.ask("", "GET", "/v2/sites", "", "X-Forwarded-For", c.forwarded); err != nil || r.status != c.want {
					t.Errorf("%s: %d %v, want %d", c.forwarded, r.status, err, c.want)
				}
			}
		})
	}
}

// sample is a line of the metrics, by its name with labels.
func (p *process) sample(t *testing.T, key, name string) string {
	t.Helper()
	for line := range strings.Lines(p.must(t, 200, key, "GET", "/metrics", "").body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func TestConnectionsAreCapped(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]int{"flag": byFlag, "variable": byVariable, "file": byFile} {
		t.Run(name, func(t *testing.T) {
			const most = 20
			env, args := give(t, place, map[string]string{"max-connections": fmt.Sprint(most), "max-in-flight": "3"})
			server := serve(t, env, args...)
			key := server.key(t)
			var open []net.Conn
			for range most {
				conn, err := net.Dial("tcp", server.address())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				open = append(open, conn)
			}
			late := make(chan error, 1)
			go func() {
				r, err := server.askOnce(http.DefaultClient, "", "GET", "/healthz", "")
				if err == nil && r.status != 200 {
					err = fmt.Errorf("answered %d", r.status)
				}
				late <- err
			}()
			select {
			case err := <-late:
				t.Errorf("a connection beyond the limit does not wait: %v", err)
			case <-time.After(200 * time.Millisecond):
			}
			// Open connections are served.
			last := open[most-1]
			_ = last.SetDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.WriteString(last, "GET /v2/sites HTTP/1.1\r\nHost: x\r\nX-Api-Key: "+key+"\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if resp, err := http.ReadResponse(bufio.NewReader(last), nil); err != nil || resp.StatusCode != 200 {
				t.Errorf("within the limit: %v %v", resp, err)
			}
			for _, conn := range open {
				_ = conn.Close()
			}
			if err := <-late; err != nil {
				t.Errorf("when there is room again: %v", err)
			}
			eventually(t, "the connections are closed", func() bool {
				return server.sample(t, key, "galley_http_connections") == "1"
			})
			if got := server.sample(t, key, "galley_http_requests_in_flight"); got != "1" { // the scrape itself
				t.Errorf("galley_http_requests_in_flight is %q", got)
			}
		})
	}
}

// A limit on open files that is too low is told at the start, and not met by
// surprise.
func TestFewOpenFilesAreWarnedOf(t *testing.T) {
	t.Parallel()
	p := launch(t, nil, "version")
	if code := p.exitCode(t); code != 0 {
		t.Fatal(code)
	}
	sh := &process{cmd: exec.Command("sh", "-c", `ulimit -n 1000 && exec "$0" serve --addr 127.0.0.1:0 --data "$1"`, binary, t.TempDir()), ended: make(chan struct{})}
	sh.cmd.Env = p.cmd.Env
	sh.cmd.Stdout, sh.cmd.Stderr = &sh.stdout, &sh.stderr
	if err := sh.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = sh.cmd.Wait()
		close(sh.ended)
	}()
	t.Cleanup(sh.kill)
	eventually(t, "the server warns", func() bool {
		return strings.Contains(sh.stderr.String(), "--max-connections") && strings.Contains(sh.stderr.String(), `"connections":488`)
	})
}

// script is a page whose script reads a site and shows what it got.
const script = `<!doctype html><title>x</title><p id="out">waiting</p><script>
fetch(%q, {headers: {"x-api-key": %q}}).then(async r => {
  document.getElementById("out").textContent = "status " + r.status + " " + (await r.json()).object + " limit " + r.headers.get("X-RateLimit-Limit");
}).catch(e => { document.getElementById("out").textContent = "blocked"; });
</script>`

func TestScriptsOfAllowedOriginsReadInABrowser(t *testing.T) {
	t.Parallel()
	var text string
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, text)
	})
	allowed, other := httptest.NewServer(page), httptest.NewServer(page)
	defer allowed.Close()
	defer other.Close()
	server := serve(t, nil, "--cors-origins", "https://shop.example,"+allowed.URL)
	key := server.key(t)
	site, siteKey := server.newSite(t, key)
	for _, c := range []struct{ name, origin, key, shows string }{
		{"Site key", allowed.URL, siteKey, "status 200 site limit 60000"},
		{"wrong key", allowed.URL, "wrong", "status 401 error limit 600"},
		{"App key", allowed.URL, key, "blocked"},
		{"other origin", other.URL, siteKey, "blocked"},
	} {
		text = fmt.Sprintf(script, server.url+"/v2/sites/"+site, c.key)
		dom, console := browse(t, c.origin+"/", "--dump-dom")
		if !strings.Contains(dom, ">"+c.shows+"<") {
			t.Errorf("%s: the page shows\n%s\n%s", c.name, dom, console)
		}
	}
}

func TestAppsRate(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, store...)
		app := createApp(t, append([]string{"--name", "Importer", "--rate", "2/86400"}, store...)...)
		limit := func() string {
			return server.send(t, app.Key, "GET", "/v2/sites", "").header.Get("X-RateLimit-Limit")
		}
		listed := func() string {
			for line := range strings.Lines(mustRun(t, nil, append([]string{"apps", "list"}, store...)...)) {
				if fields := strings.Fields(line); len(fields) > 5 && fields[1] == app.ID {
					return fields[5]
				}
			}
			return ""
		}
		for _, want := range []int{200, 200, 429} {
			server.must(t, want, app.Key, "GET", "/v2/sites", "")
		}
		if listed() != "2/86400" {
			t.Errorf("listed as %q", listed())
		}
		// Used up or not, the new limit counts at once.
		for _, step := range []struct{ rate, limit, listed string }{
			{"7/86400", "7", "7/86400"}, {"off", "", "off"}, {"default", "60000", "default"},
		} {
			if out := mustRun(t, nil, append([]string{"apps", "rate", app.ID, step.rate}, store...)...); !strings.Contains(out, step.listed) {
				t.Errorf("apps rate says %q", out)
			}
			eventually(t, "the server has heard of it", func() bool { return limit() == step.limit })
			if got := listed(); got != step.listed {
				t.Errorf("%s is listed as %q", step.rate, got)
			}
		}
		for _, args := range [][]string{
			{"apps", "rate", app.ID, "fast"}, {"apps", "rate", app.ID, "0/60"}, {"apps", "rate", "abc", "5/60"}, {"apps", "create", "--name", "x", "--rate", "fast"},
			{"apps", "rate", "01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b", "5/60"},
		} {
			refused(t, 1, nil, append(args, store...)...)
		}
	})
}
