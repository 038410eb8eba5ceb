package sqlstore

import (
	"context"

	"galley/internal/cms"
)

const routeColumns = `id, site_id, pathname, created_at, deleted_at`

func scanRoute(r row) (cms.Route, error) {
	var t cms.Route
	return t, r.Scan(&t.ID, &t.SiteID, &t.Pathname, scanTime(&t.CreatedAt), scanNullTime(&t.DeletedAt))
}

func (q queries) Route(ctx context.Context, siteID, id cms.ID) (cms.Route, error) {
	return one(ctx, q, cms.KindRoute, scanRoute, `select `+routeColumns+` from route where site_id = ? and id = ?`, siteID, id)
}

func (q queries) LockRoute(ctx context.Context, siteID, id cms.ID) (cms.Route, error) {
	return one(ctx, q, cms.KindRoute, scanRoute, `select `+routeColumns+` from route where site_id = ? and id = ?`+q.dialect.lockUpdate, siteID, id)
}

func (q queries) Routes(ctx context.Context, siteID cms.ID, under string, list cms.ListQuery) ([]cms.Route, error) {
	where, args := atOrBelow("pathname", under)
	return all(ctx, q, scanRoute, `select `+routeColumns+` from route
		where site_id = ? and id > ? and deleted_at is null`+where+` order by id`+atMost(list.Limit+1),
		append([]any{siteID, list.After}, args...)...)
}

func (q queries) CreateRoute(ctx context.Context, t cms.Route) error {
	err := q.run(ctx, `insert into route (`+routeColumns+`) values (`+marks(5)+`)`,
		t.ID, t.SiteID, t.Pathname, t.CreatedAt, t.DeletedAt)
	if err != nil {
		return err
	}
	return q.addToDirectory(ctx, cms.KindRoute, t.ID, t.SiteID)
}

func (q queries) UpdateRoute(ctx context.Context, t cms.Route) error {
	return q.run(ctx, `update route set pathname = ?, deleted_at = ? where site_id = ? and id = ?`,
		t.Pathname, t.DeletedAt, t.SiteID, t.ID)
}
