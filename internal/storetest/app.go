package storetest

import (
	"testing"
	"time"

	"galley/internal/cms"
)

func appKept(t *testing.T, store cms.Store) {
	w := aWorkspace(t, store)
	full := newApp(w)
	full.Description = new("Everything, \"quoted\"")
	full.Scopes = []cms.Scope{cms.ScopeRead, cms.ScopeAdmin}
	full.SiteIDs = []cms.ID{cms.NewID(), cms.NewID()}
	full.Rate = "600/60"
	full.MadeBy = cms.NewID()
	full.LastUsedAt, full.ExpiresAt = new(later(1)), new(later(2))

	for name, want := range map[string]cms.App{"full": full, "bare": newApp(w)} {
		hash := createApp(t, store, want)
		same(t, name+": App", value(store.App(t.Context(), w, want.ID))(t), want)
		same(t, name+": AppOf", value(store.AppOf(t.Context(), want.ID))(t), want)
		same(t, name+": AppByKey", value(appByKey(t, store, hash, at))(t), want)
		write(t, store, func(tx cms.Tx) error {
			locked, err := tx.LockApp(t.Context(), w, want.ID)
			same(t, name+": LockApp", locked, want)
			return err
		})
	}
}

func appAbsent(t *testing.T, store cms.Store) {
	app := newApp(aWorkspace(t, store))
	createApp(t, store, app)
	other := aWorkspace(t, store)

	_, err := store.App(t.Context(), app.WorkspaceID, cms.NewID())
	wantNotFound(t, "unknown app", cms.KindApp, err)
	_, err = store.App(t.Context(), other, app.ID)
	wantNotFound(t, "app of another workspace", cms.KindApp, err)
	_, err = store.AppOf(t.Context(), cms.NewID())
	wantNotFound(t, "unknown app of any workspace", cms.KindApp, err)
	_, err = appByKey(t, store, cms.NewAppKey().Hash(), at)
	wantNotFound(t, "unknown key", cms.KindApp, err)
	err = store.InTx(t.Context(), func(tx cms.Tx) error {
		_, err := tx.LockApp(t.Context(), other, app.ID)
		return err
	})
	wantNotFound(t, "app of another workspace, locked", cms.KindApp, err)
}

func appDeletedFound(t *testing.T, store cms.Store) {
	app := newApp(aWorkspace(t, store))
	hash := createApp(t, store, app)
	app.DeletedAt = new(later(1))
	write(t, store, func(tx cms.Tx) error { return tx.UpdateApp(t.Context(), app) })

	same(t, "App", value(store.App(t.Context(), app.WorkspaceID, app.ID))(t), app)
	same(t, "AppOf", value(store.AppOf(t.Context(), app.ID))(t), app)
	_, err := appByKey(t, store, hash, at)
	wantNotFound(t, "key of a deleted app", cms.KindApp, err)
}

func appKeyConflict(t *testing.T, store cms.Store) {
	w := aWorkspace(t, store)
	first, second := newApp(w), newApp(w)
	hash := createApp(t, store, first)
	err := store.InTx(t.Context(), func(tx cms.Tx) error { return tx.CreateApp(t.Context(), second, hash) })
	wantCode(t, "a key that is there", cms.CodeConflict, err)
	_, err = store.App(t.Context(), w, second.ID)
	wantNotFound(t, "the app that was refused", cms.KindApp, err)
	same(t, "AppByKey", value(appByKey(t, store, hash, at))(t), first)
}

func appList(t *testing.T, store cms.Store) {
	w, other := aWorkspace(t, store), aWorkspace(t, store)
	apps := make([]cms.App, 6)
	for i := range apps {
		apps[i] = newApp(w)
		createApp(t, store, newApp(other))
	}
	apps[2].DeletedAt = new(at)
	for _, i := range []int{4, 1, 5, 0, 2, 3} {
		createApp(t, store, apps[i])
	}
	checkIDList(t, apps, 2, func(a cms.App) cms.ID { return a.ID },
		func(q cms.ListQuery) ([]cms.App, error) { return store.Apps(t.Context(), w, q) })
}

// checkIDList checks a list by id of six items, of which one is deleted.
func checkIDList[T any](t *testing.T, items []T, deleted int, id func(T) cms.ID, list func(cms.ListQuery) ([]T, error)) {
	t.Helper()
	for _, c := range []struct {
		name  string
		after cms.ID
		limit int
		want  []int
	}{
		{"all", cms.NoID, 100, []int{0, 1, 2, 3, 4, 5}},
		{"one more than the limit", cms.NoID, 1, []int{0, 1}},
		{"exactly the limit", cms.NoID, 5, []int{0, 1, 2, 3, 4, 5}},
		{"after an item", id(items[1]), 100, []int{2, 3, 4, 5}},
		{"after a deleted item", id(items[deleted]), 1, []int{3, 4}},
		{"after the last item", id(items[5]), 100, nil},
		{"after an id that is no item", cms.NewID(), 100, nil},
	} {
		var want []T
		for _, i := range c.want {
			if i != deleted {
				want = append(want, items[i])
			}
		}
		want = want[:min(len(want), c.limit+1)]
		sameList(t, c.name, value(list(cms.ListQuery{After: c.after, Limit: c.limit}))(t), want)
	}
}

func appUpdate(t *testing.T, store cms.Store) {
	w := aWorkspace(t, store)
	app, bystander := newApp(w), newApp(w)
	app.Description, app.SiteIDs, app.ExpiresAt = new("d"), []cms.ID{cms.NewID()}, new(later(1))
	createApp(t, store, app)
	createApp(t, store, bystander)

	changed := app
	changed.Name, changed.Description, changed.KeyHint = "Other", nil, "wxyz"
	changed.Scopes, changed.SiteIDs, changed.ExpiresAt = []cms.Scope{cms.ScopeWrite}, nil, nil
	for _, want := range []cms.App{changed, app} {
		write(t, store, func(tx cms.Tx) error { return tx.UpdateApp(t.Context(), want) })
		same(t, "App", value(store.App(t.Context(), w, app.ID))(t), want)
	}
	same(t, "another app", value(store.App(t.Context(), w, bystander.ID))(t), bystander)
}

// instant is a time at which a key is used.
type instant struct {
	name  string
	at    time.Time
	works bool
	end   *time.Time
}

// around are the moments on both sides of a key's end.
func around(end time.Time) []instant {
	return []instant{
		{"just before its end", end.Add(-time.Millisecond), true, &end},
		{"at its end", end, false, nil},
		{"after its end", end.Add(time.Hour), false, nil},
	}
}

func appKeyExpiry(t *testing.T, store cms.Store) {
	app := newApp(aWorkspace(t, store))
	app.ExpiresAt = new(later(5))
	checkAppKey(t, store, app, createApp(t, store, app), around(*app.ExpiresAt))
}

func checkAppKey(t *testing.T, store cms.Store, app cms.App, hash cms.KeyHash, instants []instant) {
	t.Helper()
	for _, i := range instants {
		got, end, err := store.AppByKey(t.Context(), hash, i.at)
		if i.works {
			must(t, err)
			same(t, i.name, got, app)
			same(t, i.name+": its end", end, i.end)
		} else {
			wantNotFound(t, i.name, cms.KindApp, err)
		}
	}
}

func appKeyRotation(t *testing.T, store cms.Store) {
	w := aWorkspace(t, store)
	app, bystander := newApp(w), newApp(w)
	first, other := createApp(t, store, app), createApp(t, store, bystander)
	rotate := func(end time.Time) cms.KeyHash {
		key := cms.NewAppKey()
		app.KeyHint = key.Hint()
		write(t, store, func(tx cms.Tx) error { return tx.RotateAppKey(t.Context(), app, key.Hash(), end) })
		return key.Hash()
	}
	forever := []instant{{"years later", at.AddDate(50, 0, 0), true, nil}}

	second := rotate(later(10))
	checkAppKey(t, store, app, first, around(later(10)))
	checkAppKey(t, store, app, second, forever)

	third := rotate(later(20)) // the first one has its end, which is not put off
	checkAppKey(t, store, app, first, around(later(10)))
	checkAppKey(t, store, app, second, around(later(20)))

	fourth := rotate(later(5)) // no grace is left for those that still worked
	checkAppKey(t, store, app, first, around(later(5)))
	checkAppKey(t, store, app, second, around(later(5)))
	checkAppKey(t, store, app, third, around(later(5)))
	checkAppKey(t, store, app, fourth, forever)
	checkAppKey(t, store, bystander, other, forever)

	err := store.InTx(t.Context(), func(tx cms.Tx) error { return tx.RotateAppKey(t.Context(), app, other, at) })
	wantCode(t, "a key that another app has", cms.CodeConflict, err)
	checkAppKey(t, store, app, fourth, forever)
}

func appTouch(t *testing.T, store cms.Store) {
	app := newApp(aWorkspace(t, store))
	createApp(t, store, app)
	for _, step := range []struct{ use, want time.Time }{
		{later(5), later(5)}, {later(3), later(5)}, {later(5), later(5)}, {later(6), later(6)},
	} {
		write(t, store, func(tx cms.Tx) error { return tx.TouchApp(t.Context(), app.WorkspaceID, app.ID, step.use) })
		app.LastUsedAt = &step.want
		same(t, "used at "+step.use.String(), value(store.AppOf(t.Context(), app.ID))(t), app)
	}
}
