-- Labels of a site, sorted and comma-separated, and the index on them. It belongs to
-- the workspace, as site_key does.
alter table site add column labels {{.Text}};
create table site_label (
  workspace_id {{.UUID}} not null,
  label        {{.Text}} not null,
  site_id      {{.UUID}} not null,
  primary key (workspace_id, label, site_id)
){{.Clustered}};
create index site_label_site on site_label (site_id);

-- The deleted sites of a workspace are listed, too.
create index site_trash on site (workspace_id, id) where deleted_at is not null;
