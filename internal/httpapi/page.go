package httpapi

import (
	"galley/internal/cms"
	"galley/internal/service"
)

// Page is a page of a site in one version and locale.
type Page struct {
	Object                    string             `json:"object" enum:"page" doc:"Always page."`
	ID                        cms.ID             `json:"id" doc:"Identifier of the page."`
	SiteID                    cms.ID             `json:"siteId" doc:"The site that the page belongs to."`
	Name                      string             `json:"name" doc:"Name of the page: as given, or else its title, or else the last segment of its pathname." example:"About us"`
	Pathname                  string             `json:"pathname" doc:"Page pathname." example:"/about"`
	CanonicalURL              *string            `json:"canonicalUrl" doc:"Canonical URL." example:"https://www.example.com/about"`
	Title                     *string            `json:"title" doc:"Page title." example:"About us"`
	Description               *string            `json:"description" doc:"Page description." example:"Who we are"`
	SocialImageURL            *string            `json:"socialImageUrl" doc:"Social image URL." example:"https://www.example.com/about.png"`
	SitemapPriority           *float64           `json:"sitemapPriority" minimum:"0" maximum:"1" doc:"Sitemap priority." example:"0.5"`
	SitemapFrequency          *cms.Frequency     `json:"sitemapFrequency" doc:"Sitemap frequency." example:"weekly"`
	CreatedAt                 timestamp          `json:"createdAt" doc:"Creation time."`
	UpdatedAt                 timestamp          `json:"updatedAt" doc:"Last update time."`
	PublishedAt               *timestamp         `json:"publishedAt" doc:"When the page last went live."`
	IsOnline                  bool               `json:"isOnline" doc:"Whether the page is online." example:"true"`
	ExcludedFromSearchEngines *bool              `json:"excludedFromSearchEngines" doc:"Whether the page is excluded from search." example:"false"`
	Localizations             []PageLocalization `json:"localizations" doc:"The locales, other than the default, that override something of the page."`
	Locale                    string             `json:"locale" doc:"The locale that is shown: the default one of the site unless another was asked for." example:"en-US"`
	Content                   *contentText       `json:"content,omitempty" doc:"With include=content: the content, or null."`
	Status                    cms.PageStatus     `json:"status,omitempty" doc:"In the draft: how the whole page, overrides included, compares with what is live."`
	Overrides                 []string           `json:"overrides,omitzero" doc:"In a locale other than the default: the fields that are its own." example:"[\"title\"]"`
}

// PageLocalization is a locale that overrides something of a page.
type PageLocalization struct {
	Pathname string `json:"pathname" doc:"The pathname in effect in the locale." example:"/a-propos"`
	Locale   string `json:"locale" doc:"Locale code." example:"fr"`
	ID       cms.ID `json:"id" doc:"Identifier of the locale."`
}

func newPage(v service.PageView) Page {
	p := Page{
		Object: "page", ID: v.ID, SiteID: v.SiteID, Name: v.DisplayName(), Pathname: v.Values.Pathname,
		CanonicalURL: v.Values.CanonicalURL, Title: v.Values.Title, Description: v.Values.Description,
		SocialImageURL: v.Values.SocialImageURL, SitemapPriority: v.Values.SitemapPriority,
		SitemapFrequency: v.Values.SitemapFrequency, CreatedAt: newTimestamp(v.CreatedAt),
		UpdatedAt: newTimestamp(v.UpdatedAt), PublishedAt: newNullTimestamp(v.PublishedAt),
		IsOnline: v.Values.IsOnline, ExcludedFromSearchEngines: v.Values.ExcludedFromSearchEngines,
		Localizations: make([]PageLocalization, len(v.Localizations)), Locale: v.Locale, Overrides: v.Overrides, Status: v.Status,
	}
	for i, l := range v.Localizations {
		p.Localizations[i] = PageLocalization{Pathname: l.Pathname, Locale: l.Locale, ID: l.LocaleID}
	}
	return p
}

// pageMeta are the fields that may be null wherever a page is written.
type pageMeta struct {
	Title                     cms.Opt[*string]        `json:"title" maxLength:"2048" doc:"Page title, in at most 2,048 bytes." example:"About us"`
	Description               cms.Opt[*string]        `json:"description" maxLength:"2048" doc:"Page description, in at most 2,048 bytes." example:"Who we are"`
	CanonicalURL              cms.Opt[*string]        `json:"canonicalUrl" format:"uri" maxLength:"2048" doc:"Canonical URL, http or https, in at most 2,048 bytes." example:"https://www.example.com/about"`
	SocialImageURL            cms.Opt[*string]        `json:"socialImageUrl" format:"uri" maxLength:"2048" doc:"Social image URL, http or https, in at most 2,048 bytes." example:"https://www.example.com/about.png"`
	SitemapPriority           cms.Opt[*float64]       `json:"sitemapPriority" minimum:"0" maximum:"1" doc:"Sitemap priority." example:"0.5"`
	SitemapFrequency          cms.Opt[*cms.Frequency] `json:"sitemapFrequency" doc:"Sitemap frequency." example:"weekly"`
	ExcludedFromSearchEngines cms.Opt[*bool]          `json:"excludedFromSearchEngines" doc:"Whether the page is excluded from search." example:"false"`
}

// PageCreate is the body that creates a page.
type PageCreate struct {
	SiteID   cms.Opt[cms.ID] `json:"siteId" required:"true" doc:"The site that the page belongs to."`
	Pathname cms.Opt[string] `json:"pathname" required:"true" minLength:"1" doc:"Page pathname, in at most 2,048 bytes, without query, empty segments or dots for folders. A missing leading slash is added, a trailing one dropped." example:"/about"`
	Name     cms.Opt[string] `json:"name" minLength:"1" maxLength:"255" doc:"Name of the page, not blank; without one, the title or the last segment of the pathname stands in." example:"About us"`
	IsOnline cms.Opt[bool]   `json:"isOnline" default:"true" doc:"Whether the page is online." example:"true"`
	pageMeta
}

// PagePatch is the body that changes a page.
type PagePatch struct {
	Pathname cms.Opt[*string] `json:"pathname" minLength:"1" doc:"Page pathname. Null, with a locale, returns it to inheritance." example:"/about"`
	Name     cms.Opt[string]  `json:"name" minLength:"1" maxLength:"255" doc:"Name of the page, not blank; the same in every locale." example:"About us"`
	IsOnline cms.Opt[*bool]   `json:"isOnline" doc:"Whether the page is online. Null, with a locale, returns it to inheritance." example:"true"`
	pageMeta
}

func (m pageMeta) patch() cms.PagePatch {
	return cms.PagePatch{
		Title: m.Title, Description: m.Description, CanonicalURL: m.CanonicalURL, SocialImageURL: m.SocialImageURL,
		SitemapPriority: m.SitemapPriority, SitemapFrequency: m.SitemapFrequency,
		ExcludedFromSearchEngines: m.ExcludedFromSearchEngines,
	}
}

func (b PageCreate) domain(p *cms.Problems) cms.NewPage {
	n := cms.NewPage{SiteID: b.SiteID, PagePatch: b.patch()}
	n.Pathname, n.Name, n.IsOnline = orNull(b.Pathname), b.Name, orNull(b.IsOnline)
	n.Clean(p)
	return n
}

// orNull converts a value that can't be null to one that can.
func orNull[T any](o cms.Opt[T]) cms.Opt[*T] {
	if !o.Set {
		return cms.Opt[*T]{}
	}
	return cms.Some(&o.Value)
}

func (b PagePatch) patch() cms.PagePatch {
	c := b.pageMeta.patch()
	c.Pathname, c.Name, c.IsOnline = b.Pathname, b.Name, b.IsOnline
	return c
}

const pageValue = "pageIdOrPathname"

func (a *API) listPages(r *request) (response, error) {
	list, res, err := a.readPages(r)
	res.body = newList(list, newPage)
	return res, err
}

// readPages lists pages, and returns a response that has no body yet.
func (a *API) readPages(r *request) (cms.List[service.PageView], response, error) {
	q := r.query
	list, err := a.svc.Pages(r.Context(), r.who, service.ReadPages{
		Query: cms.PageQuery{
			SiteID: r.site, PathPrefix: q.pathPrefix, Sort: q.sort, Descending: q.descending,
			IncludeOffline: q.includeOffline, Deleted: q.deleted, Status: q.status, Search: q.search, Limit: q.list.Limit,
		},
		Version: q.version,
		Locale:  q.locale,
		After:   q.list.After,
	})
	res := ok(nil)
	res.onSend = list.OnSend
	if list.Pure {
		res.about = cms.SubjectsOf(r.site, q.version.Version)
	}
	return list.List, res, err
}

func (a *API) createPage(r *request) (response, error) {
	p, err := a.svc.CreatePage(r.Context(), r.who, input(r, PageCreate.domain))
	return created("/v6/pages/"+p.ID.String(), newPage(p)), err
}

func (a *API) getPage(r *request) (response, error) {
	p, err := a.svc.Page(r.Context(), r.who, service.ReadPage{Ref: r.ref(pageValue), Version: r.query.version, Locale: r.query.locale, Content: r.query.content})
	res := ok(newPage(p))
	if r.query.content {
		res.body = newPageWithContent(p)
	}
	res.about = cms.SubjectsOfPage(p.SiteID, r.query.version.Version, p.ID)
	return res, err
}

func (a *API) updatePage(r *request) (response, error) {
	p, err := a.svc.UpdatePage(r.Context(), r.who, r.ref(pageValue), r.query.locale, pageInput(r), ifMatch(r, newPage))
	return ok(newPage(p)), err
}

// pageInput decodes a patch. Which fields may be null depends on the locale, which
// the service looks up.
func pageInput(r *request) service.PageInput {
	body := r.jsonBody()
	convert := func(localized bool) service.Input[cms.PagePatch] {
		return decoded(body, func(b PagePatch, p *cms.Problems) cms.PagePatch {
			c := b.patch()
			c.Clean(p, localized)
			return c
		})
	}
	plain, localized := convert(false), convert(true)
	likely := plain
	if r.query.locale != "" {
		likely = localized
	}
	_, _ = likely() // decoded before the transaction
	return func(inLocale bool) (cms.PagePatch, error) {
		if inLocale {
			return localized()
		}
		return plain()
	}
}

func (a *API) deletePage(r *request) (response, error) {
	return noContent(), a.svc.DeletePage(r.Context(), r.who, r.ref(pageValue), r.query.locale, ifMatch(r, newPage))
}

func (a *API) restorePage(r *request) (response, error) {
	p, err := a.svc.RestorePage(r.Context(), r.who, r.pathID, noFields(r))
	return ok(newPage(p)), err
}

func (a *API) delocalizePage(r *request) (response, error) {
	return noContent(), a.svc.DelocalizePage(r.Context(), r.who, service.Ref{ID: r.pathID}, r.values[localeValue], ifMatch(r, newPage))
}
