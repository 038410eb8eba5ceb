package cms

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Version is a version of a site's pages: the draft, the live one, or what was
// live after an earlier publish.
type Version int64

// Editors change the draft; a publish copies it to the live version.
const (
	Draft Version = 0
	Live  Version = 1
)

// AfterPublish is what was live after the site's publish of this number, which is 1
// for the first.
func AfterPublish(seq int64) Version { return Version(-seq - 1) }

// Past reports whether the version was live earlier, and after which publish.
func (v Version) Past() (seq int64, ok bool) { return -int64(v) - 1, v < 0 }

// Frequency is how often a page changes, for search engines.
type Frequency string

// Frequencies lists all values.
var Frequencies = []Frequency{"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}

// Values are the fields of a page that a locale can override.
type Values struct {
	Pathname                  string
	Title                     *string
	Description               *string
	CanonicalURL              *string
	SocialImageURL            *string
	SitemapPriority           *float64
	SitemapFrequency          *Frequency
	IsOnline                  bool
	ExcludedFromSearchEngines *bool
	Content                   *Digest
}

// Page is a page in one version, with its values in every locale.
type Page struct {
	ID      ID
	SiteID  ID
	Version Version
	Name    *string // as given; see PageRow.DisplayName
	Values          // in the default locale
	// Localizations are the locales that override something, by locale id.
	// Those of deleted locales are kept, hidden.
	Localizations map[ID]Localization
	CreatedAt     time.Time
	UpdatedAt     time.Time
	PublishedAt   *time.Time
	DeletedAt     *time.Time
	Since         int64 // live: the number of the publish that stored it
}

// Localization is a page in a locale other than the default: all values, and which
// of them are the locale's own. The others are inherited. An own value may be null.
type Localization struct {
	Own FieldSet
	Values
}

// PageRow is a page as one locale of one version shows it, with the values of that
// locale alone: the shape in which pages are stored and listed.
type PageRow struct {
	Page        // without Localizations
	LocaleID ID // NoID: the default locale, whichever that is
	Own      FieldSet
}

// FoundPage is a page with the revision that its site had at the same time.
type FoundPage struct {
	Page
	Revision  int64
	Dirty     bool // draft: it may differ from what is live
	ClaimedIn ID   // the locale in which it holds the pathname that was asked for
}

// ListedPage is a row of a list, with the revision of its site.
type ListedPage struct {
	PageRow
	Dirty    bool          // draft: it may differ from what is live
	Paths    map[ID]string // in effect in the locales that override something, hidden ones included
	Revision int64
}

// DisplayName is the name given, or else the title, or else the last segment
// of the pathname.
func (r PageRow) DisplayName() string {
	switch {
	case r.Name != nil:
		return *r.Name
	case r.Values.Title != nil && strings.TrimSpace(*r.Values.Title) != "":
		return *r.Values.Title
	}
	return LastSegment(r.Values.Pathname)
}

// Rows are all rows of a page, the default one first.
func (p Page) Rows() []PageRow {
	rows := []PageRow{p.row(NoID, Localization{AllFields, p.Values})}
	for _, id := range slices.SortedFunc(maps.Keys(p.Localizations), CompareIDs) {
		rows = append(rows, p.row(id, p.Localizations[id]))
	}
	return rows
}

// In returns the page as a locale shows it. NoID is the default locale.
func (p Page) In(localeID ID) PageRow {
	if l, ok := p.Localizations[localeID]; ok {
		return p.row(localeID, l)
	}
	return p.row(NoID, Localization{AllFields, p.Values})
}

func (p Page) row(localeID ID, l Localization) PageRow {
	p.Values, p.Localizations = l.Values, nil
	return PageRow{p, localeID, l.Own}
}

// PageFromRows returns the page that has these rows.
func PageFromRows(rows []PageRow) Page {
	var p Page
	locs := map[ID]Localization{}
	for _, r := range rows {
		if r.LocaleID == NoID {
			p = r.Page
		} else {
			locs[r.LocaleID] = Localization{r.Own, r.Values}
		}
	}
	p.Localizations = locs
	return p
}

// Paths are the pathnames in effect in the locales that override something.
func (p Page) Paths() map[ID]string {
	paths := make(map[ID]string, len(p.Localizations))
	for id, l := range p.Localizations {
		paths[id] = l.Pathname
	}
	return paths
}

// Clone returns a page with a copy of the localizations.
func (p Page) Clone() Page {
	p.Localizations = maps.Clone(p.Localizations)
	if p.Localizations == nil {
		p.Localizations = map[ID]Localization{}
	}
	return p
}

// SameContent reports whether two states of a page have the same values.
func (p Page) SameContent(o Page) bool {
	if !equalPtr(p.Name, o.Name) || p.Values.Diff(o.Values) != 0 || len(p.Localizations) != len(o.Localizations) {
		return false
	}
	for id, l := range p.Localizations {
		ol, ok := o.Localizations[id]
		if !ok || l.Own != ol.Own || l.Diff(ol.Values) != 0 {
			return false
		}
	}
	return true
}

// inherit updates the inherited values of every localization, and drops those that
// override nothing.
func (p *Page) inherit() {
	for id, l := range p.Localizations {
		if l.Own == 0 {
			delete(p.Localizations, id)
			continue
		}
		l.CopyFrom(p.Values, AllFields&^l.Own)
		p.Localizations[id] = l
	}
}

// Delocalize drops what a locale overrides.
func (p Page) Delocalize(localeID ID) Page {
	p = p.Clone()
	delete(p.Localizations, localeID)
	return p
}

// Rebase makes another locale the default one. Every locale still shows the same:
// values that would change by inheritance become the locale's own. locales are all
// others of the site, deleted ones too.
func (p Page) Rebase(oldDefault, newDefault ID, locales []ID) Page {
	l, ok := p.Localizations[newDefault]
	if !ok {
		return p
	}
	moved := l.Diff(p.Values)
	before := p
	p = p.Clone()
	delete(p.Localizations, newDefault)
	p.Values = l.Values
	for _, id := range locales {
		if id == newDefault {
			continue
		}
		seen, ok := before.Localizations[id]
		if !ok || id == oldDefault {
			seen = Localization{Values: before.Values}
		}
		seen.Own |= moved
		p.Localizations[id] = seen
	}
	p.inherit()
	return p
}

// PageSort is the order of a page list.
type PageSort string

// The orders of a page list.
const (
	SortPath        PageSort = "path"
	SortTitle       PageSort = "title"
	SortDescription PageSort = "description"
	SortCreatedAt   PageSort = "createdAt"
	SortUpdatedAt   PageSort = "updatedAt"
)

// PageSorts lists all orders.
var PageSorts = []PageSort{SortPath, SortTitle, SortDescription, SortCreatedAt, SortUpdatedAt}

// SortKey is a value to order by: text by code point, or a time.
type SortKey struct {
	Text string
	At   time.Time
}

// PagePosition is the place in a page list after the item with this key and id.
type PagePosition struct {
	Key SortKey
	ID  ID
}

// NullableSort turns text that may be null into text that sorts nulls last.
func NullableSort(s *string) string {
	if s == nil {
		return "~"
	}
	return "=" + *s
}

// Position is the position of a row in a list of the given order.
func (r PageRow) Position(sort PageSort) PagePosition {
	var key SortKey
	switch sort {
	case SortTitle:
		key.Text = NullableSort(r.Values.Title)
	case SortDescription:
		key.Text = NullableSort(r.Values.Description)
	case SortCreatedAt:
		key.At = r.CreatedAt
	case SortUpdatedAt:
		key.At = r.UpdatedAt
	default:
		key.Text = r.Values.Pathname
	}
	return PagePosition{key, r.ID}
}

// Compare orders two positions, first to last in ascending order.
func (a PagePosition) Compare(b PagePosition) int {
	return cmp.Or(strings.Compare(a.Key.Text, b.Key.Text), a.Key.At.Compare(b.Key.At), CompareIDs(a.ID, b.ID))
}

// PageQuery asks for one page of a page list.
type PageQuery struct {
	SiteID         ID
	Version        Version
	LocaleID       ID // NoID: the default locale
	PathPrefix     string
	Under          string // only pathnames at and below this one, by segments; "" or "/": all
	Sort           PageSort
	Descending     bool
	IncludeOffline bool
	Deleted        bool // the deleted ones of the draft instead
	// Status is a filter of the draft; 0: none. A store may list pages that are new or
	// changed in place of each other, and both in place of live ones.
	Status StatusSet
	Search string // folded, in the pathname, name or title; "": all
	After  *PagePosition
	Limit  int
}

// Finds reports whether the pathname, name or title of a row contains what is searched
// for.
func (q PageQuery) Finds(r PageRow) bool {
	contains := func(s *string) bool { return s != nil && strings.Contains(Fold(*s), q.Search) }
	return q.Search == "" || contains(&r.Values.Pathname) || contains(r.Name) || contains(r.Values.Title)
}

// Compare orders two positions, first to last in the list.
func (q PageQuery) Compare(a, b PagePosition) int {
	if q.Descending {
		return b.Compare(a)
	}
	return a.Compare(b)
}
