package httpapi

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
	"galley/internal/service"
)

// EventStream is a response of server-sent events.
type EventStream string

const mediaStream = "text/event-stream"

const (
	defaultStreams   = 1000
	streamsEach      = 10 // of a credential
	streamRetryAfter = "5"

	recheckEvery = 2 * time.Second // of the key

	// A client that takes longer than readTimeout to read something is disconnected. One
	// for which more than these events or bytes wait is, too, unless it reads them in that
	// time, and as soon as it stops reading.
	readTimeout     = 10 * time.Second
	slowAfter       = time.Second
	maxWaiting      = 1000
	maxWaitingBytes = 1 << 20
	// endTimeout is how long the end of a response may take.
	endTimeout = 100 * time.Millisecond
	// socketBuffer is how much the kernel takes for a client that does not read.
	socketBuffer = 64 << 10

	streamChunk = 100 // events that one read returns
)

// heartbeatEvery is how often a comment is sent; a variable for tests.
var heartbeatEvery = 15 * time.Second

var errTooManyStreams = &cms.Error{Code: codeTooManyRequests, Message: "The key has too many open streams, close one or try again after the time in Retry-After"}

// eventStreams are the open streams of this node, by workspace.
type eventStreams struct {
	svc      *service.Service
	most     int
	stopping <-chan struct{}
	open     atomic.Int64

	mu         sync.Mutex
	credential map[cms.ID]int
	feeds      map[cms.ID]*eventFeed
}

func newEventStreams(o Options) *eventStreams {
	s := &eventStreams{
		svc: o.Service, most: cmp.Or(o.MaxStreams, defaultStreams), stopping: o.Stopping,
		credential: map[cms.ID]int{}, feeds: map[cms.ID]*eventFeed{},
	}
	o.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "galley_event_streams", Help: "Open streams of events.",
	}, func() float64 { return float64(s.open.Load()) }))
	return s
}

// acquire counts a stream of a credential. The caller must release it.
func (s *eventStreams) acquire(credential cms.ID) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stopping:
		return nil, errBusy
	default:
	}
	switch {
	case s.credential[credential] >= streamsEach:
		return nil, errTooManyStreams
	case s.open.Load() >= int64(s.most):
		return nil, errBusy
	}
	s.open.Add(1)
	s.credential[credential]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open.Add(-1)
		if s.credential[credential]--; s.credential[credential] == 0 {
			delete(s.credential, credential)
		}
	}, nil
}

// eventFeed reads the new events of a workspace once for all its streams.
type eventFeed struct {
	cancel context.CancelFunc

	mu       sync.Mutex
	position int64 // all streams have the events up to it
	streams  map[*eventStream]bool
}

// join adds a stream, which receives the events after the position that it returns.
func (s *eventStreams) join(ctx context.Context, workspaceID cms.ID, stream *eventStream) (leave func(), err error) {
	last, err := s.svc.LastEvent(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	feed := s.feeds[workspaceID]
	if feed == nil {
		feeding, cancel := context.WithCancel(context.Background())
		feed = &eventFeed{cancel: cancel, position: last, streams: map[*eventStream]bool{}}
		s.feeds[workspaceID] = feed
		go s.run(feeding, workspaceID, feed)
	}
	feed.mu.Lock()
	defer feed.mu.Unlock()
	feed.streams[stream] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		feed.mu.Lock()
		defer feed.mu.Unlock()
		if delete(feed.streams, stream); len(feed.streams) == 0 {
			feed.cancel()
			delete(s.feeds, workspaceID)
		}
	}, nil
}

// run passes new events on until the last stream has left.
func (s *eventStreams) run(ctx context.Context, workspaceID cms.ID, feed *eventFeed) {
	wake, cancel := s.svc.SubscribeEvents()
	defer cancel()
	for {
		q := cms.EventQuery{WorkspaceID: workspaceID, After: feed.position, Limit: streamChunk}
		events, err := s.svc.EventsAfter(ctx, q)
		if err == nil {
			feed.send(events)
		}
		if err == nil && len(events) == streamChunk {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-wake: // every half second at least
		}
	}
}

// send passes events on to all streams, encoded once, and ends those that are too slow.
func (f *eventFeed) send(events []cms.Event) {
	frames := make([]frame, len(events))
	for i, e := range events {
		frames[i] = newFrame(e)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for stream := range f.streams {
		stream.add(frames)
	}
	if len(events) > 0 {
		f.position = events[len(events)-1].Position
	}
}

// frame is an event as it is sent.
type frame struct {
	event cms.Event
	text  []byte
}

func newFrame(e cms.Event) frame {
	text := append([]byte("id: "+e.ID.String()+"\nevent: "+string(e.Type)+"\ndata: "), encode(newEvent(e))...) // it ends with a newline
	e.Before, e.After = nil, nil
	return frame{e, append(text, '\n')}
}

// eventStream is a client that follows events.
type eventStream struct {
	out    http.ResponseWriter
	ctx    context.Context //nolint:containedctx // it ends with the stream
	cancel context.CancelFunc
	wake   chan struct{}

	mu        sync.Mutex
	query     cms.EventQuery // After is the position of the last event that was sent
	queue     []frame
	waiting   int       // events that were not sent yet
	bytes     int       // of them
	behind    bool      // some of them are not in the queue: the store has them
	live      bool      // it has caught up once
	fullSince time.Time // when too many began to wait; zero: they do not
	writing   time.Time // when the client was sent what it has not read; zero: it has read all
}

// add queues the frames that the client wants. It ends the stream of a client that does
// not read while too many wait. Of one that was just sent many at once, it queues none:
// they are read from the store.
func (s *eventStream) add(frames []frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range frames {
		if !s.query.Admits(f.event) {
			continue
		}
		s.waiting++
		s.bytes += len(f.text)
		if s.behind = s.behind || s.full(); s.behind {
			s.queue = nil
			continue
		}
		s.queue = append(s.queue, f)
	}
	if s.live && s.full() && s.fullSince.IsZero() {
		s.fullSince = time.Now()
	}
	blocked := !s.writing.IsZero() && time.Since(s.writing) > slowAfter
	if !s.fullSince.IsZero() && (blocked || time.Since(s.fullSince) > readTimeout) {
		s.end()
	}
	if s.waiting > 0 {
		signalWake(s.wake)
	}
}

func signalWake(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

func (s *eventStream) full() bool {
	return s.waiting > maxWaiting || (s.waiting > 1 && s.bytes > maxWaitingBytes)
}

// end ends the stream, also while it waits for the client.
func (s *eventStream) end() {
	s.cancel()
	_ = http.NewResponseController(s.out).SetWriteDeadline(time.Now().Add(endTimeout))
}

func (a *API) startEvents(r *request) (response, error) {
	ask := r.query.events()
	if err := lastEventID(r.Request, &ask); err != nil {
		return response{}, err
	}
	q, err := a.svc.StartEvents(r.Context(), r.who, ask)
	return response{status: http.StatusOK, events: &q}, err
}

const lastEventHeader = "Last-Event-ID"

// lastEventID lets the header win over the cursor of the query.
func lastEventID(r *http.Request, ask *service.ReadEvents) error {
	values := r.Header.Values(lastEventHeader)
	if len(values) == 0 {
		return nil
	}
	id, ok := cms.ParseID(values[0])
	if len(values) > 1 || !ok {
		return cms.BadField(lastEventHeader, "must be the id of an event")
	}
	ask.After = id
	return nil
}

// streamEvents sends events until the client disconnects or is too slow, its key ends, or
// the server stops. It holds no slot while it waits.
func (a *API) streamEvents(ctx context.Context, w *responseWriter, r *request, q cms.EventQuery) {
	release, err := a.streams.acquire(r.who.ID())
	if err != nil {
		w.Header().Set("Retry-After", streamRetryAfter)
		a.refuse(w, r, err)
		return
	}
	defer release()
	control := http.NewResponseController(w)
	// The deadlines of the server are those of a request that is answered once.
	_, _ = control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Time{})
	if conn, ok := ctx.Value(connKey{}).(interface{ SetWriteBuffer(bytes int) error }); ok && r.ProtoMajor == 1 {
		_ = conn.SetWriteBuffer(socketBuffer)
	}
	w.Header().Set("Content-Type", mediaStream)
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close") // its deadlines are not those of another request
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &eventStream{out: w.ResponseWriter, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1), query: q}
	if s.write([]byte(": connected\n\n")) != nil {
		return
	}
	leave, err := a.streams.join(ctx, q.WorkspaceID, s)
	if err != nil {
		return // the client connects again
	}
	defer leave()
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		a.watchStream(s, r)
	}()
	defer func() { cancel(); <-watching }() // it sets the deadline of the end
	_ = a.follow(s)                         // whatever it is, the client connects again
}

// watchStream ends a stream when its key no longer has the right to it, or the server
// stops.
func (a *API) watchStream(s *eventStream, r *request) {
	defer s.end()
	ticker := time.NewTicker(recheckEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-a.streams.stopping:
			return
		case <-ticker.C:
		}
		checking, cancel := context.WithTimeout(s.ctx, recheckEvery)
		who, err := a.svc.Authenticate(checking, r.credential)
		var q cms.EventQuery
		if err == nil {
			err = who.Allow(r.endpoint.scope, r.endpoint.audience)
		}
		if err == nil {
			q, err = a.svc.CheckEvents(checking, who, service.ReadEvents{SiteID: r.query.siteID, Types: r.query.types, Since: r.query.since})
		}
		cancel()
		if code := cms.CodeOf(err); code == cms.CodeUnavailable {
			continue // it is checked again
		}
		if err != nil {
			return
		}
		s.mu.Lock()
		s.query.Sites, s.query.Types = q.Sites, q.Types
		s.mu.Unlock()
	}
}

// follow sends what the store has, and then what the feed brings.
func (a *API) follow(s *eventStream) error {
	if err := a.catchUp(s); err != nil {
		return err
	}
	signalWake(s.wake) // the feed may have brought more
	heartbeat := time.NewTicker(heartbeatEvery)
	defer heartbeat.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-heartbeat.C:
			if err := s.write([]byte(":\n\n")); err != nil {
				return err
			}
			continue
		case <-s.wake:
		}
		for {
			next, behind := s.next()
			if behind {
				if err := a.catchUp(s); err != nil {
					return err
				}
				continue
			}
			if next == nil {
				break
			}
			if err := s.send(*next); err != nil {
				return err
			}
		}
	}
}

// next is the first frame that waits, unless the stream is behind.
func (s *eventStream) next() (next *frame, behind bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.behind {
		s.behind, s.waiting, s.bytes = false, 0, 0 // what comes from now on is queued
		return nil, true
	}
	if len(s.queue) == 0 {
		s.live, s.fullSince = true, time.Time{}
		return nil, false
	}
	return &s.queue[0], false
}

// send sends a frame, which is the first of the queue or comes from the store, unless it
// was sent already.
func (s *eventStream) send(f frame) error {
	s.mu.Lock()
	wanted := s.query.Admits(f.event)
	s.mu.Unlock()
	if wanted {
		if err := s.write(f.text); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.query.After = max(s.query.After, f.event.Position)
	if len(s.queue) > 0 && s.queue[0].event.Position == f.event.Position {
		s.queue, s.waiting, s.bytes = s.queue[1:], s.waiting-1, s.bytes-len(f.text)
	}
	return nil
}

// catchUp sends what the store has.
func (a *API) catchUp(s *eventStream) error {
	for {
		s.mu.Lock()
		q := s.query
		s.mu.Unlock()
		q.Limit = streamChunk
		var events []cms.Event
		ctx, cancel := context.WithTimeout(s.ctx, chunkTimeout)
		err := a.admission.do(ctx, false, func() (err error) {
			events, err = a.svc.EventsAfter(ctx, q)
			return err
		})
		cancel()
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := s.send(newFrame(e)); err != nil {
				return err
			}
		}
		if len(events) < streamChunk {
			return nil
		}
	}
}

// write sends a text to the client, which has to read it in time.
func (s *eventStream) write(text []byte) error {
	control := http.NewResponseController(s.out)
	s.mu.Lock()
	s.writing = time.Now()
	s.mu.Unlock()
	err := control.SetWriteDeadline(time.Now().Add(readTimeout))
	if err == nil {
		err = s.ctx.Err() // it may have ended before the deadline was set
	}
	if err == nil {
		_, err = s.out.Write(text)
	}
	if err == nil {
		err = control.Flush()
	}
	s.mu.Lock()
	s.writing = time.Time{}
	s.mu.Unlock()
	if err == nil {
		err = control.SetWriteDeadline(time.Time{})
	}
	return err
}

type connKey struct{}

// WithConn returns a context in which requests find their connection.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = encrypted.NetConn()
	}
	return context.WithValue(ctx, connKey{}, conn)
}
