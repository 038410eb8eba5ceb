-- How many pages, redirects and routes a site's draft has, by locale; the nil UUID
-- stands for the default locale, and for no locale. A count is the sum of its
-- shards: writers of one site that add to different ones do not wait for each
-- other. Shard -1 is what there was when counting began; a site without it has
-- not been counted yet.
create table site_count (
  site_id   {{.UUID}} not null references site (id) on delete cascade,
  locale_id {{.UUID}} not null,
  shard     smallint not null,
  online    bigint not null, -- pages, or overrides of pages in the locale
  offline   bigint not null,
  dirty     bigint not null,
  redirects bigint not null,
  routes    bigint not null,
  primary key (site_id, locale_id, shard)
){{.Clustered}};

-- Triggers count, so that the writes of nodes of the previous version are
-- counted, too.
{{.Counters}}
