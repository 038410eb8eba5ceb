package storetest

import (
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
)

// anEntry is an entry of a workspace's trail, filled in by change.
func anEntry(workspaceID cms.ID, change func(*cms.AuditEntry)) cms.AuditEntry {
	e := cms.AuditEntry{
		ID: cms.NewID(), WorkspaceID: workspaceID, Kind: cms.KindPage, ResourceID: cms.NewID(), Operation: "createPage",
	}
	change(&e)
	return e
}

func record(t *testing.T, store cms.Store, entries ...cms.AuditEntry) {
	t.Helper()
	write(t, store, func(tx cms.Tx) error { return tx.Record(t.Context(), entries...) })
}

func auditKept(t *testing.T, store cms.Store) {
	w := aWorkspace(t, store)
	bare := anEntry(w, func(*cms.AuditEntry) {})
	full := anEntry(w, func(e *cms.AuditEntry) {
		e.AppID, e.SiteID, e.RequestID, e.Actor = cms.NewID(), cms.NewID(), cms.NewID(), "Zoë"
		e.Before, e.After = []byte(`{"b": 1,"a":"é","id":"`+e.ResourceID.String()+`","siteId":"`+e.SiteID.String()+`"}`), []byte(`{"a":null}`)
	})
	made := anEntry(w, func(e *cms.AuditEntry) {
		e.After = []byte(`{"by":"` + strings.Repeat(full.AppID.String(), 1000) + `"}`)
	})
	gone := anEntry(w, func(e *cms.AuditEntry) { e.Before = []byte(`{"object":"page"}`) })
	record(t, store, bare, full, made, gone)

	same(t, "bare", value(store.AuditEntry(t.Context(), w, bare.ID))(t), bare)
	same(t, "made", value(store.AuditEntry(t.Context(), w, made.ID))(t), made)
	same(t, "gone", value(store.AuditEntry(t.Context(), w, gone.ID))(t), gone)
	same(t, "full", value(store.AuditEntry(t.Context(), w, full.ID))(t), full)
	_, err := store.AuditEntry(t.Context(), aWorkspace(t, store), full.ID)
	wantNotFound(t, "entry of another workspace", cms.KindAudit, err)
	_, err = store.AuditEntry(t.Context(), w, cms.NewID())
	wantNotFound(t, "unknown entry", cms.KindAudit, err)
}

func auditList(t *testing.T, store cms.Store) {
	w, other := aWorkspace(t, store), aWorkspace(t, store)
	shop, blog := cms.NewID(), cms.NewID()
	page, app := cms.NewID(), cms.NewID()
	first := anEntry(w, func(e *cms.AuditEntry) { e.SiteID, e.ResourceID = shop, page })
	second := anEntry(w, func(e *cms.AuditEntry) { e.SiteID, e.AppID = blog, app })
	third := anEntry(w, func(e *cms.AuditEntry) { e.SiteID, e.ResourceID, e.AppID = shop, page, app })
	fourth := anEntry(w, func(e *cms.AuditEntry) { e.AppID, e.Operation = app, "rotateAppKey" })
	foreign := anEntry(other, func(e *cms.AuditEntry) { e.SiteID, e.ResourceID, e.AppID = shop, page, app })
	record(t, store, third, first, foreign, second)
	record(t, store, fourth)

	all := cms.AuditQuery{WorkspaceID: w, ListQuery: cms.ListQuery{Limit: 10}}
	for name, c := range map[string]struct {
		change func(*cms.AuditQuery)
		want   []cms.AuditEntry
	}{
		"all":                   {func(*cms.AuditQuery) {}, []cms.AuditEntry{fourth, third, second, first}},
		"of a site":             {func(q *cms.AuditQuery) { q.SiteID = shop }, []cms.AuditEntry{third, first}},
		"of a resource":         {func(q *cms.AuditQuery) { q.ResourceID = page }, []cms.AuditEntry{third, first}},
		"of an app":             {func(q *cms.AuditQuery) { q.AppID = app }, []cms.AuditEntry{fourth, third, second}},
		"of an app in a site":   {func(q *cms.AuditQuery) { q.AppID, q.SiteID = app, shop }, []cms.AuditEntry{third}},
		"in sites":              {func(q *cms.AuditQuery) { q.Sites = []cms.ID{blog, shop} }, []cms.AuditEntry{third, second, first}},
		"in one of sites":       {func(q *cms.AuditQuery) { q.Sites = []cms.ID{blog, cms.NewID()} }, []cms.AuditEntry{second}},
		"of a resource, sites":  {func(q *cms.AuditQuery) { q.ResourceID, q.Sites = page, []cms.ID{blog} }, nil},
		"by an operation":       {func(q *cms.AuditQuery) { q.Operation = "rotateAppKey" }, []cms.AuditEntry{fourth}},
		"by an operation, app":  {func(q *cms.AuditQuery) { q.Operation, q.AppID = "createPage", app }, []cms.AuditEntry{third, second}},
		"by no operation":       {func(q *cms.AuditQuery) { q.Operation = "createpage" }, nil},
		"after a cursor":        {func(q *cms.AuditQuery) { q.After = third.ID }, []cms.AuditEntry{second, first}},
		"one more than asked":   {func(q *cms.AuditQuery) { q.Limit = 1 }, []cms.AuditEntry{fourth, third}},
		"one more, in sites":    {func(q *cms.AuditQuery) { q.Limit, q.Sites = 1, []cms.ID{blog, shop} }, []cms.AuditEntry{third, second}},
		"since long ago":        {func(q *cms.AuditQuery) { q.Since = new(time.Unix(-1, 0)) }, []cms.AuditEntry{fourth, third, second, first}},
		"since tomorrow":        {func(q *cms.AuditQuery) { q.Since = new(fourth.At().Add(24 * time.Hour)) }, nil},
		"until yesterday":       {func(q *cms.AuditQuery) { q.Until = new(first.At().Add(-24 * time.Hour)) }, nil},
		"until the end of time": {func(q *cms.AuditQuery) { q.Until = new(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)) }, []cms.AuditEntry{fourth, third, second, first}},
	} {
		q := all
		c.change(&q)
		sameList(t, name, value(store.Audit(t.Context(), q))(t), c.want)
	}
}

// auditAppNames shows an entry with the name that its app has now.
func auditAppNames(t *testing.T, store cms.Store) {
	app := newApp(aWorkspace(t, store))
	write(t, store, func(tx cms.Tx) error { return tx.CreateApp(t.Context(), app, cms.NewAppKey().Hash()) })
	e := anEntry(app.WorkspaceID, func(e *cms.AuditEntry) { e.AppID = app.ID })
	record(t, store, e)
	app.Name, app.DeletedAt = "Renamed", new(at)
	write(t, store, func(tx cms.Tx) error { return tx.UpdateApp(t.Context(), app) })
	e.AppName = "Renamed"
	same(t, "entry", value(store.AuditEntry(t.Context(), e.WorkspaceID, e.ID))(t), e)
	q := cms.AuditQuery{WorkspaceID: e.WorkspaceID, ListQuery: cms.ListQuery{Limit: 10}}
	sameList(t, "list", value(store.Audit(t.Context(), q))(t), []cms.AuditEntry{e})
}

func auditTimes(t *testing.T, store cms.Store) {
	w := aWorkspace(t, store)
	early := anEntry(w, func(e *cms.AuditEntry) { e.ID = cms.AuditBefore(at) })
	late := anEntry(w, func(e *cms.AuditEntry) { e.ID = cms.AuditBefore(at.Add(time.Millisecond)) })
	record(t, store, early, late)

	if !early.At().Equal(at) {
		t.Errorf("the entry is of %s, want %s", early.At(), at)
	}
	q := cms.AuditQuery{WorkspaceID: w, ListQuery: cms.ListQuery{Limit: 10}}
	q.Since = new(at)
	sameList(t, "since", value(store.Audit(t.Context(), q))(t), []cms.AuditEntry{late, early})
	q.Since = new(at.Add(time.Microsecond))
	sameList(t, "since just after", value(store.Audit(t.Context(), q))(t), []cms.AuditEntry{late})
	q.Since, q.Until = nil, new(at.Add(time.Millisecond))
	sameList(t, "until", value(store.Audit(t.Context(), q))(t), []cms.AuditEntry{early})
	q.Until = new(at)
	sameList(t, "until the first", value(store.Audit(t.Context(), q))(t), nil)
}

func auditPurged(t *testing.T, store cms.Store) {
	w, other := aWorkspace(t, store), aWorkspace(t, store)
	aged := func(workspaceID cms.ID, minutes int) cms.AuditEntry {
		return anEntry(workspaceID, func(e *cms.AuditEntry) { e.ID = cms.AuditBefore(later(minutes)) })
	}
	first, second, third, kept := aged(w, 1), aged(w, 2), aged(w, 3), aged(w, 4)
	foreign := aged(other, 1)
	record(t, store, first, second, third, kept, foreign)

	for _, want := range []int{2, 1, 0} {
		write(t, store, func(tx cms.Tx) error {
			n, err := tx.PurgeAudit(t.Context(), w, later(4), 2)
			if n != want {
				t.Errorf("%d entries were purged, want %d", n, want)
			}
			return err
		})
	}
	q := cms.AuditQuery{WorkspaceID: w, ListQuery: cms.ListQuery{Limit: 10}}
	sameList(t, "what is left", value(store.Audit(t.Context(), q))(t), []cms.AuditEntry{kept})
	q.WorkspaceID = other
	sameList(t, "another workspace's", value(store.Audit(t.Context(), q))(t), []cms.AuditEntry{foreign})
}
