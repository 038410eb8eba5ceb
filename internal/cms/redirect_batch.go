package cms

import (
	"slices"
)

// RedirectBatch changes many redirects of a site, all or none of them.
type RedirectBatch struct {
	SiteID     Opt[ID]
	Operations Opt[[]RedirectOperation]
	// Problems are those that Clean found. The service reports them together with
	// those that depend on the site.
	Problems Problems
}

// RedirectOperation is one change of a batch. Without an id, source and locale name the
// redirect that is changed.
type RedirectOperation struct {
	Op         Opt[BatchOp]
	RedirectID Opt[ID]
	RedirectPatch
	// Current is the source that names the redirect where RedirectID does not.
	Current string
	// Bad is set if what the operation changes is not known.
	Bad bool
}

// Clean normalizes the values and notes what is wrong with them.
func (b *RedirectBatch) Clean(p *Problems) {
	b.Problems = cleanBatch(p, b.SiteID, b.Operations, func(op *RedirectOperation, bad bool, p *Problems) {
		if op.Bad = bad; !bad {
			op.clean(p)
		}
	})
}

func (o *RedirectOperation) clean(p *Problems) {
	switch o.Op.Value {
	case OpCreate:
		refuse(p, "redirectId", o.RedirectID.Set)
		o.cleanNew(p)
	case OpUpdate, OpDelete:
		o.RedirectPatch.Clean(p)
		o.cleanName(p)
		if o.Op.Value == OpDelete {
			refuse(p, "source", o.Source.Set)
			refuse(p, "target", o.Target.Set)
			refuse(p, "status", o.Status.Set)
			refuse(p, "locale", o.Locale.Set && o.RedirectID.Set)
		}
	default:
		o.RedirectPatch.Clean(p)
		required(p, "op", o.Op)
		check(p, "op", o.Op, oneOf(BatchOps))
	}
	o.Bad = o.Bad || slices.ContainsFunc([]string{"op", "redirectId", "locale", "source", "target", "status"}, p.Has)
}

// cleanName moves the source to Current if there is no id.
func (o *RedirectOperation) cleanName(p *Problems) {
	switch {
	case o.RedirectID.Set || p.Has("redirectId") || p.Has("source"):
	case !o.Source.Set:
		p.Add("redirectId", "is required, or else a source")
	default:
		o.Current, o.Source = o.Source.Value, Opt[string]{}
	}
}
