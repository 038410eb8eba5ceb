create trigger count_content_insert after insert on content begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes, content_bytes)
    values (new.site_id, zeroblob(16), 0, 0, 0, 0, 0, 0, coalesce(new.size, length(new.value)))
    on conflict (site_id, locale_id, shard) do update set content_bytes = coalesce(content_bytes, 0) + excluded.content_bytes;
end;
create trigger count_content_delete after delete on content begin
  insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes, content_bytes)
    values (old.site_id, zeroblob(16), 0, 0, 0, 0, 0, 0, -coalesce(old.size, length(old.value)))
    on conflict (site_id, locale_id, shard) do update set content_bytes = coalesce(content_bytes, 0) + excluded.content_bytes;
end;
