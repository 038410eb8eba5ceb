-- The URL of a site's previews, with placeholders.
alter table site add column preview_url_template {{.Text}};

-- Credentials that read one version of a site.
create table preview (
  site_id      {{.UUID}} not null references site (id),
  id           {{.UUID}} not null,
  token_hash   {{.Bytes}} not null,
  name         {{.Text}},
  publish_id   {{.UUID}}, -- null: the draft
  locale_id    {{.UUID}}, -- null: the default one
  path_prefix  {{.Text}} not null,
  created_at   bigint not null,
  created_by   {{.UUID}} not null,
  expires_at   bigint not null,
  last_used_at bigint,
  deleted_at   bigint,
  primary key (site_id, id)
);
-- A token comes before its site is known. It has 256 random bits, so it is unique.
create index preview_token on preview (token_hash);
create index preview_end on preview (expires_at);
