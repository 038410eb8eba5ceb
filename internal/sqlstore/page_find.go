package sqlstore

import (
	"context"
	"slices"
	"strings"

	"galley/internal/cms"
)

// Each of these reads is one statement, so that all it finds is of one snapshot
// without a transaction around it.

// prefixed are the columns of a page as a join names them.
var prefixed = columnsOf("p")

// columnsOf are the columns of a page in a table of another name.
func columnsOf(name string) string {
	return name + "." + strings.ReplaceAll(strings.ReplaceAll(pageColumns, "\n\t", " "), ", ", ", "+name+".")
}

type foundRow struct {
	cms.PageRow
	revision int64
	claimed  cms.ID
}

func (q queries) FindPage(ctx context.Context, version cms.Version, id cms.ID) (cms.FoundPage, error) {
	// Subqueries take PostgreSQL less time than joins here.
	rows, err := all(ctx, q, scanFoundRow, `select `+prefixed+`, (select s.shape from site s where s.id = p.site_id) from page p
		where p.site_id = (select d.site_id from directory d where d.id = ?) and p.`+is(version)+` and p.id = ?`, id, id)
	if err != nil {
		return cms.FoundPage{}, err
	}
	if len(rows) == 0 {
		return cms.FoundPage{}, cms.NotFound(cms.KindPage)
	}
	return foundPages(rows)[0], nil
}

func scanFoundRow(r row) (f foundRow, err error) {
	f.PageRow, err = scanPageRow(withColumn(r, &f.revision))
	return f, err
}

func (q queries) FindPages(ctx context.Context, siteID cms.ID, version cms.Version, pathname string) ([]cms.FoundPage, error) {
	rows, err := all(ctx, q, func(r row) (f foundRow, err error) {
		f.PageRow, err = scanPageRow(withColumn(withColumn(r, &f.claimed), &f.revision))
		return f, err
	}, `select `+prefixed+`, s.shape, c.locale_id from pathname c
		join page p on p.site_id = c.site_id and p.`+is(version)+` and p.id = c.owner_id
		join site s on s.id = c.site_id
		where c.site_id = ? and c.`+is(version)+` and c.pathname = ? and not c.by_route`, siteID, pathname)
	return foundPages(rows), err
}

// foundPages puts the rows of each page together. A page that holds a pathname
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
	}
	pages := make([]cms.FoundPage, len(firsts))
	for i, first := range firsts {
		pages[i] = cms.FoundPage{Page: cms.PageFromRows(ofPage[i]), Revision: first.revision, ClaimedIn: first.claimed}
	}
	return pages
}
