package galley

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// PageContent is the content of a page in a locale.
type PageContent struct {
	PageID      string          `json:"pageId"`
	SiteID      string          `json:"siteId"`
	Locale      string          `json:"locale"`
	IsInherited bool            `json:"isInherited"`
	Digest      string          `json:"digest"`
	UpdatedAt   time.Time       `json:"updatedAt"`
	Value       json.RawMessage `json:"value"`
}

// ContentDiff is the JSON Patch between two versions of a content.
type ContentDiff struct {
	PageID string           `json:"pageId"`
	SiteID string           `json:"siteId"`
	Locale string           `json:"locale"`
	Patch  []PatchOperation `json:"patch"`
}

// PatchOperation is an operation of a JSON Patch.
type PatchOperation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	From  string          `json:"from,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// ContentQuery selects a content of a page.
type ContentQuery struct {
	Locale     string `query:"locale"`
	VersionRef string `query:"versionRef"` // only for Get
}

// ContentDiffQuery selects the versions to compare.
type ContentDiffQuery struct {
	From   string `query:"from"`
	To     string `query:"to"`
	Locale string `query:"locale"`
}

// Content is what pages show.
type Content struct{ c *Client }

// Get returns the content of a page.
func (s *Content) Get(ctx context.Context, pageID string, query ContentQuery, options ...RequestOption) (PageContent, error) {
	return get[PageContent](ctx, s.c, path("v6", "pages", pageID, "content"), query, options)
}

// Put replaces the content of a page by a value that encodes as a JSON object or array.
func (s *Content) Put(ctx context.Context, pageID string, query ContentQuery, value any, options ...RequestOption) (PageContent, error) {
	return send[PageContent](ctx, s.c, http.MethodPut, path("v6", "pages", pageID, "content"), values(query), value, options)
}

// Delete clears the content of a page or, in a locale, returns it to inheritance.
func (s *Content) Delete(ctx context.Context, pageID string, query ContentQuery, options ...RequestOption) error {
	return s.c.remove(ctx, path("v6", "pages", pageID, "content"), query, options)
}

// Diff compares the content of two versions.
func (s *Content) Diff(ctx context.Context, pageID string, query ContentDiffQuery, options ...RequestOption) (ContentDiff, error) {
	return get[ContentDiff](ctx, s.c, path("v6", "pages", pageID, "content", "diff"), query, options)
}
