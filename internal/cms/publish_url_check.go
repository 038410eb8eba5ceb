package cms

import (
	"maps"
	"slices"
	"strings"
)

// LocalePath is a pathname in a locale.
type LocalePath struct {
	LocaleID ID
	Pathname string
}

// HeldPath is a pathname that a page or route has in a locale.
type HeldPath struct {
	LocalePath
	Owner ID
}

// LiveFinder finds what is live before a publish.
type LiveFinder interface {
	// HasRedirects reports whether there are any. If not, they are not looked for.
	HasRedirects() (bool, error)
	// From are the redirects with any of the sources, in any locale.
	From(sources []string) ([]Redirect, error)
	// Leading are the redirects with any of the targets, or with one below any of the
	// pathnames, and all that lead to a URL.
	Leading(targets, below []string) ([]Redirect, error)
	// Held are the pathnames among these that pages and routes have, in every locale.
	Held(pathnames []string) ([]HeldPath, error)
}

// liveState is what a publish changes, in the state before or after it.
type liveState struct {
	pages     map[LocalePath]pageState // those that get or lose a pathname in any locale
	redirects map[string][]Redirect    // by source
}

type pageState struct {
	*Page
	online bool
}

// outcome is what a visitor of a pathname gets, but for the values of a page. The zero
// value is nothing.
type outcome struct {
	ID     ID // of the page, or the first redirect
	Status int
	Target string // of the last redirect
	Locale ID     // in which a target that is a pathname is
}

func (o outcome) isRedirect() bool { return o.Status != 0 }

// urlCheck compares what visitors get before and after a publish. It looks for what does
// not change only where that has a part in the result.
type urlCheck struct {
	urlList
	site          Site
	all           Locales
	find          LiveFinder
	before, after liveState
	moved         map[ID]bool // the pages of the states
	changed       map[ID]bool // the redirects of the states

	hasUnchanged bool                  // there may be redirects that do not change
	unchanged    map[string][]Redirect // by source, of the sources that were looked up
	held         map[string][]ID       // the locales in which a page or route has a pathname, of those looked up

	sources, paths map[string]bool     // to look up next
	pending        []LocalePath        // to compare
	gained         []LocalePath        // by pages
	visited        map[LocalePath]bool // besides those of pages
	targets, under map[string]bool     // where redirects lead whose outcome may change
	led            map[ID]bool         // those redirects
	rows           []pageIn
}

// PublishURLs returns the URLs at which visitors get something else after changes of the
// live version: URLs of pages and sources of redirects. A source that ends in /* stands
// for what is below it.
func PublishURLs(site Site, locales Locales, pages []PageChange, redirects []RedirectChange, find LiveFinder) ([]PublishURL, error) {
	c := &urlCheck{
		urlList: newURLList(site, locales), site: site, all: locales, find: find,
		before: newLiveState(), after: newLiveState(), moved: map[ID]bool{}, changed: map[ID]bool{},
		unchanged: map[string][]Redirect{}, held: map[string][]ID{}, sources: map[string]bool{}, paths: map[string]bool{},
		visited: map[LocalePath]bool{}, targets: map[string]bool{}, under: map[string]bool{}, led: map[ID]bool{},
	}
	if len(c.locales) == 0 {
		return nil, nil
	}
	for i := range pages {
		c.addPage(&pages[i])
	}
	if len(c.moved) == 0 && len(redirects) == 0 {
		return c.sorted(), nil
	}
	var err error
	if c.hasUnchanged, err = find.HasRedirects(); err != nil {
		return nil, err
	}
	for _, at := range c.gained {
		if _, lost := c.before.pages[at]; !lost {
			c.pending = append(c.pending, at)
		}
	}
	for _, change := range redirects {
		c.changed[change.ID()] = true
		c.addRedirect(c.before, change.Before)
		c.addRedirect(c.after, change.After)
	}
	err = c.resolvePending()
	for err == nil && len(c.targets)+len(c.under) > 0 {
		if err = c.addLeading(); err == nil {
			err = c.resolvePending()
		}
	}
	return c.sorted(), err
}

func newLiveState() liveState {
	return liveState{map[LocalePath]pageState{}, map[string][]Redirect{}}
}

// pageIn is a page in one locale, before and after a publish; nil for no page.
type pageIn struct {
	Locale
	urls    *urlLocale // nil: its pages have no URLs
	was, is *Values
}

// stays reports whether the page keeps its pathname.
func (p pageIn) stays() bool { return p.was != nil && p.is != nil && p.was.Pathname == p.is.Pathname }

// in returns a changed page in every locale. The result is valid until the next call.
func (c *urlCheck) in(change *PageChange) []pageIn {
	c.rows = c.rows[:0]
	urls := c.locales
	for _, l := range c.all {
		if l.DeletedAt != nil {
			continue
		}
		row := pageIn{Locale: l, was: valuesIn(change.Before, l.ID), is: valuesIn(change.After, l.ID)}
		if len(urls) > 0 && urls[0].ID == l.ID {
			row.urls, urls = urls[0], urls[1:]
		}
		c.rows = append(c.rows, row)
	}
	return c.rows
}

// valuesIn are the values of a page in a locale; nil for no page.
func valuesIn(p *Page, localeID ID) *Values {
	if p == nil {
		return nil
	}
	if l, ok := p.Localizations[localeID]; ok {
		values := l.Values // l would be allocated for every locale
		return &values
	}
	return &p.Values
}

// addPage lists the URLs that a page keeps, and leaves those that it gets or loses to
// resolvePending.
func (c *urlCheck) addPage(change *PageChange) {
	rows := c.in(change)
	moves := slices.ContainsFunc(rows, func(p pageIn) bool { return !p.stays() })
	alternates := slices.ContainsFunc(rows, func(p pageIn) bool {
		return p.urls != nil && (!p.stays() || p.was.IsOnline != p.is.IsOnline)
	})
	if moves {
		c.moved[change.ID()] = true
	}
	for _, p := range rows {
		if moves && p.was != nil {
			at := LocalePath{p.ID, p.was.Pathname}
			c.before.pages[at], c.pending = pageState{change.Before, p.was.IsOnline}, append(c.pending, at)
		}
		if moves && p.is != nil {
			at := LocalePath{p.ID, p.is.Pathname}
			c.after.pages[at], c.gained = pageState{change.After, p.is.IsOnline}, append(c.gained, at)
		}
		switch {
		case !p.stays() || p.urls == nil:
		case p.was.IsOnline && !p.is.IsOnline:
			c.add(p.urls, p.is.Pathname, URLRemoved)
		case p.is.IsOnline && (alternates || !p.was.same(p.is) || renames(change, p.ID)):
			c.add(p.urls, p.is.Pathname, URLChanged)
		}
	}
}

// renames reports whether a page has another name in a locale.
func renames(change *PageChange, localeID ID) bool {
	return !equalPtr(change.Before.Name, change.After.Name) && change.Before.In(localeID).DisplayName() != change.After.In(localeID).DisplayName()
}

// visit adds a pathname whose outcomes are compared, once.
func (c *urlCheck) visit(at LocalePath) {
	_, before := c.before.pages[at]
	_, after := c.after.pages[at]
	if !before && !after && !c.visited[at] {
		c.visited[at] = true
		c.pending = append(c.pending, at)
	}
}

// addRedirect adds a redirect to a state.
func (c *urlCheck) addRedirect(state liveState, r *Redirect) {
	if r != nil && c.all.Shows(r.LocaleID) {
		state.redirects[r.Source] = append(state.redirects[r.Source], *r)
		c.visitSource(*r)
	}
}

// visitSource compares what visitors of a redirect's source get, and of those of others
// that lead there.
func (c *urlCheck) visitSource(r Redirect) {
	for _, l := range c.all {
		if l.DeletedAt == nil && (r.LocaleID == NoID || r.LocaleID == l.ID) {
			c.visit(LocalePath{l.ID, r.Source})
		}
	}
	if r.IsWild() && c.hasUnchanged {
		c.under[r.base()] = true
	}
	c.leadTo(r.Source)
}

// leadTo adds the targets of redirects that may lead to a pathname.
func (c *urlCheck) leadTo(pathname string) {
	if !c.hasUnchanged {
		return
	}
	for _, target := range SourcesFor(pathname) {
		c.targets[target] = true
	}
}

// addLeading visits the redirects whose outcome may change with that of others.
func (c *urlCheck) addLeading() error {
	targets, under := c.targets, c.under
	c.targets, c.under = map[string]bool{}, map[string]bool{}
	leading, err := c.find.Leading(slices.Sorted(maps.Keys(targets)), slices.Sorted(maps.Keys(under)))
	for _, r := range leading {
		target, inside := r.Target, true
		if isAbsolute(target) {
			var at Located
			at, _, inside = c.all.FollowURL(c.site, target)
			target = at.Pathname
		}
		if !inside || c.led[r.ID] || !c.all.Shows(r.LocaleID) {
			continue
		}
		if targets[target] || slices.ContainsFunc(SourcesFor(target)[1:], func(s string) bool {
			return under[rooted(strings.TrimSuffix(s, below))]
		}) {
			c.led[r.ID] = true
			c.visitSource(r)
		}
	}
	return err
}

// resolvePending compares the outcomes of all pathnames that were visited. Where
// something was not looked up yet, it does so for all of them together.
func (c *urlCheck) resolvePending() error {
	for len(c.pending) > 0 {
		visited := c.pending
		c.pending = nil
		for _, at := range visited {
			was, knowsBefore := c.resolve(c.before, at)
			is, knowsAfter := c.resolve(c.after, at)
			switch {
			case !knowsBefore || !knowsAfter:
				c.pending = append(c.pending, at)
			case was != is:
				c.note(at, was, is)
			}
		}
		if err := c.lookUp(); err != nil {
			return err
		}
	}
	return nil
}

// note lists the URL of a pathname whose outcome changes.
func (c *urlCheck) note(at LocalePath, was, is outcome) {
	if was.isRedirect() || is.isRedirect() {
		c.leadTo(at.Pathname)
	}
	change := URLChanged
	if is == (outcome{}) {
		change = URLRemoved
	}
	if i := slices.IndexFunc(c.locales, func(l *urlLocale) bool { return l.ID == at.LocaleID }); i >= 0 {
		c.add(c.locales[i], at.Pathname, change)
	}
}

// lookUp finds what the last outcomes were missing.
func (c *urlCheck) lookUp() error {
	sources, paths := slices.Sorted(maps.Keys(c.sources)), slices.Sorted(maps.Keys(c.paths))
	clear(c.sources)
	clear(c.paths)
	for _, source := range sources {
		c.unchanged[source] = nil
	}
	for _, path := range paths {
		c.held[path] = nil
	}
	if len(sources) > 0 {
		found, err := c.find.From(sources)
		if err != nil {
			return err
		}
		for _, r := range found {
			if !c.changed[r.ID] {
				c.unchanged[r.Source] = append(c.unchanged[r.Source], r)
			}
		}
	}
	if len(paths) == 0 {
		return nil
	}
	held, err := c.find.Held(paths)
	for _, h := range held {
		if !c.moved[h.Owner] {
			c.held[h.Pathname] = append(c.held[h.Pathname], h.LocaleID)
		}
	}
	return err
}

// resolve returns what a visitor of a pathname gets, by the rules of resolving a URL. It
// is not known if something has to be looked up first.
func (c *urlCheck) resolve(state liveState, at LocalePath) (result outcome, known bool) {
	if page, ok := state.pages[at]; ok {
		if page.online {
			result.ID = page.ID
		}
		return result, true
	}
	// A page or route and an exact source exclude each other.
	if strings.HasSuffix(at.Pathname, below) {
		if held, known := c.holds(state, at); held || !known {
			return result, known
		}
	}
	var seen map[LocalePath]bool
	for {
		r, found, known := c.acting(state, at)
		if !found || !known {
			return result, known
		}
		if seen == nil {
			seen = map[LocalePath]bool{}
		}
		if seen[at] {
			return outcome{}, true
		}
		seen[at] = true
		if !result.isRedirect() {
			result.ID, result.Status = r.ID, r.Status
		}
		result.Target, result.Locale = r.Expand(at.Pathname), at.LocaleID
		at.Pathname = result.Target
		if isAbsolute(result.Target) {
			result.Locale = NoID
			next, _, inside := c.all.FollowURL(c.site, result.Target)
			if !inside {
				return result, true
			}
			at = LocalePath{next.Locale.ID, next.Pathname}
		}
		if held, known := c.holds(state, at); held || !known {
			return result, known
		}
	}
}

// holds reports whether a page or route has a pathname.
func (c *urlCheck) holds(state liveState, at LocalePath) (held, known bool) {
	if _, ok := state.pages[at]; ok {
		return true, true
	}
	locales, known := c.held[at.Pathname]
	if !known {
		c.paths[at.Pathname] = true
	}
	return slices.Contains(locales, at.LocaleID), known
}

// acting finds the redirect that acts on a pathname.
func (c *urlCheck) acting(state liveState, at LocalePath) (acting Redirect, found, known bool) {
	if len(state.redirects) == 0 && !c.hasUnchanged {
		return acting, false, true
	}
	sources, known := SourcesFor(at.Pathname), true
	for _, source := range sources {
		if _, ok := c.unchanged[source]; !ok && c.hasUnchanged {
			c.sources[source], known = true, false
		}
	}
	if !known {
		return acting, false, false
	}
	for _, source := range sources {
		for _, localeID := range []ID{at.LocaleID, NoID} {
			for _, some := range [][]Redirect{state.redirects[source], c.unchanged[source]} {
				if i := slices.IndexFunc(some, func(r Redirect) bool { return r.LocaleID == localeID }); i >= 0 {
					return some[i], true, true
				}
			}
		}
	}
	return acting, false, true
}
