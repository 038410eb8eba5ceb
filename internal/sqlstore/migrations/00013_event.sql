-- The audit entries that are events, in the order in which they are read. The rest of
-- an event is in audit_entry.
create table event (
  workspace_id {{.UUID}} not null,
  position     bigint not null,
  id           {{.UUID}} not null,
  site_id      {{.UUID}} not null, -- the nil UUID: of no site
  type         {{.Text}} not null, -- empty: it was purged, and keeps the last position
  locale       {{.Text}},
  fields       {{.Text}}, -- that an update changed, comma-separated
  primary key (workspace_id, position)
){{.Clustered}};
create unique index event_id on event (workspace_id, id);
create index event_type on event (workspace_id, type, position);
create index event_site on event (site_id, type, position);

-- Events that have no position yet, since transactions that run at the same time may
-- commit in another order than they were recorded in. Where there is one writer they
-- get their position at once.
create table event_pending (
  number       {{.Number}},
  workspace_id {{.UUID}} not null,
  id           {{.UUID}} not null,
  site_id      {{.UUID}} not null,
  type         {{.Text}} not null,
  locale       {{.Text}},
  fields       {{.Text}}
);
