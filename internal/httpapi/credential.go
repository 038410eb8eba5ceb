package httpapi

import "galley/internal/cms"

// credentialKind is a kind of credential.
type credentialKind string

const (
	credentialApp     credentialKind = "app"
	credentialSite    credentialKind = "site"
	credentialPreview credentialKind = "preview"
)

var credentialKinds = []credentialKind{credentialApp, credentialSite, credentialPreview}

// Credential is what a key may do.
type Credential struct {
	Object      string         `json:"object" enum:"credential" doc:"Always credential."`
	Kind        credentialKind `json:"kind" doc:"Whether it is an App key, a Site key or the token of a preview."`
	AppID       *cms.ID        `json:"appId" doc:"The app of an App key."`
	SiteID      *cms.ID        `json:"siteId" doc:"The site of a Site key or a preview."`
	Name        *string        `json:"name" doc:"Name of the app, the site or the preview." example:"Importer"`
	Scopes      []cms.Scope    `json:"scopes" doc:"What an App key may do. Site keys and previews have none: they read."`
	SiteIDs     []cms.ID       `json:"siteIds" nullable:"true" doc:"The only sites that it may touch; null means all."`
	WorkspaceID cms.ID         `json:"workspaceId" doc:"The workspace that it belongs to."`
	ExpiresAt   *timestamp     `json:"expiresAt" doc:"When it stops working."`
}

func (a *API) getCredential(r *request) (response, error) {
	who := r.who
	c := Credential{
		Object: "credential", Kind: credentialApp, Scopes: []cms.Scope{}, SiteIDs: who.SiteIDs(), WorkspaceID: who.WorkspaceID(),
		ExpiresAt: newNullTimestamp(who.Ends),
	}
	switch {
	case who.App != nil:
		c.AppID, c.Name, c.Scopes = &who.App.ID, &who.App.Name, who.App.Scopes
	case who.Preview != nil:
		c.Kind, c.SiteID, c.Name = credentialPreview, &who.Site.ID, who.Preview.Name
	default:
		c.Kind, c.SiteID, c.Name = credentialSite, &who.Site.ID, &who.Site.Name
	}
	return ok(c), nil
}
