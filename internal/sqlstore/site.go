package sqlstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"galley/internal/cms"
)

const siteSelect = `select s.id, s.workspace_id, s.name, s.host_origin, s.public_api_key, s.key_access, s.locale_mode,
	s.default_locale_id, s.auto_redirects, s.preview_url_template, s.labels, s.created_at, s.updated_at, s.deleted_at,
	l.site_id, l.id, l.code, l.domain, l.path_prefix, l.created_at, l.deleted_at
	from site s join locale l on l.site_id = s.id and l.id = s.default_locale_id`

func scanSite(r row) (cms.Site, error) {
	var s cms.Site
	var labels *string
	l := &s.DefaultLocale
	err := r.Scan(&s.ID, &s.WorkspaceID, &s.Name, &s.HostOrigin, &s.PublicAPIKey, &s.KeyAccess, &s.LocaleMode,
		&s.DefaultLocaleID, &s.AutoRedirects, &s.PreviewURLTemplate, &labels, scanTime(&s.CreatedAt), scanTime(&s.UpdatedAt), scanNullTime(&s.DeletedAt),
		&l.SiteID, &l.ID, &l.Code, &l.Domain, &l.PathPrefix, scanTime(&l.CreatedAt), scanNullTime(&l.DeletedAt))
	if labels != nil {
		s.Labels = strings.Split(*labels, ",")
	}
	return s, err
}

func (q queries) Site(ctx context.Context, id cms.ID) (cms.Site, error) {
	return one(ctx, q, cms.KindSite, scanSite, siteSelect+` where s.id = ?`, id)
}

// LockSite takes the lock before it reads: a statement that waited for a lock reads
// the locked row again, but not the rows joined to it.
func (q queries) LockSite(ctx context.Context, id cms.ID, lock cms.Lock) (cms.Site, error) {
	if suffix := q.siteLock(lock); suffix != "" {
		if err := q.run(ctx, `select s.id from site s where s.id = ?`+suffix, id); err != nil {
			return cms.Site{}, err
		}
	}
	return q.Site(ctx, id)
}

// siteLock returns the suffix of a select that locks a site.
func (q queries) siteLock(lock cms.Lock) string {
	suffix := q.dialect.lockUpdate
	if lock == cms.LockShared {
		suffix = q.dialect.lockShared
	}
	if suffix == "" {
		return ""
	}
	return suffix + " of s"
}

func (q queries) SiteByKey(ctx context.Context, key cms.ID, now time.Time) (cms.Site, *time.Time, error) {
	var end *time.Time
	s, err := one(ctx, q, cms.KindSite, func(r row) (cms.Site, error) {
		return scanSite(withColumns(r, scanNullTime(&end)))
	}, strings.Replace(siteSelect, "\n\tfrom", ", k.expires_at from", 1)+` join site_key k on k.site_id = s.id
		where k.site_key = ? and (k.expires_at is null or k.expires_at > ?)`, key, now)
	return s, end, err
}

// searchChunk is how many names of sites a search reads at a time.
const searchChunk = 1000

// Sites reads an index of the workspace in order. A search reads on until it has
// found enough.
func (q queries) Sites(ctx context.Context, workspaceID cms.ID, only []cms.ID, list cms.SiteQuery) ([]cms.Site, error) {
	if only != nil && len(only) == 0 {
		return nil, nil
	}
	chunk := list.Limit + 1
	if list.Search != "" {
		chunk = searchChunk
	}
	var found []cms.Site
	for {
		sites, err := q.sites(ctx, workspaceID, only, list, chunk)
		if err != nil || list.Search == "" {
			return sites, err
		}
		for _, s := range sites {
			if strings.Contains(cms.Fold(s.Name), list.Search) {
				found = append(found, s)
			}
		}
		if len(sites) < chunk || len(found) > list.Limit {
			return found[:min(len(found), list.Limit+1)], nil
		}
		list.After = sites[len(sites)-1].ID
	}
}

func (q queries) sites(ctx context.Context, workspaceID cms.ID, only []cms.ID, list cms.SiteQuery, limit int) ([]cms.Site, error) {
	from, where, args := siteSelect, ` where s.workspace_id = ? and s.id > ?`, []any{workspaceID, list.After}
	order := ` order by s.id`
	if list.Label != "" {
		from += ` join site_label b on b.site_id = s.id`
		where, args = ` where b.workspace_id = ? and b.label = ? and b.site_id > ?`, []any{workspaceID, list.Label, list.After}
		order = ` order by b.site_id`
	}
	if list.Deleted {
		where += ` and s.deleted_at is not null`
	} else {
		where += ` and s.deleted_at is null`
	}
	if only != nil {
		where += ` and s.id in (` + marks(len(only)) + `)`
		args = append(args, anys(only)...)
	}
	return all(ctx, q, scanSite, from+where+order+atMost(limit), args...)
}

func (q queries) SitesByOrigin(ctx context.Context, workspaceID cms.ID, only []cms.ID, origin string) ([]cms.ID, error) {
	where, args := ` and s.workspace_id = ? and s.deleted_at is null`, []any{origin, workspaceID}
	if only != nil {
		if len(only) == 0 {
			return nil, nil
		}
		where += ` and s.id in (` + marks(len(only)) + `)`
		args = append(args, anys(only)...)
	}
	return values[cms.ID](ctx, q, `select s.id from site s where s.host_origin = ?`+where+`
		union select s.id from locale l join site s on s.id = l.site_id where l.domain = ? and l.deleted_at is null`+where+` limit 2`,
		slices.Concat(args, args)...)
}

func (q queries) SitesOf(ctx context.Context, ids []cms.ID) (map[cms.ID]cms.ID, error) {
	if len(ids) == 0 {
		return map[cms.ID]cms.ID{}, nil
	}
	pairs, err := all(ctx, q, scanPair, `select id, workspace_id from site
		where deleted_at is null and id in (`+marks(len(ids))+`)`, anys(ids)...)
	workspaces := make(map[cms.ID]cms.ID, len(pairs))
	for _, p := range pairs {
		workspaces[p[0]] = p[1]
	}
	return workspaces, err
}

func scanPair(r row) ([2]cms.ID, error) {
	var p [2]cms.ID
	return p, r.Scan(&p[0], &p[1])
}

func (q queries) SiteOf(ctx context.Context, kind cms.Kind, id cms.ID) (cms.ID, error) {
	return one(ctx, q, kind, scanValue[cms.ID], `select site_id from directory where id = ? and kind = ?`, id, kind)
}

func (q queries) addToDirectory(ctx context.Context, kind cms.Kind, id, siteID cms.ID) error {
	return q.run(ctx, `insert into `+directory+` values (?, ?, ?)`, id, siteID, kind)
}

const directory = `directory (id, site_id, kind)`

func (q queries) CreateSite(ctx context.Context, s cms.Site) error {
	err := q.run(ctx, `insert into site (id, workspace_id, name, host_origin, public_api_key, key_access, locale_mode,
		default_locale_id, auto_redirects, preview_url_template, labels, created_at, updated_at, deleted_at) values (`+marks(14)+`)`,
		s.ID, s.WorkspaceID, s.Name, s.HostOrigin, s.PublicAPIKey, s.KeyAccess, s.LocaleMode,
		s.DefaultLocaleID, s.AutoRedirects, s.PreviewURLTemplate, nullText(strings.Join(s.Labels, ",")), s.CreatedAt, s.UpdatedAt, s.DeletedAt)
	if err != nil {
		return err
	}
	if err := q.setLabels(ctx, s); err != nil {
		return err
	}
	return q.addSiteKey(ctx, s)
}

func (q queries) addSiteKey(ctx context.Context, s cms.Site) error {
	return q.run(ctx, `insert into site_key (site_key, site_id) values (?, ?)`, s.PublicAPIKey, s.ID)
}

func (q queries) Revision(ctx context.Context, siteID cms.ID) (int64, error) {
	return one(ctx, q, cms.KindSite, scanValue[int64], `select shape from site where id = ?`, siteID)
}

func (q queries) LockRevision(ctx context.Context, workspaceID, siteID cms.ID, lock cms.Lock) (int64, error) {
	return one(ctx, q, cms.KindSite, scanValue[int64], `select s.shape from site s where s.id = ? and s.workspace_id = ?`+q.siteLock(lock), siteID, workspaceID)
}

func (q queries) bumpRevision(ctx context.Context, siteID cms.ID) error {
	return q.run(ctx, `update site set shape = shape + 1 where id = ?`, siteID)
}

func (q queries) UpdateSite(ctx context.Context, s cms.Site) error {
	err := q.run(ctx, `update site set name = ?, host_origin = ?, public_api_key = ?, key_access = ?, locale_mode = ?,
		default_locale_id = ?, auto_redirects = ?, preview_url_template = ?, labels = ?, updated_at = ?, deleted_at = ?, shape = shape + 1 where id = ?`,
		s.Name, s.HostOrigin, s.PublicAPIKey, s.KeyAccess, s.LocaleMode, s.DefaultLocaleID, s.AutoRedirects, s.PreviewURLTemplate, nullText(strings.Join(s.Labels, ",")),
		s.UpdatedAt, s.DeletedAt, s.ID)
	if err != nil {
		return err
	}
	if err := q.run(ctx, `delete from site_label where site_id = ?`, s.ID); err != nil {
		return err
	}
	return q.setLabels(ctx, s)
}

// setLabels adds the labels of a site to their index.
func (q queries) setLabels(ctx context.Context, s cms.Site) error {
	var args []any
	for _, label := range s.Labels {
		args = append(args, s.WorkspaceID, label, s.ID)
	}
	_, err := q.insert(ctx, false, `site_label (workspace_id, label, site_id)`, 3, args, "")
	return err
}

func (q queries) RotateSiteKey(ctx context.Context, s cms.Site, oldEnd time.Time) error {
	err := q.run(ctx, `update site_key set expires_at = ? where site_id = ? and (expires_at is null or expires_at > ?)`,
		oldEnd, s.ID, oldEnd)
	if err != nil {
		return err
	}
	if err := q.UpdateSite(ctx, s); err != nil {
		return err
	}
	return q.addSiteKey(ctx, s)
}

func (q queries) PurgeSites(ctx context.Context, before time.Time, limit int) ([]cms.Site, error) {
	// Locked, so that none is restored meanwhile.
	ids, err := values[cms.ID](ctx, q, `select s.id from site s where s.deleted_at < ? order by s.deleted_at limit ?`+q.dialect.skipLocked, before, limit)
	if err != nil {
		return nil, err
	}
	var sites []cms.Site
	for _, id := range ids {
		site, err := q.Site(ctx, id)
		if err != nil {
			return nil, err
		}
		sites = append(sites, site)
		for _, table := range []string{"page", "publish", "route", "preview", "redirect", "locale"} {
			if err := q.run(ctx, `delete from directory where id in (select id from `+table+` where site_id = ?)`, site.ID); err != nil {
				return nil, err
			}
		}
		// What indexes pages locks search_site first.
		for _, table := range []string{"search_site", "search_mark", "search_page", "search_gram", "page", "page_past", "content", "redirect", "redirect_past", "publish", "publish_url", "pathname", "route", "preview", "locale", "copy_id", "site_key", "site_label"} {
			if err := q.run(ctx, `delete from `+table+` where site_id = ?`, site.ID); err != nil {
				return nil, err
			}
		}
		if err := q.purgeEventsOf(ctx, site); err != nil {
			return nil, err
		}
		if err := q.run(ctx, `delete from site where id = ?`, site.ID); err != nil {
			return nil, err
		}
	}
	return sites, nil
}
