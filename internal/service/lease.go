package service

import (
	"context"
	"time"

	"galley/internal/cms"
)

// AcquireLease reports whether this node is to run a periodic job that one node
// runs for all: no other has had the lease since a time ago. A lease is stored
// like the answer to a keyed request; one that a dead node holds expires.
func (s *Service) AcquireLease(ctx context.Context, job string, since time.Duration) (mine bool, err error) {
	err = s.write(ctx, func(tx cms.Tx) error {
		mine = false
		free, err := tx.LockRequest(ctx, cms.NoID, job)
		if err != nil || !free {
			return err
		}
		now := s.now()
		last, err := tx.KeptAnswer(ctx, cms.NoID, job, now.Add(-since))
		switch {
		case err != nil && cms.CodeOf(err) != cms.CodeNotFound:
			return err
		case err == nil && !last.At.After(now.Add(since)): // later than that, a clock was wrong
			return nil
		}
		mine = true
		return tx.KeepAnswer(ctx, cms.KeptAnswer{Credential: cms.NoID, Key: job, Body: []byte{}, At: now})
	})
	return mine && err == nil, err
}
