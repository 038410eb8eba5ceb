package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// growth is how costs grow with what is there already.
type growth struct {
	Origin origin  `json:"origin"`
	Curves []curve `json:"curves"`
}

// curve is the costs on one engine while one thing grows.
type curve struct {
	Who    string  `json:"who"`
	Of     string  `json:"of"`   // what grows
	Base   int     `json:"base"` // the size that others are compared with
	Levels []level `json:"levels"`
}

// level is the figures at one size, by operation.
type level struct {
	Size    int               `json:"size"`
	Figures map[string]figure `json:"figures"`
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

// measureGrowth measures every engine, with up to so many pages.
func (b *bench) measureGrowth(ctx context.Context, maxPages int) (*growth, error) {
	found := &growth{}
	for _, e := range b.engines() {
		for _, grow := range []func() (curve, error){
			func() (curve, error) { return b.growPages(ctx, e, maxPages) },
			func() (curve, error) { return b.growLocales(ctx, e) },
		} {
			c, err := grow()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.label(), err)
			}
			found.Curves = append(found.Curves, c)
		}
	}
	return found, nil
}

// growPages adds sites to one installation.
func (b *bench) growPages(ctx context.Context, e engine, maxPages int) (c curve, err error) {
	c = curve{Who: e.label(), Of: ofPages, Base: basePages}
	g, err := b.newGrowing(ctx, e, ofPages, []string{locale})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, g.stop(), e.drop(ctx, ofPages)) }()
	for _, size := range pageSizes {
		if size > maxPages {
			break
		}
		if err := b.growTo(ctx, g, size); err != nil {
			return c, err
		}
		l, err := b.measureLevel(ctx, e, g, c, size)
		if err != nil {
			return c, err
		}
		c.Levels = append(c.Levels, l)
	}
	return c, nil
}

// growLocales makes installations of one size whose sites speak more and more
// languages.
func (b *bench) growLocales(ctx context.Context, e engine) (c curve, err error) {
	c = curve{Who: e.label(), Of: ofLocales, Base: baseLocales}
	for _, size := range localeSizes {
		l, err := b.measureLocales(ctx, e, c, size)
		if err != nil {
			return c, err
		}
		c.Levels = append(c.Levels, l)
	}
	return c, nil
}

func (b *bench) measureLocales(ctx context.Context, e engine, c curve, size int) (l level, err error) {
	g, err := b.newGrowing(ctx, e, ofLocales, furtherLocales[:size-1])
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, g.stop(), e.drop(ctx, ofLocales)) }()
	if err := b.growTo(ctx, g, localesSites*growthPages); err != nil {
		return l, err
	}
	return b.measureLevel(ctx, e, g, c, size)
}

// newGrowing makes an empty installation. It has no cache: that would tell how
// much fits into it, not how the costs behind it grow.
func (b *bench) newGrowing(ctx context.Context, e engine, store string, locales []string) (*galley, error) {
	if err := e.create(ctx, store); err != nil {
		return nil, err
	}
	g := b.galleyOn(e, store)
	g.loaded = &contents{dataset: dataset{pages: growthPages, locales: locales}}
	return g, b.withoutCache(ctx, g)
}

// growTo starts an installation, loads it up to a number of pages, and stops
// it.
func (b *bench) growTo(ctx context.Context, g *galley, size int) error {
	if err := g.start(ctx); err != nil {
		return err
	}
	what := fmt.Sprintf("%s, sites of %d locales", g.label, len(g.loaded.locales)+1)
	if err := g.grow(ctx, size/growthPages, b.progress(what, g.loaded.size(), size)); err != nil {
		return err
	}
	return g.stop()
}

// measureLevel measures all operations on a copy of an installation: no level
// finds what was written to measure the one before.
func (b *bench) measureLevel(ctx context.Context, e engine, of *galley, c curve, size int) (l level, err error) {
	store := c.Of + "_copy"
	b.status("%s, %s: copy", c.Who, sized(size, c.Of))
	if err := e.copy(ctx, c.Of, store); err != nil {
		return l, err
	}
	g := b.galleyOn(e, store)
	g.key, g.loaded = of.key, of.loaded
	defer func() { err = errors.Join(err, g.stop(), e.drop(ctx, store)) }()
	if err := errors.Join(b.withoutCache(ctx, g), g.start(ctx)); err != nil {
		return l, err
	}
	t, err := newTraffic(ctx, g, c.Of == ofLocales)
	if err != nil {
		return l, err
	}
	l = level{Size: size, Figures: map[string]figure{}}
	for _, op := range growthOperations {
		b.status("%s, %s: %s", c.Who, sized(size, c.Of), op.name)
		f, err := b.measure(ctx, t.subject(op))
		if err != nil {
			return l, err
		}
		l.Figures[op.name] = f
		b.line("%s, %s: %s: CPU %s, p50 %s", c.Who, sized(size, c.Of), op.name, durationText(f.cost()), durationText(f.P50))
	}
	return l, nil
}

// cost is the CPU time of a request, whoever spends it.
func (f figure) cost() time.Duration { return f.CPU + f.Database }

func (f figure) half() time.Duration { return f.P50 }

// growthMetric is one that may not grow much.
type growthMetric struct {
	Metric metric
	Of     func(figure) time.Duration
}

var growthMetrics = []growthMetric{{cpu, figure.cost}, {p50, figure.half}}

// ratio compares a figure at some size with the one at the base.
func (c curve) ratio(l level, operation string, of func(figure) time.Duration) (float64, bool) {
	f, ok := l.Figures[operation]
	i := slices.IndexFunc(c.Levels, func(l level) bool { return l.Size == c.Base })
	if !ok || i < 0 {
		return 0, false
	}
	base, ok := c.Levels[i].Figures[operation]
	return float64(of(f)) / float64(of(base)), ok
}

// sized writes a size with its noun.
func sized(n int, of string) string {
	if n == 1 {
		of = strings.TrimSuffix(of, "s")
	}
	return count(n) + " " + of
}

// name is what grows, and how far.
func (c curve) name() string {
	return "growth to " + sized(c.Levels[len(c.Levels)-1].Size, c.Of)
}

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
