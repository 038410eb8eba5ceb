-- Splits the large tables of an empty Galley database by the hash of the site,
-- with PostgreSQL's own partitions. See docs/scaling.md for when and why.
--
--   galley migrate --database-url ...
--   psql --set ON_ERROR_STOP=1 --single-transaction --file partition.sql ...
--
-- Every key of these tables has the site, so they keep all their constraints,
-- indexes and triggers, under the same names. audit and directory are found by other
-- things than the site, and stay whole.
do $$
declare
  partitions constant int := 64;
  split text;
  old record;
begin
  foreach split in array array['page', 'page_past', 'content', 'pathname', 'publish', 'publish_url', 'redirect', 'redirect_past', 'search_gram', 'search_page'] loop
    execute format('alter table %I rename to whole', split);
    if exists (select from whole) then
      raise exception 'table % is not empty', split;
    end if;
    execute format('create table %I (like whole including defaults) partition by hash (site_id)', split);
    for old in select conname as name, pg_get_constraintdef(oid) as definition
        from pg_constraint where conrelid = 'whole'::regclass and contype in ('p', 'f') loop
      execute format('alter table whole drop constraint %I', old.name);
      execute format('alter table %I add constraint %I %s', split, old.name, old.definition);
    end loop;
    for old in select c.relname as name, pg_get_indexdef(c.oid) as definition
        from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid = 'whole'::regclass loop
      execute format('drop index %I', old.name);
      execute regexp_replace(old.definition, ' ON \S+ ', format(' ON %I ', split));
    end loop;
    for old in select tgname as name, pg_get_triggerdef(oid) as definition
        from pg_trigger where tgrelid = 'whole'::regclass and not tgisinternal loop
      execute format('drop trigger %I on whole', old.name);
      execute regexp_replace(old.definition, ' ON \S+ ', format(' ON %I ', split));
    end loop;
    drop table whole;
    for n in 0 .. partitions - 1 loop
      execute format('create table %I partition of %I for values with (modulus %s, remainder %s)',
        split || '_' || n, split, partitions, n);
    end loop;
  end loop;
end $$;
