package galley

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// Site is a website.
type Site struct {
	ID                      string    `json:"id"`
	WorkspaceID             string    `json:"workspaceId"`
	Name                    string    `json:"name"`
	HostOrigin              *string   `json:"hostOrigin"`
	PublicAPIKey            string    `json:"publicApiKey"`
	SiteKeyAccess           string    `json:"siteKeyAccess"`
	DefaultLocale           string    `json:"defaultLocale"`
	DefaultLocalePathPrefix *string   `json:"defaultLocalePathPrefix"`
	LocaleManagementMode    string    `json:"localeManagementMode"`
	AutoRedirects           bool      `json:"autoRedirects"`
	PreviewURLTemplate      *string   `json:"previewUrlTemplate"`
	Labels                  []string  `json:"labels"`
	CreatedAt               time.Time `json:"createdAt"`
	UpdatedAt               time.Time `json:"updatedAt"`
}

// SiteCreate describes a new site.
type SiteCreate struct {
	Name                 string      `json:"name"`
	WorkspaceID          string      `json:"workspaceId,omitempty"`
	HostOrigin           Opt[string] `json:"hostOrigin,omitzero"`
	DefaultLocale        string      `json:"defaultLocale,omitempty"`
	SiteKeyAccess        string      `json:"siteKeyAccess,omitempty"`
	LocaleManagementMode string      `json:"localeManagementMode,omitempty"`
	AutoRedirects        Opt[bool]   `json:"autoRedirects,omitzero"`
	PreviewURLTemplate   Opt[string] `json:"previewUrlTemplate,omitzero"`
	Labels               []string    `json:"labels,omitempty"`
}

// SitePatch changes a site.
type SitePatch struct {
	Name                    Opt[string]   `json:"name,omitzero"`
	HostOrigin              Opt[string]   `json:"hostOrigin,omitzero"`
	DefaultLocale           Opt[string]   `json:"defaultLocale,omitzero"`
	DefaultLocalePathPrefix Opt[string]   `json:"defaultLocalePathPrefix,omitzero"`
	SiteKeyAccess           Opt[string]   `json:"siteKeyAccess,omitzero"`
	LocaleManagementMode    Opt[string]   `json:"localeManagementMode,omitzero"`
	AutoRedirects           Opt[bool]     `json:"autoRedirects,omitzero"`
	PreviewURLTemplate      Opt[string]   `json:"previewUrlTemplate,omitzero"`
	Labels                  Opt[[]string] `json:"labels,omitzero"`
}

// SiteDuplicate names the copy of a site.
type SiteDuplicate struct {
	Name string `json:"name"`
}

// SiteQuery selects sites.
type SiteQuery struct {
	ListOptions
	WorkspaceID string `query:"workspaceId"`
	Search      string `query:"search"`
	Label       string `query:"label"`
	Deleted     bool   `query:"deleted"`
}

// ChangeQuery selects changes of a draft.
type ChangeQuery struct {
	ListOptions
	PageIDs     []string `query:"pageIds"`
	RedirectIDs []string `query:"redirectIds"`
	Locales     []string `query:"locales"`
}

// SiteSummary counts what the draft of a site has.
type SiteSummary struct {
	Pages         int           `json:"pages"`
	Online        int           `json:"online"`
	Offline       int           `json:"offline"`
	Changed       int           `json:"changed"`
	Redirects     int           `json:"redirects"`
	Routes        int           `json:"routes"`
	Locales       []LocaleCount `json:"locales"`
	LastPublish   *Publish      `json:"lastPublish"`
	Scheduled     int           `json:"scheduled"`
	NextPublishAt *time.Time    `json:"nextPublishAt"`
}

// LocaleCount is how many pages a locale overrides something of.
type LocaleCount struct {
	Locale    string `json:"locale"`
	Localized int    `json:"localized"`
}

// Discard says what of a draft to discard.
type Discard struct {
	Selection
	Confirm bool `json:"confirm,omitempty"`
}

// Discarded counts what was discarded.
type Discarded struct {
	Pages     int `json:"pages"`
	Redirects int `json:"redirects"`
}

// SitemapQuery selects a sitemap.
type SitemapQuery struct {
	Origin     string `query:"origin"`
	VersionRef string `query:"versionRef"`
	Part       int    `query:"part"`
}

// RobotsQuery selects a robots.txt.
type RobotsQuery struct {
	Origin string `query:"origin"`
}

// Sites are the sites of the workspace.
type Sites struct{ c *Client }

// List returns one page of sites.
func (s *Sites) List(ctx context.Context, query SiteQuery, options ...RequestOption) (List[Site], error) {
	return get[List[Site]](ctx, s.c, "/v2/sites", query, options)
}

// All walks through the whole list.
func (s *Sites) All(ctx context.Context, query SiteQuery, options ...RequestOption) iter.Seq2[Site, error] {
	return walk(query.ListOptions, func(x Site) string { return x.ID }, func(page ListOptions) (List[Site], error) {
		query.ListOptions = page
		return s.List(ctx, query, options...)
	})
}

// Create creates a site.
func (s *Sites) Create(ctx context.Context, body SiteCreate, options ...RequestOption) (Site, error) {
	return post[Site](ctx, s.c, "/v2/sites", body, options)
}

// Get returns a site.
func (s *Sites) Get(ctx context.Context, id string, options ...RequestOption) (Site, error) {
	return get[Site](ctx, s.c, path("v2", "sites", id), nil, options)
}

// Update changes a site.
func (s *Sites) Update(ctx context.Context, id string, body SitePatch, options ...RequestOption) (Site, error) {
	return send[Site](ctx, s.c, http.MethodPatch, path("v2", "sites", id), nil, body, options)
}

// Delete deletes a site, with everything in it.
func (s *Sites) Delete(ctx context.Context, id string, options ...RequestOption) error {
	return s.c.remove(ctx, path("v2", "sites", id), nil, options)
}

// Restore brings a deleted site back.
func (s *Sites) Restore(ctx context.Context, id string, options ...RequestOption) (Site, error) {
	return post[Site](ctx, s.c, path("v2", "sites", id, "restore"), nil, options)
}

// Duplicate copies a site.
func (s *Sites) Duplicate(ctx context.Context, id string, body SiteDuplicate, options ...RequestOption) (Site, error) {
	return post[Site](ctx, s.c, path("v2", "sites", id, "duplicate"), body, options)
}

// RotateKey replaces the Site key.
func (s *Sites) RotateKey(ctx context.Context, id string, body KeyRotate, options ...RequestOption) (Site, error) {
	return post[Site](ctx, s.c, path("v2", "sites", id, "rotate-key"), body, options)
}

// Pages returns one page of the pages of a site.
func (s *Sites) Pages(ctx context.Context, id string, query PageQuery, options ...RequestOption) (List[Page], error) {
	query.SiteID = ""
	return get[List[Page]](ctx, s.c, path("v2", "sites", id, "pages"), query, options)
}

// Summary counts what the draft of a site has.
func (s *Sites) Summary(ctx context.Context, id string, options ...RequestOption) (SiteSummary, error) {
	return get[SiteSummary](ctx, s.c, path("v2", "sites", id, "summary"), nil, options)
}

// Changes returns one page of what a publish would change.
func (s *Sites) Changes(ctx context.Context, id string, query ChangeQuery, options ...RequestOption) (Review, error) {
	return get[Review](ctx, s.c, path("v2", "sites", id, "changes"), query, options)
}

// AllChanges walks through everything that a publish would change.
func (s *Sites) AllChanges(ctx context.Context, id string, query ChangeQuery, options ...RequestOption) iter.Seq2[Change, error] {
	return walk(query.ListOptions, func(c Change) string { return c.ID }, func(page ListOptions) (List[Change], error) {
		query.ListOptions = page
		review, err := s.Changes(ctx, id, query, options...)
		return review.List, err
	})
}

// Publish publishes the draft of a site, or a selection of it.
func (s *Sites) Publish(ctx context.Context, id string, body PublishCreate, options ...RequestOption) (Publish, error) {
	return post[Publish](ctx, s.c, path("v2", "sites", id, "publish"), body, options)
}

// DryRun tells what Publish would do, and changes nothing.
func (s *Sites) DryRun(ctx context.Context, id string, body PublishCreate, options ...RequestOption) (PublishDryRun, error) {
	dry := struct {
		PublishCreate
		DryRun bool `json:"dryRun"`
	}{body, true}
	return post[PublishDryRun](ctx, s.c, path("v2", "sites", id, "publish"), dry, options)
}

// Discard returns the draft of a site, or a selection of it, to what is live.
func (s *Sites) Discard(ctx context.Context, id string, body Discard, options ...RequestOption) (Discarded, error) {
	return post[Discarded](ctx, s.c, path("v2", "sites", id, "discard"), body, options)
}

// Publishes returns one page of the publishes of a site, newest first.
func (s *Sites) Publishes(ctx context.Context, id string, page ListOptions, options ...RequestOption) (List[Publish], error) {
	return get[List[Publish]](ctx, s.c, path("v2", "sites", id, "publishes"), page, options)
}

// Sitemap returns the sitemap of an origin, or one of its parts, as XML.
func (s *Sites) Sitemap(ctx context.Context, id string, query SitemapQuery, options ...RequestOption) ([]byte, error) {
	return get[[]byte](ctx, s.c, path("v2", "sites", id, "sitemap.xml"), query, options)
}

// Robots returns the robots.txt of an origin.
func (s *Sites) Robots(ctx context.Context, id string, query RobotsQuery, options ...RequestOption) ([]byte, error) {
	return get[[]byte](ctx, s.c, path("v2", "sites", id, "robots.txt"), query, options)
}
