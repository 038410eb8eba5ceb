package sqlstore

import (
	"context"
	"time"

	"galley/internal/cms"
)

func scanWorkspace(r row) (cms.Workspace, error) {
	var w cms.Workspace
	return w, r.Scan(&w.ID, &w.Name, scanTime(&w.CreatedAt))
}

func (q queries) Install(ctx context.Context, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `insert into installation (id, created_at) values (1, ?) on conflict do nothing`, at)
	return n == 1, err
}

func (q queries) Workspace(ctx context.Context, id cms.ID) (cms.Workspace, error) {
	return one(ctx, q, cms.KindWorkspace, scanWorkspace, `select id, name, created_at from workspace where id = ?`, id)
}

func (q queries) Workspaces(ctx context.Context) ([]cms.Workspace, error) {
	return all(ctx, q, scanWorkspace, `select id, name, created_at from workspace order by created_at, id`)
}

func (q queries) CreateWorkspace(ctx context.Context, w cms.Workspace) error {
	return q.run(ctx, `insert into workspace (id, name, created_at) values (?, ?, ?)`, w.ID, w.Name, w.CreatedAt)
}
