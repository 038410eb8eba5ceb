package bundle

import (
	"context"
	"errors"
	"fmt"

	galley "galley/sdk/go"
)

// Publish publishes the site after Apply, if its draft is still what the bundle has: the plan
// of the changes is read first and the draft is checked after it, so that nothing can come in
// between. Anything else is ErrMovedOn. Routes at pathnames that were live until now follow. confirm admits a publish that takes away much of what
// is live; options are those of the request.
func (p *Plan) Publish(ctx context.Context, confirm bool, options ...galley.RequestOption) (galley.Publish, error) {
	var none galley.Publish
	dry, err := p.client.Sites.DryRun(ctx, p.SiteID, galley.PublishCreate{})
	if err != nil {
		return none, err
	}
	if err := p.verify(ctx); err != nil {
		return none, err
	}
	if dry.Guard.ConfirmNeeded && !confirm {
		return none, fmt.Errorf("%w: %d pages, %.0f %% of what is live, would be deleted or go offline", ErrConfirm, dry.Guard.Pages, 100*dry.Guard.Share)
	}
	publish, err := p.client.Sites.Publish(ctx, p.SiteID, galley.PublishCreate{Plan: dry.Plan, Confirm: confirm}, options...)
	if errors.Is(err, galley.ErrConflict) {
		if now, dryErr := p.client.Sites.DryRun(ctx, p.SiteID, galley.PublishCreate{}); dryErr == nil && now.Plan != dry.Plan {
			return none, ErrMovedOn
		}
	}
	if err == nil {
		_, err = newRun(p).applyRoutes(ctx, p.waiting)
	}
	return publish, err
}

// ErrConfirm means that a publish needs a confirmation.
var ErrConfirm = errors.New("the publish has to be confirmed")

// verify checks that no other writer has changed the draft since it was read or written.
func (p *Plan) verify(ctx context.Context) error {
	known := 0
	f := fetcher{client: p.client, siteID: p.SiteID}
	for page, err := range p.client.Pages.All(ctx, f.pageQuery("")) {
		if err != nil {
			return err
		}
		if at, ok := p.updated[page.ID]; !ok || !at.Equal(page.UpdatedAt) {
			return ErrMovedOn
		}
		known++
	}
	if known != len(p.updated) {
		return ErrMovedOn
	}
	redirects, err := collect(p.client.Redirects.All(ctx, galley.RedirectQuery{SiteID: p.SiteID, VersionRef: draft}), newRedirect)
	if err != nil {
		return err
	}
	now := &Plan{}
	now.compareList(redirectKind, redirectFields, redirects, p.bundle.redirects, sourceField)
	if len(now.Changes) > 0 {
		return ErrMovedOn
	}
	return nil
}
