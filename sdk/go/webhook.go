package galley

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Webhook sends events to a URL.
type Webhook struct {
	ID             string    `json:"id"`
	WorkspaceID    string    `json:"workspaceId"`
	URL            string    `json:"url"`
	Types          []string  `json:"types"`   // nil: all
	SiteIDs        []string  `json:"siteIds"` // nil: all
	Description    *string   `json:"description"`
	IsEnabled      bool      `json:"isEnabled"`
	DisabledReason *string   `json:"disabledReason"`
	CreatedAt      time.Time `json:"createdAt"`
	UpdatedAt      time.Time `json:"updatedAt"`
}

// WebhookWithSecret is a webhook with its new secret, which is shown only once.
type WebhookWithSecret struct {
	Webhook
	Secret string `json:"secret"`
}

// WebhookCreate describes a new webhook.
type WebhookCreate struct {
	URL         string        `json:"url"`
	Types       Opt[[]string] `json:"types,omitzero"`
	SiteIDs     Opt[[]string] `json:"siteIds,omitzero"`
	Description Opt[string]   `json:"description,omitzero"`
	IsEnabled   Opt[bool]     `json:"isEnabled,omitzero"`
}

// WebhookPatch changes a webhook.
type WebhookPatch struct {
	URL         Opt[string]   `json:"url,omitzero"`
	Types       Opt[[]string] `json:"types,omitzero"`
	SiteIDs     Opt[[]string] `json:"siteIds,omitzero"`
	Description Opt[string]   `json:"description,omitzero"`
	IsEnabled   Opt[bool]     `json:"isEnabled,omitzero"`
}

// SecretRotate says how long the old secret signs, too.
type SecretRotate struct {
	GraceSeconds Opt[int] `json:"graceSeconds,omitzero"` // absent: a day
}

// ReplayCreate says from when on events are sent again.
type ReplayCreate struct {
	Since time.Time `json:"since"`
}

// Replay counts the events that are sent again.
type Replay struct {
	Count int `json:"count"`
}

// Delivery is an event on its way to a webhook.
type Delivery struct {
	ID            string     `json:"id"`
	WebhookID     string     `json:"webhookId"`
	EventID       string     `json:"eventId"`
	EventType     string     `json:"eventType"`
	Status        string     `json:"status"` // pending, delivered or failed
	Attempts      []Attempt  `json:"attempts"`
	NextAttemptAt *time.Time `json:"nextAttemptAt"`
}

// Attempt is a request that was made.
type Attempt struct {
	At         time.Time `json:"at"`
	Status     *int      `json:"status"`
	DurationMs int       `json:"durationMs"`
	Error      *string   `json:"error"`
	Response   *string   `json:"response"`
}

// WebhookQuery selects webhooks.
type WebhookQuery struct{ ListOptions }

// DeliveryQuery selects deliveries of a webhook.
type DeliveryQuery struct {
	ListOptions
	Status string `query:"status"`
}

// Webhooks are the webhooks of the workspace.
type Webhooks struct{ c *Client }

// List returns one page of webhooks.
func (s *Webhooks) List(ctx context.Context, query WebhookQuery, options ...RequestOption) (List[Webhook], error) {
	return get[List[Webhook]](ctx, s.c, "/v2/webhooks", query, options)
}

// All walks through the whole list.
func (s *Webhooks) All(ctx context.Context, query WebhookQuery, options ...RequestOption) iter.Seq2[Webhook, error] {
	return walk(query.ListOptions, func(x Webhook) string { return x.ID }, func(page ListOptions) (List[Webhook], error) {
		query.ListOptions = page
		return s.List(ctx, query, options...)
	})
}

// Create creates a webhook.
func (s *Webhooks) Create(ctx context.Context, body WebhookCreate, options ...RequestOption) (WebhookWithSecret, error) {
	return post[WebhookWithSecret](ctx, s.c, "/v2/webhooks", body, options)
}

// Get returns a webhook.
func (s *Webhooks) Get(ctx context.Context, id string, options ...RequestOption) (Webhook, error) {
	return get[Webhook](ctx, s.c, path("v2", "webhooks", id), nil, options)
}

// Update changes a webhook.
func (s *Webhooks) Update(ctx context.Context, id string, body WebhookPatch, options ...RequestOption) (Webhook, error) {
	return send[Webhook](ctx, s.c, http.MethodPatch, path("v2", "webhooks", id), nil, body, options)
}

// Delete deletes a webhook.
func (s *Webhooks) Delete(ctx context.Context, id string, options ...RequestOption) error {
	return s.c.remove(ctx, path("v2", "webhooks", id), nil, options)
}

// RotateSecret replaces the secret of a webhook.
func (s *Webhooks) RotateSecret(ctx context.Context, id string, body SecretRotate, options ...RequestOption) (WebhookWithSecret, error) {
	return post[WebhookWithSecret](ctx, s.c, path("v2", "webhooks", id, "rotate-secret"), body, options)
}

// Test sends a test event.
func (s *Webhooks) Test(ctx context.Context, id string, options ...RequestOption) (Delivery, error) {
	return post[Delivery](ctx, s.c, path("v2", "webhooks", id, "test"), nil, options)
}

// Replay sends the events of a time and later again.
func (s *Webhooks) Replay(ctx context.Context, id string, body ReplayCreate, options ...RequestOption) (Replay, error) {
	return post[Replay](ctx, s.c, path("v2", "webhooks", id, "replay"), body, options)
}

// Deliveries returns one page of the deliveries of a webhook, newest first.
func (s *Webhooks) Deliveries(ctx context.Context, id string, query DeliveryQuery, options ...RequestOption) (List[Delivery], error) {
	return get[List[Delivery]](ctx, s.c, path("v2", "webhooks", id, "deliveries"), query, options)
}

// Delivery returns a delivery.
func (s *Webhooks) Delivery(ctx context.Context, id string, options ...RequestOption) (Delivery, error) {
	return get[Delivery](ctx, s.c, path("v2", "deliveries", id), nil, options)
}

// Redeliver makes one more attempt of a delivery.
func (s *Webhooks) Redeliver(ctx context.Context, id string, options ...RequestOption) (Delivery, error) {
	return post[Delivery](ctx, s.c, path("v2", "deliveries", id, "redeliver"), nil, options)
}

// ErrSignature is the error for a request that was not signed with the secret of the
// webhook, or not recently.
var ErrSignature = errors.New("galley: the signature of the webhook is not valid")

// tolerance is how old a request may be.
const tolerance = 5 * time.Minute

// VerifyWebhook checks that a request with these headers and this body was signed with the
// secret of a webhook, by the Standard Webhooks specification, within five minutes.
func VerifyWebhook(secret string, header http.Header, body []byte) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return errors.New("galley: the secret of the webhook has another form")
	}
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return ErrSignature
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	want := mac.Sum(nil)
	for signature := range strings.FieldsSeq(header.Get("webhook-signature")) {
		text, ok := strings.CutPrefix(signature, "v1,")
		got, err := base64.StdEncoding.DecodeString(text)
		if ok && err == nil && hmac.Equal(got, want) {
			return nil
		}
	}
	return ErrSignature
}
