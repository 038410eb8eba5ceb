package sqlstore

import (
	"reflect"
	"testing"

	"galley/internal/cms"
)

// Entries of earlier versions are listed before and after they are moved.
func TestOldAuditEntriesAreMoved(t *testing.T) {
	for name, s := range map[string]*Store{"sqlite": sqliteForTest(t), "postgres": postgresForTest(t)} {
		t.Run(name, func(t *testing.T) {
			ctx, w := t.Context(), cms.NewID()
			old := cms.AuditEntry{
				ID: cms.NewID(), WorkspaceID: w, SiteID: cms.NewID(), ResourceID: cms.NewID(), AppID: cms.NewID(), RequestID: cms.NewID(),
				Kind: cms.KindPage, Operation: "updatePage", Before: []byte(`{"a": "é"}`), After: []byte(`{"a":null}`),
			}
			fresh := cms.AuditEntry{ID: cms.NewID(), WorkspaceID: w, Kind: cms.KindApp, Operation: "createApp", After: []byte(`{}`)}
			do(t, s.InTx(ctx, func(tx cms.Tx) error { return tx.Record(ctx, fresh) }))
			do(t, s.InTx(ctx, func(tx cms.Tx) error {
				q, _ := tx.(queries)
				return q.run(ctx, `insert into audit (workspace_id, id, site_id, resource_id, app_id, kind, operation, request_id, state_before, state_after)
				values (`+marks(10)+`)`, w, old.ID, old.SiteID, old.ResourceID, old.AppID, old.Kind, old.Operation, old.RequestID.String(),
					string(old.Before), string(old.After))
			}))
			for _, want := range []int{1, 0} {
				got, err := s.Audit(ctx, cms.AuditQuery{WorkspaceID: w, ListQuery: cms.ListQuery{Limit: 10}})
				do(t, err)
				if !reflect.DeepEqual(got, []cms.AuditEntry{fresh, old}) {
					t.Errorf("got %+v", got)
				}
				one, err := s.AuditEntry(ctx, w, old.ID)
				do(t, err)
				if !reflect.DeepEqual(one, old) {
					t.Errorf("got %+v", one)
				}
				do(t, s.InTx(ctx, func(tx cms.Tx) error {
					moved, err := tx.MoveAudit(ctx, w, 10)
					if moved != want {
						t.Errorf("%d moved, want %d", moved, want)
					}
					return err
				}))
			}
		})
	}
}
