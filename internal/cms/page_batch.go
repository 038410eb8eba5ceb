package cms

import (
	"errors"
	"fmt"
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

// BatchOps lists the values there are.
var BatchOps = []BatchOp{OpCreate, OpUpdate, OpDelete}

// PageBatch changes many pages of a site, all or none of them.
type PageBatch struct {
	SiteID     Opt[ID]
	Operations Opt[[]PageOperation]
}

// PageOperation is one change of a batch.
type PageOperation struct {
	Op     Opt[BatchOp]
	PageID Opt[ID]
	Locale Opt[string]
	PagePatch
}

// OperationField is the name of a field of an operation.
func OperationField(i int, field string) string { return fmt.Sprintf("operations[%d].%s", i, field) }

// Clean normalizes the values and notes what is wrong with them.
func (b *PageBatch) Clean(p *Problems) {
	required(p, "siteId", b.SiteID)
	required(p, "operations", b.Operations)
	check(p, "operations", b.Operations, func(ops []PageOperation) error {
		if len(ops) < 1 || len(ops) > MaxBatch {
			return errors.New("must have 1 to 1,000 operations")
		}
		return nil
	})
	if p.Has("operations") {
		return
	}
	for i := range b.Operations.Value {
		if p.Has(fmt.Sprintf("operations[%d]", i)) {
			continue // it is none
		}
		var part Problems
		b.Operations.Value[i].clean(&part, func(field string) bool { return p.Has(OperationField(i, field)) })
		p.Nest(OperationField(i, ""), part)
	}
}

// clean notes what is wrong with an operation. known tells of fields that are
// known to be wrong already.
func (o *PageOperation) clean(p *Problems, known func(string) bool) {
	check(p, "locale", o.Locale, func(s string) error {
		if !LocaleRefForm(s) {
			return errors.New("must be a locale code or id")
		}
		return nil
	})
	switch {
	case slices.Contains(BatchOps, o.Op.Value):
		o.suitOp(p, known)
	case o.Op.Set:
		check(p, "op", o.Op, oneOf(BatchOps))
	case !known("op"):
		p.Add("op", "is required")
	}
	o.PagePatch.clean(p)
}

// suitOp notes what does not go with what is to be done.
func (o *PageOperation) suitOp(p *Problems, known func(string) bool) {
	switch o.Op.Value {
	case OpCreate:
		refuse(p, "pageId", o.PageID)
		refuse(p, "locale", o.Locale)
		if !known("pathname") {
			required(p, "pathname", o.Pathname)
		}
	case OpDelete:
		for _, field := range o.named() {
			p.Add(field, "must not be given here")
		}
		fallthrough
	case OpUpdate:
		if !known("pageId") {
			required(p, "pageId", o.PageID)
		}
	}
	if !o.Locale.Set {
		o.Suit(p, false)
	}
}

func refuse[T any](p *Problems, field string, o Opt[T]) {
	if o.Set {
		p.Add(field, "must not be given here")
	}
}
