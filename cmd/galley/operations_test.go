package main_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/internal/pgtest"
)

func TestHealthAndReadinessNeedNoKey(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, store...)
		server.ready(t)
		for _, address := range []string{"/healthz", "/openapi.json", "/docs"} {
			server.must(t, 200, "", "GET", address, "")
		}
		reference := server.must(t, 200, "", "GET", "/docs", "").body
		// The client follows redirects.
		if r := server.must(t, 200, "", "GET", "/docs/", ""); r.body != reference {
			t.Error("/docs/ does not show the reference")
		}
		if r := server.must(t, 200, "", "GET", "/", ""); !strings.Contains(r.body, `<title>Sign in`) {
			t.Errorf("/ does not lead to the console: %s", r.body)
		}
	})
}

func TestDatabaseThatGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	database := newProxy(t, pgtest.URL(t))
	server := serve(t, nil, "--database-url", database.url)
	key := server.key(t)
	server.ready(t)
	readInParallel(t, server, key, 200)

	database.cut()
	checkUnavailable(t, server, key)
	readInParallel(t, server, key, 503)

	database.open(t)
	server.ready(t)
	server.must(t, 200, key, "GET", "/v2/sites", "")
}

// A node that misses notifications goes on serving, and says so.
func TestLostNotificationsAreLogged(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	listener := newProxy(t, url)
	server := serve(t, nil, "--database-url", url, "--listen-url", listener.url)
	key := server.key(t)
	connected := func() string { return server.sample(t, key, "galley_notifications_connected") }
	eventually(t, "it is connected", func() bool { return connected() == "1" })

	listener.cut()
	eventually(t, "the connection is lost", func() bool { return connected() == "0" })
	eventually(t, "the log says so", func() bool { return strings.Contains(server.stderr.String(), "no connection for notifications") })
	server.must(t, 200, key, "GET", "/v2/sites", "")
	server.must(t, 200, "", "GET", "/readyz", "")

	listener.open(t)
	eventually(t, "it is connected again", func() bool { return connected() == "1" })
	eventually(t, "the log says that it is back", func() bool {
		return strings.Contains(server.stderr.String(), "the connection for notifications is back")
	})
}

// A database that takes connections and never answers must not make the checks
// hang as well.
func TestDatabaseThatStalls(t *testing.T) {
	t.Parallel()
	database := newProxy(t, pgtest.URL(t))
	server := serve(t, nil, "--database-url", database.url)
	server.ready(t)

	database.stalled.Store(true)
	start := time.Now()
	eventually(t, "the server is not ready", func() bool { return server.send(t, "", "GET", "/readyz", "").status == 503 })
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("/readyz took %s", took)
	}
	refused(t, 1, nil, "healthcheck", "--addr", server.address())

	database.stalled.Store(false)
	server.ready(t)
}

// readInParallel keeps several of the pool's connections busy.
func readInParallel(t *testing.T, server *process, key string, want int) {
	t.Helper()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if r, err := server.try(key, "GET", "/v2/sites", ""); err != nil || r.status != want {
				t.Errorf("got %d %s %v, want %d", r.status, r.body, err, want)
			}
		})
	}
	group.Wait()
}

func TestDatabaseThatIsDropped(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	server := serve(t, nil, "--database-url", url)
	key := server.key(t)
	name := regexp.MustCompile(`/(\w+)\?`).FindStringSubmatch(url)[1]
	eventually(t, "the database is dropped", func() bool { // it waits for others, who may take their time
		out, err := exec.Command("psql", strings.Replace(url, name, "postgres", 1), "-c", "drop database if exists "+name+" with (force)").CombinedOutput()
		if err != nil {
			t.Logf("%v\n%s", err, out)
		}
		return err == nil
	})
	checkUnavailable(t, server, key)
}

// noticed is how long a server may take to notice that its database is lost: a
// second, and more on a busy machine.
const noticed = 10 * time.Second

func checkUnavailable(t *testing.T, server *process, key string) {
	t.Helper()
	server.must(t, 200, "", "GET", "/healthz", "")
	begun := time.Now()
	eventually(t, "the server is not ready", func() bool { return server.send(t, "", "GET", "/readyz", "").status == 503 })
	if took := time.Since(begun); took > noticed {
		t.Errorf("/readyz failed after %s, want at most %s", took, noticed)
	}
	eventually(t, "cached responses expire", func() bool { return server.send(t, key, "GET", "/v2/sites", "").status == 503 })
	if took := time.Since(begun); took > noticed {
		t.Errorf("the last cached response came %s after the database was lost, want at most %s", took, noticed)
	}
	for _, r := range []reply{
		server.must(t, 503, "", "GET", "/readyz", ""),
		server.must(t, 503, key, "GET", "/v2/sites", ""),
		server.must(t, 503, key, "POST", "/v2/sites", `{"name":"Shop"}`),
	} {
		if r.header.Get("Retry-After") == "" || r.field(t, "object") != "error" || r.field(t, "code") != "unavailable" {
			t.Errorf("Retry-After is %q with %s", r.header.Get("Retry-After"), r.body)
		}
	}
	refused(t, 1, nil, "healthcheck", "--addr", server.address())
}

func TestHealthcheckCommand(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	_, port, err := net.SplitHostPort(server.address())
	if err != nil {
		t.Fatal(err)
	}
	// The address that a server in a container is told to listen on has to do.
	for _, addr := range []string{server.address(), "localhost:" + port, "0.0.0.0:" + port, ":" + port} {
		healthy(t, nil, "--addr", addr)
		healthy(t, []string{"GALLEY_ADDR=" + addr})
	}

	server.stop(t)
	stderr := refused(t, 1, nil, "healthcheck", "--addr", server.address())
	if !strings.Contains(stderr, server.address()) {
		t.Errorf("the message does not name the address: %s", stderr)
	}
}

func TestHealthcheckOfAServerOnEveryIPv6Address(t *testing.T) {
	t.Parallel()
	server := serveOn(t, nil, "--addr", "[::]:0")
	healthy(t, nil, "--addr", server.address())
}

// Whoever answers for a proxy must not be taken for the server.
func TestHealthcheckAsksNoProxy(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // answers 200
	defer proxy.Close()
	server := serveOn(t, nil, "--addr", "[::]:0")
	server.stop(t)
	for _, variable := range []string{"HTTP_PROXY", "http_proxy"} {
		refused(t, 1, []string{variable + "=" + proxy.URL}, "healthcheck", "--addr", server.address())
	}
}

func TestVersionCommand(t *testing.T) {
	t.Parallel()
	if out := mustRun(t, nil, "version"); !regexp.MustCompile(`^galley 0\.1\.0( \(\w+\))?\n$`).MatchString(out) {
		t.Errorf("got %q", out)
	}
}

func TestOpenapiCommandPrintsWhatTheServerServes(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	printed := mustRun(t, nil, "openapi")
	if served := server.must(t, 200, "", "GET", "/openapi.json", "").body; strings.TrimSpace(served) != strings.TrimSpace(printed) {
		t.Error("the two documents differ")
	}
	if !json.Valid([]byte(printed)) {
		t.Error("the document is not JSON")
	}
}

func TestMigrateCommand(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		migrate := append([]string{"migrate"}, store...)
		if out := mustRun(t, nil, migrate...); !strings.Contains(out, "Applied schema version 1.") {
			t.Errorf("the first run says %s", out)
		}
		if out := mustRun(t, nil, migrate...); !strings.Contains(out, "up to date") {
			t.Errorf("the second run says %s", out)
		}
		// An empty schema is not a first start.
		server := serve(t, nil, store...)
		server.must(t, 200, server.key(t), "GET", "/v2/workspace", "")
	})
}

func TestOperatorsAddressesNeedTheScopeOperator(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	server := serve(t, nil, "--data", data)
	operator := server.key(t)
	other := createApp(t, "--data", data, "--name", "Admin", "--scopes", "read,write,publish,admin").Key
	_, siteKey := server.newSite(t, operator)

	for _, address := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine?debug=2"} {
		for name, test := range map[string]struct {
			key    string
			status int
		}{
			"no key": {"", 401}, "wrong key": {swapLast(operator), 401}, "no operator": {other, 403}, "Site key": {siteKey, 403}, "operator": {operator, 200},
		} {
			if r := server.send(t, test.key, "GET", address, ""); r.status != test.status {
				t.Errorf("%s with %s: %d, want %d\n%s", address, name, r.status, test.status, r.body)
			}
		}
	}
}

// The command line may hold a password, and an app's admin is not the operator.
func TestProfilesDoNotShowTheCommandLine(t *testing.T) {
	t.Parallel()
	url := strings.Replace(pgtest.URL(t), "postgres@", "postgres:hunter2@", 1)
	server := serve(t, nil, "--database-url", url)
	if r := server.send(t, server.key(t), "GET", "/debug/pprof/cmdline", ""); strings.Contains(r.body, "hunter2") {
		t.Errorf("/debug/pprof/cmdline shows the database's password: %q", r.body)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		store []string
		pools []string
	}{
		"sqlite":   {[]string{"--data", t.TempDir()}, []string{"read", "write"}},
		"postgres": {[]string{"--database-url", pgtest.URL(t)}, []string{"main"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := serve(t, nil, test.store...)
			key := server.key(t)
			siteID, _ := server.newSite(t, key)
			for _, pathname := range []string{"/one", "/two"} {
				server.must(t, 201, key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":%q}`, siteID, pathname))
				server.must(t, 200, key, "GET", "/v6/pages"+pathname+"?siteId="+siteID, "")
			}
			server.must(t, 200, key, "GET", "/v2/sites/"+siteID+"/changes", "") // more than one statement
			server.must(t, 404, key, "GET", "/made/up/address", "")
			server.must(t, 405, key, "BREW", "/v2/sites", "")
			server.must(t, 401, "", "DELETE", "/v2/sites/"+siteID, "")

			want := []string{
				`galley_http_requests_total{method="GET",route="/v6/pages/{pageIdOrPathname}",status="200"} 2`,
				`galley_http_requests_total{method="POST",route="/v6/pages",status="201"} 2`,
				`galley_http_requests_total{method="GET",route="unmatched",status="404"} 1`,
				`galley_http_requests_total{method="other",route="unmatched",status="405"} 1`,
				`galley_http_requests_total{method="DELETE",route="/v2/sites/{siteId}",status="401"} 1`,
				`galley_http_request_duration_seconds_count{method="GET",route="/v6/pages/{pageIdOrPathname}"} 2`,
				"galley_http_requests_in_flight 1", "galley_http_connections ", "galley_cache_hits_total ", "galley_cache_misses_total ",
				`galley_http_requests_refused_total{reason="in_flight"} 0`, `galley_http_requests_refused_total{reason="memory"} 0`, `galley_build_info{`,
				`galley_store_duration_seconds_count{use="tx"}`, `galley_store_duration_seconds_count{use="view"}`,
				"go_goroutines ", "process_resident_memory_bytes ",
			}
			for _, pool := range test.pools {
				want = append(want, `galley_store_connections_open{pool="`+pool+`"}`)
			}
			eventually(t, "the store's size is known", func() bool {
				size, _ := strconv.ParseFloat(server.sample(t, key, "galley_store_size_bytes"), 64)
				return size > 4096
			})
			metrics := server.must(t, 200, key, "GET", "/metrics", "").body
			for _, line := range want {
				if !strings.Contains(metrics, "\n"+line) {
					t.Errorf("no %s in\n%s", line, galleyLines(metrics))
				}
			}
			for _, never := range []string{siteID, "/one", "/made/up", "BREW"} {
				if strings.Contains(metrics, never) {
					t.Errorf("%s made up a metric", never)
				}
			}
		})
	}
}

func galleyLines(metrics string) string {
	var b strings.Builder
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "galley_") && !strings.Contains(line, "_bucket") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// maxIdleMemory is resident memory. Some 32 MB of it are pages of the program itself, which
// the kernel can drop.
const maxIdleMemory = 48 << 20

func TestIdleMemory(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	key := server.key(t)
	siteID, _ := server.newSite(t, key)
	for n := range 5 {
		server.must(t, 201, key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/page%d"}`, siteID, n))
		server.must(t, 200, key, "GET", "/v6/pages?siteId="+siteID, "")
	}
	server.ready(t)
	http.DefaultClient.CloseIdleConnections()
	time.Sleep(2 * time.Second)
	eventually(t, fmt.Sprintf("no more than %d MB are used", maxIdleMemory>>20), func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", server.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		kilobytes, err := strconv.Atoi(found(t, regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`), string(status)))
		if err != nil {
			t.Fatal(err)
		}
		return kilobytes<<10 <= maxIdleMemory
	})
}
