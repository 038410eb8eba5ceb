package sqlstore

import (
	"context"
	"reflect"
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
	changed := map[string][][]any{} // by the columns that do
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
			set := strings.Join(columns, ", ")
			changed[set] = append(changed[set], after)
		}
	}
	if err := q.deleteRows(ctx, gone); err != nil {
		return err
	}
	if err := q.putRows(ctx, created, ""); err != nil {
		return err
	}
	for set, rows := range changed {
		if err := q.putRows(ctx, rows, ` on conflict (`+rowKey+`) do update set `+set); err != nil {
			return err
		}
	}
	return nil
}

// changedColumns are what an upsert of a row sets. Nobody reads whether a
// draft was dirty before it was changed, so that is always set.
func changedColumns(before, after []any, version cms.Version) []string {
	var columns []string
	for i, column := range storedColumns {
		if !reflect.DeepEqual(before[i], after[i]) || (column == "dirty" && version == cms.Draft) {
			columns = append(columns, column+" = excluded."+column)
		}
	}
	return columns
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
