package service

import (
	"context"

	"galley/internal/cms"
)

// BatchResult is what became of one operation: the page as it is then, or
// only its id when it was deleted.
type BatchResult struct {
	Page    PageView
	Deleted bool
}

// BatchPages changes many pages of a site in one step. Any error undoes all of
// it, and all errors are told at once.
func (s *Service) BatchPages(ctx context.Context, who Caller, in Input[cms.PageBatch]) ([]BatchResult, error) {
	batch, err := in()
	if err != nil {
		return nil, err
	}
	var results []BatchResult
	err = s.inTx(ctx, func(tx cms.Tx) error {
		site, err := who.lockSite(ctx, tx, batch.SiteID.Value, cms.LockExclusive)
		if err != nil {
			return err
		}
		spoken, err := speak(ctx, tx, site, "")
		if err != nil {
			return err
		}
		results = make([]BatchResult, 0, len(batch.Operations.Value))
		var failed batchErrors
		var writes []written
		for i, op := range batch.Operations.Value {
			result, wrote, err := s.operate(ctx, tx, site, spoken, op)
			if err := failed.note(i, err); err != nil {
				return err
			}
			results = append(results, result)
			writes = append(writes, wrote...)
		}
		if err := failed.err(); err != nil {
			return err
		}
		return s.record(ctx, tx, who.actor(), writes...)
	})
	return results, err
}

// operate does one operation, and tells what it wrote: a change that changes
// nothing writes nothing.
func (s *Service) operate(ctx context.Context, tx cms.Tx, site cms.Site, spoken speech, op cms.PageOperation) (BatchResult, []written, error) {
	if op.Op.Value == cms.OpCreate {
		page, err := s.createPage(ctx, tx, site, spoken, op.PagePatch)
		view := spoken.view(page)
		return BatchResult{Page: view}, []written{wrotePage(page, nil, view)}, err
	}
	if op.Locale.Set {
		var err error
		if spoken, err = spoken.in(site, op.Locale.Value); err != nil {
			return BatchResult{}, nil, err
		}
	}
	before, err := existingPage(tx.LockPage(ctx, site.ID, cms.Draft, op.PageID.Value))
	if err != nil {
		return BatchResult{}, nil, err
	}
	after, err := s.afterOperation(spoken, op, before)
	if err != nil {
		return BatchResult{}, nil, err
	}
	changed, err := s.savePage(ctx, tx, spoken.locales, before, &after)
	result := BatchResult{Page: spoken.view(after), Deleted: after.DeletedAt != nil}
	if err != nil || !changed {
		return result, nil, err
	}
	return result, []written{wroteDraft(after, spoken.view(before), result.Page)}, nil
}

// afterOperation is the page as an update or delete leaves it.
func (s *Service) afterOperation(spoken speech, op cms.PageOperation, page cms.Page) (cms.Page, error) {
	if op.Op.Value == cms.OpUpdate {
		var problems cms.Problems
		if spoken.localeID == cms.NoID { // also when the locale named is the default one
			op.RefuseNulls(&problems)
		}
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
