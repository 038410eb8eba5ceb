package modeltest

import (
	"galley/internal/cms"
)

// absent is a value that a locale inherits, or of a page that is not live.
type absent struct{}

// FieldChange is a value that differs; either side may be absent.
type FieldChange struct {
	From, To any
}

// Change is what a publish does to a page in one locale.
type Change struct {
	PageID           cms.ID
	LocaleID         cms.ID // NoID: the default values, whichever locale that is
	Kind             cms.ChangeKind
	Pathname         string
	PreviousPathname string // "" unless it moved
	Fields           map[string]FieldChange
}

// changes are what turns one live version into another, in the locales given.
func (s *Site) changes(before, after Version, locales []*Locale) []Change {
	var list []Change
	for _, id := range s.PageIDs {
		list = append(list, s.pageChanges(id, before.at(id), after.at(id), locales)...)
	}
	return list
}

func (s *Site) pageChanges(id cms.ID, before, after *Page, locales []*Locale) []Change {
	var list []Change
	for _, l := range locales {
		key := l.ID
		if l.ID == s.Default {
			key = cms.NoID
		}
		from, to := stored(before, key), stored(after, key)
		fields := diff(from, to)
		if before != nil && after != nil {
			inEffect(fields, before.In(key), after.In(key))
		}
		if len(fields) == 0 {
			continue
		}
		c := Change{PageID: id, LocaleID: key, Fields: fields}
		switch {
		case after == nil:
			c.Kind, c.Pathname = cms.ChangeDeleted, before.In(key)["pathname"].(string)
		case before == nil:
			c.Kind, c.Pathname = cms.ChangeCreated, after.In(key)["pathname"].(string)
		default:
			c.describe(before.In(key), after.In(key))
		}
		list = append(list, c)
	}
	return list
}

// stored are a page's own values in a locale: what a publish moves.
func stored(p *Page, locale cms.ID) Fields {
	if p == nil {
		return nil
	}
	if locale != cms.NoID {
		return p.Own[locale]
	}
	all := p.In(locale)
	all["name"] = p.Name
	return all
}

func diff(from, to Fields) map[string]FieldChange {
	fields := map[string]FieldChange{}
	for _, side := range []Fields{from, to} {
		for name := range side {
			if was, is := valueOf(from, name), valueOf(to, name); was != is {
				fields[name] = FieldChange{was, is}
			}
		}
	}
	return fields
}

// inEffect replaces a null that only one side owns by the value that readers see.
func inEffect(fields map[string]FieldChange, was, is Fields) {
	for name, f := range fields {
		if null(f.From) != null(f.To) {
			continue
		}
		if delete(fields, name); was[name] != is[name] {
			fields[name] = FieldChange{was[name], is[name]}
		}
	}
}

func null(v any) any {
	if v == (absent{}) {
		return nil
	}
	return v
}

func valueOf(f Fields, name string) any {
	if v, ok := f[name]; ok {
		return v
	}
	return absent{}
}

// describe returns what a change of a page that remains live does in a locale. The
// kinds depend on the locale's own values alone.
func (c *Change) describe(was, is Fields) {
	c.Pathname = is["pathname"].(string)
	if was["pathname"] != is["pathname"] {
		c.PreviousPathname = was["pathname"].(string)
	}
	differs := func(field string) bool {
		_, own := c.Fields[field]
		return own && was[field] != is[field]
	}
	switch {
	case differs("pathname"):
		c.Kind = cms.ChangePathChanged
	case differs("isOnline") && was["isOnline"] == true:
		c.Kind = cms.ChangeTakenOffline
	case differs("isOnline"):
		c.Kind = cms.ChangeTakenOnline
	default:
		c.Kind = cms.ChangeUpdated
	}
}

// pending are the changes that publishing a selection would make.
func (s *Site) pending(sel Selection) []Change {
	return s.changes(s.Live, s.published(sel), s.shown())
}

// planned is what a plan covers: the changes, and everything that a locale has
// of its own on the pages that change.
func (s *Site) planned(sel Selection) []Change {
	next, list := s.published(sel), s.pending(sel)
	changed := map[cms.ID]bool{}
	for _, c := range list {
		changed[c.PageID] = true
	}
	for _, id := range s.PageIDs {
		for _, l := range s.shown() {
			if p := next.at(id); p != nil && changed[id] && l.ID != s.Default {
				if fields := diff(stored(s.Live.at(id), l.ID), p.Own[l.ID]); len(fields) > 0 {
					list = append(list, Change{PageID: id, LocaleID: l.ID, Fields: fields})
				}
			}
		}
	}
	return list
}

// dark counts the pages that readers would lose.
func (s *Site) dark(next Version) int {
	n := 0
	for id, was := range s.Live {
		is, stays := next[id]
		if !stays || (was.Default["isOnline"] == true && is.Default["isOnline"] == false) {
			n++
		}
	}
	return n
}
