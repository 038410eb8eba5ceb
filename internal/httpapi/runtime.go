package httpapi

import (
	"errors"

	"galley/internal/cms"
	"galley/internal/service"
)

// The types in this file match the schemas of the npm package @makeswift/runtime,
// which reads the live pages of a site.

// RuntimePages is one page of a list.
type RuntimePages struct {
	Data    []RuntimeListedPage `json:"data" doc:"The items of this page of results."`
	HasMore bool                `json:"hasMore" doc:"True when more results exist after this page." example:"false"`
}

// RuntimeListedPage is an item of a list.
type RuntimeListedPage struct {
	ID                 cms.ID           `json:"id" doc:"Identifier of the page."`
	Path               string           `json:"path" doc:"Page pathname." example:"/about"`
	Title              *string          `json:"title" doc:"Page title." example:"About us"`
	Description        *string          `json:"description" doc:"Page description." example:"Who we are"`
	CanonicalURL       *string          `json:"canonicalUrl" doc:"Canonical URL." example:"https://www.example.com/about"`
	SocialImageURL     *string          `json:"socialImageUrl" doc:"Social image URL." example:"https://www.example.com/about.png"`
	SitemapPriority    *float64         `json:"sitemapPriority" minimum:"0" maximum:"1" doc:"Sitemap priority." example:"0.5"`
	SitemapFrequency   *cms.Frequency   `json:"sitemapFrequency" doc:"Sitemap frequency." example:"weekly"`
	CreatedAt          timestamp        `json:"createdAt" doc:"Creation time."`
	UpdatedAt          timestamp        `json:"updatedAt" doc:"Last update time."`
	PublishedAt        *timestamp       `json:"publishedAt" doc:"When the page last went live."`
	IsOnline           bool             `json:"isOnline" doc:"Whether the page is online." example:"true"`
	ExcludedFromSearch *bool            `json:"excludedFromSearch" doc:"Whether the page is excluded from search." example:"false"`
	Locale             string           `json:"locale" doc:"The locale that is shown." example:"en-US"`
	LocalizedVariants  []RuntimeVariant `json:"localizedVariants" doc:"The locales, other than the default, that override something of the page."`
}

// RuntimeVariant is a locale that overrides something of a listed page.
type RuntimeVariant struct {
	Locale string `json:"locale" doc:"Locale code." example:"fr"`
	Path   string `json:"path" doc:"The pathname in effect in the locale." example:"/a-propos"`
}

// RuntimePage is a page in a locale.
type RuntimePage struct {
	Pathname  string             `json:"pathname" doc:"Page pathname." example:"/about"`
	Locale    string             `json:"locale" doc:"Locale code." example:"en-US"`
	Alternate []RuntimeAlternate `json:"alternate" doc:"The other locales where the page is online."`
}

// RuntimeAlternate is another locale of a page.
type RuntimeAlternate struct {
	Pathname string `json:"pathname" doc:"The pathname in effect in the locale." example:"/a-propos"`
	Locale   string `json:"locale" doc:"Locale code." example:"fr"`
}

func newRuntimeListedPage(v service.PageView) RuntimeListedPage {
	p := RuntimeListedPage{
		ID: v.ID, Path: v.Values.Pathname, Title: v.Values.Title, Description: v.Values.Description,
		CanonicalURL: v.Values.CanonicalURL, SocialImageURL: v.Values.SocialImageURL,
		SitemapPriority: v.Values.SitemapPriority, SitemapFrequency: v.Values.SitemapFrequency,
		CreatedAt: newTimestamp(v.CreatedAt), UpdatedAt: newTimestamp(v.UpdatedAt), PublishedAt: newNullTimestamp(v.PublishedAt),
		IsOnline: v.Values.IsOnline, ExcludedFromSearch: v.Values.ExcludedFromSearchEngines,
		Locale: v.Locale, LocalizedVariants: make([]RuntimeVariant, len(v.Localizations)),
	}
	for i, l := range v.Localizations {
		p.LocalizedVariants[i] = RuntimeVariant{Locale: l.Locale, Path: l.Pathname}
	}
	return p
}

func newRuntimePage(live service.LivePage) RuntimePage {
	p := RuntimePage{Pathname: live.Pathname, Locale: live.Locale, Alternate: make([]RuntimeAlternate, len(live.Alternates))}
	for i, l := range live.Alternates {
		p.Alternate[i] = RuntimeAlternate{Pathname: l.Pathname, Locale: l.Locale}
	}
	return p
}

func (a *API) listRuntimePages(r *request) (response, error) {
	r.site = r.who.Site.ID
	r.query.version = service.VersionRef{Version: cms.Live}
	list, res, err := a.readPages(r)
	if errors.Is(err, cms.ErrCursor) {
		err = cms.BadField(paramRuntimeAfter.name, cms.ErrCursor.Details[0].Message)
	}
	items := newList(list, newRuntimeListedPage)
	res.body = RuntimePages{items.Data, items.HasMore}
	return res, err
}

func (a *API) getRuntimePage(r *request) (response, error) {
	r.site = r.who.Site.ID
	live, err := a.svc.LivePage(r.Context(), r.who, r.site, r.values["pathname"], r.query.locale)
	res := ok(newRuntimePage(live))
	res.about = cms.SubjectsOf(r.site, cms.Live)
	return res, err
}
