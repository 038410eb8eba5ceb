package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"galley/internal/cms"
)

const (
	defaultInFlight = 128
	// waitersEach is how many requests may wait for each that is worked on.
	waitersEach = 4
	// maxWait is how long they wait.
	maxWait = time.Second
	// keptForReads is the share of all slots that writes leave to reads: one in
	// so many.
	keptForReads = 4

	// maxBytes bounds the memory of large bodies and answers.
	maxBytes = 48 << 20
	// bytesEach is how many bytes a byte of a body counts for: with it there are
	// its decoded form and the rows that follow from it.
	bytesEach = 3
	// smallBytes of a body or an answer are not counted: a connection has buffers
	// of that size anyway.
	smallBytes = 4 << 10

	// slowestRate, after a grace, bounds how long a body may take to arrive, and
	// an answer to be read.
	slowestRate = 128 << 10 // bytes a second
	// manyTransfers is how many bodies and answers may be under way before the
	// next ones get a shorter grace: slow clients cost memory, and quick ones
	// don't notice.
	manyTransfers = 512
	shortGrace    = time.Second
	// restTimeout bounds the rest of a body that is not read.
	restTimeout = time.Second
)

var grace = 5 * time.Second // a variable for tests

var errBusy = &cms.Error{Code: cms.CodeUnavailable, Message: "The server is busy, try again after the time in Retry-After"}

var busyBody = encode(Error{Object: "error", Code: errBusy.Code, Message: errBusy.Message})

// admission bounds the requests that are worked on at a time, and the memory
// that bodies and answers take while clients send and read them.
type admission struct {
	requests limiter
	// writers bounds the requests that write. They wait for each other in the
	// store, and leave the other slots to reads.
	writers   limiter
	bytes     limiter
	inFlight  atomic.Int64
	transfers atomic.Int64 // bodies and large answers that are under way
}

func newAdmission(maxInFlight int, registry *prometheus.Registry) *admission {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "galley_http_requests_refused_total", Help: "Requests answered with 503 because the server was busy, by what there was too much of.",
	}, []string{"reason"})
	inFlight, memory := refused.WithLabelValues("in_flight"), refused.WithLabelValues("memory")
	writing := maxInFlight - maxInFlight/keptForReads
	a := &admission{
		requests: newLimiter(maxInFlight, waitersEach*maxInFlight, inFlight),
		writers:  newLimiter(writing, waitersEach*writing, inFlight),
		bytes:    newLimiter(maxBytes, waitersEach*maxInFlight, memory),
	}
	registry.MustRegister(refused, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "galley_http_requests_in_flight", Help: "Requests that are being worked on.",
	}, func() float64 { return float64(a.inFlight.Load()) }))
	return a
}

// limiter is a semaphore with a bounded number of waiters.
type limiter struct {
	*semaphore.Weighted
	waiting    atomic.Int64
	maxWaiting int64
	refused    prometheus.Counter
}

func newLimiter(size, maxWaiting int, refused prometheus.Counter) limiter {
	return limiter{Weighted: semaphore.NewWeighted(int64(size)), maxWaiting: int64(maxWaiting), refused: refused}
}

// acquire waits for maxWait at most, and returns errBusy if that was in vain or
// too many others wait.
func (l *limiter) acquire(ctx context.Context, n int64) error {
	if l.TryAcquire(n) {
		return nil
	}
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > l.maxWaiting {
		l.refused.Inc()
		return errBusy
	}
	return l.wait(ctx, n)
}

// wait is acquire that does not mind how many others wait.
func (l *limiter) wait(ctx context.Context, n int64) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if l.Acquire(ctx, n) != nil {
		l.refused.Inc()
		return errBusy
	}
	return nil
}

// do runs work in a slot.
func (a *admission) do(ctx context.Context, writes bool, work func() error) error {
	acquire := a.requests.acquire
	if writes {
		if err := a.writers.acquire(ctx, 1); err != nil {
			return err
		}
		defer a.writers.Release(1)
		acquire = a.requests.wait // it has waited in a bounded queue
	}
	if err := acquire(ctx, 1); err != nil {
		return err
	}
	defer a.requests.Release(1)
	a.inFlight.Add(1)
	defer a.inFlight.Add(-1)
	return work()
}

// work authenticates and handles a request. A request with a body is
// authenticated before the body is read, and holds no slot while it arrives.
func (a *API) work(w http.ResponseWriter, r *request, path string) (ans answer, err error) {
	authenticate := func() error { return a.authenticate(w.Header(), r) }
	if r.ContentLength != 0 {
		if a.knows(r) {
			err = authenticate()
		} else {
			err = a.admission.do(r.Context(), false, authenticate)
		}
		if err != nil {
			return ans, err
		}
		release, err := a.receive(w, r, path)
		if err != nil {
			return ans, err
		}
		defer release()
		authenticate = func() error { return nil }
	}
	err = a.admission.do(r.Context(), !readOnly(r.Method), func() (err error) {
		if err = authenticate(); err == nil {
			ans, err = a.answer(w, r, path)
		}
		return err
	})
	r.Body = http.NoBody // the answer may take long to send
	return ans, err
}

// receive reads a request's body as a whole, so that no slot and no transaction
// waits for the network. It reserves memory that the caller must release.
func (a *API) receive(w http.ResponseWriter, r *request, path string) (release func(), err error) {
	release = func() {}
	e, _, _ := a.router.route(r.Method, path)
	if e == nil || readOnly(r.Method) || r.Method == http.MethodDelete || r.ContentLength > e.maxBody() {
		r.Body = http.NoBody // no handler reads it
		return release, nil
	}
	length := r.ContentLength
	if length < 0 {
		length = e.maxBody() + 1
	}
	if bytes := bytesEach * (length - smallBytes); bytes > 0 {
		if err := a.admission.bytes.acquire(r.Context(), bytes); err != nil {
			return release, err
		}
		release = func() { a.admission.bytes.Release(bytes) }
	}
	control := http.NewResponseController(w)
	allowed := a.admission.beginTransfer(length)
	_ = control.SetReadDeadline(time.Now().Add(allowed))
	raw, err := readAll(r.Body, r.ContentLength, e.maxBody())
	a.admission.transfers.Add(-1)
	if err != nil {
		r.Body, r.unread = io.NopCloser(failedBody{err}), false // the deadline has passed for the rest, too
		return release, nil
	}
	_ = control.SetReadDeadline(time.Time{}) // the handler may take longer
	r.unread = int64(len(raw)) > e.maxBody()
	r.Body = io.NopCloser(bytes.NewReader(raw))
	return release, nil
}

// readAll reads a body of a known length, or one of an unknown length up to the
// first byte that is too much.
func readAll(body io.Reader, length, most int64) ([]byte, error) {
	if length < 0 {
		return io.ReadAll(io.LimitReader(body, most+1))
	}
	raw := make([]byte, length)
	_, err := io.ReadFull(body, raw)
	return raw, err
}

// failedBody is a body that did not arrive.
type failedBody struct{ err error }

func (b failedBody) Read([]byte) (int, error) { return 0, b.err }

// beginTransfer returns how long so many bytes may be under way.
func (a *admission) beginTransfer(bytes int64) time.Duration {
	allowed := grace
	if a.transfers.Add(1) > manyTransfers {
		allowed = shortGrace
	}
	return allowed + time.Duration(bytes)*time.Second/slowestRate
}

// send writes a part of an answer that the client may be slow to read. A shared
// part takes no memory of its own. When there is no memory left for slow
// clients, the part is sent to quick ones only.
func (a *admission) send(w http.ResponseWriter, part []byte, shared bool) (int, error) {
	if len(part) <= smallBytes {
		return w.Write(part)
	}
	allowed := a.beginTransfer(int64(len(part)))
	defer a.transfers.Add(-1)
	if n := int64(cap(part)); shared || a.bytes.TryAcquire(n) {
		if !shared {
			defer a.bytes.Release(n)
		}
	} else {
		allowed = shortGrace
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(allowed))
	return w.Write(part)
}

// refuse answers a request that was not served. A busy server does so at little
// cost: the metrics count it, and the log has only the request's own line.
func (a *API) refuse(w http.ResponseWriter, r *request, err error) {
	if !errors.Is(err, errBusy) {
		a.fail(w, r, err)
		return
	}
	w.Header().Set("Retry-After", "1")
	writeJSON(w, http.StatusServiceUnavailable, busyBody)
}
