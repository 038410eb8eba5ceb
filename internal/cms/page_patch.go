package cms

import "errors"

// PagePatch changes a page in its default locale or in another one. Null
// clears a field there, or returns it to inheritance here.
type PagePatch struct {
	Pathname                  Opt[*string]
	Name                      Opt[string]
	Title                     Opt[*string]
	Description               Opt[*string]
	CanonicalURL              Opt[*string]
	SocialImageURL            Opt[*string]
	SitemapPriority           Opt[*float64]
	SitemapFrequency          Opt[*Frequency]
	IsOnline                  Opt[*bool]
	ExcludedFromSearchEngines Opt[*bool]
}

// Clean normalizes the values and notes what is wrong with them in the default
// locale, or in another.
func (c *PagePatch) Clean(p *Problems, localized bool) {
	c.CheckLocale(p, localized)
	c.clean(p)
}

// clean is Clean for a locale that is not known yet.
func (c *PagePatch) clean(p *Problems) {
	cleanPtr(p, "pathname", &c.Pathname, ParsePathname)
	check(p, "name", c.Name, checkName)
	cleanPtr(p, "title", &c.Title, textRule)
	cleanPtr(p, "description", &c.Description, textRule)
	cleanPtr(p, "canonicalUrl", &c.CanonicalURL, ParseURL)
	cleanPtr(p, "socialImageUrl", &c.SocialImageURL, ParseURL)
	check(p, "sitemapPriority", c.SitemapPriority, func(n *float64) error {
		if n != nil && (*n < 0 || *n > 1) {
			return errors.New("must be between 0 and 1")
		}
		return nil
	})
	if n := c.SitemapPriority.Value; n != nil && *n == 0 {
		*n = 0 // minus zero too
	}
	check(p, "sitemapFrequency", c.SitemapFrequency, func(f *Frequency) error {
		if f == nil {
			return nil
		}
		return oneOf(Frequencies)(*f)
	})
}

// Suit notes what only the default locale or only another one may have: a name,
// and nulls.
func (c *PagePatch) CheckLocale(p *Problems, localized bool) {
	if !localized {
		refuseNull(p, "pathname", c.Pathname)
		refuseNull(p, "isOnline", c.IsOnline)
	} else if c.Name.Set {
		p.Add("name", "can't be set for one locale")
	}
}

func refuseNull[T any](p *Problems, field string, o Opt[*T]) {
	if o.Set && o.Value == nil {
		p.Add(field, "must not be null")
	}
}

// Apply returns the page as the patch leaves it. localeID is NoID for the
// default locale.
func (c PagePatch) Apply(p Page, localeID ID) Page {
	p = p.Clone()
	c.Name.applyPtr(&p.Name)
	if localeID == NoID {
		given, _ := c.given()
		p.CopyFrom(c.values(), given)
	} else {
		l, ok := p.Localizations[localeID]
		if !ok {
			l = Localization{Values: p.Values}
		}
		given, null := c.given()
		l.Own = l.Own&^null | (given &^ null)
		l.CopyFrom(c.values(), given&^null)
		p.Localizations[localeID] = l
	}
	p.inherit()
	return p
}

func (o Opt[T]) applyPtr(dst **T) {
	if o.Set {
		*dst = &o.Value
	}
}

// given returns which fields the patch names, and which of them are null.
func (c PagePatch) given() (given, null FieldSet) {
	note(&given, &null, FieldPathname, c.Pathname)
	note(&given, &null, FieldTitle, c.Title)
	note(&given, &null, FieldDescription, c.Description)
	note(&given, &null, FieldCanonicalURL, c.CanonicalURL)
	note(&given, &null, FieldSocialImageURL, c.SocialImageURL)
	note(&given, &null, FieldSitemapPriority, c.SitemapPriority)
	note(&given, &null, FieldSitemapFrequency, c.SitemapFrequency)
	note(&given, &null, FieldIsOnline, c.IsOnline)
	note(&given, &null, FieldExcluded, c.ExcludedFromSearchEngines)
	return given, null
}

func note[T any](given, null *FieldSet, f FieldSet, o Opt[*T]) {
	if !o.Set {
		return
	}
	*given |= f
	if o.Value == nil {
		*null |= f
	}
}

// named lists the fields that the patch names, as requests spell them.
func (c PagePatch) named() []string {
	var names []string
	for name, set := range map[string]bool{
		"pathname": c.Pathname.Set, "name": c.Name.Set, "title": c.Title.Set, "description": c.Description.Set,
		"canonicalUrl": c.CanonicalURL.Set, "socialImageUrl": c.SocialImageURL.Set,
		"sitemapPriority": c.SitemapPriority.Set, "sitemapFrequency": c.SitemapFrequency.Set,
		"isOnline": c.IsOnline.Set, "excludedFromSearchEngines": c.ExcludedFromSearchEngines.Set,
	} {
		if set {
			names = append(names, name)
		}
	}
	return names
}

// values are the values that the patch names; fields that it does not name
// are left at zero.
func (c PagePatch) values() Values {
	v := Values{
		Title:                     c.Title.Value,
		Description:               c.Description.Value,
		CanonicalURL:              c.CanonicalURL.Value,
		SocialImageURL:            c.SocialImageURL.Value,
		SitemapPriority:           c.SitemapPriority.Value,
		SitemapFrequency:          c.SitemapFrequency.Value,
		ExcludedFromSearchEngines: c.ExcludedFromSearchEngines.Value,
	}
	if c.Pathname.Value != nil {
		v.Pathname = *c.Pathname.Value
	}
	if c.IsOnline.Value != nil {
		v.IsOnline = *c.IsOnline.Value
	}
	return v
}

// NewPage is what a page is created from.
type NewPage struct {
	SiteID Opt[ID]
	PagePatch
}

// Clean normalizes the values and notes what is wrong with them.
func (n *NewPage) Clean(p *Problems) {
	required(p, "siteId", n.SiteID)
	required(p, "pathname", n.Pathname)
	n.PagePatch.Clean(p, false)
}
