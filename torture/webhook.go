package main

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

var webhooksSQLiteRun = run{
	name: "webhooks-sqlite",
	target: "50 kills -9 of the only node while 20,000 events go to receivers that answer 200, 500, hang, reset and redirect: every event reaches " +
		"every healthy receiver within 60 s of the last write, first attempts in commit order in each site, doubles only after kills",
	short: "the same with 4 kills and 1,000 events",
	limit: 15 * time.Minute, shortLimit: 3 * time.Minute,
	do: func(t *trial) { killServer(t, pick(t, 50, 4), pick(t, 20_000, 1_000), newReceivers(t)) },
}

var webhooksNodesRun = run{
	name:   "webhooks-nodes",
	target: "as webhooks-sqlite, with 50 kills -9 of one of 3 nodes on PostgreSQL",
	short:  "the same with 3 kills and 600 events",
	limit:  30 * time.Minute, shortLimit: 4 * time.Minute,
	do: func(t *trial) { killNodes(t, pick(t, 50, 3), pick(t, 20_000, 600), newReceivers(t)) },
}

// arrivalTime is how long a healthy receiver may wait for the last event. The lease of a
// node that was killed lasts ten seconds.
const arrivalTime = time.Minute

// onTheWay is how long after a kill the requests of the killed server may still be read.
const onTheWay = time.Second

// receivers are the servers that webhooks send to. A nil one has no webhooks.
type receivers struct {
	trial   *trial
	healthy []*receiver
	failing []*receiver

	mu    sync.Mutex
	kills []time.Time
}

// receiver remembers when it received which event.
type receiver struct {
	name string
	url  string

	mu       sync.Mutex
	received map[string][]time.Time // by the id of the event
	order    []string               // of the first receipts
}

func newReceivers(t *trial) *receivers {
	r := &receivers{trial: t}
	ok := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	for i := range 2 {
		r.healthy = append(r.healthy, newReceiver(t, fmt.Sprintf("healthy %d", i+1), ok))
	}
	over := make(chan struct{})
	t.atEnd(func() { close(over) })
	for name, handle := range map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"hangs": func(_ http.ResponseWriter, request *http.Request) {
			select {
			case <-request.Context().Done():
			case <-over:
			}
		},
		"resets": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			if tcp, is := conn.(*net.TCPConn); is {
				_ = tcp.SetLinger(0) // the kernel sends a reset
			}
			_ = conn.Close()
		},
		// A redirect that is followed is a double at a healthy receiver.
		"redirects": func(w http.ResponseWriter, request *http.Request) {
			http.Redirect(w, request, r.healthy[0].url, http.StatusTemporaryRedirect)
		},
	} {
		r.failing = append(r.failing, newReceiver(t, name, handle))
	}
	return r
}

func newReceiver(t *trial, name string, answer http.HandlerFunc) *receiver {
	r := &receiver{name: name, received: map[string][]time.Time{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.receive(request.Header.Get("Webhook-Id"))
		answer(w, request)
	}))
	r.url = s.URL
	t.atEnd(s.CloseClientConnections)
	return r
}

func (r *receiver) receive(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.received[id] == nil {
		r.order = append(r.order, id)
	}
	r.received[id] = append(r.received[id], time.Now())
}

// flags let servers send to this machine, and read the secrets of each other.
func (r *receivers) flags() []string {
	if r == nil {
		return nil
	}
	return []string{"--webhook-allow-networks", "127.0.0.0/8", "--secret-key", base64.StdEncoding.EncodeToString(make([]byte, 32))}
}

// subscribe creates the webhooks.
func (r *receivers) subscribe(addr string) {
	if r == nil {
		return
	}
	c := newClient(addr, r.trial.key)
	defer c.close()
	for _, receiver := range slices.Concat(r.failing, r.healthy) {
		c.expect(201, "POST", "/v2/webhooks", fmt.Sprintf(`{"url":%q}`, receiver.url), nil)
	}
}

// killed remembers that a server was killed just now.
func (r *receivers) killed() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kills = append(r.kills, time.Now())
}

// judge waits until the healthy receivers have every event that was committed since the
// last of them was subscribed, and compares order and doubles.
func (r *receivers) judge(addr string) {
	if r == nil {
		return
	}
	t, ended := r.trial, time.Now()
	c := newClient(addr, t.key)
	defer c.close()
	var events []resource
	c.list("/v2/events?", func(page []resource) bool {
		events = append(events, page...)
		return true
	})
	last := slices.IndexFunc(events, func(e resource) bool { return e.Type == "webhook.created" }) + len(r.failing) + len(r.healthy)
	events = events[last:]
	t.got("events", len(events))
	missing := func() (n int) {
		for _, receiver := range r.healthy {
			n += receiver.missing(events)
		}
		return n
	}
	t.poll("waiting for the last events", nil, 50*time.Millisecond, func() bool { return missing() == 0 || time.Since(ended) > arrivalTime })
	t.got("lastArrivalMs", ms(time.Since(ended)))
	lost := missing()
	t.got("eventsMissing", lost)
	t.want(lost == 0, "%d events have not arrived", lost)
	misplaced, doubles, unexplained := 0, 0, 0
	for _, receiver := range r.healthy {
		misplaced += receiver.misplaced(events)
		d, u := receiver.doubles(r.kills)
		doubles, unexplained = doubles+d, unexplained+u
	}
	t.got("outOfOrder", misplaced)
	t.got("doubles", doubles)
	t.want(misplaced == 0, "%d first attempts came after that of a later event of their site", misplaced)
	t.want(unexplained == 0, "%d events were sent twice without a kill between", unexplained)
	for _, receiver := range r.failing {
		receiver.mu.Lock()
		t.want(len(receiver.received) > 0, "nothing was sent to the receiver that answers: %s", receiver.name)
		receiver.mu.Unlock()
	}
}

func (r *receiver) missing(events []resource) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		if r.received[e.ID] == nil {
			n++
		}
	}
	return n
}

// misplaced counts the events whose first attempt came after that of a later one of
// the same site.
func (r *receiver) misplaced(events []resource) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := map[string]int{}
	for i, id := range r.order {
		place[id] = i
	}
	last := map[string]int{}
	for _, e := range events {
		if i, has := place[e.ID]; has {
			if i < last[e.SiteID] {
				n++
			}
			last[e.SiteID] = max(last[e.SiteID], i)
		}
	}
	return n
}

// doubles counts what was received again, and of that what has no kill before it.
func (r *receiver) doubles(kills []time.Time) (n, unexplained int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, times := range r.received {
		for i := 1; i < len(times); i++ {
			n++
			if !slices.ContainsFunc(kills, func(kill time.Time) bool { return kill.After(times[i-1].Add(-onTheWay)) && kill.Before(times[i]) }) {
				unexplained++
			}
		}
	}
	return n, unexplained
}
