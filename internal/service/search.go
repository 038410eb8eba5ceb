package service

import (
	"context"

	"galley/internal/cms"
)

// IndexPages adds the pages that were written to the index of searches. Until then, a
// search reads them besides.
func (s *Service) IndexPages(ctx context.Context) error {
	for siteID := cms.NoID; ; {
		var err error
		if siteID, err = s.store.UnindexedSite(ctx, siteID); cms.CodeOf(err) == cms.CodeNotFound {
			return nil
		}
		for more := err == nil; more && err == nil; {
			err = s.write(ctx, func(tx cms.Tx) error {
				more, err = tx.IndexPages(ctx, siteID)
				return err
			})
		}
		if err != nil {
			return err
		}
	}
}
