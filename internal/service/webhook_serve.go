package service

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/semaphore"

	"galley/internal/cms"
)

// Webhooks are served by nodes. A lease names the node that serves a webhook: it reads
// the events after the webhook's position, sends them, and stores the results and the
// new position. So a node that is killed leaves to the next one what it has not stored,
// which is sent again.

// Sender sends a message to the receiver of a webhook. Its error says why there was no
// response.
type Sender interface {
	Send(ctx context.Context, m cms.WebhookMessage) (cms.WebhookAnswer, error)
}

const (
	// leaseTime is how long a webhook waits for a node that was killed. The node of a
	// store without others keeps its leases over a restart, and writes less often.
	leaseTime, soleLeaseTime = 10 * time.Second, time.Minute
	// takenAtOnce is how many webhooks a node takes at a time, so that nodes that start
	// together share them.
	takenAtOnce = 50
	// serveTick is how often a node looks for attempts that are due, and servePoll for
	// what other nodes have changed.
	serveTick, servePoll = 50 * time.Millisecond, time.Second
	// stopGrace is how long attempts may go on when the node stops.
	stopGrace = 5 * time.Second
	// maxFailing is how many attempts of webhooks that fail are made at a time. Others
	// do not wait for them.
	maxFailing = 512
)

// soleNode is the node of a store that has no others.
var soleNode = cms.ID{15: 1}

// webhookNode is what a node has of the webhooks that it serves.
type webhookNode struct {
	changed chan struct{} // a webhook was changed
	failing *semaphore.Weighted
	workers sync.Map // by the ids of their webhooks
	saves   atomic.Int64
	bodies  *otter.Cache[cms.ID, []byte] // of events, since several webhooks send the same
}

// maxBodies is how many bytes of events are kept.
const maxBodies = 16 << 20

func newWebhookNode() *webhookNode {
	return &webhookNode{
		changed: make(chan struct{}, 1), failing: semaphore.NewWeighted(maxFailing),
		bodies: otter.Must(&otter.Options[cms.ID, []byte]{
			MaximumWeight: maxBodies, Weigher: func(_ cms.ID, body []byte) uint32 { return uint32(len(body) + len(cms.NoID)) },
		}),
	}
}

// bodyOf returns an event as it is sent; NotFound if it is no longer kept.
func (s *Service) bodyOf(ctx context.Context, workspaceID, id cms.ID) ([]byte, error) {
	return s.webhooks.bodies.Get(ctx, id, otter.LoaderFunc[cms.ID, []byte](func(ctx context.Context, id cms.ID) ([]byte, error) {
		event, err := s.store.Event(ctx, workspaceID, id)
		if err != nil {
			return nil, err
		}
		return s.EncodeEvent(event), nil
	}))
}

// note notes that some of these may be webhooks that were changed. One that this node
// serves sends nothing before it is read again.
func (n *webhookNode) note(changed ...cms.Subject) {
	for _, subject := range changed {
		if known, ok := n.workers.Load(subject.ID); ok {
			w, _ := known.(*worker)
			w.touch()
			signal(n.changed)
		}
	}
}

// noteNew notes that there is a webhook that no node serves.
func (n *webhookNode) noteNew() { signal(n.changed) }

// server serves the webhooks of one node.
type server struct {
	s       *Service
	node    cms.ID
	lease   time.Duration
	failed  func(error)
	workers map[cms.ID]*worker
	running sync.WaitGroup
	renewed time.Time

	measured time.Time // when writes were last counted
	writes   int64
	rate     float64          // of writes, smoothed
	heads    map[cms.ID]int64 // the last position of each workspace
}

// ServeWebhooks sends events to webhooks until the context ends. It calls failed with
// each error.
func (s *Service) ServeWebhooks(ctx context.Context, failed func(error)) {
	d := &server{s: s, node: cms.NewID(), lease: leaseTime, failed: failed, workers: map[cms.ID]*worker{}, heads: map[cms.ID]int64{}}
	if !s.store.Shared() {
		d.node, d.lease = soleNode, soleLeaseTime
	}
	events, cancel := s.SubscribeEvents()
	defer cancel()
	tick := time.NewTicker(serveTick)
	defer tick.Stop()
	var polled time.Time
	for look := false; ; look = false {
		poll := time.Since(polled) >= servePoll
		select {
		case <-ctx.Done():
			d.stop()
			return
		case <-s.webhooks.changed:
			poll = true
		case <-events:
			look = true
		case <-tick.C:
			d.budget()
		}
		if poll {
			polled, look = time.Now(), true
			d.report(ctx, d.poll(ctx))
		}
		if look {
			d.report(ctx, d.look(ctx))
		}
		now := s.now()
		for _, w := range d.workers {
			w.tick(now)
		}
	}
}

const (
	// busyWrites is how many writes in a second make a node busy, and busySends how many
	// first attempts it then makes in a second, so that requests come first.
	busyWrites, busySends = 300, 250
	// unlimited is the budget of a worker of a node that is not busy.
	unlimited = -1
)

// budget limits how many first attempts each worker makes until the next tick.
func (d *server) budget() {
	took := time.Since(d.measured)
	if took < serveTick/2 {
		return
	}
	writes := d.s.bigWork.writes.Load() - d.s.webhooks.saves.Load()
	rate := float64(writes-d.writes) / took.Seconds()
	d.rate += (rate - d.rate) / 4
	d.measured, d.writes = time.Now(), writes
	share := busySends * took.Seconds() / float64(max(len(d.workers), 1))
	for _, w := range d.workers {
		each := int64(unlimited)
		if d.rate > busyWrites {
			each = int64(share + rand.Float64()) // so that all get the same in the end
		}
		w.budget.Store(each)
	}
}

func (d *server) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		d.failed(err)
	}
}

// poll takes and extends leases, and starts, informs and stops workers.
func (d *server) poll(ctx context.Context) error {
	now := d.s.now()
	err := d.s.store.InTx(ctx, func(tx cms.Tx) error {
		return tx.ServeWebhooks(ctx, d.node, now, now.Add(d.lease), takenAtOnce)
	})
	if err == nil && len(d.workers) > 0 && (now.Sub(d.renewed) >= d.lease/3 || now.Before(d.renewed)) {
		err = d.s.store.InTx(ctx, func(tx cms.Tx) error { return tx.KeepServing(ctx, d.node, now.Add(d.lease)) })
		if err == nil {
			d.renewed = now
		}
	}
	if err != nil {
		return err
	}
	served, err := d.s.store.ServedWebhooks(ctx, d.node)
	if err != nil {
		return err
	}
	lost := map[cms.ID]bool{}
	for id := range d.workers {
		lost[id] = true
	}
	for _, serve := range served {
		delete(lost, serve.ID)
		w := d.workers[serve.ID]
		if w == nil {
			w = d.newWorker(serve)
			d.workers[serve.ID] = w
			d.s.webhooks.workers.Store(serve.ID, w)
			d.running.Go(w.run)
		}
		w.inform(serve.Revision)
	}
	for id := range lost {
		d.workers[id].stop()
		delete(d.workers, id)
		d.s.webhooks.workers.Delete(id)
	}
	return nil
}

// look informs the workers that have new events.
func (d *server) look(ctx context.Context) error {
	ofWorkspace := map[cms.ID][]*worker{}
	for _, w := range d.workers {
		ofWorkspace[w.workspaceID] = append(ofWorkspace[w.workspaceID], w)
	}
	var errs []error
	for id, workers := range ofWorkspace {
		after, known := d.heads[id]
		events, err := d.s.store.EventKeys(ctx, cms.EventQuery{WorkspaceID: id, After: after, Limit: maxLook})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if len(events) > 0 {
			d.heads[id] = events[len(events)-1].Position
		}
		if len(events) == maxLook { // there may be many more
			known = false
			if d.heads[id], err = d.s.store.LastPosition(ctx, id); err != nil {
				errs = append(errs, err)
			}
		}
		for _, w := range workers {
			if !known || w.isNew.CompareAndSwap(true, false) || w.wants(events) {
				w.events.Store(true)
				signal(w.wake)
			}
		}
	}
	return errors.Join(errs...)
}

// maxLook is how many new events of a workspace are matched with its webhooks. Beyond
// it all of them are informed.
const maxLook = 256

// stop ends all workers, and gives their webhooks to other nodes.
func (d *server) stop() {
	for id, w := range d.workers {
		w.stop()
		d.s.webhooks.workers.Delete(id)
	}
	d.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := d.s.store.InTx(ctx, func(tx cms.Tx) error { return tx.StopServing(ctx, d.node) }); err != nil {
		d.failed(err)
	}
}
