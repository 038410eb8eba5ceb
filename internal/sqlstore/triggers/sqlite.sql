create trigger count_site after insert on site begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    values (new.id, zeroblob(16), -1, 0, 0, 0, 0, 0);
end;

create trigger count_page_insert after insert on page when new.version = 0 begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    values (new.site_id, new.locale_id, 0, new.state = 0, new.state = 1, new.dirty, 0, 0)
    on conflict (site_id, locale_id, shard) do update
      set online = online + excluded.online, offline = offline + excluded.offline, dirty = dirty + excluded.dirty;
end;
create trigger count_page_delete after delete on page when old.version = 0 begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    values (old.site_id, old.locale_id, 0, -(old.state = 0), -(old.state = 1), -old.dirty, 0, 0)
    on conflict (site_id, locale_id, shard) do update
      set online = online + excluded.online, offline = offline + excluded.offline, dirty = dirty + excluded.dirty;
end;
create trigger count_page_update after update of state, dirty on page
when new.version = 0 and (old.state <> new.state or old.dirty <> new.dirty) begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    values (new.site_id, new.locale_id, 0, (new.state = 0) - (old.state = 0), (new.state = 1) - (old.state = 1), new.dirty - old.dirty, 0, 0)
    on conflict (site_id, locale_id, shard) do update
      set online = online + excluded.online, offline = offline + excluded.offline, dirty = dirty + excluded.dirty;
end;

create trigger count_redirect_insert after insert on redirect when new.version = 0 and new.deleted_at is null begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    values (new.site_id, new.locale_id, 0, 0, 0, 0, 1, 0)
    on conflict (site_id, locale_id, shard) do update set redirects = redirects + 1;
end;
create trigger count_redirect_delete after delete on redirect when old.version = 0 and old.deleted_at is null begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    values (old.site_id, old.locale_id, 0, 0, 0, 0, -1, 0)
    on conflict (site_id, locale_id, shard) do update set redirects = redirects - 1;
end;
-- Its locale may change as well.
create trigger count_redirect_update after update of locale_id, deleted_at on redirect
when new.version = 0 and (old.locale_id <> new.locale_id or (old.deleted_at is null) <> (new.deleted_at is null)) begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    values (old.site_id, old.locale_id, 0, 0, 0, 0, -(old.deleted_at is null), 0)
    on conflict (site_id, locale_id, shard) do update set redirects = redirects + excluded.redirects;
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    values (new.site_id, new.locale_id, 0, 0, 0, 0, new.deleted_at is null, 0)
    on conflict (site_id, locale_id, shard) do update set redirects = redirects + excluded.redirects;
end;

create trigger count_route_insert after insert on route when new.deleted_at is null begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    values (new.site_id, zeroblob(16), 0, 0, 0, 0, 0, 1)
    on conflict (site_id, locale_id, shard) do update set routes = routes + 1;
end;
create trigger count_route_delete after delete on route when old.deleted_at is null begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    values (old.site_id, zeroblob(16), 0, 0, 0, 0, 0, -1)
    on conflict (site_id, locale_id, shard) do update set routes = routes - 1;
end;
create trigger count_route_update after update of deleted_at on route
when (old.deleted_at is null) <> (new.deleted_at is null) begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
    values (new.site_id, zeroblob(16), 0, 0, 0, 0, 0, (new.deleted_at is null) - (old.deleted_at is null))
    on conflict (site_id, locale_id, shard) do update set routes = routes + excluded.routes;
end;
