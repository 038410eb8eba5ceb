package sqlstore

import (
	"context"

	"galley/internal/cms"
)

func scanLocale(r row) (cms.Locale, error) {
	var l cms.Locale
	return l, r.Scan(&l.SiteID, &l.ID, &l.Code, &l.Domain, &l.PathPrefix, scanTime(&l.CreatedAt), scanNullTime(&l.DeletedAt))
}

func (q queries) Locales(ctx context.Context, siteID cms.ID) (cms.Locales, error) {
	return all(ctx, q, scanLocale, `select site_id, id, code, domain, path_prefix, created_at, deleted_at
		from locale where site_id = ? order by id`, siteID)
}

func (q queries) CreateLocale(ctx context.Context, l cms.Locale) error {
	err := q.run(ctx, `insert into locale (site_id, id, code, domain, path_prefix, created_at, deleted_at)
		values (`+marks(7)+`)`, l.SiteID, l.ID, l.Code, l.Domain, l.PathPrefix, l.CreatedAt, l.DeletedAt)
	if err != nil {
		return err
	}
	if err := q.addToDirectory(ctx, cms.KindLocale, l.ID, l.SiteID); err != nil {
		return err
	}
	return q.bumpRevision(ctx, l.SiteID)
}

func (q queries) UpdateLocale(ctx context.Context, l cms.Locale) error {
	err := q.run(ctx, `update locale set code = ?, domain = ?, path_prefix = ?, deleted_at = ?
		where site_id = ? and id = ?`, l.Code, l.Domain, l.PathPrefix, l.DeletedAt, l.SiteID, l.ID)
	if err != nil {
		return err
	}
	return q.bumpRevision(ctx, l.SiteID)
}

func (q queries) HideLocale(ctx context.Context, siteID, localeID cms.ID) error {
	for _, version := range []cms.Version{cms.Draft, cms.Live} {
		err := q.run(ctx, `delete from pathname where site_id = ? and version = ? and locale_id = ?
			and pathname in (select p.pathname from page p where p.site_id = ? and p.version = ? and p.locale_id = ?)`,
			siteID, version, localeID, siteID, version, localeID)
		if err != nil {
			return err
		}
	}
	return nil
}

func (q queries) ShowLocale(ctx context.Context, siteID, localeID cms.ID) error {
	// A route and a page that inherits the pathname in this locale conflict; a page
	// that has another pathname of its own there does not.
	conflicts, err := values[cms.ID](ctx, q, `select c.owner_id
		from page p
		join pathname c on c.site_id = p.site_id and c.version = p.version and c.pathname = p.pathname
			and c.locale_id = ? and c.owner_id <> p.id
		left join page o on o.site_id = c.site_id and o.version = c.version and o.id = c.owner_id
			and o.locale_id = p.locale_id
		where p.site_id = ? and p.version in (?, ?) and p.locale_id = ? and p.state in (?, ?) and p.own & ? <> 0
			and (c.by_route or o.own is null or o.own & ? = 0)
		limit 1`,
		cms.NoID, siteID, cms.Draft, cms.Live, localeID, stateOnline, stateOffline, cms.FieldPathname, cms.FieldPathname)
	if err != nil {
		return err
	}
	if len(conflicts) > 0 {
		return cms.ErrPathnameTaken
	}
	const own = ` from page where site_id = ? and version in (?, ?) and locale_id = ? and state in (?, ?) and own & ? <> 0`
	args := []any{siteID, cms.Draft, cms.Live, localeID, stateOnline, stateOffline, cms.FieldPathname}
	want, err := value[int64](ctx, q, `select count(*)`+own, args...)
	if err != nil {
		return err
	}
	// Publishes skipped these meanwhile, so the versions may differ.
	if err := q.run(ctx, `update page set dirty = ? where site_id = ? and version = ? and locale_id = ? and id in
		(select o.id from page o where o.site_id = ? and o.version in (?, ?) and o.locale_id = ?)`,
		true, siteID, cms.Draft, cms.NoID, siteID, cms.Draft, cms.Live, localeID); err != nil {
		return err
	}
	// Two pages may have taken the same pathname while the locale was hidden.
	got, err := q.exec(ctx, `insert into pathname (site_id, version, pathname, locale_id, owner_id, by_route)
		select site_id, version, pathname, locale_id, id, ?`+own+` on conflict do nothing`, append([]any{false}, args...)...)
	if err == nil && got < want {
		err = cms.ErrPathnameTaken
	}
	return err
}
