package httpapi

import (
	"galley/internal/cms"
	"galley/internal/service"
)

// Preview is a credential that reads one version of a site.
type Preview struct {
	Object     string     `json:"object" enum:"preview" doc:"Always preview."`
	ID         cms.ID     `json:"id" doc:"Identifier of the preview."`
	SiteID     cms.ID     `json:"siteId" doc:"The site that the preview reads."`
	Name       *string    `json:"name" doc:"Name of the preview." example:"For the agency"`
	VersionRef string     `json:"versionRef" doc:"The version that the preview reads: ref:draft, or what was live after a publish (publish:ID)." example:"ref:draft"`
	Locale     *string    `json:"locale" doc:"Code of the locale in which the preview reads unless a request names another; null means the default one." example:"fr"`
	PathPrefix string     `json:"pathPrefix" doc:"The pathname at and below which the preview reads." example:"/blog"`
	URL        *string    `json:"url" doc:"The address to share: the site's previewUrlTemplate with its values. It has the token, so only the response that creates the preview has it; null without a template." example:"https://www.example.com/blog?preview=pv_…"`
	CreatedAt  timestamp  `json:"createdAt" doc:"Creation time."`
	CreatedBy  cms.ID     `json:"createdBy" doc:"The app that created the preview."`
	ExpiresAt  timestamp  `json:"expiresAt" doc:"When the token stops working."`
	LastUsedAt *timestamp `json:"lastUsedAt" doc:"When the token was last used, noted once a minute."`
}

// PreviewWithToken is a preview and its token, in the only response that has it.
type PreviewWithToken struct {
	Preview
	Token cms.PreviewToken `json:"token" doc:"The token, which is sent as a key is. It is not shown again." example:"pv_…"`
}

func newPreview(v service.PreviewView) Preview {
	p := Preview{
		Object: "preview", ID: v.ID, SiteID: v.SiteID, Name: v.Name, VersionRef: "ref:draft", Locale: nullText(v.Locale),
		PathPrefix: v.PathPrefix, CreatedAt: newTimestamp(v.CreatedAt), CreatedBy: v.CreatedBy,
		ExpiresAt: newTimestamp(v.ExpiresAt), LastUsedAt: newNullTimestamp(v.LastUsedAt),
	}
	if v.PublishID != cms.NoID {
		p.VersionRef = "publish:" + v.PublishID.String()
	}
	return p
}

func (p Preview) withoutUse() any {
	type unused Preview // without this method
	p.LastUsedAt = nil
	return unused(p)
}

// PreviewCreate is the body that creates a preview.
type PreviewCreate struct {
	SiteID           cms.Opt[cms.ID]  `json:"siteId" required:"true" doc:"The site that the preview reads."`
	Name             cms.Opt[*string] `json:"name" minLength:"1" maxLength:"255" doc:"Name of the preview; not blank." example:"For the agency"`
	VersionRef       cms.Opt[string]  `json:"versionRef" default:"ref:draft" doc:"The version: ref:draft, or what was live after a publish (publish:ID)." example:"ref:draft"`
	Locale           cms.Opt[*string] `json:"locale" doc:"A locale of the site, by code or id, in which the preview reads unless a request names another." example:"fr"`
	PathPrefix       cms.Opt[string]  `json:"pathPrefix" default:"/" minLength:"1" doc:"The pathname at and below which the preview reads." example:"/blog"`
	ExpiresInSeconds cms.Opt[int]     `json:"expiresInSeconds" default:"432000" minimum:"1" maximum:"7776000" doc:"How long the token works: 5 days unless given, and 90 at most." example:"86400"`
}

func (b PreviewCreate) domain(p *cms.Problems) cms.NewPreview {
	return clean(p, cms.NewPreview{
		SiteID: b.SiteID, Name: b.Name, VersionRef: b.VersionRef, Locale: b.Locale, PathPrefix: b.PathPrefix, ExpiresInSeconds: b.ExpiresInSeconds,
	})
}

func (a *API) listPreviews(r *request) (response, error) {
	list, err := a.svc.Previews(r.Context(), r.who, r.query.siteID, r.query.list)
	return ok(newList(list, newPreview)), err
}

func (a *API) createPreview(r *request) (response, error) {
	made, err := a.svc.CreatePreview(r.Context(), r.who, input(r, PreviewCreate.domain))
	wire := PreviewWithToken{newPreview(made.PreviewView), made.Token}
	wire.URL = made.URL
	res := created("/v2/previews/"+made.ID.String(), wire)
	res.secret = true
	return res, err
}

func (a *API) getPreview(r *request) (response, error) {
	preview, err := a.svc.Preview(r.Context(), r.who, r.pathID)
	return ok(newPreview(preview)), err
}

func (a *API) deletePreview(r *request) (response, error) {
	return noContent(), a.svc.DeletePreview(r.Context(), r.who, r.pathID, ifMatch(r, newPreview))
}
