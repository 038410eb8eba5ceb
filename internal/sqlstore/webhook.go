package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"galley/internal/cms"
)

const webhookColumns = `id, workspace_id, url, types, site_ids, description, is_enabled, disabled_reason, created_at, updated_at, deleted_at,
	secret, old_secret, old_secret_ends, starts_after, position, failing_since, revision`

func scanWebhook(r row) (w cms.Webhook, err error) {
	var types, siteIDs *string
	var startsAfter *cms.ID
	err = r.Scan(&w.ID, &w.WorkspaceID, &w.URL, &types, &siteIDs, &w.Description, &w.IsEnabled, &w.DisabledReason,
		scanTime(&w.CreatedAt), scanTime(&w.UpdatedAt), scanNullTime(&w.DeletedAt), &w.Secret, &w.OldSecret, scanNullTime(&w.OldSecretEnds),
		&startsAfter, &w.Position, scanNullTime(&w.FailingSince), &w.Revision)
	if err != nil {
		return w, err
	}
	w.StartsAfter = orNoID(startsAfter)
	if types != nil {
		for t := range strings.SplitSeq(*types, ",") {
			w.Types = append(w.Types, cms.EventType(t))
		}
	}
	w.SiteIDs, err = splitIDs(siteIDs)
	return w, err
}

func joinTypes(types []cms.EventType) *string {
	if types == nil {
		return nil
	}
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = string(t)
	}
	return new(strings.Join(list, ","))
}

func (q queries) Webhook(ctx context.Context, id cms.ID) (cms.Webhook, error) {
	return q.webhook(ctx, ` where id = ?`, id)
}

func (q queries) LockWebhook(ctx context.Context, id cms.ID) (cms.Webhook, error) {
	return q.webhook(ctx, ` where id = ?`+q.dialect.lockUpdate, id)
}

func (q queries) LockServed(ctx context.Context, id, node cms.ID) (cms.Webhook, error) {
	return q.webhook(ctx, ` where id = ? and lease_node = ?`+q.dialect.lockUpdate, id, node)
}

func (q queries) webhook(ctx context.Context, where string, args ...any) (cms.Webhook, error) {
	return one(ctx, q, cms.KindWebhook, scanWebhook, `select `+webhookColumns+` from webhook`+where, args...)
}

func (q queries) Webhooks(ctx context.Context, workspaceID cms.ID) ([]cms.Webhook, error) {
	return all(ctx, q, scanWebhook, `select `+webhookColumns+` from webhook where workspace_id = ? and deleted_at is null order by id`, workspaceID)
}

func (q queries) LockWebhooks(ctx context.Context, workspaceID cms.ID) (int, error) {
	_, err := one(ctx, q, cms.KindWorkspace, scanValue[cms.ID], `select id from workspace where id = ?`+q.dialect.lockUpdate, workspaceID)
	if err != nil {
		return 0, err
	}
	webhooks, err := q.Webhooks(ctx, workspaceID)
	return len(webhooks), err
}

func (q queries) CreateWebhook(ctx context.Context, w cms.Webhook) error {
	return q.run(ctx, `insert into webhook (`+webhookColumns+`, lease_until) values (`+marks(19)+`)`,
		w.ID, w.WorkspaceID, w.URL, joinTypes(w.Types), joinIDs(w.SiteIDs), w.Description, w.IsEnabled, w.DisabledReason,
		w.CreatedAt, w.UpdatedAt, w.DeletedAt, w.Secret, w.OldSecret, w.OldSecretEnds, nullID(w.StartsAfter), w.Position, w.FailingSince, w.Revision, 0)
}

func (q queries) UpdateWebhook(ctx context.Context, w cms.Webhook) error {
	return q.run(ctx, `update webhook set url = ?, types = ?, site_ids = ?, description = ?, is_enabled = ?, disabled_reason = ?, updated_at = ?,
		deleted_at = ?, secret = ?, old_secret = ?, old_secret_ends = ?, starts_after = ?, position = ?, failing_since = ?, revision = ?
		where workspace_id = ? and id = ?`,
		w.URL, joinTypes(w.Types), joinIDs(w.SiteIDs), w.Description, w.IsEnabled, w.DisabledReason, w.UpdatedAt,
		w.DeletedAt, w.Secret, w.OldSecret, w.OldSecretEnds, nullID(w.StartsAfter), w.Position, w.FailingSince, w.Revision, w.WorkspaceID, w.ID)
}

func (q queries) ServeWebhooks(ctx context.Context, node cms.ID, now, until time.Time, limit int) error {
	free, err := values[cms.ID](ctx, q, `select id from webhook where deleted_at is null and lease_until < ? order by lease_until`+atMost(limit)+q.dialect.skipLocked, now)
	if err != nil || len(free) == 0 {
		return err
	}
	return q.run(ctx, `update webhook set lease_node = ?, lease_until = ? where id in (`+marks(len(free))+`)`, append([]any{node, until}, anys(free)...)...)
}

func (q queries) KeepServing(ctx context.Context, node cms.ID, until time.Time) error {
	return q.run(ctx, `update webhook set lease_until = ? where lease_node = ?`, until, node)
}

func (q queries) StopServing(ctx context.Context, node cms.ID) error {
	return q.run(ctx, `update webhook set lease_node = null, lease_until = 0 where lease_node = ?`, node)
}

func (q queries) YieldWebhook(ctx context.Context, id, node cms.ID, until time.Time) error {
	return q.run(ctx, `update webhook set lease_node = null, lease_until = ? where id = ? and lease_node = ?`, until, id, node)
}

func (q queries) ServedWebhooks(ctx context.Context, node cms.ID) ([]cms.ServedWebhook, error) {
	return all(ctx, q, func(r row) (w cms.ServedWebhook, err error) {
		return w, r.Scan(&w.ID, &w.WorkspaceID, &w.Revision)
	}, `select id, workspace_id, revision from webhook where lease_node = ? and deleted_at is null`, node)
}

func (q queries) Replays(ctx context.Context, webhookID cms.ID) ([]cms.WebhookReplay, error) {
	return all(ctx, q, func(r row) (p cms.WebhookReplay, err error) {
		return p, r.Scan(&p.WebhookID, &p.ID, scanTime(&p.Since), &p.Position, &p.Until)
	}, `select webhook_id, id, since, position, until from webhook_replay where webhook_id = ? order by id`, webhookID)
}

func (q queries) SaveReplay(ctx context.Context, p cms.WebhookReplay) error {
	return q.run(ctx, `insert into webhook_replay (webhook_id, id, since, position, until) values (`+marks(5)+`)
		on conflict (webhook_id, id) do update set position = excluded.position`, p.WebhookID, p.ID, p.Since, p.Position, p.Until)
}

func (q queries) DeleteReplay(ctx context.Context, webhookID, id cms.ID) error {
	return q.run(ctx, `delete from webhook_replay where webhook_id = ? and id = ?`, webhookID, id)
}

// EventKeys reads the index of each pair of a site and a type that the query names, or
// that of the workspace.
func (q queries) EventKeys(ctx context.Context, ask cms.EventQuery) ([]cms.Event, error) {
	const read = `select workspace_id, id, site_id, type, position from event where `
	rest := ` and position > ? order by position` + atMost(ask.Limit)
	scan := func(r row) (e cms.Event, err error) {
		return e, r.Scan(&e.WorkspaceID, &e.ID, &e.SiteID, &e.Type, &e.Position)
	}
	if ask.Types == nil {
		return all(ctx, q, scan, read+`workspace_id = ? and type <> ''`+rest, ask.WorkspaceID, ask.After)
	}
	column, owners := "workspace_id", []cms.ID{ask.WorkspaceID}
	if ask.Sites != nil {
		column, owners = "site_id", ask.Sites
	}
	var found []cms.Event
	for _, owner := range owners {
		for _, t := range ask.Types {
			events, err := all(ctx, q, scan, read+column+` = ? and type = ?`+rest, owner, t, ask.After)
			if err != nil {
				return nil, err
			}
			found = append(found, events...)
		}
	}
	slices.SortFunc(found, func(a, b cms.Event) int { return cmp.Compare(a.Position, b.Position) })
	return found[:min(len(found), ask.Limit)], nil
}

// CountEvents counts the events of a range of positions, which it reads.
func (q queries) CountEvents(ctx context.Context, ask cms.EventQuery, until int64) (int, error) {
	where := `workspace_id = ? and position > ? and position <= ? and type <> ''`
	args := []any{ask.WorkspaceID, ask.After, until}
	if ask.Since != nil {
		where, args = where+` and id >= ?`, append(args, cms.AuditBefore(*ask.Since))
	}
	if ask.Types != nil {
		where, args = where+` and type in (`+marks(len(ask.Types))+`)`, append(args, anys(ask.Types)...)
	}
	if ask.Sites != nil {
		where, args = where+` and site_id in (`+marks(len(ask.Sites))+`)`, append(args, anys(ask.Sites)...)
	}
	return value[int](ctx, q, `select count(*) from event where `+where, args...)
}
