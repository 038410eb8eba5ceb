-- The search index of pages: which pages of a site have a gram, three characters in a
-- row, in a pathname, name or title of any version and locale. It is derived from page
-- and page_past: a search reads the pages that it names, so it may name too many.

-- Pages whose draft was written since they were indexed. A transaction adds marks of its
-- own, so that one is not removed with the mark of another that was seen.
create table search_mark (
  site_id {{.UUID}} not null,
  id      {{.UUID}} not null,
  tx      bigint not null default {{.Transaction}},
  primary key (site_id, id, tx)
){{.Clustered}};

-- How far a site is indexed.
create table search_site (
  site_id   {{.UUID}} primary key references site (id),
  pages     bigint not null, -- how many have a number
  unindexed {{.UUID}}        -- pages after this one are not indexed, and have no mark; null: none
){{.Clustered}};
create index search_site_unindexed on search_site (site_id) where unindexed is not null;

-- The numbers of a site's pages.
create table search_page (
  site_id {{.UUID}} not null,
  number  bigint not null,
  id      {{.UUID}} not null,
  primary key (site_id, number)
){{.Clustered}};
create unique index search_page_id on search_page (site_id, id);

-- The pages that have a gram, in blocks of numbers.
create table search_gram (
  site_id {{.UUID}} not null,
  gram    bigint not null,
  block   bigint not null,
  pages   {{.Bytes}} not null,
  primary key (site_id, gram, block)
){{.Clustered}};

-- The database marks the pages: nodes of the previous version write them, too. What is
-- live or past was in a draft before.
{{.MarkWritten}}

-- The pages that exist are indexed by and by.
insert into search_site (site_id, pages, unindexed) select id, 0, {{.NoID}} from site;
