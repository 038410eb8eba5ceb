package galley_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	galley "galley/sdk/go"
)

func TestEventsAreFollowed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := start(t).client(t)
	site := must[galley.Site](t)(c.Sites.Create(ctx, galley.SiteCreate{Name: "Shop"}))
	first := must[galley.List[galley.Event]](t)(c.Events.List(ctx, galley.EventQuery{SiteID: site.ID}))
	if len(first.Data) != 1 || first.Data[0].Type != "site.created" {
		t.Fatalf("events: %+v", first.Data)
	}
	query := galley.EventQuery{SiteID: site.ID, Types: []string{"page.created", "page.updated"}}
	query.StartingAfter = first.Data[0].ID
	page := must[galley.Page](t)(c.Pages.Create(ctx, galley.PageCreate{SiteID: site.ID, Pathname: "/a"}))
	met := 0
	for event, err := range c.Events.Stream(ctx, query) {
		if err != nil {
			t.Fatal(err)
		}
		var shown galley.Page
		if err := json.Unmarshal(event.Data, &shown); err != nil || shown.ID != page.ID {
			t.Errorf("%s: %s", event.Type, event.Data)
		}
		if met++; met == 2 {
			break
		}
		must[galley.Page](t)(c.Pages.Update(ctx, page.ID, galley.PageRef{}, galley.PagePatch{Title: galley.Value("A")}))
	}
	for _, err := range c.Events.Stream(ctx, galley.EventQuery{Types: []string{"nothing.happened"}}) {
		var refused *galley.Error
		if !errors.As(err, &refused) || refused.Code != galley.CodeBadRequest {
			t.Errorf("an unknown type: %v", err)
		}
	}
}

func TestWebhooksAreVerified(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := start(t, "--webhook-allow-networks", "127.0.0.0/8").client(t)
	type message struct {
		header http.Header
		body   []byte
	}
	messages := make(chan message, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		messages <- message{r.Header, body}
	}))
	defer receiver.Close()
	webhook := must[galley.WebhookWithSecret](t)(c.Webhooks.Create(ctx, galley.WebhookCreate{URL: receiver.URL}))
	must[galley.Delivery](t)(c.Webhooks.Test(ctx, webhook.ID))
	select {
	case got := <-messages:
		if err := galley.VerifyWebhook(webhook.Secret, got.header, got.body); err != nil {
			t.Error(err)
		}
		if err := galley.VerifyWebhook(webhook.Secret, got.header, append(got.body, ' ')); !errors.Is(err, galley.ErrSignature) {
			t.Errorf("another body: %v", err)
		}
		old := got.header.Clone()
		old.Set("webhook-timestamp", "1000000000")
		if err := galley.VerifyWebhook(webhook.Secret, old, got.body); !errors.Is(err, galley.ErrSignature) {
			t.Errorf("an old request: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing was received")
	}
}
