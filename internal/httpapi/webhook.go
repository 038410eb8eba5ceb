package httpapi

import (
	"net/http"
	"time"

	"galley/internal/cms"
)

// Webhook sends events to a URL.
type Webhook struct {
	Object         string          `json:"object" enum:"webhook" doc:"Always webhook."`
	ID             cms.ID          `json:"id" doc:"Identifier of the webhook."`
	WorkspaceID    cms.ID          `json:"workspaceId" doc:"The workspace whose events are sent."`
	URL            string          `json:"url" doc:"Where events are sent." example:"https://www.example.com/hooks/galley"`
	Types          []cms.EventType `json:"types" nullable:"true" doc:"The only types of events that are sent; null means all."`
	SiteIDs        []cms.ID        `json:"siteIds" nullable:"true" doc:"The only sites whose events are sent; null means all, and events that belong to no site."`
	Description    *string         `json:"description" doc:"What the webhook is for." example:"Purges the CDN"`
	IsEnabled      bool            `json:"isEnabled" doc:"Whether events are sent."`
	DisabledReason *string         `json:"disabledReason" doc:"Why the service has disabled the webhook; null if it has not." example:"The receiver answered 410 Gone"`
	CreatedAt      timestamp       `json:"createdAt" doc:"Creation time."`
	UpdatedAt      timestamp       `json:"updatedAt" doc:"When the webhook was last changed."`
}

// WebhookWithSecret is a webhook and its secret, in the only response that has it.
type WebhookWithSecret struct {
	Webhook
	Secret string `json:"secret" doc:"The secret that signs what is sent. It is not shown again." example:"whsec_…"`
}

func newWebhook(w cms.Webhook) Webhook {
	return Webhook{
		Object: "webhook", ID: w.ID, WorkspaceID: w.WorkspaceID, URL: w.URL, Types: w.Types, SiteIDs: w.SiteIDs, Description: w.Description,
		IsEnabled: w.IsEnabled, DisabledReason: w.DisabledReason, CreatedAt: newTimestamp(w.CreatedAt), UpdatedAt: newTimestamp(w.UpdatedAt),
	}
}

// WebhookCreate is the body that creates a webhook.
type WebhookCreate struct {
	URL cms.Opt[string] `json:"url" required:"true" maxLength:"2048" doc:"An http or https URL without user info or fragment, in at most 2,048 bytes." example:"https://www.example.com/hooks/galley"`
	webhookFields
}

// WebhookPatch is the body that changes a webhook.
type WebhookPatch struct {
	URL cms.Opt[string] `json:"url" maxLength:"2048" doc:"An http or https URL without user info or fragment, in at most 2,048 bytes. A new one fails what is pending." example:"https://www.example.com/hooks/galley"`
	webhookFields
}

type webhookFields struct {
	Types       cms.Opt[[]cms.EventType] `json:"types" nullable:"true" minItems:"1" doc:"The only types of events to send; null means all."`
	SiteIDs     cms.Opt[[]cms.ID]        `json:"siteIds" nullable:"true" minItems:"1" maxItems:"1000" doc:"The only sites whose events to send; null means all, and events that belong to no site. An app restricted to sites has to name some of them."`
	Description cms.Opt[*string]         `json:"description" maxLength:"2048" doc:"What the webhook is for, in at most 2,048 bytes." example:"Purges the CDN"`
	IsEnabled   cms.Opt[bool]            `json:"isEnabled" default:"true" doc:"Whether to send events. Disabling fails what is pending; enabling sends what comes then."`
}

func (f webhookFields) patch(url cms.Opt[string]) cms.WebhookPatch {
	return cms.WebhookPatch{URL: url, Types: f.Types, SiteIDs: f.SiteIDs, Description: f.Description, IsEnabled: f.IsEnabled}
}

func (b WebhookCreate) domain(p *cms.Problems) cms.WebhookPatch {
	c := b.patch(b.URL)
	c.CleanNew(p)
	return c
}

func (b WebhookPatch) domain(p *cms.Problems) cms.WebhookPatch { return clean(p, b.patch(b.URL)) }

// SecretRotate is the body that rotates the secret of a webhook.
type SecretRotate struct {
	GraceSeconds cms.Opt[int] `json:"graceSeconds" default:"86400" minimum:"0" maximum:"2592000" doc:"How long the old secret signs, too." example:"3600"`
}

func (b SecretRotate) domain(p *cms.Problems) cms.RotateSecret { return clean(p, cms.RotateSecret(b)) }

// ReplayCreate is the body that sends past events again.
type ReplayCreate struct {
	Since cms.Opt[time.Time] `json:"since" required:"true" doc:"Sends the events of this time and later that the webhook asks for and that are still kept." example:"2030-01-31T12:00:00.000Z"`
}

func (b ReplayCreate) domain(p *cms.Problems) cms.Replay { return clean(p, cms.Replay(b)) }

// Replay is what is sent again.
type Replay struct {
	Object string `json:"object" enum:"replay" doc:"Always replay."`
	Count  int    `json:"count" doc:"How many events are sent."`
}

func webhookLocation(w cms.Webhook) string { return "/v2/webhooks/" + w.ID.String() }

func (a *API) listWebhooks(r *request) (response, error) {
	list, err := a.svc.Webhooks(r.Context(), r.who, r.query.list)
	return ok(newList(list, newWebhook)), err
}

func (a *API) createWebhook(r *request) (response, error) {
	w, secret, err := a.svc.CreateWebhook(r.Context(), r.who, input(r, WebhookCreate.domain))
	res := created(webhookLocation(w), WebhookWithSecret{newWebhook(w), secret})
	res.secret = true
	return res, err
}

func (a *API) getWebhook(r *request) (response, error) {
	w, err := a.svc.Webhook(r.Context(), r.who, r.pathID)
	return ok(newWebhook(w)), err
}

func (a *API) updateWebhook(r *request) (response, error) {
	w, err := a.svc.UpdateWebhook(r.Context(), r.who, r.pathID, input(r, WebhookPatch.domain), ifMatch(r, newWebhook))
	return ok(newWebhook(w)), err
}

func (a *API) deleteWebhook(r *request) (response, error) {
	return noContent(), a.svc.DeleteWebhook(r.Context(), r.who, r.pathID, ifMatch(r, newWebhook))
}

func (a *API) rotateWebhookSecret(r *request) (response, error) {
	w, secret, err := a.svc.RotateSecret(r.Context(), r.who, r.pathID, input(r, SecretRotate.domain))
	return response{status: http.StatusOK, body: WebhookWithSecret{newWebhook(w), secret}, secret: true}, err
}

func (a *API) testWebhook(r *request) (response, error) {
	d, err := a.svc.TestWebhook(r.Context(), r.who, r.pathID, noFields(r))
	return accepted(newDelivery(d)), err
}

func (a *API) replayWebhook(r *request) (response, error) {
	count, err := a.svc.ReplayWebhook(r.Context(), r.who, r.pathID, input(r, ReplayCreate.domain))
	return accepted(Replay{"replay", count}), err
}

func accepted(body any) response { return response{status: http.StatusAccepted, body: body} }
