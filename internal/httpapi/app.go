package httpapi

import (
	"net/http"
	"time"

	"galley/internal/cms"
)

// Workspace owns sites and apps.
type Workspace struct {
	Object string `json:"object" enum:"workspace" doc:"Always workspace."`
	ID     cms.ID `json:"id" doc:"Identifier of the workspace."`
	Name   string `json:"name" doc:"Name of the workspace." example:"Default workspace"`
}

func newWorkspace(w cms.Workspace) Workspace { return Workspace{"workspace", w.ID, w.Name} }

// App is a program with a key of its own.
type App struct {
	Object      string      `json:"object" enum:"app" doc:"Always app."`
	ID          cms.ID      `json:"id" doc:"Identifier of the app."`
	WorkspaceID cms.ID      `json:"workspaceId" doc:"The workspace that the app belongs to."`
	Name        string      `json:"name" doc:"Name of the app." example:"Importer"`
	Description *string     `json:"description" doc:"What the app is for." example:"Nightly import"`
	KeyHint     string      `json:"keyHint" doc:"The last four characters of the key." example:"x7Qa"`
	Scopes      []cms.Scope `json:"scopes" doc:"What the app may do."`
	SiteIDs     []cms.ID    `json:"siteIds" nullable:"true" doc:"The only sites that the app may touch; null means all."`
	CreatedAt   timestamp   `json:"createdAt" doc:"Creation time."`
	LastUsedAt  *timestamp  `json:"lastUsedAt" doc:"When the key was last used, noted once a minute."`
	ExpiresAt   *timestamp  `json:"expiresAt" doc:"When the key stops working."`
}

// AppWithKey is an app and its key, in the only response that has it.
type AppWithKey struct {
	App
	Key cms.AppKey `json:"key" doc:"The App API key. It is not shown again." example:"sk_…"`
}

func newApp(a cms.App) App {
	return App{
		Object: "app", ID: a.ID, WorkspaceID: a.WorkspaceID, Name: a.Name, Description: a.Description, KeyHint: a.KeyHint,
		Scopes: a.Scopes, SiteIDs: a.SiteIDs, CreatedAt: newTimestamp(a.CreatedAt),
		LastUsedAt: newNullTimestamp(a.LastUsedAt), ExpiresAt: newNullTimestamp(a.ExpiresAt),
	}
}

func (a App) withoutUse() any {
	type unused App // without this method
	a.LastUsedAt = nil
	return unused(a)
}

// AppCreate is the body that creates an app.
type AppCreate struct {
	Name cms.Opt[string] `json:"name" required:"true" minLength:"1" maxLength:"255" doc:"Name of the app; not blank." example:"Importer"`
	appRights
}

// AppPatch is the body that changes an app.
type AppPatch struct {
	Name cms.Opt[string] `json:"name" minLength:"1" maxLength:"255" doc:"Name of the app; not blank." example:"Importer"`
	appRights
}

type appRights struct {
	Description cms.Opt[*string]     `json:"description" maxLength:"2048" doc:"What the app is for, in at most 2,048 bytes." example:"Nightly import"`
	Scopes      cms.Opt[[]cms.Scope] `json:"scopes" minItems:"1" doc:"What the app may do; a new app has the scopes of the one that makes it, unless told."`
	SiteIDs     cms.Opt[[]cms.ID]    `json:"siteIds" nullable:"true" minItems:"1" maxItems:"1000" doc:"The only sites that the app may touch; null means all. A new app has those of the one that makes it, unless told."`
	ExpiresAt   cms.Opt[*time.Time]  `json:"expiresAt" doc:"When the key stops working, in the future; null means never." example:"2030-01-31T12:00:00.000Z"`
}

func (r appRights) patch(name cms.Opt[string]) cms.AppPatch {
	return cms.AppPatch{Name: name, Description: r.Description, Scopes: r.Scopes, SiteIDs: r.SiteIDs, ExpiresAt: r.ExpiresAt}
}

func (b AppCreate) domain(p *cms.Problems) cms.AppPatch {
	c := b.patch(b.Name)
	c.CleanNew(p, time.Now())
	return c
}

func (b AppPatch) domain(p *cms.Problems) cms.AppPatch {
	c := b.patch(b.Name)
	c.Clean(p, time.Now())
	return c
}

func (a *API) getWorkspace(r *request) (response, error) {
	w, err := a.svc.Workspace(r.Context(), r.who)
	return ok(newWorkspace(w)), err
}

func (a *API) listApps(r *request) (response, error) {
	list, err := a.svc.Apps(r.Context(), r.who, r.query.list)
	return ok(newList(list, newApp)), err
}

func (a *API) createApp(r *request) (response, error) {
	app, key, err := a.svc.CreateApp(r.Context(), r.who, input(r, AppCreate.domain))
	res := created("/v2/apps/"+app.ID.String(), AppWithKey{newApp(app), key})
	res.secret = true
	return res, err
}

func (a *API) getApp(r *request) (response, error) {
	app, err := a.svc.App(r.Context(), r.who, r.pathID)
	return ok(newApp(app)), err
}

func (a *API) updateApp(r *request) (response, error) {
	app, err := a.svc.UpdateApp(r.Context(), r.who, r.pathID, input(r, AppPatch.domain), ifMatch(r, newApp))
	return ok(newApp(app)), err
}

func (a *API) deleteApp(r *request) (response, error) {
	return noContent(), a.svc.DeleteApp(r.Context(), r.who, r.pathID, ifMatch(r, newApp))
}

func (a *API) rotateAppKey(r *request) (response, error) {
	app, key, err := a.svc.RotateAppKey(r.Context(), r.who, r.pathID, input(r, KeyRotate.domain))
	return response{status: http.StatusOK, body: AppWithKey{newApp(app), key}, secret: true}, err
}

// NewAppWithKey is an app with its key, as the command line prints it.
func NewAppWithKey(a cms.App, key cms.AppKey) AppWithKey { return AppWithKey{newApp(a), key} }
