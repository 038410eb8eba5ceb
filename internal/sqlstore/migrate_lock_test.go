package sqlstore_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"galley/internal/pgtest"
)

// execute runs a statement on a PostgreSQL database.
func execute(t *testing.T, database, statement string) {
	t.Helper()
	db, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// backToVersion2 takes back what the migrations since have done.
const backToVersion2 = `delete from goose_db_version where version_id >= 3;
	drop table event;
	drop table event_pending;
	drop table site_label;
	drop index site_trash;
	drop trigger search_created on page;
	drop trigger search_changed on page;
	drop function search_mark_page;
	drop table search_mark, search_site, search_page, search_gram;
	drop function count_site, count_page_insert, count_page_update, count_page_delete, count_redirect, count_route cascade;
	drop function count_content_insert, count_content_delete cascade;
	drop table site_count;
	alter table workspace drop column max_sites, drop column max_pages, drop column max_content_bytes;
	drop index site_origin, locale_origin;
	create index locale_domain on locale (id);
	create index locale_prefix on locale (id);
	drop table publish_url;
	drop table redirect;
	drop table redirect_past;
	alter table pathname drop column by_redirect;
	alter table publish drop column redirect_ids;
	drop table webhook;
	drop table delivery;
	drop table webhook_replay;
	alter table kept_answer drop column webhook_id;
	drop table preview;
	alter table site drop column auto_redirects, drop column preview_url_template, drop column labels;
	drop table content;
	alter table page drop column content;
	alter table page_past drop column content;
	drop table replica_mark;
	drop table audit_entry;
	alter table publish drop column actor;
	alter table app drop column made_by;
	alter table kept_answer drop column site_id, drop column app_id;
	alter table publish drop column plan;
	alter table site drop column shape;
	create index directory_site on directory (site_id);
	create index pathname_owner on pathname (site_id, owner_id, version, locale_id);
	create index page_past_by_title on page_past (id);
	create index page_past_by_description on page_past (id);
	create index page_past_by_created on page_past (id);
	create index page_past_by_updated on page_past (id);`

// A table that somebody uses for long is waited for, but those who come after
// must not wait with the migration.
func TestMigrationHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	store := migrated(t, openPostgres(t, database))
	execute(t, database, backToVersion2)
	db, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	long, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := long.ExecContext(t.Context(), `lock table page_past in access share mode`); err != nil {
		t.Fatal(err)
	}

	type result struct {
		applied []int64
		err     error
	}
	done := make(chan result, 1)
	go func() {
		applied, err := store.Migrate(t.Context())
		done <- result{applied, err}
	}()
	waits := func() (n int) {
		if err := db.QueryRowContext(t.Context(), `select count(*) from pg_locks where not granted and mode = 'AccessExclusiveLock'
			and database = (select oid from pg_database where datname = current_database())`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 3 { // the migration tries again and again
		for end := time.Now().Add(2 * time.Minute); waits() == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the migration does not wait for the table")
			}
		}
		reading, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		_, err := db.ExecContext(reading, `select (select count(*) from page_past), (select count(*) from site)`)
		cancel()
		if err != nil {
			t.Fatalf("who comes after the migration waits with it: %v", err)
		}
	}
	select {
	case r := <-done:
		t.Fatalf("it did not wait: %v", r)
	default:
	}
	if err := long.Rollback(); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.err != nil || !slices.Contains(r.applied, 3) {
		t.Errorf("applied %v, %v", r.applied, r.err)
	}
	if err := store.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
