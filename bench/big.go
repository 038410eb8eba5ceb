package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// big is what was measured of big work on one site, while clients read its live
// pages.
type big struct {
	Origin  origin             `json:"origin"`
	Pages   int                `json:"pages"`   // of the site
	Changes int                `json:"changes"` // that a publish puts live
	Rounds  results[bigFigure] `json:"rounds"`  // by the work's name
}

// bigFigure is one piece of work.
type bigFigure struct {
	Pages  int           `json:"pages"` // that it was about
	Rows   int           `json:"rows"`  // that it wrote
	Took   time.Duration `json:"took"`
	Usual  latency       `json:"usual"` // of the readers, before
	During latency       `json:"during"`
}

func (f bigFigure) rate() float64    { return float64(f.Pages) / f.Took.Seconds() }
func (f bigFigure) rowRate() float64 { return float64(f.Rows) / f.Took.Seconds() }

// The work.
const (
	publishing  = "publish"
	duplicating = "duplicate"
)

var bigWork = []string{publishing, duplicating}

// title says what the work is, and what its pages are.
func (b *big) title(work string) string {
	if work == publishing {
		return fmt.Sprintf("publish %s changed pages of %s", count(b.Changes), count(b.Pages))
	}
	return fmt.Sprintf("duplicate a site of %s pages", count(b.Pages))
}

func (b *big) verdicts() (all []verdict) {
	for _, work := range bigWork {
		for _, who := range []string{onSQLite, onPostgres} {
			judge := func(m metric, against string, atMost, atLeast float64, of func(bigFigure) float64) {
				t := target{b.title(work), b.title(work), who, m, against, atMost, atLeast}
				all = append(all, t.judge(b.Rounds.values(work, who, of))...)
			}
			judge(rowRate, "", 0, minBigRows, bigFigure.rowRate)
			judge(readersP50, "before", maxOfUsual, 0, func(f bigFigure) float64 { return float64(f.During.P50) / float64(f.Usual.P50) })
			judge(readersP99, "before", maxOfUsual, 0, func(f bigFigure) float64 { return float64(f.During.P99) / float64(f.Usual.P99) })
		}
	}
	return all
}

const (
	bigReaders  = 4
	readerPause = time.Millisecond
	readPages   = 1_000 // those that readers want, some of which are changed
	bigSite     = "big" // the store
)

// measureBig measures big work on every engine.
func (b *bench) measureBig(ctx context.Context, o origin) *big {
	found := &big{Origin: o, Pages: 100_000, Changes: 10_000}
	if b.quick {
		found.Pages, found.Changes = 10_000, 1_000
	}
	for _, e := range b.engines() {
		b.measureBigOn(ctx, e, found)
	}
	return found
}

func (b *bench) measureBigOn(ctx context.Context, e engine, found *big) {
	g := b.galleyOn(ctx, e, bigSite)
	defer func() { g.stop() }()
	g.start(ctx)
	g.loaded = &contents{dataset: dataset{pages: found.Pages, locales: []string{locale}}}
	g.grow(ctx, 1, b.progress(e.label()+", one site", 0, found.Pages))
	g.stop()
	e.settle(ctx, bigSite)
	g.start(ctx)
	for round := range b.rounds {
		for _, work := range bigWork {
			b.status("round %d of %d: %s, %s", round+1, b.rounds, found.title(work), e.label())
			f := b.measureWork(ctx, g, work, found.Changes)
			found.Rounds = found.Rounds.add(round, work, e.label(), f)
			b.line("%s, %s: %s, readers' p99 %s, before %s", e.label(), found.title(work), rateText(f.rate()), durationText(f.During.P99), durationText(f.Usual.P99))
		}
	}
}

// measureWork does one piece of work.
func (b *bench) measureWork(ctx context.Context, g *galley, work string, changes int) (f bigFigure) {
	service, database := g.processes()
	b.undisturbed(ctx, g.label+", "+work, slices.Concat(service, database), func() span {
		f = bigFigure{Pages: changes, Rows: g.publishedRows(changes)}
		do := func() { g.publishAll(ctx, changes) }
		if work == duplicating {
			f.Pages, f.Rows = g.loaded.size(), g.copiedRows()
			do = func() { g.duplicate(ctx) }
		} else {
			g.edit(ctx, changes)
		}
		// Every page is read once, so that the usual latency is not that of a first read.
		for _, id := range g.loaded.pageIDs[:readPages] {
			g.call(ctx, "GET", livePage(id), nil, nil)
		}
		return spanOf(func() {
			f.Usual = g.readWhile(ctx, func() { pause(ctx, b.lengths.measured) })
			f.During = g.readWhile(ctx, func() {
				start := time.Now()
				do()
				f.Took = time.Since(start)
			})
		})
	})
	return f
}

// rows are how many a page has in a version.
func (p page) rows() int {
	if p.locale != "" {
		return 2
	}
	return 1
}

// publishedRows are those that a publish of the changes writes: it puts the old
// live rows of a page aside, changes them and marks those of the draft.
func (g *galley) publishedRows(changes int) (rows int) {
	for _, number := range g.loaded.edited(changes) {
		rows += 3 * g.loaded.page(number).rows()
	}
	return rows
}

// copiedRows are those that a copy has: rows and pathnames in the draft and in
// the live version, and an entry for each page in the directory of ids.
func (g *galley) copiedRows() (rows int) {
	for number := range g.loaded.size() {
		rows += 4*g.loaded.page(number).rows() + 1
	}
	return rows
}

// edited returns the numbers of so many pages all over the first site.
func (c *contents) edited(changes int) (numbers []int) {
	for i := range changes {
		numbers = append(numbers, i*(c.dataset.pages/changes))
	}
	return numbers
}

// edit changes the titles of some pages all over the first site, in the draft.
func (g *galley) edit(ctx context.Context, changes int) {
	c := g.loaded
	var updates []map[string]any
	for _, number := range c.edited(changes) {
		title := fmt.Sprintf("Title %d", g.next.Add(1))
		updates = append(updates, map[string]any{"op": "update", "pageId": c.pageIDs[number], "title": title})
	}
	for some := range slices.Chunk(updates, batchSize) {
		g.batch(ctx, c.siteIDs[0], some, nil)
	}
}

// publishAll publishes the first site, in which so many changes must be found.
func (g *galley) publishAll(ctx context.Context, changes int) {
	var publish struct{ ChangeCount int }
	g.call(ctx, "POST", "/v2/sites/"+g.loaded.siteIDs[0]+"/publish", map[string]any{}, &publish)
	if publish.ChangeCount != changes {
		check(fmt.Errorf("expected %d changes to go live, got %d", changes, publish.ChangeCount))
	}
}

// duplicate copies the first site; the copy must have pages.
func (g *galley) duplicate(ctx context.Context) {
	var site struct{ ID string }
	var found struct{ Data []any }
	g.call(ctx, "POST", "/v2/sites/"+g.loaded.siteIDs[0]+"/duplicate", map[string]any{"name": "Copy"}, &site)
	g.call(ctx, "GET", "/v6/pages?versionRef=ref:live&siteId="+site.ID, nil, &found)
	if len(found.Data) == 0 {
		check(errors.New("the copy of a site has no pages"))
	}
}

func livePage(id string) string { return "/v6/pages/" + id + "?versionRef=ref:live" }

// readWhile reads live pages while something happens, by a few clients that
// leave the server time for it.
func (g *galley) readWhile(ctx context.Context, happens func()) latency {
	readers := newGenerator(g.address, g.headers(), bigReaders, http.StatusOK, func(r *rand.Rand) request {
		id := g.loaded.pageIDs[r.IntN(readPages)]
		return request{"GET", livePage(id), "", id}
	})
	readers.pause = readerPause
	return latencyOf(readers.runBeside(ctx, time.Hour, happens))
}
