package sqlstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"galley/internal/cms"
)

// The states of a page in one locale, by which its indexes begin.
const (
	stateOnline  = 0
	stateOffline = 1
	stateDeleted = 2
)

func pageState(r cms.PageRow) int {
	switch {
	case r.DeletedAt != nil:
		return stateDeleted
	case r.Values.IsOnline:
		return stateOnline
	}
	return stateOffline
}

const pageColumns = `site_id, version, id, locale_id, own, name, pathname, title, description, canonical_url,
	social_image_url, sitemap_priority, sitemap_frequency, is_online, no_index,
	created_at, updated_at, published_at, deleted_at, since`

func scanPageRow(r row) (cms.PageRow, error) {
	var p cms.PageRow
	v := &p.Values
	return p, r.Scan(&p.SiteID, &p.Version, &p.ID, &p.LocaleID, &p.Own, &p.Name, &v.Pathname, &v.Title, &v.Description,
		&v.CanonicalURL, &v.SocialImageURL, &v.SitemapPriority, &v.SitemapFrequency, &v.IsOnline, &v.ExcludedFromSearchEngines,
		scanTime(&p.CreatedAt), scanTime(&p.UpdatedAt), scanNullTime(&p.PublishedAt), scanNullTime(&p.DeletedAt), &p.Since)
}

// source is a table that has pages of a version, and which of its rows do.
type source struct {
	table string
	group string // the column that tells rows of a page apart that do not go together
	where string
	args  []any
}

// sources are where the pages of a version are. What was live after a publish
// still is, or has been put aside since.
func sources(siteID cms.ID, version cms.Version) []source {
	if seq, past := version.Past(); past {
		return []source{
			{"page", "version", "p.site_id = ? and p." + is(cms.Live) + " and p.since <= ?", []any{siteID, seq}},
			{"page_past", "since", "p.site_id = ? and p.since <= ? and p.until > ?", []any{siteID, seq, seq}},
		}
	}
	return []source{{"page", "version", "p.site_id = ? and p." + is(version), []any{siteID}}}
}

// is names a version. It is part of the text of a statement, since a value that
// decides whether an index on some rows can be used makes SQLite prepare the
// statement anew each time.
func is(version cms.Version) string { return "version = " + strconv.Itoa(int(version)) }

// columns are pageColumns as the table has them: what was live has no version.
func (s source) columns() string {
	if s.table == "page_past" {
		return strings.Replace(pageColumns, "version", "cast(1 as smallint)", 1)
	}
	return pageColumns
}

// pageRows reads rows of a version by a further condition.
func (q queries) pageRows(ctx context.Context, siteID cms.ID, version cms.Version, where string, args ...any) ([]cms.PageRow, error) {
	var rows []cms.PageRow
	for _, s := range sources(siteID, version) {
		more, err := all(ctx, q, scanPageRow, `select `+s.columns()+` from `+s.table+` p where `+s.where+` and `+where,
			slices.Concat(s.args, args)...)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func (q queries) Page(ctx context.Context, siteID cms.ID, version cms.Version, id cms.ID) (cms.Page, error) {
	rows, err := q.pageRows(ctx, siteID, version, `p.id = ?`, id)
	if err != nil {
		return cms.Page{}, err
	}
	if len(rows) == 0 {
		return cms.Page{}, cms.NotFound(cms.KindPage)
	}
	return cms.PageFromRows(rows), nil
}

func (q queries) PagesByID(ctx context.Context, siteID cms.ID, version cms.Version, ids []cms.ID) (map[cms.ID]*cms.Page, error) {
	if err := q.refreshStatistics(ctx, siteID, len(ids)); err != nil {
		return nil, err
	}
	pages := make(map[cms.ID]*cms.Page, len(ids))
	for chunk := range slices.Chunk(ids, idChunk) {
		where, args := q.dialect.among("p.id", anys(chunk))
		rows, err := q.pageRows(ctx, siteID, version, where, args...)
		if err != nil {
			return nil, err
		}
		byPage := map[cms.ID][]cms.PageRow{}
		for _, r := range rows {
			byPage[r.ID] = append(byPage[r.ID], r)
		}
		for id, rows := range byPage {
			pages[id] = new(cms.PageFromRows(rows))
		}
	}
	return pages, nil
}

func (q queries) KnownPages(ctx context.Context, siteID cms.ID, ids []cms.ID) ([]cms.ID, error) {
	var known []cms.ID
	for chunk := range slices.Chunk(ids, idChunk) {
		where, args := q.dialect.among("id", anys(chunk))
		more, err := all(ctx, q, scanID, `select id from directory where site_id = ? and kind = ? and `+where,
			slices.Concat([]any{siteID, cms.KindPage}, args)...)
		if err != nil {
			return nil, err
		}
		known = append(known, more...)
	}
	return known, nil
}

func (q queries) LockPage(ctx context.Context, siteID cms.ID, version cms.Version, id cms.ID) (cms.Page, error) {
	// The default row is the one that every writer locks first; the others
	// are read after it.
	if q.dialect.lockUpdate != "" {
		err := q.run(ctx, `select id from page where site_id = ? and `+is(version)+` and id = ? and locale_id = ?`+q.dialect.lockUpdate, siteID, id, cms.NoID)
		if err != nil {
			return cms.Page{}, err
		}
	}
	return q.Page(ctx, siteID, version, id)
}

func (q queries) CreatePages(ctx context.Context, pages ...cms.Page) error {
	var rows []rowChange
	for _, p := range pages {
		rows = append(rows, rowChanges(nil, &p)...)
	}
	if err := q.changeRows(ctx, rows); err != nil {
		return err
	}
	for chunk := range slices.Chunk(pages, idChunk) {
		var args []any
		for _, p := range chunk {
			args = append(args, p.ID, p.SiteID, cms.KindPage)
		}
		if err := q.run(ctx, addToDirectory+strings.Repeat(`, (?, ?, ?)`, len(chunk)-1), args...); err != nil {
			return err
		}
	}
	return nil
}

func (q queries) UpdatePage(ctx context.Context, before, after cms.Page) error {
	return q.UpdatePages(ctx, []cms.PageChange{{Before: &before, After: &after}})
}

func (q queries) UpdatePages(ctx context.Context, changes []cms.PageChange) error {
	var rows []rowChange
	for _, c := range changes {
		rows = append(rows, rowChanges(c.Before, c.After)...)
	}
	return q.changeRows(ctx, rows)
}

// storedColumns are all columns of a page's row.
var storedColumns = strings.Split(strings.ReplaceAll(pageColumns, "\n\t", " ")+", state, title_sort, description_sort, dirty", ", ")

const rowKey = `site_id, version, id, locale_id`

func insertPages(n int) string {
	row := `(` + marks(len(storedColumns)) + `)`
	return `insert into page (` + strings.Join(storedColumns, ", ") + `) values ` + row + strings.Repeat(", "+row, n-1)
}

func pageArgs(p cms.PageRow) []any {
	v := p.Values
	return []any{
		p.SiteID, p.Version, p.ID, p.LocaleID, p.Own, p.Name, v.Pathname, v.Title, v.Description,
		v.CanonicalURL, v.SocialImageURL, v.SitemapPriority, v.SitemapFrequency, v.IsOnline, v.ExcludedFromSearchEngines,
		p.CreatedAt, p.UpdatedAt, p.PublishedAt, p.DeletedAt, p.Since,
		pageState(p), cms.NullableSort(v.Title), cms.NullableSort(v.Description),
		p.Version == cms.Draft && p.LocaleID == cms.NoID,
	}
}

func (q queries) LocalizedPages(ctx context.Context, siteID cms.ID, version cms.Version, localeID cms.ID) ([]cms.ID, error) {
	ids, err := all(ctx, q, scanID, `select id from page where site_id = ? and `+is(version)+` and locale_id = ?`, siteID, localeID)
	return cms.SortIDs(ids), err
}
