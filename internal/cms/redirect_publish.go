package cms

import (
	"crypto/sha256"
	"fmt"
	"time"
)

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

// PathMove is a pathname in effect that a page leaves for another, in one locale or in
// every locale (NoID).
type PathMove struct {
	LocaleID ID
	From, To string
}

// Moves are the pathnames that a live page leaves. A page without a pathname of its own
// in any locale leaves one for every locale.
func (c PageChange) Moves(locales Locales, defaultLocale ID) []PathMove {
	if c.Before == nil || c.After == nil {
		return nil
	}
	if !c.Before.ownsPathname(locales) && !c.After.ownsPathname(locales) {
		if c.Before.Pathname == c.After.Pathname {
			return nil
		}
		return []PathMove{{NoID, c.Before.Pathname, c.After.Pathname}}
	}
	var moves []PathMove
	for _, l := range locales {
		in := l.ID
		if in == defaultLocale {
			in = NoID
		}
		from, to := c.Before.In(in).Values.Pathname, c.After.In(in).Values.Pathname
		if l.DeletedAt == nil && from != to {
			moves = append(moves, PathMove{l.ID, from, to})
		}
	}
	return moves
}

// ownsPathname reports whether a locale that is shown overrides the pathname.
func (p Page) ownsPathname(locales Locales) bool {
	for id, l := range p.Localizations {
		if l.Own.Has(FieldPathname) && locales.Shows(id) {
			return true
		}
	}
	return false
}

// AutomaticRedirect is the redirect that a publish leaves where a page was. Its id is
// computed from what causes it, so that it is the same in a list of changes and in the
// publish.
func (c PageChange) AutomaticRedirect(move PathMove) Redirect {
	seed := fmt.Append(nil, c.After.ID, move.LocaleID, c.Before.Since, move.From)
	return Redirect{
		ID: automaticID(c.After.SiteID, c.After.UpdatedAt, sha256.Sum256(seed)), SiteID: c.After.SiteID, Version: Live,
		LocaleID: move.LocaleID, Source: move.From, Target: move.To, Status: DefaultRedirectStatus, IsAutomatic: true,
	}
}

// automaticID is a UUIDv7 that ends with a checksum of the site and the rest.
func automaticID(siteID ID, at time.Time, random [sha256.Size]byte) ID {
	id := AuditBefore(at)
	copy(id[6:12], random[:])
	id[6] = 0x70 | id[6]&0x0f
	id[8] = 0x80 | id[8]&0x3f
	sum := idChecksum(siteID, id)
	copy(id[12:], sum[:])
	return id
}

func idChecksum(siteID, id ID) [4]byte {
	sum := sha256.Sum256(append(siteID[:], id[:12]...))
	return [4]byte(sum[:4])
}

// IsAutomaticID reports whether an id may be that of an automatic redirect of a site.
func IsAutomaticID(siteID, id ID) bool { return [4]byte(id[12:]) == idChecksum(siteID, id) }

// HasRedirect reports whether a redirect is selected by its locale. Those of every
// locale belong to the default one. The selection must have been Applied.
func (s Selection) HasRedirect(r Redirect, defaultLocale ID) bool {
	return s.Has(r.LocaleID) || (r.LocaleID == defaultLocale && s.Has(NoID))
}

// Change returns what the change does, if it does anything.
func (c RedirectChange) Change(locales Locales) (Change, bool) {
	shown := Change{RedirectID: c.ID(), Fields: redirectFields(c.Before, c.After, locales)}
	last := c.After
	switch {
	case c.After == nil:
		shown.Kind, last = ChangeRedirectDeleted, c.Before
	case c.Before == nil:
		shown.Kind = ChangeRedirectCreated
	default:
		shown.Kind = ChangeRedirectUpdated
		if c.Before.Source != c.After.Source {
			shown.PreviousPathname = &c.Before.Source
		}
	}
	shown.LocaleID, shown.Pathname = last.LocaleID, last.Source
	return shown, len(shown.Fields) > 0
}

// redirectFields are the values in which two states of a redirect differ.
func redirectFields(before, after *Redirect, locales Locales) []FieldChange {
	values := func(r *Redirect) [5]any {
		if r == nil {
			return [5]any{}
		}
		var code any
		if l, ok := locales.ByID(r.LocaleID); ok {
			code = l.Code
		}
		return [5]any{code, r.Source, r.Target, r.Status, r.IsAutomatic}
	}
	was, is := values(before), values(after)
	var fields []FieldChange
	for i, name := range [5]string{"locale", "source", "target", "status", "isAutomatic"} {
		if was[i] != is[i] {
			fields = append(fields, FieldChange{name, was[i], is[i]})
		}
	}
	return fields
}
