package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"galley/internal/cms"
)

const publishColumns = `p.site_id, p.id, p.seq, p.name, p.status, p.publish_at, p.published_at, p.change_count, p.previous_id,
	p.restored_from, p.reason, p.created_at, p.created_by, p.page_ids, p.locale_ids, p.confirm, p.plan, p.actor, p.redirect_ids`

// publishSelect are the columns that are read: those that are stored, and the name of
// the app, which may be deleted.
const publishSelect = publishColumns + `, (select a.name from app a where a.id = p.created_by)`

func scanPublish(r row) (cms.Publish, error) {
	var (
		p                         cms.Publish
		pages, locales, redirects *string
		actor, creator            *string
	)
	err := r.Scan(&p.SiteID, &p.ID, &p.Seq, &p.Name, &p.Status, scanNullTime(&p.PublishAt), scanNullTime(&p.PublishedAt),
		&p.ChangeCount, &p.PreviousID, &p.RestoredFrom, &p.Reason, scanTime(&p.CreatedAt), &p.CreatedBy,
		&pages, &locales, &p.Confirm, &p.Plan, &actor, &redirects, &creator)
	if err != nil {
		return p, err
	}
	p.Actor, p.CreatedName = orEmpty(actor), orEmpty(creator)
	if p.Select.PageIDs, err = splitIDs(pages); err != nil {
		return p, err
	}
	if p.Select.RedirectIDs, err = splitIDs(redirects); err != nil {
		return p, err
	}
	p.Select.Locales, err = splitIDs(locales)
	return p, err
}

func publishArgs(p cms.Publish) []any {
	return []any{
		p.SiteID, p.ID, p.Seq, p.Name, p.Status, p.PublishAt, p.PublishedAt, p.ChangeCount, p.PreviousID,
		p.RestoredFrom, p.Reason, p.CreatedAt, p.CreatedBy, joinIDs(p.Select.PageIDs), joinIDs(p.Select.Locales), p.Confirm, p.Plan, nullText(p.Actor),
		joinIDs(p.Select.RedirectIDs),
	}
}

func joinIDs(ids []cms.ID) *string {
	if ids == nil {
		return nil
	}
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	return new(strings.Join(list, ","))
}

func splitIDs(joined *string) ([]cms.ID, error) {
	if joined == nil {
		return nil, nil
	}
	ids := []cms.ID{}
	if *joined == "" {
		return ids, nil
	}
	for s := range strings.SplitSeq(*joined, ",") {
		var id cms.ID
		if err := id.UnmarshalText([]byte(s)); err != nil {
			return nil, fmt.Errorf("a stored list of ids has %q: %w", s, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (q queries) Publish(ctx context.Context, siteID, id cms.ID) (cms.Publish, error) {
	return q.publish(ctx, "", siteID, id)
}

func (q queries) LockPublish(ctx context.Context, siteID, id cms.ID) (cms.Publish, error) {
	return q.publish(ctx, q.dialect.lockUpdate, siteID, id)
}

func (q queries) publish(ctx context.Context, lock string, siteID, id cms.ID) (cms.Publish, error) {
	return one(ctx, q, cms.KindPublish, scanPublish, `select `+publishSelect+` from publish p where p.site_id = ? and p.id = ?`+lock, siteID, id)
}

func (q queries) LastPublish(ctx context.Context, siteID cms.ID) (cms.Publish, error) {
	return one(ctx, q, cms.KindPublish, scanPublish, `select `+publishSelect+` from publish p
		where p.site_id = ? and p.seq > 0 order by p.seq desc limit 1`, siteID)
}

func (q queries) Publishes(ctx context.Context, siteID, pageID cms.ID, list cms.ListQuery) ([]cms.Publish, error) {
	where, args := `p.site_id = ?`, []any{siteID}
	if pageID != cms.NoID {
		where += ` and p.seq > 0 and p.seq in (select since from page where site_id = ? and version = ? and id = ?
			union select since from page_past where site_id = ? and id = ?
			union select until from page_past where site_id = ? and id = ?)`
		args = append(args, siteID, cms.Live, pageID, siteID, pageID, siteID, pageID)
	}
	if list.After != cms.NoID {
		where += ` and (p.created_at, p.id) < (select c.created_at, c.id from publish c where c.site_id = ? and c.id = ?)`
		args = append(args, siteID, list.After)
	}
	return all(ctx, q, scanPublish, `select `+publishSelect+` from publish p where `+where+`
		order by p.created_at desc, p.id desc`+atMost(list.Limit+1), args...)
}

func (q queries) ScheduledPublishes(ctx context.Context, workspaceID cms.ID, only []cms.ID, list cms.ListQuery) ([]cms.Publish, error) {
	// The scheduled publishes of an installation are few, and have an index by time.
	where, args := `p.status = 'scheduled' and p.publish_at >= ? and p.id > ? and s.workspace_id = ?`, []any{0, list.After, workspaceID}
	if only != nil {
		if len(only) == 0 {
			return nil, nil
		}
		where += ` and p.site_id in (` + marks(len(only)) + `)`
		args = append(args, anys(only)...)
	}
	return all(ctx, q, scanPublish, `select `+publishSelect+` from publish p join site s on s.id = p.site_id
		where `+where+` and s.deleted_at is null order by p.id`+atMost(list.Limit+1), args...)
}

func (q queries) CreatePublish(ctx context.Context, p cms.Publish) error {
	args := publishArgs(p)
	err := q.run(ctx, `insert into publish (`+strings.ReplaceAll(publishColumns, "p.", "")+`) values (`+marks(len(args))+`)`, args...)
	if err != nil {
		return err
	}
	return q.addToDirectory(ctx, cms.KindPublish, p.ID, p.SiteID)
}

func (q queries) UpdatePublish(ctx context.Context, p cms.Publish) error {
	return q.run(ctx, `update publish set seq = ?, status = ?, published_at = ?, change_count = ?, previous_id = ?, reason = ?
		where site_id = ? and id = ?`, p.Seq, p.Status, p.PublishedAt, p.ChangeCount, p.PreviousID, p.Reason, p.SiteID, p.ID)
}

func (q queries) TakeDuePublish(ctx context.Context, now time.Time, notOf []cms.ID) (cms.Publish, error) {
	// While another node runs one of a site, the site's next is not due yet.
	where, args := `p.status = 'scheduled' and p.publish_at <= ? and not exists (select 1 from publish e where e.site_id = p.site_id
		and e.status = 'scheduled' and e.publish_at <= ? and (e.publish_at, e.id) < (p.publish_at, p.id))`, []any{now, now}
	if len(notOf) > 0 {
		these, more := q.dialect.among("p.site_id", anys(notOf))
		where, args = where+` and not (`+these+`)`, append(args, more...)
	}
	return one(ctx, q, cms.KindPublish, scanPublish, `select `+publishSelect+` from publish p
		where `+where+` order by p.publish_at, p.id limit 1`+q.dialect.skipLocked, args...)
}

func (q queries) DirtyPages(ctx context.Context, siteID, after cms.ID, limit int) ([]cms.ID, error) {
	return values[cms.ID](ctx, q, `select id from page where site_id = ? and dirty and id > ? order by id`+atMost(limit), siteID, after)
}

func (q queries) PublishedPages(ctx context.Context, siteID cms.ID, seq int64, after cms.ID, limit int) ([]cms.ID, error) {
	part := func(table, column, more string) string {
		return `select id from (select distinct id from ` + table + ` where site_id = ? and ` + column + ` = ? and id > ?` + more + `
			order by id limit ?) as ` + table + `_` + column
	}
	return values[cms.ID](ctx, q, part("page", "since", " and version = 1")+` union `+part("page_past", "since", "")+`
		union `+part("page_past", "until", "")+` order by id limit ?`,
		siteID, seq, after, limit, siteID, seq, after, limit, siteID, seq, after, limit, limit)
}

func (q queries) PagesSince(ctx context.Context, siteID cms.ID, seq int64) ([]cms.ID, error) {
	live, err := values[cms.ID](ctx, q, `select id from page where site_id = ? and version = 1 and since > ?`, siteID, seq)
	if err != nil {
		return nil, err
	}
	past, err := values[cms.ID](ctx, q, `select id from page_past where site_id = ? and until > ?`, siteID, seq)
	return cms.SortIDs(append(live, past...)), err
}

func (q queries) CountPages(ctx context.Context, siteID cms.ID, version cms.Version) (pages, rows int, err error) {
	counts, err := one(ctx, q, "", func(r row) (n [2]int, err error) {
		return n, r.Scan(&n[0], &n[1])
	}, `select coalesce(sum(case when locale_id = ? then 1 else 0 end), 0), count(*) from page
		where site_id = ? and `+is(version)+` and deleted_at is null`, cms.NoID, siteID)
	return counts[0], counts[1], err
}

func (q queries) ReplaceLive(ctx context.Context, siteID cms.ID, seq int64, changes []cms.PageChange) error {
	// The same rows are copied to page_past and changed, chunk by chunk, while they
	// are in the engine's cache.
	for some := range slices.Chunk(changes, idChunk) {
		var was []cms.ID
		for _, c := range some {
			if c.Before != nil {
				was = append(was, c.Before.ID)
			}
		}
		if len(was) > 0 {
			where, args := q.dialect.among("id", anys(was))
			err := q.run(ctx, `insert into page_past (`+pastColumns+`, until) select `+pastColumns+`, cast(? as bigint)
				from page where site_id = ? and `+is(cms.Live)+` and `+where, slices.Concat([]any{seq, siteID}, args)...)
			if err != nil {
				return err
			}
		}
		var drafts, others []cms.PageChange
		for _, c := range some {
			// Where statements are cheap, it is cheaper to set only what changes.
			if c.AsDraft && (c.Before == nil || !q.dialect.local) {
				drafts = append(drafts, c)
			} else {
				others = append(others, c)
			}
		}
		if err := q.putDrafts(ctx, siteID, drafts); err != nil {
			return err
		}
		if err := q.UpdatePages(ctx, others); err != nil {
			return err
		}
	}
	return nil
}

// putDrafts copies the rows of drafts to the live version within the database.
func (q queries) putDrafts(ctx context.Context, siteID cms.ID, changes []cms.PageChange) error {
	if len(changes) == 0 {
		return nil
	}
	var ids []cms.ID
	var gone []cms.PageRow
	for _, c := range changes {
		ids = append(ids, c.After.ID)
		if c.Before != nil {
			for locale := range c.Before.Localizations {
				if _, ok := c.After.Localizations[locale]; !ok {
					gone = append(gone, c.Before.In(locale))
				}
			}
		}
	}
	if err := q.deleteRows(ctx, gone); err != nil {
		return err
	}
	where, args := q.dialect.among("id", anys(ids))
	first := changes[0].After // they are published together
	return q.run(ctx, copyDrafts+where+` on conflict (`+rowKey+`) do update set `+overwritten,
		slices.Concat([]any{first.PublishedAt, first.Since, siteID}, args)...)
}

// copyDrafts copies rows of drafts to the live version, and overwritten sets the
// columns of a row that exists.
var copyDrafts, overwritten = func() (insert, update string) {
	live := map[string]string{"version": strconv.Itoa(int(cms.Live)), "published_at": "cast(? as bigint)", "since": "cast(? as bigint)", "dirty": "false"}
	var values, set []string
	for i, column := range storedColumns {
		value, ok := live[column]
		if !ok {
			value = column
		}
		values = append(values, value)
		if i >= keyColumns {
			set = append(set, column+" = excluded."+column)
		}
	}
	return `insert into page (` + strings.Join(storedColumns, ", ") + `) select ` + strings.Join(values, ", ") + `
		from page where site_id = ? and ` + is(cms.Draft) + ` and `, strings.Join(set, ", ")
}()

func (q queries) MarkPages(ctx context.Context, siteID cms.ID, ids []cms.ID, publishedAt *time.Time, dirty bool) error {
	for chunk := range slices.Chunk(ids, idChunk) {
		named, args := q.dialect.among("id", anys(chunk))
		where := ` where site_id = ? and ` + is(cms.Draft) + ` and ` + named
		args = slices.Concat([]any{siteID}, args)
		var err error
		if publishedAt != nil {
			err = q.run(ctx, `update page set published_at = ?, dirty = (cast(? as boolean) and locale_id = ?)`+where,
				append([]any{publishedAt, dirty, cms.NoID}, args...)...)
		} else {
			err = q.run(ctx, `update page set dirty = ?`+where+` and locale_id = ?`, append(append([]any{dirty}, args...), cms.NoID)...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
