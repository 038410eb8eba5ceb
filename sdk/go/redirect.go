package galley

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// Redirect leads visitors of a pathname to another URL.
type Redirect struct {
	ID          string     `json:"id"`
	SiteID      string     `json:"siteId"`
	Locale      *string    `json:"locale"` // nil: every locale
	Source      string     `json:"source"`
	Target      string     `json:"target"`
	Status      int        `json:"status"`
	IsAutomatic bool       `json:"isAutomatic"`
	CreatedAt   time.Time  `json:"createdAt"`
	UpdatedAt   time.Time  `json:"updatedAt"`
	PublishedAt *time.Time `json:"publishedAt"`
}

// RedirectCreate describes a new redirect.
type RedirectCreate struct {
	SiteID string      `json:"siteId"`
	Source string      `json:"source"`
	Target string      `json:"target"`
	Status int         `json:"status,omitempty"` // 0: 308
	Locale Opt[string] `json:"locale,omitzero"`
}

// RedirectPatch changes a redirect.
type RedirectPatch struct {
	Source Opt[string] `json:"source,omitzero"`
	Target Opt[string] `json:"target,omitzero"`
	Status Opt[int]    `json:"status,omitzero"`
	Locale Opt[string] `json:"locale,omitzero"`
}

// RedirectOperation is one change of a batch. Without an id, source and locale name the
// redirect.
type RedirectOperation struct {
	Op         string `json:"op"` // create, update or delete
	RedirectID string `json:"redirectId,omitempty"`
	RedirectPatch
}

// RedirectBatch changes many redirects of a site, all or none of them.
type RedirectBatch struct {
	SiteID     string              `json:"siteId"`
	Operations []RedirectOperation `json:"operations"`
}

// RedirectResult is a redirect as an operation of a batch left it.
type RedirectResult struct {
	Redirect
	Deleted bool `json:"deleted"`
}

// RedirectBatchResult has a result for each operation.
type RedirectBatchResult struct {
	Results []RedirectResult `json:"results"`
}

// RedirectQuery selects redirects of a site.
type RedirectQuery struct {
	ListOptions
	SiteID       string `query:"siteId"`
	Locale       string `query:"locale"`
	SourcePrefix string `query:"sourcePrefix"`
	VersionRef   string `query:"versionRef"`
	Deleted      bool   `query:"deleted"`
}

// VersionQuery selects a version.
type VersionQuery struct {
	VersionRef string `query:"versionRef"`
}

// Redirects are the redirects of sites.
type Redirects struct{ c *Client }

// List returns one page of redirects.
func (s *Redirects) List(ctx context.Context, query RedirectQuery, options ...RequestOption) (List[Redirect], error) {
	return get[List[Redirect]](ctx, s.c, "/v2/redirects", query, options)
}

// All walks through the whole list.
func (s *Redirects) All(ctx context.Context, query RedirectQuery, options ...RequestOption) iter.Seq2[Redirect, error] {
	return walk(query.ListOptions, func(x Redirect) string { return x.ID }, func(page ListOptions) (List[Redirect], error) {
		query.ListOptions = page
		return s.List(ctx, query, options...)
	})
}

// Create creates a redirect in the draft.
func (s *Redirects) Create(ctx context.Context, body RedirectCreate, options ...RequestOption) (Redirect, error) {
	return post[Redirect](ctx, s.c, "/v2/redirects", body, options)
}

// Get returns a redirect.
func (s *Redirects) Get(ctx context.Context, id string, query VersionQuery, options ...RequestOption) (Redirect, error) {
	return get[Redirect](ctx, s.c, path("v2", "redirects", id), query, options)
}

// Update changes a redirect in the draft.
func (s *Redirects) Update(ctx context.Context, id string, body RedirectPatch, options ...RequestOption) (Redirect, error) {
	return send[Redirect](ctx, s.c, http.MethodPatch, path("v2", "redirects", id), nil, body, options)
}

// Delete deletes a redirect from the draft.
func (s *Redirects) Delete(ctx context.Context, id string, options ...RequestOption) error {
	return s.c.remove(ctx, path("v2", "redirects", id), nil, options)
}

// Restore brings a deleted redirect back.
func (s *Redirects) Restore(ctx context.Context, id string, options ...RequestOption) (Redirect, error) {
	return post[Redirect](ctx, s.c, path("v2", "redirects", id, "restore"), nil, options)
}

// Discard returns the draft of a redirect to what is live. One that was never live is
// deleted, and nil is returned.
func (s *Redirects) Discard(ctx context.Context, id string, options ...RequestOption) (*Redirect, error) {
	return post[*Redirect](ctx, s.c, path("v2", "redirects", id, "discard"), nil, options)
}

// Batch does up to 1,000 operations, all or none of them.
func (s *Redirects) Batch(ctx context.Context, body RedirectBatch, options ...RequestOption) (RedirectBatchResult, error) {
	return post[RedirectBatchResult](ctx, s.c, "/v2/redirects/batch", body, options)
}
