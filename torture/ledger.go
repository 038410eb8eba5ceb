package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// state is what readers see of a page.
type state struct {
	exists bool
	title  string
	live   string // the title in the live version; "": not there
}

// page is a page of the ledger: as it must be after all acknowledged writes.
type page struct {
	pathname string
	id       string // "": not known yet
	is       state
}

// change is what a write does to one page.
type change struct {
	page *page
	to   state
}

// write is one request and all that it changes.
type write struct {
	method, target, body string
	key                  string // Idempotency-Key; "": none
	status               int    // of success
	publishes            bool
	changes              []change
}

// record is a write that was done and must have audit entries.
type record struct {
	requestID string
	// retried: the request was interrupted, and the response is that of a retry;
	// either of the two did it.
	retried   bool
	unseen    bool // no response arrived; the pages show that it was done
	resources []string
}

// writer has pages of its own and does one write at a time, so their state
// follows from its acknowledged writes. It is not safe for use by several
// goroutines.
type writer struct {
	number  int
	site    string
	client  *client
	rng     *rand.Rand
	pages   []*page // all, also deleted ones
	made    int
	pending *write // sent, and not known whether it was done

	acknowledged int
	touched      map[*page]bool // since the last verify
	records      []record       // since the audit trail was last read
	cut, retried int            // requests whose outcome had to be found out; those sent again
	unavailable  int            // responses 503
	journal      *journal       // nil: none is kept
	half         int            // writes that were half done
	lost         int            // pages that are not as they must be
}

func newWriter(t *trial, number int, site string) *writer {
	return &writer{
		number: number, site: site, client: newClient("", t.key), rng: t.random(), touched: map[*page]bool{},
	}
}

// use directs the writer's requests to a server.
func (w *writer) use(addr string) {
	if w.client.addr != addr {
		w.client.close()
	}
	w.client.addr = addr
}

// errUnexpected is a response that no fault explains.
var errUnexpected = errors.New("unexpected answer")

// step does one write. After any error but errUnexpected the write is pending.
func (w *writer) step() error {
	w.pending = w.choose()
	start := time.Now()
	a, err := w.send(w.pending)
	if err != nil {
		return err
	}
	w.journal.add(w.pending, a.requestID, time.Since(start))
	return w.acknowledge(a, false)
}

func (w *writer) send(next *write) (answer, error) {
	var headers []string
	if next.key != "" {
		headers = append(headers, "Idempotency-Key: "+next.key)
	}
	a, err := w.client.do(next.method, next.target, next.body, headers...)
	if err == nil && a.status != next.status {
		err = w.failed(a, next.method+" "+next.target+" "+next.body)
	}
	return a, err
}

var (
	// errUnavailable is a response 503 with Retry-After: the write may have been
	// done all the same, where the commit was cut off from the server.
	errUnavailable = errors.New("503")
	// errInFlight is the response to a request that was sent again by its key
	// while the first one still ran.
	errInFlight = errors.New("in flight")
)

// failed returns the error for a response with another status than expected.
func (w *writer) failed(a answer, what string) error {
	switch {
	case a.status == 503 && a.retryAfter != "":
		w.unavailable++
		return errUnavailable
	case a.status == 409 && strings.Contains(string(a.body), "under way"):
		return errInFlight
	}
	return fmt.Errorf("%w: %s: status %d: %s", errUnexpected, what, a.status, a.body)
}

// acknowledge records that the pending write was done, by its response.
func (w *writer) acknowledge(a answer, retried bool) error {
	ids, err := w.pending.resources(a)
	if err != nil {
		return err
	}
	w.acknowledged++
	if !w.pending.publishes {
		for i, c := range w.pending.changes {
			c.page.id = ids[i]
		}
	}
	w.finish(record{requestID: a.requestID, retried: retried, resources: ids})
	return nil
}

// finish records that the pending write was done.
func (w *writer) finish(r record) {
	w.records = append(w.records, r)
	for _, c := range w.pending.changes {
		c.page.is = c.to
		w.touched[c.page] = true
	}
	w.pending = nil
}

// resources returns the ids of what a write wrote, from its response.
func (done *write) resources(a answer) ([]string, error) {
	if len(a.body) == 0 { // a delete
		return []string{done.changes[0].page.id}, nil
	}
	var body struct {
		resource
		Results []resource `json:"results"`
	}
	if err := json.Unmarshal(a.body, &body); err != nil {
		return nil, fmt.Errorf("%w: %w: %s", errUnexpected, err, a.body)
	}
	ids := []string{body.ID}
	if body.Results != nil {
		ids = nil
		for _, r := range body.Results {
			ids = append(ids, r.ID)
		}
	}
	if !done.publishes && len(ids) != len(done.changes) {
		return nil, fmt.Errorf("%w: %d results: %s", errUnexpected, len(ids), a.body)
	}
	return ids, nil
}

// settle finds out whether a write was done whose response never arrived: with a
// key by sending it again, and else by reading its pages.
func (w *writer) settle(t *trial) error {
	open := w.pending
	if open == nil {
		return nil
	}
	if open.key != "" {
		a, err := w.send(open)
		if err != nil {
			return err
		}
		w.cut++
		w.retried++
		return w.acknowledge(a, true)
	}
	done := 0
	for _, c := range open.changes {
		seen, err := w.look(c.page, open.publishes)
		if err != nil {
			return err
		}
		if seen == c.to {
			done++
		} else if seen != c.page.is {
			w.lost++
			t.problem("%s was %+v, was to be %+v, and is %+v", c.page.pathname, c.page.is, c.to, seen)
		}
	}
	w.cut++
	if done == 0 {
		w.pending = nil
		return nil
	}
	if done < len(open.changes) {
		w.half++
		t.problem("half done: %d of %d changes of %s", done, len(open.changes), open.body)
	}
	ids, err := w.found(open)
	if err == nil {
		w.finish(record{unseen: true, resources: ids})
	}
	return err
}

// persist settles, and retries while the server can't.
func (w *writer) persist(t *trial) error {
	for {
		err := w.settle(t)
		if !errors.Is(err, errUnavailable) && !errors.Is(err, errInFlight) {
			return err
		}
		if t.ctx.Err() != nil {
			return t.ctx.Err()
		}
		t.sleep(20 * time.Millisecond)
	}
}

// found returns the ids of what a write wrote whose response never arrived.
func (w *writer) found(open *write) ([]string, error) {
	if !open.publishes {
		var ids []string
		for _, c := range open.changes {
			ids = append(ids, c.page.id)
		}
		return ids, nil
	}
	var list struct{ Data []resource }
	a, err := w.client.do("GET", "/v6/pages/"+open.changes[0].page.id+"/publishes?limit=1", "")
	if err == nil && a.status != 200 {
		err = w.failed(a, "reading publishes")
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(a.body, &list); err != nil || len(list.Data) == 0 {
		return nil, fmt.Errorf("%w: a published page without a publish: %s", errUnexpected, a.body)
	}
	return []string{list.Data[0].ID}, nil
}

// look reads the state of a page, and its id if that was not known.
func (w *writer) look(p *page, live bool) (state, error) {
	draft, err := w.read(p.pathname, "")
	if err != nil {
		return state{}, err
	}
	seen := state{exists: draft.ID != "", title: draft.Title}
	if p.id == "" {
		p.id = draft.ID
	}
	if live || p.is.live != "" {
		published, err := w.read(p.pathname, "&versionRef=ref:live")
		if err != nil {
			return state{}, err
		}
		seen.live = published.Title
	}
	return seen, nil
}

func (w *writer) read(pathname, query string) (found resource, err error) {
	a, err := w.client.do("GET", "/v6/pages"+pathname+"?siteId="+w.site+query, "")
	switch {
	case err != nil || a.status == 404:
		return found, err
	case a.status != 200:
		return found, w.failed(a, "reading "+pathname)
	}
	return found, json.Unmarshal(a.body, &found)
}

// verify reads back every page that was written since the last time, and reports
// those that are not as they must be.
func (w *writer) verify(t *trial) {
	for p := range w.touched {
		if seen := must(w.look(p, false)); seen != p.is {
			w.lost++
			t.problem("%s is lost: it must be %+v and is %+v", p.pathname, p.is, seen)
		}
	}
	clear(w.touched)
}

// choose decides on the next write.
func (w *writer) choose() *write {
	p, dice := w.existing(), w.rng.IntN(100)
	if p == nil || dice < 40 {
		fresh, title := w.newPage(), w.title()
		return &write{
			method: "POST", target: "/v6/pages", status: 201, key: w.someKey(),
			body:    fmt.Sprintf(`{"siteId":%q,"pathname":%q,"title":%q}`, w.site, fresh.pathname, title),
			changes: []change{{fresh, state{exists: true, title: title}}},
		}
	}
	target, to := "/v6/pages/"+p.id, p.is
	switch {
	case dice < 50:
		return &write{method: "DELETE", target: target, status: 204, changes: []change{{p, state{live: p.is.live}}}}
	case dice < 60:
		return w.batch(p)
	case dice < 75 && to.live != to.title:
		to.live = to.title
		return &write{method: "POST", target: target + "/publish", status: 201, key: w.someKey(), publishes: true, changes: []change{{p, to}}}
	}
	to.title = w.title()
	return &write{method: "PATCH", target: target, status: 200, body: fmt.Sprintf(`{"title":%q}`, to.title), changes: []change{{p, to}}}
}

// existing returns one of the writer's latest pages that is not deleted, or nil.
func (w *writer) existing() *page {
	recent := w.pages[max(0, len(w.pages)-200):]
	for range min(20, len(recent)) {
		if p := recent[w.rng.IntN(len(recent))]; p.is.exists {
			return p
		}
	}
	return nil
}

// someKey returns an idempotency key for every other request.
func (w *writer) someKey() string {
	if w.rng.IntN(2) == 0 {
		return ""
	}
	return fmt.Sprintf("writer-%d-%d", w.number, w.rng.Uint64())
}

// prefix is what the writer's pathnames begin with.
func (w *writer) prefix() string { return fmt.Sprintf("/w%d/", w.number) }

func (w *writer) newPage() *page {
	w.made++
	p := &page{pathname: fmt.Sprintf("%s%d", w.prefix(), w.made)}
	w.pages = append(w.pages, p)
	return p
}

func (w *writer) title() string { return fmt.Sprintf("Title %d", w.rng.Uint64()) }

// batch creates pages, updates one, and deletes one if there is another.
func (w *writer) batch(p *page) *write {
	b := &write{method: "POST", target: "/v6/pages/batch", status: 200, key: w.someKey()}
	var operations []string
	add := func(p *page, to state, format string, args ...any) {
		b.changes = append(b.changes, change{p, to})
		operations = append(operations, "{"+fmt.Sprintf(format, args...)+"}")
	}
	for range 1 + w.rng.IntN(3) {
		fresh, title := w.newPage(), w.title()
		add(fresh, state{exists: true, title: title}, `"op":"create","pathname":%q,"title":%q`, fresh.pathname, title)
	}
	to := p.is
	to.title = w.title()
	add(p, to, `"op":"update","pageId":%q,"title":%q`, p.id, to.title)
	if other := w.existing(); other != nil && other != p {
		add(other, state{live: other.is.live}, `"op":"delete","pageId":%q`, other.id)
	}
	b.body = fmt.Sprintf(`{"siteId":%q,"operations":[%s]}`, w.site, strings.Join(operations, ","))
	return b
}
