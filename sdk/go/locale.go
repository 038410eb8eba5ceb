package galley

import (
	"context"
	"iter"
	"net/http"
)

// Locale is a language version of a site.
type Locale struct {
	ID         string  `json:"id"`
	Locale     string  `json:"locale"`
	IsDefault  bool    `json:"isDefault"`
	Domain     *string `json:"domain"`
	PathPrefix *string `json:"pathPrefix"`
}

// LocaleCreate describes a new locale.
type LocaleCreate struct {
	SiteID     string      `json:"siteId"`
	Locale     string      `json:"locale"`
	Domain     Opt[string] `json:"domain,omitzero"`
	PathPrefix Opt[string] `json:"pathPrefix,omitzero"`
}

// LocalePatch changes a locale.
type LocalePatch struct {
	Locale     Opt[string] `json:"locale,omitzero"`
	Domain     Opt[string] `json:"domain,omitzero"`
	PathPrefix Opt[string] `json:"pathPrefix,omitzero"`
}

// LocaleQuery selects locales of a site.
type LocaleQuery struct {
	ListOptions
	SiteID  string `query:"siteId"`
	Deleted bool   `query:"deleted"`
}

// SiteRef names the site of a resource that is named by its code or pathname. Ids need
// none.
type SiteRef struct {
	SiteID string `query:"siteId"`
}

// Locales are the locales of sites.
type Locales struct{ c *Client }

// List returns one page of locales.
func (s *Locales) List(ctx context.Context, query LocaleQuery, options ...RequestOption) (List[Locale], error) {
	return get[List[Locale]](ctx, s.c, "/v2/locales", query, options)
}

// All walks through the whole list.
func (s *Locales) All(ctx context.Context, query LocaleQuery, options ...RequestOption) iter.Seq2[Locale, error] {
	return walk(query.ListOptions, func(x Locale) string { return x.ID }, func(page ListOptions) (List[Locale], error) {
		query.ListOptions = page
		return s.List(ctx, query, options...)
	})
}

// Create creates a locale.
func (s *Locales) Create(ctx context.Context, body LocaleCreate, options ...RequestOption) (Locale, error) {
	return post[Locale](ctx, s.c, "/v2/locales", body, options)
}

// Get returns a locale by its id, or by its code and site.
func (s *Locales) Get(ctx context.Context, idOrCode string, site SiteRef, options ...RequestOption) (Locale, error) {
	return get[Locale](ctx, s.c, path("v2", "locales", idOrCode), site, options)
}

// Update changes a locale.
func (s *Locales) Update(ctx context.Context, idOrCode string, site SiteRef, body LocalePatch, options ...RequestOption) (Locale, error) {
	return send[Locale](ctx, s.c, http.MethodPatch, path("v2", "locales", idOrCode), values(site), body, options)
}

// Delete deletes a locale.
func (s *Locales) Delete(ctx context.Context, idOrCode string, site SiteRef, options ...RequestOption) error {
	return s.c.remove(ctx, path("v2", "locales", idOrCode), site, options)
}

// Restore brings a deleted locale back.
func (s *Locales) Restore(ctx context.Context, idOrCode string, site SiteRef, options ...RequestOption) (Locale, error) {
	return send[Locale](ctx, s.c, http.MethodPost, path("v2", "locales", idOrCode, "restore"), values(site), nil, options)
}
