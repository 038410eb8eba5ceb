package service

import (
	"context"
	"reflect"

	"galley/internal/cms"
)

// limited reports whether the caller's workspace has a quota. It is known from the key,
// so that others need no statement.
func (c Caller) limited() bool { return c.App != nil && c.App.Quota != cms.Quota{} }

// checkQuota refuses what a transaction has added beyond a quota of the workspace. It
// comes after the writes, and locks the workspace, so that of those who add at the same
// time each sees what the others have added. How much was added matters only if it is
// more than nothing.
func checkQuota(ctx context.Context, tx cms.Tx, who Caller, added cms.Usage) error {
	if !who.limited() || max(added.Sites, added.Pages, added.ContentBytes) <= 0 {
		return nil
	}
	w, err := tx.LockWorkspace(ctx, who.WorkspaceID())
	if err != nil {
		return err
	}
	used, err := tx.Usage(ctx, w.ID)
	if err != nil {
		return err
	}
	return w.Quota.Check(used, added)
}

// checkSiteQuota is checkQuota for a whole site that was added.
func checkSiteQuota(ctx context.Context, tx cms.Tx, who Caller, siteID cms.ID) error {
	if !who.limited() {
		return nil
	}
	added, err := siteUsage(ctx, tx, siteID)
	if err != nil {
		return err
	}
	return checkQuota(ctx, tx, who, added)
}

// checkCopyQuota refuses a copy of a site for which there is no room, before it is made.
// The bytes of the copy are not known yet.
func checkCopyQuota(ctx context.Context, tx cms.Tx, who Caller, siteID cms.ID) error {
	if !who.limited() {
		return nil
	}
	copied, err := siteUsage(ctx, tx, siteID)
	if err != nil {
		return err
	}
	copied.ContentBytes = 0
	used, err := tx.Usage(ctx, who.WorkspaceID())
	if err != nil {
		return err
	}
	return who.App.Quota.Check(used.Plus(copied), copied)
}

func siteUsage(ctx context.Context, tx cms.Tx, siteID cms.ID) (cms.Usage, error) {
	counts, err := tx.SiteCounts(ctx, siteID)
	of := counts[cms.NoID]
	return cms.Usage{Sites: 1, Pages: of.Online + of.Offline, ContentBytes: of.ContentBytes}, err
}

// addedPages is how many more pages the draft has after some changes.
func addedPages(changes []cms.PageChange) (n int) {
	for _, c := range changes {
		if c.Before == nil || c.Before.DeletedAt != nil {
			n++
		}
		if c.After.DeletedAt != nil {
			n--
		}
	}
	return n
}

// WorkspaceUsage is a workspace and, if it has a quota, how much of it is used.
type WorkspaceUsage struct {
	cms.Workspace
	Used cms.Usage
}

// OperatorWorkspaces lists every workspace.
func (s *Service) OperatorWorkspaces(ctx context.Context) (all []WorkspaceUsage, err error) {
	err = s.store.View(ctx, func(r cms.Reader) error {
		workspaces, err := r.Workspaces(ctx)
		for _, w := range workspaces {
			of := WorkspaceUsage{Workspace: w}
			if w.Quota != (cms.Quota{}) && err == nil {
				of.Used, err = r.Usage(ctx, w.ID)
			}
			all = append(all, of)
		}
		return err
	})
	return all, err
}

// SetQuota changes the quota of a workspace. Sites that are older than counting are
// counted first, one at a time.
func (s *Service) SetQuota(ctx context.Context, id cms.ID, change func(*cms.Quota)) (set WorkspaceUsage, err error) {
	sites, err := s.store.UncountedSites(ctx, id)
	for _, siteID := range sites {
		if err == nil {
			err = s.write(ctx, func(tx cms.Tx) error { return tx.CountSite(ctx, siteID) })
		}
	}
	if err != nil {
		return set, err
	}
	err = s.write(ctx, func(tx cms.Tx) error {
		if set.Workspace, err = tx.LockWorkspace(ctx, id); err != nil {
			return err
		}
		before := set.Workspace
		change(&set.Quota)
		if set.Used, err = tx.Usage(ctx, id); err != nil || reflect.DeepEqual(before, set.Workspace) {
			return err
		}
		if err := tx.SetQuota(ctx, set.Workspace); err != nil {
			return err
		}
		return s.record(ctx, tx, systemActor(id, "setWorkspaceQuota"), written{kind: cms.KindWorkspace, id: id, before: before, after: set.Workspace})
	})
	return set, err
}
