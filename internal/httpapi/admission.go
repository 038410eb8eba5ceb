package httpapi

import (
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
	defaultInFlight = 64
	// waitersEach is how many requests may wait for each that is worked on: enough
	// for a burst. In a longer queue no more requests would succeed, and all later.
	waitersEach = 2
	// maxWait is how long they wait.
	maxWait = time.Second
	// keptForReads is the share of the slots that writes leave to reads: one in
	// four.
	keptForReads = 4

	// maxBytes bounds the memory of large bodies and responses.
	maxBytes = 32 << 20
	// bytesEach is how many bytes a byte of a body counts for: its decoded form
	// and the rows that it is written to take memory, too.
	bytesEach = 3
	// smallBytes of a body or a response are not counted: a connection has buffers
	// of that size anyway.
	smallBytes = 4 << 10

	// slowestRate, after a grace, bounds how long a body may take to arrive, and
	// a response to be read.
	slowestRate = 128 << 10 // bytes a second
	// manyTransfers is how many bodies and responses may be in transfer before
	// the next ones get a shorter grace.
	manyTransfers = 512
	shortGrace    = time.Second
	// restTimeout bounds the rest of a body that is not read.
	restTimeout = time.Second
)

var grace = 5 * time.Second // a variable for tests

var errBusy = &cms.Error{Code: cms.CodeUnavailable, Message: "The server is busy, try again after the time in Retry-After"}

var retrySoon = []string{"1"} // shared by responses

var busyBody = encode(Error{Object: "error", Code: errBusy.Code, Message: errBusy.Message})

// admission bounds the requests in flight, and the memory that bodies and
// responses take while clients send and read them.
type admission struct {
	requests limiter
	// writers bounds the requests that write, since they wait for each other in
	// the store.
	writers   limiter
	bytes     limiter
	inFlight  atomic.Int64
	transfers atomic.Int64 // bodies and large responses in transfer
}

func newAdmission(maxInFlight int, registry *prometheus.Registry) *admission {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "galley_http_requests_refused_total", Help: "Requests refused with 503 because the server was busy, by reason.",
	}, []string{"reason"})
	inFlight, memory := refused.WithLabelValues("in_flight"), refused.WithLabelValues("memory")
	writing := maxInFlight - maxInFlight/keptForReads
	a := &admission{
		requests: newLimiter(maxInFlight, waitersEach*maxInFlight, inFlight),
		writers:  newLimiter(writing, waitersEach*writing, inFlight),
		bytes:    newLimiter(maxBytes, waitersEach*maxInFlight, memory),
	}
	registry.MustRegister(refused, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "galley_http_requests_in_flight", Help: "Requests that are being handled.",
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

// acquire waits for at most maxWait. It returns errBusy after that, or if too
// many requests wait already.
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

// full reports whether acquire would return errBusy now.
func (l *limiter) full() bool {
	if l.waiting.Load() < l.maxWaiting {
		return false
	}
	l.refused.Inc()
	return true
}

// wait is acquire without a bound on the number of waiters.
func (l *limiter) wait(ctx context.Context, n int64) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if l.Acquire(ctx, n) != nil {
		l.refused.Inc()
		return errBusy
	}
	return nil
}

// do runs work when there is a slot for it.
func (a *admission) do(ctx context.Context, writes bool, work func() error) error {
	acquire := a.requests.acquire
	if writes {
		if err := a.writers.acquire(ctx, 1); err != nil {
			return err
		}
		defer a.writers.Release(1)
		acquire = a.requests.wait // writers bounds the waiters
	}
	if err := acquire(ctx, 1); err != nil {
		return err
	}
	defer a.requests.Release(1)
	a.inFlight.Add(1)
	defer a.inFlight.Add(-1)
	return work()
}

// full reports whether a request must be refused before anything is done for it.
func (a *admission) full(writes bool) bool {
	if writes {
		return a.writers.full()
	}
	return a.requests.full()
}

// work authenticates and handles a request. A request with a body is
// authenticated before the body is read, and has no slot while it arrives.
func (a *API) work(w http.ResponseWriter, r *request) (res response, err error) {
	authenticate := func() error { return a.authenticate(w.Header(), r) }
	if r.ContentLength != 0 {
		if a.knows(r) {
			err = authenticate()
		} else {
			err = a.admission.do(r.Context(), false, authenticate)
		}
		if err != nil {
			return res, err
		}
		release, err := a.receive(w, r)
		if err != nil {
			return res, err
		}
		defer release()
		authenticate = func() error { return nil }
	}
	err = a.admission.do(r.Context(), !readOnly(r.Method), func() (err error) {
		if err = authenticate(); err == nil {
			res, err = a.respond(w, r)
		}
		return err
	})
	r.body = body{} // its memory is released before the response is sent
	return res, err
}

// receive reads the whole body, so that no slot and no transaction waits for the
// network. It reserves memory that the caller must release.
func (a *API) receive(w http.ResponseWriter, r *request) (release func(), err error) {
	release = func() {}
	if r.endpoint == nil || readOnly(r.Method) || r.Method == http.MethodDelete {
		return release, nil
	}
	length, most := r.ContentLength, a.maxBody(r.endpoint)
	if length > most {
		r.body.err = errTooLarge(most)
		return release, nil
	}
	if length < 0 {
		length = most + 1
	}
	if bytes := bytesEach * (length - smallBytes); bytes > 0 {
		if err := a.admission.bytes.acquire(r.Context(), bytes); err != nil {
			return release, err
		}
		release = func() { a.admission.bytes.Release(bytes) }
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(a.admission.beginTransfer(length)))
	if r.ContentLength < 0 {
		r.body.raw, err = io.ReadAll(io.LimitReader(r.Body, length))
	} else {
		r.body.raw = make([]byte, length)
		_, err = io.ReadFull(r.Body, r.body.raw)
	}
	a.admission.transfers.Add(-1)
	if err != nil {
		r.body, r.unread = body{err: errBodyCut}, false // the deadline has passed for the rest, too
		return release, nil                             //nolint:nilerr // the handler returns it, after the checks that come before the body
	}
	_ = control.SetReadDeadline(time.Time{}) // the handler may take longer
	if r.unread = int64(len(r.body.raw)) > most; r.unread {
		r.body = body{err: errTooLarge(most)}
	}
	return release, nil
}

// beginTransfer returns how long the transfer of so many bytes may take.
func (a *admission) beginTransfer(bytes int64) time.Duration {
	allowed := grace
	if a.transfers.Add(1) > manyTransfers {
		allowed = shortGrace
	}
	return allowed + time.Duration(bytes)*time.Second/slowestRate
}

// send writes a part of a response that the client may be slow to read. A shared
// part takes no memory of its own. When the memory for slow clients is used up,
// clients get a second to read the part.
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

// refuse sends the error of a request. A busy server does so at little cost, with
// an encoded body and no line in the log.
func (a *API) refuse(w http.ResponseWriter, r *request, err error) {
	if !errors.Is(err, errBusy) {
		a.fail(w, r, err)
		return
	}
	r.refused = true
	w.Header()["Retry-After"] = retrySoon
	writeJSON(w, http.StatusServiceUnavailable, busyBody)
}
