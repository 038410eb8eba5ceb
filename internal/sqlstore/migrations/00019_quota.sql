-- How much the sites of a workspace may have together; null: no limit.
alter table workspace add column max_sites bigint;
alter table workspace add column max_pages bigint;
alter table workspace add column max_content_bytes bigint;

-- The bytes of a content before it was compressed; null: stored by an older version.
alter table content add column size bigint;

-- The bytes of a site's contents. What a site had when counting began is in shard -1
-- once it has been counted; null until then.
alter table site_count add column content_bytes bigint;
{{.ContentCounters}}
