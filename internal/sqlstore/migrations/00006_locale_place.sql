-- A locale is unique by its origin and path prefix, which depend on the site as
-- well. The service checks that under the exclusive lock of the site.
drop index locale_domain;
drop index locale_prefix;
