package service

import (
	"context"
	"slices"
	"time"

	"galley/internal/cms"
)

// webhookBatch is what one transaction stores of a webhook.
type webhookBatch struct {
	ended   []*message
	pending []*message        // that have no row, and wait for long
	moved   map[*stream]int64 // to these positions
	over    []*stream         // replays that are finished
}

// busySave is how often a busy node stores results.
const busySave = 500 * time.Millisecond

// maxSkipped is how many events that are not sent are read before the position is
// stored.
const maxSkipped = 1000

// save stores what has ended, while the worker goes on.
func (w *worker) save(ctx context.Context) {
	busy := w.budget.Load() != unlimited && w.stopped.Err() == nil
	if w.saving || busy && time.Since(w.saved) < busySave {
		return
	}
	p := webhookBatch{ended: w.ended, moved: map[*stream]int64{}}
	for _, m := range p.ended {
		m.stage = beingStored
	}
	var skipped int64
	for _, s := range w.streams {
		for _, m := range s.window {
			if m.stage <= underWay && !m.stored && time.Since(m.read) > slowAfter {
				p.pending = append(p.pending, m)
			}
		}
		if position := s.reached(); position > s.position {
			p.moved[s] = position
			skipped = max(skipped, position-s.position)
		}
		if s.replay != nil && s.atEnd && s.reached() == s.query.After {
			p.over = append(p.over, s)
		}
	}
	if len(p.ended)+len(p.pending)+len(p.over) == 0 && skipped < maxSkipped {
		return
	}
	w.ended, w.saving, w.saved = nil, true, time.Now()
	generation := w.generation
	go func() {
		w.s.webhooks.saves.Add(1)
		err := w.s.write(ctx, func(tx cms.Tx) error { return w.store(ctx, tx, p, generation) })
		w.saves <- saved{p, err}
	}()
}

// reached is the position up to which everything is stored, or is being stored.
func (s *stream) reached() int64 {
	position := s.position
	for _, m := range s.window {
		if m.stage < beingStored {
			return position
		}
		position = m.event.Position
	}
	return s.query.After
}

// store stores a batch in one transaction. A node that has lost its lease stores what
// it has sent, but moves nothing.
func (w *worker) store(ctx context.Context, tx cms.Tx, p webhookBatch, generation cms.ID) error {
	webhook, err := tx.LockServed(ctx, w.id, w.node)
	lost := cms.CodeOf(err) == cms.CodeNotFound
	if lost {
		webhook, err = tx.LockWebhook(ctx, w.id)
	}
	if err != nil {
		return err
	}
	before := webhook
	current := webhook.DeletedAt == nil && webhook.IsEnabled && webhook.StartsAfter == generation
	rows, err := w.results(ctx, tx, p.ended)
	if err != nil {
		return err
	}
	for i, m := range p.ended {
		if m.EventType != cms.EventTest && !m.lost && webhook.DeletedAt == nil && webhook.URL == m.url {
			webhook = webhook.Judge(m.attempt)
		}
		if !current && rows[i].Status == cms.DeliveryPending && !rows[i].Extra {
			rows[i].Status, rows[i].NextAttemptAt = cms.DeliveryFailed, nil
		}
	}
	if current && !lost {
		for _, m := range p.pending {
			rows = append(rows, m.Delivery)
		}
		for s, position := range p.moved {
			if s.replay == nil {
				webhook.Position, webhook.StartsAfter = position, cms.NoID
				continue
			}
			replay := *s.replay
			replay.Position = position
			if err := tx.SaveReplay(ctx, replay); err != nil {
				return err
			}
		}
		for _, s := range p.over {
			if err := tx.DeleteReplay(ctx, w.id, s.replay.ID); err != nil {
				return err
			}
		}
	}
	if err := tx.SaveDeliveries(ctx, rows...); err != nil {
		return err
	}
	if before.IsEnabled && !webhook.IsEnabled {
		webhook.Revision++
		if err := tx.FailDeliveries(ctx, w.id); err != nil {
			return err
		}
		if err := w.s.record(ctx, tx, systemActor(w.workspaceID, "disableWebhook"), wroteWebhook(before, webhook)...); err != nil {
			return err
		}
	}
	return tx.UpdateWebhook(ctx, webhook)
}

// results returns the deliveries after their attempts. A row that there is may have
// changed meanwhile.
func (w *worker) results(ctx context.Context, tx cms.Tx, ended []*message) ([]cms.Delivery, error) {
	rows := make([]cms.Delivery, len(ended))
	for i, m := range ended {
		now := m.Delivery
		if m.stored {
			row, err := tx.LockDelivery(ctx, m.ID)
			if err != nil && cms.CodeOf(err) != cms.CodeNotFound {
				return nil, err
			}
			if err == nil {
				now = row
			}
		}
		rows[i] = now.AfterAttempt(m.Delivery, m.attempt, m.postponed)
		if m.lost {
			rows[i].Status, rows[i].NextAttemptAt, rows[i].Extra, rows[i].Then = cms.DeliveryFailed, nil, false, nil
		}
	}
	return rows, nil
}

// stored takes the result of a save.
func (w *worker) stored(s saved) {
	w.saving = false
	if s.err != nil {
		for _, m := range s.ended {
			m.stage = answered
		}
		w.ended = append(s.ended, w.ended...)
		w.paused = time.Now().Add(workerPause)
		w.failed(s.err)
		return
	}
	for _, m := range s.ended {
		m.stage = done
		if m.stream == nil {
			delete(w.retries, m.ID)
		}
	}
	for _, m := range s.pending {
		m.stored = true
	}
	for stream, position := range s.moved {
		stream.position = position
		stream.window = slices.DeleteFunc(stream.window, func(m *message) bool { return m.event.Position <= position })
		if stream.replay == nil {
			w.generation = cms.NoID
		}
	}
	if len(s.over) > 0 {
		w.streams = slices.DeleteFunc(w.streams, func(x *stream) bool { return slices.Contains(s.over, x) })
		w.known = -1 // there may be another replay
	}
	if len(s.ended) > 0 {
		w.due.Store(0) // some have another attempt
	}
	if took := time.Since(w.since); took > windowTime {
		w.window = min(max(w.sent, minWindow), maxWindow)
		w.sent, w.since = 0, time.Now()
	}
}
