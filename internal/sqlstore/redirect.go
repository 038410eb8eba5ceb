package sqlstore

import (
	"context"
	"slices"
	"strings"

	"galley/internal/cms"
)

const redirectColumns = `site_id, version, id, locale_id, source, target, status, is_automatic, created_at, updated_at, published_at, deleted_at, since, dirty`

// pastRedirectColumns are redirectColumns of redirect_past.
const pastRedirectColumns = `site_id, cast(1 as smallint), id, locale_id, source, target, status, is_automatic, created_at, updated_at, published_at,
	cast(null as bigint), since, false`

func scanRedirect(r row) (cms.Redirect, error) {
	var d cms.Redirect
	return d, r.Scan(&d.SiteID, &d.Version, &d.ID, &d.LocaleID, &d.Source, &d.Target, &d.Status, &d.IsAutomatic,
		scanTime(&d.CreatedAt), scanTime(&d.UpdatedAt), scanNullTime(&d.PublishedAt), scanNullTime(&d.DeletedAt), &d.Since, &d.Dirty)
}

// redirects reads redirects of a version by a further condition, in one statement.
func (q queries) redirects(ctx context.Context, siteID cms.ID, version cms.Version, where string, args []any, order string) ([]cms.Redirect, error) {
	query := `select ` + redirectColumns + ` from redirect where site_id = ?`
	seq, past := version.Past()
	if !past {
		return all(ctx, q, scanRedirect, query+` and `+is(version)+` and `+where+order, slices.Concat([]any{siteID}, args)...)
	}
	return all(ctx, q, scanRedirect, query+` and `+is(cms.Live)+` and since <= ? and `+where+`
		union all select `+pastRedirectColumns+` from redirect_past where site_id = ? and since <= ? and until > ? and `+where+order,
		slices.Concat([]any{siteID, seq}, args, []any{siteID, seq, seq}, args)...)
}

// notDeleted is a condition on rows of a version; only drafts may be deleted.
func notDeleted(version cms.Version) string {
	if version == cms.Draft {
		return ` and deleted_at is null`
	}
	return ""
}

func (q queries) Redirect(ctx context.Context, siteID cms.ID, version cms.Version, id cms.ID) (cms.Redirect, error) {
	found, err := q.redirects(ctx, siteID, version, `id = ?`, []any{id}, "")
	if err == nil && len(found) == 0 {
		err = cms.NotFound(cms.KindRedirect)
	}
	if err != nil {
		return cms.Redirect{}, err
	}
	return found[0], nil
}

func (q queries) LastLiveRedirect(ctx context.Context, siteID, id cms.ID) (cms.Redirect, error) {
	return one(ctx, q, cms.KindRedirect, scanRedirect, `select `+pastRedirectColumns+` from redirect_past
		where site_id = ? and id = ? order by since desc limit 1`, siteID, id)
}

func (q queries) RedirectsByID(ctx context.Context, siteID cms.ID, version cms.Version, ids []cms.ID) (map[cms.ID]*cms.Redirect, error) {
	found := make(map[cms.ID]*cms.Redirect, len(ids))
	for chunk := range slices.Chunk(ids, idChunk) {
		where, args := q.dialect.among("id", anys(chunk))
		some, err := q.redirects(ctx, siteID, version, where, args, "")
		if err != nil {
			return nil, err
		}
		for _, r := range some {
			found[r.ID] = &r
		}
	}
	return found, nil
}

func (q queries) Redirects(ctx context.Context, rq cms.RedirectQuery) ([]cms.Redirect, error) {
	where, args := `source >= ?`+notDeleted(rq.Version), []any{rq.SourcePrefix}
	if rq.Deleted {
		where = `source >= ? and deleted_at is not null`
	}
	if end, ok := prefixEnd(rq.SourcePrefix); ok {
		where, args = where+` and source < ?`, append(args, end)
	}
	below, more := atOrBelow("source", rq.Under)
	where, args = where+below, append(args, more...)
	if rq.After != nil {
		where, args = where+` and (source, id) > (?, ?)`, append(args, rq.After.Key.Text, rq.After.ID)
	}
	if rq.LocaleIDs != nil {
		these, more := q.dialect.among("locale_id", anys(rq.LocaleIDs))
		where, args = where+` and `+these, append(args, more...)
	}
	return q.redirects(ctx, rq.SiteID, rq.Version, where, args, ` order by source, id`+atMost(rq.Limit+1))
}

func (q queries) RedirectsFrom(ctx context.Context, siteID cms.ID, version cms.Version, sources []string) ([]cms.Redirect, error) {
	return q.redirectsAmong(ctx, siteID, version, "source", sources, notDeleted(version))
}

func (q queries) RedirectsTo(ctx context.Context, siteID cms.ID, version cms.Version, targets []string) ([]cms.Redirect, error) {
	return q.redirectsAmong(ctx, siteID, version, "target", targets, ` and is_automatic`+notDeleted(version))
}

func (q queries) redirectsAmong(ctx context.Context, siteID cms.ID, version cms.Version, column string, texts []string, and string) ([]cms.Redirect, error) {
	var found []cms.Redirect
	for chunk := range slices.Chunk(texts, idChunk) {
		where, args := q.dialect.among(column, anys(chunk))
		some, err := q.redirects(ctx, siteID, version, where+and, args, "")
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

func (q queries) RedirectsBelow(ctx context.Context, siteID cms.ID, version cms.Version, pathname string) ([]cms.Redirect, error) {
	prefix := strings.TrimSuffix(pathname, "/") + "/"
	end, _ := prefixEnd(prefix) // a slash is followed by another character
	return q.redirects(ctx, siteID, version, `source > ? and source < ? and source <> ?`+notDeleted(version), []any{prefix, end, cms.Below(pathname)}, "")
}

func (q queries) RedirectsIn(ctx context.Context, siteID cms.ID, version cms.Version, localeID cms.ID) ([]cms.Redirect, error) {
	return q.redirects(ctx, siteID, version, `locale_id = ?`+notDeleted(version), []any{localeID}, "")
}

func (q queries) RedirectsAway(ctx context.Context, siteID cms.ID, version cms.Version) ([]cms.Redirect, error) {
	return q.redirects(ctx, siteID, version, `target not like '/%'`+notDeleted(version), nil, "")
}

func (q queries) RedirectsLeading(ctx context.Context, siteID cms.ID, targets, below []string) ([]cms.Redirect, error) {
	found, err := q.redirectsAmong(ctx, siteID, cms.Live, "target", targets, "")
	if err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(below, targetRanges) {
		where, args := []string{}, []any{}
		for _, pathname := range chunk {
			prefix := strings.TrimSuffix(pathname, "/") + "/"
			end, _ := prefixEnd(prefix) // a slash is followed by another character
			where, args = append(where, `target > ? and target < ?`), append(args, prefix, end)
		}
		some, err := q.redirects(ctx, siteID, cms.Live, `(`+strings.Join(where, " or ")+`)`, args, "")
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

// targetRanges is how many ranges of targets one statement has.
const targetRanges = 50

func (q queries) HasRedirects(ctx context.Context, siteID cms.ID) (bool, error) {
	found, err := values[int64](ctx, q, `select 1 from redirect where site_id = ? and `+is(cms.Live)+` limit 1`, siteID)
	return len(found) > 0, err
}

func (q queries) HasWildRedirects(ctx context.Context, siteID cms.ID, version cms.Version) (bool, error) {
	found, err := values[int64](ctx, q, `select 1 from redirect where site_id = ? and wild and `+is(version)+notDeleted(version)+` limit 1`, siteID)
	return len(found) > 0, err
}

func (q queries) CountRedirects(ctx context.Context, siteID cms.ID, version cms.Version) (int, error) {
	return value[int](ctx, q, `select count(*) from redirect where site_id = ? and `+is(version)+notDeleted(version), siteID)
}

func (q queries) DirtyRedirects(ctx context.Context, siteID cms.ID) ([]cms.ID, error) {
	return values[cms.ID](ctx, q, `select id from redirect where site_id = ? and dirty order by id`, siteID)
}

func (q queries) PublishedRedirects(ctx context.Context, siteID cms.ID, seq int64, after cms.ID, limit int) ([]cms.ID, error) {
	part := func(table, column, more string) string {
		return `select id from (select id from ` + table + ` where site_id = ? and ` + column + ` = ? and id > ?` + more + `
			order by id limit ?) as ` + table + `_` + column
	}
	return values[cms.ID](ctx, q, part("redirect", "since", " and version = 1")+` union `+part("redirect_past", "since", "")+`
		union `+part("redirect_past", "until", "")+` order by id limit ?`,
		siteID, seq, after, limit, siteID, seq, after, limit, siteID, seq, after, limit, limit)
}

func (q queries) RedirectsSince(ctx context.Context, siteID cms.ID, seq int64) ([]cms.ID, error) {
	live, err := values[cms.ID](ctx, q, `select id from redirect where site_id = ? and version = 1 and since > ?`, siteID, seq)
	if err != nil {
		return nil, err
	}
	past, err := values[cms.ID](ctx, q, `select id from redirect_past where site_id = ? and until > ?`, siteID, seq)
	return cms.SortIDs(append(live, past...)), err
}

const storedRedirect = `redirect (` + redirectColumns + `, wild)`

var redirectWidth = strings.Count(storedRedirect, ",") + 1

// overwrittenRedirect sets the columns of a row that exists.
var overwrittenRedirect = func() string {
	var set []string
	for _, column := range append(strings.Split(redirectColumns, ", ")[3:], "wild") {
		set = append(set, column+" = excluded."+column)
	}
	return ` on conflict (site_id, version, id) do update set ` + strings.Join(set, ", ")
}()

func (q queries) SaveRedirects(ctx context.Context, redirects ...cms.Redirect) error {
	var args, ids []any
	for _, r := range redirects {
		for _, arg := range []any{
			r.SiteID, r.Version, r.ID, r.LocaleID, r.Source, r.Target, r.Status, r.IsAutomatic,
			r.CreatedAt, r.UpdatedAt, r.PublishedAt, r.DeletedAt, r.Since, r.Dirty, r.IsWild(),
		} {
			args = append(args, argument(arg))
		}
		if r.Version == cms.Draft {
			ids = append(ids, r.ID, r.SiteID, cms.KindRedirect)
		}
	}
	if _, err := q.insert(ctx, false, storedRedirect, redirectWidth, args, overwrittenRedirect); err != nil {
		return err
	}
	_, err := q.insert(ctx, false, directory, 3, ids, ` on conflict do nothing`)
	return err
}

// pastRedirect are the columns of redirect_past, without until.
const pastRedirect = `site_id, id, since, locale_id, source, target, status, is_automatic, created_at, updated_at, published_at`

func (q queries) ReplaceLiveRedirects(ctx context.Context, siteID cms.ID, seq int64, changes []cms.RedirectChange) error {
	for some := range slices.Chunk(changes, idChunk) {
		var was, gone []cms.ID
		var live []cms.Redirect
		for _, c := range some {
			if c.Before != nil {
				was = append(was, c.Before.ID)
			}
			if c.After == nil {
				gone = append(gone, c.Before.ID)
			} else {
				live = append(live, *c.After)
			}
		}
		if len(was) > 0 {
			where, args := q.dialect.among("id", anys(was))
			err := q.run(ctx, `insert into redirect_past (`+pastRedirect+`, until) select `+pastRedirect+`, cast(? as bigint)
				from redirect where site_id = ? and `+is(cms.Live)+` and `+where, slices.Concat([]any{seq, siteID}, args)...)
			if err != nil {
				return err
			}
		}
		if len(gone) > 0 {
			where, args := q.dialect.among("id", anys(gone))
			if err := q.run(ctx, `delete from redirect where site_id = ? and `+is(cms.Live)+` and `+where, slices.Concat([]any{siteID}, args)...); err != nil {
				return err
			}
		}
		if err := q.SaveRedirects(ctx, live...); err != nil {
			return err
		}
	}
	return nil
}
