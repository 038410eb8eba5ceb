package galley

import (
	"context"
	"time"
)

// RuntimePage is a page as front ends of the npm package @makeswift/runtime read it.
type RuntimePage struct {
	Pathname  string             `json:"pathname"`
	Locale    string             `json:"locale"`
	Alternate []RuntimeAlternate `json:"alternate"`
}

// RuntimeAlternate is the pathname of the page in a locale.
type RuntimeAlternate struct {
	Locale   string `json:"locale"`
	Pathname string `json:"pathname"`
}

// RuntimeListedPage is a live page of the list.
type RuntimeListedPage struct {
	ID                 string           `json:"id"`
	Path               string           `json:"path"`
	Locale             string           `json:"locale"`
	Title              *string          `json:"title"`
	Description        *string          `json:"description"`
	CanonicalURL       *string          `json:"canonicalUrl"`
	SocialImageURL     *string          `json:"socialImageUrl"`
	SitemapPriority    *float64         `json:"sitemapPriority"`
	SitemapFrequency   *Frequency       `json:"sitemapFrequency"`
	CreatedAt          time.Time        `json:"createdAt"`
	UpdatedAt          time.Time        `json:"updatedAt"`
	PublishedAt        *time.Time       `json:"publishedAt"`
	IsOnline           bool             `json:"isOnline"`
	ExcludedFromSearch *bool            `json:"excludedFromSearch"`
	LocalizedVariants  []RuntimeVariant `json:"localizedVariants"`
}

// RuntimeVariant is the path of a page in a locale.
type RuntimeVariant struct {
	Locale string `json:"locale"`
	Path   string `json:"path"`
}

// RuntimeQuery selects live pages.
type RuntimeQuery struct {
	Limit          int    `query:"limit"`
	After          string `query:"after"`
	SortBy         string `query:"sortBy"`
	SortDirection  string `query:"sortDirection"`
	IncludeOffline bool   `query:"includeOffline"`
	PathPrefix     string `query:"pathPrefix"`
	Locale         string `query:"locale"`
}

// LocaleRef names a locale by its code or id.
type LocaleRef struct {
	Locale string `query:"locale"`
}

// Runtime is what front ends of @makeswift/runtime read, with a Site key.
type Runtime struct{ c *Client }

// List returns one page of the live pages.
func (s *Runtime) List(ctx context.Context, query RuntimeQuery, options ...RequestOption) (List[RuntimeListedPage], error) {
	return get[List[RuntimeListedPage]](ctx, s.c, "/v5/pages", query, options)
}

// Get returns a live page by its pathname.
func (s *Runtime) Get(ctx context.Context, pathname string, query LocaleRef, options ...RequestOption) (RuntimePage, error) {
	return get[RuntimePage](ctx, s.c, path("v3", "pages", pathname), query, options)
}
