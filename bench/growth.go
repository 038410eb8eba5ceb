package main

import (
	"cmp"
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

// level is the figures at one size, by operation. Those of the size that others
// are compared with were measured by turns with them: a machine's speed changes
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

// measureGrowth measures every engine, with up to so many pages.
func (b *bench) measureGrowth(ctx context.Context, maxPages int) (*growth, error) {
	found := &growth{Turns: b.rounds}
	for _, e := range b.engines() {
		for _, c := range []*climb{
			{bench: b, engine: e, curve: curve{Who: e.label(), Of: ofPages, Base: basePages}},
			{bench: b, engine: e, curve: curve{Who: e.label(), Of: ofLocales, Base: baseLocales}},
		} {
			if err := c.levels(ctx, maxPages); err != nil {
				return nil, fmt.Errorf("%s: %w", e.label(), err)
			}
			found.Curves = append(found.Curves, c.curve)
		}
	}
	return found, nil
}

// climb measures a curve, level by level.
type climb struct {
	*bench
	engine engine
	curve  curve
	base   *installation // of the size that others are compared with
}

// installation is a store, and what is in it. Nobody runs on it: levels are
// measured on copies, so that none finds what was written for the one before.
type installation struct {
	store  string
	key    string
	loaded contents
}

// levels measures all of them.
func (c *climb) levels(ctx context.Context, maxPages int) (err error) {
	defer func() {
		if c.base != nil {
			err = errors.Join(err, c.engine.drop(ctx, c.base.store))
		}
	}()
	if c.curve.Of == ofPages {
		return c.growPages(ctx, maxPages)
	}
	for _, size := range localeSizes {
		if err := c.growLocales(ctx, size); err != nil {
			return err
		}
	}
	return nil
}

// growPages adds sites to one installation.
func (c *climb) growPages(ctx context.Context, maxPages int) (err error) {
	g, err := c.newGrowing(ctx, c.engine, ofPages, []string{locale})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.stop(), c.engine.drop(ctx, ofPages)) }()
	for _, size := range pageSizes {
		if size > maxPages {
			break
		}
		if err := c.growTo(ctx, g, size); err != nil {
			return err
		}
		if err := c.level(ctx, g, size); err != nil {
			return err
		}
	}
	return nil
}

// growLocales makes an installation whose sites speak so many languages.
func (c *climb) growLocales(ctx context.Context, size int) (err error) {
	g, err := c.newGrowing(ctx, c.engine, ofLocales, furtherLocales[:size-1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.stop(), c.engine.drop(ctx, ofLocales)) }()
	if err := c.growTo(ctx, g, localesSites*growthPages); err != nil {
		return err
	}
	return c.level(ctx, g, size)
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

// level measures all operations at a size that was reached.
func (c *climb) level(ctx context.Context, g *galley, size int) error {
	reached := installation{c.curve.Of, g.key, *g.loaded}
	l, err := c.measureLevel(ctx, reached, size)
	if err != nil {
		return err
	}
	c.curve.Levels = append(c.curve.Levels, l)
	if size != c.curve.Base {
		return nil
	}
	base := reached
	base.store += "_base"
	if err := c.engine.copy(ctx, reached.store, base.store); err != nil {
		return err
	}
	c.base = &base
	return nil
}

func (c *climb) measureLevel(ctx context.Context, reached installation, size int) (l level, err error) {
	l = level{Size: size, Figures: map[string]figure{}}
	t, leave, err := c.visit(ctx, reached)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	var base *traffic
	if c.base != nil {
		l.Base = map[string]figure{}
		var leaveBase func() error
		if base, leaveBase, err = c.visit(ctx, *c.base); err != nil {
			return l, err
		}
		defer func() { err = errors.Join(err, leaveBase()) }()
	}
	for _, op := range growthOperations {
		c.status("%s, %s: %s", c.curve.Who, sized(size, c.curve.Of), op.name)
		kept, err := c.takeTurns(ctx, t, base, op)
		if err != nil {
			return l, err
		}
		l.Figures[op.name] = kept.figure
		if base != nil {
			l.Base[op.name] = kept.base
		}
		c.line("%s, %s: %s: CPU %s, p50 %s", c.curve.Who, sized(size, c.curve.Of), op.name,
			durationText(kept.figure.cost()), durationText(kept.figure.P50))
	}
	return l, nil
}

// turn is a measurement at one size, and one right before it at the size that
// it is compared with, if there is one.
type turn struct{ figure, base figure }

// growth is how many times the cost at the base the cost is.
func (t turn) growth() float64 { return float64(t.figure.cost()) / float64(max(1, t.base.cost())) }

// takeTurns measures both sizes by turns, and keeps the turn that is in the
// middle.
func (c *climb) takeTurns(ctx context.Context, t, base *traffic, op growthOperation) (kept turn, err error) {
	turns := make([]turn, c.rounds)
	for i := range turns {
		if base != nil {
			if turns[i].base, err = c.measure(ctx, base.subject(op)); err != nil {
				return kept, err
			}
		}
		if turns[i].figure, err = c.measure(ctx, t.subject(op)); err != nil {
			return kept, err
		}
	}
	return middleOf(turns), nil
}

func middleOf(turns []turn) turn {
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.growth(), b.growth()) })
	return turns[len(turns)/2]
}

// visit runs Galley on a copy of an installation, until it is left.
func (c *climb) visit(ctx context.Context, i installation) (t *traffic, leave func() error, err error) {
	store := i.store + "_copy"
	c.status("%s: copy %s", c.curve.Who, i.store)
	if err := c.engine.copy(ctx, i.store, store); err != nil {
		return nil, nil, err
	}
	g := c.galleyOn(c.engine, store)
	g.key, g.loaded = i.key, &i.loaded
	leave = func() error { return errors.Join(g.stop(), c.engine.drop(ctx, store)) }
	if err := errors.Join(c.withoutCache(ctx, g), g.start(ctx)); err != nil {
		return nil, nil, errors.Join(err, leave())
	}
	t, err = newTraffic(ctx, g, c.curve.Of == ofLocales)
	if err != nil {
		return nil, nil, errors.Join(err, leave())
	}
	return t, leave, nil
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

// ratio compares a figure at some size with the one at the base: with the one
// that was measured by turns with it, if there is one.
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
