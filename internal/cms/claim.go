package cms

// Claim is a pathname that a page or route holds in one version and locale of
// a site. A page holds a pathname in the default locale (LocaleID NoID) and one in
// each locale that overrides it. A route holds its pathname for every locale.
type Claim struct {
	Version  Version
	LocaleID ID
	Pathname string
	Owner    ID
	ByRoute  bool
}

// Claims are the pathnames that a page holds. Deleted pages and hidden
// locales hold none.
func (p Page) Claims(locales Locales) []Claim {
	if p.ID == NoID || p.DeletedAt != nil {
		return nil
	}
	claims := []Claim{{p.Version, NoID, p.Pathname, p.ID, false}}
	for _, l := range locales {
		if loc, ok := p.Localizations[l.ID]; ok && l.DeletedAt == nil && loc.Own.Has(FieldPathname) {
			claims = append(claims, Claim{p.Version, l.ID, loc.Pathname, p.ID, false})
		}
	}
	return claims
}

// Claims are the pathnames that a route holds: routes act at once, in draft
// and live.
func (r Route) Claims() []Claim {
	if r.ID == NoID || r.DeletedAt != nil {
		return nil
	}
	return []Claim{
		{Draft, NoID, r.Pathname, r.ID, true},
		{Live, NoID, r.Pathname, r.ID, true},
	}
}

// Clashes reports whether claim c conflicts with another on the same pathname and
// version. overrides reports whether a page has a pathname of its own in a locale,
// where its default one is free then.
func (c Claim) Clashes(o Claim, overrides func(page, locale ID) bool) bool {
	switch {
	case c.Owner == o.Owner:
		return false
	case c.ByRoute || o.ByRoute || c.LocaleID == o.LocaleID:
		return true
	case c.LocaleID == NoID:
		return !overrides(c.Owner, o.LocaleID)
	case o.LocaleID == NoID:
		return !overrides(o.Owner, c.LocaleID)
	}
	return false
}
