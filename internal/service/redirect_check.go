package service

import (
	"context"
	"maps"
	"slices"

	"galley/internal/cms"
)

// redirectFinder finds redirects of a version as they are after some changes, which
// need not be stored yet.
type redirectFinder struct {
	ctx     context.Context //nolint:containedctx // of the check, whose callbacks have none
	r       cms.Reader
	siteID  cms.ID
	version cms.Version
	changes map[cms.ID]cms.RedirectChange
	after   map[string][]cms.Redirect // by source
}

func (f siteSnapshot) redirectsAfter(ctx context.Context, r cms.Reader, version cms.Version, changes []cms.RedirectChange) redirectFinder {
	find := redirectFinder{
		ctx: ctx, r: r, siteID: f.site.ID, version: version,
		changes: make(map[cms.ID]cms.RedirectChange, len(changes)), after: map[string][]cms.Redirect{},
	}
	for _, c := range changes {
		find.changes[c.ID()] = c
		if c.After != nil && c.After.DeletedAt == nil {
			find.after[c.After.Source] = append(find.after[c.After.Source], *c.After)
		}
	}
	return find
}

func (find redirectFinder) unchanged(stored []cms.Redirect) []cms.Redirect {
	return slices.DeleteFunc(stored, func(r cms.Redirect) bool {
		_, changed := find.changes[r.ID]
		return changed
	})
}

// From implements cms.RedirectFinder.
func (find redirectFinder) From(sources []string) ([]cms.Redirect, error) {
	stored, err := find.r.RedirectsFrom(find.ctx, find.siteID, find.version, sources)
	found := find.unchanged(stored)
	for _, source := range sources {
		found = append(found, find.after[source]...)
	}
	return found, err
}

// Below implements cms.RedirectFinder.
func (find redirectFinder) Below(pathname string) ([]cms.Redirect, error) {
	stored, err := find.r.RedirectsBelow(find.ctx, find.siteID, find.version, pathname)
	found := find.unchanged(stored)
	for _, after := range find.after {
		for _, r := range after {
			if r.IsBelow(pathname) {
				found = append(found, r)
			}
		}
	}
	return found, err
}

// findCircle returns a circle that changes of a version close, or nil.
func (f siteSnapshot) findCircle(ctx context.Context, r cms.Reader, version cms.Version, changes []cms.RedirectChange) (*cms.Circle, error) {
	if len(changes) == 0 {
		return nil, nil //nolint:nilnil // no circle
	}
	var states []cms.Redirect
	for _, c := range changes {
		for _, state := range []*cms.Redirect{c.Before, c.After} {
			if state != nil {
				states = append(states, *state)
			}
		}
	}
	return cms.FindCircle(f.site, f.locales, states, f.redirectsAfter(ctx, r, version, changes))
}

// refuseCircles returns an error if changes of a version close a circle.
func (f siteSnapshot) refuseCircles(ctx context.Context, r cms.Reader, version cms.Version, changes []cms.RedirectChange) error {
	circle, err := f.findCircle(ctx, r, version, changes)
	if err == nil && circle != nil {
		err = circle.Err()
	}
	return err
}

// refuseMovedCircles returns an error if redirects come round because locales of the
// site are served elsewhere now, or because a locale is new or shown again.
func (f siteSnapshot) refuseMovedCircles(ctx context.Context, r cms.Reader, shown cms.ID) error {
	for _, version := range []cms.Version{cms.Draft, cms.Live} {
		moved, err := r.RedirectsAway(ctx, f.site.ID, version)
		if err != nil {
			return err
		}
		if shown != cms.NoID {
			// Those of every locale act in this one, too; elsewhere others may come before.
			for _, localeID := range []cms.ID{shown, cms.NoID} {
				more, err := r.RedirectsIn(ctx, f.site.ID, version, localeID)
				if err != nil {
					return err
				}
				moved = append(moved, more...)
			}
		}
		circle, err := cms.FindCircle(f.site, f.locales, moved, f.redirectsAfter(ctx, r, version, nil))
		if err == nil && circle != nil {
			err = circle.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takenSources are the changes whose source with a star another redirect of the same
// locale has after all changes. Exact sources are claims.
func takenSources(ctx context.Context, r cms.Reader, f siteSnapshot, version cms.Version, changes []cms.RedirectChange) ([]cms.RedirectChange, error) {
	find := f.redirectsAfter(ctx, r, version, changes)
	var sources []string
	for source := range find.after {
		if (cms.Redirect{Source: source}).IsWild() {
			sources = append(sources, source)
		}
	}
	others, err := find.From(sources)
	var taken []cms.RedirectChange
	for _, c := range changes {
		if c.After != nil && c.After.DeletedAt == nil && slices.ContainsFunc(others, func(o cms.Redirect) bool {
			return o.ID != c.After.ID && o.Source == c.After.Source && o.LocaleID == c.After.LocaleID
		}) {
			taken = append(taken, c)
		}
	}
	return taken, err
}

// redirectMoves returns the moves of redirects whose exact sources change.
func redirectMoves(changes []cms.RedirectChange, locales cms.Locales) []claimMove {
	var moves []claimMove
	for _, c := range changes {
		var m claimMove
		if c.Before != nil {
			m.before = c.Before.Claims(locales)
		}
		if c.After != nil {
			m.after = c.After.Claims(locales)
		}
		if !slices.Equal(m.before, m.after) {
			moves = append(moves, m)
		}
	}
	return moves
}

// giveWay removes the automatic redirects that conflict with claims of pages and routes,
// and returns the other clashes: with any of those it removes nothing.
func (s *Service) giveWay(ctx context.Context, tx cms.Tx, by actor, f siteSnapshot, clashes []clash) ([]clash, error) {
	byVersion := map[cms.Version][]cms.ID{}
	for _, c := range clashes {
		if c.other.ByRedirect && !c.claim.ByRedirect {
			byVersion[c.other.Version] = append(byVersion[c.other.Version], c.other.Owner)
		}
	}
	if len(byVersion) == 0 {
		return clashes, nil
	}
	automatic := map[cms.Version]map[cms.ID]*cms.Redirect{}
	for version, ids := range byVersion {
		found, err := tx.RedirectsByID(ctx, f.site.ID, version, cms.SortIDs(ids))
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(found, func(_ cms.ID, r *cms.Redirect) bool { return !r.IsAutomatic })
		automatic[version] = found
	}
	clashes = slices.DeleteFunc(clashes, func(c clash) bool { return automatic[c.other.Version][c.other.Owner] != nil })
	if len(clashes) > 0 {
		return clashes, nil
	}
	// The live ones first: that a draft is gone, too, is noted after it.
	if err := s.dropLive(ctx, tx, by, f, automatic[cms.Live]); err != nil {
		return nil, err
	}
	return nil, s.dropDrafts(ctx, tx, by, f, automatic[cms.Draft])
}

// dropDrafts deletes redirects from the draft.
func (s *Service) dropDrafts(ctx context.Context, tx cms.Tx, by actor, f siteSnapshot, drafts map[cms.ID]*cms.Redirect) error {
	var changes []cms.RedirectChange
	var writes []written
	for _, id := range cms.SortIDs(slices.Collect(maps.Keys(drafts))) {
		after := *drafts[id]
		after.DeletedAt = new(s.now())
		s.stampRedirect(*drafts[id], &after)
		changes = append(changes, cms.RedirectChange{Before: drafts[id], After: &after})
		writes = append(writes, written{
			kind: cms.KindRedirect, id: id, siteID: f.site.ID, before: f.viewRedirect(*drafts[id]), after: f.viewRedirect(after), child: true,
		})
	}
	if len(changes) == 0 {
		return nil
	}
	if err := storeRedirects(ctx, tx, changes); err != nil {
		return err
	}
	if err := storeMoves(ctx, tx, f.site.ID, redirectMoves(changes, f.locales)...); err != nil {
		return err
	}
	if err := f.refuseCircles(ctx, tx, cms.Draft, changes); err != nil {
		return err
	}
	return s.record(ctx, tx, by, writes...)
}

// dropLive removes redirects from the live version outside of a publish: a route takes
// their source at once. Those who read the last publish still see them.
func (s *Service) dropLive(ctx context.Context, tx cms.Tx, by actor, f siteSnapshot, lives map[cms.ID]*cms.Redirect) error {
	ids := cms.SortIDs(slices.Collect(maps.Keys(lives)))
	if len(ids) == 0 {
		return nil
	}
	last, err := tx.LastPublish(ctx, f.site.ID)
	if err != nil {
		return err
	}
	drafts, err := tx.RedirectsByID(ctx, f.site.ID, cms.Draft, ids)
	if err != nil {
		return err
	}
	var changes []cms.RedirectChange
	var writes []written
	var dirty []cms.Redirect
	for _, id := range ids {
		changes = append(changes, cms.RedirectChange{Before: lives[id]})
		writes = append(writes, written{kind: cms.KindRedirect, id: id, siteID: f.site.ID, before: f.viewRedirect(*lives[id]), child: true})
		if draft := drafts[id]; draft != nil {
			draft.Dirty = true
			dirty = append(dirty, *draft)
		}
	}
	if err := tx.ReplaceLiveRedirects(ctx, f.site.ID, last.Seq+1, changes); err != nil {
		return err
	}
	if err := tx.SaveRedirects(ctx, dirty...); err != nil {
		return err
	}
	if err := storeMoves(ctx, tx, f.site.ID, redirectMoves(changes, f.locales)...); err != nil {
		return err
	}
	if err := f.refuseCircles(ctx, tx, cms.Live, changes); err != nil {
		return err
	}
	return s.record(ctx, tx, by, writes...)
}
