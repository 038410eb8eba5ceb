package service

import (
	"context"
	"time"

	"galley/internal/cms"
)

// PurgeHistory removes for good what is only seen by reading publishes older
// than the retention.
func (s *Service) PurgeHistory(ctx context.Context, retention time.Duration) error {
	old, err := s.store.OldHistory(ctx, s.now().Add(-retention))
	if err != nil {
		return err
	}
	for siteID, seq := range old {
		err := s.write(ctx, func(tx cms.Tx) error {
			// A restore of one of them takes the same lock, and finds all or nothing.
			if _, err := tx.LockSite(ctx, siteID, cms.LockExclusive); err != nil {
				return err
			}
			return tx.PurgeHistory(ctx, siteID, seq)
		})
		if err != nil && cms.CodeOf(err) != cms.CodeNotFound { // the site may be gone by now
			return err
		}
	}
	return nil
}
