package main

import (
	"slices"
	"testing"
)

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
