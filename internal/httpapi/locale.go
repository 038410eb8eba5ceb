package httpapi

import (
	"galley/internal/cms"
	"galley/internal/service"
)

// Locale is a language of a site.
type Locale struct {
	Object     string  `json:"object" enum:"locale" doc:"Always locale."`
	ID         cms.ID  `json:"id" doc:"Identifier of the locale."`
	Locale     string  `json:"locale" doc:"Locale code: a language, optionally with a region." example:"pt-BR"`
	Domain     *string `json:"domain" format:"uri" doc:"Domain URL for domain-based localization, with its protocol." example:"https://www.example.com.br"`
	PathPrefix *string `json:"pathPrefix" doc:"Custom URL path prefix. Null means the locale code, or the root for the default locale and for one with a domain." example:"br"`
	IsDefault  bool    `json:"isDefault" doc:"True when this is the default locale of the site." example:"false"`
}

func newLocale(l service.LocaleView) Locale {
	return Locale{
		Object: "locale", ID: l.ID, Locale: l.Code, Domain: l.Domain, PathPrefix: l.PathPrefix, IsDefault: l.IsDefault,
	}
}

// LocaleCreate is the body that adds a locale.
type LocaleCreate struct {
	SiteID cms.Opt[cms.ID] `json:"siteId" required:"true" doc:"The site that the locale is added to."`
	Locale cms.Opt[string] `json:"locale" required:"true" doc:"Locale code: a language, optionally with a region." example:"pt-BR"`
	localePlace
}

// LocalePatch is the body that changes a locale.
type LocalePatch struct {
	Locale cms.Opt[string] `json:"locale" doc:"Locale code: a language, optionally with a region." example:"pt-BR"`
	localePlace
}

type localePlace struct {
	Domain     cms.Opt[*string] `json:"domain" format:"uri" doc:"Domain URL for domain-based localization, with its protocol." example:"https://www.example.com.br"`
	PathPrefix cms.Opt[*string] `json:"pathPrefix" doc:"Custom URL path prefix, one segment or empty for the root. Null means the locale code, or the root for the default locale and for one with a domain. The origin (the domain, or else the site's hostOrigin) and the prefix together must be unique in the site." example:"br"`
}

func (l localePlace) patch(code cms.Opt[string]) cms.LocalePatch {
	return cms.LocalePatch{Code: code, Domain: l.Domain, PathPrefix: l.PathPrefix}
}

func (b LocaleCreate) domain(p *cms.Problems) cms.NewLocale {
	return clean(p, cms.NewLocale{SiteID: b.SiteID, LocalePatch: b.patch(b.Locale)})
}

func (b LocalePatch) domain(p *cms.Problems) cms.LocalePatch {
	return clean(p, b.patch(b.Locale))
}

const localeValue = "localeIdOrCode"

func (a *API) listLocales(r *request) (response, error) {
	list, err := a.svc.Locales(r.Context(), r.who, r.query.siteID, r.query.deleted, r.query.list)
	return ok(newList(list, newLocale)).of(r.query.siteID), err
}

func (a *API) createLocale(r *request) (response, error) {
	l, err := a.svc.CreateLocale(r.Context(), r.who, input(r, LocaleCreate.domain))
	return created("/v2/locales/"+l.ID.String(), newLocale(l)), err
}

func (a *API) getLocale(r *request) (response, error) {
	l, err := a.svc.Locale(r.Context(), r.who, r.ref(localeValue))
	return ok(newLocale(l)).of(l.SiteID), err
}

func (a *API) updateLocale(r *request) (response, error) {
	l, err := a.svc.UpdateLocale(r.Context(), r.who, r.ref(localeValue), input(r, LocalePatch.domain), ifMatch(r, newLocale))
	return ok(newLocale(l)), err
}

func (a *API) deleteLocale(r *request) (response, error) {
	return noContent(), a.svc.DeleteLocale(r.Context(), r.who, r.ref(localeValue), ifMatch(r, newLocale))
}

func (a *API) restoreLocale(r *request) (response, error) {
	l, err := a.svc.RestoreLocale(r.Context(), r.who, r.ref(localeValue), noFields(r))
	return ok(newLocale(l)), err
}
