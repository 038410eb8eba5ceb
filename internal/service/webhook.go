package service

import (
	"context"
	"reflect"
	"slices"

	"galley/internal/cms"
)

var errForeignWebhook = cms.Forbidden("The API key has no access to this webhook")

// webhook checks the right to a webhook, which a read returned.
func (c Caller) webhook(w cms.Webhook, err error) (cms.Webhook, error) {
	switch {
	case err != nil:
		return w, err
	case w.DeletedAt != nil:
		return w, cms.NotFound(cms.KindWebhook)
	}
	return w, c.reachesWebhook(w)
}

func (c Caller) reachesWebhook(w cms.Webhook) error {
	if w.WorkspaceID != c.WorkspaceID() || !w.Within(*c.App) {
		return errForeignWebhook
	}
	return nil
}

// Webhook reads a webhook.
func (s *Service) Webhook(ctx context.Context, who Caller, id cms.ID) (cms.Webhook, error) {
	return who.webhook(s.store.Webhook(ctx, id))
}

// Webhooks lists the webhooks of the caller's workspace. An app restricted to sites
// sees those within its sites.
func (s *Service) Webhooks(ctx context.Context, who Caller, q cms.ListQuery) (cms.List[cms.Webhook], error) {
	return view(ctx, s, func(r cms.Reader) (list cms.List[cms.Webhook], err error) {
		err = checkCursor(q, func() error {
			cursor, err := r.Webhook(ctx, q.After)
			if err == nil && who.reachesWebhook(cursor) != nil {
				err = cms.ErrCursor
			}
			return err
		})
		if err != nil {
			return list, err
		}
		webhooks, err := r.Webhooks(ctx, who.WorkspaceID())
		webhooks = slices.DeleteFunc(webhooks, func(w cms.Webhook) bool {
			return cms.CompareIDs(w.ID, q.After) <= 0 || !w.Within(*who.App)
		})
		return cms.CutList(webhooks, q.Limit), err
	})
}

// CreateWebhook creates a webhook, and returns its secret, this once.
func (s *Service) CreateWebhook(ctx context.Context, who Caller, in Input[cms.WebhookPatch]) (cms.Webhook, string, error) {
	patch, err := in()
	if err != nil {
		return cms.Webhook{}, "", err
	}
	secret := cms.NewWebhookSecret()
	w, err := inTx(ctx, s, who, func(tx cms.Tx) (w cms.Webhook, _ []written, err error) {
		now := s.now()
		w = patch.Apply(cms.Webhook{ID: cms.NewID(), WorkspaceID: who.WorkspaceID(), IsEnabled: true, CreatedAt: now, UpdatedAt: now, StartsAfter: cms.NewID()})
		need(ctx, func(n *cms.Needs) { n.Webhook = &w.ID })
		if err := who.mayTarget(ctx, tx, w, patch); err != nil {
			return w, nil, err
		}
		if n, err := tx.LockWebhooks(ctx, w.WorkspaceID); err != nil || n >= cms.MaxWebhooks {
			if err == nil {
				err = cms.Conflict("A workspace can have at most 100 webhooks")
			}
			return w, nil, err
		}
		if w.Secret, err = s.sealSecret(w.ID, secret); err != nil {
			return w, nil, err
		}
		return w, wroteWebhook(nil, w), tx.CreateWebhook(ctx, w)
	})
	s.webhooks.noteNew()
	return w, secret, err
}

// mayTarget refuses sites that do not exist or that the caller may not reach. Only
// sites in the patch are checked: a webhook may keep one that has been deleted since.
func (c Caller) mayTarget(ctx context.Context, r cms.Reader, w cms.Webhook, patch cms.WebhookPatch) error {
	if patch.SiteIDs.Set {
		if err := c.checkSites(ctx, r, w.SiteIDs); err != nil {
			return err
		}
	}
	if !w.Within(*c.App) {
		return cms.Forbidden("An app restricted to sites can only manage webhooks within them, name some of them in siteIds")
	}
	return nil
}

// UpdateWebhook changes a webhook. Disabling it or changing its URL fails what is
// pending.
func (s *Service) UpdateWebhook(ctx context.Context, who Caller, id cms.ID, in Input[cms.WebhookPatch], match Match[cms.Webhook]) (cms.Webhook, error) {
	return s.changeWebhook(ctx, who, id, func(tx cms.Tx, before cms.Webhook) (cms.Webhook, error) {
		after, changed, err := match.apply(before, func(w cms.Webhook) (cms.Webhook, error) {
			patch, err := in()
			if err != nil {
				return w, err
			}
			w = patch.Apply(w)
			return w, who.mayTarget(ctx, tx, w, patch)
		})
		if err != nil || !changed {
			return before, err
		}
		if !before.IsEnabled && after.IsEnabled {
			after.DisabledReason = nil
		}
		if !before.IsEnabled || before.URL != after.URL {
			after.FailingSince, after.StartsAfter = nil, cms.NewID()
		}
		if before.IsEnabled && !after.IsEnabled || before.URL != after.URL {
			err = tx.FailDeliveries(ctx, id)
		}
		after.UpdatedAt = s.now()
		return after, err
	})
}

// DeleteWebhook deletes a webhook. What is pending fails.
func (s *Service) DeleteWebhook(ctx context.Context, who Caller, id cms.ID, match Match[cms.Webhook]) error {
	_, err := s.changeWebhook(ctx, who, id, func(tx cms.Tx, w cms.Webhook) (cms.Webhook, error) {
		if err := match.check(w); err != nil {
			return w, err
		}
		w.DeletedAt = new(s.now())
		return w, tx.FailDeliveries(ctx, id)
	})
	return err
}

// RotateSecret gives a webhook a new secret and returns it, this once.
func (s *Service) RotateSecret(ctx context.Context, who Caller, id cms.ID, in Input[cms.RotateSecret]) (cms.Webhook, string, error) {
	secret := cms.NewWebhookSecret()
	w, err := s.changeWebhook(ctx, who, id, func(_ cms.Tx, w cms.Webhook) (cms.Webhook, error) {
		rotate, err := in()
		if err != nil {
			return w, err
		}
		w.UpdatedAt = s.now()
		w.OldSecret, w.OldSecretEnds = w.Secret, new(rotate.Ends(w.UpdatedAt))
		w.Secret, err = s.sealSecret(id, secret)
		return w, err
	})
	return w, secret, err
}

// changeWebhook runs a rule on a locked webhook, and stores what it changes.
func (s *Service) changeWebhook(ctx context.Context, who Caller, id cms.ID, rule func(cms.Tx, cms.Webhook) (cms.Webhook, error)) (cms.Webhook, error) {
	return inTx(ctx, s, who, func(tx cms.Tx) (after cms.Webhook, _ []written, err error) {
		before, err := s.lockWebhook(ctx, tx, who, id)
		if err != nil {
			return after, nil, err
		}
		after, err = rule(tx, before)
		if err != nil || reflect.DeepEqual(before, after) {
			return after, nil, err
		}
		after.Revision++
		return after, wroteWebhook(before, after), tx.UpdateWebhook(ctx, after)
	})
}

// lockWebhook checks the right to a webhook before it is locked, so that no tenant
// waits for another.
func (s *Service) lockWebhook(ctx context.Context, tx cms.Tx, who Caller, id cms.ID) (cms.Webhook, error) {
	need(ctx, func(n *cms.Needs) { n.Webhook = &id })
	if _, err := who.webhook(tx.Webhook(ctx, id)); err != nil {
		return cms.Webhook{}, err
	}
	return who.webhook(tx.LockWebhook(ctx, id))
}

// wroteWebhook is a write of a webhook; before is nil for a new one. A write that begins
// what is sent is recorded as the event that the webhook names.
func wroteWebhook(before any, after cms.Webhook) []written {
	w := written{kind: cms.KindWebhook, id: after.ID, before: before, after: after}
	if b, ok := before.(cms.Webhook); !ok || b.StartsAfter != after.StartsAfter {
		w.entry = after.StartsAfter
	}
	return []written{w}
}
