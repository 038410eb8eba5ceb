package service

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"galley/internal/cms"
)

const (
	// maxFirst and maxRetries are how many first attempts, each of another site, and how
	// many other attempts of a webhook are made at a time.
	maxFirst, maxRetries = 8, 8
	// minWindow and maxWindow bound the events of a webhook that are in memory: as many
	// as it sends in about half a second.
	minWindow, maxWindow = 16, 1024
	// saveEvery is how long results wait to be stored with others.
	saveEvery = 50 * time.Millisecond
	// slowAfter is when an event that is not sent yet is stored as pending.
	slowAfter = 500 * time.Millisecond
	// windowTime is how long a window is measured.
	windowTime = 500 * time.Millisecond
	// workerPause is how long a worker waits after an error of the store.
	workerPause = time.Second
)

// worker serves one webhook. Its fields belong to its goroutine but for those that
// others inform it by.
type worker struct {
	s           *Service
	id, node    cms.ID
	workspaceID cms.ID
	failed      func(error)
	stopped     context.Context //nolint:containedctx // ends when the worker is to stop
	stop        context.CancelFunc

	wake     chan struct{}
	revision atomic.Int64
	events   atomic.Bool // there may be new ones
	isNew    atomic.Bool
	admits   atomic.Pointer[cms.EventQuery] // the events that it wants; nil: not known
	budget   atomic.Int64                   // how many first attempts may begin
	due      atomic.Int64                   // when the next attempt is due, in milliseconds; 0: look, -1: none

	known   int64 // the revision of the webhook below; -1: it has to be read again
	loaded  bool
	webhook cms.Webhook
	secret  string
	old     string
	// generation is what StartsAfter was when the streams began.
	generation cms.ID

	streams  []*stream           // the events after the position, and a replay
	retries  map[cms.ID]*message // under way
	ended    []*message          // and not stored
	answers  chan answer
	saves    chan saved
	saving   bool
	saved    time.Time // when the last save began
	sending  int
	window   int
	sent     int             // since
	since    time.Time       // the window was set
	paused   time.Time       // until then, after an error
	finalCtx context.Context //nolint:containedctx // of attempts: it outlives stopped by the grace
}

// message is an event that is to be sent.
type message struct {
	cms.Delivery
	event  cms.Event
	stream *stream // nil: it is no first attempt
	read   time.Time
	stage  stage
	stored bool // there is a row
	url    string
	lost   bool // its event is no longer kept

	attempt   cms.Attempt
	postponed time.Duration
}

// stage is how far a message is.
type stage int

const (
	queued stage = iota
	underWay
	answered
	beingStored
	done
)

// stream is a range of events that are sent in their order.
type stream struct {
	replay   *cms.WebhookReplay // nil: those after the position of the webhook
	query    cms.EventQuery     // After is the position of the last event that was read
	admits   cms.EventQuery     // what is sent of what is read
	position int64              // as the store has it
	window   []*message         // by position
	busy     map[cms.ID]bool    // sites with a message under way
	recover  int                // how many more events may have a row
	atEnd    bool
}

type answer struct {
	*message
	aborted bool
}

type saved struct {
	webhookBatch
	err error
}

// newWorker returns a worker for a webhook whose lease the node has.
func (d *server) newWorker(serve cms.ServedWebhook) *worker {
	stopped, stop := context.WithCancel(context.Background())
	w := &worker{
		s: d.s, id: serve.ID, node: d.node, workspaceID: serve.WorkspaceID, failed: d.failed, stopped: stopped, stop: stop,
		wake: make(chan struct{}, 1), known: -1, retries: map[cms.ID]*message{}, answers: make(chan answer, maxFirst+maxRetries),
		saves: make(chan saved, 1), window: minWindow,
	}
	w.isNew.Store(true)
	w.budget.Store(unlimited)
	return w
}

// inform tells the worker which revision the webhook has.
func (w *worker) inform(revision int64) {
	if w.revision.Swap(revision) != revision {
		signal(w.wake)
	}
}

// touch tells the worker that the webhook was changed.
func (w *worker) touch() { w.inform(-time.Now().UnixNano()) }

// wants reports whether the worker may have to send some of the events.
func (w *worker) wants(events []cms.Event) bool {
	q := w.admits.Load()
	return len(events) > 0 && (q == nil || slices.ContainsFunc(events, q.Admits))
}

// tick wakes the worker if an attempt is due.
func (w *worker) tick(now time.Time) {
	if due := w.due.Load(); due >= 0 && due <= now.UnixMilli() {
		signal(w.wake)
	}
}

// run serves the webhook until it is stopped.
func (w *worker) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.finalCtx = ctx
	save := time.NewTicker(saveEvery)
	defer save.Stop()
	for w.stopped.Err() == nil {
		w.work(ctx)
		ticks := save.C
		if !w.hasWork() {
			ticks = nil
		}
		select {
		case <-w.stopped.Done():
		case <-w.wake:
		case a := <-w.answers:
			w.take(a)
			continue // a save is for many
		case s := <-w.saves:
			w.stored(s)
		case <-ticks:
		}
		w.save(ctx)
	}
	grace := time.AfterFunc(stopGrace, cancel)
	defer grace.Stop()
	for w.sending > 0 || w.saving {
		select {
		case a := <-w.answers:
			w.take(a)
		case s := <-w.saves:
			w.stored(s)
		}
	}
	final, done := context.WithTimeout(context.Background(), stopGrace)
	defer done()
	if w.save(final); w.saving {
		w.stored(<-w.saves)
	}
}

// hasWork reports whether something has to be looked at before the worker is woken.
func (w *worker) hasWork() bool {
	return w.sending > 0 || len(w.ended) > 0 || w.saving || slices.ContainsFunc(w.streams, func(s *stream) bool { return len(s.window) > 0 || !s.atEnd }) ||
		w.known != w.revision.Load() || (w.webhook.IsEnabled && len(w.streams) == 0)
}

// work reads what is to be sent, and sends it.
func (w *worker) work(ctx context.Context) {
	if time.Now().Before(w.paused) {
		return
	}
	err := w.load(ctx)
	if err == nil && w.events.Swap(false) {
		for _, s := range w.streams {
			s.atEnd = false
		}
	}
	for _, s := range w.streams {
		if err == nil {
			err = w.read(ctx, s)
		}
	}
	if err == nil {
		err = w.readDue(ctx)
	}
	if err != nil {
		w.paused = time.Now().Add(workerPause)
		w.events.Store(true)
		w.due.Store(0)
		w.failed(err)
	}
	for _, s := range w.streams {
		w.sendFirst(s)
	}
}

// load reads the webhook again if it has changed, and begins anew with its events if
// that makes a difference to them. Then it first waits for what is under way.
func (w *worker) load(ctx context.Context) error {
	revision := w.revision.Load()
	if w.known == revision && (len(w.streams) > 0 || !w.webhook.IsEnabled) {
		return nil
	}
	webhook, err := w.s.store.Webhook(ctx, w.id)
	if err != nil {
		return err
	}
	w.due.Store(0)
	secret, err := w.s.openSecret(w.id, webhook.Secret)
	old := ""
	if err == nil && webhook.OldSecret != nil {
		old, err = w.s.openSecret(w.id, webhook.OldSecret)
	}
	if err != nil {
		return w.giveUp(ctx, err)
	}
	before := w.webhook
	w.webhook, w.secret, w.old, w.loaded = webhook, secret, old, true
	if len(w.streams) > 0 && sameEvents(before, webhook) && (webhook.StartsAfter == cms.NoID || webhook.StartsAfter == w.generation) {
		w.known = revision
		return w.loadReplays(ctx)
	}
	for _, s := range w.streams {
		s.window = slices.DeleteFunc(s.window, func(m *message) bool { return m.stage == queued })
		s.atEnd = true
	}
	if w.sending > len(w.retries) || len(w.ended) > 0 || w.saving {
		return nil // it comes back when they have ended
	}
	w.streams = nil
	w.known = revision
	w.admits.Store(new(queryOf(webhook)))
	if !webhook.IsEnabled {
		return nil
	}
	position, ok, err := w.beginning(ctx)
	if err != nil || !ok {
		w.known = -1
		return err
	}
	w.generation = webhook.StartsAfter
	w.webhook.Position = position
	w.streams = []*stream{newStream(w.webhook, nil)}
	return w.loadReplays(ctx)
}

// giveUp lets another node try to serve the webhook.
func (w *worker) giveUp(ctx context.Context, cause error) error {
	err := w.s.store.InTx(ctx, func(tx cms.Tx) error { return tx.YieldWebhook(ctx, w.id, w.node, w.s.now().Add(leaseTime)) })
	return errors.Join(cause, err)
}

// sameEvents reports whether a change of a webhook makes no difference to the events
// that it gets.
func sameEvents(a, b cms.Webhook) bool {
	return a.URL == b.URL && a.IsEnabled == b.IsEnabled && slices.Equal(a.Types, b.Types) && slices.Equal(a.SiteIDs, b.SiteIDs) &&
		(a.SiteIDs == nil) == (b.SiteIDs == nil)
}

// longAgo is when an event that can't be found was purged, rather than not numbered yet.
const longAgo = time.Hour

// beginning is the position after which the webhook gets events.
func (w *worker) beginning(ctx context.Context) (position int64, ok bool, err error) {
	if w.webhook.StartsAfter == cms.NoID {
		return w.webhook.Position, true, nil
	}
	event, err := w.s.store.Event(ctx, w.workspaceID, w.webhook.StartsAfter)
	if cms.CodeOf(err) != cms.CodeNotFound {
		return event.Position, err == nil, err
	}
	if w.s.now().Sub(cms.AuditEntry{ID: w.webhook.StartsAfter}.At()) < longAgo {
		return 0, false, nil
	}
	position, err = w.s.store.LastPosition(ctx, w.workspaceID)
	return position, err == nil, err
}

func newStream(w cms.Webhook, replay *cms.WebhookReplay) *stream {
	s := &stream{replay: replay, query: queryOf(w), position: w.Position, busy: map[cms.ID]bool{}, recover: maxWindow}
	if replay != nil {
		s.position = replay.Position
	}
	s.admits = s.query
	s.query.After = s.position
	if replay != nil {
		s.admits.Since = &replay.Since
	}
	if max(len(s.query.Sites), 1)*max(len(s.query.Types), 1) > maxProbes || s.query.Sites != nil && s.query.Types == nil {
		s.query.Sites, s.query.Types = nil, nil
	}
	return s
}

// maxProbes is for how many pairs of a site and a type events are looked for. Beyond it
// all events are read.
const maxProbes = 12

// loadReplays begins the oldest replay, if none is under way.
func (w *worker) loadReplays(ctx context.Context) error {
	if len(w.streams) > 1 {
		return nil
	}
	replays, err := w.s.store.Replays(ctx, w.id)
	if err == nil && len(replays) > 0 {
		w.streams = append(w.streams, newStream(w.webhook, &replays[0]))
	}
	return err
}

// read reads the next events of a stream.
func (w *worker) read(ctx context.Context, s *stream) error {
	room := w.window - len(s.window)
	if s.atEnd || room < w.window/2 {
		return nil
	}
	s.query.Limit = room
	events, err := w.s.store.EventKeys(ctx, s.query)
	if err != nil {
		return err
	}
	s.atEnd = len(events) < room
	now := time.Now()
	var read []*message
	for _, e := range events {
		if s.replay != nil && e.Position > s.replay.Until {
			s.atEnd = true
			break
		}
		s.query.After = e.Position
		if !s.admits.Admits(e) {
			continue
		}
		m := &message{event: e, stream: s, read: now, Delivery: cms.Delivery{
			ID: cms.DeliveryID(w.id, e.ID), WebhookID: w.id, EventID: e.ID, EventType: e.Type, Status: cms.DeliveryPending,
		}}
		if s.replay != nil {
			m.ID = cms.ReplayedID(s.replay.ID, e.ID, e.Position)
		}
		read = append(read, m)
	}
	if s.recover > 0 {
		if read, err = w.withoutStored(ctx, read); err != nil {
			s.query.After = s.lastRead()
			s.atEnd = false
			return err
		}
		s.recover -= len(events)
	}
	s.window = append(s.window, read...)
	return nil
}

// lastRead is the position of the last event in memory.
func (s *stream) lastRead() int64 {
	if len(s.window) == 0 {
		return s.position
	}
	return s.window[len(s.window)-1].event.Position
}

// withoutStored marks what was sent before the worker began.
func (w *worker) withoutStored(ctx context.Context, read []*message) ([]*message, error) {
	ids := make([]cms.ID, len(read))
	for i, m := range read {
		ids[i] = m.ID
	}
	rows, err := w.s.store.DeliveriesByID(ctx, ids)
	for _, m := range read {
		row, stored := rows[m.ID]
		m.stored = stored
		if stored && (row.Status != cms.DeliveryPending || len(row.Attempts) > 0 || row.NextAttemptAt != nil) {
			m.stage = done
		}
	}
	return read, err
}

// readDue reads the attempts that are due, and sends them.
func (w *worker) readDue(ctx context.Context) error {
	due, now := w.due.Load(), w.s.now()
	if due < 0 || due > now.UnixMilli() || len(w.retries) >= maxRetries || !w.loaded {
		return nil
	}
	deliveries, err := w.s.store.NextDeliveries(ctx, w.id, 2*maxRetries+1)
	if err != nil {
		return err
	}
	next := int64(-1)
	for _, d := range deliveries {
		if w.retries[d.ID] != nil || slices.ContainsFunc(w.ended, func(m *message) bool { return m.ID == d.ID }) {
			continue
		}
		if d.NextAttemptAt.After(now) || len(w.retries) >= maxRetries {
			next = d.NextAttemptAt.UnixMilli()
			break
		}
		m := &message{Delivery: d, stored: true, read: time.Now()}
		if !w.send(m) {
			next = now.UnixMilli()
			break
		}
		w.retries[d.ID] = m
	}
	w.due.Store(next)
	return nil
}

// body returns what is sent. A test is made up.
func (w *worker) body(ctx context.Context, d cms.Delivery, webhook cms.Webhook) ([]byte, error) {
	if d.EventType == cms.EventTest {
		return w.s.EncodeEvent(cms.Event{AuditEntry: cms.AuditEntry{
			ID: d.EventID, WorkspaceID: w.workspaceID, Kind: cms.KindWebhook, ResourceID: w.id, After: w.s.encode(webhook), Type: cms.EventTest,
		}}), nil
	}
	return w.s.bodyOf(ctx, w.workspaceID, d.EventID)
}

// sendFirst sends the next event of each site that has none under way.
func (w *worker) sendFirst(s *stream) {
	if !w.webhook.IsEnabled || w.known != w.revision.Load() {
		return
	}
	for _, m := range s.window {
		if len(s.busy) >= maxFirst {
			return
		}
		site := m.event.SiteID
		if m.stage != queued || s.busy[site] {
			continue
		}
		if budget := w.budget.Load(); budget == 0 || !w.send(m) {
			return
		} else if budget > 0 {
			w.budget.CompareAndSwap(budget, budget-1)
		}
		s.busy[site] = true
	}
}

// send begins an attempt, unless too many webhooks fail.
func (w *worker) send(m *message) bool {
	failing := w.webhook.FailingSince != nil
	if failing && !w.s.webhooks.failing.TryAcquire(1) {
		return false
	}
	m.stage, m.url = underWay, w.webhook.URL
	w.sending++
	out := cms.WebhookMessage{URL: w.webhook.URL, ID: m.EventID.String(), At: w.s.now(), Secrets: []string{w.secret}}
	if w.old != "" && out.At.Before(*w.webhook.OldSecretEnds) {
		out.Secrets = append(out.Secrets, w.old)
	}
	webhook := w.webhook
	go func() {
		if failing {
			defer w.s.webhooks.failing.Release(1)
		}
		var got cms.WebhookAnswer
		var err error
		out.Body, err = w.body(w.finalCtx, m.Delivery, webhook)
		switch {
		case cms.CodeOf(err) == cms.CodeNotFound:
			m.lost, err = true, errors.New("the event is no longer kept")
		case err != nil:
			w.failed(err)
			time.Sleep(workerPause)
			w.answers <- answer{m, true}
			return
		default:
			got, err = w.s.Sender.Send(w.finalCtx, out)
		}
		end := w.s.now()
		m.attempt = cms.Attempt{At: out.At, Took: end.Sub(out.At), Status: got.Status, Response: got.Text}
		if err != nil {
			m.attempt.Error = err.Error()
		}
		m.postponed = got.Postponed(end)
		w.answers <- answer{m, w.finalCtx.Err() != nil}
	}()
	return true
}

// take takes the result of an attempt.
func (w *worker) take(a answer) {
	m := a.message
	w.sending--
	if m.stream != nil {
		delete(m.stream.busy, m.event.SiteID)
	}
	if a.aborted {
		m.stage = queued
		delete(w.retries, m.ID)
		w.due.Store(0)
		return
	}
	m.stage = answered
	w.ended = append(w.ended, m)
	w.sent++
	if m.EventType != cms.EventTest && !m.lost {
		w.webhook = w.webhook.Judge(m.attempt)
	}
}
