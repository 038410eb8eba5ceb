package service

import (
	"context"
	"time"

	"galley/internal/cms"
)

// How long a session of the console lasts unless configured: unused, and at most.
const (
	DefaultConsoleIdle    = 12 * time.Hour
	DefaultConsoleSession = 7 * 24 * time.Hour
)

// findSession finds the session of a token and its app, with the rights that its key
// has now, and when it ends unless it is used.
func (s *Service) findSession(ctx context.Context, token cms.SessionToken, now time.Time) (*cms.App, *cms.Session, *time.Time, error) {
	var app cms.App
	session, err := s.store.SessionByToken(ctx, token.Hash(), now)
	if err != nil {
		return &app, nil, nil, err
	}
	ends := session.LastSeenAt.Add(s.ConsoleIdle)
	if last := s.usage.last(session.ID); last.After(session.LastSeenAt) {
		ends = last.Add(s.ConsoleIdle)
	}
	if session.EndsAt.Before(ends) {
		ends = session.EndsAt
	}
	if !now.Before(ends) {
		return &app, nil, nil, cms.NotFound(cms.KindSession)
	}
	app, keyEnds, err := s.store.AppByKey(ctx, session.Key, now)
	if keyEnds != nil && keyEnds.Before(ends) {
		ends = *keyEnds
	}
	return &app, &session, &ends, err
}

// SignIn creates a session of the console for the owner of an App key.
func (s *Service) SignIn(ctx context.Context, who Caller, key cms.AppKey, userAgent string) (cms.SessionToken, cms.Session, error) {
	token, session := cms.NewSessionToken(), cms.NewSession(*who.App, key.Hash(), userAgent, s.now(), s.ConsoleSession)
	err := s.write(ctx, func(tx cms.Tx) error { return tx.CreateSession(ctx, session, token.Hash()) })
	return token, session, err
}

// ConsoleLink creates a link that signs somebody in to the console once, with a key of
// an app.
func (s *Service) ConsoleLink(ctx context.Context, app cms.App) (cms.SessionToken, error) {
	token := cms.NewSessionToken()
	err := s.write(ctx, func(tx cms.Tx) error {
		key, err := tx.CurrentKey(ctx, app.WorkspaceID, app.ID)
		if err != nil {
			return err
		}
		link := cms.NewSession(app, key, "", s.now(), cms.LinkLifetime)
		link.IsLink = true
		return tx.CreateSession(ctx, link, token.Hash())
	})
	return token, err
}

// UseConsoleLink creates the session of a link. A link that was used, or that has
// ended, is unauthorized.
func (s *Service) UseConsoleLink(ctx context.Context, link, userAgent string) (cms.SessionToken, cms.Session, error) {
	token := cms.NewSessionToken()
	var session cms.Session
	parsed, ok := cms.ParseSessionToken(link)
	if !ok {
		return token, session, cms.ErrUnauthorized
	}
	err := s.write(ctx, func(tx cms.Tx) error {
		used, err := tx.TakeLink(ctx, parsed.Hash(), s.now())
		if err != nil {
			return err
		}
		app := cms.App{ID: used.AppID, WorkspaceID: used.WorkspaceID}
		session = cms.NewSession(app, used.Key, userAgent, s.now(), s.ConsoleSession)
		return tx.CreateSession(ctx, session, token.Hash())
	})
	if cms.CodeOf(err) == cms.CodeNotFound {
		err = cms.ErrUnauthorized
	}
	return token, session, err
}

// Sessions are the sessions of the caller's app whose keys still work.
func (s *Service) Sessions(ctx context.Context, who Caller) ([]cms.Session, error) {
	sessions, err := s.store.Sessions(ctx, who.App.WorkspaceID, who.App.ID, s.now())
	kept := sessions[:0]
	ended := map[cms.KeyHash]bool{}
	for _, session := range sessions {
		if _, known := ended[session.Key]; !known {
			_, _, err := s.store.AppByKey(ctx, session.Key, s.now())
			ended[session.Key] = cms.CodeOf(err) == cms.CodeNotFound
		}
		if ended[session.Key] {
			continue
		}
		if last := s.usage.last(session.ID); last.After(session.LastSeenAt) {
			session.LastSeenAt = last
		}
		if s.now().Before(session.LastSeenAt.Add(s.ConsoleIdle)) {
			kept = append(kept, session)
		}
	}
	return kept, err
}

// EndSession ends a session of the caller's app.
func (s *Service) EndSession(ctx context.Context, who Caller, id cms.ID) error {
	return s.write(ctx, func(tx cms.Tx) error { return tx.EndSession(ctx, who.App.WorkspaceID, who.App.ID, id) })
}

// EndSessions ends all sessions of the caller's app.
func (s *Service) EndSessions(ctx context.Context, who Caller) error {
	return s.write(ctx, func(tx cms.Tx) error { return tx.EndSessions(ctx, who.App.WorkspaceID, who.App.ID) })
}

// PurgeSessions removes the sessions that have ended.
func (s *Service) PurgeSessions(ctx context.Context) error {
	return s.inChunks(ctx, func(tx cms.Tx, limit int) (int, error) { return tx.PurgeSessions(ctx, s.now(), limit) })
}
