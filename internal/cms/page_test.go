package cms_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/internal/cms"
)

// source makes pages at random. Few values are in play, so that locales often
// agree with the default by chance.
type source struct{ *rand.Rand }

func newSource(seed uint64) source { return source{rand.New(rand.NewPCG(seed, 0))} }

func (s source) text() *string {
	return []*string{nil, new("a"), new("b")}[s.IntN(3)]
}

func (s source) values() cms.Values {
	return cms.Values{
		Pathname: []string{"/", "/a", "/b"}[s.IntN(3)], Title: s.text(), Description: s.text(),
		CanonicalURL: s.text(), SocialImageURL: s.text(),
		SitemapPriority:           []*float64{nil, new(0.0), new(0.5)}[s.IntN(3)],
		SitemapFrequency:          []*cms.Frequency{nil, new(cms.Frequency("daily"))}[s.IntN(2)],
		IsOnline:                  s.IntN(2) == 0,
		ExcludedFromSearchEngines: []*bool{nil, new(true), new(false)}[s.IntN(3)],
	}
}

// page is a page in which every localization holds what it inherits, as every
// stored page does.
func (s source) page(locales []cms.ID) cms.Page {
	p := cms.Page{ID: cms.NewID(), Values: s.values(), Localizations: map[cms.ID]cms.Localization{}}
	for _, id := range locales {
		own := cms.FieldSet(s.UintN(uint(cms.AllFields) + 1))
		if s.IntN(3) == 0 || own == 0 {
			continue
		}
		l := cms.Localization{Own: own, Values: p.Values}
		l.CopyFrom(s.values(), own)
		p.Localizations[id] = l
	}
	return p
}

func newIDs(n int) []cms.ID {
	ids := make([]cms.ID, n)
	for i := range ids {
		ids[i] = cms.NewID()
	}
	return ids
}

func checkInheritance(t *testing.T, p cms.Page) {
	t.Helper()
	for id, l := range p.Localizations {
		if l.Own == 0 {
			t.Errorf("locale %s overrides nothing and is kept", id)
		}
		if d := l.Diff(p.Values) &^ l.Own; d != 0 {
			t.Errorf("locale %s inherits fields %b and differs in them", id, d)
		}
	}
}

func TestRebaseChangesNothingThatAReaderSees(t *testing.T) {
	for seed := range uint64(5000) {
		s := newSource(seed)
		others := newIDs(1 + s.IntN(4))
		oldDefault, newDefault := cms.NewID(), others[s.IntN(len(others))]
		before := s.page(others)
		after := before.Rebase(oldDefault, newDefault, append(others, oldDefault))

		checkInheritance(t, after)
		if _, ok := after.Localizations[newDefault]; ok {
			t.Errorf("seed %d: the new default overrides itself", seed)
		}
		seen := map[cms.ID]cms.Values{oldDefault: before.Values}
		for _, id := range others {
			seen[id] = before.In(id).Values
		}
		for id, want := range seen {
			shown := id
			if id == newDefault {
				shown = cms.NoID
			}
			if diff := cmp.Diff(want, after.In(shown).Values); diff != "" {
				t.Fatalf("seed %d: a locale shows something else:\n%s", seed, diff)
			}
		}
	}
}

func TestRebaseThereAndBackShowsTheSame(t *testing.T) {
	for seed := range uint64(500) {
		s := newSource(seed)
		en, fr, de := cms.NewID(), cms.NewID(), cms.NewID()
		before := s.page([]cms.ID{fr, de})
		all := []cms.ID{en, fr, de}
		after := before.Rebase(en, fr, all).Rebase(fr, en, all)
		checkInheritance(t, after)
		for _, id := range []cms.ID{cms.NoID, fr, de} {
			if diff := cmp.Diff(before.In(id).Values, after.In(id).Values); diff != "" {
				t.Fatalf("seed %d: a locale shows something else:\n%s", seed, diff)
			}
		}
	}
}

func TestRowsPutThePageTogetherAgain(t *testing.T) {
	for seed := range uint64(200) {
		want := newSource(seed).page(newIDs(3))
		if got := cms.PageFromRows(want.Rows()); !got.SameContent(want) || got.ID != want.ID {
			t.Fatalf("seed %d:\n%s", seed, cmp.Diff(want, got))
		}
	}
}

func TestApplyToTheDefaultLocaleReachesThoseThatInherit(t *testing.T) {
	fr, de := cms.NewID(), cms.NewID()
	page := cms.Page{Values: cms.Values{Pathname: "/a", Title: new("A"), IsOnline: true}}
	page = cms.PagePatch{Title: cms.Some(new("F"))}.Apply(page, fr)
	page = cms.PagePatch{Description: cms.Some(new("D"))}.Apply(page, de)
	page = cms.PagePatch{Title: cms.Some(new("B")), Pathname: cms.Some(new("/b"))}.Apply(page, cms.NoID)
	checkInheritance(t, page)
	for id, want := range map[cms.ID]string{cms.NoID: "B", fr: "F", de: "B"} {
		if got := page.In(id).Values; *got.Title != want || got.Pathname != "/b" {
			t.Errorf("title %s at %s, want %s at /b", *got.Title, got.Pathname, want)
		}
	}
}

func TestApplyNull(t *testing.T) {
	fr := cms.NewID()
	page := cms.Page{Values: cms.Values{Pathname: "/a", Title: new("A"), IsOnline: true}}
	localized := cms.PagePatch{Title: cms.Some(new("F")), IsOnline: cms.Some(new(false))}.Apply(page, fr)

	cleared := cms.PagePatch{Title: cms.Some[*string](nil)}.Apply(localized, cms.NoID)
	if cleared.Title != nil || *cleared.In(fr).Values.Title != "F" {
		t.Error("null does not clear the default value alone")
	}
	inherits := cms.PagePatch{Title: cms.Some[*string](nil)}.Apply(localized, fr)
	if got := inherits.In(fr).Values; *got.Title != "A" || got.IsOnline {
		t.Errorf("null does not return the field to inheritance: %+v", got)
	}
	none := cms.PagePatch{Title: cms.Some[*string](nil), IsOnline: cms.Some[*bool](nil)}.Apply(localized, fr)
	if len(none.Localizations) != 0 || !none.SameContent(page) {
		t.Error("a locale without overrides is kept")
	}
	if len(localized.Localizations) != 1 || *localized.Localizations[fr].Title != "F" {
		t.Error("Apply changed the page that it was given")
	}
}

func TestApplyNothingChangesNothing(t *testing.T) {
	for seed := range uint64(200) {
		locales := newIDs(2)
		page := newSource(seed).page(locales)
		for _, id := range append(locales, cms.NoID) {
			if got := (cms.PagePatch{}).Apply(page, id); !got.SameContent(page) {
				t.Fatalf("seed %d:\n%s", seed, cmp.Diff(page, got))
			}
		}
	}
}

func TestDelocalize(t *testing.T) {
	locales := newIDs(2)
	page := cms.PagePatch{Title: cms.Some(new("x"))}.Apply(cms.PagePatch{Title: cms.Some(new("y"))}.Apply(cms.Page{}, locales[0]), locales[1])
	got := page.Delocalize(locales[0])
	if len(got.Localizations) != 1 || len(page.Localizations) != 2 || got.In(locales[0]).Values.Title != nil {
		t.Errorf("%+v", got.Localizations)
	}
}

func TestDisplayName(t *testing.T) {
	for want, page := range map[string]cms.Page{
		"given": {Name: new("given"), Values: cms.Values{Pathname: "/a", Title: new("title")}},
		"title": {Values: cms.Values{Pathname: "/a", Title: new("title")}},
		"b":     {Values: cms.Values{Pathname: "/a/b", Title: new(" ")}},
		"/":     {Values: cms.Values{Pathname: "/"}},
	} {
		if got := page.In(cms.NoID).DisplayName(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestDiffFindsEveryField(t *testing.T) {
	all := cms.Values{
		Pathname: "/x", Title: new(""), Description: new(""), CanonicalURL: new(""), SocialImageURL: new(""),
		SitemapPriority: new(0.0), SitemapFrequency: new(cms.Frequency("daily")), IsOnline: true, ExcludedFromSearchEngines: new(false),
		Content: new(cms.Digest{}),
	}
	for f := cms.FieldPathname; f <= cms.FieldContent; f <<= 1 {
		var v cms.Values
		v.CopyFrom(all, f)
		if got := v.Diff(cms.Values{}); got != f {
			t.Errorf("field %b differs and Diff says %b", f, got)
		}
	}
	if got := all.Diff(cms.Values{}); got != cms.AllFields {
		t.Errorf("all fields differ and Diff says %b", got)
	}
}

func TestPositionsPutNullsLast(t *testing.T) {
	position := func(title *string) cms.PagePosition {
		return cms.Page{Values: cms.Values{Title: title}}.In(cms.NoID).Position(cms.SortTitle)
	}
	order := []*string{new(""), new("A"), new("a"), new("~"), new("\u00e9"), new("\U0010ffff"), nil}
	for i, a := range order {
		for j, b := range order {
			got := position(a).Compare(position(b))
			if (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("title %d against %d: %d", i, j, got)
			}
		}
	}
}

func TestMinusZeroIsZero(t *testing.T) {
	patch := cms.PagePatch{SitemapPriority: cms.Some(new(math.Copysign(0, -1)))}
	var problems cms.Problems
	patch.Clean(&problems, false)
	if err := problems.Err(); err != nil || math.Signbit(*patch.SitemapPriority.Value) {
		t.Errorf("%v, %v", *patch.SitemapPriority.Value, err)
	}
}
