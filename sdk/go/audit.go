package galley

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// AuditEntry is the record of one write.
type AuditEntry struct {
	ID        string          `json:"id"`
	At        time.Time       `json:"at"`
	AppID     *string         `json:"appId"`
	AppName   *string         `json:"appName"`
	Actor     *string         `json:"actor"`
	RequestID *string         `json:"requestId"`
	Operation string          `json:"operation"`
	Resource  AuditedResource `json:"resource"`
	SiteID    *string         `json:"siteId"`
	Before    json.RawMessage `json:"before"`
	After     json.RawMessage `json:"after"`
}

// AuditedResource names what was written.
type AuditedResource struct {
	Object string `json:"object"`
	ID     string `json:"id"`
}

// AuditQuery selects entries of the audit trail.
type AuditQuery struct {
	ListOptions
	SiteID     string    `query:"siteId"`
	ResourceID string    `query:"resourceId"`
	AppID      string    `query:"appId"`
	Operation  string    `query:"operation"`
	Since      time.Time `query:"since"`
	Until      time.Time `query:"until"`
}

// Audit is the audit trail of the workspace.
type Audit struct{ c *Client }

// List returns one page of entries, newest first.
func (s *Audit) List(ctx context.Context, query AuditQuery, options ...RequestOption) (List[AuditEntry], error) {
	return get[List[AuditEntry]](ctx, s.c, "/v2/audit", query, options)
}

// All walks through the whole list.
func (s *Audit) All(ctx context.Context, query AuditQuery, options ...RequestOption) iter.Seq2[AuditEntry, error] {
	return walk(query.ListOptions, func(x AuditEntry) string { return x.ID }, func(page ListOptions) (List[AuditEntry], error) {
		query.ListOptions = page
		return s.List(ctx, query, options...)
	})
}
