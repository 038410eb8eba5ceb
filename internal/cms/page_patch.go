package cms

import "errors"

// PagePatch changes a page in its default locale or in another one. Null clears a
// field in the default locale; in another one, the field is inherited again.
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
	Content                   Opt[*Content]
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
		*n = 0 // no minus zero
	}
	check(p, "sitemapFrequency", c.SitemapFrequency, func(f *Frequency) error {
		if f == nil {
			return nil
		}
		return oneOf(Frequencies)(*f)
	})
}

// CheckLocale notes what the locale does not allow: some nulls in the default
// locale, and a name in any other.
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
	if c.Name.Set {
		p.Name = &c.Name.Value
	}
	values, given, null := c.read()
	if localeID == NoID {
		p.CopyFrom(values, given)
	} else {
		l, ok := p.Localizations[localeID]
		if !ok {
			l = Localization{Values: p.Values}
		}
		l.Own = l.Own&^null | (given &^ null)
		l.CopyFrom(values, given&^null)
		p.Localizations[localeID] = l
	}
	p.inherit()
	return p
}

// read returns the values of the patch, which fields it has, and which of these
// are null.
func (c PagePatch) read() (v Values, given, null FieldSet) {
	for _, f := range pageFields {
		if set, isNull := f.patch(&c, &v); set {
			given |= f.field
			if isNull {
				null |= f.field
			}
		}
	}
	return v, given, null
}

// named lists the names of the fields that the patch has.
func (c PagePatch) named() []string {
	var names []string
	if c.Name.Set {
		names = append(names, "name")
	}
	_, given, _ := c.read()
	for _, f := range pageFields {
		if given.Has(f.field) {
			names = append(names, f.name)
		}
	}
	return names
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
