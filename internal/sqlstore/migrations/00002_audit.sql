-- Every write, in the transaction of the write. Ids are made in the order of
-- time, so a range of ids is a range of time. The nil UUID stands for none.
create table audit (
  workspace_id {{.UUID}} not null,
  id           {{.UUID}} not null,
  site_id      {{.UUID}} not null,
  resource_id  {{.UUID}} not null,
  app_id       {{.UUID}} not null,
  kind         {{.Text}} not null,
  operation    {{.Text}} not null,
  request_id   {{.Text}} not null,
  state_before {{.Text}},
  state_after  {{.Text}},
  primary key (workspace_id, id)
);
create index audit_site on audit (workspace_id, site_id, id);
create index audit_resource on audit (workspace_id, resource_id, id);
create index audit_app on audit (workspace_id, app_id, id);

-- A rate of the app's own, REQUESTS/SECONDS or off; null: the configured one.
alter table app add column rate {{.Text}};
