package galley

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Credential is the key that a client uses.
type Credential struct {
	Kind        string     `json:"kind"` // app, site or preview
	AppID       *string    `json:"appId"`
	SiteID      *string    `json:"siteId"`
	Name        *string    `json:"name"`
	Scopes      []string   `json:"scopes"`
	SiteIDs     []string   `json:"siteIds"`
	WorkspaceID string     `json:"workspaceId"`
	ExpiresAt   *time.Time `json:"expiresAt"`
}

// Workspace is what sites and apps belong to.
type Workspace struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Me returns the credential of the client.
func (c *Client) Me(ctx context.Context, options ...RequestOption) (Credential, error) {
	return get[Credential](ctx, c, "/v2/me", nil, options)
}

// Workspace returns the workspace of the client.
func (c *Client) Workspace(ctx context.Context, options ...RequestOption) (Workspace, error) {
	return get[Workspace](ctx, c, "/v2/workspace", nil, options)
}

// remove is do for DELETE.
func (c *Client) remove(ctx context.Context, path string, query any, options []RequestOption) error {
	_, err := c.do(ctx, http.MethodDelete, path, values(query), nil, options)
	return err
}

// Operations are for those who run a server.
type Operations struct{ c *Client }

// Health checks that the server runs.
func (s *Operations) Health(ctx context.Context) error { return s.check(ctx, "/healthz") }

// Ready checks that the server can take requests.
func (s *Operations) Ready(ctx context.Context) error { return s.check(ctx, "/readyz") }

func (s *Operations) check(ctx context.Context, path string) error {
	_, err := s.c.do(ctx, http.MethodGet, path, nil, nil, nil)
	return err
}

// Document returns the interface document, OpenAPI 3.1.
func (s *Operations) Document(ctx context.Context) ([]byte, error) {
	return get[[]byte](ctx, s.c, "/openapi.json", nil, nil)
}

// Reference returns the page that shows the document.
func (s *Operations) Reference(ctx context.Context) ([]byte, error) {
	return get[[]byte](ctx, s.c, "/docs", nil, nil)
}

// Metrics returns metrics for Prometheus.
func (s *Operations) Metrics(ctx context.Context) ([]byte, error) {
	return get[[]byte](ctx, s.c, "/metrics", nil, nil)
}

// Profile returns a profile of the server, such as heap, for go tool pprof.
func (s *Operations) Profile(ctx context.Context, name string) ([]byte, error) {
	return send[[]byte](ctx, s.c, http.MethodGet, path("debug", "pprof", name), url.Values{}, nil, nil)
}
