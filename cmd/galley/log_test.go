package main_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"galley/internal/pgtest"
)

// logLines are the lines of a server's log, each of which has to be JSON.
func (p *process) logLines(t *testing.T) []map[string]any {
	t.Helper()
	var lines []map[string]any
	log := p.stderr.String()
	scanner := bufio.NewScanner(strings.NewReader(log[:strings.LastIndexByte(log, '\n')+1])) // the last may be on its way
	for scanner.Scan() {
		var line map[string]any
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatalf("a line of the log is not JSON: %v\n%s", err, scanner.Text())
		}
		lines = append(lines, line)
	}
	return lines
}

// requestLines are the log's lines about a request.
func (p *process) requestLines(t *testing.T, requestID string) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for _, line := range p.logLines(t) {
		if line["requestId"] == requestID {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestEachRequestIsOneLineOfTheLog(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	key := server.key(t)
	siteID, siteKey := server.newSite(t, key)
	appID := onlyApp(t, server, key)
	page := server.must(t, 201, key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/about/team"}`, siteID)).field(t, "id")

	tests := map[string]struct {
		key, method, target string
		credential, route   string
		status              float64
	}{
		"by id":          {key, "GET", "/v6/pages/" + page, appID, "/v6/pages/{pageIdOrPathname}", 200},
		"by pathname":    {key, "GET", "/v6/pages/about/team?siteId=" + siteID, appID, "/v6/pages/{pageIdOrPathname}", 200},
		"site key":       {siteKey, "GET", "/v2/locales?siteId=" + siteID, siteID, "/v2/locales", 200},
		"not found":      {key, "GET", "/v6/pages/nowhere?siteId=" + siteID, appID, "/v6/pages/{pageIdOrPathname}", 404},
		"no such route":  {key, "GET", "/v9/pages", appID, "unmatched", 404},
		"bad query":      {key, "GET", "/v2/sites?limit=0", appID, "/v2/sites", 400},
		"no key":         {"", "GET", "/v2/sites", "", "/v2/sites", 401},
		"no key to it":   {"", "POST", "/v6/pages", "", "/v6/pages", 401},
		"no such method": {key, "PUT", "/v2/sites", appID, "unmatched", 405},
		"open":           {"", "GET", "/healthz", "", "/healthz", 200},
		"operators only": {key, "GET", "/metrics", appID, "/metrics", 200},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := server.must(t, int(test.status), test.key, test.method, test.target, "")
			requestID := r.header.Get("X-Request-Id")
			// The line is written after the answer.
			var lines []map[string]any
			eventually(t, "the request is logged", func() bool {
				lines = server.requestLines(t, requestID)
				return len(lines) > 0
			})
			if len(lines) != 1 {
				t.Fatalf("%d lines of the log: %v", len(lines), lines)
			}
			line := lines[0]
			credential, _ := line["credential"].(string)
			if credential != test.credential || line["route"] != test.route || line["status"] != test.status || line["method"] != test.method {
				t.Errorf("logged %v", line)
			}
			if ms, ok := line["durationMs"].(float64); !ok || ms <= 0 || ms > 1000*patience.Seconds() {
				t.Errorf("durationMs %v", line["durationMs"])
			}
			if line["client"] != "127.0.0.1" {
				t.Errorf("client %v", line["client"])
			}
			wantSite := any(nil)
			if strings.Contains(test.target, siteID) || strings.Contains(test.target, page) {
				wantSite = siteID
			}
			if line["siteId"] != wantSite {
				t.Errorf("siteId %v, want %v", line["siteId"], wantSite)
			}
		})
	}
}

// Whoever read the log, or what the server says, may go.
func TestServerOutlivesWhoeverReadsItsOutput(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stdout", "stderr"} {
		t.Run(name, func(t *testing.T) {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			address := pgtest.FreeAddress(t)
			server := prepare(t, nil, binary, "serve", "--addr", address)
			server.url = "http://" + address
			if name == "stdout" {
				server.cmd.Stdout = write
			} else {
				server.cmd.Stderr = write
			}
			err = read.Close()
			server.start(t)
			if err := errors.Join(err, write.Close()); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the server is ready", func() bool {
				r, err := server.try("", "GET", "/readyz", "")
				return err == nil && r.status == 200
			})
			for range 5 {
				server.must(t, 200, "", "GET", "/healthz", "")
				time.Sleep(150 * time.Millisecond) // the log is written, in vain
			}
			if code := server.stop(t); code != 0 {
				t.Errorf("exit code %d\n%s", code, &server.stderr)
			}
		})
	}
}

// Other commands end without a word, as whoever pipes them into head expects.
func TestCommandEndsWithWhoeverReadsItsOutput(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := prepare(t, nil, binary, "openapi")
	p.cmd.Stdout = write
	err = read.Close()
	p.start(t)
	if err := errors.Join(err, write.Close()); err != nil {
		t.Fatal(err)
	}
	p.exitCode(t)
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGPIPE || p.stderr.String() != "" {
		t.Errorf("ended with %v, %q", p.cmd.ProcessState, p.stderr.String())
	}
}

// onlyApp is the id of the one app there is.
func onlyApp(t *testing.T, server *process, key string) string {
	t.Helper()
	var list struct{ Data []struct{ ID string } }
	r := server.must(t, 200, key, "GET", "/v2/apps", "")
	if err := json.Unmarshal([]byte(r.body), &list); err != nil || len(list.Data) != 1 {
		t.Fatalf("want one app: %v\n%s", err, r.body)
	}
	return list.Data[0].ID
}

// Canaries go wherever a request can carry something; none may come out.
func TestNoSecretAndNoContentIsLogged(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		key := strings.TrimSpace(mustRun(t, nil, "keygen"))
		server := serve(t, []string{"GALLEY_BOOTSTRAP_KEY=" + key}, append(store, "--log-level", "debug")...)
		siteID, siteKey := server.newSite(t, key)
		made := server.must(t, 201, key, "POST", "/v2/apps", `{"name":"canary-app"}`).field(t, "key")

		page := fmt.Sprintf(`{"siteId":%q,"pathname":"/canary-path","title":"canary-title"}`, siteID)
		server.must(t, 201, key, "POST", "/v6/pages", page)
		server.must(t, 409, key, "POST", "/v6/pages", page)
		server.must(t, 400, key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/x","canary-field":"canary-value"}`, siteID))
		server.must(t, 400, key, "POST", "/v6/pages", `{"canary-broken`)
		server.must(t, 200, siteKey, "GET", "/v6/pages/canary-path?siteId="+siteID, "")
		server.must(t, 200, made, "GET", "/v2/sites", "")
		server.must(t, 400, made, "GET", "/v2/sites?x-api-key=canary-query", "")
		server.must(t, 404, key, "GET", "/canary-address/canary-segment", "")
		for _, wrong := range []string{"sk_canary-key", swapLast(key), "canary key"} {
			server.must(t, 401, wrong, "GET", "/v2/sites?canary-query=1", "")
		}
		odd := server.slowRequest(t, "CANARY-METHOD /canary-raw HTTP/1.1\r\nHost: canary-host\r\nX-Canary: canary-header\r\n\r\n")
		odd.answer(t)
		malformed := server.slowRequest(t, "GET /canary-malformed HTTP/1.1\r\nHost: x\r\ncanary header: canary\r\n\r\n")
		malformed.answer(t)

		server.stop(t)
		said := server.stdout.String() + server.stderr.String()
		if strings.Contains(strings.ToLower(said), "canary") {
			t.Errorf("a canary came out:\n%s", said)
		}
		for name, secret := range map[string]string{"App key": key, "new App key": made, "Site key": siteKey, "mistyped key": swapLast(key)} {
			if strings.Contains(said, secret) {
				t.Errorf("the %s came out:\n%s", name, said)
			}
		}
	})
}

func TestDatabasePasswordIsNotLogged(t *testing.T) {
	t.Parallel()
	// The test's server trusts everyone, so any password will do.
	url := strings.Replace(pgtest.URL(t), "postgres@", "postgres:hunter2@", 1)
	database := newProxy(t, url)
	server := serve(t, nil, "--database-url", database.url)
	key := server.key(t)
	database.cut()
	for range 3 { // the pool finds out on its connections, then on new ones
		server.send(t, key, "GET", "/v2/sites", "")
		server.send(t, "", "GET", "/readyz", "")
	}
	server.stop(t)
	if said := server.stdout.String() + server.stderr.String(); strings.Contains(said, "hunter2") {
		t.Errorf("the password came out:\n%s", said)
	}
}
