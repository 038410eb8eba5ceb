package sqlstore

import (
	"context"
	"time"

	"galley/internal/cms"
)

const sessionColumns = `workspace_id, app_id, id, key_hash, is_link, user_agent, created_at, last_seen_at, ends_at`

func scanSession(r row) (cms.Session, error) {
	var s cms.Session
	var key []byte
	err := r.Scan(&s.WorkspaceID, &s.AppID, &s.ID, &key, &s.IsLink, &s.UserAgent,
		scanTime(&s.CreatedAt), scanTime(&s.LastSeenAt), scanTime(&s.EndsAt))
	copy(s.Key[:], key)
	return s, err
}

func (q queries) SessionByToken(ctx context.Context, hash cms.KeyHash, now time.Time) (cms.Session, error) {
	return q.sessionByToken(ctx, hash, now, false, "")
}

func (q queries) sessionByToken(ctx context.Context, hash cms.KeyHash, now time.Time, isLink bool, lock string) (cms.Session, error) {
	return one(ctx, q, cms.KindSession, scanSession, `select `+sessionColumns+` from console_session
		where token_hash = ? and ends_at > ? and is_link = ?`+lock, hash, now, isLink)
}

func (q queries) TakeLink(ctx context.Context, hash cms.KeyHash, now time.Time) (cms.Session, error) {
	link, err := q.sessionByToken(ctx, hash, now, true, q.dialect.lockUpdate)
	if err != nil {
		return link, err
	}
	return link, q.EndSession(ctx, link.WorkspaceID, link.AppID, link.ID)
}

func (q queries) Sessions(ctx context.Context, workspaceID, appID cms.ID, now time.Time) ([]cms.Session, error) {
	return all(ctx, q, scanSession, `select `+sessionColumns+` from console_session
		where workspace_id = ? and app_id = ? and ends_at > ? and is_link = ? order by id desc`+atMost(cms.MaxLimit), workspaceID, appID, now, false)
}

func (q queries) CreateSession(ctx context.Context, s cms.Session, token cms.KeyHash) error {
	return q.run(ctx, `insert into console_session (`+sessionColumns+`, token_hash) values (`+marks(10)+`)`,
		s.WorkspaceID, s.AppID, s.ID, s.Key, s.IsLink, s.UserAgent, s.CreatedAt, s.LastSeenAt, s.EndsAt, token)
}

func (q queries) TouchSession(ctx context.Context, workspaceID, appID, id cms.ID, at time.Time) error {
	return q.run(ctx, `update console_session set last_seen_at = ? where workspace_id = ? and app_id = ? and id = ?
		and last_seen_at < ?`, at, workspaceID, appID, id, at)
}

func (q queries) EndSession(ctx context.Context, workspaceID, appID, id cms.ID) error {
	return q.run(ctx, `delete from console_session where workspace_id = ? and app_id = ? and id = ?`, workspaceID, appID, id)
}

func (q queries) EndSessions(ctx context.Context, workspaceID, appID cms.ID) error {
	return q.run(ctx, `delete from console_session where workspace_id = ? and app_id = ?`, workspaceID, appID)
}

func (q queries) PurgeSessions(ctx context.Context, before time.Time, limit int) (int, error) {
	ended, err := all(ctx, q, scanSession, `select `+sessionColumns+` from console_session
		where ends_at < ? order by ends_at`+atMost(limit), before)
	for _, s := range ended {
		if err == nil {
			err = q.EndSession(ctx, s.WorkspaceID, s.AppID, s.ID)
		}
	}
	return len(ended), err
}

func (q queries) CurrentKey(ctx context.Context, workspaceID, appID cms.ID) (cms.KeyHash, error) {
	return one(ctx, q, cms.KindApp, func(r row) (hash cms.KeyHash, err error) {
		var text []byte
		err = r.Scan(&text)
		copy(hash[:], text)
		return hash, err
	}, `select hash from app_key where workspace_id = ? and app_id = ? and expires_at is null`, workspaceID, appID)
}
