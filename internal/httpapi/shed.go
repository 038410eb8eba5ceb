package httpapi

import (
	"errors"
	"maps"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
)

// What an overloaded server does with requests: a bounded number is worked on,
// a bounded number waits for a moment, and the rest is told to come back.
const (
	defaultInFlight = 128
	// waitersEach is how many requests may wait for each that is worked on.
	waitersEach = 4
	// maxWait is how long they do.
	maxWait = time.Second
	// keptForReads is the part of all workers that none who writes gets: one in
	// so many.
	keptForReads = 4
	// idleEach is how many workers wait for work, for each processor.
	idleEach = 16
)

var errBusy = &cms.Error{Code: cms.CodeUnavailable, Message: "The server is busy, try again after the time in Retry-After"}

var busyBody = encode(Error{Object: "error", Code: errBusy.Code, Message: errBusy.Message})

// refuse answers a request that was not served. A busy server says so as
// cheaply as it can: a metric counts it, and the log has no line beyond the
// request's own.
func (a *API) refuse(w http.ResponseWriter, r *request, err error) {
	if !errors.Is(err, errBusy) {
		a.fail(w, r, err)
		return
	}
	w.Header().Set("Retry-After", "1")
	writeJSON(w, http.StatusServiceUnavailable, busyBody)
}

// Refusal is the whole answer, head and body, to a connection or a request for
// which there is no room; keep tells that the connection is good for more.
func Refusal(keep bool) []byte {
	head := closing
	if keep {
		head = keeping
	}
	text := make([]byte, 0, len(head)+len(busyBody)+64)
	text = append(text, head...)
	text = append(text, cms.NewID().String()...)
	text = append(text, "\r\n\r\n"...)
	return append(text, busyBody...)
}

var keeping, closing = refusalHead(false), refusalHead(true)

// refusalHead is the head of a refusal, up to the request's id.
func refusalHead(closing bool) []byte {
	h := http.Header{
		"Retry-After": {"1"}, "Cache-Control": {"private, no-cache"}, "Vary": {origins(nil).vary()},
		"Content-Type": {"application/json; charset=utf-8"}, "Content-Length": {strconv.Itoa(len(busyBody))},
	}
	if closing {
		h.Set("Connection", "close")
	}
	protect(h, &http.Request{})
	text := appendHeaders([]byte("HTTP/1.1 503 Service Unavailable\r\n"), h)
	return append(text, "X-Request-Id: "...)
}

// appendHeaders writes headers as they go over the wire, each with one value.
func appendHeaders(dst []byte, h http.Header) []byte {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		dst = appendHeader(dst, name, h.Get(name))
	}
	return dst
}

func appendHeader(dst []byte, name, value string) []byte {
	dst = append(append(dst, name...), ": "...)
	return append(append(dst, value...), "\r\n"...)
}

// ShedCounter names the metric of those who were not served, by the reason.
func ShedCounter(reason string) prometheus.CounterOpts {
	return prometheus.CounterOpts{
		Name: "galley_shed_total", Help: "Connections and requests that were turned away or cut off, by reason.",
		ConstLabels: prometheus.Labels{"reason": reason},
	}
}

// gate bounds how many requests are worked on at a time. Workers do the work,
// not the connections' own goroutines: those keep the small stacks that they
// begin with, which counts when there are ten thousand of them.
type gate struct {
	fresh    chan func()   // work that may be turned away
	admitted chan func()   // work of requests that were let in before: it goes first
	workers  chan struct{} // has an entry for each worker there is
	// writers has an entry for each that writes. They wait for each other in the
	// store, each with a worker: a part of these is left for all who don't.
	writers chan struct{}

	waiting, writersWaiting, busy, idle atomic.Int64
	turnedAway                          prometheus.Counter
}

func newGate(maxInFlight int, registry *prometheus.Registry) *gate {
	g := &gate{
		fresh: make(chan func()), admitted: make(chan func()), workers: make(chan struct{}, maxInFlight),
		writers:    make(chan struct{}, maxInFlight-maxInFlight/keptForReads),
		turnedAway: prometheus.NewCounter(ShedCounter("in_flight")),
	}
	registry.MustRegister(g.turnedAway, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "galley_in_flight", Help: "Requests that are being worked on.",
	}, func() float64 { return float64(g.busy.Load()) }))
	return g
}

// try has work done and waits for its end, or returns false: there is too much
// to do already.
func (g *gate) try(work func()) bool {
	var failed *workPanic
	done := make(chan struct{})
	task := g.task(work, &failed, done)
	if !g.start(g.fresh, task) && !g.queue(task) {
		g.turnedAway.Inc()
		return false
	}
	finish(done, &failed)
	return true
}

// goOn has more work done for a request that was let in: it waits as long as
// that takes.
func (g *gate) goOn(work func()) {
	var failed *workPanic
	done := make(chan struct{})
	task := g.task(work, &failed, done)
	if !g.start(g.admitted, task) {
		g.wait(g.admitted, task, nil)
	}
	finish(done, &failed)
}

// letWrite finds a place for a request that writes, in its turn. It must leave
// then.
func (g *gate) letWrite() (leave func(), err error) {
	leave = func() { <-g.writers }
	select {
	case g.writers <- struct{}{}:
		return leave, nil
	default:
	}
	defer g.writersWaiting.Add(-1)
	if g.writersWaiting.Add(1) <= int64(waitersEach*cap(g.writers)) {
		timer := time.NewTimer(maxWait)
		defer timer.Stop()
		select {
		case g.writers <- struct{}{}:
			return leave, nil
		case <-timer.C:
		}
	}
	g.turnedAway.Inc()
	return nil, errBusy
}

// task is work that tells when it has ended, and how.
func (g *gate) task(work func(), failed **workPanic, done chan struct{}) func() {
	return func() {
		g.busy.Add(1)
		defer func() {
			if cause := recover(); cause != nil {
				*failed = &workPanic{cause, debug.Stack()}
			}
			g.busy.Add(-1)
			close(done)
		}()
		work()
	}
}

// workPanic is a panic of a worker on its way to the goroutine that waits.
type workPanic struct {
	cause any
	stack []byte
}

func finish(done chan struct{}, failed **workPanic) {
	<-done
	if *failed != nil {
		panic(*failed)
	}
}

// start gives a task to a worker, if one is free or may be made.
func (g *gate) start(lane chan func(), task func()) bool {
	select {
	case lane <- task:
		return true
	default:
	}
	select {
	case g.workers <- struct{}{}:
		go g.worker(task)
		return true
	default:
		return false
	}
}

// queue waits for a worker, for a moment, unless too many do already.
func (g *gate) queue(task func()) bool {
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > int64(waitersEach*cap(g.workers)) {
		return false
	}
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	return g.wait(g.fresh, task, timer.C)
}

func (g *gate) wait(lane chan func(), task func(), end <-chan time.Time) bool {
	select {
	case lane <- task:
	case g.workers <- struct{}{}:
		go g.worker(task)
	case <-end:
		return false
	}
	return true
}

// worker works until there are enough others that have nothing to do: were all
// kept that a crowd has made, each would get work so seldom that the processor
// has forgotten all about it by then.
func (g *gate) worker(task func()) {
	defer func() { <-g.workers }()
	for {
		task()
		select {
		case task = <-g.admitted:
			continue
		default:
		}
		if g.idle.Add(1) > int64(idleEach*runtime.GOMAXPROCS(0)) {
			g.idle.Add(-1)
			return
		}
		select {
		case task = <-g.admitted:
		case task = <-g.fresh:
		}
		g.idle.Add(-1)
	}
}

// work does what a request asks for, in its turn. While a body is on its way,
// nobody works on the request.
func (a *API) work(w http.ResponseWriter, r *request, path string) (ans answer, err error) {
	if r.ContentLength == 0 {
		leave, err := a.letIn(r)
		if err != nil {
			return ans, err
		}
		defer leave()
		err = a.admit(w, r, func() (err error) {
			ans, err = a.answer(w, r, path)
			return err
		})
		return ans, err
	}
	if err := a.admit(w, r, func() error { return nil }); err != nil {
		return ans, err
	}
	stay, err := a.receive(w, r, path)
	defer stay.leave()
	if err != nil {
		return ans, err
	}
	leave, err := a.letIn(r)
	if err != nil {
		return ans, err
	}
	defer leave()
	a.gate.goOn(func() { ans, err = a.answer(w, r, path) })
	r.Body = http.NoBody // what was received is not kept while the answer is taken
	return ans, err
}

// letIn finds a place for a request, if it writes.
func (a *API) letIn(r *request) (leave func(), err error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return func() {}, nil
	}
	return a.gate.letWrite()
}

// admit authenticates a request in its turn, and goes on with what is next.
func (a *API) admit(w http.ResponseWriter, r *request, next func() error) error {
	var err error
	if !a.gate.try(func() {
		if err = a.authenticate(w.Header(), r); err == nil {
			err = next()
		}
	}) {
		return errBusy
	}
	return err
}
