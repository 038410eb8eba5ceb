package galley

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Publish is a change of a site's live version, or a scheduled one.
type Publish struct {
	ID            *string    `json:"id"` // nil: there was nothing to publish
	SiteID        string     `json:"siteId"`
	Name          *string    `json:"name"`
	Status        string     `json:"status"` // scheduled, published, canceled or failed
	PublishAt     *time.Time `json:"publishAt"`
	PublishedAt   *time.Time `json:"publishedAt"`
	ChangeCount   int        `json:"changeCount"`
	PreviousID    *string    `json:"previousId"`
	RestoredFrom  *string    `json:"restoredFrom"`
	Reason        *string    `json:"reason"`
	CreatedAt     time.Time  `json:"createdAt"`
	CreatedBy     string     `json:"createdBy"`
	CreatedByName *string    `json:"createdByName"`
	Actor         *string    `json:"actor"`
}

// Selection is a part of a draft. Empty fields select everything.
type Selection struct {
	PageIDs     Opt[[]string] `json:"pageIds,omitzero"`
	RedirectIDs Opt[[]string] `json:"redirectIds,omitzero"`
	Locales     []string      `json:"locales,omitempty"`
}

// PublishCreate says what to publish, and when.
type PublishCreate struct {
	Selection
	Plan      string         `json:"plan,omitempty"`
	Name      Opt[string]    `json:"name,omitzero"`
	PublishAt Opt[time.Time] `json:"publishAt,omitzero"`
	Confirm   bool           `json:"confirm,omitempty"`
}

// PublishDryRun is what a publish would do.
type PublishDryRun struct {
	ChangeCount      int            `json:"changeCount"`
	Plan             string         `json:"plan"`
	Summary          Summary        `json:"summary"`
	Clashes          []PublishClash `json:"clashes"`
	Guard            PublishGuard   `json:"guard"`
	RedirectsCreated int            `json:"redirectsCreated"`
}

// PublishClash is a pathname that would belong to several pages or routes.
type PublishClash struct {
	Pathname string   `json:"pathname"`
	Locale   string   `json:"locale"`
	PageIDs  []string `json:"pageIds"`
}

// PublishGuard is what a publish would take away from readers.
type PublishGuard struct {
	Share         float64 `json:"share"`
	Pages         int     `json:"pages"`
	ConfirmNeeded bool    `json:"confirmNeeded"`
}

// Summary counts changes.
type Summary struct {
	Total    int            `json:"total"`
	ByKind   map[string]int `json:"byKind"`
	ByLocale map[string]int `json:"byLocale"`
}

// Change is what a publish does to a page in one locale, or to a redirect.
type Change struct {
	ID               string        `json:"id"`
	Kind             string        `json:"kind"`
	PageID           *string       `json:"pageId"`
	RedirectID       *string       `json:"redirectId"`
	Locale           *string       `json:"locale"`
	Pathname         string        `json:"pathname"`
	PreviousPathname *string       `json:"previousPathname"`
	Fields           []FieldChange `json:"fields"`
}

// FieldChange is a value that differs.
type FieldChange struct {
	Field string          `json:"field"`
	From  json.RawMessage `json:"from"`
	To    json.RawMessage `json:"to"`
}

// Review is one page of the changes of a draft, with a plan of all of them.
type Review struct {
	List[Change]
	Plan    string  `json:"plan"`
	Summary Summary `json:"summary"`
}

// PublishURL is a URL at which a publish changed what visitors get.
type PublishURL struct {
	ID     string `json:"id"`
	URL    string `json:"url"`
	Change string `json:"change"` // changed or removed
}

// Publishes are the publishes of sites.
type Publishes struct{ c *Client }

// scheduledQuery is the only status by which publishes of all sites are listed.
type scheduledQuery struct {
	ListOptions
	Status string `query:"status"`
}

// Scheduled returns one page of the scheduled publishes of all sites.
func (s *Publishes) Scheduled(ctx context.Context, page ListOptions, options ...RequestOption) (List[Publish], error) {
	return get[List[Publish]](ctx, s.c, "/v2/publishes", scheduledQuery{page, "scheduled"}, options)
}

// Get returns a publish.
func (s *Publishes) Get(ctx context.Context, id string, options ...RequestOption) (Publish, error) {
	return get[Publish](ctx, s.c, path("v2", "publishes", id), nil, options)
}

// Cancel cancels a scheduled publish.
func (s *Publishes) Cancel(ctx context.Context, id string, options ...RequestOption) error {
	return s.c.remove(ctx, path("v2", "publishes", id), nil, options)
}

// Changes returns one page of what a publish changed.
func (s *Publishes) Changes(ctx context.Context, id string, page ListOptions, options ...RequestOption) (List[Change], error) {
	return get[List[Change]](ctx, s.c, path("v2", "publishes", id, "changes"), page, options)
}

// AllChanges walks through everything that a publish changed.
func (s *Publishes) AllChanges(ctx context.Context, id string, options ...RequestOption) iter.Seq2[Change, error] {
	return walk(ListOptions{}, func(c Change) string { return c.ID }, func(page ListOptions) (List[Change], error) {
		return s.Changes(ctx, id, page, options...)
	})
}

// URLs returns one page of the URLs at which a publish changed what visitors get.
func (s *Publishes) URLs(ctx context.Context, id string, page ListOptions, options ...RequestOption) (List[PublishURL], error) {
	return get[List[PublishURL]](ctx, s.c, path("v2", "publishes", id, "urls"), page, options)
}

// AllURLs walks through all of them.
func (s *Publishes) AllURLs(ctx context.Context, id string, options ...RequestOption) iter.Seq2[PublishURL, error] {
	return walk(ListOptions{}, func(u PublishURL) string { return u.ID }, func(page ListOptions) (List[PublishURL], error) {
		return s.URLs(ctx, id, page, options...)
	})
}

// Restore publishes what was live after a publish.
func (s *Publishes) Restore(ctx context.Context, id string, options ...RequestOption) (Publish, error) {
	return post[Publish](ctx, s.c, path("v2", "publishes", id, "restore"), nil, options)
}
