-- A number that changes with everything that decides how a site's pages are
-- read: the site's own row and its locales. What is kept of them in memory is
-- right while the number is the same.
alter table site add column shape bigint not null default 0;

-- These served nothing that their tables' keys can't, at a price on every
-- page that is made.
drop index directory_site;
drop index pathname_owner;

-- What was live is seldom listed in these orders: then what was put aside
-- since is sorted. Every publish paid for them.
drop index page_past_by_title;
drop index page_past_by_description;
drop index page_past_by_created;
drop index page_past_by_updated;

{{.Statistics}}
