package galley

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// Frequency is how often a page is expected to change.
type Frequency string

// Page is a page of a site, as one locale of one version shows it.
type Page struct {
	ID                        string             `json:"id"`
	SiteID                    string             `json:"siteId"`
	Name                      string             `json:"name"`
	Pathname                  string             `json:"pathname"`
	Title                     *string            `json:"title"`
	Description               *string            `json:"description"`
	CanonicalURL              *string            `json:"canonicalUrl"`
	SocialImageURL            *string            `json:"socialImageUrl"`
	SitemapPriority           *float64           `json:"sitemapPriority"`
	SitemapFrequency          *Frequency         `json:"sitemapFrequency"`
	CreatedAt                 time.Time          `json:"createdAt"`
	UpdatedAt                 time.Time          `json:"updatedAt"`
	PublishedAt               *time.Time         `json:"publishedAt"`
	IsOnline                  bool               `json:"isOnline"`
	ExcludedFromSearchEngines *bool              `json:"excludedFromSearchEngines"`
	Localizations             []PageLocalization `json:"localizations"`
	Locale                    string             `json:"locale"`
	Content                   json.RawMessage    `json:"content"`   // with Include "content"
	Status                    string             `json:"status"`    // new, changed or live; "" but for the draft
	Overrides                 []string           `json:"overrides"` // nil in the default locale
}

// PageLocalization is a locale that overrides something of a page.
type PageLocalization struct {
	ID       string `json:"id"`
	Locale   string `json:"locale"`
	Pathname string `json:"pathname"`
}

// PageCreate describes a new page.
type PageCreate struct {
	SiteID                    string         `json:"siteId"`
	Pathname                  string         `json:"pathname"`
	Name                      Opt[string]    `json:"name,omitzero"`
	Title                     Opt[string]    `json:"title,omitzero"`
	Description               Opt[string]    `json:"description,omitzero"`
	CanonicalURL              Opt[string]    `json:"canonicalUrl,omitzero"`
	SocialImageURL            Opt[string]    `json:"socialImageUrl,omitzero"`
	SitemapPriority           Opt[float64]   `json:"sitemapPriority,omitzero"`
	SitemapFrequency          Opt[Frequency] `json:"sitemapFrequency,omitzero"`
	IsOnline                  Opt[bool]      `json:"isOnline,omitzero"`
	ExcludedFromSearchEngines Opt[bool]      `json:"excludedFromSearchEngines,omitzero"`
}

// PagePatch changes a page. In a locale, null returns a field to inheritance.
type PagePatch struct {
	Name                      Opt[string]    `json:"name,omitzero"`
	Pathname                  Opt[string]    `json:"pathname,omitzero"`
	Title                     Opt[string]    `json:"title,omitzero"`
	Description               Opt[string]    `json:"description,omitzero"`
	CanonicalURL              Opt[string]    `json:"canonicalUrl,omitzero"`
	SocialImageURL            Opt[string]    `json:"socialImageUrl,omitzero"`
	SitemapPriority           Opt[float64]   `json:"sitemapPriority,omitzero"`
	SitemapFrequency          Opt[Frequency] `json:"sitemapFrequency,omitzero"`
	IsOnline                  Opt[bool]      `json:"isOnline,omitzero"`
	ExcludedFromSearchEngines Opt[bool]      `json:"excludedFromSearchEngines,omitzero"`
}

// PageValues are the values of a page that a batch writes.
type PageValues struct {
	PagePatch
	Content Opt[json.RawMessage] `json:"content,omitzero"`
}

// PageOperation is one change of a batch. Without an id, the pathname names the page.
type PageOperation struct {
	Op            string                `json:"op"` // create, update or delete
	PageID        string                `json:"pageId,omitempty"`
	Locale        string                `json:"locale,omitempty"`
	Localizations map[string]PageValues `json:"localizations,omitempty"`
	PageValues
}

// PageBatch changes many pages of a site, all or none of them.
type PageBatch struct {
	SiteID     string          `json:"siteId"`
	Operations []PageOperation `json:"operations"`
}

// PageResult is a page as an operation of a batch left it.
type PageResult struct {
	Page
	Deleted bool `json:"deleted"`
}

// PageBatchResult has a result for each operation.
type PageBatchResult struct {
	Results []PageResult `json:"results"`
}

// PageQuery selects pages.
type PageQuery struct {
	ListOptions
	SiteID         string   `query:"siteId"`
	PathPrefix     string   `query:"pathPrefix"`
	SortBy         string   `query:"sortBy"`
	SortDirection  string   `query:"sortDirection"`
	IncludeOffline bool     `query:"includeOffline"`
	Locale         string   `query:"locale"`
	VersionRef     string   `query:"versionRef"`
	Status         []string `query:"status"`
	Deleted        bool     `query:"deleted"`
	Search         string   `query:"search"`
}

// PageRef says how to find and show a page. SiteID is needed with a pathname.
type PageRef struct {
	SiteID     string `query:"siteId"`
	Locale     string `query:"locale"`
	VersionRef string `query:"versionRef"` // only for Get
	Include    string `query:"include"`    // content; only for Get
}

// TreeQuery selects the segments below a pathname.
type TreeQuery struct {
	ListOptions        // the cursor is a pathname
	SiteID      string `query:"siteId"`
	Under       string `query:"under"`
	Locale      string `query:"locale"`
	VersionRef  string `query:"versionRef"`
}

// PathSegment is a pathname one segment below another.
type PathSegment struct {
	Pathname    string       `json:"pathname"`
	Page        *SegmentPage `json:"page"`
	RouteID     *string      `json:"routeId"`
	HasChildren bool         `json:"hasChildren"`
	Count       int          `json:"count"`
}

// SegmentPage is the page at a segment.
type SegmentPage struct {
	ID       string  `json:"id"`
	Title    *string `json:"title"`
	Status   *string `json:"status"`
	IsOnline bool    `json:"isOnline"`

	UpdatedAt time.Time `json:"updatedAt"`
	Overrides []string  `json:"overrides"`
}

// Pages are the pages of sites.
type Pages struct{ c *Client }

// List returns one page of the list.
func (s *Pages) List(ctx context.Context, query PageQuery, options ...RequestOption) (List[Page], error) {
	return get[List[Page]](ctx, s.c, "/v6/pages", query, options)
}

// All walks through the whole list.
func (s *Pages) All(ctx context.Context, query PageQuery, options ...RequestOption) iter.Seq2[Page, error] {
	return walk(query.ListOptions, func(x Page) string { return x.ID }, func(page ListOptions) (List[Page], error) {
		query.ListOptions = page
		return s.List(ctx, query, options...)
	})
}

// Create creates a page in the draft.
func (s *Pages) Create(ctx context.Context, body PageCreate, options ...RequestOption) (Page, error) {
	return post[Page](ctx, s.c, "/v6/pages", body, options)
}

// Get returns a page by its id, or by its pathname and site.
func (s *Pages) Get(ctx context.Context, idOrPathname string, ref PageRef, options ...RequestOption) (Page, error) {
	return get[Page](ctx, s.c, path("v6", "pages", idOrPathname), ref, options)
}

// Update changes a page in the draft, in the locale of the ref or the default one.
func (s *Pages) Update(ctx context.Context, idOrPathname string, ref PageRef, body PagePatch, options ...RequestOption) (Page, error) {
	return send[Page](ctx, s.c, http.MethodPatch, path("v6", "pages", idOrPathname), values(ref), body, options)
}

// Delete deletes a page from the draft.
func (s *Pages) Delete(ctx context.Context, idOrPathname string, ref PageRef, options ...RequestOption) error {
	return s.c.remove(ctx, path("v6", "pages", idOrPathname), ref, options)
}

// Restore brings a deleted page back.
func (s *Pages) Restore(ctx context.Context, id string, options ...RequestOption) (Page, error) {
	return post[Page](ctx, s.c, path("v6", "pages", id, "restore"), nil, options)
}

// Delocalize drops what a locale overrides of a page.
func (s *Pages) Delocalize(ctx context.Context, id, localeIDOrCode string, options ...RequestOption) error {
	return s.c.remove(ctx, path("v6", "pages", id, "localizations", localeIDOrCode), nil, options)
}

// Batch does up to 1,000 operations, all or none of them.
func (s *Pages) Batch(ctx context.Context, body PageBatch, options ...RequestOption) (PageBatchResult, error) {
	return post[PageBatchResult](ctx, s.c, "/v6/pages/batch", body, options)
}

// Tree returns one page of the next segments below a pathname.
func (s *Pages) Tree(ctx context.Context, query TreeQuery, options ...RequestOption) (List[PathSegment], error) {
	return get[List[PathSegment]](ctx, s.c, "/v6/pages/tree", query, options)
}

// Publish publishes one page.
func (s *Pages) Publish(ctx context.Context, id string, options ...RequestOption) (Publish, error) {
	return post[Publish](ctx, s.c, path("v6", "pages", id, "publish"), nil, options)
}

// Discard returns the draft of a page to what is live. A page that was never live is
// deleted, and nil is returned.
func (s *Pages) Discard(ctx context.Context, id string, options ...RequestOption) (*Page, error) {
	return post[*Page](ctx, s.c, path("v6", "pages", id, "discard"), nil, options)
}

// Publishes returns one page of the publishes that changed a page, newest first.
func (s *Pages) Publishes(ctx context.Context, id string, page ListOptions, options ...RequestOption) (List[Publish], error) {
	return get[List[Publish]](ctx, s.c, path("v6", "pages", id, "publishes"), page, options)
}
