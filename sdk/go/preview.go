package galley

import (
	"context"
	"iter"
	"time"
)

// Preview is a token that reads one version of a site for some time.
type Preview struct {
	ID         string     `json:"id"`
	SiteID     string     `json:"siteId"`
	Name       *string    `json:"name"`
	VersionRef string     `json:"versionRef"`
	Locale     *string    `json:"locale"`
	PathPrefix string     `json:"pathPrefix"`
	URL        *string    `json:"url"`
	CreatedAt  time.Time  `json:"createdAt"`
	CreatedBy  string     `json:"createdBy"`
	ExpiresAt  time.Time  `json:"expiresAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
}

// PreviewWithToken is a preview with its token, which is shown only once.
type PreviewWithToken struct {
	Preview
	Token string `json:"token"`
}

// PreviewCreate describes a new preview.
type PreviewCreate struct {
	SiteID           string      `json:"siteId"`
	Name             Opt[string] `json:"name,omitzero"`
	VersionRef       string      `json:"versionRef,omitempty"`
	Locale           Opt[string] `json:"locale,omitzero"`
	PathPrefix       string      `json:"pathPrefix,omitempty"`
	ExpiresInSeconds int         `json:"expiresInSeconds,omitempty"`
}

// PreviewQuery selects previews of a site.
type PreviewQuery struct {
	ListOptions
	SiteID string `query:"siteId"`
}

// Previews are the previews of sites.
type Previews struct{ c *Client }

// List returns one page of previews.
func (s *Previews) List(ctx context.Context, query PreviewQuery, options ...RequestOption) (List[Preview], error) {
	return get[List[Preview]](ctx, s.c, "/v2/previews", query, options)
}

// All walks through the whole list.
func (s *Previews) All(ctx context.Context, query PreviewQuery, options ...RequestOption) iter.Seq2[Preview, error] {
	return walk(query.ListOptions, func(x Preview) string { return x.ID }, func(page ListOptions) (List[Preview], error) {
		query.ListOptions = page
		return s.List(ctx, query, options...)
	})
}

// Create creates a preview.
func (s *Previews) Create(ctx context.Context, body PreviewCreate, options ...RequestOption) (PreviewWithToken, error) {
	return post[PreviewWithToken](ctx, s.c, "/v2/previews", body, options)
}

// Get returns a preview.
func (s *Previews) Get(ctx context.Context, id string, options ...RequestOption) (Preview, error) {
	return get[Preview](ctx, s.c, path("v2", "previews", id), nil, options)
}

// Delete ends a preview.
func (s *Previews) Delete(ctx context.Context, id string, options ...RequestOption) error {
	return s.c.remove(ctx, path("v2", "previews", id), nil, options)
}
