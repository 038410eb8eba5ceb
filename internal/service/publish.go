package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"galley/internal/cms"
)

// Guard is when a publish needs to be confirmed: when it takes more than a
// share of the live pages away, and at least Pages of them.
type Guard struct {
	Share float64
	Pages int
}

// DefaultGuard is the guard unless another is configured.
var DefaultGuard = Guard{Share: 0.5, Pages: 10}

// release is what a publish or restore would put live.
type release struct {
	pages   []cms.PageChange
	changes []cms.Change
	dark    int      // pages that readers lose
	clean   []cms.ID // pages whose draft is then what is live
}

// add takes a page from one live state to another.
func (rel *release) add(page cms.PageChange, locales cms.Locales) {
	changes := cms.Changes(page.Before, page.After, locales)
	if len(changes) == 0 {
		return
	}
	rel.pages = append(rel.pages, page)
	rel.changes = append(rel.changes, changes...)
	if cms.GoesDark(page.Before, page.After) {
		rel.dark++
	}
}

// dirtyChunk is how many pages one step looks at.
const dirtyChunk = 500

// collect works out what publishing a selection of the draft would put live.
// Its cost follows the number of pages touched since the last publish.
func collect(ctx context.Context, r cms.Reader, site cms.Site, locales cms.Locales, selected cms.Selection) (*release, error) {
	rel := &release{}
	selected.Locales = slices.Clone(selected.Locales)
	for i, id := range selected.Locales {
		if id == site.DefaultLocaleID {
			selected.Locales[i] = cms.NoID
		}
	}
	err := eachDirty(ctx, r, site.ID, selected.PageIDs, func(id cms.ID, draft, live *cms.Page) {
		next := cms.PublishPage(draft, live, selected, locales)
		same := draft != nil && next != nil && draft.SameContent(*next)
		rel.add(cms.PageChange{Before: live, After: next, AsDraft: same}, locales)
		rest := cms.PublishPage(draft, next, cms.Selection{}, locales)
		if len(cms.Changes(next, rest, locales)) == 0 {
			rel.clean = append(rel.clean, id)
		}
	})
	return rel, err
}

// review goes through what publishing the whole draft would do, and returns the
// plan: a name for the whole list. What is reviewed is what goes live.
func review(ctx context.Context, r cms.Reader, site cms.Site, locales cms.Locales, visit func(cms.Change)) (plan string, err error) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	err = eachDirty(ctx, r, site.ID, nil, func(_ cms.ID, draft, live *cms.Page) {
		for _, c := range cms.Changes(live, cms.PublishPage(draft, live, cms.Selection{}, locales), locales) {
			_ = enc.Encode(c) // plain values into a hash: neither fails
			visit(c)
		}
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// eachDirty walks the pages that may differ from what is live, in order; only
// those named, unless ids is nil.
func eachDirty(ctx context.Context, r cms.Reader, siteID cms.ID, ids []cms.ID, visit func(id cms.ID, draft, live *cms.Page)) error {
	visitAll := func(ids []cms.ID) error {
		drafts, err := r.PagesByID(ctx, siteID, cms.Draft, ids)
		if err != nil {
			return err
		}
		lives, err := r.PagesByID(ctx, siteID, cms.Live, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			visit(id, drafts[id], lives[id])
		}
		return nil
	}
	if ids != nil {
		return visitAll(ids)
	}
	for after := cms.NoID; ; {
		chunk, err := r.DirtyPages(ctx, siteID, after, dirtyChunk)
		if err != nil || len(chunk) == 0 {
			return err
		}
		if err := visitAll(chunk); err != nil {
			return err
		}
		after = chunk[len(chunk)-1]
	}
}

// Publish puts the draft live, or a selection of it, or schedules that.
// Nothing to publish is a publish without an id.
func (s *Service) Publish(ctx context.Context, who Caller, siteID cms.ID, in Input[cms.PublishRequest]) (cms.Publish, error) {
	var p cms.Publish
	err := s.inTx(ctx, func(tx cms.Tx) error {
		site, err := who.lockSite(ctx, tx, siteID, cms.LockExclusive)
		if err != nil {
			return err
		}
		ask, err := in()
		if err != nil {
			return err
		}
		locales, err := tx.Locales(ctx, site.ID)
		if err != nil {
			return err
		}
		p = cms.Publish{
			ID: cms.NewID(), SiteID: site.ID, Name: ask.Name.Value, CreatedAt: s.now(), CreatedBy: who.ID(),
			Confirm: ask.Confirm.Value, PublishAt: ask.PublishAt.Value,
		}
		if p.Select, err = selection(ctx, tx, site, locales, ask); err != nil {
			return err
		}
		if err := lookAround(ctx, tx, p, ask.Plan.Set); err != nil {
			return err
		}
		if ask.Plan.Set {
			if err := checkPlan(ctx, tx, site, locales, ask.Plan.Value); err != nil {
				return err
			}
		}
		if p.PublishAt != nil {
			p.Status = cms.StatusScheduled
			if ask.Plan.Set {
				p.Plan = &ask.Plan.Value // it has to hold then, too
			}
			if err := tx.CreatePublish(ctx, p); err != nil {
				return err
			}
			return s.record(ctx, tx, who.actor(), wrotePublish(p, nil, p))
		}
		rel, err := collect(ctx, tx, site, locales, p.Select)
		if err != nil {
			return err
		}
		return s.releaseNew(ctx, tx, who, locales, rel, &p)
	})
	return p, err
}

// lookAround is for publishes of many pages: of a few, it would be a good part
// of the time. A plan is of all that may differ, whatever is published.
func lookAround(ctx context.Context, tx cms.Tx, p cms.Publish, planned bool) error {
	ids := p.Select.PageIDs
	if ids == nil || planned {
		var err error
		if ids, err = tx.DirtyPages(ctx, p.SiteID, cms.NoID, manyPages); err != nil {
			return err
		}
	}
	if len(ids) < manyPages {
		return nil
	}
	return tx.LookAround(ctx, p.SiteID)
}

// selection reads which pages and locales a request names.
func selection(ctx context.Context, tx cms.Tx, site cms.Site, locales cms.Locales, ask cms.PublishRequest) (cms.Selection, error) {
	var selected cms.Selection
	if ask.PageIDs.Value != nil {
		selected.PageIDs = cms.SortIDs(ask.PageIDs.Value)
		drafts, err := tx.PagesByID(ctx, site.ID, cms.Draft, selected.PageIDs)
		if err != nil {
			return selected, err
		}
		var deleted []cms.ID
		for _, id := range selected.PageIDs {
			if drafts[id] == nil {
				return selected, cms.NotFound(cms.KindPage)
			}
			if drafts[id].DeletedAt != nil {
				deleted = append(deleted, id)
			}
		}
		lives, err := tx.PagesByID(ctx, site.ID, cms.Live, deleted)
		if err != nil {
			return selected, err
		}
		if len(lives) < len(deleted) {
			return selected, cms.NotFound(cms.KindPage)
		}
	}
	for _, name := range ask.Locales.Value {
		l, ok := locales.Find(name)
		if !ok {
			return selected, cms.NotFound(cms.KindLocale)
		}
		selected.Locales = append(selected.Locales, l.ID)
	}
	selected.Locales = cms.SortIDs(selected.Locales) // each once
	return selected, nil
}

var errPlan = cms.Conflict("The draft has changed since the plan was made, review the changes again")

func checkPlan(ctx context.Context, tx cms.Tx, site cms.Site, locales cms.Locales, plan string) error {
	now, err := review(ctx, tx, site, locales, func(cms.Change) {})
	if err == nil && now != plan {
		err = errPlan
	}
	return err
}

// release makes a new live version. save stores the publish, new or changed.
func (s *Service) release(ctx context.Context, tx cms.Tx, locales cms.Locales, rel *release, p *cms.Publish, save func(context.Context, cms.Publish) error) error {
	now := s.now()
	p.Status, p.ChangeCount = cms.StatusPublished, len(rel.changes)
	if len(rel.changes) == 0 {
		p.ID = cms.NoID
		return tx.MarkPages(ctx, p.SiteID, rel.clean, nil, false)
	}
	if err := s.checkGuard(ctx, tx, rel, *p); err != nil {
		return err
	}
	last, err := tx.LastPublish(ctx, p.SiteID)
	if err != nil && cms.CodeOf(err) != cms.CodeNotFound {
		return err
	}
	if err == nil {
		p.PreviousID = &last.ID
	}
	p.Seq, p.PublishedAt = last.Seq+1, &now
	for _, page := range rel.pages {
		if page.After != nil {
			page.After.Since, page.After.PublishedAt = p.Seq, &now
		}
	}
	if err := tx.ReplaceLive(ctx, p.SiteID, p.Seq, rel.pages); err != nil {
		return err
	}
	if err := moveLiveClaims(ctx, tx, p.SiteID, rel.pages, locales); err != nil {
		return err
	}
	if err := markDrafts(ctx, tx, rel, *p); err != nil {
		return err
	}
	return save(ctx, *p)
}

// checkGuard refuses to take most of a site away by accident.
func (s *Service) checkGuard(ctx context.Context, tx cms.Tx, rel *release, p cms.Publish) error {
	if p.Confirm || rel.dark < s.Guard.Pages {
		return nil
	}
	live, _, err := tx.CountLive(ctx, p.SiteID)
	if err != nil {
		return err
	}
	if float64(rel.dark) <= s.Guard.Share*float64(live) {
		return nil
	}
	return cms.Conflict(fmt.Sprintf("This would take %d of %d live pages offline or away, send confirm: true if that is meant", rel.dark, live))
}

// markDrafts notes in the drafts when their pages went live, and whether they
// still may differ from what is live.
func markDrafts(ctx context.Context, tx cms.Tx, rel *release, p cms.Publish) error {
	clean := make(map[cms.ID]bool, len(rel.clean))
	for _, id := range rel.clean {
		clean[id] = true
	}
	live, gone := map[bool][]cms.ID{}, map[bool][]cms.ID{} // by whether they are clean
	for _, page := range rel.pages {
		id := page.ID()
		if page.After != nil {
			live[clean[id]] = append(live[clean[id]], id)
		} else {
			gone[clean[id]] = append(gone[clean[id]], id)
		}
		delete(clean, id)
	}
	rest := slices.AppendSeq(gone[true], maps.Keys(clean)) // with those that nothing changes of
	for _, mark := range []struct {
		ids         []cms.ID
		publishedAt *time.Time
		dirty       bool
	}{
		{live[true], p.PublishedAt, false}, {live[false], p.PublishedAt, true}, {gone[false], nil, true}, {rest, nil, false},
	} {
		if err := tx.MarkPages(ctx, p.SiteID, mark.ids, mark.publishedAt, mark.dirty); err != nil {
			return err
		}
	}
	return nil
}

// moveLiveClaims replaces what pages hold in the live version, and refuses a
// version in which a pathname would belong to two.
func moveLiveClaims(ctx context.Context, tx cms.Tx, siteID cms.ID, pages []cms.PageChange, locales cms.Locales) error {
	moves := pageMoves(pages, locales)
	clashes, err := findClashes(ctx, tx, siteID, moves...)
	if err != nil {
		return err
	}
	if len(clashes) == 0 {
		return storeMoves(ctx, tx, siteID, moves...)
	}
	var names []string
	for _, c := range clashes {
		names = append(names, claimName(c.claim), claimName(c.other))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return cms.Conflict("A pathname would belong to two pages or routes of the live version: " +
		strings.Join(names[:min(len(names), maxNamed)], ", "))
}

// maxNamed bounds how many pages a refusal names.
const maxNamed = 20

func claimName(c cms.Claim) string {
	if c.ByRoute {
		return fmt.Sprintf("route %s at %s", c.Owner, c.Pathname)
	}
	return fmt.Sprintf("page %s at %s", c.Owner, c.Pathname)
}

// RestorePublish makes the live version what it was after a publish, as a new
// publish. The draft is untouched.
func (s *Service) RestorePublish(ctx context.Context, who Caller, id cms.ID, body Empty) (cms.Publish, error) {
	var p cms.Publish
	err := s.inTx(ctx, func(tx cms.Tx) error {
		site, err := who.lockChildSite(ctx, tx, cms.KindPublish, Ref{ID: id}, nil, cms.LockExclusive)
		if err != nil {
			return err
		}
		from, err := tx.LockPublish(ctx, site.ID, id)
		if err != nil {
			return err
		}
		if err := body.check(); err != nil {
			return err
		}
		seq, err := leftBy(ctx, tx, from)
		if cms.CodeOf(err) == cms.CodeNotFound {
			return cms.Conflict("This publish has not gone live, so there is nothing to go back to")
		}
		if err != nil {
			return err
		}
		locales, err := tx.Locales(ctx, site.ID)
		if err != nil {
			return err
		}
		if err := tx.LookAround(ctx, site.ID); err != nil {
			return err
		}
		rel, err := rewind(ctx, tx, site, locales, seq)
		if err != nil {
			return err
		}
		p = cms.Publish{
			ID: cms.NewID(), SiteID: site.ID, CreatedAt: s.now(), CreatedBy: who.ID(), RestoredFrom: &from.ID, Confirm: true,
		}
		return s.releaseNew(ctx, tx, who, locales, rel, &p)
	})
	return p, err
}

// releaseNew makes a new live version of a new publish, if anything changes.
func (s *Service) releaseNew(ctx context.Context, tx cms.Tx, who Caller, locales cms.Locales, rel *release, p *cms.Publish) error {
	if err := s.release(ctx, tx, locales, rel, p, tx.CreatePublish); err != nil || p.ID == cms.NoID {
		return err
	}
	return s.record(ctx, tx, who.actor(), wrotePublish(*p, nil, *p))
}

// rewind works out what would make the live version what it was.
func rewind(ctx context.Context, tx cms.Tx, site cms.Site, locales cms.Locales, seq int64) (*release, error) {
	ids, err := tx.PagesSince(ctx, site.ID, seq)
	if err != nil {
		return nil, err
	}
	was, err := tx.PagesByID(ctx, site.ID, cms.AfterPublish(seq), ids)
	if err != nil {
		return nil, err
	}
	lives, err := tx.PagesByID(ctx, site.ID, cms.Live, ids)
	if err != nil {
		return nil, err
	}
	rel := &release{}
	for _, id := range ids {
		rel.add(cms.PageChange{Before: lives[id], After: cms.RestorePage(was[id], lives[id], locales)}, locales)
	}
	return rel, nil
}
