package sqlstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"galley/internal/cms"
)

// listColumns are the columns of a list's rows. The site and the version are known.
const listColumns = `id, locale_id, own, name, pathname, title, description, canonical_url, social_image_url,
	sitemap_priority, sitemap_frequency, is_online, no_index, created_at, updated_at, published_at, deleted_at, since`

func (q queries) Pages(ctx context.Context, pq cms.PageQuery, withPaths bool) ([]cms.ListedPage, error) {
	if pq.Search != "" {
		return q.searchPages(ctx, pq, withPaths)
	}
	l := cms.ListedPage{PageRow: cms.PageRow{Page: cms.Page{SiteID: pq.SiteID, Version: pq.Version}}}
	if _, past := pq.Version.Past(); past {
		l.Version = cms.Live
	}
	var paths *string
	v := &l.Values
	into := []any{
		&l.ID, &l.LocaleID, &l.Own, &l.Name, &v.Pathname, &v.Title, &v.Description, &v.CanonicalURL, &v.SocialImageURL,
		&v.SitemapPriority, &v.SitemapFrequency, &v.IsOnline, &v.ExcludedFromSearchEngines,
		scanTime(&l.CreatedAt), scanTime(&l.UpdatedAt), scanNullTime(&l.PublishedAt), scanNullTime(&l.DeletedAt), &l.Since, &l.Revision, &l.Dirty,
	}
	dirty, first := dirtyColumn(pq)
	first = append([]any{pq.SiteID}, first...)
	if withPaths {
		into, first = append(into, &paths), append(first, cms.NoID)
	}
	query, args, keyed := q.listQuery(pq, func(s source) string {
		columns := listColumns + `, (select s.shape from site s where s.id = ?), ` + dirty
		if withPaths {
			// Naming a column that no index has keeps SQLite from reading a whole
			// site from one that has all the others.
			columns += `, (select ` + q.dialect.pathList + ` from ` + s.table + ` o where o.site_id = p.site_id
				and o.` + s.group + ` = p.` + s.group + ` and o.id = p.id and o.locale_id > ? and o.own >= 0)`
		}
		return columns
	}, first)
	if keyed {
		into = append(into, ignored{})
	}
	list := make([]cms.ListedPage, 0, pq.Limit+1)
	err := q.conn.query(ctx, query, args, func(r row) (err error) {
		if err := r.Scan(into...); err != nil {
			return err
		}
		l.Paths, err = splitPaths(paths)
		list = append(list, l)
		return err
	})
	if err != nil {
		return nil, q.fail(ctx, err)
	}
	return list, nil
}

// dirtyColumn returns what tells whether the draft of a listed page may differ from
// what is live. The default row of a page has it.
func dirtyColumn(pq cms.PageQuery) (column string, args []any) {
	switch {
	case pq.Version != cms.Draft:
		return "false", nil
	case pq.LocaleID == cms.NoID:
		return "p.dirty", nil
	}
	return `(select d.dirty from page d where d.site_id = p.site_id and d.` + is(cms.Draft) + ` and d.id = p.id and d.locale_id = ?)`, []any{cms.NoID}
}

// listedState is a state of the pages in a list, and a further condition on them.
type listedState struct {
	state int
	and   string
	args  []any
}

func listedStates(pq cms.PageQuery) []listedState {
	online, offline, deleted := listedState{state: stateOnline}, listedState{state: stateOffline}, listedState{state: stateDeleted}
	switch {
	case pq.Deleted:
		return []listedState{deleted}
	case pq.Status == 0 && pq.IncludeOffline:
		return []listedState{online, offline}
	case pq.Status == 0:
		return []listedState{online}
	}
	var states []listedState
	if dirty, args := dirtyColumn(pq); pq.Status&(cms.FilterNew|cms.FilterChanged|cms.FilterLive) != 0 {
		and := ""
		switch {
		case pq.Status&cms.FilterLive == 0:
			and = ` and ` + dirty
		case pq.Status&cms.FilterNew == 0:
			and = ` and (not ` + dirty + ` or p.published_at is not null)` // what was never published is new
		default:
			args = nil
		}
		states = append(states, listedState{stateOnline, and, args})
		if pq.IncludeOffline && pq.Status&cms.FilterOffline == 0 {
			states = append(states, listedState{stateOffline, and, args})
		}
	}
	if pq.Status&cms.FilterOffline != 0 {
		states = append(states, offline)
	}
	if pq.Status&cms.FilterDeleted != 0 {
		states = append(states, deleted)
	}
	return states
}

func (q queries) CountPaths(ctx context.Context, pq cms.PageQuery) (int, error) {
	pq.Sort = cms.SortPath
	query, args, _ := q.listQuery(pq, func(source) string { return "id, pathname" }, nil)
	return value[int](ctx, q, `select count(*) from (`+query+`) as listed`, args...)
}

// ignored is a column that is not read.
type ignored struct{}

func (ignored) Scan(any) error { return nil }

// splitPaths reads what the dialect's pathList wrote: a line for each locale.
func splitPaths(lines *string) (map[cms.ID]string, error) {
	if lines == nil {
		return nil, nil //nolint:nilnil // an empty map
	}
	paths := map[cms.ID]string{}
	for line := range strings.SplitSeq(*lines, "\n") {
		locale, pathname, _ := strings.Cut(line, " ")
		id, err := uuid.Parse(locale)
		if err != nil {
			return nil, fmt.Errorf("a list of pathnames has %q: %w", line, err)
		}
		paths[id] = pathname
	}
	return paths, nil
}

var sortColumns = map[cms.PageSort]string{
	cms.SortPath:        "p.pathname",
	cms.SortTitle:       "p.title_sort",
	cms.SortDescription: "p.description_sort",
	cms.SortCreatedAt:   "p.created_at",
	cms.SortUpdatedAt:   "p.updated_at",
}

func byTime(sort cms.PageSort) bool { return sort == cms.SortCreatedAt || sort == cms.SortUpdatedAt }

// listQuery returns a query for some columns of a list's pages, and one more, the sort
// key, if keyed. Each part of the list is read from an index in its order, as far as
// the result needs it. A locale other than the default has two of each part: the pages
// that it overrides, and those that it inherits. The first arguments are those of the
// columns.
func (q queries) listQuery(pq cms.PageQuery, columns func(source) string, first []any) (query string, args []any, keyed bool) {
	l := listed{PageQuery: pq, column: sortColumns[pq.Sort], after: ">", notAfter: "<="}
	if pq.Descending {
		l.after, l.notAfter, l.direction = "<", ">=", " desc"
	}
	states := listedStates(pq)
	locales := []cms.ID{pq.LocaleID, cms.NoID}
	if pq.LocaleID == cms.NoID {
		locales = locales[:1]
	}
	from := sources(pq.SiteID, pq.Version)
	key, ofKey := l.column, ""
	// A union is ordered by what it selects.
	keyed = strings.HasSuffix(key, "_sort") && len(locales)*len(from)*len(states) > 1
	if keyed {
		key, ofKey = "sort_key", `, `+l.column+` as sort_key`
	}
	var parts []string
	for _, localeID := range locales {
		for _, s := range from {
			for _, state := range states {
				where, whereArgs := l.where(s, localeID, state)
				if localeID != pq.LocaleID {
					but, butArgs := l.inherited(s, states[0])
					where, whereArgs = where+but, append(whereArgs, butArgs...)
				}
				parts = append(parts, `select `+columns(s)+ofKey+` from `+s.table+` p where `+where)
				args = slices.Concat(args, first, whereArgs)
			}
		}
	}
	order := ` order by ` + strings.TrimPrefix(key, "p.") + l.direction + `, id` + l.direction + atMost(pq.Limit+1)
	if len(parts) == 1 {
		return parts[0] + order, args, keyed
	}
	return q.dialect.merge(parts, order), args, keyed
}

// listed is a query for a list and its parts in SQL.
type listed struct {
	cms.PageQuery
	column          string // that it is ordered by
	after, notAfter string // comparisons
	direction       string
}

// where returns the condition on rows of one locale and state after the cursor.
func (l listed) where(s source, localeID cms.ID, of listedState) (where string, args []any) {
	where = s.where + ` and p.locale_id = ? and p.state = ?` + of.and
	args = slices.Concat(s.args, []any{localeID, of.state}, of.args)
	if l.After != nil {
		where += ` and (` + l.column + `, p.id) ` + l.after + ` (?, ?)`
		if byTime(l.Sort) {
			args = append(args, l.After.Key.At, l.After.ID)
		} else {
			args = append(args, l.After.Key.Text, l.After.ID)
		}
	}
	if l.PathPrefix != "" && l.PathPrefix != "/" {
		where += ` and p.pathname >= ?`
		args = append(args, l.PathPrefix)
		if end, ok := prefixEnd(l.PathPrefix); ok {
			where += ` and p.pathname < ?`
			args = append(args, end)
		}
	}
	below, belowArgs := atOrBelow("p.pathname", l.Under)
	return where + below, append(args, belowArgs...)
}

// atOrBelow returns the condition that the pathname in a column is at or below
// another, as a range of an index and what is left of it.
func atOrBelow(column, pathname string) (and string, args []any) {
	if pathname == "" || pathname == "/" {
		return "", nil
	}
	// A zero comes after the slash.
	return fmt.Sprintf(` and %[1]s >= ? and %[1]s < ? and (%[1]s = ? or %[1]s >= ?)`, column),
		[]any{pathname, pathname + "0", pathname, pathname + "/"}
}

// inherited returns two conditions on default rows: the locale does not override
// them, and they sort before the last of the rows that a list of only overridden
// pages of one state would have. Without the second, a list of a site with every page translated
// would read all its default rows.
func (l listed) inherited(s source, of listedState) (and string, args []any) {
	// The offset keeps PostgreSQL from joining all rows of the locale.
	and = ` and not exists (select 1 from ` + s.table + ` o where o.site_id = p.site_id and o.id = p.id and o.locale_id = ?
		and o.` + s.group + ` = p.` + s.group + ` limit 1 offset 0)`
	args = []any{l.LocaleID}

	own := sources(l.SiteID, l.Version)[0]
	where, whereArgs := l.where(own, l.LocaleID, of)
	key, id := l.end()
	and += ` and (` + l.column + `, p.id) ` + l.notAfter + ` (select bound_key, bound_id from (select ` + l.column + ` as bound_key, p.id as bound_id
		from ` + own.table + ` p where ` + where + ` order by ` + l.column + l.direction + `, p.id` + l.direction + ` limit 1 offset ` + strconv.Itoa(l.Limit) + `) as own
		union all select ?, ? limit 1)`
	return and, slices.Concat(args, whereArgs, []any{key, id})
}

// end returns a sort key and an id after all pages.
func (l listed) end() (key any, id cms.ID) {
	switch {
	case byTime(l.Sort) && l.Descending:
		return int64(math.MinInt64), cms.NoID
	case byTime(l.Sort):
		return int64(math.MaxInt64), uuid.Max
	case l.Descending:
		return "", cms.NoID
	}
	return cms.NullableSort(nil), uuid.Max // pathnames come before it, too
}

// prefixEnd returns the first text, by code point, after all that begin with a
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
