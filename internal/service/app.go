package service

import (
	"cmp"
	"context"

	"galley/internal/cms"
)

// Workspace reads the caller's workspace.
func (s *Service) Workspace(ctx context.Context, who Caller) (cms.Workspace, error) {
	return s.store.Workspace(ctx, who.WorkspaceID())
}

// App reads an app of the caller's workspace.
func (s *Service) App(ctx context.Context, who Caller, id cms.ID) (cms.App, error) {
	return who.app(ctx, s.store, id)
}

// app loads an app that exists, of the caller's workspace.
func (c Caller) app(ctx context.Context, r cms.Reader, id cms.ID) (cms.App, error) {
	app, err := r.AppOf(ctx, id)
	switch {
	case err != nil:
		return app, err
	case app.DeletedAt != nil:
		return app, cms.NotFound(cms.KindApp)
	case app.WorkspaceID != c.WorkspaceID():
		return app, errForeignApp
	}
	return app, nil
}

var errForeignApp = cms.Forbidden("The API key has no access to this app")

// Apps lists the apps of the caller's workspace.
func (s *Service) Apps(ctx context.Context, who Caller, q cms.ListQuery) (cms.List[cms.App], error) {
	return view(ctx, s, func(r cms.Reader) (list cms.List[cms.App], err error) {
		err = checkCursor(q, func() error {
			_, err := r.App(ctx, who.WorkspaceID(), q.After)
			return err
		})
		if err != nil {
			return list, err
		}
		apps, err := r.Apps(ctx, who.WorkspaceID(), q)
		return cms.CutList(apps, q.Limit), err
	})
}

// CreateApp creates an app within the caller's own scopes, sites and time, and
// returns its key, this once.
func (s *Service) CreateApp(ctx context.Context, who Caller, in Input[cms.AppPatch]) (cms.App, cms.AppKey, error) {
	patch, err := in()
	if err != nil {
		return cms.App{}, "", err
	}
	key := cms.NewAppKey()
	app, err := inTx(ctx, s, who, func(tx cms.Tx) (cms.App, []written, error) {
		app := patch.Apply(cms.App{
			ID: cms.NewID(), WorkspaceID: who.WorkspaceID(), KeyHint: key.Hint(),
			Scopes: who.App.Scopes, SiteIDs: who.App.SiteIDs, ExpiresAt: who.App.ExpiresAt, CreatedAt: s.now(),
			MadeBy: cmp.Or(who.App.MadeBy, who.App.ID),
		})
		need(ctx, func(n *cms.Needs) { n.App = &app.ID })
		if err := who.mayGrant(ctx, tx, app, patch); err != nil {
			return app, nil, err
		}
		return app, wroteApp(nil, app), tx.CreateApp(ctx, app, key.Hash())
	})
	return app, key, err
}

// mayGrant refuses rights that the caller does not have itself, and sites that
// do not exist. Only sites in the patch are checked: an app may keep one that has
// been deleted since.
func (c Caller) mayGrant(ctx context.Context, r cms.Reader, app cms.App, patch cms.AppPatch) error {
	if patch.SiteIDs.Set {
		if err := c.checkSites(ctx, r, app.SiteIDs); err != nil {
			return err
		}
	}
	return c.mayManage(app)
}

// checkSites refuses sites that do not exist or that are of another workspace.
func (c Caller) checkSites(ctx context.Context, r cms.Reader, ids []cms.ID) error {
	workspaces, err := r.SitesOf(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, ok := workspaces[id]; !ok {
			return cms.NotFound(cms.KindSite)
		}
	}
	for _, workspaceID := range workspaces {
		if workspaceID != c.WorkspaceID() {
			return cms.Forbidden("The API key has no access to this site")
		}
	}
	return nil
}

func (c Caller) mayManage(app cms.App) error {
	if !c.App.Covers(app) {
		return cms.Forbidden("An app can only manage apps within its own scopes, sites and time")
	}
	return nil
}

// UpdateApp changes an app.
func (s *Service) UpdateApp(ctx context.Context, who Caller, id cms.ID, in Input[cms.AppPatch], match Match[cms.App]) (cms.App, error) {
	return s.changeApp(ctx, who, id, match, func(tx cms.Tx, app cms.App) (cms.App, error) {
		patch, err := in()
		if err != nil {
			return app, err
		}
		app = patch.Apply(app)
		if patch.SiteIDs.Set || patch.Scopes.Set || patch.ExpiresAt.Set {
			err = who.mayGrant(ctx, tx, app, patch)
		}
		return app, err
	})
}

// DeleteApp revokes an app; its keys stop working.
func (s *Service) DeleteApp(ctx context.Context, who Caller, id cms.ID, match Match[cms.App]) error {
	_, err := s.changeApp(ctx, who, id, match, func(_ cms.Tx, app cms.App) (cms.App, error) {
		app.DeletedAt = new(s.now())
		return app, nil
	})
	return err
}

func (s *Service) changeApp(ctx context.Context, who Caller, id cms.ID, match Match[cms.App], rule func(cms.Tx, cms.App) (cms.App, error)) (cms.App, error) {
	return inTx(ctx, s, who, func(tx cms.Tx) (after cms.App, _ []written, err error) {
		before, err := who.lockApp(ctx, tx, id)
		if err != nil {
			return after, nil, err
		}
		after, changed, err := match.apply(before, func(app cms.App) (cms.App, error) { return rule(tx, app) })
		if err != nil || !changed {
			return after, nil, err
		}
		return after, wroteApp(before, after), tx.UpdateApp(ctx, after)
	})
}

// lockApp is app for a transaction that changes it.
func (c Caller) lockApp(ctx context.Context, tx cms.Tx, id cms.ID) (cms.App, error) {
	need(ctx, func(n *cms.Needs) { n.App = &id })
	if _, err := c.app(ctx, tx, id); err != nil {
		return cms.App{}, err
	}
	app, err := tx.LockApp(ctx, c.WorkspaceID(), id)
	if err == nil && app.DeletedAt != nil {
		err = cms.NotFound(cms.KindApp)
	}
	if err != nil {
		return app, err
	}
	return app, c.mayManage(app)
}

// RotateAppKey adds a new key to an app and returns it, this once.
func (s *Service) RotateAppKey(ctx context.Context, who Caller, id cms.ID, in Input[cms.RotateKey]) (cms.App, cms.AppKey, error) {
	key := cms.NewAppKey()
	app, err := inTx(ctx, s, who, func(tx cms.Tx) (app cms.App, _ []written, err error) {
		before, err := who.lockApp(ctx, tx, id)
		if err != nil {
			return app, nil, err
		}
		rotate, err := in()
		if err != nil {
			return app, nil, err
		}
		app = before
		app.KeyHint = key.Hint()
		return app, wroteApp(before, app), tx.RotateAppKey(ctx, app, key.Hash(), rotate.Ends(s.now()))
	})
	return app, key, err
}

// wroteApp is a write of an app; before is nil for a new one.
func wroteApp(before any, after cms.App) []written {
	return []written{{kind: cms.KindApp, id: after.ID, before: before, after: after}}
}
