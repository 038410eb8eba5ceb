package cms

// Claim is a pathname that a page, route or redirect holds in one version and locale
// of a site. A page holds a pathname in the default locale (LocaleID NoID) and one in
// each locale that overrides it. A route holds its pathname for every locale, and a
// redirect holds its source for every locale (NoID) or for one, by its own id also if
// that is the default locale.
type Claim struct {
	Version    Version
	LocaleID   ID
	Pathname   string
	Owner      ID
	ByRoute    bool
	ByRedirect bool
}

// ByPage reports whether a page holds the pathname.
func (c Claim) ByPage() bool { return !c.ByRoute && !c.ByRedirect }

// Claims are the pathnames that a page holds. Deleted pages and hidden
// locales hold none.
func (p Page) Claims(locales Locales) []Claim {
	if p.ID == NoID || p.DeletedAt != nil {
		return nil
	}
	claims := []Claim{{Version: p.Version, Pathname: p.Pathname, Owner: p.ID}}
	for _, l := range locales {
		if loc, ok := p.Localizations[l.ID]; ok && l.DeletedAt == nil && loc.Own.Has(FieldPathname) {
			claims = append(claims, Claim{Version: p.Version, LocaleID: l.ID, Pathname: loc.Pathname, Owner: p.ID})
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
		{Version: Draft, Pathname: r.Pathname, Owner: r.ID, ByRoute: true},
		{Version: Live, Pathname: r.Pathname, Owner: r.ID, ByRoute: true},
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
	case c.ByRedirect && o.ByRedirect:
		return false
	case (c.ByRedirect && c.LocaleID == NoID) || (o.ByRedirect && o.LocaleID == NoID):
		return true
	case c.LocaleID == NoID:
		return !overrides(c.Owner, o.LocaleID)
	case o.LocaleID == NoID:
		return !overrides(o.Owner, c.LocaleID)
	}
	return false
}
