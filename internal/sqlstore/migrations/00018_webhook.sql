-- Webhooks send the events of a workspace to a URL.
create table webhook (
  workspace_id    {{.UUID}} not null,
  id              {{.UUID}} not null,
  url             {{.Text}} not null,
  types           {{.Text}}, -- comma-separated; null: all
  site_ids        {{.Text}}, -- comma-separated; null: all
  description     {{.Text}},
  is_enabled      boolean not null,
  disabled_reason {{.Text}},
  created_at      bigint not null,
  updated_at      bigint not null,
  deleted_at      bigint,
  secret          {{.Bytes}} not null, -- encrypted
  old_secret      {{.Bytes}},
  old_secret_ends bigint,
  starts_after    {{.UUID}},       -- the event after which it begins; null: the position holds
  position        bigint not null, -- every event up to it is delivered, or has a row that says when it is tried again
  failing_since   bigint,
  revision        bigint not null,
  lease_node      {{.UUID}},       -- the node that serves it
  lease_until     bigint not null,
  primary key (workspace_id, id)
);
create unique index webhook_id on webhook (id);
create index webhook_lease on webhook (lease_until) where deleted_at is null;
create index webhook_node on webhook (lease_node) where lease_node is not null;

-- Events on their way to a webhook, and those that have arrived.
create table delivery (
  id              {{.UUID}} primary key,
  webhook_id      {{.UUID}} not null,
  event_id        {{.UUID}} not null,
  event_type      {{.Text}} not null,
  status          smallint not null, -- 0: pending, 1: delivered, 2: failed
  attempts        {{.Bytes}} not null, -- JSON
  tries           smallint not null,
  next_attempt_at bigint,
  extra           boolean not null,
  then_at         bigint
);
create index delivery_webhook on delivery (webhook_id, status, id);
create index delivery_due on delivery (webhook_id, next_attempt_at) where next_attempt_at is not null;

-- Ranges of events that are being sent again.
create table webhook_replay (
  webhook_id {{.UUID}} not null,
  id         {{.UUID}} not null,
  since      bigint not null,
  position   bigint not null, -- as that of a webhook
  until      bigint not null, -- the last position
  primary key (webhook_id, id)
);

-- What the caller of a repeated request must still have a right to.
alter table kept_answer add column webhook_id {{.UUID}};
