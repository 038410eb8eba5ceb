package cms

import (
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"time"
)

// DeliveryStatus is the state of a delivery.
type DeliveryStatus string

// The states of a delivery.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed"
)

// DeliveryStatuses are all states.
var DeliveryStatuses = []DeliveryStatus{DeliveryPending, DeliveryDelivered, DeliveryFailed}

// EventTest is the type of the message that tests a webhook. It is in no log.
const EventTest EventType = "webhook.test"

// MaxAttempts is how many attempts of a delivery are stored, those that were asked for
// included.
const MaxAttempts = 100

// Delivery is an event on its way to the receiver of a webhook.
type Delivery struct {
	ID            ID
	WebhookID     ID
	EventID       ID
	EventType     EventType
	Status        DeliveryStatus
	Attempts      []Attempt // oldest first
	Tries         int       // how many of the attempts were those of the schedule
	NextAttemptAt *time.Time

	// Extra is set while an attempt outside of the schedule is due, and Then is when
	// the schedule goes on after it; nil: it does not.
	Extra bool
	Then  *time.Time
}

// Attempt is one request of a delivery.
type Attempt struct {
	At       time.Time
	Took     time.Duration
	Status   int    // 0: there was no response
	Error    string // why there was none
	Response string // its beginning
}

// OK reports whether the receiver took the message.
func (a Attempt) OK() bool { return a.Status >= 200 && a.Status < 300 }

// DeliveryID is the id of the delivery of an event to a webhook that is made without
// being asked for. It is the same on every node and after every restart.
func DeliveryID(webhookID, eventID ID) ID {
	id := eventID // its time, so that ids are in the order of events
	sum := sha256.Sum256(slices.Concat(webhookID[:], eventID[:]))
	copy(id[8:], sum[:8])
	id[8] = id[8]&0x3f | 0x80
	return id
}

// ReplayedID is DeliveryID for an event that a replay sends. The ids of a replay are in
// the order of positions.
func ReplayedID(replayID, eventID ID, position int64) ID {
	id := DeliveryID(replayID, eventID)
	copy(id[:8], replayID[:8])
	id[8], id[9], id[10], id[11] = 0x80|byte(position>>24)&0x3f, byte(position>>16), byte(position>>8), byte(position)
	return id
}

// retryDelays are the times between an attempt of the schedule and the next.
var retryDelays = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// retryJitter is the largest share that is added to a delay. The rest of the tenth that
// is allowed is for attempts that begin late.
const retryJitter = 0.05

// Attempted returns the delivery after one more attempt. postponed is for how long the
// receiver asks not to be sent anything.
func (d Delivery) Attempted(a Attempt, postponed time.Duration) Delivery {
	d.Attempts = append(slices.Clip(d.Attempts), a)
	if n := len(d.Attempts) - MaxAttempts; n > 0 {
		d.Attempts = d.Attempts[n:]
	}
	extra, then := d.Extra, d.Then
	d.Extra, d.Then, d.NextAttemptAt, d.Status = false, nil, nil, DeliveryFailed
	if !extra {
		d.Tries++
	}
	switch {
	case a.OK():
		d.Status = DeliveryDelivered
	case extra && then != nil:
		d.Status, d.NextAttemptAt = DeliveryPending, then
	case !extra && d.EventType != EventTest && d.Tries <= len(retryDelays):
		delay := retryDelays[d.Tries-1]
		delay = max(delay+time.Duration(rand.Float64()*retryJitter*float64(delay)), postponed)
		d.Status, d.NextAttemptAt = DeliveryPending, new(a.At.Add(a.Took+delay).Truncate(time.Millisecond))
	}
	return d
}

// AfterAttempt is Attempted for an attempt that was made of an earlier state of the
// delivery: one more attempt may have been asked for since.
func (d Delivery) AfterAttempt(sent Delivery, a Attempt, postponed time.Duration) Delivery {
	if !d.Extra || sent.Extra {
		d.Extra = sent.Extra
		return d.Attempted(a, postponed)
	}
	extra := d.NextAttemptAt
	d.Extra, d.Then = false, nil
	d = d.Attempted(a, postponed)
	d.Extra, d.Then, d.NextAttemptAt, d.Status = true, d.NextAttemptAt, extra, DeliveryPending
	return d
}

// Redelivered returns the delivery with one more attempt due.
func (d Delivery) Redelivered(now time.Time) Delivery {
	if !d.Extra {
		d.Then = d.NextAttemptAt
	}
	d.Extra, d.Status, d.NextAttemptAt = true, DeliveryPending, &now
	return d
}

// MaxFailing is how long a webhook may do nothing but fail before it is disabled.
const MaxFailing = 5 * 24 * time.Hour

// Judge returns the webhook after an attempt: one that the receiver has gone from, or
// that has failed for too long, is disabled.
func (w Webhook) Judge(a Attempt) Webhook {
	end := a.At.Add(a.Took)
	switch {
	case a.OK():
		w.FailingSince = nil
		return w
	case w.FailingSince == nil:
		w.FailingSince = &end
	}
	var reason string
	switch {
	case a.Status == 410:
		reason = "The receiver answered 410 Gone"
	case end.Sub(*w.FailingSince) >= MaxFailing:
		reason = "Every attempt of five days has failed"
	default:
		return w
	}
	if w.IsEnabled {
		w.IsEnabled, w.DisabledReason, w.UpdatedAt = false, &reason, end.Truncate(time.Millisecond)
	}
	return w
}

// DeliveryQuery asks for one page of the deliveries of a webhook, newest first.
type DeliveryQuery struct {
	ListQuery
	WebhookID ID
	Status    DeliveryStatus // "": all
}
