-- Words in double braces are rendered by the dialect; see dialect.go.
--
-- Everything that belongs to a site has a key that begins with the site's id,
-- and foreign keys stay inside the site, so that these tables can be
-- distributed by site. directory and site_key lead from an id or a key alone
-- to its site.

-- One row, made by the first start.
create table installation (
  id         smallint primary key check (id = 1),
  created_at bigint not null
);

create table workspace (
  id         {{.UUID}} primary key,
  name       {{.Text}} not null,
  created_at bigint not null
){{.Clustered}};

create table app (
  workspace_id {{.UUID}} not null,
  id           {{.UUID}} not null,
  name         {{.Text}} not null,
  description  {{.Text}},
  key_hint     {{.Text}} not null,
  scopes       {{.Text}} not null, -- comma-separated
  site_ids     {{.Text}},          -- comma-separated; null: every site
  created_at   bigint not null,
  last_used_at bigint,
  expires_at   bigint,
  deleted_at   bigint,
  primary key (workspace_id, id)
){{.Clustered}};
create unique index app_id on app (id);

create table app_key (
  hash         {{.Bytes}} primary key,
  workspace_id {{.UUID}} not null,
  app_id       {{.UUID}} not null,
  expires_at   bigint, -- null: works until the app ends
  foreign key (workspace_id, app_id) references app (workspace_id, id)
){{.Clustered}};
create index app_key_app on app_key (workspace_id, app_id);

create table site (
  id                {{.UUID}} primary key,
  workspace_id      {{.UUID}} not null,
  name              {{.Text}} not null,
  host_origin       {{.Text}},
  public_api_key    {{.UUID}} not null,
  key_access        {{.Text}} not null,
  locale_mode       {{.Text}} not null,
  default_locale_id {{.UUID}} not null,
  created_at        bigint not null,
  updated_at        bigint not null,
  deleted_at        bigint
){{.Clustered}};
create index site_workspace on site (workspace_id, id) where deleted_at is null;
create index site_deleted on site (deleted_at) where deleted_at is not null;

create table site_key (
  site_key   {{.UUID}} primary key,
  site_id    {{.UUID}} not null,
  expires_at bigint -- null: the site's current key
){{.Clustered}};
create index site_key_site on site_key (site_id);

create table directory (
  id      {{.UUID}} primary key,
  site_id {{.UUID}} not null,
  kind    {{.Text}} not null
){{.Clustered}};
create index directory_site on directory (site_id);

create table locale (
  site_id     {{.UUID}} not null references site (id),
  id          {{.UUID}} not null,
  code        {{.Text}} not null,
  domain      {{.Text}},
  path_prefix {{.Text}},
  created_at  bigint not null,
  deleted_at  bigint,
  primary key (site_id, id)
){{.Clustered}};
create unique index locale_code on locale (site_id, code) where deleted_at is null;
create unique index locale_domain on locale (site_id, domain) where deleted_at is null;
create unique index locale_prefix on locale (site_id, coalesce(path_prefix, code)) where deleted_at is null;

create table route (
  site_id    {{.UUID}} not null references site (id),
  id         {{.UUID}} not null,
  pathname   {{.Text}} not null,
  created_at bigint not null,
  deleted_at bigint,
  primary key (site_id, id)
){{.Clustered}};

-- One row for each pathname held in a version and locale, by a page or a
-- route: what makes a pathname unique across both. The nil UUID stands for the
-- default locale here and in page.
create table pathname (
  site_id   {{.UUID}} not null references site (id),
  version   smallint not null, -- 0 draft, 1 live
  pathname  {{.Text}} not null,
  locale_id {{.UUID}} not null,
  owner_id  {{.UUID}} not null,
  by_route  boolean not null,
  primary key (site_id, version, pathname, locale_id)
){{.Clustered}};
create index pathname_owner on pathname (site_id, owner_id, version, locale_id);

-- One row for a page's default values and one for each locale that overrides
-- some of them. A row has every value as it stands in its locale; own tells
-- which are its own, so that lists in any locale are read from one index.
create table page (
  site_id             {{.UUID}} not null references site (id),
  version             smallint not null,
  id                  {{.UUID}} not null,
  locale_id           {{.UUID}} not null,
  own                 integer not null,  -- a bit for each field, see cms.FieldSet
  state               smallint not null, -- 0 online, 1 offline, 2 deleted
  name                {{.Text}},
  pathname            {{.Text}} not null,
  title               {{.Text}},
  description         {{.Text}},
  canonical_url       {{.Text}},
  social_image_url    {{.Text}},
  sitemap_priority    double precision,
  sitemap_frequency   {{.Text}},
  is_online           boolean not null,
  no_index            boolean,
  title_sort          {{.Text}} not null, -- nulls last
  description_sort    {{.Text}} not null,
  created_at          bigint not null,
  updated_at          bigint not null,
  published_at        bigint,
  deleted_at          bigint,
  since               bigint not null,  -- live: the publish that put it there, by its number
  dirty               boolean not null, -- draft, default locale: it may differ from what is live
  primary key (site_id, version, id, locale_id)
);
-- Indexes share no more than the site with the primary key: a planner without
-- statistics can't tell apart those that begin alike.
create index page_dirty on page (site_id, id) where dirty;
create index page_since on page (site_id, since, id) where version = 1;
create index page_by_path on page (site_id, locale_id, version, state, pathname, id);
create index page_by_title on page (site_id, locale_id, version, state, title_sort, id);
create index page_by_description on page (site_id, locale_id, version, state, description_sort, id);
create index page_by_created on page (site_id, locale_id, version, state, created_at, id);
create index page_by_updated on page (site_id, locale_id, version, state, updated_at, id);

-- What was live and is no longer: the rows of a page as they stood from one
-- publish until another.
create table page_past (
  site_id             {{.UUID}} not null references site (id),
  id                  {{.UUID}} not null,
  since               bigint not null, -- the publish that put it live, by its number
  locale_id           {{.UUID}} not null,
  until               bigint not null, -- the publish that took it away
  own                 integer not null,
  state               smallint not null,
  name                {{.Text}},
  pathname            {{.Text}} not null,
  title               {{.Text}},
  description         {{.Text}},
  canonical_url       {{.Text}},
  social_image_url    {{.Text}},
  sitemap_priority    double precision,
  sitemap_frequency   {{.Text}},
  is_online           boolean not null,
  no_index            boolean,
  title_sort          {{.Text}} not null,
  description_sort    {{.Text}} not null,
  created_at          bigint not null,
  updated_at          bigint not null,
  published_at        bigint,
  deleted_at          bigint,
  primary key (site_id, id, since, locale_id)
);
create index page_past_since on page_past (site_id, since, id);
create index page_past_until on page_past (site_id, until, id);
create index page_past_by_path on page_past (site_id, locale_id, state, pathname, id);
create index page_past_by_title on page_past (site_id, locale_id, state, title_sort, id);
create index page_past_by_description on page_past (site_id, locale_id, state, description_sort, id);
create index page_past_by_created on page_past (site_id, locale_id, state, created_at, id);
create index page_past_by_updated on page_past (site_id, locale_id, state, updated_at, id);

-- Every step of a site's live version, and those that are to come.
create table publish (
  site_id       {{.UUID}} not null references site (id),
  id            {{.UUID}} not null,
  seq           bigint not null, -- its number among the published ones; 0 before that
  name          {{.Text}},
  status        {{.Text}} not null,
  publish_at    bigint,
  published_at  bigint,
  change_count  integer not null,
  previous_id   {{.UUID}},
  restored_from {{.UUID}},
  reason        {{.Text}},
  created_at    bigint not null,
  created_by    {{.UUID}} not null,
  page_ids      {{.Text}}, -- comma-separated; null: all
  locale_ids    {{.Text}}, -- comma-separated, the nil UUID for the default values; null: all
  confirm       boolean not null,
  primary key (site_id, id)
);
create unique index publish_seq on publish (site_id, seq) where seq > 0;
create index publish_created on publish (site_id, created_at, id);
create index publish_published on publish (published_at) where seq > 0;
create index publish_due on publish (publish_at, id) where status = 'scheduled';

-- Answers to requests with an idempotency key, to be repeated.
create table kept_answer (
  credential_id {{.UUID}} not null,
  request_key   {{.Text}} not null,
  request_hash  {{.Bytes}} not null,
  status        integer not null,
  location      {{.Text}} not null,
  body          {{.Bytes}} not null,
  sealed        boolean not null,
  created_at    bigint not null,
  primary key (credential_id, request_key)
);
create index kept_answer_created on kept_answer (created_at);

-- Old and new ids while a site is being copied; empty otherwise.
create table copy_id (
  site_id {{.UUID}} not null references site (id), -- the copy
  old_id  {{.UUID}} not null,
  new_id  {{.UUID}} not null,
  kind    {{.Text}} not null,
  primary key (site_id, old_id)
){{.Clustered}};
