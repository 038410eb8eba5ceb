package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"galley/internal/cms"
)

// The functions of this file serve the operator at the command line, who needs no
// key.

// Bootstrap fixes what the first start creates. Zero values are generated.
type Bootstrap struct {
	Key         cms.AppKey
	WorkspaceID cms.ID
}

// firstWorkspace is the name of the workspace of a new store.
const firstWorkspace = "Default workspace"

// NewApp is an app with its key, which is not shown again.
type NewApp struct {
	App cms.App
	Key cms.AppKey
}

// FirstStart creates a workspace and an app with every scope in an empty store. It
// returns nil if the store is not empty.
func (s *Service) FirstStart(ctx context.Context, b Bootstrap) (*NewApp, error) {
	b.Key, b.WorkspaceID = cmp.Or(b.Key, cms.NewAppKey()), cmp.Or(b.WorkspaceID, cms.NewID())
	var made *NewApp
	err := s.write(ctx, func(tx cms.Tx) error {
		made = nil
		empty, err := tx.Install(ctx, s.now())
		if err != nil || !empty {
			return err
		}
		workspace := cms.Workspace{ID: b.WorkspaceID, Name: firstWorkspace, CreatedAt: s.now()}
		if err := s.createWorkspace(ctx, tx, workspace); err != nil {
			return err
		}
		made = &NewApp{s.newApp(workspace.ID, "First app", b.Key), b.Key}
		return s.createSystemApp(ctx, tx, *made)
	})
	return made, err
}

func (s *Service) createWorkspace(ctx context.Context, tx cms.Tx, w cms.Workspace) error {
	if err := tx.CreateWorkspace(ctx, w); err != nil {
		return err
	}
	return s.record(ctx, tx, systemActor(w.ID, "createWorkspace"), written{kind: cms.KindWorkspace, id: w.ID, after: w})
}

func (s *Service) createSystemApp(ctx context.Context, tx cms.Tx, made NewApp) error {
	if err := tx.CreateApp(ctx, made.App, made.Key.Hash()); err != nil {
		return err
	}
	return s.record(ctx, tx, systemActor(made.App.WorkspaceID, "createApp"), wroteApp(nil, made.App)...)
}

func (s *Service) newApp(workspaceID cms.ID, name string, key cms.AppKey) cms.App {
	return cms.App{
		ID: cms.NewID(), WorkspaceID: workspaceID, Name: name, KeyHint: key.Hint(),
		Scopes: cms.Scopes, CreatedAt: s.now(),
	}
}

// OperatorApp is an app to create: in a workspace named by id, in a new one, or
// in the only one there is.
type OperatorApp struct {
	Name         string
	Scopes       []cms.Scope
	WorkspaceID  cms.ID
	NewWorkspace string
	Rate         string // "": the configured one
}

// Check returns what is wrong with the values.
func (want OperatorApp) Check(now time.Time) error {
	_, err := want.patch(now)
	return err
}

func (want OperatorApp) patch(now time.Time) (cms.AppPatch, error) {
	patch := cms.AppPatch{Name: cms.Some(want.Name), Scopes: cms.Some(want.Scopes)}
	var problems cms.Problems
	patch.CleanNew(&problems, now)
	if want.NewWorkspace != "" {
		cms.CheckWorkspaceName(&problems, want.NewWorkspace)
	}
	return patch, problems.Err()
}

// CreateOperatorApp creates an app without a caller.
func (s *Service) CreateOperatorApp(ctx context.Context, want OperatorApp) (NewApp, error) {
	patch, err := want.patch(s.now())
	if err != nil {
		return NewApp{}, err
	}
	made := NewApp{Key: cms.NewAppKey()}
	err = s.write(ctx, func(tx cms.Tx) error {
		workspaceID, err := s.operatorWorkspace(ctx, tx, want)
		if err != nil {
			return err
		}
		made.App = patch.Apply(s.newApp(workspaceID, want.Name, made.Key))
		made.App.Rate = want.Rate
		return s.createSystemApp(ctx, tx, made)
	})
	return made, err
}

func (s *Service) operatorWorkspace(ctx context.Context, tx cms.Tx, want OperatorApp) (cms.ID, error) {
	empty, err := tx.Install(ctx, s.now())
	if err != nil {
		return cms.NoID, err
	}
	if want.WorkspaceID != cms.NoID {
		w, err := tx.Workspace(ctx, want.WorkspaceID)
		return w.ID, err
	}
	if empty && want.NewWorkspace == "" {
		want.NewWorkspace = firstWorkspace
	}
	if want.NewWorkspace != "" {
		w := cms.Workspace{ID: cms.NewID(), Name: want.NewWorkspace, CreatedAt: s.now()}
		return w.ID, s.createWorkspace(ctx, tx, w)
	}
	workspaces, err := tx.Workspaces(ctx)
	if err != nil {
		return cms.NoID, err
	}
	if len(workspaces) != 1 {
		return cms.NoID, fmt.Errorf("there are %d workspaces: name one with --workspace", len(workspaces))
	}
	return workspaces[0].ID, nil
}

// WorkspaceApps are the apps of one workspace.
type WorkspaceApps struct {
	cms.Workspace
	Apps []cms.App
}

// OperatorApps lists every app of every workspace.
func (s *Service) OperatorApps(ctx context.Context) ([]WorkspaceApps, error) {
	var all []WorkspaceApps
	err := s.store.View(ctx, func(r cms.Reader) error {
		workspaces, err := r.Workspaces(ctx)
		if err != nil {
			return err
		}
		for _, w := range workspaces {
			group := WorkspaceApps{Workspace: w}
			for after := cms.NoID; ; {
				apps, err := r.Apps(ctx, w.ID, cms.ListQuery{After: after, Limit: cms.MaxLimit})
				if err != nil {
					return err
				}
				list := cms.CutList(apps, cms.MaxLimit)
				group.Apps = append(group.Apps, list.Items...)
				if !list.HasMore {
					break
				}
				after = list.Items[len(list.Items)-1].ID
			}
			all = append(all, group)
		}
		return nil
	})
	return all, err
}

// RevokeOperatorApp revokes an app by its id.
func (s *Service) RevokeOperatorApp(ctx context.Context, id cms.ID) (cms.App, error) {
	return s.changeSystemApp(ctx, id, "deleteApp", func(app *cms.App) { app.DeletedAt = new(s.now()) })
}

// SetAppRate sets the rate of an app; "" is the configured one.
func (s *Service) SetAppRate(ctx context.Context, id cms.ID, rate string) (cms.App, error) {
	return s.changeSystemApp(ctx, id, "setAppRate", func(app *cms.App) { app.Rate = rate })
}

// SetAppScopes replaces the scopes of an app.
func (s *Service) SetAppScopes(ctx context.Context, id cms.ID, scopes []cms.Scope) (cms.App, error) {
	patch := cms.AppPatch{Scopes: cms.Some(scopes)}
	var problems cms.Problems
	patch.Clean(&problems, s.now())
	if err := problems.Err(); err != nil {
		return cms.App{}, err
	}
	return s.changeSystemApp(ctx, id, "setAppScopes", func(app *cms.App) { *app = patch.Apply(*app) })
}

func (s *Service) changeSystemApp(ctx context.Context, id cms.ID, operation string, change func(*cms.App)) (cms.App, error) {
	var app cms.App
	err := s.write(ctx, func(tx cms.Tx) error {
		found, err := tx.AppOf(ctx, id)
		if err != nil {
			return err
		}
		if app, err = tx.LockApp(ctx, found.WorkspaceID, id); err != nil {
			return err
		}
		if app.DeletedAt != nil {
			return errors.New("the app is revoked already")
		}
		before := app
		change(&app)
		if reflect.DeepEqual(before, app) {
			return nil
		}
		if err := tx.UpdateApp(ctx, app); err != nil {
			return err
		}
		return s.record(ctx, tx, systemActor(app.WorkspaceID, operation), wroteApp(before, app)...)
	})
	return app, err
}
