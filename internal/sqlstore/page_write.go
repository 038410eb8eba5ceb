package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"galley/internal/cms"
)

// rowChange takes a stored row from one state to another. Nil is no row.
type rowChange struct {
	before, after *cms.PageRow
}

// rowChanges are the rows in which two states of a page differ. Nil is no
// page.
func rowChanges(before, after *cms.Page) []rowChange {
	var changes []rowChange
	was := map[cms.ID]*cms.PageRow{}
	if before != nil {
		for _, r := range before.Rows() {
			was[r.LocaleID] = &r
		}
	}
	if after != nil {
		for _, r := range after.Rows() {
			changes = append(changes, rowChange{was[r.LocaleID], &r})
			delete(was, r.LocaleID)
		}
	}
	for _, r := range was {
		changes = append(changes, rowChange{before: r})
	}
	return changes
}

// changeRows stores what changed of rows. It sets only the columns that change,
// since an engine updates the indexes of every column that a statement names.
func (q queries) changeRows(ctx context.Context, changes []rowChange) error {
	var gone []cms.PageRow
	var created []any
	changed := map[string][]changedRow{} // by their version and the columns that change
	for _, c := range changes {
		if c.after == nil {
			gone = append(gone, *c.before)
			continue
		}
		if c.before == nil {
			if created == nil {
				created = make([]any, 0, len(changes)*len(storedColumns))
			}
			created = appendRow(created, *c.after)
			continue
		}
		after := appendRow(nil, *c.after)
		if columns := changedColumns(appendRow(nil, *c.before), after, c.after.Version); len(columns) > 0 {
			alike := fmt.Sprint(c.after.Version, columns)
			changed[alike] = append(changed[alike], changedRow{c.after.Version, columns, after})
		}
	}
	if err := q.deleteRows(ctx, gone); err != nil {
		return err
	}
	if _, err := q.insert(ctx, false, storedPage, len(storedColumns), created, ""); err != nil {
		return err
	}
	for _, rows := range changed {
		if err := q.updateRows(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

// keyColumns is the number of columns of a row's key, which are the first ones.
const keyColumns = 4

// changedRow is the new state of a stored row, and the columns that change.
type changedRow struct {
	version cms.Version
	columns []int
	args    []any
}

// updateRows changes the same columns of rows of one version.
func (q queries) updateRows(ctx context.Context, rows []changedRow) error {
	columns := rows[0].columns
	set := make([]string, len(columns))
	// An insert builds a whole row before it finds the conflict. A row whose key
	// changes may not exist yet, though.
	if columns[0] >= keyColumns && (len(rows) == 1 || q.dialect.local) {
		for i, c := range columns {
			set[i] = storedColumns[c] + " = ?"
		}
		query := `update page set ` + strings.Join(set, ", ") + ` where site_id = ? and ` + is(rows[0].version) + ` and id = ? and locale_id = ?`
		for _, row := range rows {
			args := make([]any, len(columns), len(columns)+keyColumns)
			for i, c := range columns {
				args[i] = row.args[c]
			}
			if err := q.run(ctx, query, append(args, row.args[0], row.args[2], row.args[3])...); err != nil {
				return err
			}
		}
		return nil
	}
	var args []any
	for _, r := range rows {
		args = append(args, r.args...)
	}
	for i, c := range columns {
		set[i] = storedColumns[c] + " = excluded." + storedColumns[c]
	}
	_, err := q.insert(ctx, false, storedPage, len(storedColumns), args, ` on conflict (`+rowKey+`) do update set `+strings.Join(set, ", "))
	return err
}

// changedColumns returns the numbers of the columns that an update of a row sets.
// Whether a draft was dirty before is not read, so that is always set.
func changedColumns(before, after []any, version cms.Version) []int {
	var columns []int
	for i, column := range storedColumns {
		if before[i] != after[i] || (column == "dirty" && version == cms.Draft) {
			columns = append(columns, i)
		}
	}
	return columns
}

// deleteRows deletes rows of one version.
func (q queries) deleteRows(ctx context.Context, rows []cms.PageRow) error {
	if len(rows) == 0 {
		return nil
	}
	var args []any
	for _, r := range rows {
		args = append(args, r.SiteID, r.ID, r.LocaleID)
	}
	return q.deleteEach(ctx, "page", `site_id = ? and `+is(rows[0].Version)+` and id = ? and locale_id = ?`, 3, args)
}
