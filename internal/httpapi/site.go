package httpapi

import (
	"net/http"

	"galley/internal/cms"
)

// Site is a website.
type Site struct {
	Object                  string            `json:"object" enum:"site" doc:"Always site."`
	ID                      cms.ID            `json:"id" doc:"Identifier of the site."`
	WorkspaceID             cms.ID            `json:"workspaceId" doc:"The workspace that owns the site."`
	Name                    string            `json:"name" doc:"Name of the site." example:"Shop"`
	HostOrigin              *string           `json:"hostOrigin" format:"uri" doc:"Origin under which the site is served." example:"https://www.example.com"`
	PublicAPIKey            cms.ID            `json:"publicApiKey,omitzero" doc:"The Site API key: it reads this site and nothing else. Previews are not shown it."`
	SiteKeyAccess           cms.SiteKeyAccess `json:"siteKeyAccess" doc:"Which versions the Site API key reads: draft is both, live is the live one alone. With live, versionRef defaults to ref:live for that key."`
	DefaultLocale           string            `json:"defaultLocale" doc:"Code of the default locale." example:"en-US"`
	DefaultLocalePathPrefix *string           `json:"defaultLocalePathPrefix" doc:"Path prefix of the default locale; null means the root." example:"en"`
	LocaleManagementMode    cms.LocaleMode    `json:"localeManagementMode" doc:"Whether locales are managed here or by another system."`
	AutoRedirects           bool              `json:"autoRedirects" doc:"Whether a publish that moves a page leaves a redirect at the old pathname." example:"true"`
	PreviewURLTemplate      *string           `json:"previewUrlTemplate" doc:"The URL of previews, with {pathname}, {locale} and {token} for their values." example:"https://www.example.com{pathname}?preview={token}"`
	Labels                  []string          `json:"labels" doc:"Labels of the site, sorted." example:"[\"shop\"]"`
	CreatedAt               timestamp         `json:"createdAt" doc:"Creation time."`
	UpdatedAt               timestamp         `json:"updatedAt" doc:"Last update time."`
}

func newSite(s cms.Site) Site {
	return Site{
		Object: "site", ID: s.ID, WorkspaceID: s.WorkspaceID, Name: s.Name, HostOrigin: s.HostOrigin,
		PublicAPIKey: s.PublicAPIKey, SiteKeyAccess: s.KeyAccess, DefaultLocale: s.DefaultLocale.Code,
		DefaultLocalePathPrefix: s.DefaultLocale.PathPrefix, LocaleManagementMode: s.LocaleMode, AutoRedirects: s.AutoRedirects,
		PreviewURLTemplate: s.PreviewURLTemplate, Labels: append([]string{}, s.Labels...),
		CreatedAt: newTimestamp(s.CreatedAt), UpdatedAt: newTimestamp(s.UpdatedAt),
	}
}

// SiteCreate is the body that creates a site.
type SiteCreate struct {
	Name                 cms.Opt[string]            `json:"name" required:"true" minLength:"1" maxLength:"255" doc:"Name of the site; not blank." example:"Shop"`
	WorkspaceID          cms.Opt[cms.ID]            `json:"workspaceId" doc:"The workspace; the key's own unless given."`
	HostOrigin           cms.Opt[*string]           `json:"hostOrigin" format:"uri" doc:"Origin under which the site is served." example:"https://www.example.com"`
	DefaultLocale        cms.Opt[string]            `json:"defaultLocale" default:"en-US" doc:"Code of the default locale." example:"en-US"`
	SiteKeyAccess        cms.Opt[cms.SiteKeyAccess] `json:"siteKeyAccess" default:"draft" doc:"Which versions the Site API key reads: draft is both, live is the live one alone. Choose live before the key goes into a browser."`
	LocaleManagementMode cms.Opt[cms.LocaleMode]    `json:"localeManagementMode" default:"internal" doc:"Whether locales are managed here or by another system."`
	AutoRedirects        cms.Opt[bool]              `json:"autoRedirects" default:"true" doc:"Whether a publish that moves a page leaves a redirect at the old pathname."`
	PreviewURLTemplate   cms.Opt[*string]           `json:"previewUrlTemplate" maxLength:"2048" doc:"The URL of previews, http or https, with {pathname}, {locale} and {token} for their values." example:"https://www.example.com{pathname}?preview={token}"`
	Labels               cms.Opt[[]string]          `json:"labels" maxItems:"20" doc:"At most 20 labels, each 1 to 40 of a-z, 0-9 and -; the response has them sorted, each once."`
}

func (b SiteCreate) domain(p *cms.Problems) cms.NewSite {
	return clean(p, cms.NewSite{WorkspaceID: b.WorkspaceID, SitePatch: cms.SitePatch{
		Name: b.Name, HostOrigin: b.HostOrigin, DefaultLocale: b.DefaultLocale, KeyAccess: b.SiteKeyAccess, LocaleMode: b.LocaleManagementMode,
		AutoRedirects: b.AutoRedirects, PreviewURLTemplate: b.PreviewURLTemplate, Labels: b.Labels,
	}})
}

// SitePatch is the body that changes a site.
type SitePatch struct {
	Name                    cms.Opt[string]            `json:"name" minLength:"1" maxLength:"255" doc:"Name of the site; not blank." example:"Shop"`
	HostOrigin              cms.Opt[*string]           `json:"hostOrigin" format:"uri" doc:"Origin under which the site is served." example:"https://www.example.com"`
	DefaultLocale           cms.Opt[string]            `json:"defaultLocale" doc:"Code of the default locale: another locale of the site, or a new one. What readers see in each locale stays as it is." example:"en-US"`
	DefaultLocalePathPrefix cms.Opt[*string]           `json:"defaultLocalePathPrefix" doc:"Path prefix of the default locale; null means the root." example:"en"`
	KeyAccess               cms.Opt[cms.SiteKeyAccess] `json:"siteKeyAccess" doc:"Which versions the Site API key reads: draft is both, live is the live one alone. Choose live before the key goes into a browser."`
	LocaleMode              cms.Opt[cms.LocaleMode]    `json:"localeManagementMode" doc:"Whether locales are managed here or by another system."`
	AutoRedirects           cms.Opt[bool]              `json:"autoRedirects" doc:"Whether a publish that moves a page leaves a redirect at the old pathname."`
	PreviewURLTemplate      cms.Opt[*string]           `json:"previewUrlTemplate" maxLength:"2048" doc:"The URL of previews, http or https, with {pathname}, {locale} and {token} for their values." example:"https://www.example.com{pathname}?preview={token}"`
	Labels                  cms.Opt[[]string]          `json:"labels" maxItems:"20" doc:"At most 20 labels, each 1 to 40 of a-z, 0-9 and -; the response has them sorted, each once."`
}

func (b SitePatch) domain(p *cms.Problems) cms.SitePatch { return clean(p, cms.SitePatch(b)) }

// SiteDuplicate is the body that copies a site.
type SiteDuplicate struct {
	Name cms.Opt[string] `json:"name" required:"true" minLength:"1" maxLength:"255" doc:"Name of the copy; not blank." example:"Shop (copy)"`
}

func (b SiteDuplicate) domain(p *cms.Problems) cms.DuplicateSite {
	return clean(p, cms.DuplicateSite(b))
}

// KeyRotate is the body that replaces a key.
type KeyRotate struct {
	GraceSeconds cms.Opt[int] `json:"graceSeconds" default:"0" minimum:"0" maximum:"2592000" doc:"How long the old key goes on working." example:"3600"`
}

func (b KeyRotate) domain(p *cms.Problems) cms.RotateKey { return clean(p, cms.RotateKey(b)) }

func siteLocation(s cms.Site) string { return "/v2/sites/" + s.ID.String() }

func (a *API) listSites(r *request) (response, error) {
	q := r.query
	list, err := a.svc.Sites(r.Context(), r.who, q.workspaceID, cms.SiteQuery{ListQuery: q.list, Search: q.search, Label: q.label, Deleted: q.deleted})
	return ok(newList(list, newSite)), err
}

func (a *API) createSite(r *request) (response, error) {
	s, err := a.svc.CreateSite(r.Context(), r.who, input(r, SiteCreate.domain))
	return created(siteLocation(s), newSite(s)), err
}

func (a *API) getSite(r *request) (response, error) {
	s, err := a.svc.Site(r.Context(), r.who, r.pathID)
	if r.who.Preview != nil {
		s.PublicAPIKey = cms.NoID
	}
	return ok(newSite(s)).of(s.ID), err
}

func (a *API) updateSite(r *request) (response, error) {
	s, err := a.svc.UpdateSite(r.Context(), r.who, r.pathID, input(r, SitePatch.domain), ifMatch(r, newSite))
	return ok(newSite(s)), err
}

func (a *API) deleteSite(r *request) (response, error) {
	return noContent(), a.svc.DeleteSite(r.Context(), r.who, r.pathID, ifMatch(r, newSite))
}

func (a *API) restoreSite(r *request) (response, error) {
	s, err := a.svc.RestoreSite(r.Context(), r.who, r.pathID, noFields(r))
	return ok(newSite(s)), err
}

func (a *API) duplicateSite(r *request) (response, error) {
	s, err := a.svc.DuplicateSite(r.Context(), r.who, r.pathID, input(r, SiteDuplicate.domain))
	return created(siteLocation(s), newSite(s)), err
}

func (a *API) rotateSiteKey(r *request) (response, error) {
	s, err := a.svc.RotateSiteKey(r.Context(), r.who, r.pathID, input(r, KeyRotate.domain))
	return response{status: http.StatusOK, body: newSite(s), secret: true}, err
}
