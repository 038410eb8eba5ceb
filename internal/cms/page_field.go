package cms

import "slices"

// FieldSet is a set of the fields that a locale can override.
type FieldSet uint16

// The fields, as members of a FieldSet. Stored: their values never change.
const (
	FieldPathname FieldSet = 1 << iota
	FieldTitle
	FieldDescription
	FieldCanonicalURL
	FieldSocialImageURL
	FieldSitemapPriority
	FieldSitemapFrequency
	FieldIsOnline
	FieldExcluded
	FieldContent

	AllFields FieldSet = 1<<iota - 1
)

// Has reports whether the set has every field of another.
func (s FieldSet) Has(f FieldSet) bool { return s&f == f }

// pageField gives access to one field, by the name that requests use.
type pageField struct {
	name  string
	field FieldSet
	value func(*Values) any // nil for null
	same  func(a, b *Values) bool
	copy  func(to, from *Values)
	// patch writes the value of a patch, and reports whether the patch has the
	// field and whether it is null there.
	patch func(c *PagePatch, to *Values) (given, null bool)
}

// pageFields are all fields, in the order in which changes list them.
var pageFields = []pageField{
	requiredField("pathname", FieldPathname, func(v *Values) *string { return &v.Pathname }, func(c *PagePatch) Opt[*string] { return c.Pathname }),
	optionalField("title", FieldTitle, func(v *Values) **string { return &v.Title }, func(c *PagePatch) Opt[*string] { return c.Title }),
	optionalField("description", FieldDescription, func(v *Values) **string { return &v.Description }, func(c *PagePatch) Opt[*string] { return c.Description }),
	optionalField("canonicalUrl", FieldCanonicalURL, func(v *Values) **string { return &v.CanonicalURL }, func(c *PagePatch) Opt[*string] { return c.CanonicalURL }),
	optionalField("socialImageUrl", FieldSocialImageURL, func(v *Values) **string { return &v.SocialImageURL }, func(c *PagePatch) Opt[*string] { return c.SocialImageURL }),
	optionalField("sitemapPriority", FieldSitemapPriority, func(v *Values) **float64 { return &v.SitemapPriority }, func(c *PagePatch) Opt[*float64] { return c.SitemapPriority }),
	optionalField("sitemapFrequency", FieldSitemapFrequency, func(v *Values) **Frequency { return &v.SitemapFrequency }, func(c *PagePatch) Opt[*Frequency] { return c.SitemapFrequency }),
	requiredField("isOnline", FieldIsOnline, func(v *Values) *bool { return &v.IsOnline }, func(c *PagePatch) Opt[*bool] { return c.IsOnline }),
	optionalField("excludedFromSearchEngines", FieldExcluded, func(v *Values) **bool { return &v.ExcludedFromSearchEngines }, func(c *PagePatch) Opt[*bool] { return c.ExcludedFromSearchEngines }),
	optionalField("content", FieldContent, func(v *Values) **Digest { return &v.Content }, func(c *PagePatch) Opt[*Digest] {
		if c.Content.Value == nil {
			return Opt[*Digest]{Set: c.Content.Set}
		}
		return Some(&c.Content.Value.Digest)
	}),
}

func optionalField[T comparable](name string, field FieldSet, in func(*Values) **T, patch func(*PagePatch) Opt[*T]) pageField {
	return pageField{
		name, field,
		func(v *Values) any { return deref(*in(v)) },
		func(a, b *Values) bool { return equalPtr(*in(a), *in(b)) },
		func(to, from *Values) { *in(to) = *in(from) },
		func(c *PagePatch, to *Values) (given, null bool) {
			o := patch(c)
			*in(to) = o.Value
			return o.Set, o.Value == nil
		},
	}
}

// requiredField is a field that is not null in the default locale.
func requiredField[T comparable](name string, field FieldSet, in func(*Values) *T, patch func(*PagePatch) Opt[*T]) pageField {
	return pageField{
		name, field,
		func(v *Values) any { return *in(v) },
		func(a, b *Values) bool { return *in(a) == *in(b) },
		func(to, from *Values) { *in(to) = *in(from) },
		func(c *PagePatch, to *Values) (given, null bool) {
			o := patch(c)
			if o.Value != nil {
				*in(to) = *o.Value
			}
			return o.Set, o.Value == nil
		},
	}
}

func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// CopyFrom copies the values of some fields.
func (v *Values) CopyFrom(o Values, fields FieldSet) {
	for _, f := range pageFields {
		if fields.Has(f.field) {
			f.copy(v, &o)
		}
	}
}

// same reports whether two sets of values are equal.
func (v *Values) same(o *Values) bool {
	return !slices.ContainsFunc(pageFields, func(f pageField) bool { return !f.same(v, o) })
}

// Diff returns the fields in which two sets of values differ.
func (v Values) Diff(o Values) FieldSet {
	var differ FieldSet
	for _, f := range pageFields {
		if !f.same(&v, &o) {
			differ |= f.field
		}
	}
	return differ
}
