package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// growth is how costs grow with what is there already.
type growth struct {
	Origin origin  `json:"origin"`
	Turns  int     `json:"turns"` // of each measurement, of which the one in the middle is kept
	Curves []curve `json:"curves"`
}

// curve is the costs on one engine while one thing grows.
type curve struct {
	Who    string  `json:"who"`
	Of     string  `json:"of"`   // what grows
	Base   int     `json:"base"` // the size that others are compared with
	Levels []level `json:"levels"`
}

// level is the figures at one size, by operation. The size that others are
// compared with is measured again beside each of them: a machine's speed changes
// from one minute to the next.
type level struct {
	Size    int               `json:"size"`
	Figures map[string]figure `json:"figures"`
	Base    map[string]figure `json:"base,omitempty"`
}

// What grows, and through which sizes.
const (
	ofPages   = "pages"
	ofLocales = "locales"

	basePages     = 10_000 // and what the most pages may not be below
	baseLocales   = 1
	growthPages   = 1_000 // of each site
	localesSites  = 10
	maxGrownPages = 1_000_000
)

var (
	pageSizes   = []int{1_000, basePages, 100_000, maxGrownPages}
	localeSizes = []int{baseLocales, 2, 10, 50}
	// furtherLocales are as many as the largest site has beside its default one.
	furtherLocales = strings.Fields("fr de es it pt nl sv da nb fi pl cs sk sl hr sr bs mk sq ro bg el tr ru uk be et lv lt hu is ga mt eu ca gl cy ja ko zh vi th id ms hi bn ta he ar")
)

// growthOperations are run in this order: writes come last.
var growthOperations = func() []operation {
	all := []operation{{name: "get by id", action: getByID}, {name: "get by pathname", action: getByPathname}}
	for _, sort := range sorts {
		all = append(all, operation{name: "list by " + sort, action: list, sort: sort},
			operation{name: "list by " + sort + ", deep", action: list, sort: sort, deep: true})
	}
	return append(all, operation{name: "create", action: create}, operation{name: "update", action: update})
}()

// measureGrowth measures every engine.
func (b *bench) measureGrowth(ctx context.Context, o origin) *growth {
	found := &growth{Origin: o, Turns: b.rounds}
	for _, e := range b.engines() {
		for _, c := range []*climb{
			{bench: b, engine: e, curve: curve{Who: e.label(), Of: ofPages, Base: basePages}},
			{bench: b, engine: e, curve: curve{Who: e.label(), Of: ofLocales, Base: baseLocales}},
		} {
			c.levels(ctx)
			found.Curves = append(found.Curves, c.curve)
		}
	}
	return found
}

// climb measures a curve, level by level.
type climb struct {
	*bench
	engine engine
	curve  curve
	base   *installation // of the size that others are compared with
}

// installation is a store, and what is in it. No server runs on it: levels are
// measured on copies, so that none has what was written for the one before.
type installation struct {
	store  string
	key    string
	loaded contents
}

// levels measures all of them. Pages are added to one installation, by sites;
// each number of locales has its own.
func (c *climb) levels(ctx context.Context) {
	defer func() {
		if c.base != nil {
			c.engine.drop(ctx, c.base.store)
		}
	}()
	if c.curve.Of == ofPages {
		c.install(ctx, []string{locale}, pageSizes, func(pages int) int { return pages })
		return
	}
	for _, size := range localeSizes {
		c.install(ctx, furtherLocales[:size-1], []int{localesSites * growthPages}, func(int) int { return size })
	}
}

// install measures an installation with growing numbers of pages. It has no cache:
// the costs behind the cache are measured, not what fits into it.
func (c *climb) install(ctx context.Context, locales []string, pages []int, sizeOf func(pages int) int) {
	g := c.galleyOn(ctx, c.engine, c.curve.Of)
	g.uncached = true
	g.loaded = &contents{dataset: dataset{pages: growthPages, locales: locales}}
	defer c.engine.drop(ctx, c.curve.Of)
	defer func() { g.stop() }()
	what := fmt.Sprintf("%s, sites of %d locales", g.label, len(locales)+1)
	for _, n := range pages {
		if n > c.maxPages {
			break
		}
		g.start(ctx)
		g.grow(ctx, n/growthPages, c.progress(what, g.loaded.size(), n))
		g.stop()
		reached, size := installation{c.curve.Of, g.key, *g.loaded}, sizeOf(n)
		c.curve.Levels = append(c.curve.Levels, c.measureLevel(ctx, reached, size))
		if size == c.curve.Base {
			c.base = &installation{reached.store + "_base", reached.key, reached.loaded}
			c.engine.copy(ctx, reached.store, c.base.store)
		}
	}
}

func (c *climb) measureLevel(ctx context.Context, reached installation, size int) level {
	l := level{Size: size, Figures: map[string]figure{}}
	g, remove := c.copied(ctx, reached)
	defer remove()
	var base *galley
	if c.base != nil {
		l.Base = map[string]figure{}
		var removeBase func()
		base, removeBase = c.copied(ctx, *c.base)
		defer removeBase()
	}
	for _, op := range growthOperations {
		op.localized = c.curve.Of == ofLocales
		c.status("%s, %s: %s", c.curve.Who, sized(size, c.curve.Of), op.name)
		turns := make([]turn, c.rounds)
		for i := range turns {
			if base != nil {
				turns[i].base = c.measure(ctx, base, op)
			}
			turns[i].figure = c.measure(ctx, g, op)
		}
		kept := middleOf(turns)
		l.Figures[op.name] = kept.figure
		if base != nil {
			l.Base[op.name] = kept.base
		}
		c.line("%s, %s: %s: CPU %s, p50 %s", c.curve.Who, sized(size, c.curve.Of), op.name,
			durationText(kept.figure.cost()), durationText(kept.figure.P50))
	}
	return l
}

// copied runs Galley on a copy of an installation, until it is removed.
func (c *climb) copied(ctx context.Context, i installation) (g *galley, remove func()) {
	store := i.store + "_copy"
	c.status("%s: copy %s", c.curve.Who, i.store)
	c.engine.copy(ctx, i.store, store)
	g = &galley{
		service: service{label: c.engine.label()}, binary: c.galley, engine: c.engine, store: store, uncached: true,
		key: i.key, loaded: &i.loaded, deep: map[string][]string{},
	}
	g.start(ctx)
	for _, sort := range sorts {
		for site := range g.loaded.sites {
			g.deep[sort] = append(g.deep[sort], g.hundredthFromEnd(ctx, site, sort, c.curve.Of == ofLocales))
		}
	}
	return g, func() {
		g.stop()
		c.engine.drop(ctx, store)
	}
}

// hundredthFromEnd is a page so far down a list that a scan would be noticed,
// with enough behind it for a full list.
func (g *galley) hundredthFromEnd(ctx context.Context, site int, sort string, localized bool) string {
	var found struct{ Data []struct{ ID string } }
	target := fmt.Sprintf("/v6/pages?siteId=%s&sortBy=%s&sortDirection=desc&limit=100", g.loaded.siteIDs[site], sort)
	if localized {
		target += "&locale=" + g.loaded.localeOf(site)
	}
	g.call(ctx, "GET", target, nil, &found)
	if len(found.Data) != 100 {
		check(fmt.Errorf("expected 100 pages, got %d: GET %s", len(found.Data), target))
	}
	return found.Data[99].ID
}

// turn is a measurement at one size, and one right before it at the size that
// it is compared with, if there is one.
type turn struct{ figure, base figure }

// growth is how many times the cost at the base the cost is.
func (t turn) growth() float64 { return float64(t.figure.cost()) / float64(max(1, t.base.cost())) }

// middleOf is the turn whose growth is the median.
func middleOf(turns []turn) turn {
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.growth(), b.growth()) })
	return turns[len(turns)/2]
}

// cost is the CPU time of a request, of the service and of the database.
func (f figure) cost() time.Duration { return f.CPU + f.Database }

// growthMetric is one that may not grow much.
type growthMetric struct {
	Metric metric
	Of     func(figure) time.Duration
}

var growthMetrics = []growthMetric{{cpu, figure.cost}, {p50, func(f figure) time.Duration { return f.P50 }}}

// ratio compares a figure at some size with the one at the base: with the one
// that was measured alternately with it, if there is one.
func (c curve) ratio(l level, operation string, of func(figure) time.Duration) (float64, bool) {
	f, ok := l.Figures[operation]
	base, known := l.Base[operation]
	if i := slices.IndexFunc(c.Levels, func(l level) bool { return l.Size == c.Base }); !known && i >= 0 {
		base, known = c.Levels[i].Figures[operation]
	}
	return float64(of(f)) / float64(of(base)), ok && known
}

// sized writes a size with its noun.
func sized(n int, of string) string {
	if n == 1 {
		of = strings.TrimSuffix(of, "s")
	}
	return count(n) + " " + of
}

// name is what grows, and how far.
func (c curve) name() string { return "growth to " + sized(c.Levels[len(c.Levels)-1].Size, c.Of) }

func (g *growth) verdicts() (all []verdict) {
	for _, c := range g.Curves {
		for _, m := range growthMetrics {
			for _, l := range c.Levels {
				for _, op := range growthOperations {
					r, ok := c.ratio(l, op.name, m.Of)
					if !ok || l.Size <= c.Base {
						continue
					}
					name := op.name + " at " + sized(l.Size, c.Of)
					t := target{c.name(), name, c.Who, m.Metric, sized(c.Base, c.Of), maxGrowth, 0}
					all = append(all, t.judge([]float64{r})...)
				}
			}
		}
	}
	return all
}
