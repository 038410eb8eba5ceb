package service

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"galley/internal/cms"
)

// listed is what a list of these items has, by the plainest means.
func listed(items []cms.ID, descending bool, after cms.ID, limit int) (list []cms.ID, hasMore bool) {
	items = slices.Clone(items)
	if descending {
		slices.Reverse(items)
	}
	items = items[slices.Index(items, after)+1:]
	return items[:min(limit, len(items))], len(items) > limit
}

func idsOf(pages []shownPage) []cms.ID {
	ids := []cms.ID{}
	for _, p := range pages {
		ids = append(ids, p.id)
	}
	return ids
}

// A shelf that was taught parts of lists, in any order and direction, knows a
// list as it is or not at all.
func TestShelfKnowsAListAsItIsOrNotAtAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		orders := map[cms.PageSort][]cms.ID{}
		ids := make([]cms.ID, rapid.IntRange(0, 12).Draw(t, "pages"))
		for i := range ids {
			ids[i] = cms.NewID()
		}
		for _, sort := range []cms.PageSort{cms.SortPath, cms.SortTitle} {
			orders[sort] = rapid.Permutation(ids).Draw(t, string(sort))
		}
		sh := newShelf(listRead{})
		draw := func() (q cms.PageQuery, after cms.ID) {
			q.Sort = rapid.SampledFrom([]cms.PageSort{cms.SortPath, cms.SortTitle}).Draw(t, "sort")
			q.Descending = rapid.Bool().Draw(t, "descending")
			q.Limit = rapid.IntRange(1, 5).Draw(t, "limit")
			return q, rapid.SampledFrom(append([]cms.ID{cms.NoID}, ids...)).Draw(t, "after")
		}
		found := 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			q, after := draw()
			items, hasMore := listed(orders[q.Sort], q.Descending, after, q.Limit)
			if rapid.Bool().Draw(t, "teach") {
				var texts []shownPage
				for _, id := range items {
					texts = append(texts, shownPage{id: id, text: id.String()})
				}
				sh.learn(lesson{from: listRead{query: q}, after: after, pure: true, ids: items, ended: !hasMore, texts: texts})
			}
			got, more, ok, _ := sh.find(q, after)
			if !ok {
				continue
			}
			found++
			if !slices.Equal(idsOf(got), items) || more != hasMore {
				t.Fatalf("%+v after %v: %v (more: %t), want %v (more: %t)", q, after, idsOf(got), more, items, hasMore)
			}
		}
		// Whatever it was taught by then, all of it makes it know everything.
		for sort, items := range orders {
			sh.learn(lesson{from: listRead{query: cms.PageQuery{Sort: sort}}, ids: items, ended: true})
		}
		for _, id := range ids {
			sh.learn(lesson{texts: []shownPage{{id: id, text: "x"}}, after: id})
		}
		q, after := draw()
		if _, _, ok, _ := sh.find(q, after); !ok {
			t.Fatal("a shelf that was taught everything does not know a list")
		}
	})
}

// A cursor need not be an item of the list: what comes before it is nobody's
// business.
func TestShelfDoesNotListACursorThatIsNoItem(t *testing.T) {
	before, gone, a, b := cms.NewID(), cms.NewID(), cms.NewID(), cms.NewID()
	sh := newShelf(listRead{})
	forth, back := cms.PageQuery{Sort: cms.SortPath, Limit: 5}, cms.PageQuery{Sort: cms.SortPath, Limit: 5, Descending: true}
	for _, id := range []cms.ID{before, gone, a, b} {
		sh.learn(lesson{after: id, texts: []shownPage{{id: id, text: "x"}}})
	}
	sh.learn(lesson{from: listRead{query: forth}, after: gone, pure: true, ids: []cms.ID{a, b}, ended: true})
	sh.learn(lesson{from: listRead{query: back}, after: gone, pure: true, ids: []cms.ID{before}, ended: true})
	if items, _, ok, _ := sh.find(back, b); ok {
		t.Errorf("it claims to know what comes before: %v", idsOf(items))
	}
	sh.learn(lesson{from: listRead{query: forth}, ids: []cms.ID{before, a}})
	if items, _, ok, _ := sh.find(back, b); !ok || !slices.Equal(idsOf(items), []cms.ID{a, before}) {
		t.Errorf("before the last: %v, %t", idsOf(items), ok)
	}
}

// What a page keeps beside its text is counted, too.
func TestShelfCountsWhatItKeeps(t *testing.T) {
	view := PageView{PageRow: cms.PageRow{ID: cms.NewID(), Values: cms.Values{Pathname: "/about", Title: new(`"Quoted"`), Description: new("plain")}}}
	p := newShownPage(view, `{"pathname":"/about","title":"\"Quoted\"","description":"plain"}`)
	if want := len(p.text) + len(`"Quoted"`); p.bytes() != want {
		t.Errorf("%d bytes, want %d", p.bytes(), want)
	}
	if got, want := p.position(cms.SortTitle), view.Position(cms.SortTitle); got != want {
		t.Errorf("it stands at %v, want %v", got, want)
	}
}

func TestShelvesAreBounded(t *testing.T) {
	const most = 64 << 10
	told := int64(-1)
	all := newShelves(most, func(bytes int64) { told = bytes })
	text := string(make([]byte, 500))
	teach := func(site cms.ID, n int) *shelf {
		sh := newShelf(listRead{})
		for range n {
			sh.learn(lesson{texts: []shownPage{{id: cms.NewID(), text: text}}})
		}
		all.put(shelfKey{site: site}, sh)
		return sh
	}
	var sites []cms.ID
	for range 50 {
		sites = append(sites, cms.NewID())
		teach(sites[len(sites)-1], 5)
		all.wait(pending{lesson: lesson{texts: []shownPage{{text: text}}}, due: time.Now().Add(time.Hour)})
		if all.bytes > most {
			t.Fatalf("%d bytes, of at most %d", all.bytes, most)
		}
	}
	if all.find(shelfKey{site: sites[0]}) != nil || all.find(shelfKey{site: sites[49]}) == nil {
		t.Error("the one that was not used for the longest time should be gone, the last one there")
	}
	if told != shareStep {
		t.Errorf("it told of %d bytes", told)
	}
	teach(sites[0], 200)
	if all.find(shelfKey{site: sites[0]}) != nil || all.bytes > most {
		t.Error("a shelf that is too big for all is kept")
	}
	if all.waiting > most/pendingShare/4*3 || len(all.pending) == 0 {
		t.Errorf("%d bytes wait in %d lessons", all.waiting, len(all.pending))
	}
	for range 100 { // orders have room beside them
		all.wait(pending{lesson: lesson{ids: make([]cms.ID, 100)}, due: time.Now().Add(time.Hour)})
	}
	if all.waiting <= most/pendingShare/4*3 || all.waiting > most/pendingShare || all.bytes > most {
		t.Errorf("with orders, %d bytes wait, and %d are taken", all.waiting, all.bytes)
	}
	if due := all.due(time.Now().Add(2 * time.Hour)); len(due) == 0 || all.waiting != 0 || len(all.pending) != 0 {
		t.Errorf("%d lessons are due, %d bytes wait on", len(due), all.waiting)
	}
}

// What was read is believed only if nothing is heard, for some time, that had
// changed before.
func TestShelfIsNotTaughtWhatChangedMeanwhile(t *testing.T) {
	site, page := cms.NewID(), cms.NewID()
	key := shelfKey{site: site}
	for _, change := range []string{"none", "before", "between", "of another site"} {
		s := Service{}
		s.changes.Deaf(false)
		s.KeepLists(1<<20, func(int64) {})
		read := func(text string) lesson {
			return lesson{
				from: listRead{moment: s.changes.moment()}, ids: []cms.ID{page}, ended: true,
				texts: []shownPage{{id: page, text: text}},
			}
		}
		first := read("first")
		if change == "before" {
			s.changes.Changed(cms.Subject{ID: site, Drafts: true})
		}
		s.teach(key, first)
		second := read("second")
		switch change {
		case "between": // heard of late: the second lesson may have been of one or the other state
			s.changes.Changed(cms.Subject{ID: site, Drafts: true})
		case "of another site":
			s.changes.Changed(cms.Subject{ID: cms.NewID(), Drafts: true})
		}
		s.teach(key, second)
		sh := s.shelves.find(key)
		got := "nothing"
		if sh != nil && s.changes.unchanged(sh.moment, key.about()...) {
			items, _, _, _ := sh.find(cms.PageQuery{Limit: 1}, cms.NoID)
			got = fmt.Sprint(len(items), " ", items[0].text)
		}
		want := map[string]string{"none": "1 second", "before": "1 second", "between": "nothing", "of another site": "1 second"}[change]
		if got != want {
			t.Errorf("change %s: %s, want %s", change, got, want)
		}
	}
}

// A lesson is of before a change that comes while it is being taught, and the
// next reader has begun a new shelf by then.
func TestShelfOfAfterAChangeIsNotTaughtWhatWasBefore(t *testing.T) {
	site, page := cms.NewID(), cms.NewID()
	key := shelfKey{site: site}
	s := Service{}
	s.changes.Deaf(false)
	s.KeepLists(1<<20, func(int64) {})
	read := func(text string) lesson {
		return lesson{
			from: listRead{moment: s.changes.moment()}, ids: []cms.ID{page}, ended: true,
			texts: []shownPage{{id: page, text: text}},
		}
	}
	old := read("old")
	meanwhile := sync.OnceFunc(func() {
		s.changes.Changed(cms.Subject{ID: site, Drafts: true})
		s.teach(key, read("new"))
	})
	s.shelves.teach(key, old, func(since int64) bool {
		defer meanwhile()
		return s.changes.unchanged(since, key.about()...)
	})
	sh := s.shelves.find(key)
	if sh == nil || !s.changes.unchanged(sh.moment, key.about()...) {
		return // nobody takes from it
	}
	if items, _, _, _ := sh.find(cms.PageQuery{Limit: 1}, cms.NoID); len(items) != 1 || items[0].text != "new" {
		t.Errorf("lists show %v, want the page as it is now", items)
	}
}
