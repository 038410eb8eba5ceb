package cms_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/internal/cms"
)

func TestPageClaims(t *testing.T) {
	deleted := time.Unix(0, 0)
	fr, de, gone := cms.Locale{ID: cms.NewID()}, cms.Locale{ID: cms.NewID()}, cms.Locale{ID: cms.NewID(), DeletedAt: &deleted}
	own := func(fields cms.FieldSet, pathname string) cms.Localization {
		return cms.Localization{Own: fields, Values: cms.Values{Pathname: pathname}}
	}
	page := cms.Page{ID: cms.NewID(), Version: cms.Live, Values: cms.Values{Pathname: "/a"}, Localizations: map[cms.ID]cms.Localization{
		fr.ID: own(cms.FieldPathname, "/f"), de.ID: own(cms.FieldTitle, "/a"), gone.ID: own(cms.FieldPathname, "/g"),
	}}
	want := []cms.Claim{{Version: cms.Live, Pathname: "/a", Owner: page.ID}, {Version: cms.Live, LocaleID: fr.ID, Pathname: "/f", Owner: page.ID}}
	if diff := cmp.Diff(want, page.Claims(cms.Locales{fr, de, gone})); diff != "" {
		t.Error(diff)
	}
	page.DeletedAt = &deleted
	if claims := page.Claims(cms.Locales{fr}); len(claims) != 0 {
		t.Errorf("a deleted page holds %v", claims)
	}
	if claims := (cms.Page{}).Claims(cms.Locales{fr}); len(claims) != 0 {
		t.Errorf("no page holds %v", claims)
	}
}

func TestRouteClaims(t *testing.T) {
	route := cms.Route{ID: cms.NewID(), Pathname: "/r"}
	want := []cms.Claim{
		{Version: cms.Draft, Pathname: "/r", Owner: route.ID, ByRoute: true}, {Version: cms.Live, Pathname: "/r", Owner: route.ID, ByRoute: true},
	}
	if diff := cmp.Diff(want, route.Claims()); diff != "" {
		t.Error(diff)
	}
	route.DeletedAt = new(time.Unix(0, 0))
	if claims := route.Claims(); len(claims) != 0 {
		t.Errorf("a deleted route holds %v", claims)
	}
}

// clash reports whether any two claims of two owners conflict.
func clash(t *testing.T, as, bs []cms.Claim, pages ...cms.Page) bool {
	t.Helper()
	overrides := func(page, locale cms.ID) bool {
		for _, p := range pages {
			if p.ID == page {
				return p.Localizations[locale].Own.Has(cms.FieldPathname)
			}
		}
		t.Fatal("asked about a stranger")
		return false
	}
	found := false
	for _, a := range as {
		for _, b := range bs {
			if a.Pathname != b.Pathname {
				continue
			}
			one, other := a.Clashes(b, overrides), b.Clashes(a, overrides)
			if one != other {
				t.Fatalf("%+v and %+v clash one way only", a, b)
			}
			found = found || one
		}
	}
	return found
}

// The claims are a short way to say what the contract says: in each locale a
// pathname belongs to one page. This says it the long way.
func TestPagesClashWhereALocaleWouldShowTwo(t *testing.T) {
	clashes := 0
	for seed := range uint64(5000) {
		s := newSource(seed)
		ids := newIDs(3)
		locales := cms.Locales{{ID: ids[0]}, {ID: ids[1]}, {ID: ids[2]}}
		a, b := s.page(ids), s.page(ids)
		want := a.Pathname == b.Pathname
		for _, id := range ids {
			want = want || a.In(id).Values.Pathname == b.In(id).Values.Pathname
		}
		if got := clash(t, a.Claims(locales), b.Claims(locales), a, b); got != want {
			t.Fatalf("seed %d: clash %v, want %v\n%+v\n%+v", seed, got, want, a.Claims(locales), b.Claims(locales))
		}
		if want {
			clashes++
		}
		if clash(t, a.Claims(locales), a.Claims(locales), a) {
			t.Fatalf("seed %d: a page clashes with itself", seed)
		}
	}
	if clashes == 0 || clashes == 5000 {
		t.Errorf("%d of 5000 pairs clash: the pairs prove nothing", clashes)
	}
}

func TestRoutesClashInEveryLocale(t *testing.T) {
	fr := cms.Locale{ID: cms.NewID()}
	page := cms.PagePatch{Pathname: cms.Some(new("/f"))}.Apply(cms.Page{ID: cms.NewID(), Values: cms.Values{Pathname: "/a"}}, fr.ID)
	claims := page.Claims(cms.Locales{fr})
	for pathname, want := range map[string]bool{"/a": true, "/f": true, "/b": false} {
		route := cms.Route{ID: cms.NewID(), Pathname: pathname}
		if got := clash(t, claims, route.Claims(), page); got != want {
			t.Errorf("a route at %s clashes: %v, want %v", pathname, got, want)
		}
	}
}
