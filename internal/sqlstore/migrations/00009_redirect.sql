-- Redirects of the draft (version 0) and the live version (1). The nil UUID stands
-- for every locale.
create table redirect (
  site_id      {{.UUID}} not null references site (id),
  version      smallint not null,
  id           {{.UUID}} not null,
  locale_id    {{.UUID}} not null,
  source       {{.Text}} not null,
  target       {{.Text}} not null,
  status       integer not null,
  is_automatic boolean not null,
  wild         boolean not null, -- the source ends in a star
  created_at   bigint not null,
  updated_at   bigint not null,
  published_at bigint,
  deleted_at   bigint,
  since        bigint not null,  -- live: the publish that put it there, by its number
  dirty        boolean not null, -- draft: it may differ from what is live
  primary key (site_id, version, id)
);
create index redirect_by_source on redirect (site_id, source, id, version);
create index redirect_by_target on redirect (site_id, target, version) where is_automatic;
create index redirect_wild on redirect (site_id, id) where wild;
create index redirect_dirty on redirect (site_id, id) where dirty;
create index redirect_since on redirect (site_id, since, id) where version = 1;

-- What was live and is no longer, from one publish until another.
create table redirect_past (
  site_id      {{.UUID}} not null references site (id),
  id           {{.UUID}} not null,
  since        bigint not null,
  until        bigint not null,
  locale_id    {{.UUID}} not null,
  source       {{.Text}} not null,
  target       {{.Text}} not null,
  status       integer not null,
  is_automatic boolean not null,
  created_at   bigint not null,
  updated_at   bigint not null,
  published_at bigint,
  primary key (site_id, id, since)
);
create index redirect_past_since on redirect_past (site_id, since, id);
create index redirect_past_until on redirect_past (site_id, until, id);
create index redirect_past_by_source on redirect_past (site_id, source, id);

-- A pathname may be held by a redirect, too.
alter table pathname add column by_redirect boolean not null default false;

alter table site add column auto_redirects boolean not null default true;
-- Comma-separated; null: all, or none if there are page_ids.
alter table publish add column redirect_ids {{.Text}};
