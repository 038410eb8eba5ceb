-- What front ends render of pages: each value once in a site, by its SHA-256
-- digest, compressed. The value is the last column, since SQLite reads a row
-- from its beginning.
create table content (
  site_id    {{.UUID}} not null references site (id),
  digest     {{.Bytes}} not null,
  created_at bigint not null, -- or when it was stored again
  value      {{.Bytes}} not null,
  primary key (site_id, digest)
);

-- The digest of a page's content; null: none.
alter table page add column content {{.Bytes}};
alter table page_past add column content {{.Bytes}};
