package storetest

import (
	"testing"
	"time"

	"galley/internal/cms"
)

// anEvent is an entry of a workspace that is an event.
func anEvent(workspaceID cms.ID, t cms.EventType, siteID cms.ID) cms.AuditEntry {
	return anEntry(workspaceID, func(e *cms.AuditEntry) { e.Type, e.SiteID = t, siteID })
}

// number gives positions to all events.
func number(t *testing.T, store cms.Store) {
	t.Helper()
	write(t, store, func(tx cms.Tx) error {
		_, err := tx.NumberEvents(t.Context(), 1000)
		return err
	})
	if value(store.EventsPending(t.Context()))(t) {
		t.Error("events are pending after they were numbered")
	}
}

// events are events with positions from 1 on.
func events(entries ...cms.AuditEntry) []cms.Event {
	list := make([]cms.Event, len(entries))
	for i, e := range entries {
		list[i] = cms.Event{AuditEntry: e, Position: int64(i + 1)}
	}
	return list
}

func eventKept(t *testing.T, store cms.Store) {
	w := aWorkspace(t, store)
	entry := anEntry(w, func(e *cms.AuditEntry) {
		e.Fields = []string{"title", "isOnline"}
		e.Type, e.Locale, e.SiteID, e.AppID, e.RequestID, e.Actor = "page.updated", "pt-BR", cms.NewID(), cms.NewID(), cms.NewID(), "Zoë"
		e.Before, e.After = []byte(`{"a":1}`), []byte(`{"a":2}`)
	})
	none := anEntry(w, func(*cms.AuditEntry) {})
	record(t, store, none, entry)
	number(t, store)
	want := cms.Event{AuditEntry: entry, Position: 1}
	same(t, "event", value(store.Event(t.Context(), w, entry.ID))(t), want)
	sameList(t, "list", value(store.Events(t.Context(), cms.EventQuery{WorkspaceID: w, Limit: 10}))(t), []cms.Event{want})
	same(t, "last position", value(store.LastPosition(t.Context(), w))(t), int64(1))
	other := aWorkspace(t, store)
	same(t, "last position of another workspace", value(store.LastPosition(t.Context(), other))(t), int64(0))
	for name, id := range map[string]cms.ID{"an entry that is no event": none.ID, "an unknown one": cms.NewID()} {
		_, err := store.Event(t.Context(), w, id)
		wantNotFound(t, name, cms.KindEvent, err)
	}
	_, err := store.Event(t.Context(), other, entry.ID)
	wantNotFound(t, "that of another workspace", cms.KindEvent, err)
}

func eventList(t *testing.T, store cms.Store) {
	w, other := aWorkspace(t, store), aWorkspace(t, store)
	shop, blog := cms.NewID(), cms.NewID()
	at := func(e cms.AuditEntry, minutes int) cms.AuditEntry {
		e.ID = cms.AuditBefore(later(minutes))
		return e
	}
	// The third was recorded long before the second, and committed after it.
	first, second := at(anEvent(w, "page.created", shop), 0), at(anEvent(w, "page.updated", blog), 30)
	third, fourth := at(anEvent(w, "page.updated", shop), 25), at(anEvent(w, "app.created", cms.NoID), 60)
	foreign := at(anEvent(other, "page.created", cms.NewID()), 10)
	record(t, store, first, second, foreign)
	record(t, store, third)
	record(t, store, fourth)
	number(t, store)
	all := events(first, second, third, fourth)
	for name, c := range map[string]struct {
		change func(*cms.EventQuery)
		want   []cms.Event
	}{
		"all":                   {func(*cms.EventQuery) {}, all},
		"after a position":      {func(q *cms.EventQuery) { q.After = 2 }, all[2:]},
		"after the last":        {func(q *cms.EventQuery) { q.After = 4 }, nil},
		"as many as asked":      {func(q *cms.EventQuery) { q.Limit = 2 }, all[:2]},
		"of a site":             {func(q *cms.EventQuery) { q.SiteID = shop }, []cms.Event{all[0], all[2]}},
		"of a site, after":      {func(q *cms.EventQuery) { q.SiteID, q.After = shop, 1 }, all[2:3]},
		"of sites":              {func(q *cms.EventQuery) { q.Sites = []cms.ID{blog, shop} }, all[:3]},
		"of sites, limited":     {func(q *cms.EventQuery) { q.Sites, q.Limit = []cms.ID{blog, shop}, 2 }, all[:2]},
		"of no sites":           {func(q *cms.EventQuery) { q.Sites = []cms.ID{} }, nil},
		"of one of sites":       {func(q *cms.EventQuery) { q.Sites, q.SiteID = []cms.ID{blog, shop}, blog }, all[1:2]},
		"of a site not allowed": {func(q *cms.EventQuery) { q.Sites, q.SiteID = []cms.ID{blog}, shop }, nil},
		"of a type":             {func(q *cms.EventQuery) { q.Types = []cms.EventType{"page.updated"} }, all[1:3]},
		"of types":              {func(q *cms.EventQuery) { q.Types = []cms.EventType{"app.created", "page.created"} }, []cms.Event{all[0], all[3]}},
		"of types in a site":    {func(q *cms.EventQuery) { q.Types, q.SiteID = []cms.EventType{"page.updated", "app.created"}, shop }, all[2:3]},
		"since":                 {func(q *cms.EventQuery) { q.Since = new(later(26)) }, []cms.Event{all[1], all[3]}},
		"since, overtaken":      {func(q *cms.EventQuery) { q.Since = new(later(25)) }, all[1:]},
		"since, of types":       {func(q *cms.EventQuery) { q.Since, q.Types = new(later(26)), []cms.EventType{"page.updated"} }, all[1:2]},
		"since, after":          {func(q *cms.EventQuery) { q.Since, q.After = new(later(20)), 3 }, all[3:]},
		"since the end":         {func(q *cms.EventQuery) { q.Since = new(later(100)) }, nil},
		"since long ago":        {func(q *cms.EventQuery) { q.Since = new(time.Unix(-1, 0)) }, all},
	} {
		q := cms.EventQuery{WorkspaceID: w, Limit: 10}
		c.change(&q)
		got := value(store.Events(t.Context(), q))(t)
		sameList(t, name, got, c.want)
		for _, e := range all {
			if admitted := q.Admits(e); q.Limit == 10 && admitted != contains(c.want, e.ID) {
				t.Errorf("%s: event %d is admitted: %v", name, e.Position, admitted)
			}
		}
	}
}

func contains(events []cms.Event, id cms.ID) bool {
	for _, e := range events {
		if e.ID == id {
			return true
		}
	}
	return false
}

// eventOrder numbers an event that is committed late after those that overtook it, and
// never before a position that was seen.
func eventOrder(t *testing.T, store cms.Store) {
	w := aWorkspace(t, store)
	slow, quick, last := anEvent(w, "page.created", cms.NewID()), anEvent(w, "page.created", cms.NewID()), anEvent(w, "page.updated", cms.NewID())
	recorded, finish, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- store.InTx(t.Context(), func(tx cms.Tx) error {
			if err := tx.Record(t.Context(), slow); err != nil {
				return err
			}
			if _, err := tx.AuditEntry(t.Context(), w, slow.ID); err != nil { // it is sent
				return err
			}
			close(recorded)
			<-finish
			return nil
		})
	}()
	<-recorded
	overtaken := make(chan struct{})
	go func() { // it waits where there is one writer
		defer close(overtaken)
		record(t, store, quick)
		number(t, store)
	}()
	select {
	case <-overtaken:
	case <-time.After(100 * time.Millisecond):
	}
	seen := value(store.LastPosition(t.Context(), w))(t)
	close(finish)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	<-overtaken
	record(t, store, last)
	number(t, store)
	want := events(slow, quick, last)
	if seen == 1 {
		want = events(quick, slow, last)
	}
	sameList(t, "events", value(store.Events(t.Context(), cms.EventQuery{WorkspaceID: w, Limit: 10}))(t), want)
}

func eventPurged(t *testing.T, store cms.Store) {
	w, other := aWorkspace(t, store), aWorkspace(t, store)
	aged := func(workspaceID cms.ID, minutes int) cms.AuditEntry {
		e := anEvent(workspaceID, "page.updated", cms.NewID())
		e.ID = cms.AuditBefore(later(minutes))
		return e
	}
	record(t, store, aged(w, 1), aged(w, 2), aged(w, 3), aged(other, 1))
	kept := aged(w, 4)
	record(t, store, kept)
	number(t, store)
	purge := func(before time.Time, want ...int) {
		t.Helper()
		for _, want := range want {
			write(t, store, func(tx cms.Tx) error {
				n, err := tx.PurgeEvents(t.Context(), w, before, 2)
				if n != want {
					t.Errorf("%d events were purged, want %d", n, want)
				}
				return err
			})
		}
	}
	purge(later(4), 2, 1, 0)
	q := cms.EventQuery{WorkspaceID: w, Limit: 10}
	sameList(t, "what is left", value(store.Events(t.Context(), q))(t), []cms.Event{{AuditEntry: kept, Position: 4}})
	purge(later(5), 0)
	sameList(t, "nothing", value(store.Events(t.Context(), q))(t), nil)
	_, err := store.Event(t.Context(), w, kept.ID)
	wantNotFound(t, "a purged event", cms.KindEvent, err)
	same(t, "last position", value(store.LastPosition(t.Context(), w))(t), int64(4))
	next := anEvent(w, "page.updated", cms.NewID())
	record(t, store, next)
	number(t, store)
	sameList(t, "after the purge", value(store.Events(t.Context(), q))(t), []cms.Event{{AuditEntry: next, Position: 5}})
	q.WorkspaceID = other
	if left := value(store.Events(t.Context(), q))(t); len(left) != 1 {
		t.Errorf("another workspace has %d events, want 1", len(left))
	}
}

func eventPurgedWithSite(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	site.DeletedAt = new(at)
	kept := anEvent(site.WorkspaceID, "page.updated", cms.NewID())
	record(t, store, anEvent(site.WorkspaceID, "page.updated", site.ID), kept, anEvent(site.WorkspaceID, "site.deleted", site.ID))
	number(t, store)
	write(t, store, func(tx cms.Tx) error {
		if err := tx.UpdateSite(t.Context(), site); err != nil {
			return err
		}
		_, err := tx.PurgeSites(t.Context(), later(1), 10)
		return err
	})
	q := cms.EventQuery{WorkspaceID: site.WorkspaceID, Limit: 10}
	sameList(t, "what is left", value(store.Events(t.Context(), q))(t), []cms.Event{{AuditEntry: kept, Position: 2}})
	q.SiteID = site.ID
	sameList(t, "of the site", value(store.Events(t.Context(), q))(t), nil)
	same(t, "last position", value(store.LastPosition(t.Context(), site.WorkspaceID))(t), int64(3))
}
