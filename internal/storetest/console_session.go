package storetest

import (
	"testing"
	"time"

	"galley/internal/cms"
)

func newSession(app cms.App) cms.Session {
	return cms.Session{
		ID: cms.NewID(), WorkspaceID: app.WorkspaceID, AppID: app.ID, Key: cms.NewAppKey().Hash(), UserAgent: "Browser \"1\"",
		CreatedAt: at, LastSeenAt: at, EndsAt: later(60),
	}
}

// createSession stores a session and returns the hash of its token.
func createSession(t *testing.T, store cms.Store, s cms.Session) cms.KeyHash {
	t.Helper()
	hash := cms.NewSessionToken().Hash()
	write(t, store, func(tx cms.Tx) error { return tx.CreateSession(t.Context(), s, hash) })
	return hash
}

func sessionKept(t *testing.T, store cms.Store) {
	full := newSession(newApp(aWorkspace(t, store)))
	hash := createSession(t, store, full)
	same(t, "session", value(store.SessionByToken(t.Context(), hash, at))(t), full)
}

func sessionFound(t *testing.T, store cms.Store) {
	session := newSession(newApp(aWorkspace(t, store)))
	hash := createSession(t, store, session)
	for _, i := range around(session.EndsAt) {
		got, err := store.SessionByToken(t.Context(), hash, i.at)
		if i.works {
			same(t, i.name, value(got, err)(t), session)
		} else {
			wantNotFound(t, i.name, cms.KindSession, err)
		}
	}
	_, err := store.SessionByToken(t.Context(), cms.NewSessionToken().Hash(), at)
	wantNotFound(t, "unknown token", cms.KindSession, err)
	write(t, store, func(tx cms.Tx) error {
		return tx.EndSession(t.Context(), session.WorkspaceID, cms.NewID(), session.ID)
	})
	same(t, "another app ends it", value(store.SessionByToken(t.Context(), hash, at))(t), session)
	write(t, store, func(tx cms.Tx) error {
		return tx.EndSession(t.Context(), session.WorkspaceID, session.AppID, session.ID)
	})
	_, err = store.SessionByToken(t.Context(), hash, at)
	wantNotFound(t, "ended", cms.KindSession, err)
}

func sessionLink(t *testing.T, store cms.Store) {
	link := newSession(newApp(aWorkspace(t, store)))
	link.IsLink = true
	hash := createSession(t, store, link)
	_, err := store.SessionByToken(t.Context(), hash, at)
	wantNotFound(t, "a link is no session", cms.KindSession, err)
	take := func(at time.Time) (taken cms.Session, err error) {
		err = store.InTx(t.Context(), func(tx cms.Tx) (err error) {
			taken, err = tx.TakeLink(t.Context(), hash, at)
			return err
		})
		return taken, err
	}
	_, err = take(link.EndsAt)
	wantNotFound(t, "ended", cms.KindSession, err)
	same(t, "taken", value(take(at))(t), link)
	_, err = take(at)
	wantNotFound(t, "taken again", cms.KindSession, err)
	session := newSession(newApp(aWorkspace(t, store)))
	hash = createSession(t, store, session)
	_, err = take(at)
	wantNotFound(t, "a session is no link", cms.KindSession, err)
}

func sessionList(t *testing.T, store cms.Store) {
	w := aWorkspace(t, store)
	app, other := newApp(w), newApp(w)
	first, second, ended, link := newSession(app), newSession(app), newSession(app), newSession(app)
	ended.EndsAt, link.IsLink = at, true
	hash := createSession(t, store, first)
	foreign := newSession(other)
	for _, s := range []cms.Session{second, ended, link, foreign} {
		createSession(t, store, s)
	}
	list := func(appID cms.ID) []cms.Session { return value(store.Sessions(t.Context(), w, appID, at))(t) }
	same(t, "newest first", list(app.ID), []cms.Session{second, first})
	write(t, store, func(tx cms.Tx) error { return tx.EndSessions(t.Context(), w, app.ID) })
	same(t, "all ended", len(list(app.ID)), 0)
	_, err := store.SessionByToken(t.Context(), hash, at)
	wantNotFound(t, "ended", cms.KindSession, err)
	same(t, "of another app", list(other.ID), []cms.Session{foreign})
}

func sessionTouch(t *testing.T, store cms.Store) {
	session := newSession(newApp(aWorkspace(t, store)))
	hash := createSession(t, store, session)
	for _, step := range []struct{ use, want time.Time }{{later(2), later(2)}, {later(1), later(2)}, {later(3), later(3)}} {
		write(t, store, func(tx cms.Tx) error {
			return tx.TouchSession(t.Context(), session.WorkspaceID, session.AppID, session.ID, step.use)
		})
		session.LastSeenAt = step.want
		same(t, "used at "+step.use.String(), value(store.SessionByToken(t.Context(), hash, at))(t), session)
	}
}

func sessionPurge(t *testing.T, store cms.Store) {
	app := newApp(aWorkspace(t, store))
	for _, minute := range []int{3, 1, 2} {
		s := newSession(app)
		s.EndsAt = later(minute)
		createSession(t, store, s)
	}
	left := func(limit, purged int) int {
		t.Helper()
		write(t, store, func(tx cms.Tx) error {
			n, err := tx.PurgeSessions(t.Context(), later(3), limit)
			same(t, "purged", n, purged)
			return err
		})
		return len(value(store.Sessions(t.Context(), app.WorkspaceID, app.ID, at))(t))
	}
	same(t, "one at a time", left(1, 1), 2)
	same(t, "the oldest is gone", value(store.Sessions(t.Context(), app.WorkspaceID, app.ID, later(1)))(t)[0].EndsAt, later(2))
	same(t, "those that have ended", left(10, 1), 1)
}

func sessionCurrentKey(t *testing.T, store cms.Store) {
	app := newApp(aWorkspace(t, store))
	first, second := createApp(t, store, app), cms.NewAppKey().Hash()
	same(t, "the only one", value(store.CurrentKey(t.Context(), app.WorkspaceID, app.ID))(t), first)
	write(t, store, func(tx cms.Tx) error { return tx.RotateAppKey(t.Context(), app, second, later(1)) })
	same(t, "the new one", value(store.CurrentKey(t.Context(), app.WorkspaceID, app.ID))(t), second)
	_, err := store.CurrentKey(t.Context(), app.WorkspaceID, cms.NewID())
	wantNotFound(t, "unknown app", cms.KindApp, err)
}
