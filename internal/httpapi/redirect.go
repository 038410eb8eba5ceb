package httpapi

import (
	"galley/internal/cms"
	"galley/internal/service"
)

// Redirect leads from a pathname of a site to another address.
type Redirect struct {
	Object      string     `json:"object" enum:"redirect" doc:"Always redirect."`
	ID          cms.ID     `json:"id" doc:"Identifier of the redirect."`
	SiteID      cms.ID     `json:"siteId" doc:"The site that the redirect belongs to."`
	Locale      *string    `json:"locale" doc:"Code of the locale in which it acts; null means every locale." example:"fr"`
	Source      string     `json:"source" doc:"A pathname, or one that ends in /* for everything below it." example:"/old/*"`
	Target      string     `json:"target" doc:"A pathname of the site in the same locale, or an absolute URL. One that ends in /* takes what the star stands for." example:"/new/*"`
	Status      int        `json:"status" enum:"301,302,307,308" doc:"The HTTP status of the redirect." example:"308"`
	IsAutomatic bool       `json:"isAutomatic" doc:"Whether a publish that moved a page created it, and it was not edited since." example:"false"`
	CreatedAt   timestamp  `json:"createdAt" doc:"Creation time."`
	UpdatedAt   timestamp  `json:"updatedAt" doc:"Last update time."`
	PublishedAt *timestamp `json:"publishedAt" doc:"When the redirect last went live."`
}

func newRedirect(v service.RedirectView) Redirect {
	return Redirect{
		Object: "redirect", ID: v.ID, SiteID: v.SiteID, Locale: v.Locale, Source: v.Source, Target: v.Target, Status: v.Status,
		IsAutomatic: v.IsAutomatic, CreatedAt: newTimestamp(v.CreatedAt), UpdatedAt: newTimestamp(v.UpdatedAt), PublishedAt: newNullTimestamp(v.PublishedAt),
	}
}

// redirectMeta are the fields that are the same wherever a redirect is written.
type redirectMeta struct {
	Status cms.Opt[int]     `json:"status" enum:"301,302,307,308" doc:"The HTTP status of the redirect; 308 unless given." example:"308"`
	Locale cms.Opt[*string] `json:"locale" doc:"The locale in which it acts, by code or id; null means every locale." example:"fr"`
}

// RedirectCreate is the body that creates a redirect.
type RedirectCreate struct {
	SiteID cms.Opt[cms.ID] `json:"siteId" required:"true" doc:"The site that the redirect belongs to."`
	Source cms.Opt[string] `json:"source" required:"true" minLength:"1" doc:"A pathname, or one that ends in /* for everything below it." example:"/old/*"`
	Target cms.Opt[string] `json:"target" required:"true" minLength:"1" maxLength:"2048" doc:"A pathname of the site in the same locale, or an absolute http or https URL. One that ends in /*, if the source does, takes what the star stands for." example:"/new/*"`
	redirectMeta
}

// RedirectPatch is the body that changes a redirect.
type RedirectPatch struct {
	Source cms.Opt[string] `json:"source" minLength:"1" doc:"A pathname, or one that ends in /* for everything below it." example:"/old/*"`
	Target cms.Opt[string] `json:"target" minLength:"1" maxLength:"2048" doc:"A pathname of the site in the same locale, or an absolute http or https URL. One that ends in /*, if the source does, takes what the star stands for." example:"/new/*"`
	redirectMeta
}

func (b RedirectPatch) patch() cms.RedirectPatch {
	return cms.RedirectPatch{Source: b.Source, Target: b.Target, Status: b.Status, Locale: b.Locale}
}

func (b RedirectCreate) domain(p *cms.Problems) cms.NewRedirect {
	patch := RedirectPatch{b.Source, b.Target, b.redirectMeta}.patch()
	return clean(p, cms.NewRedirect{SiteID: b.SiteID, RedirectPatch: patch})
}

func (b RedirectPatch) domain(p *cms.Problems) cms.RedirectPatch { return clean(p, b.patch()) }

func (a *API) listRedirects(r *request) (response, error) {
	q := r.query
	list, err := a.svc.Redirects(r.Context(), r.who, service.ReadRedirects{
		SiteID: q.siteID, Version: q.version, Locale: q.locale, SourcePrefix: q.sourcePrefix, Deleted: q.deleted, List: q.list,
	})
	res := ok(newList(list.List, newRedirect))
	res.onSend = list.OnSend
	if list.Pure {
		res.about = cms.SubjectsOf(q.siteID, q.version.Version)
	}
	return res, err
}

func (a *API) createRedirect(r *request) (response, error) {
	redirect, err := a.svc.CreateRedirect(r.Context(), r.who, input(r, RedirectCreate.domain))
	return created("/v2/redirects/"+redirect.ID.String(), newRedirect(redirect)), err
}

func (a *API) getRedirect(r *request) (response, error) {
	redirect, err := a.svc.Redirect(r.Context(), r.who, r.pathID, r.query.version)
	res := ok(newRedirect(redirect))
	res.about = cms.SubjectsOfPage(redirect.SiteID, r.query.version.Version, redirect.ID)
	return res, err
}

func (a *API) updateRedirect(r *request) (response, error) {
	redirect, err := a.svc.UpdateRedirect(r.Context(), r.who, r.pathID, input(r, RedirectPatch.domain), ifMatch(r, newRedirect))
	return ok(newRedirect(redirect)), err
}

func (a *API) deleteRedirect(r *request) (response, error) {
	return noContent(), a.svc.DeleteRedirect(r.Context(), r.who, r.pathID, ifMatch(r, newRedirect))
}

func (a *API) restoreRedirect(r *request) (response, error) {
	redirect, err := a.svc.RestoreRedirect(r.Context(), r.who, r.pathID, noFields(r))
	return ok(newRedirect(redirect)), err
}

func (a *API) discardRedirect(r *request) (response, error) {
	redirect, err := a.svc.DiscardRedirect(r.Context(), r.who, r.pathID, noFields(r))
	if redirect.DeletedAt != nil {
		return noContent(), err
	}
	return ok(newRedirect(redirect)), err
}
