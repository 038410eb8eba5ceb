package service

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"galley/internal/cms"
)

// usage remembers when apps were last used, so that noting it costs a request
// no write.
type usage struct {
	mu   sync.Mutex
	apps map[cms.ID]appUse
}

type appUse struct {
	workspaceID cms.ID
	at          time.Time
}

// note notes the use of an app; a Site key's is not noted.
func (u *usage) note(app *cms.App, at time.Time) {
	if app == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.apps == nil {
		u.apps = map[cms.ID]appUse{}
	}
	u.apps[app.ID] = appUse{app.WorkspaceID, at}
}

func (u *usage) take() map[cms.ID]appUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.apps
	u.apps = nil
	return taken
}

// SaveUsage stores when apps were last used.
func (s *Service) SaveUsage(ctx context.Context) error {
	used := s.usage.take()
	if len(used) == 0 {
		return nil
	}
	return s.write(ctx, func(tx cms.Tx) error {
		// In one order on every node, or two would wait for each other.
		for _, id := range cms.SortIDs(slices.Collect(maps.Keys(used))) {
			if err := tx.TouchApp(ctx, used[id].workspaceID, id, used[id].at); err != nil {
				return err
			}
		}
		return nil
	})
}
