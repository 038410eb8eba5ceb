package cms

import (
	"strings"
)

// RedirectFinder finds redirects of one version of a site.
type RedirectFinder interface {
	// From are the redirects with any of the sources, in any locale.
	From(sources []string) ([]Redirect, error)
	// Below are the redirects with a source below a pathname, but not all of it.
	Below(pathname string) ([]Redirect, error)
}

// Circle is a list of addresses, each of which leads to the next and the last to the
// first, or to ever longer ones.
type Circle struct {
	Steps   []string
	IDs     []ID // of the redirects
	growing bool
}

// maxCircleSteps bounds the addresses that an error names.
const maxCircleSteps = 20

// Err is the error for a write that would close the circle.
func (c Circle) Err() *Error {
	steps := c.Steps
	if c.growing {
		return Conflict("Following redirects would never end: " + strings.Join(steps[:min(len(steps), 4)], " -> ") + " -> …")
	}
	if len(steps) > maxCircleSteps {
		steps = append(steps[:maxCircleSteps:maxCircleSteps], "…")
	}
	return Conflict("Following redirects would come round again: " + strings.Join(steps, " -> ") + " -> " + c.Steps[0])
}

// Bounds of a check.
const (
	maxPlaces = 200_000
	// maxGrowth is how often a path may become longer while it is followed. Paths that
	// do so more often are taken to grow without end.
	maxGrowth = 32
)

var errCircleBound = Conflict("Too many redirects lead to each other to check this change, make them lead to their last target")

// place is a pathname in a locale, or everything below it. NoID is all locales in which
// no redirect of their own has acted so far.
type place struct {
	locale ID
	path   string
	open   bool
}

func (p place) String() string {
	if p.open {
		return Below(p.path)
	}
	return p.path
}

// sources are those of the redirects that cover the whole place, in the order in
// which they apply.
func (p place) sources() []string {
	sources := SourcesFor(p.path)
	if p.open {
		sources[0] = Below(p.path)
	}
	return sources
}

// step is where a redirect leads.
type step struct {
	to place
	by Redirect
}

// circleCheck follows redirects, as if there were no pages. What lies below an open
// place is not known: a redirect that covers all of it leads on, and the sources below
// it are followed on their own. So each place has one step, and a circle is one of
// steps.
type circleCheck struct {
	site    Site
	locales Locales
	find    RedirectFinder

	bySource map[string][]Redirect // of the sources that were looked up
	steps    map[place]step
	from     map[place]place // by which a place was found first
	growth   map[place]int
	found    []place // all, in order
	pending  []place
}

// FindCircle follows the sources of redirects that change, in their states before and
// after, and returns the first circle or nil. Any other circle was there before.
func FindCircle(site Site, locales Locales, changed []Redirect, find RedirectFinder) (*Circle, error) {
	c := circleCheck{
		site: site, locales: locales, find: find, bySource: map[string][]Redirect{}, steps: map[place]step{},
		from: map[place]place{}, growth: map[place]int{},
	}
	for _, r := range changed {
		if locales.Shows(r.LocaleID) {
			c.visit(place{r.LocaleID, r.base(), r.IsWild()})
		}
	}
	for len(c.pending) > 0 {
		if len(c.found) > maxPlaces {
			return nil, errCircleBound
		}
		if circle, err := c.advance(); circle != nil || err != nil {
			return circle, err
		}
	}
	return c.circle(), nil
}

// visit notes a place, and reports whether it is new.
func (c *circleCheck) visit(p place) bool {
	if _, known := c.from[p]; known {
		return false
	}
	c.from[p] = place{}
	c.found = append(c.found, p)
	c.pending = append(c.pending, p)
	return true
}

// advance takes one step from each pending place.
func (c *circleCheck) advance() (*Circle, error) {
	places := c.pending
	c.pending = nil
	if err := c.lookUp(places); err != nil {
		return nil, err
	}
	for _, p := range places {
		if p.open {
			narrower, err := c.find.Below(p.path)
			if err != nil {
				return nil, err
			}
			for _, r := range narrower {
				c.visitIn(p, r, place{p.locale, r.base(), r.IsWild()})
			}
		}
		if circle := c.follow(p); circle != nil {
			return circle, nil
		}
	}
	return nil, nil //nolint:nilnil // no circle
}

// visitIn visits a place of a redirect, which may act in fewer locales than p has.
func (c *circleCheck) visitIn(p place, r Redirect, to place) {
	switch {
	case r.LocaleID == NoID || r.LocaleID == p.locale:
		c.visit(to)
	case p.locale == NoID && c.locales.Shows(r.LocaleID):
		to.locale = r.LocaleID
		c.visit(to)
	}
}

// lookUp finds the redirects that cover places.
func (c *circleCheck) lookUp(places []place) error {
	var missing []string
	for _, p := range places {
		for _, source := range p.sources() {
			if _, known := c.bySource[source]; !known {
				c.bySource[source] = nil
				missing = append(missing, source)
			}
		}
	}
	found, err := c.find.From(missing)
	for _, r := range found {
		c.bySource[r.Source] = append(c.bySource[r.Source], r)
	}
	return err
}

// follow takes the step from a place, if a redirect covers it.
func (c *circleCheck) follow(p place) *Circle {
	sources := p.sources()
	if p.locale == NoID {
		for _, source := range sources {
			for _, r := range c.bySource[source] {
				c.visitIn(p, r, place{r.LocaleID, p.path, p.open})
			}
		}
	}
	r, ok := firstActing(c.bySource, sources, p.locale)
	if !ok {
		return nil
	}
	to, ok := c.target(p, r)
	if !ok {
		return nil
	}
	c.steps[p] = step{to, r}
	growth := c.growth[p]
	if len(to.path) > len(p.path) && takesStar(r.Target) {
		growth++
	}
	if growth > maxGrowth || len(to.path) > MaxPathname {
		return c.endless(p)
	}
	if c.visit(to) {
		c.from[to], c.growth[to] = p, growth
	}
	return nil
}

// fresh is a segment that no redirect names, for what is below an open place.
const fresh = "/\uE000"

// target is the place to which a redirect leads, if it is on the site.
func (c *circleCheck) target(p place, r Redirect) (place, bool) {
	star, rest := takesStar(r.Target), strings.TrimPrefix(p.path, strings.TrimSuffix(r.Source, below))
	if p.path == "/" {
		rest = ""
	}
	open := p.open && star
	if !isAbsolute(r.Target) {
		if !star {
			return place{p.locale, r.Target, false}, true
		}
		return place{p.locale, rooted(strings.TrimSuffix(r.Target, below) + rest), open}, true
	}
	origin, path, _, err := SplitURL(r.Target)
	if err != nil {
		return place{}, false
	}
	if star {
		path = strings.TrimSuffix(path, below) + EscapePath(rest)
	}
	if open && path == "" {
		// The first segment of what is below may be the prefix of a locale.
		for _, l := range c.locales {
			if at := c.site.Place(l); l.DeletedAt == nil && at.Origin == origin && at.Prefix != "" {
				c.visit(place{l.ID, "/", false})
				c.visit(place{l.ID, "/", true})
			}
		}
	}
	if open {
		path += EscapePath(fresh)
	}
	located, ok := c.locales.Locate(c.site, origin, path)
	if open {
		located.Pathname = rooted(strings.TrimSuffix(located.Pathname, fresh))
	}
	return place{located.Locale.ID, located.Pathname, open}, ok
}

// circle returns the first circle among the steps, or nil.
func (c *circleCheck) circle() *Circle {
	const walking, done = 1, 2
	state := map[place]int{}
	for _, start := range c.found {
		var walk []place
		for p := start; ; {
			if state[p] == walking {
				for walk[0] != p {
					state[walk[0]] = done
					walk = walk[1:]
				}
				if c.acts(walk) {
					return c.named(walk)
				}
			}
			if state[p] != 0 {
				break
			}
			next, ok := c.steps[p]
			if !ok {
				state[p] = done
				break
			}
			state[p] = walking
			walk = append(walk, p)
			p = next.to
		}
		for _, p := range walk {
			state[p] = done
		}
	}
	return nil
}

// acts reports whether there is a locale in which each of the places has its step.
func (c *circleCheck) acts(walk []place) bool {
	for _, l := range c.locales {
		if l.DeletedAt != nil {
			continue
		}
		acts := true
		for _, p := range walk {
			if p.locale == NoID {
				r, _ := firstActing(c.bySource, p.sources(), l.ID)
				acts = acts && r.ID == c.steps[p].by.ID
			}
		}
		if acts {
			return true
		}
	}
	return false
}

func (c *circleCheck) named(walk []place) *Circle {
	circle := &Circle{}
	for _, p := range walk {
		circle.Steps = append(circle.Steps, p.String())
		circle.IDs = append(circle.IDs, c.steps[p].by.ID)
	}
	return circle
}

// endless names the steps by which a path became longer and longer.
func (c *circleCheck) endless(last place) *Circle {
	var walk []place
	for p := last; p != (place{}); p = c.from[p] {
		walk = append([]place{p}, walk...)
	}
	if !c.acts(walk) {
		return nil
	}
	circle := c.named(walk)
	circle.growing = true
	return circle
}
