package storetest

import (
	"errors"
	"sync/atomic"
	"testing"

	"galley/internal/cms"
)

func workspaceKept(t *testing.T, store cms.Store) {
	want := cms.Workspace{ID: cms.NewID(), Name: "Büro 'eins' \U0001F5A8", CreatedAt: at}
	create := func() error {
		return store.InTx(t.Context(), func(tx cms.Tx) error { return tx.CreateWorkspace(t.Context(), want) })
	}
	must(t, create())
	same(t, "Workspace", value(store.Workspace(t.Context(), want.ID))(t), want)
	wantCode(t, "the same workspace again", cms.CodeConflict, create())

	_, err := store.Workspace(t.Context(), cms.NewID())
	wantNotFound(t, "unknown workspace", cms.KindWorkspace, err)
}

func workspacesOldestFirst(t *testing.T, store cms.Store) {
	if all := value(store.Workspaces(t.Context()))(t); len(all) != 0 {
		t.Errorf("an empty store has workspaces: %s", show(all))
	}
	older, newer := cms.NewID(), cms.NewID() // of the same time: the id decides
	want := []cms.Workspace{
		{ID: cms.NewID(), Name: "c", CreatedAt: at},
		{ID: older, Name: "b", CreatedAt: later(1)},
		{ID: newer, Name: "a", CreatedAt: later(1)},
		{ID: cms.NewID(), Name: "d", CreatedAt: later(2)},
	}
	write(t, store, func(tx cms.Tx) error {
		return each([]int{3, 2, 0, 1}, func(i int) error { return tx.CreateWorkspace(t.Context(), want[i]) })
	})
	same(t, "Workspaces", value(store.Workspaces(t.Context()))(t), want)
}

func installOnce(t *testing.T, store cms.Store) {
	abandoned := errors.New("abandoned")
	err := store.InTx(t.Context(), func(tx cms.Tx) error {
		_, err := tx.Install(t.Context(), at)
		return errors.Join(err, abandoned)
	})
	if !errors.Is(err, abandoned) {
		t.Fatal(err)
	}

	var told atomic.Int32
	install := func() error {
		first := false
		err := store.InTx(t.Context(), func(tx cms.Tx) error {
			var err error
			first, err = tx.Install(t.Context(), at)
			return err
		})
		if first {
			told.Add(1)
		}
		return err
	}
	for _, err := range race(16, func(int) error { return install() }) {
		must(t, err)
	}
	must(t, install())
	if n := told.Load(); n != 1 {
		t.Errorf("%d installations were told that the store was empty, want 1", n)
	}
}
