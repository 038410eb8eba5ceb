package cms

import "time"

// PublishRedirect returns the live version of a redirect after its draft goes live. Nil
// is a redirect that is not live.
func PublishRedirect(draft, live *Redirect) *Redirect {
	switch {
	case draft == nil || draft.DeletedAt != nil:
		return nil
	case live != nil && live.SameContent(*draft):
		return live
	}
	next := *draft
	next.Version, next.Dirty = Live, false
	return &next
}

// IsCleanRedirect reports whether publishing a draft would change nothing.
func IsCleanRedirect(draft, live *Redirect) bool {
	if draft == nil || draft.DeletedAt != nil || live == nil {
		return live == nil && (draft == nil || draft.DeletedAt != nil)
	}
	return draft.SameContent(*live)
}

// DiscardRedirect returns a draft reset to what is live. If live is nil, the redirect is
// not live and its draft is deleted.
func DiscardRedirect(draft Redirect, live *Redirect, now time.Time) Redirect {
	if live == nil {
		if draft.DeletedAt == nil {
			draft.DeletedAt, draft.UpdatedAt = &now, now
		}
		draft.Dirty = false
		return draft
	}
	next := *live
	next.Version, next.Since, next.Dirty = Draft, 0, false
	return next
}
