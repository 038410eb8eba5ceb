package galley

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// App is a program with a key.
type App struct {
	ID          string     `json:"id"`
	WorkspaceID string     `json:"workspaceId"`
	Name        string     `json:"name"`
	Description *string    `json:"description"`
	Scopes      []string   `json:"scopes"`
	SiteIDs     []string   `json:"siteIds"` // nil: all sites
	KeyHint     string     `json:"keyHint"`
	CreatedAt   time.Time  `json:"createdAt"`
	ExpiresAt   *time.Time `json:"expiresAt"`
	LastUsedAt  *time.Time `json:"lastUsedAt"`
}

// AppWithKey is an app with its new key, which is shown only once.
type AppWithKey struct {
	App
	Key string `json:"key"`
}

// AppCreate describes a new app.
type AppCreate struct {
	Name        string         `json:"name"`
	Description Opt[string]    `json:"description,omitzero"`
	Scopes      []string       `json:"scopes,omitempty"`
	SiteIDs     Opt[[]string]  `json:"siteIds,omitzero"`
	ExpiresAt   Opt[time.Time] `json:"expiresAt,omitzero"`
}

// AppPatch changes an app.
type AppPatch struct {
	Name        Opt[string]    `json:"name,omitzero"`
	Description Opt[string]    `json:"description,omitzero"`
	Scopes      Opt[[]string]  `json:"scopes,omitzero"`
	SiteIDs     Opt[[]string]  `json:"siteIds,omitzero"`
	ExpiresAt   Opt[time.Time] `json:"expiresAt,omitzero"`
}

// AppQuery selects apps.
type AppQuery struct{ ListOptions }

// KeyRotate says how long the old key goes on working.
type KeyRotate struct {
	GraceSeconds int `json:"graceSeconds,omitempty"`
}

// Apps are the apps of the workspace.
type Apps struct{ c *Client }

// List returns one page of apps.
func (s *Apps) List(ctx context.Context, query AppQuery, options ...RequestOption) (List[App], error) {
	return get[List[App]](ctx, s.c, "/v2/apps", query, options)
}

// All walks through the whole list.
func (s *Apps) All(ctx context.Context, query AppQuery, options ...RequestOption) iter.Seq2[App, error] {
	return walk(query.ListOptions, func(x App) string { return x.ID }, func(page ListOptions) (List[App], error) {
		query.ListOptions = page
		return s.List(ctx, query, options...)
	})
}

// Create creates an app.
func (s *Apps) Create(ctx context.Context, body AppCreate, options ...RequestOption) (AppWithKey, error) {
	return post[AppWithKey](ctx, s.c, "/v2/apps", body, options)
}

// Get returns an app.
func (s *Apps) Get(ctx context.Context, id string, options ...RequestOption) (App, error) {
	return get[App](ctx, s.c, path("v2", "apps", id), nil, options)
}

// Update changes an app.
func (s *Apps) Update(ctx context.Context, id string, body AppPatch, options ...RequestOption) (App, error) {
	return send[App](ctx, s.c, http.MethodPatch, path("v2", "apps", id), nil, body, options)
}

// Delete deletes an app. Its keys stop working.
func (s *Apps) Delete(ctx context.Context, id string, options ...RequestOption) error {
	return s.c.remove(ctx, path("v2", "apps", id), nil, options)
}

// Rotate replaces the key of an app.
func (s *Apps) Rotate(ctx context.Context, id string, body KeyRotate, options ...RequestOption) (AppWithKey, error) {
	return post[AppWithKey](ctx, s.c, path("v2", "apps", id, "rotate"), body, options)
}
