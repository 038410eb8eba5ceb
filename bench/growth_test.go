package main

import (
	"slices"
	"testing"
	"time"
)

// grown has figures of one operation at growing sizes.
func grown(of string, base int, costs map[int]time.Duration) curve {
	c := curve{Who: onSQLite, Of: of, Base: base}
	for _, size := range append(pageSizes, localeSizes...) {
		if cost, ok := costs[size]; ok {
			c.Levels = append(c.Levels, level{Size: size, Figures: costing(cost)})
		}
	}
	return c
}

func costing(cost time.Duration) map[string]figure {
	return map[string]figure{"create": {CPU: cost / 2, Database: cost / 2, latency: latency{P50: 10 * cost}}}
}

// On a machine that has become slower, the base is slower, too.
func TestGrowthIsComparedWithTheBaseBesideIt(t *testing.T) {
	c := grown(ofPages, basePages, map[int]time.Duration{10_000: 200, 1_000_000: 600})
	c.Levels[1].Base = costing(500)
	for _, v := range (&growth{Curves: []curve{c}}).verdicts() {
		if v.value != 1.2 || !v.met() {
			t.Errorf("got %+v", v)
		}
	}
}

func TestGrowthIsJudgedAboveTheBase(t *testing.T) {
	g := &growth{Curves: []curve{
		grown(ofPages, basePages, map[int]time.Duration{1_000: 400, 10_000: 200, 100_000: 250, 1_000_000: 340}),
	}}
	got := g.verdicts()
	if len(got) != 4 { // two sizes above the base, CPU and p50
		t.Fatalf("got %d verdicts: %+v", len(got), got)
	}
	for i, want := range []float64{1.25, 1.7, 1.25, 1.7} {
		if got[i].value != want || got[i].met() != (want < maxGrowth) {
			t.Errorf("verdict %d is %+v", i, got[i])
		}
	}
	if got[1].operation != "create at 1,000,000 pages" || got[1].against != "10,000 pages" {
		t.Errorf("got %+v", got[1].target)
	}
}

func TestTheTurnInTheMiddleIsKept(t *testing.T) {
	at := func(cost, base time.Duration) turn { return turn{figure{CPU: cost}, figure{CPU: base}} }
	for _, turns := range [][]turn{
		{at(300, 100), at(100, 100), at(440, 200)}, // by what it grew, not by what it took
		{at(10, 0), at(30, 0), at(20, 0)},          // at the base itself
	} {
		want := turns[2]
		if got := middleOf(slices.Clone(turns)); got != want {
			t.Errorf("of %v, %v was kept", turns, got)
		}
	}
}

func TestGrowthWithoutItsBase(t *testing.T) {
	g := &growth{Curves: []curve{grown(ofLocales, baseLocales, map[int]time.Duration{10: 100, 50: 900})}}
	if got := g.verdicts(); got != nil {
		t.Errorf("without the size to compare with, got %+v", got)
	}
}

// TestPathnamesAreUnique in every site and locale: a load would fail half-way
// otherwise.
func TestPathnamesAreUnique(t *testing.T) {
	d := dataset{sites: 2, pages: 1000, locales: furtherLocales}
	localized := map[string]int{}
	for _, code := range append([]string{""}, d.locales...) {
		seen := map[string]bool{}
		for _, p := range d.all()[d.pages:] {
			if seen[p.pathnameIn(code)] {
				t.Fatalf("two pages have %s in %q", p.pathnameIn(code), code)
			}
			seen[p.pathnameIn(code)] = true
			if code != "" && p.locale == code {
				localized[code]++
			}
		}
	}
	for _, code := range d.locales {
		if localized[code] == 0 {
			t.Errorf("no page is localized in %s", code)
		}
	}
}

func TestLocalesSuffice(t *testing.T) {
	different := slices.Compact(slices.Sorted(slices.Values(furtherLocales)))
	if largest := localeSizes[len(localeSizes)-1]; len(different) != largest-1 {
		t.Errorf("there are %d further locales for a site of %d", len(different), largest)
	}
}

func TestSitesAreReadInManyLocales(t *testing.T) {
	for further, want := range map[int]int{0: 1, 1: 1, 9: 9, 49: 10} {
		d := dataset{sites: 10, pages: 1, locales: furtherLocales[:further]}
		seen := map[string]bool{}
		for site := range d.sites {
			seen[d.localeOf(site)] = true
		}
		if len(seen) != want {
			t.Errorf("10 sites of %d further locales are read in %d", further, len(seen))
		}
	}
}
