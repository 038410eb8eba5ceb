package galley

import (
	"context"
	"encoding/json"
)

// Resolution is what a visitor of a URL gets, and why.
type Resolution struct {
	Kind       string           `json:"kind"` // page, redirect, route or none
	SiteID     string           `json:"siteId"`
	Locale     *string          `json:"locale"`
	Pathname   *string          `json:"pathname"`
	URL        *string          `json:"url"`
	Page       *Page            `json:"page"`
	Redirect   *RedirectTarget  `json:"redirect"`
	Route      *Route           `json:"route"`
	Content    json.RawMessage  `json:"content"` // with Include "content"
	Alternates []Alternate      `json:"alternates"`
	Steps      []ResolutionStep `json:"steps"`
}

// RedirectTarget is where a redirect leads.
type RedirectTarget struct {
	ID     string  `json:"id"`
	Status int     `json:"status"`
	Target string  `json:"target"`
	URL    *string `json:"url"`
}

// Alternate is the URL of the same page in another locale.
type Alternate struct {
	Locale string `json:"locale"`
	URL    string `json:"url"`
}

// ResolutionStep is a rule that was applied.
type ResolutionStep struct {
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
}

// ResolveQuery is a URL to resolve.
type ResolveQuery struct {
	URL        string `query:"url"`
	SiteID     string `query:"siteId"`
	VersionRef string `query:"versionRef"`
	Include    string `query:"include"` // content
}

// Resolve returns what a visitor of a URL gets.
func (c *Client) Resolve(ctx context.Context, query ResolveQuery, options ...RequestOption) (Resolution, error) {
	return get[Resolution](ctx, c, "/v2/resolve", query, options)
}
