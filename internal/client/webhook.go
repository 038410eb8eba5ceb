package client

import galley "galley/sdk/go"

var (
	webhookColumns  = []string{"id", "url", "enabled=isEnabled", "types", "description"}
	deliveryColumns = []string{"id", "event=eventType", "status", "next=nextAttemptAt"}
)

type webhooksCommand struct {
	List         webhooksListCommand         `cmd:"" help:"List the webhooks."`
	Get          webhooksGetCommand          `cmd:"" help:"Show a webhook."`
	Create       webhooksCreateCommand       `cmd:"" help:"Create a webhook and print its secret."`
	Update       webhooksUpdateCommand       `cmd:"" help:"Change, enable or disable a webhook."`
	Delete       webhooksDeleteCommand       `cmd:"" help:"Delete a webhook."`
	RotateSecret webhooksRotateSecretCommand `cmd:"" help:"Replace the secret of a webhook and print the new one."`
	Test         webhooksTestCommand         `cmd:"" help:"Send a test event."`
	Replay       webhooksReplayCommand       `cmd:"" help:"Send the events of a time and later again."`
	Deliveries   webhooksDeliveriesCommand   `cmd:"" help:"List what a webhook delivered, newest first."`
	Delivery     webhooksDeliveryCommand     `cmd:"" help:"Show a delivery and its attempts."`
	Redeliver    webhooksRedeliverCommand    `cmd:"" help:"Try a delivery once more."`
}

type webhooksListCommand struct{ listFlags }

func (c *webhooksListCommand) Run(s *Session) error {
	return list(s, c.listFlags, webhookColumns, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Webhook], error) {
		return s.Client.Webhooks.List(s.ctx(), galley.WebhookQuery{ListOptions: page}, options...)
	})
}

// webhookArgument is the webhook that a command is about.
type webhookArgument struct {
	Webhook string `arg:"" help:"The id of the webhook."`
}

type webhooksGetCommand struct {
	Flags
	webhookArgument
}

func (c *webhooksGetCommand) Run(s *Session) error {
	_, err := s.Client.Webhooks.Get(s.ctx(), c.Webhook, s.raw())
	return s.show(err)
}

// webhookFields are the fields of galley.WebhookPatch.
type webhookFields struct {
	URL         galley.Opt[string]   `help:"URL that events are sent to." placeholder:"URL"`
	Types       galley.Opt[[]string] `help:"Types of events, separated by commas (default: all)." placeholder:"TYPES"`
	SiteIDs     galley.Opt[[]string] `name:"sites" help:"Only events of these sites, separated by commas: ids, names, origins or labels." placeholder:"SITES"`
	Description galley.Opt[string]   `help:"What it is for." placeholder:"TEXT"`
	IsEnabled   galley.Opt[bool]     `help:"Whether events are sent: true or false." placeholder:"BOOL"`
}

// body returns the fields, with the ids of the sites that they name.
func (f webhookFields) body(s *Session) (patch galley.WebhookPatch, err error) {
	patch = galley.WebhookPatch(f)
	patch.SiteIDs, err = s.siteIDs(f.SiteIDs)
	return patch, err
}

type webhooksCreateCommand struct {
	Flags
	webhookFields
}

func (c *webhooksCreateCommand) Run(s *Session) error {
	patch, err := c.body(s)
	if err != nil {
		return err
	}
	body, err := convert[galley.WebhookCreate](patch)
	if err != nil {
		return err
	}
	_, err = s.Client.Webhooks.Create(s.ctx(), body, s.raw())
	return s.show(err)
}

type webhooksUpdateCommand struct {
	Flags
	webhookArgument
	webhookFields
	clearFlag
}

func (c *webhooksUpdateCommand) Run(s *Session) error {
	patch, err := c.body(s)
	if err != nil {
		return err
	}
	if err := c.apply(&patch); err != nil {
		return err
	}
	_, err = s.Client.Webhooks.Update(s.ctx(), c.Webhook, patch, s.raw())
	return s.show(err)
}

type webhooksDeleteCommand struct {
	Flags
	webhookArgument
	yesFlag
}

func (c *webhooksDeleteCommand) Run(s *Session) error {
	if err := s.confirm(c.Yes, "Delete the webhook %s? What is pending is not delivered.", c.Webhook); err != nil {
		return err
	}
	return s.done(s.Client.Webhooks.Delete(s.ctx(), c.Webhook), "Deleted the webhook %s.", c.Webhook)
}

type webhooksRotateSecretCommand struct {
	Flags
	webhookArgument
	graceFlag
	yesFlag
}

func (c *webhooksRotateSecretCommand) Run(s *Session) error {
	if err := s.confirm(c.Yes, "Replace the secret of the webhook %s? Its receiver needs the new one.", c.Webhook); err != nil {
		return err
	}
	body := galley.SecretRotate{}
	if c.Grace != 0 {
		body.GraceSeconds = galley.Value(seconds(c.Grace))
	}
	_, err := s.Client.Webhooks.RotateSecret(s.ctx(), c.Webhook, body, s.raw())
	return s.show(err)
}

type webhooksTestCommand struct {
	Flags
	webhookArgument
}

func (c *webhooksTestCommand) Run(s *Session) error {
	_, err := s.Client.Webhooks.Test(s.ctx(), c.Webhook, s.raw())
	return s.show(err)
}

type webhooksReplayCommand struct {
	Flags
	webhookArgument

	Since timeFlag `help:"When the first of the events happened." required:"" placeholder:"TIME"`
}

func (c *webhooksReplayCommand) Run(s *Session) error {
	_, err := s.Client.Webhooks.Replay(s.ctx(), c.Webhook, galley.ReplayCreate{Since: c.Since.Time}, s.raw())
	return s.show(err)
}

type webhooksDeliveriesCommand struct {
	listFlags
	webhookArgument

	Status string `help:"Only those that are pending, delivered or failed." placeholder:"STATUS"`
}

func (c *webhooksDeliveriesCommand) Run(s *Session) error {
	return list(s, c.listFlags, deliveryColumns, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Delivery], error) {
		return s.Client.Webhooks.Deliveries(s.ctx(), c.Webhook, galley.DeliveryQuery{ListOptions: page, Status: c.Status}, options...)
	})
}

// deliveryArgument is the delivery that a command is about.
type deliveryArgument struct {
	Flags

	Delivery string `arg:"" help:"The id of the delivery."`
}

type webhooksDeliveryCommand struct{ deliveryArgument }

func (c *webhooksDeliveryCommand) Run(s *Session) error {
	_, err := s.Client.Webhooks.Delivery(s.ctx(), c.Delivery, s.raw())
	return s.show(err)
}

type webhooksRedeliverCommand struct{ deliveryArgument }

func (c *webhooksRedeliverCommand) Run(s *Session) error {
	_, err := s.Client.Webhooks.Redeliver(s.ctx(), c.Delivery, s.raw())
	return s.show(err)
}
