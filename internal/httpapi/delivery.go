package httpapi

import "galley/internal/cms"

// Delivery is an event on its way to a webhook.
type Delivery struct {
	Object        string             `json:"object" enum:"delivery" doc:"Always delivery."`
	ID            cms.ID             `json:"id" doc:"Identifier of the delivery."`
	WebhookID     cms.ID             `json:"webhookId" doc:"The webhook that the event is sent to."`
	EventID       cms.ID             `json:"eventId" doc:"The event: the header webhook-id of every attempt."`
	EventType     string             `json:"eventType" doc:"The type of the event, or webhook.test." example:"page.updated"`
	Status        cms.DeliveryStatus `json:"status" doc:"Whether the receiver has the event."`
	Attempts      []Attempt          `json:"attempts" doc:"The requests that were made, the oldest first."`
	NextAttemptAt *timestamp         `json:"nextAttemptAt" doc:"When the next request is made; null if none is planned, or one is being made."`
}

// Attempt is a request that was made.
type Attempt struct {
	At         timestamp `json:"at" doc:"When it was made."`
	Status     *int      `json:"status" doc:"The status of the response; null if there was none." example:"200"`
	DurationMs int       `json:"durationMs" doc:"How long it took, in milliseconds." example:"48"`
	Error      *string   `json:"error" doc:"Why there was no response; null if there was one." example:"the receiver did not answer in time"`
	Response   *string   `json:"response" doc:"The first KiB of the response's body; null if there was no response." example:"ok"`
}

func newDelivery(d cms.Delivery) Delivery {
	wire := Delivery{
		Object: "delivery", ID: d.ID, WebhookID: d.WebhookID, EventID: d.EventID, EventType: string(d.EventType), Status: d.Status,
		Attempts: make([]Attempt, len(d.Attempts)), NextAttemptAt: newNullTimestamp(d.NextAttemptAt),
	}
	for i, a := range d.Attempts {
		wire.Attempts[i] = Attempt{At: newTimestamp(a.At), DurationMs: int(a.Took.Milliseconds()), Error: nullText(a.Error)}
		if a.Status != 0 {
			wire.Attempts[i].Status, wire.Attempts[i].Response = &a.Status, &a.Response
		}
	}
	return wire
}

func (a *API) listDeliveries(r *request) (response, error) {
	list, err := a.svc.Deliveries(r.Context(), r.who, cms.DeliveryQuery{ListQuery: r.query.list, WebhookID: r.pathID, Status: r.query.delivery})
	return ok(newList(list, newDelivery)), err
}

func (a *API) getDelivery(r *request) (response, error) {
	d, err := a.svc.Delivery(r.Context(), r.who, r.pathID)
	return ok(newDelivery(d)), err
}

func (a *API) redeliver(r *request) (response, error) {
	d, err := a.svc.Redeliver(r.Context(), r.who, r.pathID, noFields(r))
	return accepted(newDelivery(d)), err
}
