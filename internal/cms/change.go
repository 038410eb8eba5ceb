package cms

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
)

// ChangeKind is what a publish does to a page in one locale.
type ChangeKind string

// The kinds, in the order in which they are tried: the first that applies is
// the kind of the change.
const (
	ChangeDeleted      ChangeKind = "deleted"
	ChangeCreated      ChangeKind = "created"
	ChangePathChanged  ChangeKind = "pathChanged"
	ChangeTakenOffline ChangeKind = "takenOffline"
	ChangeTakenOnline  ChangeKind = "takenOnline"
	ChangeUpdated      ChangeKind = "updated"

	ChangeRedirectCreated ChangeKind = "redirectCreated"
	ChangeRedirectUpdated ChangeKind = "redirectUpdated"
	ChangeRedirectDeleted ChangeKind = "redirectDeleted"
)

// ChangeKinds lists all kinds.
var ChangeKinds = []ChangeKind{
	ChangeDeleted, ChangeCreated, ChangePathChanged, ChangeTakenOffline, ChangeTakenOnline, ChangeUpdated,
	ChangeRedirectCreated, ChangeRedirectUpdated, ChangeRedirectDeleted,
}

// Change is what a publish does to a page's default values, to what one other locale
// overrides, or to a redirect.
type Change struct {
	PageID           ID
	RedirectID       ID `json:",omitzero"` // NoID: of a page
	LocaleID         ID // NoID: the default values, or a redirect of every locale
	Kind             ChangeKind
	Pathname         string
	PreviousPathname *string
	Fields           []FieldChange
	Own              FieldSet // for the plan, which covers overrides that equal what they override
	unlisted         []ownership
}

// ownership is which values a locale has of its own.
type ownership struct {
	LocaleID ID
	Own      FieldSet
}

// Planned is everything about a change that a plan covers. A null that a locale
// starts or stops to own may change what later publishes do, though readers see no
// difference now: it is not listed, but planned with the last change of its page.
func (c Change) Planned() []any {
	if c.unlisted == nil {
		return []any{c}
	}
	return []any{c, c.unlisted}
}

// FieldChange is a stored value that differs. Nil is null, or no value.
type FieldChange struct {
	Field    string
	From, To any
}

// ID identifies a change. It is computed from the ids of the page and the locale, or
// that of the redirect, and the same in every list.
func (c Change) ID() ID {
	if c.RedirectID != NoID {
		return c.RedirectID
	}
	return mixIDs(c.PageID, c.LocaleID)
}

// Place is the place of the change in a list.
func (c Change) Place() ChangePlace {
	if c.RedirectID != NoID {
		return ChangePlace{RedirectID: c.RedirectID}
	}
	return ChangePlace{PageID: c.PageID, LocaleID: c.LocaleID}
}

// mixIDs combines the random part of one id with that of another. It is its own
// inverse.
func mixIDs(id, other ID) ID {
	const notVariant = 1<<62 - 1
	low := binary.BigEndian.Uint64(id[8:]) ^ (binary.BigEndian.Uint64(other[8:]) & notVariant)
	binary.BigEndian.PutUint64(id[8:], low)
	return id
}

// ChangePlaces are the places that a change of a page with an id may have in a list, one for
// each locale.
func ChangePlaces(id ID, locales Locales) []ChangePlace {
	places := []ChangePlace{{PageID: id}}
	for _, l := range locales {
		places = append(places, ChangePlace{PageID: mixIDs(id, l.ID), LocaleID: l.ID})
	}
	return places
}

// ChangePlace is the place of a change in a list, which is ordered by page, the
// default values first, and then by redirect.
type ChangePlace struct{ PageID, LocaleID, RedirectID ID }

// Compare orders two places.
func (p ChangePlace) Compare(o ChangePlace) int {
	return cmp.Or(CompareIDs(p.RedirectID, o.RedirectID), CompareIDs(p.PageID, o.PageID), CompareIDs(p.LocaleID, o.LocaleID))
}

// Changes are the differences between two states of a page's live version. Nil is
// a page that is not live. Hidden locales have no changes.
func Changes(before, after *Page, locales Locales) []Change {
	var changes []Change
	var unlisted []ownership
	note := func(id ID, from, to *Localization) {
		if c, ok := change(before, after, id, from, to); ok {
			changes = append(changes, c)
		} else if from != nil && to != nil && from.Own != to.Own {
			unlisted = append(unlisted, ownership{id, to.Own})
		}
	}
	note(NoID, defaults(before), defaults(after))
	for _, id := range localizedIn(before, after) {
		if l, ok := locales.ByID(id); ok && l.DeletedAt == nil {
			note(id, overrides(before, id), overrides(after, id))
		}
	}
	if len(changes) > 0 {
		changes[len(changes)-1].unlisted = unlisted
	}
	return changes
}

// localizedIn are the locales that override something in either state, by id.
func localizedIn(pages ...*Page) []ID {
	ids := map[ID]bool{}
	for _, p := range pages {
		if p != nil {
			for id := range p.Localizations {
				ids[id] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(ids), CompareIDs)
}

func defaults(p *Page) *Localization {
	if p == nil {
		return nil
	}
	return &Localization{AllFields, p.Values}
}

func overrides(p *Page, localeID ID) *Localization {
	if p == nil {
		return nil
	}
	l := p.Localizations[localeID] // none: it overrides nothing
	return &l
}

func change(before, after *Page, localeID ID, from, to *Localization) (Change, bool) {
	fields := fieldChanges(before, after, localeID, from, to)
	if was, is := nameOf(before), nameOf(after); localeID == NoID && was != is {
		fields = append([]FieldChange{{"name", was, is}}, fields...)
	}
	c := Change{LocaleID: localeID, Fields: fields}
	if to != nil {
		c.Own = to.Own
	}
	switch {
	case after == nil && from != nil && from.Own != 0:
		c.PageID, c.Kind, c.Pathname = before.ID, ChangeDeleted, from.Pathname
		return c, true
	case before == nil && to != nil && to.Own != 0:
		c.PageID, c.Kind, c.Pathname = after.ID, ChangeCreated, to.Pathname
		return c, true
	case before == nil || after == nil || len(fields) == 0:
		return c, false
	}
	was, is := before.In(localeID).Values, after.In(localeID).Values
	c.PageID, c.Pathname = after.ID, is.Pathname
	if was.Pathname != is.Pathname {
		c.PreviousPathname = &was.Pathname
	}
	switch {
	case was.Pathname != is.Pathname && changedField(fields, "pathname"):
		c.Kind = ChangePathChanged
	case was.IsOnline && !is.IsOnline && changedField(fields, "isOnline"):
		c.Kind = ChangeTakenOffline
	case !was.IsOnline && is.IsOnline && changedField(fields, "isOnline"):
		c.Kind = ChangeTakenOnline
	default:
		c.Kind = ChangeUpdated
	}
	return c, true
}

func nameOf(p *Page) any {
	if p == nil {
		return nil
	}
	return deref(p.Name)
}

func changedField(fields []FieldChange, name string) bool {
	return slices.ContainsFunc(fields, func(f FieldChange) bool { return f.Field == name })
}

// fieldChanges are the stored values that differ: those that a locale
// overrides, or all of the default ones. Where one side owns a null and the other
// inherits, they are the values in effect.
func fieldChanges(before, after *Page, localeID ID, from, to *Localization) []FieldChange {
	var changes []FieldChange
	for _, f := range pageFields {
		was, is := f.own(from), f.own(to)
		if was == is && before != nil && after != nil && from.Own.Has(f.field) != to.Own.Has(f.field) {
			shown, next := before.In(localeID).Values, after.In(localeID).Values
			was, is = f.value(&shown), f.value(&next)
		}
		if was != is {
			changes = append(changes, FieldChange{f.name, was, is})
		}
	}
	return changes
}

// own is the value that a localization has of its own, or nil.
func (f pageField) own(l *Localization) any {
	if l == nil || !l.Own.Has(f.field) {
		return nil
	}
	return f.value(&l.Values)
}
