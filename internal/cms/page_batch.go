package cms

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// MaxBatch is the largest number of operations in a batch.
const MaxBatch = 1000

// BatchOp is what an operation of a batch does.
type BatchOp string

// The operations. With a locale, an update writes that locale's overrides and
// a delete drops them.
const (
	OpCreate BatchOp = "create"
	OpUpdate BatchOp = "update"
	OpDelete BatchOp = "delete"
)

// BatchOps lists all operations.
var BatchOps = []BatchOp{OpCreate, OpUpdate, OpDelete}

// PageBatch changes many pages of a site, all or none of them.
type PageBatch struct {
	SiteID     Opt[ID]
	Operations Opt[[]PageOperation]
	// Problems are those that Clean found. The service reports them together with
	// those that depend on the site.
	Problems Problems
}

// PageOperation is one change of a batch.
type PageOperation struct {
	Op            Opt[BatchOp]
	PageID        Opt[ID]
	Locale        Opt[string]
	Localizations Opt[map[string]PagePatch] // of a new page, by locale code or id
	PagePatch
	// Current is the pathname that names the page where PageID does not.
	Current string
	// Bad is set if the pathnames that the operation changes are not known.
	Bad bool
}

// OperationField is the name of a field of an operation.
func OperationField(i int, field string) string { return fmt.Sprintf("operations[%d].%s", i, field) }

// Clean normalizes the values and notes what is wrong with them.
func (b *PageBatch) Clean(p *Problems) {
	b.Problems = cleanBatch(p, b.SiteID, b.Operations, func(op *PageOperation, bad bool, p *Problems) {
		if op.Bad = bad; !bad {
			op.clean(p)
		}
	})
}

// cleanBatch cleans a batch of any kind, and returns the problems of its operations if
// the site is named, so that the service can report them with its own. bad tells
// operation that the operation could not be decoded.
func cleanBatch[O any](p *Problems, siteID Opt[ID], operations Opt[[]O], operation func(op *O, bad bool, p *Problems)) (kept Problems) {
	required(p, "siteId", siteID)
	required(p, "operations", operations)
	check(p, "operations", operations, func(ops []O) error {
		if len(ops) < 1 || len(ops) > MaxBatch {
			return errors.New("must have 1 to 1,000 operations")
		}
		return nil
	})
	if p.Has("operations") {
		return kept
	}
	for i := range operations.Value {
		operation(&operations.Value[i], p.Has(fmt.Sprintf("operations[%d]", i)), p.In(OperationField(i, "")))
	}
	if siteID.Set {
		kept, *p = *p, Problems{}
	}
	return kept
}

func (o *PageOperation) clean(p *Problems) {
	check(p, "locale", o.Locale, checkLocaleRef)
	o.PagePatch.clean(p)
	switch o.Op.Value {
	case OpCreate:
		refuse(p, "pageId", o.PageID.Set)
		refuse(p, "locale", o.Locale.Set)
		required(p, "pathname", o.Pathname)
		o.CheckLocale(p, false)
		o.cleanLocalizations(p)
	case OpUpdate, OpDelete:
		refuse(p, "localizations", o.Localizations.Set)
		o.cleanName(p)
		if o.Op.Value == OpDelete {
			for _, field := range o.named() {
				refuse(p, field, true)
			}
		}
		if !o.Locale.Set {
			o.CheckLocale(p, false)
		}
	default:
		required(p, "op", o.Op)
		check(p, "op", o.Op, oneOf(BatchOps))
	}
	o.Bad = o.Bad || slices.ContainsFunc([]string{"op", "pageId", "locale", "pathname", "localizations"}, p.Has)
}

// cleanName moves the pathname to Current if there is no page id.
func (o *PageOperation) cleanName(p *Problems) {
	switch {
	case o.PageID.Set || p.Has("pageId") || p.Has("pathname"):
	case !o.Pathname.Set:
		p.Add("pageId", "is required, or else a pathname")
	case o.Pathname.Value == nil:
		p.Add("pathname", "must not be null where it names the page")
	default:
		o.Current, o.Pathname = *o.Pathname.Value, Opt[*string]{}
	}
}

func (o *PageOperation) cleanLocalizations(p *Problems) {
	for _, locale := range slices.Sorted(maps.Keys(o.Localizations.Value)) {
		check(p, "localizations."+locale, Some(locale), checkLocaleRef)
		part := p.In("localizations." + locale + ".")
		patch := o.Localizations.Value[locale]
		patch.Clean(part, true)
		o.Localizations.Value[locale] = patch
		o.Bad = o.Bad || part.Has("pathname")
	}
}

func checkLocaleRef(s string) error {
	if !LocaleRefForm(s) {
		return errors.New("must be a locale code or id")
	}
	return nil
}

func refuse(p *Problems, field string, given bool) {
	if given {
		p.Add(field, "must not be given here")
	}
}
