package service

import (
	"context"
	"maps"
	"slices"

	"galley/internal/cms"
)

// BatchResult is the result of one operation: the page as it is then, or only its
// id when it was deleted.
type BatchResult struct {
	Page    PageView
	Deleted bool
}

// BatchPages changes many pages of a site in one transaction. Pathnames are
// checked as they are after all operations. An error undoes the whole batch
// and has a detail for each problem of each operation.
func (s *Service) BatchPages(ctx context.Context, who Caller, in Input[cms.PageBatch]) ([]BatchResult, error) {
	batch, err := in()
	if err != nil {
		return nil, err
	}
	locked := false
	results, err := inSite(ctx, s, who, ofSite(batch.SiteID.Value), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) ([]BatchResult, []written, error) {
		locked = true
		ops := batch.Operations.Value
		touched(ctx, len(ops))
		b := pageBatch{svc: s, who: who, siteSnapshot: f, shown: f.inDefault(), undecided: map[cms.ID]bool{}, setBy: map[pathnameOf]operationField{}}
		b.failed.problems = batch.Problems.Clone()
		if batch.Problems.Err() != nil {
			b.failed.worst = cms.ErrInvalid
		}
		if err := b.load(ctx, tx, ops); err != nil {
			return nil, nil, err
		}
		results := make([]BatchResult, len(ops))
		for i, op := range ops {
			results[i] = b.operate(i, op)
			b.contents = append(b.contents, op.Contents()...)
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

// pageBatch is the state of a batch. Its pages are read at once and written at
// once: the lock on the site keeps others from changing them.
type pageBatch struct {
	svc *Service
	who Caller
	siteSnapshot
	shown    localeView             // the default locale
	stored   map[cms.ID]*cms.Page   // before the batch
	live     map[cms.ID]*cms.Page   // of those that were published
	pages    map[cms.ID]*cms.Page   // after the operations so far
	held     map[string][]cms.Claim // by the pathnames that name pages
	contents []cms.Content
	writes   []written
	failed   batchErrors
	// undecided are pages whose pathnames depend on an operation that is bad.
	undecided map[cms.ID]bool
	// setBy has the last operation that changed what a page holds in a locale.
	setBy map[pathnameOf]operationField
}

type pathnameOf struct{ page, locale cms.ID }

type operationField struct {
	i    int
	name string
}

// load reads the pages that the operations name by id or by pathname.
func (b *pageBatch) load(ctx context.Context, tx cms.Tx, ops []cms.PageOperation) error {
	var ids []cms.ID
	var pathnames []string
	for _, op := range ops {
		switch {
		case op.PageID.Set:
			ids = append(ids, op.PageID.Value)
		case op.Current != "":
			pathnames = append(pathnames, op.Current)
		}
	}
	slices.Sort(pathnames)
	claims, err := tx.Claims(ctx, b.site.ID, cms.Draft, slices.Compact(pathnames))
	if err != nil {
		return err
	}
	b.held = map[string][]cms.Claim{}
	for _, c := range claims {
		if c.ByPage() {
			b.held[c.Pathname] = append(b.held[c.Pathname], c)
			ids = append(ids, c.Owner)
		}
	}
	if b.stored, err = tx.PagesByID(ctx, b.site.ID, cms.Draft, cms.SortIDs(ids)); err != nil {
		return err
	}
	b.pages = maps.Clone(b.stored)
	var published []cms.ID
	for id, page := range b.stored {
		if page.PublishedAt != nil {
			published = append(published, id)
		}
	}
	b.live, err = tx.PagesByID(ctx, b.site.ID, cms.Live, published)
	return err
}

// named returns the page with a pathname in a locale before the batch, or NoID.
func (b *pageBatch) named(pathname string, localeID cms.ID) cms.ID {
	for _, c := range b.held[pathname] {
		if page := b.stored[c.Owner]; page != nil && page.In(localeID).Values.Pathname == pathname {
			return page.ID
		}
	}
	return cms.NoID
}

// operate applies one operation to the pages in memory.
func (b *pageBatch) operate(i int, op cms.PageOperation) BatchResult {
	if op.Op.Value == cms.OpCreate {
		return b.create(i, op)
	}
	shown, known := b.shown, slices.Contains(cms.BatchOps, op.Op.Value)
	if op.Locale.Set {
		var err error
		if shown, err = b.find(op.Locale.Value); err != nil {
			b.failed.add(i, "locale", doesNotExist, cms.NotFound(cms.KindLocale))
			known, op.Bad = false, true
		}
	}
	id, field := op.PageID.Value, "pageId"
	switch {
	case op.Current != "" && op.Bad: // the locale in which to look is not known
		return BatchResult{}
	case op.Current != "":
		id, field = b.named(op.Current, shown.localeID), "pathname"
	case !op.PageID.Set:
		return BatchResult{}
	}
	page := b.pages[id]
	if page == nil || page.DeletedAt != nil {
		b.failed.add(i, field, doesNotExist, cms.NotFound(cms.KindPage))
		return BatchResult{}
	}
	after, fits := *page, false
	if known {
		after, fits = b.apply(i, op, shown, after)
	}
	if !fits || op.Bad {
		b.undecided[id] = true
		return BatchResult{}
	}
	changed := b.svc.stampChange(*page, &after)
	result := BatchResult{Page: shown.draft(after, b.live[page.ID]), Deleted: after.DeletedAt != nil}
	if changed {
		b.writes = append(b.writes, wrotePage(shown.draft(*page, b.live[page.ID]), result.Page)...)
		b.save(i, *page, after, func(cms.ID) string { return "pathname" })
	}
	return result
}

// apply returns the page as an update or delete leaves it, unless the
// operation does not fit the locale.
func (b *pageBatch) apply(i int, op cms.PageOperation, shown localeView, page cms.Page) (cms.Page, bool) {
	switch {
	case op.Op.Value == cms.OpUpdate:
		var unfit cms.Problems
		op.CheckLocale(&unfit, shown.localeID != cms.NoID) // the locale may be the default one
		for _, d := range unfit.As(cms.ErrInvalid).Details {
			b.failed.add(i, d.Field, d.Message, cms.ErrInvalid)
		}
		return op.Apply(page, shown.localeID), unfit.Err() == nil
	case !op.Locale.Set:
		page.DeletedAt = new(b.svc.now())
		return page, true
	case shown.localeID == cms.NoID:
		b.failed.add(i, "locale", "must not be the default locale", cms.ErrInvalid)
		return page, false
	}
	return page.Delocalize(shown.localeID), true
}

// create adds a page with its localizations.
func (b *pageBatch) create(i int, op cms.PageOperation) BatchResult {
	page := b.svc.newPage(b.site, op.PagePatch)
	created := len(b.writes) // the entry that is the event has the whole page
	b.writes = append(b.writes, written{})
	fields := map[cms.ID]string{cms.NoID: "pathname"}
	for _, name := range slices.Sorted(maps.Keys(op.Localizations.Value)) {
		field := "localizations." + name
		shown, err := b.find(name)
		if err != nil {
			b.failed.add(i, field, doesNotExist, cms.NotFound(cms.KindLocale))
			continue
		}
		if shown.localeID == cms.NoID {
			b.failed.add(i, field, "must not be the default locale", cms.ErrInvalid)
			continue
		}
		if fields[shown.localeID] != "" {
			b.failed.add(i, field, "must be given once", cms.ErrInvalid)
			continue
		}
		fields[shown.localeID] = field + ".pathname"
		before := page
		page = op.Localizations.Value[name].Apply(page, shown.localeID)
		if !before.SameContent(page) {
			localized := wrotePage(shown.draft(before, nil), shown.draft(page, nil))[0]
			localized.child = true
			b.writes = append(b.writes, localized)
		}
	}
	b.writes[created] = wrotePage(nil, b.shown.draft(page, nil))[0]
	if !op.Bad {
		b.save(i, cms.Page{}, page, func(locale cms.ID) string { return fields[locale] })
	}
	return BatchResult{Page: b.shown.draft(page, nil)}
}

// save keeps a page and notes which of its pathnames the operation changed.
func (b *pageBatch) save(i int, before, after cms.Page, field func(locale cms.ID) string) {
	b.pages[after.ID] = &after
	was, is := before.Claims(b.locales), after.Claims(b.locales)
	for _, c := range append(without(was, is), without(is, was)...) {
		b.setBy[pathnameOf{c.Owner, c.LocaleID}] = operationField{i, field(c.LocaleID)}
	}
}

// store writes the pages if nothing failed.
func (b *pageBatch) store(ctx context.Context, tx cms.Tx) error {
	var created []cms.Page
	var changes, updates []cms.PageChange
	for _, id := range slices.SortedFunc(maps.Keys(b.pages), cms.CompareIDs) {
		change := cms.PageChange{Before: b.stored[id], After: b.pages[id]}
		switch change.Before {
		case change.After:
			continue
		case nil:
			created = append(created, *change.After)
		default:
			updates = append(updates, change)
		}
		changes = append(changes, change)
	}
	moves := pageMoves(changes, b.locales)
	clashes, err := findClashes(ctx, tx, b.site.ID, moves...)
	if err == nil {
		clashes, err = b.svc.giveWay(ctx, tx, b.who.actor(), b.siteSnapshot, clashes)
	}
	if err != nil {
		return err
	}
	for _, c := range clashes {
		if !b.undecided[c.claim.Owner] && !b.undecided[c.other.Owner] {
			at := b.causeOf(c)
			b.failed.add(at.i, at.name, c.err().Message, errPathnames)
		}
	}
	if err := b.failed.err(); err != nil {
		return err
	}
	if err := tx.CreatePages(ctx, created...); err != nil {
		return err
	}
	if err := tx.UpdatePages(ctx, updates); err != nil {
		return err
	}
	if err := tx.PutContents(ctx, b.site.ID, b.contents, b.svc.now()); err != nil {
		return err
	}
	if err := storeMoves(ctx, tx, b.site.ID, moves...); err != nil {
		return err
	}
	return checkQuota(ctx, tx, b.who, cms.Usage{Pages: addedPages(changes), ContentBytes: len(b.contents)})
}

// causeOf returns the last operation that brought a clash about: one that
// changed either claim, or what either page holds in the locale of the other.
func (b *pageBatch) causeOf(c clash) operationField {
	cause := operationField{i: -1}
	for _, page := range []cms.ID{c.claim.Owner, c.other.Owner} {
		for _, locale := range []cms.ID{c.claim.LocaleID, c.other.LocaleID} {
			if at, ok := b.setBy[pathnameOf{page, locale}]; ok && at.i > cause.i {
				cause = at
			}
		}
	}
	return cause
}

const doesNotExist = "does not exist"

var errPathnames = cms.Conflict("Some pathnames are taken, nothing was changed")

// batchErrors collects what is wrong with the operations of a batch.
type batchErrors struct {
	problems cms.Problems
	worst    *cms.Error // bad requests before what is not found before conflicts
}

// add notes a problem of an operation. err is the error of a batch that has
// no worse problem.
func (e *batchErrors) add(i int, field, message string, err *cms.Error) {
	e.problems.Add(cms.OperationField(i, field), message)
	if e.worst == nil || severity[err.Code] > severity[e.worst.Code] {
		e.worst = err
	}
}

var severity = map[cms.Code]int{cms.CodeConflict: 1, cms.CodeNotFound: 2, cms.CodeBadRequest: 3}

func (e *batchErrors) err() error {
	if e.worst == nil {
		return nil
	}
	return e.problems.As(e.worst)
}
