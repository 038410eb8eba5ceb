package sqlstore

import (
	"context"
	_ "embed"
	"time"

	"galley/internal/cms"
)

// The triggers that keep site_count, for the migrations that create it and that add
// contents to it.
var (
	//go:embed triggers/sqlite.sql
	sqliteCounters string
	//go:embed triggers/postgres.sql
	postgresCounters string
	//go:embed triggers/content_sqlite.sql
	sqliteContentCounters string
	//go:embed triggers/content_postgres.sql
	postgresContentCounters string
)

// countTable is derived from other tables by triggers, so backups do not have it.
const countTable = "site_count"

// countedBefore is the shard of what a site had when counting began.
const countedBefore = -1

func (q queries) SiteCounts(ctx context.Context, siteID cms.ID) (counts map[cms.ID]cms.SiteCounts, err error) {
	type line struct {
		locale cms.ID
		first  int
		cms.SiteCounts
	}
	lines, err := all(ctx, q, func(r row) (l line, err error) {
		return l, r.Scan(&l.locale, &l.first, &l.Online, &l.Offline, &l.Dirty, &l.Redirects, &l.Routes, &l.ContentBytes)
	}, `select locale_id, min(shard), cast(sum(online) as bigint), cast(sum(offline) as bigint), cast(sum(dirty) as bigint),
		cast(sum(redirects) as bigint), cast(sum(routes) as bigint),
		cast(coalesce(sum(content_bytes), 0) as bigint) from site_count where site_id = ? group by locale_id order by locale_id`, siteID)
	if err != nil || len(lines) == 0 || lines[0].locale != cms.NoID || lines[0].first != countedBefore {
		return nil, err
	}
	counts = make(map[cms.ID]cms.SiteCounts, len(lines))
	for _, l := range lines {
		counts[l.locale] = l.SiteCounts
	}
	return counts, nil
}

// CountSite counts what triggers have not: all that one statement sees without what they
// counted of it. Whenever that is, the result is the same.
func (q queries) CountSite(ctx context.Context, siteID cms.ID) error {
	err := q.run(ctx, `insert into site_count (site_id, locale_id, shard, online, offline, dirty, redirects, routes)
		select site_id, locale_id, ?, sum(online), sum(offline), sum(dirty), sum(redirects), sum(routes) from (
			select site_id, locale_id, case when state = ? then 1 else 0 end as online, case when state = ? then 1 else 0 end as offline,
				case when dirty then 1 else 0 end as dirty, 0 as redirects, 0 as routes from page where site_id = ? and `+is(cms.Draft)+`
			union all select site_id, locale_id, 0, 0, 0, 1, 0 from redirect where site_id = ? and `+is(cms.Draft)+notDeleted(cms.Draft)+`
			union all select site_id, cast(? as `+q.dialect.words["UUID"]+`), 0, 0, 0, 0, 1 from route where site_id = ? and deleted_at is null
			union all select site_id, locale_id, -online, -offline, -dirty, -redirects, -routes from site_count where site_id = ?
			union all select s.id, cast(? as `+q.dialect.words["UUID"]+`), 0, 0, 0, 0, 0 from site s where s.id = ?
		) as counted group by site_id, locale_id on conflict do nothing`,
		countedBefore, stateOnline, stateOffline, siteID, siteID, cms.NoID, siteID, siteID, cms.NoID, siteID)
	if err != nil {
		return err
	}
	return q.run(ctx, `update site_count set content_bytes = (select coalesce(sum(coalesce(size, length(value))), 0) from content where site_id = ?)
			- (select coalesce(sum(content_bytes), 0) from site_count where site_id = ?)
		where site_id = ? and locale_id = ? and shard = ? and content_bytes is null`, siteID, siteID, siteID, cms.NoID, countedBefore)
}

func (q queries) Scheduled(ctx context.Context, siteID cms.ID) (count int, next *time.Time, err error) {
	// The scheduled publishes of an installation are few, and have an index by time.
	_, err = one(ctx, q, "", func(r row) (struct{}, error) {
		return struct{}{}, r.Scan(&count, scanNullTime(&next))
	}, `select count(*), min(p.publish_at) from publish p where p.status = 'scheduled' and p.publish_at >= ? and p.site_id = ?`, 0, siteID)
	return count, next, err
}
