package service

import (
	"context"

	"galley/internal/cms"
)

// PublishPage publishes one page alone.
func (s *Service) PublishPage(ctx context.Context, who Caller, id cms.ID, body Empty) (cms.Publish, error) {
	var siteID cms.ID
	check := func(r cms.Reader) error {
		site, err := who.childSite(ctx, r, cms.KindPage, Ref{ID: id}, hasDraftOrLive)
		if err != nil {
			return err
		}
		siteID = site.ID
		if err := hasDraftOrLive(ctx, r, site.ID, id); err != nil {
			return err
		}
		return body.check()
	}
	if err := s.store.View(ctx, check); err != nil {
		return cms.Publish{}, err
	}
	return s.Publish(ctx, who, siteID, Given(cms.PublishRequest{SelectionRequest: cms.SelectionRequest{PageIDs: cms.Some([]cms.ID{id})}}))
}

// hasDraftOrLive answers NotFound for a page that neither version has.
func hasDraftOrLive(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
	_, err := existingPage(r.Page(ctx, siteID, cms.Draft, id))
	if cms.CodeOf(err) == cms.CodeNotFound {
		_, err = r.Page(ctx, siteID, cms.Live, id)
	}
	return err
}
