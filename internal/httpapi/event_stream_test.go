package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/pgtest"
	"galley/internal/sqlstore"
)

// sent is an item of a stream: an event, or a comment.
type sent struct {
	id, kind, data, comment string
	at                      time.Time
}

// stream is an open stream of events.
type stream struct {
	resp  *http.Response
	items chan sent // closed at its end
	close func()
}

// stream opens a stream and reads it.
func (s *system) stream(t *testing.T, query string, headers ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", s.url+"/v2/events/stream?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", s.key)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	st := &stream{resp, make(chan sent, 10_000), func() { cancel(); _ = resp.Body.Close() }}
	t.Cleanup(st.close)
	go st.read()
	return st
}

func (st *stream) read() {
	defer close(st.items)
	lines := bufio.NewScanner(st.resp.Body)
	lines.Buffer(nil, 8<<20)
	var item sent
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			item.at = time.Now()
			st.items <- item
			item = sent{}
		case field == "":
			item.comment = ":" + value
		case field == "id":
			item.id = value
		case field == "event":
			item.kind = value
		case field == "data":
			item.data = value
		}
	}
}

// next is the next event, within a time.
func (st *stream) next(t *testing.T, within time.Duration) sent {
	t.Helper()
	end := time.After(within)
	for {
		select {
		case item, ok := <-st.items:
			if !ok {
				t.Fatal("the stream has ended")
			}
			if item.comment == "" {
				return item
			}
		case <-end:
			t.Fatalf("no event within %s", within)
		}
	}
}

// ended waits for the end of the stream, and returns how long that took.
func (st *stream) ended(t *testing.T, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	for end := time.After(within); ; {
		select {
		case _, ok := <-st.items:
			if !ok {
				return time.Since(began)
			}
		case <-end:
			t.Fatalf("the stream has not ended within %s", within)
		}
	}
}

// impatient serves the system with short deadlines, which streams outlast, and with the
// connections that a real server has.
func impatient(t *testing.T, s *system) *system {
	t.Helper()
	server := httptest.NewUnstartedServer(s.api)
	server.Config.ReadTimeout, server.Config.WriteTimeout = time.Second, time.Second
	server.Config.ConnContext = httpapi.WithConn
	server.Start()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	other := *s
	other.url = server.URL
	return &other
}

const soon = time.Second

// A stream begins at once, and has each event as the list has it, within a second of its
// commit.
func TestStreamOfEvents(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		s = impatient(t, s)
		e := newExample(t, s)
		st := e.stream(t, "")
		if st.resp.StatusCode != 200 || st.resp.Header.Get("Content-Type") != "text/event-stream" || st.resp.Header.Get("X-Request-Id") == "" {
			t.Fatalf("%d %v", st.resp.StatusCode, st.resp.Header)
		}
		select {
		case first := <-st.items:
			if first.comment == "" {
				t.Errorf("the stream begins with %+v", first)
			}
		case <-time.After(soon):
			t.Error("no comment at once")
		}
		time.Sleep(2500 * time.Millisecond) // longer than the deadlines of the server
		e.newPage(t, e.site, "/new")
		got := st.next(t, soon)
		all := e.events(t, "")
		last := all[len(all)-1]
		var told event
		if err := json.Unmarshal([]byte(got.data), &told); err != nil {
			t.Fatal(err)
		}
		if got.id != last.ID || got.kind != last.Type || told.Type != "page.created" || fmt.Sprint(told.Data) != fmt.Sprint(last.Data) {
			t.Errorf("the stream has %+v, and the list %+v", got, last)
		}
	})
}

// The parameters of a stream are those of the list, and Last-Event-ID wins over the cursor.
func TestStreamParameters(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		s = impatient(t, s)
		e := newExample(t, s)
		other := newExample(t, freshWorkspace(t, s))
		all := e.events(t, "")
		read := func(st *stream, n int) (ids []string) {
			t.Helper()
			for range n {
				ids = append(ids, st.next(t, 2*soon).id)
			}
			return ids
		}
		ids := func(keep func(i int, e event) bool) (ids []string) {
			for i, e := range all {
				if keep(i, e) {
					ids = append(ids, e.ID)
				}
			}
			return ids
		}
		pages := func(_ int, e event) bool { return strings.HasPrefix(e.Type, "page.") }
		for name, c := range map[string]struct {
			query, last string
			keep        func(i int, e event) bool
		}{
			"after a cursor":            {"startingAfter=" + all[2].ID, "", func(i int, _ event) bool { return i > 2 }},
			"after the header":          {"startingAfter=" + all[2].ID, all[4].ID, func(i int, _ event) bool { return i > 4 }},
			"after the header alone":    {"", all[0].ID, func(i int, _ event) bool { return i > 0 }},
			"since":                     {"since=2000-01-01T00:00:00Z", "", func(int, event) bool { return true }},
			"types":                     {"types=page.created,page.updated&since=2000-01-01T00:00:00Z", "", pages},
			"of a site, since":          {"siteId=" + e.site + "&since=" + all[0].At, "", func(_ int, x event) bool { return x.SiteID != nil && *x.SiteID == e.site }},
			"types of a site, a cursor": {"types=page.created,page.updated&siteId=" + e.site + "&startingAfter=" + all[0].ID, "", pages},
		} {
			var headers []string
			if c.last != "" {
				headers = []string{"Last-Event-ID", c.last}
			}
			want := ids(c.keep)
			st := e.stream(t, c.query, headers...)
			if got := read(st, len(want)); !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
			st.close()
		}
		// From now on, and filtered.
		st := e.stream(t, "types=route.deleted&siteId="+e.site)
		<-st.items
		e.newPage(t, e.site, "/quiet")
		e.must(t, 204, "DELETE", "/v2/routes/"+e.route, "")
		if got := st.next(t, 2*soon); got.kind != "route.deleted" {
			t.Errorf("a filtered stream has %+v", got)
		}
		old, _ := cms.ParseID("01900000-0000-7000-8000-000000000000") // of 2024
		for query, want := range map[string]int{
			"startingAfter=" + cms.NewID().String(): 400, "startingAfter=" + other.events(t, "")[0].ID: 400, "startingAfter=" + old.String(): 410,
			"types=page.moved": 400, "limit=3": 400, "siteId=" + other.site: 403, "siteId=" + cms.NewID().String(): 404,
		} {
			if r := e.call(t, "GET", "/v2/events/stream?"+query, ""); r.status != want {
				t.Errorf("%s: %d %s", query, r.status, r.body)
			}
		}
		for last, want := range map[string]int{"abc": 400, cms.NewID().String(): 400, old.String(): 410} {
			if r := e.call(t, "GET", "/v2/events/stream", "", "Last-Event-ID", last); r.status != want {
				t.Errorf("Last-Event-ID %s: %d %s", last, r.status, r.body)
			}
		}
		if r := e.send(t, e.siteKey(t), "GET", "/v2/events/stream", ""); r.status != 403 {
			t.Errorf("a stream for a Site key: %d %s", r.status, r.body)
		}
		if r := e.call(t, "HEAD", "/v2/events/stream", ""); r.status != 200 || len(r.body) > 0 {
			t.Errorf("HEAD: %d %s", r.status, r.body)
		}
	})
}

// A stream on any node has what is committed on any other within a second.
func TestStreamOfAnotherNode(t *testing.T) {
	database := pgtest.URL(t)
	var nodes []*system
	for range 3 {
		store, err := sqlstore.OpenPostgres(database, nil)
		nodes = append(nodes, newSystem(t, store, err))
		nodes[len(nodes)-1].key = nodes[0].key
	}
	site, _ := nodes[0].newSite(t)
	st := nodes[2].stream(t, "")
	<-st.items
	var worst time.Duration
	for i := range 20 {
		nodes[i%2].newPage(t, site, fmt.Sprintf("/page-%d", i))
		answered := time.Now()
		worst = max(worst, st.next(t, 2*soon).at.Sub(answered))
	}
	t.Logf("an event of another node comes within %s", worst)
	if worst > soon {
		t.Errorf("it took %s", worst)
	}
}

// A key has 10 streams, and a node a limit for all of them.
func TestStreamsAreBounded(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		app := *s
		app.key = s.must(t, 201, "POST", "/v2/apps", `{"name":"Other"}`).str(t, "key")
		var open []*stream
		for range 10 {
			open = append(open, s.stream(t, ""))
		}
		r := s.call(t, "GET", "/v2/events/stream", "")
		if r.status != 429 || r.header.Get("Retry-After") == "" {
			t.Errorf("the eleventh stream: %d %s", r.status, r.body)
		}
		if st := app.stream(t, ""); st.resp.StatusCode != 200 {
			t.Errorf("the first stream of another key: %d", st.resp.StatusCode)
		}
		open[3].close()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if st := s.stream(t, ""); st.resp.StatusCode == 200 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("a closed stream still counts")
			}
		}

		few := newSystem(t, s.store, nil, func(o *httpapi.Options) { o.MaxStreams = 1 })
		few.key = s.key
		few.stream(t, "")
		refused := few.stream(t, "")
		if refused.resp.StatusCode != 503 || refused.resp.Header.Get("Retry-After") == "" {
			t.Errorf("one stream more than the node takes: %d", refused.resp.StatusCode)
		}
	})
}

// A revoked key, and one that loses its right, ends its streams within 5 seconds.
func TestStreamsEndWithTheirKey(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		other, _ := s.newSite(t)
		made := func() (id string, app *system) {
			r := s.must(t, 201, "POST", "/v2/apps", `{"name":"Follower","scopes":["read","write"]}`)
			app = new(*s)
			app.key = r.str(t, "key")
			return r.str(t, "id"), app
		}
		gone, revoked := made()
		lost, demoted := made()
		moved, restricted := made()
		streams := []*stream{revoked.stream(t, ""), demoted.stream(t, ""), restricted.stream(t, "siteId="+site)}
		follower := restricted.stream(t, "")
		<-follower.items
		began := time.Now()
		s.must(t, 204, "DELETE", "/v2/apps/"+gone, "")
		s.must(t, 200, "PATCH", "/v2/apps/"+lost, `{"scopes":["write"]}`)
		s.must(t, 200, "PATCH", "/v2/apps/"+moved, `{"siteIds":["`+other+`"]}`)
		for _, st := range streams {
			st.ended(t, 5*time.Second)
		}
		time.Sleep(time.Until(began.Add(5 * time.Second))) // the last stream does not end, so it can't tell when it knows
		s.newPage(t, site, "/hidden")
		id := s.newPage(t, other, "/shown")
		if got := follower.next(t, 2*soon); !strings.Contains(got.data, id) {
			t.Errorf("an app that was restricted to another site is told %s", got.data)
		}
	})
}

// A server that stops ends its streams at once, and clients go on elsewhere.
func TestStreamsEndWhenTheServerStops(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		stopping := make(chan struct{})
		node := newSystem(t, s.store, nil, func(o *httpapi.Options) { o.Stopping = stopping })
		node.key = s.key
		site, _ := node.newSite(t)
		st := node.stream(t, "")
		<-st.items
		node.newPage(t, site, "/one")
		last := st.next(t, 2*soon)
		close(stopping)
		if took := st.ended(t, 5*time.Second); took > soon {
			t.Errorf("it took %s", took)
		}
		if refused := node.stream(t, ""); refused.resp.StatusCode != 503 {
			t.Errorf("a stream of a server that stops: %d", refused.resp.StatusCode)
		}
		id := node.newPage(t, site, "/two")
		if got := s.stream(t, "", "Last-Event-ID", last.id).next(t, 2*soon); !strings.Contains(got.data, id) {
			t.Errorf("another node goes on with %s", got.data)
		}
	})
}

// changeMany changes a thousand pages with one request.
func (s *system) changeMany(t *testing.T, site string, n int) {
	t.Helper()
	var ops []string
	for i := range 1000 {
		ops = append(ops, fmt.Sprintf(`{"op":"create","pathname":"/many-%d-%d","description":"%s"}`, n, i, strings.Repeat("x", 500)))
	}
	s.must(t, 200, "POST", "/v6/pages/batch", `{"siteId":"`+site+`","operations":[`+strings.Join(ops, ",")+`]}`)
}

// A client that does not read is disconnected, and goes on where it stopped.
func TestSlowReadersAreCutOff(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		s = impatient(t, s)
		site, _ := s.newSite(t)
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprintf(conn, "GET /v2/events/stream HTTP/1.1\r\nHost: galley\r\nX-Api-Key: %s\r\n\r\n", s.key)
		read := bufio.NewReader(conn)
		resp, err := http.ReadResponse(read, nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		const batches = 4
		for n := range batches { // about 5 MB
			s.changeMany(t, site, n)
			time.Sleep(time.Second)
		}
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		got, id, last := 0, "", ""
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if next, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				id = next
			}
			if lines.Text() == "" && id != last { // the event is complete
				last = id
				got++
			}
		}
		if errors.Is(lines.Err(), os.ErrDeadlineExceeded) {
			t.Fatal("the connection is still open")
		}
		t.Logf("it was cut off after %d events", got)
		if got >= batches*1000 {
			t.Errorf("it was sent all %d events without reading them", got)
		}
		st := s.stream(t, "", "Last-Event-ID", last)
		for range batches*1000 - got {
			st.next(t, 20*time.Second)
		}
	})
}

// A client that reads gets thousands of events at once.
func TestBurstsAreSent(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		s = impatient(t, s)
		site, _ := s.newSite(t)
		st := s.stream(t, "")
		<-st.items
		for n := range 3 {
			s.changeMany(t, site, n)
		}
		seen := map[string]bool{}
		for range 3000 {
			seen[st.next(t, 20*time.Second).id] = true
		}
		if len(seen) != 3000 {
			t.Errorf("%d different events, want 3000", len(seen))
		}
	})
}

// A comment is sent while nothing happens.
func TestStreamHeartbeat(t *testing.T) {
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err)
	st := s.stream(t, "")
	for range 4 {
		select {
		case item := <-st.items:
			if item.comment == "" {
				t.Errorf("%+v", item)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("no comment")
		}
	}
}
