package sqlstore

import (
	"context"
	"time"

	"galley/internal/cms"
)

const previewColumns = `id, site_id, name, publish_id, locale_id, path_prefix, created_at, created_by, expires_at, last_used_at, deleted_at`

func scanPreview(r row) (cms.Preview, error) {
	var p cms.Preview
	var publishID, localeID *cms.ID
	err := r.Scan(&p.ID, &p.SiteID, &p.Name, &publishID, &localeID, &p.PathPrefix, scanTime(&p.CreatedAt), &p.CreatedBy,
		scanTime(&p.ExpiresAt), scanNullTime(&p.LastUsedAt), scanNullTime(&p.DeletedAt))
	p.PublishID, p.LocaleID = orNoID(publishID), orNoID(localeID)
	return p, err
}

func orNoID(id *cms.ID) cms.ID {
	if id == nil {
		return cms.NoID
	}
	return *id
}

func (q queries) Preview(ctx context.Context, siteID, id cms.ID) (cms.Preview, error) {
	return one(ctx, q, cms.KindPreview, scanPreview, `select `+previewColumns+` from preview where site_id = ? and id = ?`, siteID, id)
}

func (q queries) PreviewByToken(ctx context.Context, hash cms.KeyHash, now time.Time) (cms.Preview, error) {
	return one(ctx, q, cms.KindPreview, scanPreview, `select `+previewColumns+` from preview
		where token_hash = ? and expires_at > ? and deleted_at is null`, hash, now)
}

func (q queries) Previews(ctx context.Context, siteID cms.ID, list cms.ListQuery) ([]cms.Preview, error) {
	return all(ctx, q, scanPreview, `select `+previewColumns+` from preview
		where site_id = ? and id > ? and deleted_at is null order by id`+atMost(list.Limit+1), siteID, list.After)
}

func (q queries) CreatePreview(ctx context.Context, p cms.Preview, token cms.KeyHash) error {
	err := q.run(ctx, `insert into preview (`+previewColumns+`, token_hash) values (`+marks(12)+`)`,
		p.ID, p.SiteID, p.Name, nullID(p.PublishID), nullID(p.LocaleID), p.PathPrefix, p.CreatedAt, p.CreatedBy,
		p.ExpiresAt, p.LastUsedAt, p.DeletedAt, token)
	if err != nil {
		return err
	}
	return q.addToDirectory(ctx, cms.KindPreview, p.ID, p.SiteID)
}

func (q queries) EndPreview(ctx context.Context, siteID, id cms.ID, at time.Time) error {
	return q.run(ctx, `update preview set deleted_at = ? where site_id = ? and id = ?`, at, siteID, id)
}

func (q queries) TouchPreview(ctx context.Context, siteID, id cms.ID, at time.Time) error {
	return q.run(ctx, `update preview set last_used_at = ? where site_id = ? and id = ?
		and (last_used_at is null or last_used_at < ?)`, at, siteID, id, at)
}

func (q queries) PurgePreviews(ctx context.Context, before time.Time, limit int) (int, error) {
	ended, err := all(ctx, q, scanPair, `select site_id, id from preview where expires_at < ? order by expires_at`+atMost(limit), before)
	for _, p := range ended {
		if err == nil {
			err = q.run(ctx, `delete from preview where site_id = ? and id = ?`, p[0], p[1])
		}
		if err == nil {
			err = q.run(ctx, `delete from directory where id = ?`, p[1])
		}
	}
	return len(ended), err
}
