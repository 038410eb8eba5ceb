package cms

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

	AllFields FieldSet = 1<<iota - 1
)

// Has tells whether the set has every field of another.
func (s FieldSet) Has(f FieldSet) bool { return s&f == f }

// CopyFrom takes over the values of some fields.
func (v *Values) CopyFrom(o Values, fields FieldSet) {
	copyField(fields, FieldPathname, &v.Pathname, o.Pathname)
	copyField(fields, FieldTitle, &v.Title, o.Title)
	copyField(fields, FieldDescription, &v.Description, o.Description)
	copyField(fields, FieldCanonicalURL, &v.CanonicalURL, o.CanonicalURL)
	copyField(fields, FieldSocialImageURL, &v.SocialImageURL, o.SocialImageURL)
	copyField(fields, FieldSitemapPriority, &v.SitemapPriority, o.SitemapPriority)
	copyField(fields, FieldSitemapFrequency, &v.SitemapFrequency, o.SitemapFrequency)
	copyField(fields, FieldIsOnline, &v.IsOnline, o.IsOnline)
	copyField(fields, FieldExcluded, &v.ExcludedFromSearchEngines, o.ExcludedFromSearchEngines)
}

func copyField[T any](fields, f FieldSet, dst *T, src T) {
	if fields.Has(f) {
		*dst = src
	}
}

// Diff returns the fields in which two sets of values differ.
func (v Values) Diff(o Values) FieldSet {
	return diffField(FieldPathname, v.Pathname == o.Pathname) |
		diffField(FieldTitle, equalPtr(v.Title, o.Title)) |
		diffField(FieldDescription, equalPtr(v.Description, o.Description)) |
		diffField(FieldCanonicalURL, equalPtr(v.CanonicalURL, o.CanonicalURL)) |
		diffField(FieldSocialImageURL, equalPtr(v.SocialImageURL, o.SocialImageURL)) |
		diffField(FieldSitemapPriority, equalPtr(v.SitemapPriority, o.SitemapPriority)) |
		diffField(FieldSitemapFrequency, equalPtr(v.SitemapFrequency, o.SitemapFrequency)) |
		diffField(FieldIsOnline, v.IsOnline == o.IsOnline) |
		diffField(FieldExcluded, equalPtr(v.ExcludedFromSearchEngines, o.ExcludedFromSearchEngines))
}

func diffField(f FieldSet, same bool) FieldSet {
	if same {
		return 0
	}
	return f
}
