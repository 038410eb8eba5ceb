-- Adds to the counts of a site. Few sessions share a shard, and so wait for each other.
create function count_add(site uuid, locale uuid, onlines bigint, offlines bigint, dirties bigint, redirecting bigint, routed bigint)
returns void language plpgsql as $$
begin
  if onlines <> 0 or offlines <> 0 or dirties <> 0 or redirecting <> 0 or routed <> 0 then
    insert into site_count as c (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
      values (site, locale, pg_backend_pid() % 64, onlines, offlines, dirties, redirecting, routed)
      on conflict (site_id, locale_id, shard) do update
        set online = c.online + onlines, offline = c.offline + offlines, dirty = c.dirty + dirties,
          redirects = c.redirects + redirecting, routes = c.routes + routed;
  end if;
end $$;

create function count_site() returns trigger language plpgsql as $$
begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    values (new.id, '00000000-0000-0000-0000-000000000000', -1, 0, 0, 0, 0, 0);
  return null;
end $$;
create trigger count_site after insert on site for each row execute function count_site();

-- Pages and redirects are counted once for each statement: a publish writes thousands of
-- them, and every change of a count leaves a dead row behind.
create function count_page() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform count_add(site_id, locale_id, sum((state = 0)::int), sum((state = 1)::int), sum(dirty::int), 0, 0)
      from new_rows where version = 0 group by site_id, locale_id;
  elsif tg_op = 'DELETE' then
    perform count_add(site_id, locale_id, -sum((state = 0)::int), -sum((state = 1)::int), -sum(dirty::int), 0, 0)
      from old_rows where version = 0 group by site_id, locale_id;
  else
    perform count_add(site_id, locale_id, sum(online), sum(offline), sum(dirty), 0, 0) from (
      select site_id, locale_id, (state = 0)::int as online, (state = 1)::int as offline, dirty::int as dirty from new_rows where version = 0
      union all
      select site_id, locale_id, -(state = 0)::int, -(state = 1)::int, -dirty::int from old_rows where version = 0
    ) as changed group by site_id, locale_id;
  end if;
  return null;
end $$;
create trigger count_page_insert after insert on page
  referencing new table as new_rows for each statement execute function count_page();
create trigger count_page_update after update on page
  referencing old table as old_rows new table as new_rows for each statement execute function count_page();
create trigger count_page_delete after delete on page
  referencing old table as old_rows for each statement execute function count_page();

create function count_redirect() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' then
    perform count_add(site_id, locale_id, 0, 0, 0, count(*), 0)
      from new_rows where version = 0 and deleted_at is null group by site_id, locale_id;
  end if;
  if tg_op <> 'INSERT' then
    perform count_add(site_id, locale_id, 0, 0, 0, -count(*), 0)
      from old_rows where version = 0 and deleted_at is null group by site_id, locale_id;
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
  of constant uuid := coalesce(new.site_id, old.site_id);
begin
  perform count_add(of, '00000000-0000-0000-0000-000000000000', 0, 0, 0, 0,
    (tg_op <> 'DELETE' and new.deleted_at is null)::int - (tg_op <> 'INSERT' and old.deleted_at is null)::int);
  return null;
end $$;
create trigger count_route after insert or update or delete on route for each row execute function count_route();
