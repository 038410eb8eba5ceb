package cms

import (
	"encoding/binary"
	"slices"
	"strings"
)

// URLChange is what a publish does to a URL.
type URLChange string

// A URL is removed if it leads to nothing after the publish, and did before. Any other
// URL that leads to something else, or whose page shows something else, is changed.
const (
	URLChanged URLChange = "changed"
	URLRemoved URLChange = "removed"
)

// URLChanges lists all values.
var URLChanges = []URLChange{URLChanged, URLRemoved}

// PublishURL is a URL at which visitors get something else since a publish.
type PublishURL struct {
	URL    string
	Change URLChange
}

// PublishURLID identifies a URL by its position in the list of a publish, from 0. The
// list never changes, so the id stays the same.
func PublishURLID(publishID ID, position int) ID {
	low := binary.BigEndian.Uint64(publishID[8:]) ^ uint64(position+1) //nolint:gosec // a position is not negative
	binary.BigEndian.PutUint64(publishID[8:], low)
	return publishID
}

// PublishURLPosition is the inverse of PublishURLID. An id that is not of the publish
// has no position.
func PublishURLPosition(publishID, id ID) (position int, ok bool) {
	const most = 1 << 31
	number := binary.BigEndian.Uint64(publishID[8:]) ^ binary.BigEndian.Uint64(id[8:])
	return int(number) - 1, [8]byte(publishID[:8]) == [8]byte(id[:8]) && 0 < number && number < most //nolint:gosec // checked
}

// MaxEventURLs is how many URLs an event shows.
const MaxEventURLs = 1000

// EventURLs are the URLs of a publish that its event shows.
type EventURLs struct {
	Changed, Removed []string
	Truncated        bool // the publish has more
}

// NewEventURLs returns what an event shows of a list, which may be cut after
// MaxEventURLs+1.
func NewEventURLs(list []PublishURL) EventURLs {
	shown := EventURLs{Changed: []string{}, Removed: []string{}, Truncated: len(list) > MaxEventURLs}
	for _, u := range list[:min(len(list), MaxEventURLs)] {
		if u.Change == URLRemoved {
			shown.Removed = append(shown.Removed, u.URL)
		} else {
			shown.Changed = append(shown.Changed, u.URL)
		}
	}
	return shown
}

// urlLocale is a locale whose pages have URLs.
type urlLocale struct {
	Locale
	place  Place
	base   string // the beginning of its URLs
	listed bool
}

// urlList collects the URLs that a publish changes.
type urlList struct {
	locales  []*urlLocale
	prefixes map[Place]bool // of locales that are not at the root
	list     []PublishURL
}

func newURLList(site Site, locales Locales) urlList {
	u := urlList{prefixes: map[Place]bool{}}
	for _, l := range locales {
		if base, ok := site.URL(l, "/"); ok && l.DeletedAt == nil {
			place := site.Place(l)
			u.locales = append(u.locales, &urlLocale{Locale: l, place: place, base: base})
			u.prefixes[place] = place.Prefix != ""
		}
	}
	return u
}

// add lists the URL of a pathname, unless the prefix of another locale shadows it.
func (u *urlList) add(l *urlLocale, pathname string, change URLChange) {
	if l.place.Prefix == "" {
		first, _, _ := strings.Cut(pathname[1:], "/")
		if u.prefixes[Place{l.place.Origin, first}] {
			return
		}
	}
	url := l.base
	if pathname != "/" {
		url += EscapePath(pathname)
	}
	u.list, l.listed = append(u.list, PublishURL{url, change}), true
}

// sorted returns the list by URL, with the sitemap of each origin that has a URL in it.
func (u *urlList) sorted() []PublishURL {
	byURL := func(a, b PublishURL) int { return strings.Compare(a.URL, b.URL) }
	slices.SortFunc(u.list, byURL)
	for _, l := range u.locales {
		sitemap := PublishURL{l.place.Origin + "/sitemap.xml", URLChanged}
		if i, found := slices.BinarySearchFunc(u.list, sitemap, byURL); l.listed && !found {
			u.list = slices.Insert(u.list, i, sitemap)
		}
	}
	return u.list
}
