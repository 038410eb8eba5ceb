package cms

// PageStatus is how the draft of a page, overrides included, compares with what is
// live.
type PageStatus string

// The states of a draft.
const (
	PageNew     PageStatus = "new"
	PageChanged PageStatus = "changed"
	PageLive    PageStatus = "live"
	PageDeleted PageStatus = "deleted"
)

// PageStatuses lists all states.
var PageStatuses = []PageStatus{PageNew, PageChanged, PageLive, PageDeleted}

// StatusOf compares the draft of a page with what is live, which is nil for nothing. A
// draft has changed if a publish would list a change of it.
func StatusOf(draft Page, live *Page, locales Locales) PageStatus {
	switch {
	case draft.DeletedAt != nil:
		return PageDeleted
	case live == nil:
		return PageNew
	case len(Changes(live, &draft, locales)) == 0:
		return PageLive
	}
	return PageChanged
}

// StatusSet is a set of filters of a page list.
type StatusSet uint8

// The filters, as members of a StatusSet. Offline is about the locale shown.
const (
	FilterNew StatusSet = 1 << iota
	FilterChanged
	FilterLive
	FilterDeleted
	FilterOffline
)

// StatusFilters are the filters by the names that requests use.
var StatusFilters = map[string]StatusSet{
	string(PageNew): FilterNew, string(PageChanged): FilterChanged, string(PageLive): FilterLive,
	string(PageDeleted): FilterDeleted, "offline": FilterOffline,
}

// Admits reports whether a page with this status is one of those asked for.
func (s StatusSet) Admits(status PageStatus, isOnline bool) bool {
	return s == 0 || s&StatusFilters[string(status)] != 0 || (s&FilterOffline != 0 && !isOnline && status != PageDeleted)
}

// Names are the names of the fields of a set.
func (s FieldSet) Names() []string {
	names := []string{}
	for _, f := range pageFields {
		if s.Has(f.field) {
			names = append(names, f.name)
		}
	}
	return names
}
