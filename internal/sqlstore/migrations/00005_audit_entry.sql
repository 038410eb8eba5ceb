-- The audit trail in a quarter of the space of the table audit, which is read
-- until its rows are moved here. Ids are made in the order of time, so a range
-- of ids is a range of time. The nil UUID stands for none.
create table audit_entry (
  workspace_id {{.UUID}} not null,
  id           {{.UUID}} not null,
  site_id      {{.UUID}} not null,
  resource_id  {{.UUID}} not null,
  app_id       {{.UUID}} not null,
  request_id   {{.UUID}} not null,
  kind         {{.Text}} not null,
  operation    {{.Text}} not null,
  actor        {{.Text}}, -- null: the request named none
  states       {{.Bytes}} not null, -- the resource before and after, see audit.go
  primary key (workspace_id, id)
);
create index audit_entry_site on audit_entry (site_id, id);
create index audit_entry_resource on audit_entry (resource_id, id);
create index audit_entry_app on audit_entry (app_id, id);
-- A batch adds up to a thousand entries at once: those are found among all of
-- the workspace, and need no place in another index.
create index audit_entry_operation on audit_entry (workspace_id, operation, id) where operation <> 'batchPages';

-- The person for whom an app asked for the publish, as X-Actor named them.
alter table publish add column actor {{.Text}};

-- The app whose rate limit an app shares: the first of those that made it.
alter table app add column made_by {{.UUID}};

-- What the caller of a repeated request must still have a right to.
alter table kept_answer add column site_id {{.UUID}}; -- the nil UUID: every site
alter table kept_answer add column app_id {{.UUID}};
