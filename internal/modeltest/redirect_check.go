package modeltest

import (
	"strings"

	"galley/internal/cms"
)

// origin is where the sites of the model are. A locale other than the default one has its
// code as a prefix.
const origin = "https://example.com"

// locate is the place of a URL on the site.
func (s *Site) locate(url string) (locale cms.ID, path string, ok bool) {
	path, ok = strings.CutPrefix(url, origin)
	for _, l := range s.shown() {
		if rest, found := strings.CutPrefix(path, "/"+l.Code); found && l.ID != s.Default && (rest == "" || rest[0] == '/') {
			return l.ID, "/" + strings.TrimPrefix(rest, "/"), ok
		}
	}
	return s.Default, path, ok
}

// acting is the redirect that acts on a pathname: an exact one before one with a star,
// the longer before the shorter, the locale's before that of every locale.
func acting(rs Redirects, locale cms.ID, path string) (best Redirect, ok bool) {
	rank := func(r Redirect) int {
		n := 4 * len(r.base())
		if !r.wild() {
			n += 4 * len(path)
		}
		if r.Locale != cms.NoID {
			n++
		}
		return n
	}
	for _, r := range rs {
		covers := r.Source == path || (r.wild() && strings.HasPrefix(path, r.base()+"/") && len(path) > len(r.base())+1)
		if !r.Deleted && (r.Locale == cms.NoID || r.Locale == locale) && covers && (!ok || rank(r) > rank(best)) {
			best, ok = r, true
		}
	}
	return best, ok
}

// circle reports whether following redirects comes round or never ends, from any source
// and from anything below one.
func (s *Site) circle(rs Redirects) bool {
	for _, r := range rs {
		for _, rest := range []string{"", "/z", "/x", "/x/z", "/z/z"} {
			for _, l := range s.shown() {
				if (rest != "") == r.wild() && s.comesRound(rs, l.ID, r.base()+rest) {
					return true
				}
			}
		}
	}
	return false
}

func (s *Site) comesRound(rs Redirects, locale cms.ID, path string) bool {
	for range 100 {
		r, ok := acting(rs, locale, path)
		if !ok {
			return false
		}
		target := r.Target
		if star, taken := strings.CutSuffix(target, "/*"); taken {
			target = star + strings.TrimPrefix(path, r.base())
		}
		path = target
		if strings.HasPrefix(path, "/") {
			continue
		}
		if locale, path, ok = s.locate(path); !ok {
			return false
		}
	}
	return true
}

// sharing are the redirects whose source a page or route of a version has.
func (s *Site) sharing(v Version, rs Redirects) []cms.ID {
	var ids []cms.ID
	for _, l := range s.shown() {
		taken := map[any]bool{}
		for _, r := range s.Routes {
			taken[r.Pathname] = taken[r.Pathname] || !r.Deleted
		}
		for _, p := range v {
			pathname := p.In(l.ID)["pathname"]
			taken[pathname] = taken[pathname] || !p.Deleted
		}
		for id, r := range rs {
			if !r.Deleted && (r.Locale == cms.NoID || r.Locale == l.ID) && taken[r.Source] {
				ids = append(ids, id)
			}
		}
	}
	return cms.SortIDs(ids)
}

// twins reports whether two redirects of a locale have one source.
func (s *Site) twins(rs Redirects) bool {
	seen := map[Redirect]bool{}
	for _, r := range s.visibleRedirects(rs) {
		key := Redirect{Locale: r.Locale, Source: r.Source}
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

// visibleRedirects are those that readers see.
func (s *Site) visibleRedirects(rs Redirects) Redirects {
	seen := Redirects{}
	for id, r := range rs {
		if !r.Deleted && (r.Locale == cms.NoID || s.visible(r.Locale)) {
			seen[id] = r
		}
	}
	return seen
}

// allowed reports whether a version may have these pages and redirects.
func (s *Site) allowed(v Version, rs Redirects) bool {
	return !s.clash(v) && len(s.sharing(v, rs)) == 0 && !s.twins(rs) && !s.circle(rs)
}
