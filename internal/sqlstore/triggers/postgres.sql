create function count_site() returns trigger language plpgsql as $$
begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    values (new.id, '00000000-0000-0000-0000-000000000000', -1, 0, 0, 0, 0, 0);
  return null;
end $$;
create trigger count_site after insert on site for each row execute function count_site();

-- Pages and redirects are counted once for each statement: a publish writes thousands of
-- them, and every change of a count leaves a dead row behind. Few sessions share a shard,
-- and so wait for each other. Each function is one statement, which is planned once.
create function count_page_insert() returns trigger language plpgsql as $$
begin
  insert into site_count as c (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    select site_id, locale_id, pg_backend_pid() % 64, sum((state = 0)::int), sum((state = 1)::int), sum(dirty::int), 0, 0
      from new_rows where version = 0 group by site_id, locale_id
    on conflict (site_id, locale_id, shard) do update
      set online = c.online + excluded.online, offline = c.offline + excluded.offline, dirty = c.dirty + excluded.dirty;
  return null;
end $$;
create function count_page_delete() returns trigger language plpgsql as $$
begin
  insert into site_count as c (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    select site_id, locale_id, pg_backend_pid() % 64, -sum((state = 0)::int), -sum((state = 1)::int), -sum(dirty::int), 0, 0
      from old_rows where version = 0 group by site_id, locale_id
    on conflict (site_id, locale_id, shard) do update
      set online = c.online + excluded.online, offline = c.offline + excluded.offline, dirty = c.dirty + excluded.dirty;
  return null;
end $$;
create function count_page_update() returns trigger language plpgsql as $$
begin
  insert into site_count as c (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    select site_id, locale_id, pg_backend_pid() % 64, sum(n * (state = 0)::int), sum(n * (state = 1)::int), sum(n * dirty::int), 0, 0 from (
      select site_id, locale_id, state, dirty, 1 as n from new_rows where version = 0
      union all
      select site_id, locale_id, state, dirty, -1 from old_rows where version = 0
    ) as changed group by site_id, locale_id
      having sum(n * (state = 0)::int) <> 0 or sum(n * (state = 1)::int) <> 0 or sum(n * dirty::int) <> 0
    on conflict (site_id, locale_id, shard) do update
      set online = c.online + excluded.online, offline = c.offline + excluded.offline, dirty = c.dirty + excluded.dirty;
  return null;
end $$;
create trigger count_page_insert after insert on page
  referencing new table as new_rows for each statement execute function count_page_insert();
create trigger count_page_update after update on page
  referencing old table as old_rows new table as new_rows for each statement execute function count_page_update();
create trigger count_page_delete after delete on page
  referencing old table as old_rows for each statement execute function count_page_delete();

create function count_redirect() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' then
    insert into site_count as c (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
      select site_id, locale_id, pg_backend_pid() % 64, 0, 0, 0, count(*), 0
        from new_rows where version = 0 and deleted_at is null group by site_id, locale_id
      on conflict (site_id, locale_id, shard) do update set redirects = c.redirects + excluded.redirects;
  end if;
  if tg_op <> 'INSERT' then
    insert into site_count as c (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
      select site_id, locale_id, pg_backend_pid() % 64, 0, 0, 0, -count(*), 0
        from old_rows where version = 0 and deleted_at is null group by site_id, locale_id
      on conflict (site_id, locale_id, shard) do update set redirects = c.redirects + excluded.redirects;
  end if;
  return null;
end $$;
create trigger count_redirect_insert after insert on redirect
  referencing new table as new_rows for each statement execute function count_redirect();
create trigger count_redirect_update after update on redirect
  referencing old table as old_rows new table as new_rows for each statement execute function count_redirect();
create trigger count_redirect_delete after delete on redirect
  referencing old table as old_rows for each statement execute function count_redirect();

create function count_route() returns trigger language plpgsql as $$
declare
  added constant int := (tg_op <> 'DELETE' and new.deleted_at is null)::int - (tg_op <> 'INSERT' and old.deleted_at is null)::int;
begin
  if added <> 0 then
    insert into site_count as c (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
      values (coalesce(new.site_id, old.site_id), '00000000-0000-0000-0000-000000000000', pg_backend_pid() % 64, 0, 0, 0, 0, added)
      on conflict (site_id, locale_id, shard) do update set routes = c.routes + excluded.routes;
  end if;
  return null;
end $$;
create trigger count_route after insert or update or delete on route for each row execute function count_route();
