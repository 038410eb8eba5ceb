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

// page is a page of the ledger: as it must be, by all that was acknowledged.
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

// record is a write that was done, for the audit trail to tell of.
type record struct {
	requestID string
	// retried: the request was cut off, and this answer is that of a second
	// try; either of the two did it.
	retried   bool
	unseen    bool // the answer was cut off; that it was done was seen later
	resources []string
}

// writer has pages that nobody else touches and does one thing at a time: so
// what it was told is all there is to know about them. It is not safe for use
// by several goroutines.
type writer struct {
	number  int
	site    string
	client  *client
	rng     *rand.Rand
	pages   []*page // all, also deleted ones
	made    int
	pending *write // sent, and nobody knows whether it was done

	acknowledged int
	touched      map[*page]bool // since the last verify
	records      []record       // since the audit trail was last read
	cut, retried int            // requests whose outcome had to be found out; those sent again
	unavailable  int            // answers 503
	journal      *journal       // nil: nobody keeps one
	half         int            // writes that were half done
	lost         int            // pages that are not as they must be
}

func newWriter(t *trial, number int, site string) *writer {
	return &writer{
		number: number, site: site, client: newClient("", t.key), rng: t.random(), touched: map[*page]bool{},
	}
}

// use sends the writer to a server.
func (w *writer) use(addr string) {
	if w.client.addr != addr {
		w.client.close()
	}
	w.client.addr = addr
}

// errUnexpected is an answer that no fault explains.
var errUnexpected = errors.New("unexpected answer")

// step does one write. After any error but errUnexpected the write is pending.
func (w *writer) step() error {
	next := w.choose()
	w.pending = next
	start := time.Now()
	a, err := w.send(next)
	if err != nil {
		return err
	}
	w.journal.add(next, a.requestID, time.Since(start))
	return w.acknowledge(next, a, false)
}

func (w *writer) send(next *write) (answer, error) {
	var headers []string
	if next.key != "" {
		headers = append(headers, "Idempotency-Key: "+next.key)
	}
	a, err := w.client.do(next.method, next.target, next.body, headers...)
	switch {
	case err != nil:
		return a, err
	case a.status == 503 && a.retryAfter != "":
		w.unavailable++
		return a, errUnavailable
	case a.status == 409 && strings.Contains(string(a.body), "under way"):
		return a, errUnderWay
	case a.status != next.status:
		return a, fmt.Errorf("%w: %s %s %s: status %d, want %d: %s", errUnexpected, next.method, next.target, next.body, a.status, next.status, a.body)
	}
	return a, nil
}

// errUnavailable is an answer 503 that says when to try again: the write may
// have been done all the same, where the commit was cut off from the server.
var errUnavailable = errors.New("503")

// errUnderWay is the answer to a request that was sent again by its key while
// the first one still ran.
var errUnderWay = errors.New("under way")

// acknowledge takes a write for done.
func (w *writer) acknowledge(done *write, a answer, retried bool) error {
	ids, err := done.resources(a)
	if err != nil {
		return err
	}
	w.pending = nil
	w.acknowledged++
	w.records = append(w.records, record{requestID: a.requestID, retried: retried, resources: ids})
	for i, c := range done.changes {
		if !done.publishes {
			c.page.id = ids[i]
		}
		w.take(c)
	}
	return nil
}

func (w *writer) take(c change) {
	c.page.is = c.to
	w.touched[c.page] = true
}

// resources are the ids of what a write wrote, as its answer tells them.
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

// settle finds out what became of a write whose answer never came: with a key
// by sending it again, and else by looking.
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
		return w.acknowledge(open, a, true)
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
	w.pending = nil
	if done == 0 {
		return nil
	}
	if done < len(open.changes) {
		w.half++
		t.problem("half done: %d of %d changes of %s", done, len(open.changes), open.body)
	}
	ids, err := w.found(open)
	if err != nil {
		return err
	}
	w.records = append(w.records, record{unseen: true, resources: ids})
	for _, c := range open.changes {
		w.take(c)
	}
	return nil
}

// persist settles, however long nobody can say what became of the write.
func (w *writer) persist(t *trial) error {
	for {
		err := w.settle(t)
		if !errors.Is(err, errUnavailable) && !errors.Is(err, errUnderWay) {
			return err
		}
		if t.ctx.Err() != nil {
			return t.ctx.Err()
		}
		t.sleep(20 * time.Millisecond)
	}
}

// found are the ids of what a write wrote whose answer never came.
func (w *writer) found(open *write) ([]string, error) {
	if !open.publishes {
		var ids []string
		for _, c := range open.changes {
			ids = append(ids, c.page.id)
		}
		return ids, nil
	}
	var list struct{ Data []resource }
	err := w.client.must(200, "GET", "/v6/pages/"+open.changes[0].page.id+"/publishes?limit=1", "", &list)
	if err != nil || len(list.Data) == 0 {
		return nil, fmt.Errorf("%w: a published page without a publish: %w", errUnexpected, err)
	}
	return []string{list.Data[0].ID}, nil
}

// look reads a page as it is, and learns its id if it was not known.
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
	case err != nil:
		return found, err
	case a.status == 404:
		return found, nil
	case a.status == 503 && a.retryAfter != "":
		w.unavailable++
		return found, errUnavailable
	case a.status != 200:
		return found, fmt.Errorf("%w: reading %s: status %d: %s", errUnexpected, pathname, a.status, a.body)
	}
	return found, json.Unmarshal(a.body, &found)
}

// verify reads back every page that was touched since the last time, and tells
// of those that are not as they must be.
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
	p := w.existing()
	dice := w.rng.IntN(100)
	switch {
	case dice < 40 || p == nil:
		return w.create()
	case dice < 65:
		return w.update(p)
	case dice < 75:
		return w.remove(p)
	case dice < 85:
		return w.batch(p)
	case p.is.live == p.is.title:
		return w.update(p) // there is nothing to publish
	default:
		return w.publish(p)
	}
}

// existing is one of the writer's pages, or nil. New ones are likelier: they
// have been through less.
func (w *writer) existing() *page {
	recent := w.pages[max(0, len(w.pages)-200):]
	for range 20 {
		if len(recent) == 0 {
			break
		}
		if p := recent[w.rng.IntN(len(recent))]; p.is.exists {
			return p
		}
	}
	return nil
}

// someKey is an idempotency key for every other request.
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

func (w *writer) create() *write {
	p, title := w.newPage(), w.title()
	return &write{
		method: "POST", target: "/v6/pages", status: 201, key: w.someKey(),
		body:    fmt.Sprintf(`{"siteId":%q,"pathname":%q,"title":%q}`, w.site, p.pathname, title),
		changes: []change{{p, state{exists: true, title: title}}},
	}
}

func (w *writer) update(p *page) *write {
	to := p.is
	to.title = w.title()
	return &write{
		method: "PATCH", target: "/v6/pages/" + p.id, status: 200,
		body:    fmt.Sprintf(`{"title":%q}`, to.title),
		changes: []change{{p, to}},
	}
}

func (w *writer) remove(p *page) *write {
	return &write{
		method: "DELETE", target: "/v6/pages/" + p.id, status: 204,
		changes: []change{{p, state{live: p.is.live}}},
	}
}

func (w *writer) publish(p *page) *write {
	to := p.is
	to.live = to.title
	return &write{
		method: "POST", target: "/v6/pages/" + p.id + "/publish", status: 201, key: w.someKey(), publishes: true,
		changes: []change{{p, to}},
	}
}

// batch makes pages, changes one, and deletes one if there is another.
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
