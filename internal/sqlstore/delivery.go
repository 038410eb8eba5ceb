package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"galley/internal/cms"
)

const deliveryColumns = `id, webhook_id, event_id, event_type, status, attempts, tries, next_attempt_at, extra, then_at`

// storedAttempt is an attempt in JSON. Times are in milliseconds.
type storedAttempt struct {
	At       int64  `json:"a"`
	Took     int64  `json:"d"`
	Status   int    `json:"s,omitempty"`
	Error    string `json:"e,omitempty"`
	Response string `json:"r,omitempty"`
}

func scanDelivery(r row) (d cms.Delivery, err error) {
	var status int
	var attempts []byte
	err = r.Scan(&d.ID, &d.WebhookID, &d.EventID, &d.EventType, &status, &attempts, &d.Tries, scanNullTime(&d.NextAttemptAt), &d.Extra, scanNullTime(&d.Then))
	if err != nil {
		return d, err
	}
	d.Status = cms.DeliveryStatuses[status]
	var stored []storedAttempt
	if err := json.Unmarshal(attempts, &stored); err != nil {
		return d, fmt.Errorf("delivery %s: %w", d.ID, err)
	}
	for _, a := range stored {
		d.Attempts = append(d.Attempts, cms.Attempt{
			At: time.UnixMilli(a.At).UTC(), Took: time.Duration(a.Took) * time.Millisecond, Status: a.Status, Error: a.Error, Response: a.Response,
		})
	}
	return d, nil
}

func statusNumber(s cms.DeliveryStatus) int { return slices.Index(cms.DeliveryStatuses, s) }

func (q queries) Delivery(ctx context.Context, id cms.ID) (cms.Delivery, error) {
	return q.delivery(ctx, "", id)
}

func (q queries) LockDelivery(ctx context.Context, id cms.ID) (cms.Delivery, error) {
	return q.delivery(ctx, q.dialect.lockUpdate, id)
}

func (q queries) delivery(ctx context.Context, lock string, id cms.ID) (cms.Delivery, error) {
	return one(ctx, q, cms.KindDelivery, scanDelivery, `select `+deliveryColumns+` from delivery where id = ?`+lock, id)
}

func (q queries) DeliveriesByID(ctx context.Context, ids []cms.ID) (map[cms.ID]cms.Delivery, error) {
	found := map[cms.ID]cms.Delivery{}
	for chunk := range slices.Chunk(ids, idChunk) {
		condition, args := q.dialect.among("id", anys(chunk))
		deliveries, err := all(ctx, q, scanDelivery, `select `+deliveryColumns+` from delivery where `+condition, args...)
		if err != nil {
			return nil, err
		}
		for _, d := range deliveries {
			found[d.ID] = d
		}
	}
	return found, nil
}

// Deliveries reads the newest of each status that is asked for, and keeps the newest
// of all.
func (q queries) Deliveries(ctx context.Context, ask cms.DeliveryQuery) ([]cms.Delivery, error) {
	statuses, older := cms.DeliveryStatuses, ""
	if ask.Status != "" {
		statuses = []cms.DeliveryStatus{ask.Status}
	}
	if ask.After != cms.NoID {
		older = ` and id < ?`
	}
	var newest []cms.Delivery
	for _, status := range statuses {
		args := []any{ask.WebhookID, statusNumber(status), ask.After}[:2+strings.Count(older, "?")]
		deliveries, err := all(ctx, q, scanDelivery, `select `+deliveryColumns+` from delivery
			where webhook_id = ? and status = ?`+older+` order by id desc`+atMost(ask.Limit+1), args...)
		if err != nil {
			return nil, err
		}
		newest = append(newest, deliveries...)
	}
	slices.SortFunc(newest, func(a, b cms.Delivery) int { return cms.CompareIDs(b.ID, a.ID) })
	return newest[:min(len(newest), ask.Limit+1)], nil
}

func (q queries) NextDeliveries(ctx context.Context, webhookID cms.ID, limit int) ([]cms.Delivery, error) {
	return all(ctx, q, scanDelivery, `select `+deliveryColumns+` from delivery
		where webhook_id = ? and next_attempt_at is not null order by next_attempt_at`+atMost(limit), webhookID)
}

func (q queries) SaveDeliveries(ctx context.Context, deliveries ...cms.Delivery) error {
	args := make([]any, 0, 10*len(deliveries))
	for _, d := range deliveries {
		stored := make([]storedAttempt, len(d.Attempts))
		for i, a := range d.Attempts {
			stored[i] = storedAttempt{a.At.UnixMilli(), a.Took.Milliseconds(), a.Status, a.Error, a.Response}
		}
		attempts, err := json.Marshal(stored)
		if err != nil {
			return err
		}
		args = append(args, d.ID, d.WebhookID, d.EventID, d.EventType, statusNumber(d.Status), attempts, d.Tries, d.NextAttemptAt, d.Extra, d.Then)
	}
	_, err := q.insert(ctx, false, `delivery (`+deliveryColumns+`)`, 10, args, ` on conflict (id) do update set status = excluded.status,
		attempts = excluded.attempts, tries = excluded.tries, next_attempt_at = excluded.next_attempt_at, extra = excluded.extra, then_at = excluded.then_at`)
	return err
}

func (q queries) FailDeliveries(ctx context.Context, webhookID cms.ID) error {
	err := q.run(ctx, `update delivery set status = 2, next_attempt_at = null, extra = ?, then_at = null
		where webhook_id = ? and status = 0 and event_type <> ?`, false, webhookID, cms.EventTest)
	if err != nil {
		return err
	}
	return q.run(ctx, `delete from webhook_replay where webhook_id = ?`, webhookID)
}

func (q queries) PurgeDeliveries(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := q.exec(ctx, `delete from delivery where id in (select id from delivery where id < ? order by id limit ?)`, cms.AuditBefore(before), limit)
	return int(n), err
}
