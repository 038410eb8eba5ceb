package cms

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// URL returns the address of a pathname in a locale of the site. Without an origin
// there is none, and ok is false.
func (s Site) URL(l Locale, pathname string) (address string, ok bool) {
	place := s.Place(l)
	if place.Origin == "" {
		return "", false
	}
	path := ""
	if place.Prefix != "" {
		path = "/" + place.Prefix
	}
	if pathname != "/" {
		path += pathname
	}
	return place.Origin + EscapePath(path), true
}

// EscapePath percent-encodes a path. Slashes, unreserved characters and
// !$&'()*+,;=:@ stay as they are.
func EscapePath(path string) string {
	const hexadecimal = "0123456789ABCDEF"
	if !slices.ContainsFunc([]byte(path), func(c byte) bool { return !isPathByte(c) }) {
		return path
	}
	escaped := make([]byte, 0, len(path))
	for _, c := range []byte(path) {
		if isPathByte(c) {
			escaped = append(escaped, c)
		} else {
			escaped = append(escaped, '%', hexadecimal[c>>4], hexadecimal[c&15])
		}
	}
	return string(escaped)
}

func isPathByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("/-._~!$&'()*+,;=:@", c) >= 0
}

// Located is the locale and pathname that an address leads to.
type Located struct {
	Locale   Locale
	Pathname string
	// Shadowed is the locale whose page would have the address if the prefix of
	// Locale, which is longer, did not win.
	Shadowed *Locale
}

// Locate is the inverse of URL. path is the path of an address, percent-encoded; ok
// is false if no locale is served there, or if it is not the path of any pathname.
func (ls Locales) Locate(site Site, origin, path string) (found Located, ok bool) {
	whole, err := ParsePathname(cmp.Or(path, "/"))
	if err != nil {
		return Located{}, false
	}
	first, _, _ := strings.Cut(whole[1:], "/")
	var root *Locale
	for _, l := range ls {
		place := site.Place(l)
		switch {
		case l.DeletedAt != nil || place.Origin != origin:
		case place.Prefix == "":
			root = &l
		case place.Prefix == first:
			found, ok = Located{Locale: l, Pathname: cmp.Or(whole[len("/")+len(first):], "/")}, true
		}
	}
	switch {
	case ok:
		found.Shadowed = root
	case root != nil:
		found, ok = Located{Locale: *root, Pathname: whole}, true
	}
	return found, ok
}

// FollowURL returns the place of the site to which an absolute address leads, if it is
// one of the site's, and the query of the address.
func (ls Locales) FollowURL(site Site, address string) (at Located, query string, inside bool) {
	origin, path, query, err := SplitURL(address)
	if err != nil || !slices.Contains(ls.Origins(site), origin) {
		return Located{}, query, false
	}
	at, inside = ls.Locate(site, origin, path)
	return at, query, inside
}

// Shadows reports whether a pathname at the root of an origin begins with the prefix
// of a locale that is served there.
func (ls Locales) Shadows(site Site, origin, pathname string) bool {
	first, _, _ := strings.Cut(pathname[1:], "/")
	return slices.ContainsFunc(ls, func(l Locale) bool {
		return l.DeletedAt == nil && first != "" && site.Place(l) == Place{origin, first}
	})
}

// Origins are the origins at which locales of the site are served, each once, the
// site's own first.
func (ls Locales) Origins(site Site) []string {
	var origins []string
	seen := map[string]bool{"": true}
	add := func(origin string) {
		if !seen[origin] {
			seen[origin] = true
			origins = append(origins, origin)
		}
	}
	if site.HostOrigin != nil {
		add(*site.HostOrigin)
	}
	for _, l := range ls {
		if l.DeletedAt == nil {
			add(site.Place(l).Origin)
		}
	}
	return origins
}

// SplitURL splits an absolute http or https address into its origin, its path as it
// is written, and its query without the question mark. It drops a fragment.
func SplitURL(address string) (origin, path, query string, err error) {
	if _, err := ParseURL(address); err != nil {
		return "", "", "", err
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", "", "", err
	}
	if u.User != nil {
		return "", "", "", errOrigin
	}
	origin, err = ParseOrigin(u.Scheme + "://" + u.Host)
	return origin, u.EscapedPath(), u.RawQuery, err
}

// WithQuery adds a query to an address, after its own and before its fragment.
func WithQuery(address, query string) string {
	if query == "" {
		return address
	}
	address, fragment, hasFragment := strings.Cut(address, "#")
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	address += separator + query
	if hasFragment {
		address += "#" + fragment
	}
	return address
}
