package httpapi_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/sqlstore"
)

// onSQLite makes a system whose limits a test can reach. What these tests are
// about happens before any store.
func onSQLite(t *testing.T, option func(*httpapi.Options)) (*system, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	return newSystem(t, store, err, func(o *httpapi.Options) {
		o.Registry = registry
		option(o)
	}), registry
}

// metric reads a metric that has no label but a reason.
func metric(t *testing.T, registry *prometheus.Registry, name, reason string) int {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && (reason == "" || m.GetLabel()[0].GetValue() == reason) {
				return int(m.GetGauge().GetValue() + m.GetCounter().GetValue())
			}
		}
	}
	t.Fatalf("no metric %s %s", name, reason)
	return 0
}

// eventually waits until something holds, with patience for a busy machine.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// status sends a request without holding the answer against the document,
// which has no word on a busy server.
func (s *system) status(key, method, target, body string) (int, http.Header, string, error) {
	req, err := http.NewRequest(method, s.url+target, strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(text), err
}

// block keeps the store's writers waiting until it is released.
func (s *system) block(t *testing.T) (release func()) {
	t.Helper()
	held, end := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.store.InTx(t.Context(), func(tx cms.Tx) error {
			if err := tx.CreateWorkspace(t.Context(), cms.Workspace{ID: cms.NewID(), Name: "Held", CreatedAt: time.Now()}); err != nil {
				return err
			}
			close(held)
			<-end
			return nil
		})
	}()
	<-held
	return sync.OnceFunc(func() {
		close(end)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestBusyServerTurnsRequestsAway(t *testing.T) {
	const most = 2
	s, registry := onSQLite(t, func(o *httpapi.Options) {
		o.MaxInFlight, o.Origins = most, []string{shopOrigin}
	})
	var sites [most]string
	for i := range sites {
		sites[i], _ = s.newSite(t)
	}
	release := s.block(t)
	defer release()
	var writers sync.WaitGroup
	var done atomic.Int64
	for _, site := range sites {
		writers.Go(func() {
			if status, _, body, err := s.status(s.key, "DELETE", "/v2/sites/"+site, ""); status != 204 {
				t.Errorf("a request that was let in is answered %d %s %v", status, body, err)
			}
			done.Add(1)
		})
	}
	eventually(t, "all places are taken", func() bool { return metric(t, registry, "galley_http_requests_in_flight", "") == most })

	for n := range 3 {
		status, header, body, err := s.status("whatever", "GET", "/v2/sites", "")
		if status != 503 || header.Get("Retry-After") != "1" || !strings.Contains(body, `"code":"unavailable"`) || err != nil {
			t.Errorf("request %d: %d %s %v", n, status, body, err)
		}
		if header.Get("X-Request-Id") == "" || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("headers %v", header)
		}
	}
	if n := metric(t, registry, "galley_http_requests_refused_total", "in_flight"); n != 3 {
		t.Errorf("galley_http_requests_refused_total is %d, want 3", n)
	}
	for _, target := range []string{"/healthz", "/readyz", "/openapi.json"} {
		if status, _, _, err := s.status("", "GET", target, ""); status != 200 {
			t.Errorf("%s is answered %d %v", target, status, err)
		}
	}
	if done.Load() != 0 {
		t.Fatal("the store was not blocked, and this test proves nothing")
	}
	release()
	writers.Wait()
	if status, _, body, err := s.status(s.key, "GET", "/v2/sites", ""); status != 200 {
		t.Errorf("after it: %d %s %v", status, body, err)
	}
}

// Writers that wait for each other leave room for those who read.
func TestWritersLeaveRoomForReaders(t *testing.T) {
	const most, writing = 4, 3
	s, registry := onSQLite(t, func(o *httpapi.Options) { o.MaxInFlight = most })
	release := s.block(t)
	defer release()
	var writers sync.WaitGroup
	statuses := make(chan int, 2*most)
	for i := range cap(statuses) {
		writers.Go(func() {
			// Those with a body and those without one.
			method, target, body := "POST", "/v2/sites", `{"name":"Waits"}`
			if i%2 == 0 {
				method, target, body = "POST", "/v2/sites/"+cms.NewID().String()+"/restore", ""
			}
			status, _, _, err := s.status(s.key, method, target, body)
			if err != nil {
				t.Error(err)
			}
			statuses <- status
		})
	}
	for range cap(statuses) - writing {
		select {
		case status := <-statuses:
			if status != 503 {
				t.Errorf("a writer for whom there is no room is answered %d", status)
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("writers have taken all places")
		}
	}
	eventually(t, "as many write as may", func() bool { return metric(t, registry, "galley_http_requests_in_flight", "") == writing })
	for range most {
		if status, _, body, err := s.status(s.key, "GET", "/v2/sites", ""); status != 200 {
			t.Errorf("a reader is answered %d %s %v", status, body, err)
		}
	}
	release()
	writers.Wait()
	for range writing {
		if status := <-statuses; status != 201 && status != 404 {
			t.Errorf("a writer that was let in is answered %d", status)
		}
	}
}

// Who finds the queue full is told at once, not after those who wait in it.
func TestFullQueueTurnsAwayAtOnce(t *testing.T) {
	s, registry := onSQLite(t, func(o *httpapi.Options) { o.MaxInFlight = 1 })
	site, _ := s.newSite(t)
	release := s.block(t)
	defer release()
	var others sync.WaitGroup
	others.Go(func() { _, _, _, _ = s.status(s.key, "DELETE", "/v2/sites/"+site, "") })
	eventually(t, "the place is taken", func() bool { return metric(t, registry, "galley_http_requests_in_flight", "") == 1 })
	ask := func() int {
		status, _, _, _ := s.status(s.key, "GET", "/v2/sites", "")
		return status
	}
	eventually(t, "others are turned away while some wait", func() bool {
		const several = httpapi.WaitersEach + 4
		answers := make(chan int, several)
		for range several {
			others.Go(func() {
				answers <- ask()
			})
		}
		for range several - httpapi.WaitersEach {
			if status := <-answers; status != 503 {
				t.Errorf("answered %d", status)
			}
		}
		return ask() == 503 && len(answers) == 0
	})
	release()
	others.Wait()
}

// A moment's crowd is served, not turned away.
func TestShortQueueIsServed(t *testing.T) {
	const most = 4
	s, registry := onSQLite(t, func(o *httpapi.Options) { o.MaxInFlight = most })
	var clients sync.WaitGroup
	var late atomic.Int64 // a machine that stops makes no short queue
	for range most + 1 {  // one waits at a time; more might do so while workers change
		clients.Go(func() {
			for range 20 {
				begin := time.Now()
				status, _, body, err := s.status(s.key, "GET", "/v2/sites", "")
				if status == 503 && time.Since(begin) >= httpapi.MaxWait {
					late.Add(1)
				} else if status != 200 {
					t.Errorf("%d %s %v", status, body, err)
				}
			}
		})
	}
	clients.Wait()
	if n := metric(t, registry, "galley_http_requests_refused_total", "in_flight"); n != int(late.Load()) {
		t.Errorf("%d were turned away, %d of them late", n, late.Load())
	}
}

// dial opens a connection of a test's own.
func (s *system) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// begin sends the head of a POST and a part of its body.
func (s *system) begin(t *testing.T, key, target string, length, sent int) net.Conn {
	t.Helper()
	conn := s.dial(t)
	head := "POST " + target + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Api-Key: " + key + "\r\nContent-Length: " + strconv.Itoa(length) + "\r\n\r\n"
	if _, err := io.WriteString(conn, head+strings.Repeat(" ", sent)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// answer reads an answer from a connection that must not take forever.
func answer(t *testing.T, conn net.Conn) *http.Response {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp
}

func TestSlowBodyTakesNoPlace(t *testing.T) {
	s, registry := onSQLite(t, func(o *httpapi.Options) { o.MaxInFlight = 2 })
	body := `{"name":"Slow"}`
	slow := s.begin(t, s.key, "/v2/sites", len(body), 0)
	s.begin(t, s.key, "/v2/sites", len(body), 0)
	large := s.begin(t, s.key, "/v2/sites", 2<<20, 10)
	for range 10 {
		if status, _, text, err := s.status(s.key, "POST", "/v2/sites", `{"name":"Quick"}`); status != 201 {
			t.Fatalf("%d %s %v", status, text, err)
		}
	}
	eventually(t, "nothing is in flight while a body is waited for", func() bool { return metric(t, registry, "galley_http_requests_in_flight", "") == 0 })
	if _, err := io.WriteString(slow, body); err != nil {
		t.Fatal(err)
	}
	if status := answer(t, slow).StatusCode; status != 201 {
		t.Errorf("the slow one is answered %d", status)
	}
	if status := answer(t, large).StatusCode; status != 413 {
		t.Errorf("the one that is too large is answered %d", status)
	}
}

// Who has no key is not waited for.
func TestBodyThatNobodyReadsIsNotWaitedFor(t *testing.T) {
	s, _ := onSQLite(t, func(*httpapi.Options) {})
	for target, want := range map[string]int{"/v2/sites": 401, "/healthz": 405} {
		conn := s.begin(t, "wrong", target, 1000, 10)
		if status := answer(t, conn).StatusCode; status != want {
			t.Errorf("%s: %d, want %d", target, status, want)
		}
		if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("%s: the connection is kept: %d, %v", target, n, err)
		}
	}
	// Where all of the body is there, the connection is good for the next.
	conn := s.begin(t, "wrong", "/v2/sites", 1000, 1000)
	for range 2 {
		if status := answer(t, conn).StatusCode; status != 401 {
			t.Errorf("with all of the body there: %d", status)
		}
		if _, err := io.WriteString(conn, "GET /v2/sites HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
}

// Large bodies, with what is decoded from them, have a bounded share of memory.
// When it is taken, large ones are refused, and small ones are not.
func TestLargeBodiesAreRefusedWhenMemoryRunsOut(t *testing.T) {
	s, registry := onSQLite(t, func(*httpapi.Options) {})
	const mebibyte = 1 << 20
	slow := make([]net.Conn, httpapi.MaxBytes/(httpapi.BytesEach*mebibyte))
	for n := range slow {
		slow[n] = s.begin(t, s.key, "/v2/sites", mebibyte, mebibyte-1)
	}
	large := `{"name":"Quick"}` + strings.Repeat(" ", mebibyte-100)
	eventually(t, "a large body is refused", func() bool {
		status, header, _, err := s.status(s.key, "POST", "/v2/sites", large)
		if err != nil {
			t.Fatal(err)
		}
		return status == 503 && header.Get("Retry-After") == "1"
	})
	if metric(t, registry, "galley_http_requests_refused_total", "memory") == 0 {
		t.Error("the refusal is not counted")
	}
	if status, _, text, err := s.status(s.key, "POST", "/v2/sites", `{"name":"Small"}`); status != 201 {
		t.Errorf("a small body is answered %d %s %v", status, text, err)
	}
	for _, conn := range slow {
		_, _ = io.WriteString(conn, " ")
	}
	if status := answer(t, slow[0]).StatusCode; status != 400 {
		t.Errorf("a slow one that has arrived is answered %d", status)
	}
	eventually(t, "large bodies are accepted again", func() bool {
		status, _, _, _ := s.status(s.key, "POST", "/v2/sites", large)
		return status == 201
	})
}

// A body has a few seconds to arrive, and more if it is large.
func TestBodyThatStopsIsGivenUp(t *testing.T) {
	s, _ := onSQLite(t, func(*httpapi.Options) {})
	start := time.Now()
	conn := s.begin(t, s.key, "/v2/sites", 1000, 999)
	if status := answer(t, conn).StatusCode; status != 400 || time.Since(start) > time.Minute {
		t.Errorf("answered %d after %v", status, time.Since(start))
	}
}

// deaf asks for a long answer and does not read it.
func deaf(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestSlowReadersAreCutOffWhenMemoryRunsOut(t *testing.T) {
	const size = 8 << 20 // more than the kernel takes for one connection
	send := httpapi.Sender(prometheus.NewRegistry())
	var begun, cut atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer := make([]byte, size)
		begun.Add(1)
		if _, err := send(w, answer); err != nil {
			cut.Add(1)
		}
	}))
	defer server.CloseClientConnections()
	const readers = 3 * httpapi.MaxBytes / size
	for range readers {
		deaf(t, server.Listener.Addr().String())
	}
	eventually(t, "all are being answered", func() bool { return begun.Load() == readers })
	// Quick ones make room for themselves.
	eventually(t, "the slow ones are cut off", func() bool {
		resp, err := http.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || len(body) != size {
			t.Fatalf("a quick reader got %d bytes and %v", len(body), err)
		}
		return cut.Load() >= readers-httpapi.MaxBytes/size
	})
}

func TestConnectionsAreNotKeptInACrowd(t *testing.T) {
	var crowd atomic.Bool
	s, _ := onSQLite(t, func(o *httpapi.Options) { o.Crowded = crowd.Load })
	for _, crowded := range []bool{false, true} {
		crowd.Store(crowded)
		conn := s.dial(t)
		if _, err := io.WriteString(conn, "GET /v2/sites HTTP/1.1\r\nHost: x\r\nX-Api-Key: "+s.key+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if resp := answer(t, conn); resp.StatusCode != 200 || resp.Close != crowded {
			t.Errorf("crowded %v: %d, closed %v", crowded, resp.StatusCode, resp.Close)
		}
	}
}
