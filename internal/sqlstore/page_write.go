package sqlstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
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

// changeRows stores what changed of rows. A column that stays as it is is left
// alone, since an engine takes the trouble to move its index entries for every
// column that a statement names.
func (q queries) changeRows(ctx context.Context, changes []rowChange) error {
	var gone []cms.PageRow
	var created [][]any
	changed := map[string][]changedRow{} // by their version and the columns that do
	for _, c := range changes {
		if c.after == nil {
			gone = append(gone, *c.before)
			continue
		}
		after := q.dialect.args(pageArgs(*c.after))
		if c.before == nil {
			created = append(created, after)
			continue
		}
		if columns := changedColumns(q.dialect.args(pageArgs(*c.before)), after, c.after.Version); len(columns) > 0 {
			alike := fmt.Sprint(c.after.Version, columns)
			changed[alike] = append(changed[alike], changedRow{c.after.Version, columns, after})
		}
	}
	if err := q.deleteRows(ctx, gone); err != nil {
		return err
	}
	if err := q.putRows(ctx, created, ""); err != nil {
		return err
	}
	for _, rows := range changed {
		if err := q.updateRows(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

// keyColumns are how many columns of a row are its key: the first ones.
const keyColumns = 4

// changedRow is a stored row as it is to be, and which of its columns change.
type changedRow struct {
	version cms.Version
	columns []int
	args    []any
}

// updateRows changes the same columns of rows of one version.
func (q queries) updateRows(ctx context.Context, rows []changedRow) error {
	columns := rows[0].columns
	set := make([]string, len(columns))
	// An insert makes up a whole row before it finds that there is one. What
	// becomes a row of another key may be the first of it, though.
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
	all := make([][]any, len(rows))
	for i, r := range rows {
		all[i] = r.args
	}
	for i, c := range columns {
		set[i] = storedColumns[c] + " = excluded." + storedColumns[c]
	}
	return q.putRows(ctx, all, ` on conflict (`+rowKey+`) do update set `+strings.Join(set, ", "))
}

// changedColumns are those that an update of a row sets, by their number.
// Nobody reads whether a draft was dirty before it was changed, so that is
// always set.
func changedColumns(before, after []any, version cms.Version) []int {
	var columns []int
	for i, column := range storedColumns {
		if !sameArg(before[i], after[i]) || (column == "dirty" && version == cms.Draft) {
			columns = append(columns, i)
		}
	}
	return columns
}

// sameArg compares what a dialect makes of values.
func sameArg(a, b any) bool {
	bytesA, isA := a.([]byte)
	bytesB, isB := b.([]byte)
	if isA && isB {
		return bytes.Equal(bytesA, bytesB)
	}
	return isA == isB && a == b
}

func (q queries) putRows(ctx context.Context, rows [][]any, onConflict string) error {
	for chunk := range slices.Chunk(rows, rowChunk) {
		if err := q.run(ctx, insertPages(len(chunk))+onConflict, slices.Concat(chunk...)...); err != nil {
			return err
		}
	}
	return nil
}

// deleteRows deletes rows of one version.
func (q queries) deleteRows(ctx context.Context, rows []cms.PageRow) error {
	for chunk := range slices.Chunk(rows, rowChunk) {
		var args []any
		for _, r := range chunk {
			args = append(args, r.SiteID, r.ID, r.LocaleID)
		}
		one := `(site_id = ? and ` + is(chunk[0].Version) + ` and id = ? and locale_id = ?)`
		if err := q.run(ctx, `delete from page where `+one+strings.Repeat(` or `+one, len(chunk)-1), args...); err != nil {
			return err
		}
	}
	return nil
}
