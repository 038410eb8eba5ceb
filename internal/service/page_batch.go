package service

import (
	"context"
	"maps"

	"galley/internal/cms"
)

// BatchResult is what became of one operation: the page as it is then, or
// only its id when it was deleted.
type BatchResult struct {
	Page    PageView
	Deleted bool
}

// manyPages are worth a look at what there is before something is done to them.
const manyPages = 100

// BatchPages changes many pages of a site in one step. Any error undoes all of
// it, and all errors are told at once.
func (s *Service) BatchPages(ctx context.Context, who Caller, in Input[cms.PageBatch]) ([]BatchResult, error) {
	batch, err := in()
	if err != nil {
		return nil, err
	}
	var results []BatchResult
	err = s.inTx(ctx, func(tx cms.Tx) error {
		f, err := s.lockForm(ctx, tx, who, batch.SiteID.Value, cms.LockExclusive)
		if err != nil {
			return err
		}
		site := f.site
		spoken, err := f.speak("")
		if err != nil {
			return err
		}
		ops := batch.Operations.Value
		if len(ops) >= manyPages {
			if err := tx.LookAround(ctx, site.ID); err != nil {
				return err
			}
		}
		results = make([]BatchResult, 0, len(ops))
		drafts, err := draftsFor(ctx, tx, site.ID, ops)
		if err != nil {
			return err
		}
		var failed batchErrors
		var writes []written
		for i := 0; i < len(ops); i = len(results) {
			if pages := s.leadingCreates(site, ops[i:]); len(pages) > 0 {
				if err := createPages(ctx, tx, spoken, i, pages, &failed); err != nil {
					return err
				}
				for _, page := range pages {
					view := spoken.view(page)
					results = append(results, BatchResult{Page: view})
					writes = append(writes, wrotePage(page, nil, view))
				}
				continue
			}
			result, wrote, err := s.operate(ctx, tx, site, spoken, drafts, ops[i])
			if err := failed.note(i, err); err != nil {
				return err
			}
			results = append(results, result)
			writes = append(writes, wrote...)
		}
		if err := failed.err(); err != nil {
			return err
		}
		if err := tx.UpdatePages(ctx, drafts.changes()); err != nil {
			return err
		}
		return s.record(ctx, tx, who.actor(), writes...)
	})
	return results, err
}

// leadingCreates are the pages that the operations up to the first one that is
// no creation make.
func (s *Service) leadingCreates(site cms.Site, ops []cms.PageOperation) []cms.Page {
	var pages []cms.Page
	for _, op := range ops {
		if op.Op.Value != cms.OpCreate {
			break
		}
		pages = append(pages, s.newPage(site, op.PagePatch))
	}
	return pages
}

// createPages stores new pages all at once. A new page goes by one pathname in
// every locale, so whoever holds that is in its way.
func createPages(ctx context.Context, tx cms.Tx, spoken speech, first int, pages []cms.Page, failed *batchErrors) error {
	pathnames := make([]string, len(pages))
	for i, p := range pages {
		pathnames[i] = p.Pathname
	}
	held, err := tx.Claims(ctx, pages[0].SiteID, cms.Draft, pathnames)
	if err != nil {
		return err
	}
	taken := make(map[string]bool, len(pages)+len(held))
	for _, h := range held {
		taken[h.Pathname] = true
	}
	var free []cms.Page
	var claims []cms.Claim
	for i, p := range pages {
		if taken[p.Pathname] {
			if err := failed.note(first+i, cms.ErrPathnameTaken); err != nil {
				return err
			}
			continue
		}
		taken[p.Pathname] = true
		free = append(free, p)
		claims = append(claims, p.Claims(spoken.locales)...)
	}
	if err := tx.TakePathnames(ctx, pages[0].SiteID, claims); err != nil {
		return err
	}
	return tx.CreatePages(ctx, free...)
}

// drafts are the pages that a batch changes, read all at once and written all
// at once: their site is locked, and nobody else changes them.
type drafts struct{ stored, now map[cms.ID]*cms.Page }

func draftsFor(ctx context.Context, tx cms.Tx, siteID cms.ID, ops []cms.PageOperation) (drafts, error) {
	var ids []cms.ID
	for _, op := range ops {
		if op.Op.Value != cms.OpCreate {
			ids = append(ids, op.PageID.Value)
		}
	}
	stored, err := tx.PagesByID(ctx, siteID, cms.Draft, cms.SortIDs(ids))
	return drafts{stored, maps.Clone(stored)}, err
}

func (d drafts) find(id cms.ID) (cms.Page, error) {
	page := d.now[id]
	if page == nil {
		return cms.Page{}, cms.NotFound(cms.KindPage)
	}
	return *page, nil
}

// over reads pages as the operations so far have left them, and those that the
// batch is not about from the store.
func (d drafts) over(tx cms.Tx) pageReader {
	return func(ctx context.Context, siteID cms.ID, version cms.Version, id cms.ID) (cms.Page, error) {
		if page := d.now[id]; page != nil && version == cms.Draft {
			return *page, nil
		}
		return tx.Page(ctx, siteID, version, id)
	}
}

// changes are what became of them.
func (d drafts) changes() []cms.PageChange {
	var changes []cms.PageChange
	for id, before := range d.stored {
		if after := d.now[id]; after != before {
			changes = append(changes, cms.PageChange{Before: before, After: after})
		}
	}
	return changes
}

// operate does one operation on a page that is there, and tells what it wrote:
// a change that changes nothing writes nothing.
func (s *Service) operate(ctx context.Context, tx cms.Tx, site cms.Site, spoken speech, pages drafts, op cms.PageOperation) (BatchResult, []written, error) {
	if op.Locale.Set {
		var err error
		if spoken, err = spoken.in(site, op.Locale.Value); err != nil {
			return BatchResult{}, nil, err
		}
	}
	before, err := existingPage(pages.find(op.PageID.Value))
	if err != nil {
		return BatchResult{}, nil, err
	}
	after, err := s.afterOperation(spoken, op, before)
	if err != nil {
		return BatchResult{}, nil, err
	}
	changed, err := s.changeClaims(ctx, tx, pages.over(tx), spoken.locales, before, &after)
	result := BatchResult{Page: spoken.view(after), Deleted: after.DeletedAt != nil}
	if err != nil || !changed {
		return result, nil, err
	}
	pages.now[op.PageID.Value] = &after
	return result, []written{wroteDraft(after, spoken.view(before), result.Page)}, nil
}

// afterOperation is the page as an update or delete leaves it.
func (s *Service) afterOperation(spoken speech, op cms.PageOperation, page cms.Page) (cms.Page, error) {
	if op.Op.Value == cms.OpUpdate {
		var problems cms.Problems
		op.Suit(&problems, spoken.localeID != cms.NoID) // the locale named may be the default one
		return op.Apply(page, spoken.localeID), problems.Err()
	}
	if !op.Locale.Set {
		page.DeletedAt = new(s.now())
		return page, nil
	}
	if spoken.localeID == cms.NoID {
		return page, cms.BadField("locale", "must not be the default locale")
	}
	return page.Delocalize(spoken.localeID), nil
}

// batchErrors gathers what is wrong with the operations of a batch.
type batchErrors struct {
	problems cms.Problems
	bad      bool // other than by conflict
}

// note takes an error that is about an operation, and returns any other.
func (b *batchErrors) note(i int, err error) error {
	switch cms.CodeOf(err) {
	case cms.CodeBadRequest:
		b.bad = true
		return b.problems.Merge(cms.OperationField(i, ""), err)
	case cms.CodeNotFound:
		b.bad = true
		field := "pageId"
		if err.Error() == cms.NotFound(cms.KindLocale).Error() {
			field = "locale"
		}
		b.problems.Add(cms.OperationField(i, field), "does not exist")
		return nil
	case cms.CodeConflict:
		b.problems.Add(cms.OperationField(i, "pathname"), cms.ErrPathnameTaken.Message)
		return nil
	}
	return err
}

func (b *batchErrors) err() error {
	err := b.problems.Err()
	if err == nil || b.bad {
		return err
	}
	return b.problems.Conflict("Some pathnames are taken, nothing was changed")
}
