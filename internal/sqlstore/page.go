package sqlstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
		return strings.Replace(pageColumns, "version", "1", 1)
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

func (q queries) LockPage(ctx context.Context, siteID cms.ID, version cms.Version, id cms.ID) (cms.Page, error) {
	// The default row is the one that every writer locks first; the others
	// are read after it.
	if q.dialect.lockUpdate != "" {
		_, err := all(ctx, q, scanID, `select id from page where site_id = ? and `+is(version)+` and id = ? and locale_id = ?`+
			q.dialect.lockUpdate, siteID, id, cms.NoID)
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

func (q queries) PagePaths(ctx context.Context, siteID cms.ID, version cms.Version, ids []cms.ID) (map[cms.ID]map[cms.ID]string, error) {
	paths := map[cms.ID]map[cms.ID]string{}
	if len(ids) == 0 {
		return paths, nil
	}
	type path struct {
		page, locale cms.ID
		pathname     string
	}
	where, args := q.dialect.among("p.id", anys(ids))
	for _, s := range sources(siteID, version) {
		rows, err := all(ctx, q, func(r row) (p path, err error) {
			return p, r.Scan(&p.page, &p.locale, &p.pathname)
		}, `select p.id, p.locale_id, p.pathname from `+s.table+` p where `+s.where+`
			and `+where+` and p.locale_id <> ?`, slices.Concat(s.args, args, []any{cms.NoID})...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if paths[r.page] == nil {
				paths[r.page] = map[cms.ID]string{}
			}
			paths[r.page][r.locale] = r.pathname
		}
	}
	return paths, nil
}

func (q queries) LocalizedPages(ctx context.Context, siteID cms.ID, version cms.Version, localeID cms.ID, limit int) ([]cms.ID, error) {
	return all(ctx, q, scanID, `select id from page where site_id = ? and `+is(version)+` and locale_id = ? limit ?`,
		siteID, localeID, limit)
}

// Pages reads each part of the list from an index in the order asked for, at
// most a page of it, and merges the parts. In a locale other than the default
// there are two: the pages that it overrides, and those that it inherits. The
// second is read only as far as the first one's end, so that a site that is
// translated throughout does not read past all of its default values.
func (q queries) Pages(ctx context.Context, pq cms.PageQuery) ([]cms.PageRow, error) {
	return list(ctx, q, pq, listItem[cms.PageRow]{
		columns:  source.columns,
		scan:     scanPageRow,
		position: func(r cms.PageRow) cms.PagePosition { return r.Position(pq.Sort) },
	})
}

// PageOrder is Pages for no more than the indexes have.
func (q queries) PageOrder(ctx context.Context, pq cms.PageQuery) ([]cms.ID, error) {
	item := listItem[cms.PagePosition]{
		columns: func(source) string { return `p.id, ` + sortColumns[pq.Sort] },
		scan: func(r row) (p cms.PagePosition, err error) {
			if byTime(pq.Sort) {
				return p, r.Scan(&p.ID, scanTime(&p.Key.At))
			}
			return p, r.Scan(&p.ID, &p.Key.Text)
		},
		position: func(p cms.PagePosition) cms.PagePosition { return p },
	}
	positions, err := list(ctx, q, pq, item)
	ids := make([]cms.ID, len(positions))
	for i, p := range positions {
		ids[i] = p.ID
	}
	return ids, err
}

// listItem is what a list reads of each page.
type listItem[T any] struct {
	columns  func(source) string
	scan     func(row) (T, error)
	position func(T) cms.PagePosition
}

func list[T any](ctx context.Context, q queries, pq cms.PageQuery, item listItem[T]) ([]T, error) {
	items, err := listIn(ctx, q, pq, item, pq.LocaleID, nil)
	if err != nil || pq.LocaleID == cms.NoID {
		return items, err
	}
	var until *cms.PagePosition
	if len(items) > pq.Limit {
		until = new(item.position(items[pq.Limit]))
	}
	inherited, err := listIn(ctx, q, pq, item, cms.NoID, until)
	return mergeList(pq, item, append(items, inherited...)), err
}

// listIn reads what is stored for one locale, in every state asked for.
func listIn[T any](ctx context.Context, q queries, pq cms.PageQuery, item listItem[T], localeID cms.ID, until *cms.PagePosition) ([]T, error) {
	states := []int{stateOnline, stateOffline}
	if !pq.IncludeOffline {
		states = states[:1]
	}
	var items []T
	for _, s := range sources(pq.SiteID, pq.Version) {
		for _, state := range states {
			query, args := listQuery(s, item.columns(s), pq, localeID, state, until)
			more, err := all(ctx, q, item.scan, query, args...)
			if err != nil {
				return nil, err
			}
			items = append(items, more...)
		}
	}
	return mergeList(pq, item, items), nil
}

func mergeList[T any](pq cms.PageQuery, item listItem[T], items []T) []T {
	slices.SortFunc(items, func(a, b T) int {
		order := item.position(a).Compare(item.position(b))
		if pq.Descending {
			return -order
		}
		return order
	})
	return items[:min(len(items), pq.Limit+1)]
}

var sortColumns = map[cms.PageSort]string{
	cms.SortPath:        "p.pathname",
	cms.SortTitle:       "p.title_sort",
	cms.SortDescription: "p.description_sort",
	cms.SortCreatedAt:   "p.created_at",
	cms.SortUpdatedAt:   "p.updated_at",
}

func byTime(sort cms.PageSort) bool { return sort == cms.SortCreatedAt || sort == cms.SortUpdatedAt }

// listQuery reads the rows of one locale and state from the index of the order
// asked for.
func listQuery(s source, columns string, pq cms.PageQuery, localeID cms.ID, state int, until *cms.PagePosition) (query string, args []any) {
	column := sortColumns[pq.Sort]
	after, notAfter, direction := ">", "<=", ""
	if pq.Descending {
		after, notAfter, direction = "<", ">=", " desc"
	}
	key := func(p cms.PagePosition) any {
		if byTime(pq.Sort) {
			return p.Key.At
		}
		return p.Key.Text
	}

	query = `select ` + columns + ` from ` + s.table + ` p where ` + s.where + ` and p.locale_id = ? and p.state = ?`
	args = slices.Concat(s.args, []any{localeID, state})
	if pq.After != nil {
		query += ` and (` + column + `, p.id) ` + after + ` (?, ?)`
		args = append(args, key(*pq.After), pq.After.ID)
	}
	if until != nil {
		query += ` and (` + column + `, p.id) ` + notAfter + ` (?, ?)`
		args = append(args, key(*until), until.ID)
	}
	if pq.PathPrefix != "" && pq.PathPrefix != "/" {
		query += ` and p.pathname >= ?`
		args = append(args, pq.PathPrefix)
		if end, ok := prefixEnd(pq.PathPrefix); ok {
			query += ` and p.pathname < ?`
			args = append(args, end)
		}
	}
	if localeID != pq.LocaleID { // the inherited part: without what the locale overrides
		// The offset keeps PostgreSQL from turning the look-up of one row into
		// a join over all rows of the locale.
		query += ` and not exists (select 1 from ` + s.table + ` o where o.site_id = p.site_id and o.id = p.id and o.locale_id = ?
			and o.` + s.group + ` = p.` + s.group + ` limit 1 offset 0)`
		args = append(args, pq.LocaleID)
	}
	query += ` order by ` + column + direction + `, p.id` + direction + atMost(pq.Limit+1)
	return query, args
}

// prefixEnd is the first text, by code point, after all that begin with a
// prefix, if there is one.
func prefixEnd(prefix string) (string, bool) {
	for len(prefix) > 0 {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case last == 0xD7FF: // surrogates are no characters
			return prefix + "\uE000", true
		case last < utf8.MaxRune:
			return prefix + string(last+1), true
		}
	}
	return "", false
}
