package sqlstore

import (
	"context"
	"time"

	"galley/internal/cms"
)

const workspaceColumns = `id, name, created_at, max_sites, max_pages, max_content_bytes`

func scanWorkspace(r row) (cms.Workspace, error) {
	var w cms.Workspace
	return w, r.Scan(&w.ID, &w.Name, scanTime(&w.CreatedAt), &w.Quota.Sites, &w.Quota.Pages, &w.Quota.ContentBytes)
}

func (q queries) Install(ctx context.Context, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `insert into installation (id, created_at) values (1, ?) on conflict do nothing`, at)
	return n == 1, err
}

func (q queries) Workspace(ctx context.Context, id cms.ID) (cms.Workspace, error) {
	return q.workspace(ctx, "", id)
}

func (q queries) LockWorkspace(ctx context.Context, id cms.ID) (cms.Workspace, error) {
	return q.workspace(ctx, q.dialect.lockUpdate, id)
}

func (q queries) workspace(ctx context.Context, lock string, id cms.ID) (cms.Workspace, error) {
	return one(ctx, q, cms.KindWorkspace, scanWorkspace, `select `+workspaceColumns+` from workspace where id = ?`+lock, id)
}

func (q queries) Workspaces(ctx context.Context) ([]cms.Workspace, error) {
	return all(ctx, q, scanWorkspace, `select `+workspaceColumns+` from workspace order by created_at, id`)
}

func (q queries) CreateWorkspace(ctx context.Context, w cms.Workspace) error {
	return q.run(ctx, `insert into workspace (id, name, created_at) values (?, ?, ?)`, w.ID, w.Name, w.CreatedAt)
}

func (q queries) SetQuota(ctx context.Context, w cms.Workspace) error {
	return q.run(ctx, `update workspace set max_sites = ?, max_pages = ?, max_content_bytes = ? where id = ?`,
		w.Quota.Sites, w.Quota.Pages, w.Quota.ContentBytes, w.ID)
}

func (q queries) Usage(ctx context.Context, workspaceID cms.ID) (cms.Usage, error) {
	return one(ctx, q, cms.KindWorkspace, func(r row) (u cms.Usage, err error) {
		return u, r.Scan(&u.Sites, &u.Pages, &u.ContentBytes)
	}, `select count(case when c.shard = ? then 1 end), cast(coalesce(sum(c.online + c.offline), 0) as bigint), cast(coalesce(sum(c.content_bytes), 0) as bigint)
		from site s join site_count c on c.site_id = s.id and c.locale_id = ?
		where s.workspace_id = ? and s.deleted_at is null`, countedBefore, cms.NoID, workspaceID)
}

func (q queries) UncountedSites(ctx context.Context, workspaceID cms.ID) ([]cms.ID, error) {
	var ids []cms.ID
	for _, deleted := range []string{"is null", "is not null"} { // each has an index
		some, err := values[cms.ID](ctx, q, `select s.id from site s
			left join site_count c on c.site_id = s.id and c.locale_id = ? and c.shard = ?
			where s.workspace_id = ? and s.deleted_at `+deleted+` and c.content_bytes is null`, cms.NoID, countedBefore, workspaceID)
		if err != nil {
			return nil, err
		}
		ids = append(ids, some...)
	}
	return ids, nil
}
