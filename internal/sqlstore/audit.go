package sqlstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"galley/internal/cms"
)

const auditColumns = `workspace_id, id, site_id, resource_id, app_id, kind, operation, request_id, state_before, state_after`

func scanAuditEntry(r row) (e cms.AuditEntry, err error) {
	err = r.Scan(&e.WorkspaceID, &e.ID, &e.SiteID, &e.ResourceID, &e.AppID, &e.Kind, &e.Operation, &e.RequestID, &e.Before, &e.After)
	return e, err
}

func (q queries) AuditEntry(ctx context.Context, workspaceID, id cms.ID) (cms.AuditEntry, error) {
	e, err := one(ctx, q, scanAuditEntry, `select `+auditColumns+` from audit where workspace_id = ? and id = ?`, workspaceID, id)
	return found(cms.KindAudit, e, err)
}

// Audit reads one index backwards: that of the resource, the site or the app,
// whichever the query names first, or else that of the workspace. Of several
// sites it reads each one's newest entries and keeps the newest of all.
func (q queries) Audit(ctx context.Context, ask cms.AuditQuery) ([]cms.AuditEntry, error) {
	if ask.Sites == nil || ask.SiteID != cms.NoID || ask.ResourceID != cms.NoID {
		return q.audit(ctx, ask)
	}
	var newest []cms.AuditEntry
	for _, id := range ask.Sites {
		ofSite := ask
		ofSite.SiteID = id
		entries, err := q.audit(ctx, ofSite)
		if err != nil {
			return nil, err
		}
		newest = append(newest, entries...)
		slices.SortFunc(newest, func(a, b cms.AuditEntry) int { return cms.CompareIDs(b.ID, a.ID) })
		if len(newest) > ask.Limit+1 { // of many sites, this is all that is in memory
			clear(newest[ask.Limit+1:])
			newest = newest[:ask.Limit+1]
		}
	}
	return newest, nil
}

func (q queries) audit(ctx context.Context, ask cms.AuditQuery) ([]cms.AuditEntry, error) {
	from, to := ask.Range()
	if ask.After != cms.NoID && cms.CompareIDs(ask.After, to) < 0 {
		to = ask.After
	}
	where := []string{"workspace_id = ?"}
	args := []any{ask.WorkspaceID}
	for _, filter := range []struct {
		column string
		id     cms.ID
	}{{"resource_id", ask.ResourceID}, {"site_id", ask.SiteID}, {"app_id", ask.AppID}} {
		if filter.id == cms.NoID {
			continue
		}
		where = append(where, filter.column+" = ?")
		args = append(args, filter.id)
	}
	if ask.ResourceID != cms.NoID && ask.SiteID == cms.NoID && ask.Sites != nil {
		where = append(where, "site_id in ("+marks(len(ask.Sites))+")")
		args = append(args, anys(ask.Sites)...)
	}
	where = append(where, "id >= ? and id < ?")
	return all(ctx, q, scanAuditEntry, `select `+auditColumns+` from audit where `+strings.Join(where, " and ")+`
		order by id desc`+atMost(ask.Limit+1), append(args, from, to)...)
}

func (q queries) Record(ctx context.Context, entries ...cms.AuditEntry) error {
	for chunk := range slices.Chunk(entries, rowChunk) {
		var args []any
		for _, e := range chunk {
			args = append(args, e.WorkspaceID, e.ID, e.SiteID, e.ResourceID, e.AppID, e.Kind, e.Operation, e.RequestID,
				nullText(e.Before), nullText(e.After))
		}
		rows := strings.TrimSuffix(strings.Repeat("("+marks(10)+"), ", len(chunk)), ", ")
		if err := q.run(ctx, `insert into audit (`+auditColumns+`) values `+rows, args...); err != nil {
			return err
		}
	}
	return nil
}

func nullText(text []byte) *string {
	if text == nil {
		return nil
	}
	return new(string(text))
}

func (q queries) PurgeAudit(ctx context.Context, workspaceID cms.ID, before time.Time, limit int) (int, error) {
	n, err := q.exec(ctx, `delete from audit where workspace_id = ? and id in (
			select id from audit where workspace_id = ? and id < ? order by id limit ?)`,
		workspaceID, workspaceID, cms.AuditBefore(before), limit)
	return int(n), err
}
