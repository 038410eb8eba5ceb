package service

import (
	"context"

	"galley/internal/cms"
)

// Delivery reads a delivery of a webhook that the caller may manage.
func (s *Service) Delivery(ctx context.Context, who Caller, id cms.ID) (cms.Delivery, error) {
	return view(ctx, s, func(r cms.Reader) (cms.Delivery, error) {
		d, err := r.Delivery(ctx, id)
		if err == nil {
			_, err = who.webhookOf(ctx, r, d)
		}
		return d, err
	})
}

// webhookOf checks the right to a delivery. Those of a deleted webhook are gone with it.
func (c Caller) webhookOf(ctx context.Context, r cms.Reader, d cms.Delivery) (cms.Webhook, error) {
	w, err := r.Webhook(ctx, d.WebhookID)
	if err == nil && w.DeletedAt != nil {
		err = cms.NotFound(cms.KindDelivery)
	}
	if err == nil {
		err = c.reachesWebhook(w)
	}
	return w, err
}

// Deliveries lists the deliveries of a webhook, newest first.
func (s *Service) Deliveries(ctx context.Context, who Caller, q cms.DeliveryQuery) (cms.List[cms.Delivery], error) {
	return view(ctx, s, func(r cms.Reader) (list cms.List[cms.Delivery], err error) {
		if _, err := who.webhook(r.Webhook(ctx, q.WebhookID)); err != nil {
			return list, err
		}
		err = checkCursor(q.ListQuery, func() error {
			cursor, err := r.Delivery(ctx, q.After)
			if err == nil && cursor.WebhookID != q.WebhookID {
				err = cms.ErrCursor
			}
			return err
		})
		if err != nil {
			return list, err
		}
		deliveries, err := r.Deliveries(ctx, q)
		return cms.CutList(deliveries, q.Limit), err
	})
}

var errDisabled = cms.Conflict("The webhook is disabled")

// Redeliver makes one more attempt of a delivery due.
func (s *Service) Redeliver(ctx context.Context, who Caller, id cms.ID, body Empty) (cms.Delivery, error) {
	return s.actOnWebhook(ctx, who, func(tx cms.Tx) (w cms.Webhook, d cms.Delivery, err error) {
		if d, err = tx.Delivery(ctx, id); err != nil {
			return w, d, err
		}
		if w, err = who.webhookOf(ctx, tx, d); err != nil {
			return w, d, err
		}
		if w, err = s.lockWebhook(ctx, tx, who, w.ID); err != nil {
			return w, d, err
		}
		if d, err = tx.LockDelivery(ctx, id); err != nil {
			return w, d, err
		}
		if err := body.check(); err != nil {
			return w, d, err
		}
		if d.EventType != cms.EventTest {
			if !w.IsEnabled {
				return w, d, errDisabled
			}
			if _, err := tx.Event(ctx, w.WorkspaceID, d.EventID); err != nil {
				if cms.CodeOf(err) == cms.CodeNotFound {
					err = cms.Conflict("The event is no longer kept")
				}
				return w, d, err
			}
		}
		if d.Status != cms.DeliveryPending || d.NextAttemptAt != nil { // otherwise the first attempt is under way
			d = d.Redelivered(s.now())
		}
		return w, d, nil
	})
}

// TestWebhook sends a message that is no event to a webhook, once, also if it is
// disabled.
func (s *Service) TestWebhook(ctx context.Context, who Caller, id cms.ID, body Empty) (cms.Delivery, error) {
	return s.actOnWebhook(ctx, who, func(tx cms.Tx) (w cms.Webhook, d cms.Delivery, err error) {
		if w, err = s.lockWebhook(ctx, tx, who, id); err == nil {
			err = body.check()
		}
		return w, cms.Delivery{
			ID: cms.NewID(), WebhookID: id, EventID: cms.NewID(), EventType: cms.EventTest, Status: cms.DeliveryPending, NextAttemptAt: new(s.now()),
		}, err
	})
}

// actOnWebhook stores a delivery that is due, and wakes the node that serves its
// webhook. It is recorded, but it changes no resource and is no event.
func (s *Service) actOnWebhook(ctx context.Context, who Caller, act func(cms.Tx) (cms.Webhook, cms.Delivery, error)) (cms.Delivery, error) {
	return inTx(ctx, s, who, func(tx cms.Tx) (cms.Delivery, []written, error) {
		w, d, err := act(tx)
		if err != nil {
			return d, nil, err
		}
		if err := tx.SaveDeliveries(ctx, d); err != nil {
			return d, nil, err
		}
		w.Revision++
		return d, []written{{kind: cms.KindWebhook, id: w.ID}}, tx.UpdateWebhook(ctx, w)
	})
}

// maxReplays is how many replays of a webhook can be unfinished.
const maxReplays = 10

// ReplayWebhook sends the events since a time again, and returns how many those are.
func (s *Service) ReplayWebhook(ctx context.Context, who Caller, id cms.ID, in Input[cms.Replay]) (int, error) {
	if _, open := ctx.Value(openTxKey{}).(*openTx); !open { // which may have no second connection
		if err := s.NumberEvents(ctx); err != nil {
			return 0, err
		}
	}
	return inTx(ctx, s, who, func(tx cms.Tx) (int, []written, error) {
		w, err := s.lockWebhook(ctx, tx, who, id)
		if err != nil {
			return 0, nil, err
		}
		ask, err := in()
		if err != nil {
			return 0, nil, err
		}
		running, err := tx.Replays(ctx, id)
		switch {
		case err != nil:
			return 0, nil, err
		case !w.IsEnabled:
			return 0, nil, errDisabled
		case len(running) >= maxReplays:
			return 0, nil, cms.Conflict("Ten replays of the webhook are under way")
		}
		replay := cms.WebhookReplay{WebhookID: id, ID: cms.NewID(), Since: ask.Since.Value}
		if oldest := s.oldestEvent(); replay.Since.Before(oldest) {
			replay.Since = oldest
		}
		if replay.Until, err = tx.LastPosition(ctx, w.WorkspaceID); err != nil {
			return 0, nil, err
		}
		q := queryOf(w)
		q.Since = &replay.Since
		count, err := tx.CountEvents(ctx, q, replay.Until)
		if err == nil && count > 0 {
			err = tx.SaveReplay(ctx, replay)
		}
		if err != nil {
			return 0, nil, err
		}
		w.Revision++
		return count, []written{{kind: cms.KindWebhook, id: w.ID}}, tx.UpdateWebhook(ctx, w)
	})
}

// queryOf asks for the events that a webhook gets.
func queryOf(w cms.Webhook) cms.EventQuery {
	return cms.EventQuery{WorkspaceID: w.WorkspaceID, Types: w.Types, Sites: w.SiteIDs}
}

// PurgeDeliveries removes for good the deliveries that are older than events are kept.
func (s *Service) PurgeDeliveries(ctx context.Context) error {
	if s.EventRetention == 0 {
		return nil
	}
	before := s.oldestEvent()
	return s.inChunks(ctx, func(tx cms.Tx, limit int) (int, error) { return tx.PurgeDeliveries(ctx, before, limit) })
}
