package main_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"galley/internal/pgtest"
)

// slowRequest is a request whose parts are sent when the test says so.
type slowRequest struct {
	conn net.Conn
	in   *bufio.Reader
	rest string // of an upload
}

func (p *process) slowRequest(t *testing.T, part string) *slowRequest {
	t.Helper()
	conn, err := net.Dial("tcp", p.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	s := &slowRequest{conn: conn, in: bufio.NewReader(conn)}
	s.send(t, part)
	return s
}

func (s *slowRequest) send(t *testing.T, part string) {
	t.Helper()
	if _, err := io.WriteString(s.conn, part); err != nil {
		t.Fatal(err)
	}
}

func (s *slowRequest) answer(t *testing.T) reply {
	t.Helper()
	r, err := s.read()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *slowRequest) read() (reply, error) {
	resp, err := http.ReadResponse(s.in, nil)
	if err != nil {
		return reply{}, err
	}
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(body)}, errors.Join(err, resp.Body.Close())
}

// slowUpload makes a site by a request that is under way when it returns.
func (p *process) slowUpload(t *testing.T, key, body string) *slowRequest {
	t.Helper()
	s := p.slowRequest(t, fmt.Sprintf("POST /v2/sites HTTP/1.1\r\nHost: galley\r\nX-Api-Key: %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", key, len(body)))
	// The server asks for the body only once it handles the request.
	if r := s.answer(t); r.status != 100 {
		t.Fatalf("status %d, want 100\n%s", r.status, r.body)
	}
	s.send(t, body[:len(body)/2])
	s.rest = body[len(body)/2:]
	return s
}

// finish sends the rest of an upload.
func (s *slowRequest) finish(t *testing.T) reply {
	t.Helper()
	s.send(t, s.rest)
	return s.answer(t)
}

func (p *process) stopping() bool { return strings.Contains(p.stderr.String(), `"stopping"`) }

func TestStopLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			onBothEngines(t, func(t *testing.T, store ...string) {
				server := serve(t, nil, store...)
				key := server.key(t)
				upload := server.slowUpload(t, key, `{"name":"Shop"}`)
				server.signal(t, s)
				eventually(t, "the server stops", server.stopping)

				r := upload.finish(t)
				if r.status != 201 {
					t.Fatalf("status %d, want 201\n%s", r.status, r.body)
				}
				if code := server.exitCode(t); code != 0 {
					t.Errorf("exit code %d\n%s", code, &server.stderr)
				}
				again := serve(t, nil, store...)
				again.must(t, 200, key, "GET", "/v2/sites/"+r.field(t, "id"), "")
			})
		})
	}
}

// Whoever is told to stop before it serves has nothing to complain about.
func TestStopDuringTheStart(t *testing.T) {
	t.Parallel()
	waits := pgtest.URL(t)
	other, err := sql.Open("pgx", waits)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), `select pg_advisory_xact_lock(hashtextextended('galley migrations', 0))`); err != nil {
		t.Fatal(err)
	}
	stalled := newProxy(t, pgtest.URL(t))
	stalled.stalled.Store(true)
	for name, database := range map[string]string{"another node migrates": waits, "the database stalls": stalled.url} {
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			t.Run(name+", "+s.String(), func(t *testing.T) {
				address := pgtest.FreeAddress(t)
				server := launch(t, nil, "serve", "--addr", address, "--database-url", database)
				eventually(t, "the port is taken", func() bool {
					conn, err := net.Dial("tcp", address)
					if err == nil {
						_ = conn.Close()
					}
					return err == nil
				})
				eventually(t, "it says what it waits for", func() bool { return strings.Contains(server.stderr.String(), "still waiting for the database") })
				server.signal(t, s)
				if code := server.exitCode(t); code != 0 || strings.Count(server.stderr.String(), "\n") != 1 {
					t.Errorf("exit code %d, %q", code, server.stderr.String())
				}
			})
		}
	}
}

func TestReadinessGoesOffWhileARequestFinishes(t *testing.T) {
	t.Parallel()
	server := serve(t, nil, "--drain-delay", "20s")
	upload := server.slowUpload(t, server.key(t), `{"name":"Shop"}`)
	server.signal(t, syscall.SIGTERM)
	eventually(t, "the server stops", server.stopping)

	// For a moment it goes on serving, so that a load balancer is told.
	server.must(t, 503, "", "GET", "/readyz", "")
	// What is answered now is the last on its connection: one that is closed
	// between requests could be closed on a request that is on its way.
	resp, err := http.Get(server.url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != 200 || !resp.Close {
		t.Errorf("while it stops: status %d, connection closed: %t", resp.StatusCode, resp.Close)
	}
	refused(t, 1, nil, "healthcheck", "--addr", server.address())
	select {
	case <-server.ended:
		t.Fatal("the server ended before the request under way")
	default:
	}
	if r := upload.finish(t); r.status != 201 {
		t.Errorf("status %d, want 201\n%s", r.status, r.body)
	}
	if code := server.exitCode(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestStoppedServerFreesItsPort(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first := serveOn(t, nil, "--addr", pgtest.FreeAddress(t), "--data", data)
	first.must(t, 200, "", "GET", "/healthz", "")
	if code := first.stop(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	second := serveOn(t, nil, "--addr", first.address(), "--data", data)
	second.ready(t)
}

func TestWhenAnAppWasUsedSurvivesAStop(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		app := createApp(t, append(store, "--name", "Importer")...)
		server := serve(t, nil, store...)
		server.must(t, 200, app.Key, "GET", "/v2/sites", "")
		server.stop(t)
		if list := mustRun(t, nil, append([]string{"apps", "list"}, store...)...); strings.Contains(list, "never") {
			t.Errorf("the use was forgotten:\n%s", list)
		}
	})
}

const (
	killRounds  = 5
	killWriters = 8
)

// Whatever was answered with 201 must be there after the process was killed in
// the middle of its work.
func TestKilledServerKeepsEveryAcknowledgedPage(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	server := serve(t, nil, "--data", data, "--app-rate", "off")
	key := server.key(t)
	siteID, _ := server.newSite(t, key)
	var acknowledged []string
	for round := range killRounds {
		written := writeUntilKilled(t, server, key, siteID, round)
		if len(written) == 0 {
			t.Fatalf("round %d: nothing was written before the kill", round)
		}
		acknowledged = append(acknowledged, written...)
		server = serve(t, nil, "--data", data, "--app-rate", "off")
		server.ready(t)
	}
	for _, pathname := range acknowledged {
		if r := server.send(t, key, "GET", "/v6/pages"+pathname+"?siteId="+siteID, ""); r.status != 200 {
			t.Errorf("page %s is lost: %d %s", pathname, r.status, r.body)
		}
	}
	t.Logf("%d pages acknowledged over %d kills", len(acknowledged), killRounds)
}

// writeUntilKilled lets writers create pages, kills the server under them, and
// returns the pathnames of the pages that were acknowledged.
func writeUntilKilled(t *testing.T, server *process, key, siteID string, round int) []string {
	t.Helper()
	var mu sync.Mutex
	var acknowledged []string
	var writers sync.WaitGroup
	for writer := range killWriters {
		writers.Go(func() {
			for n := 0; ; n++ {
				pathname := fmt.Sprintf("/round%d/writer%d/page%d", round, writer, n)
				r, err := server.try(key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":%q}`, siteID, pathname))
				if err != nil {
					return // killed
				}
				if r.status != 201 {
					t.Errorf("%s: %d %s", pathname, r.status, r.body)
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, pathname)
				mu.Unlock()
			}
		})
	}
	eventually(t, "writes are under way", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged) > killWriters
	})
	server.kill()
	writers.Wait()
	return acknowledged
}
