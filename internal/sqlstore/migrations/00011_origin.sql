-- A site is found by the origin of a URL.
create index site_origin on site (workspace_id, host_origin) where deleted_at is null;
create index locale_origin on locale (domain) where domain is not null and deleted_at is null;
