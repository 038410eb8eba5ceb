package service

import (
	"context"
	"maps"
	"slices"

	"galley/internal/cms"
)

// redirectPlan is what a publish or restore does to the redirects of the live version,
// with the claims that it moves.
type redirectPlan struct {
	siteSnapshot
	changes    map[cms.ID]cms.RedirectChange
	clean      []cms.ID          // drafts that are then what is live
	created    map[cms.ID]bool   // automatic ones
	retargeted map[cms.ID]string // automatic ones that lead to another target, and the one before
	pages      []claimMove
	clashes    []clash
	circle     *cms.Circle
}

func (f siteSnapshot) newRedirectPlan() *redirectPlan {
	return &redirectPlan{siteSnapshot: f, changes: map[cms.ID]cms.RedirectChange{}, created: map[cms.ID]bool{}, retargeted: map[cms.ID]string{}}
}

// planRedirects computes what publishing a selection does to redirects: those that are
// selected, and the automatic ones that follow the pages.
func (f siteSnapshot) planRedirects(ctx context.Context, r cms.Reader, selected cms.Selection, pages []cms.PageChange) (*redirectPlan, error) {
	p := f.newRedirectPlan()
	if err := p.addSelected(ctx, r, selected); err != nil {
		return nil, err
	}
	if err := p.addAutomatic(ctx, r, pages); err != nil {
		return nil, err
	}
	if err := p.settleClaims(ctx, r, pages); err != nil {
		return nil, err
	}
	return p, p.settleCircles(ctx, r)
}

// addSelected adds the drafts that are selected.
func (p *redirectPlan) addSelected(ctx context.Context, r cms.Reader, selected cms.Selection) error {
	ids, err := selectedRedirects(ctx, r, p.site.ID, selected)
	if err != nil || len(ids) == 0 {
		return err
	}
	drafts, err := r.RedirectsByID(ctx, p.site.ID, cms.Draft, ids)
	if err != nil {
		return err
	}
	lives, err := r.RedirectsByID(ctx, p.site.ID, cms.Live, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		draft, live := drafts[id], lives[id]
		if draft == nil || !p.locales.Shows(draft.LocaleID) || !selected.HasRedirect(*draft, p.site.DefaultLocaleID) {
			continue
		}
		p.clean = append(p.clean, id)
		if next := cms.PublishRedirect(draft, live); next != live {
			p.changes[id] = cms.RedirectChange{Before: live, After: next}
		}
	}
	return nil
}

// selectedRedirects are the redirects that a publish or discard is about. Pages alone
// select none.
func selectedRedirects(ctx context.Context, r cms.Reader, siteID cms.ID, selected cms.Selection) ([]cms.ID, error) {
	if selected.RedirectIDs != nil || selected.PageIDs != nil {
		return selected.RedirectIDs, nil
	}
	return r.DirtyRedirects(ctx, siteID)
}

// addAutomatic adds a redirect from each pathname that a page leaves, and lets the
// automatic ones that led there lead on.
func (p *redirectPlan) addAutomatic(ctx context.Context, r cms.Reader, pages []cms.PageChange) error {
	moves := map[string][]cms.PathMove{}
	for _, page := range pages {
		for _, move := range page.Moves(p.locales, p.site.DefaultLocaleID) {
			moves[move.From] = append(moves[move.From], move)
			if p.site.AutoRedirects {
				automatic := page.AutomaticRedirect(move)
				p.changes[automatic.ID] = cms.RedirectChange{After: &automatic}
				p.created[automatic.ID] = true
			}
		}
	}
	if len(moves) == 0 {
		return nil
	}
	leading, err := r.RedirectsTo(ctx, p.site.ID, cms.Live, slices.Sorted(maps.Keys(moves)))
	if err != nil {
		return err
	}
	for _, live := range leading {
		if _, changes := p.changes[live.ID]; changes || !p.locales.Shows(live.LocaleID) {
			continue
		}
		i := slices.IndexFunc(moves[live.Target], func(m cms.PathMove) bool { return m.LocaleID == cms.NoID || m.LocaleID == live.LocaleID })
		if i >= 0 {
			after := live
			after.Target = moves[live.Target][i].To
			p.changes[live.ID], p.retargeted[live.ID] = cms.RedirectChange{Before: &live, After: &after}, live.Target
		}
	}
	return nil
}

// sorted are the changes by id.
func (p *redirectPlan) sorted() []cms.RedirectChange {
	changes := make([]cms.RedirectChange, 0, len(p.changes))
	for _, id := range slices.SortedFunc(maps.Keys(p.changes), cms.CompareIDs) {
		changes = append(changes, p.changes[id])
	}
	return changes
}

// moves are the claims that change.
func (p *redirectPlan) moves() []claimMove {
	return append(slices.Clone(p.pages), redirectMoves(p.sorted(), p.locales)...)
}

// settleClaims drops the new automatic redirects whose source is held, and lets the old
// ones give way to pages. What else shares a pathname clashes.
func (p *redirectPlan) settleClaims(ctx context.Context, r cms.Reader, pages []cms.PageChange) error {
	p.pages = pageMoves(pages, p.locales)
	clashes, err := clashesIn(ctx, r, p.site.ID, cms.Live, p.moves())
	if err != nil {
		return err
	}
	var held []cms.ID
	for _, c := range clashes {
		for _, claim := range []cms.Claim{c.claim, c.other} {
			if p.created[claim.Owner] {
				delete(p.changes, claim.Owner)
			} else if claim.ByRedirect {
				held = append(held, claim.Owner)
			}
		}
	}
	lives, err := r.RedirectsByID(ctx, p.site.ID, cms.Live, cms.SortIDs(held))
	if err != nil {
		return err
	}
	for _, c := range clashes {
		page, redirect := c.claim, c.other
		if page.ByRedirect {
			page, redirect = redirect, page
		}
		live, change := lives[redirect.Owner], p.changes[redirect.Owner]
		switch {
		case p.dropped(c.claim) || p.dropped(c.other):
		case page.ByPage() && live != nil && live.IsAutomatic && (change.After == nil || change.After.IsAutomatic):
			p.changes[live.ID] = cms.RedirectChange{Before: live}
			delete(p.retargeted, live.ID)
		default:
			p.clashes = append(p.clashes, c)
		}
	}
	taken, err := takenSources(ctx, r, p.siteSnapshot, cms.Live, p.sorted())
	for _, c := range taken {
		claim := cms.Claim{Version: cms.Live, LocaleID: c.After.LocaleID, Pathname: c.After.Source, Owner: c.After.ID, ByRedirect: true}
		p.clashes = append(p.clashes, clash{claim, claim})
	}
	return err
}

// dropped reports whether a claim is that of a redirect that was left out.
func (p *redirectPlan) dropped(c cms.Claim) bool {
	_, changes := p.changes[c.Owner]
	return p.created[c.Owner] && !changes
}

// settleCircles leaves out what automatic redirects would close a circle. One of others
// refuses the publish.
func (p *redirectPlan) settleCircles(ctx context.Context, r cms.Reader) error {
	if len(p.changes) == 0 {
		return nil
	}
	if p.onlyFollowsPages() {
		// Pages hold their targets, so only one with a star can lead away from there.
		wild, err := r.HasWildRedirects(ctx, p.site.ID, cms.Live)
		if err != nil || !wild {
			return err
		}
	}
	for {
		circle, err := p.findCircle(ctx, r, cms.Live, p.sorted())
		if err != nil || circle == nil {
			return err
		}
		automatic := func(id cms.ID) bool {
			_, changes := p.changes[id]
			_, retargeted := p.retargeted[id]
			return changes && (p.created[id] || retargeted)
		}
		i := slices.IndexFunc(circle.IDs, automatic)
		if i < 0 {
			p.circle = circle
			return nil
		}
		delete(p.changes, circle.IDs[i])
		delete(p.retargeted, circle.IDs[i])
	}
}

// onlyFollowsPages reports whether all changes are of automatic redirects to pages.
func (p *redirectPlan) onlyFollowsPages() bool {
	for id := range p.changes {
		if _, retargeted := p.retargeted[id]; !retargeted && !p.created[id] {
			return false
		}
	}
	return true
}

// refused returns why the plan can't be carried out, or nil.
func (p *redirectPlan) refused() error {
	if err := refuseClashes(p.clashes); err != nil {
		return err
	}
	if p.circle != nil {
		return p.circle.Err()
	}
	return nil
}

// rewindRedirects computes what restores the live redirects that a publish left.
func (f siteSnapshot) rewindRedirects(ctx context.Context, r cms.Reader, seq int64, pages []cms.PageChange) (*redirectPlan, error) {
	p := f.newRedirectPlan()
	ids, err := r.RedirectsSince(ctx, f.site.ID, seq)
	if err != nil {
		return nil, err
	}
	was, err := r.RedirectsByID(ctx, f.site.ID, cms.AfterPublish(seq), ids)
	if err != nil {
		return nil, err
	}
	lives, err := r.RedirectsByID(ctx, f.site.ID, cms.Live, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		before, after := lives[id], was[id]
		hidden := (before != nil && !f.locales.Shows(before.LocaleID)) || (after != nil && !f.locales.Shows(after.LocaleID))
		same := (before == nil && after == nil) || (before != nil && after != nil && before.SameContent(*after))
		if !hidden && !same {
			p.changes[id] = cms.RedirectChange{Before: before, After: after}
		}
	}
	p.pages = pageMoves(pages, f.locales)
	if p.clashes, err = clashesIn(ctx, r, f.site.ID, cms.Live, p.moves()); err != nil {
		return nil, err
	}
	p.circle, err = f.findCircle(ctx, r, cms.Live, p.sorted())
	return p, err
}

// store stores the live redirects and the claims, which may not clash, and what follows
// for the drafts.
func (p *redirectPlan) store(ctx context.Context, tx cms.Tx, publish cms.Publish) error {
	changes := p.sorted()
	for _, c := range changes {
		if c.After != nil {
			if p.created[c.ID()] {
				c.After.CreatedAt = *publish.PublishedAt
			}
			if _, retargeted := p.retargeted[c.ID()]; retargeted || p.created[c.ID()] {
				c.After.UpdatedAt = *publish.PublishedAt
			}
			c.After.Version, c.After.Since, c.After.PublishedAt = cms.Live, publish.Seq, publish.PublishedAt
		}
	}
	if err := tx.ReplaceLiveRedirects(ctx, p.site.ID, publish.Seq, changes); err != nil {
		return err
	}
	if err := storeMoves(ctx, tx, p.site.ID, p.moves()...); err != nil {
		return err
	}
	return p.storeDrafts(ctx, tx)
}

// storeDrafts notes in the drafts of redirects when they went live and whether they
// still differ from that. Automatic redirects are changed in the draft, too.
func (p *redirectPlan) storeDrafts(ctx context.Context, tx cms.Tx) error {
	ids := slices.Clone(p.clean)
	for id := range p.changes {
		if !p.created[id] {
			ids = append(ids, id)
		}
	}
	drafts, err := tx.RedirectsByID(ctx, p.site.ID, cms.Draft, cms.SortIDs(ids))
	if err != nil {
		return err
	}
	lives, err := tx.RedirectsByID(ctx, p.site.ID, cms.Live, cms.SortIDs(ids))
	if err != nil {
		return err
	}
	var marked []cms.Redirect
	var followed []cms.RedirectChange // by the drafts
	for _, draft := range drafts {
		next := *draft
		if live := p.changes[draft.ID].After; live != nil {
			next.PublishedAt = live.PublishedAt
			if from, ok := p.retargeted[draft.ID]; ok && draft.IsAutomatic && draft.DeletedAt == nil && draft.Target == from {
				next.Target, next.UpdatedAt = live.Target, live.UpdatedAt
				followed = append(followed, cms.RedirectChange{Before: draft, After: &next})
				continue
			}
		}
		next.Dirty = !cms.IsCleanRedirect(&next, lives[draft.ID])
		marked = append(marked, next)
	}
	for id, c := range p.changes {
		if p.created[id] {
			next := *c.After
			next.Version, next.Since = cms.Draft, 0
			followed = append(followed, cms.RedirectChange{After: &next})
		}
	}
	slices.SortFunc(followed, func(a, b cms.RedirectChange) int { return cms.CompareIDs(a.ID(), b.ID()) })
	if err := tx.SaveRedirects(ctx, marked...); err != nil {
		return err
	}
	return p.followInDraft(ctx, tx, followed)
}

// followInDraft stores the drafts of automatic redirects. Where the source is held in the
// draft, or the redirect would close a circle there, the draft is deleted or stays as it
// was.
func (p *redirectPlan) followInDraft(ctx context.Context, tx cms.Tx, followed []cms.RedirectChange) error {
	if len(followed) == 0 {
		return nil
	}
	clashes, err := clashesIn(ctx, tx, p.site.ID, cms.Draft, redirectMoves(followed, p.locales))
	if err != nil {
		return err
	}
	refused := map[cms.ID]bool{}
	for _, c := range clashes {
		refused[c.claim.Owner] = true
	}
	checks, err := p.mayCircle(ctx, tx, followed)
	for err == nil && checks {
		var circle *cms.Circle
		circle, err = p.findCircle(ctx, tx, cms.Draft, slices.DeleteFunc(slices.Clone(followed), func(c cms.RedirectChange) bool { return refused[c.ID()] }))
		if circle == nil {
			break
		}
		before := len(refused)
		for _, id := range circle.IDs {
			if slices.ContainsFunc(followed, func(c cms.RedirectChange) bool { return c.ID() == id }) {
				refused[id] = true
			}
		}
		checks = len(refused) > before // any other circle is not of our making
	}
	if err != nil {
		return err
	}
	for i, c := range followed {
		switch {
		case refused[c.ID()] && c.Before == nil:
			c.After.DeletedAt, c.After.Dirty = new(c.After.CreatedAt), true
		case refused[c.ID()]:
			kept := *c.Before
			kept.PublishedAt, kept.Dirty = c.After.PublishedAt, true
			followed[i].After = &kept
		default:
			c.After.Dirty = !cms.IsCleanRedirect(c.After, p.changes[c.ID()].After)
		}
	}
	if err := storeRedirects(ctx, tx, followed); err != nil {
		return err
	}
	return storeMoves(ctx, tx, p.site.ID, redirectMoves(followed, p.locales)...)
}

// mayCircle reports whether anything in the draft leads on from the targets.
func (p *redirectPlan) mayCircle(ctx context.Context, r cms.Reader, followed []cms.RedirectChange) (bool, error) {
	wild, err := r.HasWildRedirects(ctx, p.site.ID, cms.Draft)
	if err != nil || wild {
		return wild, err
	}
	targets := map[string]bool{}
	for _, c := range followed {
		targets[c.After.Target] = true
	}
	found, err := r.RedirectsFrom(ctx, p.site.ID, cms.Draft, slices.Sorted(maps.Keys(targets)))
	return len(found) > 0, err
}
