package service

import (
	"context"

	"galley/internal/cms"
)

// DryRun is what a publish would do.
type DryRun struct {
	Plan    string
	Summary Summary
	Clashes []Clash
	// TakenAway counts the live pages that readers would lose, and Share is their
	// share of all live pages.
	TakenAway     int
	Share         float64
	ConfirmNeeded bool
	// RedirectsCreated counts the automatic redirects.
	RedirectsCreated int
}

// Clash is a pathname that would belong to several pages, routes or redirects in a
// locale.
type Clash struct {
	Pathname string
	Locale   string // the code
	PageIDs  []cms.ID
}

// DryRunPublish tells what a publish would do, and changes nothing.
func (s *Service) DryRunPublish(ctx context.Context, who Caller, siteID cms.ID, in Input[cms.PublishRequest]) (DryRun, error) {
	release, err := s.acquireReview(ctx, who.WorkspaceID())
	if err != nil {
		return DryRun{}, err
	}
	defer release()
	return viewSite(ctx, s, who, ofSite(siteID), func(ctx context.Context, r cms.Reader, f siteSnapshot) (dry DryRun, err error) {
		ask, err := in()
		if err != nil {
			return dry, err
		}
		selected, err := f.selection(ctx, r, ask.SelectionRequest)
		if err != nil {
			return dry, err
		}
		var plan *string
		if ask.Plan.Set {
			plan = &ask.Plan.Value
		}
		rel, err := f.prepare(ctx, r, selected, plan)
		if err != nil {
			return dry, err
		}
		hash := newPlanHash()
		dry.Summary = newSummary()
		for _, c := range rel.changes {
			hash.add(c)
			dry.Summary.add(f.viewChange(c), f.site.DefaultLocale.Code)
		}
		dry.Plan = hash.plan()
		dry.Clashes, dry.RedirectsCreated = f.clashes(rel.redirects.clashes), len(rel.redirects.created)
		if circle := rel.redirects.circle; circle != nil {
			return dry, circle.Err()
		}
		if rel.takenAway == 0 {
			return dry, nil
		}
		pages, _, err := r.CountPages(ctx, siteID, cms.Live)
		dry.TakenAway, dry.Share = rel.takenAway, float64(rel.takenAway)/float64(max(pages, 1))
		dry.ConfirmNeeded = s.Guard.asks(rel.takenAway, pages)
		return dry, err
	})
}

// clashes are the pathnames that would belong to several resources, each once for a
// locale.
func (f siteSnapshot) clashes(found []clash) []Clash {
	clashes, at := []Clash{}, map[[2]string]int{}
	for _, c := range found {
		locale := f.site.DefaultLocale.Code
		for _, claim := range []cms.Claim{c.claim, c.other} { // one of them may be in the default locale
			if l, ok := f.locales.ByID(claim.LocaleID); ok {
				locale = l.Code
			}
		}
		key := [2]string{c.claim.Pathname, locale}
		i, ok := at[key]
		if !ok {
			i = len(clashes)
			at[key] = i
			clashes = append(clashes, Clash{Pathname: c.claim.Pathname, Locale: locale, PageIDs: []cms.ID{}})
		}
		for _, claim := range []cms.Claim{c.claim, c.other} {
			if claim.ByPage() {
				clashes[i].PageIDs = cms.SortIDs(append(clashes[i].PageIDs, claim.Owner))
			}
		}
	}
	return clashes
}
