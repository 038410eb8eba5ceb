package service

import (
	"context"
	"maps"
	"slices"

	"galley/internal/cms"
)

// RedirectResult is the result of one operation: the redirect as it is then, or only
// its id when it was deleted.
type RedirectResult struct {
	Redirect RedirectView
	Deleted  bool
}

// BatchRedirects changes many redirects of a site in one transaction. Sources and circles
// are checked as they are after all operations. An error undoes the whole batch and has
// a detail for each problem of each operation.
func (s *Service) BatchRedirects(ctx context.Context, who Caller, in Input[cms.RedirectBatch]) ([]RedirectResult, error) {
	batch, err := in()
	if err != nil {
		return nil, err
	}
	locked := false
	results, err := inSite(ctx, s, who, ofSite(batch.SiteID.Value), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) ([]RedirectResult, []written, error) {
		locked = true
		ops := batch.Operations.Value
		touched(ctx, len(ops))
		b := redirectBatch{svc: s, siteSnapshot: f, changedBy: map[cms.ID]int{}}
		b.failed.problems = batch.Problems.Clone()
		if batch.Problems.Err() != nil {
			b.failed.worst = cms.ErrInvalid
		}
		if err := b.load(ctx, tx, ops); err != nil {
			return nil, nil, err
		}
		results := make([]RedirectResult, len(ops))
		for i, op := range ops {
			results[i] = b.operate(i, op)
		}
		return results, b.writes, b.store(ctx, tx)
	})
	if code := cms.CodeOf(err); !locked && (code == cms.CodeNotFound || code == cms.CodeForbidden) {
		// The body is checked before what it names.
		if bad := batch.Problems.Err(); bad != nil {
			err = bad
		}
	}
	return results, err
}

// redirectBatch is the state of a batch.
type redirectBatch struct {
	svc *Service
	siteSnapshot
	stored    map[cms.ID]*cms.Redirect // before the batch
	redirects map[cms.ID]*cms.Redirect // after the operations so far
	bySource  map[string][]cms.Redirect
	changedBy map[cms.ID]int // the last operation
	writes    []written
	failed    batchErrors
}

// load reads the redirects that the operations name by id or by source.
func (b *redirectBatch) load(ctx context.Context, tx cms.Tx, ops []cms.RedirectOperation) error {
	var ids []cms.ID
	var sources []string
	for _, op := range ops {
		if op.RedirectID.Set {
			ids = append(ids, op.RedirectID.Value)
		} else if op.Current != "" {
			sources = append(sources, op.Current)
		}
	}
	slices.Sort(sources)
	named, err := tx.RedirectsFrom(ctx, b.site.ID, cms.Draft, slices.Compact(sources))
	if err != nil {
		return err
	}
	b.bySource = map[string][]cms.Redirect{}
	for _, r := range named {
		b.bySource[r.Source] = append(b.bySource[r.Source], r)
		ids = append(ids, r.ID)
	}
	b.stored, err = tx.RedirectsByID(ctx, b.site.ID, cms.Draft, cms.SortIDs(ids))
	b.redirects = maps.Clone(b.stored)
	return err
}

// operate applies one operation to the redirects in memory.
func (b *redirectBatch) operate(i int, op cms.RedirectOperation) RedirectResult {
	localeID, err := b.redirectLocale(op.RedirectPatch)
	if err != nil && !op.Bad {
		b.failed.add(i, "locale", doesNotExist, cms.NotFound(cms.KindLocale))
		op.Bad = true
	}
	if op.Op.Value == cms.OpCreate {
		if op.Bad {
			return RedirectResult{}
		}
		return b.save(i, nil, b.svc.newRedirect(b.site, op.RedirectPatch, localeID))
	}
	id, field := op.RedirectID.Value, "redirectId"
	if op.Current != "" {
		if op.Bad {
			return RedirectResult{}
		}
		id, field = b.named(op.Current, localeID), "source"
		op.Locale = cms.Opt[*string]{} // it names the redirect
	} else if !op.RedirectID.Set {
		return RedirectResult{}
	}
	redirect := b.redirects[id]
	if redirect == nil || redirect.DeletedAt != nil || !b.locales.Shows(redirect.LocaleID) {
		b.failed.add(i, field, doesNotExist, cms.NotFound(cms.KindRedirect))
		return RedirectResult{}
	}
	if op.Bad {
		return RedirectResult{}
	}
	after := op.Apply(*redirect, localeID)
	if op.Op.Value == cms.OpDelete {
		after.DeletedAt = new(b.svc.now())
	}
	if after.Check() != nil {
		b.failed.add(i, "target", "may end in /* only if the source does", cms.ErrInvalid)
		return RedirectResult{}
	}
	return b.save(i, redirect, after)
}

// named returns the redirect with a source and locale before the batch, or NoID.
func (b *redirectBatch) named(source string, localeID cms.ID) cms.ID {
	for _, r := range b.bySource[source] {
		if r.LocaleID == localeID {
			return r.ID
		}
	}
	return cms.NoID
}

// save keeps a redirect as an operation leaves it.
func (b *redirectBatch) save(i int, before *cms.Redirect, after cms.Redirect) RedirectResult {
	result := RedirectResult{Deleted: after.DeletedAt != nil}
	switch {
	case before == nil:
		b.writes = append(b.writes, wroteRedirect(nil, b.viewRedirect(after))...)
	case b.svc.stampRedirect(*before, &after):
		b.writes = append(b.writes, wroteRedirect(b.viewRedirect(*before), b.viewRedirect(after))...)
	default:
		result.Redirect = b.viewRedirect(*before)
		return result
	}
	b.redirects[after.ID], b.changedBy[after.ID] = &after, i
	result.Redirect = b.viewRedirect(after)
	return result
}

var errSources = cms.Conflict("Some sources are taken, nothing was changed")

// store writes the redirects if nothing failed.
func (b *redirectBatch) store(ctx context.Context, tx cms.Tx) error {
	var changes []cms.RedirectChange
	for _, id := range slices.SortedFunc(maps.Keys(b.redirects), cms.CompareIDs) {
		if b.stored[id] != b.redirects[id] {
			changes = append(changes, cms.RedirectChange{Before: b.stored[id], After: b.redirects[id]})
		}
	}
	moves := redirectMoves(changes, b.locales)
	clashes, err := findClashes(ctx, tx, b.site.ID, moves...)
	if err != nil {
		return err
	}
	for _, c := range clashes {
		i := b.changedBy[c.claim.Owner]
		if other, ok := b.changedBy[c.other.Owner]; ok {
			i = max(i, other)
		}
		b.failed.add(i, "source", c.err().Message, errSources)
	}
	taken, err := takenSources(ctx, tx, b.siteSnapshot, cms.Draft, changes)
	if err != nil {
		return err
	}
	last := map[cms.Claim]int{} // the operation that brought each conflict about
	for _, c := range taken {
		source := cms.Claim{LocaleID: c.After.LocaleID, Pathname: c.After.Source}
		last[source] = max(last[source], b.changedBy[c.ID()])
	}
	for _, i := range last {
		b.failed.add(i, "source", cms.ErrRedirectTaken.Message, errSources)
	}
	if err := b.failed.err(); err != nil {
		return err
	}
	circle, err := b.findCircle(ctx, tx, cms.Draft, changes)
	if err != nil {
		return err
	}
	if circle != nil {
		cause := -1
		for _, id := range circle.IDs {
			if i, ok := b.changedBy[id]; ok {
				cause = max(cause, i)
			}
		}
		if cause < 0 { // by what was deleted
			return circle.Err()
		}
		b.failed.add(cause, "target", circle.Err().Message, circle.Err())
		return b.failed.err()
	}
	if err := storeRedirects(ctx, tx, changes); err != nil {
		return err
	}
	return storeMoves(ctx, tx, b.site.ID, moves...)
}
