package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"
)

// compare measures everybody.
func (b *bench) compare(ctx context.Context, o origin) (c *comparison, err error) {
	data := dataset{sites: 100, pages: 1000, locales: []string{locale}}
	if b.quick {
		data.sites = 10
	}
	c = &comparison{Origin: o, Sites: data.sites, Pages: data.pages, Memory: map[string]memory{}}
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.leave()) }()
	if err := b.prepare(ctx, data); err != nil {
		return nil, err
	}
	idle, err := b.memories()
	if err != nil {
		return nil, err
	}
	// Writes come after all rounds of reads: each round reads the same pages.
	for _, reads := range []bool{true, false} {
		for round := range b.rounds {
			if err := b.compareOnce(ctx, round, reads, c); err != nil {
				return nil, err
			}
		}
	}
	loaded, err := b.memories()
	for _, who := range slices.Sorted(maps.Keys(idle)) {
		c.Memory[who] = memory{idle[who], loaded[who]}
		b.line("%s: %s when idle, %s after the load", who, bytesText(idle[who]), bytesText(loaded[who]))
	}
	return c, err
}

func (b *bench) compareOnce(ctx context.Context, round int, reads bool, c *comparison) error {
	for _, op := range operations {
		if op.isRead() != reads || (b.quick && !op.quick) {
			continue
		}
		for _, who := range b.contestants {
			if !who.does(op) {
				continue
			}
			b.status("round %d of %d: %s, %s", round+1, b.rounds, op.name, who.name())
			g, isGalley := who.(*galley)
			if isGalley && op.isRead() {
				// It keeps answers, and has room for those of one operation.
				if err := errors.Join(g.stop(), g.start(ctx)); err != nil {
					return err
				}
			}
			f, err := b.measure(ctx, subjectOf(who, op))
			if err != nil {
				return err
			}
			c.Rounds = c.Rounds.add(round, op.name, who.name(), f)
			b.line("%-27s %-30s %11s  CPU %8s  db %8s  p50 %8s  p99 %8s", op.name, who.name(), rateText(f.Rate),
				durationText(f.CPU), durationText(f.Database), durationText(f.P50), durationText(f.P99))
			if isGalley && b.profiles {
				if err := b.tellProfile(ctx, g, op, f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// enter makes the contestants.
func (b *bench) enter(ctx context.Context) error {
	const store, copyOfIt = "galley", "uncached"
	at := func(name string) string { return filepath.Join(b.folder, name) }
	onDisk := sqlite{b.folder}
	first := b.galleyOn(onDisk, store)
	b.contestants = []contestant{
		first,
		&bare{folder: at("bare"), model: first},
		&pocketbase{binary: b.pocketbase, folder: at("pocketbase")},
		&rawWriter{model: first, from: onDisk.path(store), folder: at("raw")},
	}
	if b.postgres == nil {
		return nil
	}
	if err := b.postgres.create(ctx, store); err != nil {
		return err
	}
	second := b.galleyOn(b.postgres, store)
	third := &copied{galley: b.galleyOn(b.postgres, copyOfIt), of: second, engine: b.postgres, from: store, to: copyOfIt}
	third.label = uncached
	b.contestants = append(b.contestants, second, third, &rawReader{model: third.galley, url: b.postgres.url(copyOfIt)})
	return b.withoutCache(ctx, third.galley)
}

// prepare starts and loads everybody, and starts everybody anew: what is
// measured has not just been written by itself.
func (b *bench) prepare(ctx context.Context, data dataset) error {
	for _, c := range b.contestants {
		b.status("%s: start", c.name())
		if err := c.start(ctx); err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		b.status("%s: load %s pages", c.name(), count(data.size()))
		start := time.Now()
		if err := c.load(ctx, data); err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		if err := c.stop(); err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		if err := c.start(ctx); err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		b.line("%s: loaded in %s", c.name(), durationText(time.Since(start)))
	}
	return nil
}

func (b *bench) leave() error {
	var errs []error
	for _, c := range b.contestants {
		errs = append(errs, c.stop())
	}
	return errors.Join(errs...)
}
