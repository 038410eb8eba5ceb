package sqlstore

import (
	"context"
	"strings"
	"time"

	"galley/internal/cms"
)

const appColumns = `a.id, a.workspace_id, a.name, a.description, a.key_hint, a.scopes, a.site_ids,
	a.created_at, a.last_used_at, a.expires_at, a.deleted_at, a.rate, a.made_by`

func scanApp(r row) (cms.App, error) {
	var (
		a       cms.App
		scopes  string
		siteIDs *string
		rate    *string
		madeBy  *cms.ID
	)
	err := r.Scan(&a.ID, &a.WorkspaceID, &a.Name, &a.Description, &a.KeyHint, &scopes, &siteIDs,
		scanTime(&a.CreatedAt), scanNullTime(&a.LastUsedAt), scanNullTime(&a.ExpiresAt), scanNullTime(&a.DeletedAt), &rate, &madeBy)
	if err != nil {
		return a, err
	}
	a.Rate, a.MadeBy = orEmpty(rate), orNoID(madeBy)
	for scope := range strings.SplitSeq(scopes, ",") {
		a.Scopes = append(a.Scopes, cms.Scope(scope))
	}
	a.SiteIDs, err = splitIDs(siteIDs)
	return a, err
}

func appScopes(a cms.App) string {
	list := make([]string, len(a.Scopes))
	for i, s := range a.Scopes {
		list[i] = string(s)
	}
	return strings.Join(list, ",")
}

func nullID(id cms.ID) *cms.ID {
	if id == cms.NoID {
		return nil
	}
	return &id
}

func (q queries) App(ctx context.Context, workspaceID, id cms.ID) (cms.App, error) {
	return q.app(ctx, "", workspaceID, id)
}

func (q queries) LockApp(ctx context.Context, workspaceID, id cms.ID) (cms.App, error) {
	return q.app(ctx, q.dialect.lockUpdate, workspaceID, id)
}

func (q queries) app(ctx context.Context, lock string, workspaceID, id cms.ID) (cms.App, error) {
	return one(ctx, q, cms.KindApp, scanApp, `select `+appColumns+` from app a where a.workspace_id = ? and a.id = ?`+lock, workspaceID, id)
}

func (q queries) AppOf(ctx context.Context, id cms.ID) (cms.App, error) {
	return one(ctx, q, cms.KindApp, scanApp, `select `+appColumns+` from app a where a.id = ?`, id)
}

func (q queries) AppByKey(ctx context.Context, hash cms.KeyHash, now time.Time) (cms.App, *time.Time, error) {
	var end *time.Time
	var makerRate *string
	var quota cms.Quota
	a, err := one(ctx, q, cms.KindApp, func(r row) (cms.App, error) {
		return scanApp(withColumns(withColumns(r, &makerRate, &quota.Sites, &quota.Pages, &quota.ContentBytes), scanNullTime(&end)))
	}, `select `+appColumns+`, k.expires_at, m.rate, w.max_sites, w.max_pages, w.max_content_bytes
		from app_key k join app a on a.workspace_id = k.workspace_id and a.id = k.app_id
		join workspace w on w.id = a.workspace_id
		left join app m on m.id = a.made_by
		where k.hash = ? and (k.expires_at is null or k.expires_at > ?)
			and (a.expires_at is null or a.expires_at > ?) and a.deleted_at is null`, hash, now, now)
	a.MakerRate, a.Quota = orEmpty(makerRate), quota
	if end == nil || (a.ExpiresAt != nil && a.ExpiresAt.Before(*end)) {
		end = a.ExpiresAt
	}
	return a, end, err
}

func (q queries) Apps(ctx context.Context, workspaceID cms.ID, list cms.ListQuery) ([]cms.App, error) {
	return all(ctx, q, scanApp, `select `+appColumns+` from app a
		where a.workspace_id = ? and a.id > ? and a.deleted_at is null order by a.id`+atMost(list.Limit+1),
		workspaceID, list.After)
}

func (q queries) CreateApp(ctx context.Context, a cms.App, key cms.KeyHash) error {
	err := q.run(ctx, `insert into app (id, workspace_id, name, description, key_hint, scopes, site_ids,
		created_at, last_used_at, expires_at, deleted_at, rate, made_by) values (`+marks(13)+`)`,
		a.ID, a.WorkspaceID, a.Name, a.Description, a.KeyHint, appScopes(a), joinIDs(a.SiteIDs),
		a.CreatedAt, a.LastUsedAt, a.ExpiresAt, a.DeletedAt, nullText(a.Rate), nullID(a.MadeBy))
	if err != nil {
		return err
	}
	return q.addAppKey(ctx, a, key)
}

func (q queries) addAppKey(ctx context.Context, a cms.App, key cms.KeyHash) error {
	return q.run(ctx, `insert into app_key (hash, workspace_id, app_id) values (?, ?, ?)`, key, a.WorkspaceID, a.ID)
}

func (q queries) UpdateApp(ctx context.Context, a cms.App) error {
	return q.run(ctx, `update app set name = ?, description = ?, key_hint = ?, scopes = ?, site_ids = ?, expires_at = ?,
		deleted_at = ?, rate = ? where workspace_id = ? and id = ?`,
		a.Name, a.Description, a.KeyHint, appScopes(a), joinIDs(a.SiteIDs), a.ExpiresAt, a.DeletedAt, nullText(a.Rate), a.WorkspaceID, a.ID)
}

func (q queries) RotateAppKey(ctx context.Context, a cms.App, key cms.KeyHash, oldEnd time.Time) error {
	err := q.run(ctx, `update app_key set expires_at = ? where workspace_id = ? and app_id = ?
		and (expires_at is null or expires_at > ?)`, oldEnd, a.WorkspaceID, a.ID, oldEnd)
	if err != nil {
		return err
	}
	if err := q.UpdateApp(ctx, a); err != nil {
		return err
	}
	return q.addAppKey(ctx, a, key)
}

func (q queries) TouchApp(ctx context.Context, workspaceID, id cms.ID, at time.Time) error {
	return q.run(ctx, `update app set last_used_at = ? where workspace_id = ? and id = ?
		and (last_used_at is null or last_used_at < ?)`, at, workspaceID, id, at)
}
