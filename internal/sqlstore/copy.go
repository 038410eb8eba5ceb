package sqlstore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"galley/internal/cms"
)

func (q queries) CopySite(ctx context.Context, from, to cms.ID, localeIDs map[cms.ID]cms.ID, now time.Time) (rows int, err error) {
	for old, id := range localeIDs {
		if err := q.noteCopies(ctx, to, cms.KindLocale, []cms.ID{old}, []cms.ID{id}); err != nil {
			return 0, err
		}
	}
	routes, err := values[cms.ID](ctx, q, `select id from route where site_id = ? and deleted_at is null order by id`, from)
	if err != nil {
		return 0, err
	}
	if err := q.noteNewIDs(ctx, to, cms.KindRoute, routes); err != nil {
		return 0, err
	}
	// A page that is deleted in the draft is copied while it is live.
	pages, err := values[cms.ID](ctx, q, `select p.id from page p
		where p.site_id = ? and p.version = ? and p.locale_id = ? and (p.state <> ? or exists (select 1 from page o
			where o.site_id = ? and o.version = ? and o.id = p.id and o.locale_id = ?))
		order by p.id`, from, cms.Draft, cms.NoID, stateDeleted, from, cms.Live, cms.NoID)
	if err != nil {
		return 0, err
	}
	if err := q.noteNewIDs(ctx, to, cms.KindPage, pages); err != nil {
		return 0, err
	}
	where, args := q.dialect.among("r.locale_id", append(anys(slices.Collect(maps.Keys(localeIDs))), cms.NoID))
	redirects, err := values[cms.ID](ctx, q, `select r.id from redirect r
		where r.site_id = ? and r.version = ? and (r.deleted_at is null or exists (select 1 from redirect o
			where o.site_id = ? and o.version = ? and o.id = r.id)) and `+where+` order by r.id`,
		slices.Concat([]any{from, cms.Draft, from, cms.Live}, args)...)
	if err != nil {
		return 0, err
	}
	if err := q.noteNewIDs(ctx, to, cms.KindRedirect, redirects); err != nil {
		return 0, err
	}
	return q.copyRows(ctx, from, to, now)
}

func (q queries) copyRows(ctx context.Context, from, to cms.ID, now time.Time) (rows int, err error) {
	columns := `own, state, name, pathname, title, description, canonical_url, social_image_url,
		sitemap_priority, sitemap_frequency, is_online, no_index, content, title_sort, description_sort, deleted_at`
	read := "p." + strings.Join(strings.Fields(columns), " p.")
	steps := []struct {
		query string
		args  []any
	}{
		{`insert into directory (id, site_id, kind) select new_id, site_id, kind from copy_id
			where site_id = ? and kind <> ?`, []any{to, cms.KindLocale}}, // the locales have theirs
		{`insert into route (site_id, id, pathname, created_at)
			select c.site_id, c.new_id, r.pathname, cast(? as bigint)
			from route r join copy_id c on c.site_id = ? and c.old_id = r.id
			where r.site_id = ?`, []any{now, to, from}},
		// A row of a locale that is not copied has no new locale id.
		{`insert into page (site_id, version, id, locale_id, ` + columns + `, created_at, updated_at, published_at, since, dirty)
			select c.site_id, p.version, c.new_id, coalesce(l.new_id, p.locale_id), ` + read + `,
				cast(? as bigint), cast(? as bigint), case when exists (select 1 from page o where o.site_id = p.site_id
					and o.version = 1 and o.id = p.id and o.locale_id = ?) then cast(? as bigint) end,
				case when p.version = 1 then 1 else 0 end, p.dirty
			from page p join copy_id c on c.site_id = ? and c.old_id = p.id
			left join copy_id l on l.site_id = c.site_id and l.old_id = p.locale_id
			where p.site_id = ? and (p.locale_id = ? or l.new_id is not null)`, []any{now, now, cms.NoID, now, to, from, cms.NoID}},
		{`insert into redirect (site_id, version, id, locale_id, source, target, status, is_automatic, wild, created_at, updated_at,
				published_at, deleted_at, since, dirty)
			select c.site_id, r.version, c.new_id, coalesce(l.new_id, r.locale_id), r.source, r.target, r.status, r.is_automatic, r.wild,
				cast(? as bigint), cast(? as bigint), case when exists (select 1 from redirect o where o.site_id = r.site_id
					and o.version = 1 and o.id = r.id) then cast(? as bigint) end,
				r.deleted_at, case when r.version = 1 then 1 else 0 end, r.dirty
			from redirect r join copy_id c on c.site_id = ? and c.old_id = r.id
			left join copy_id l on l.site_id = c.site_id and l.old_id = r.locale_id
			where r.site_id = ? and (r.locale_id = ? or l.new_id is not null)`, []any{now, now, now, to, from, cms.NoID}},
		{`insert into pathname (site_id, version, pathname, locale_id, owner_id, by_route, by_redirect)
			select c.site_id, n.version, n.pathname, coalesce(l.new_id, n.locale_id), c.new_id, n.by_route, n.by_redirect
			from pathname n join copy_id c on c.site_id = ? and c.old_id = n.owner_id
			left join copy_id l on l.site_id = c.site_id and l.old_id = n.locale_id
			where n.site_id = ?`, []any{to, from}},
		{`insert into content (site_id, digest, created_at, size, value) select s.id, c.digest, cast(? as bigint), c.size, c.value
			from content c join site s on s.id = ?
			where c.site_id = ? and c.digest in (select content from page where site_id = ? and content is not null)`, []any{now, to, from, to}},
		{`delete from copy_id where site_id = ?`, []any{to}},
	}
	// PostgreSQL's statistics may have copy_id as empty: it would read the whole site
	// for each id.
	if err := q.set(ctx, q.dialect.bulkJoins); err != nil {
		return 0, err
	}
	for _, step := range steps {
		n, err := q.exec(ctx, step.query, step.args...)
		if err != nil {
			return 0, err
		}
		rows += int(n)
	}
	return rows, q.set(ctx, q.dialect.anyJoins)
}

// set changes a setting of the transaction, where the dialect has it.
func (q queries) set(ctx context.Context, statement string) error {
	if statement == "" {
		return nil
	}
	return q.run(ctx, statement)
}

// noteNewIDs stores a new id for each old one, in the same order.
func (q queries) noteNewIDs(ctx context.Context, to cms.ID, kind cms.Kind, old []cms.ID) error {
	ids := make([]cms.ID, len(old))
	for i := range ids {
		ids[i] = cms.NewID()
	}
	return q.noteCopies(ctx, to, kind, old, ids)
}

func (q queries) noteCopies(ctx context.Context, to cms.ID, kind cms.Kind, old, ids []cms.ID) error {
	var args []any
	for i, id := range old {
		args = append(args, to, id, ids[i], kind)
	}
	_, err := q.insert(ctx, false, `copy_id (site_id, old_id, new_id, kind)`, 4, args, "")
	return err
}
