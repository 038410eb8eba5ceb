create function count_content_insert() returns trigger language plpgsql as $$
begin
  insert into site_count as c (site_id, locale_id, shard, online, offline, dirty, redirects, routes, content_bytes)
    select site_id, '00000000-0000-0000-0000-000000000000', pg_backend_pid() % 64, 0, 0, 0, 0, 0, sum(coalesce(size, length(value)))
      from new_rows group by site_id
    on conflict (site_id, locale_id, shard) do update set content_bytes = coalesce(c.content_bytes, 0) + excluded.content_bytes;
  return null;
end $$;
create function count_content_delete() returns trigger language plpgsql as $$
begin
  insert into site_count as c (site_id, locale_id, shard, online, offline, dirty, redirects, routes, content_bytes)
    select site_id, '00000000-0000-0000-0000-000000000000', pg_backend_pid() % 64, 0, 0, 0, 0, 0, -sum(coalesce(size, length(value)))
      from old_rows group by site_id
    on conflict (site_id, locale_id, shard) do update set content_bytes = coalesce(c.content_bytes, 0) + excluded.content_bytes;
  return null;
end $$;
create trigger count_content_insert after insert on content
  referencing new table as new_rows for each statement execute function count_content_insert();
create trigger count_content_delete after delete on content
  referencing old table as old_rows for each statement execute function count_content_delete();
