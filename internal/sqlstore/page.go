package sqlstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"galley/internal/cms"
)

// The states of a page in one locale.
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
	social_image_url, sitemap_priority, sitemap_frequency, is_online, no_index, content,
	created_at, updated_at, published_at, deleted_at, since`

func scanPageRow(r row) (cms.PageRow, error) {
	var p cms.PageRow
	v := &p.Values
	return p, r.Scan(&p.SiteID, &p.Version, &p.ID, &p.LocaleID, &p.Own, &p.Name, &v.Pathname, &v.Title, &v.Description,
		&v.CanonicalURL, &v.SocialImageURL, &v.SitemapPriority, &v.SitemapFrequency, &v.IsOnline, &v.ExcludedFromSearchEngines, scanDigest(&v.Content),
		scanTime(&p.CreatedAt), scanTime(&p.UpdatedAt), scanNullTime(&p.PublishedAt), scanNullTime(&p.DeletedAt), &p.Since)
}

// source is a table with pages of a version, and the condition on its rows.
type source struct {
	table string
	group string // rows of a page belong together if they have the same value in it
	where string
	args  []any
}

// sources are the tables with the pages of a version. A row that was live after a
// publish still is, or has moved to page_past.
func sources(siteID cms.ID, version cms.Version) []source {
	if seq, past := version.Past(); past {
		return []source{
			{"page", "version", "p.site_id = ? and p." + is(cms.Live) + " and p.since <= ?", []any{siteID, seq}},
			{"page_past", "since", "p.site_id = ? and p.since <= ? and p.until > ?", []any{siteID, seq, seq}},
		}
	}
	return []source{{"page", "version", "p.site_id = ? and p." + is(version), []any{siteID}}}
}

// is returns the condition on a version. The value is part of the text: SQLite
// prepares a statement again if a bound value decides which partial index it uses.
func is(version cms.Version) string { return "version = " + strconv.Itoa(int(version)) }

// columns are pageColumns of the table: page_past has no version.
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

// rowsByID reads rows with some ids, by a query that ends with its other conditions.
func rowsByID[T any](ctx context.Context, q queries, scan func(row) (T, error), ids []cms.ID, query string, args ...any) ([]T, error) {
	var rows []T
	for chunk := range slices.Chunk(ids, idChunk) {
		where, chunkArgs := q.dialect.among("id", anys(chunk))
		more, err := all(ctx, q, scan, query+` and `+where, slices.Concat(args, chunkArgs)...)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// pagesBy joins the rows that have a key in common to pages.
func pagesBy[K comparable](rows []cms.PageRow, key func(cms.PageRow) K) map[K]*cms.Page {
	ofPage := map[K][]cms.PageRow{}
	for _, r := range rows {
		ofPage[key(r)] = append(ofPage[key(r)], r)
	}
	pages := make(map[K]*cms.Page, len(ofPage))
	for k, rows := range ofPage {
		pages[k] = new(cms.PageFromRows(rows))
	}
	return pages
}

func pageID(r cms.PageRow) cms.ID { return r.ID }

// onePage joins all rows of a page.
func onePage(rows []cms.PageRow, err error) (cms.Page, error) {
	if err == nil && len(rows) == 0 {
		err = cms.NotFound(cms.KindPage)
	}
	if err != nil {
		return cms.Page{}, err
	}
	return cms.PageFromRows(rows), nil
}

func (q queries) Page(ctx context.Context, siteID cms.ID, version cms.Version, id cms.ID) (cms.Page, error) {
	return onePage(q.pageRows(ctx, siteID, version, `p.id = ?`, id))
}

func (q queries) PagesByID(ctx context.Context, siteID cms.ID, version cms.Version, ids []cms.ID) (map[cms.ID]*cms.Page, error) {
	if err := q.refreshStatistics(ctx, siteID, len(ids)); err != nil {
		return nil, err
	}
	var rows []cms.PageRow
	for _, s := range sources(siteID, version) {
		more, err := rowsByID(ctx, q, scanPageRow, ids, `select `+s.columns()+` from `+s.table+` p where `+s.where, s.args...)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return pagesBy(rows, pageID), nil
}

func (q queries) Known(ctx context.Context, siteID cms.ID, kind cms.Kind, ids []cms.ID) ([]cms.ID, error) {
	return rowsByID(ctx, q, scanValue[cms.ID], ids, `select id from directory where site_id = ? and kind = ?`, siteID, kind)
}

func (q queries) LockPage(ctx context.Context, siteID cms.ID, version cms.Version, id cms.ID) (cms.Page, error) {
	// Every writer locks the default row first, and reads the others after it.
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
	var ids []any
	for _, p := range pages {
		ids = append(ids, p.ID, p.SiteID, cms.KindPage)
	}
	_, err := q.insert(ctx, false, directory, 3, ids, "")
	return err
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

// storedPage is the table of pages with all its columns.
var storedPage = `page (` + strings.Join(storedColumns, ", ") + `)`

// appendRow appends the values of a row in the order of storedColumns. They can be
// compared with those of another row.
func appendRow(args []any, p cms.PageRow) []any {
	v, first := p.Values, len(args)
	args = append(args,
		p.SiteID, p.Version, p.ID, p.LocaleID, p.Own, p.Name, v.Pathname, v.Title, v.Description,
		v.CanonicalURL, v.SocialImageURL, v.SitemapPriority, v.SitemapFrequency, v.IsOnline, v.ExcludedFromSearchEngines, v.Content,
		p.CreatedAt, p.UpdatedAt, p.PublishedAt, p.DeletedAt, p.Since,
		pageState(p), cms.NullableSort(v.Title), cms.NullableSort(v.Description),
		p.Version == cms.Draft && p.LocaleID == cms.NoID,
	)
	for i, arg := range args[first:] {
		args[first+i] = argument(arg)
	}
	return args
}

func (q queries) LocalizedPages(ctx context.Context, siteID cms.ID, version cms.Version, localeID cms.ID) ([]cms.ID, error) {
	ids, err := values[cms.ID](ctx, q, `select id from page where site_id = ? and `+is(version)+` and locale_id = ?`, siteID, localeID)
	return cms.SortIDs(ids), err
}

// prefixed are the columns of a page as a join names them.
var prefixed = columnsOf("p")

func columnsOf(name string) string {
	return name + "." + strings.ReplaceAll(strings.ReplaceAll(pageColumns, "\n\t", " "), ", ", ", "+name+".")
}

type foundRow struct {
	cms.PageRow
	revision int64
	dirty    bool
	claimed  cms.ID
}

// FindPage and FindPages are one statement each, which reads one snapshot without
// a transaction.

func (q queries) FindPage(ctx context.Context, version cms.Version, id cms.ID) (cms.FoundPage, error) {
	// Subqueries are faster than joins on PostgreSQL here.
	rows, err := all(ctx, q, func(r row) (f foundRow, err error) {
		f.PageRow, err = scanPageRow(withColumns(withColumns(r, &f.dirty), &f.revision))
		return f, err
	}, `select `+prefixed+`, (select s.shape from site s where s.id = p.site_id), p.dirty from page p
		where p.site_id = (select d.site_id from directory d where d.id = ?) and p.`+is(version)+` and p.id = ?`, id, id)
	if err != nil {
		return cms.FoundPage{}, err
	}
	if len(rows) == 0 {
		return cms.FoundPage{}, cms.NotFound(cms.KindPage)
	}
	return foundPages(rows)[0], nil
}

func (q queries) FindPages(ctx context.Context, siteID cms.ID, version cms.Version, pathname string) ([]cms.FoundPage, error) {
	rows, err := all(ctx, q, func(r row) (f foundRow, err error) {
		f.PageRow, err = scanPageRow(withColumns(withColumns(withColumns(r, &f.dirty), &f.claimed), &f.revision))
		return f, err
	}, `select `+prefixed+`, s.shape, c.locale_id, p.dirty from pathname c
		join page p on p.site_id = c.site_id and p.`+is(version)+` and p.id = c.owner_id
		join site s on s.id = c.site_id
		where c.site_id = ? and c.`+is(version)+` and c.pathname = ? and not c.by_route and not c.by_redirect`, siteID, pathname)
	return foundPages(rows), err
}

// foundPages joins the rows of each page. A page that holds a pathname
// in several locales is found in each.
func foundPages(rows []foundRow) []cms.FoundPage {
	var firsts []foundRow // of each page
	var ofPage [][]cms.PageRow
	for _, r := range rows {
		i := slices.IndexFunc(firsts, func(first foundRow) bool { return first.ID == r.ID && first.claimed == r.claimed })
		if i < 0 {
			i = len(firsts)
			firsts, ofPage = append(firsts, r), append(ofPage, nil)
		}
		ofPage[i] = append(ofPage[i], r.PageRow)
		firsts[i].dirty = firsts[i].dirty || r.dirty // of the default row
	}
	pages := make([]cms.FoundPage, len(firsts))
	for i, first := range firsts {
		pages[i] = cms.FoundPage{Page: cms.PageFromRows(ofPage[i]), Revision: first.revision, Dirty: first.dirty, ClaimedIn: first.claimed}
	}
	return pages
}
