package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/service"
)

// crowd is pages with many ties in every order, some with overrides in a
// locale.
func crowd(random *rand.Rand, siteID, localeID cms.ID, n int) []cms.Page {
	pages := make([]cms.Page, n)
	for i := range pages {
		p := newPage(siteID, fmt.Sprintf("/stays/%d", random.IntN(1_000_000)*1000+i))
		p.CreatedAt, p.UpdatedAt = later(random.IntN(30)), later(random.IntN(30))
		if title := random.IntN(20); title > 2 {
			p.Title, p.Description = new(fmt.Sprint(title)), new(fmt.Sprint(title%5))
		}
		if i%2 == 0 {
			p = localize(p, localeID, titlePatch(fmt.Sprint(random.IntN(20))))
		}
		pages[i] = p
	}
	return pages
}

// restless adds, changes and deletes pages of its own until it is stopped.
func restless(t *testing.T, store cms.Store, siteID, localeID cms.ID, seed uint64, stop <-chan struct{}) error {
	random := rand.New(rand.NewPCG(seed, 7))
	var mine []cms.Page
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(20 * time.Millisecond): // or a walk might chase them for long
		}
		p := crowd(random, siteID, localeID, 2)[random.IntN(2)]
		p.Pathname += "/restless"
		mine = append(mine, p)
		moved := mine[random.IntN(len(mine))]
		moved.Title, moved.UpdatedAt = new(fmt.Sprint(random.IntN(20))), later(random.IntN(30))
		gone := mine[0]
		gone.DeletedAt = new(at)
		err := store.InTx(t.Context(), func(tx cms.Tx) error {
			if err := tx.CreatePages(t.Context(), p); err != nil {
				return err
			}
			if err := change(t, tx, moved); err != nil || len(mine) < 20 {
				return err
			}
			return change(t, tx, gone)
		})
		if err != nil {
			return err
		}
		if len(mine) == 20 {
			mine = mine[1:]
		}
	}
}

func change(t *testing.T, tx cms.Tx, after cms.Page) error {
	t.Helper()
	before, err := tx.LockPage(t.Context(), after.SiteID, after.Version, after.ID)
	if err != nil {
		return err
	}
	return tx.UpdatePage(t.Context(), before, after)
}

// meetings counts how often a walk met each page.
type meetings map[cms.ID]int

// check demands that each page was met once.
func (m meetings) check(t *testing.T, what string, pages []cms.Page, exempt map[cms.ID]bool) {
	t.Helper()
	for _, p := range pages {
		if n := m[p.ID]; n != 1 && !exempt[p.ID] {
			t.Errorf("%s: page %s was met %d times", what, p.Pathname, n)
		}
	}
}

func raceWalks(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	french := aLocale(t, store, site.ID, "fr")
	pages := crowd(rand.New(rand.NewPCG(5, 6)), site.ID, french, 257)
	createPages(t, store, pages...)

	stop := make(chan struct{})
	var others sync.WaitGroup
	for seed := range uint64(2) {
		others.Go(func() {
			if err := restless(t, store, site.ID, french, seed, stop); err != nil {
				t.Error(err)
			}
		})
	}
	everyQuery(site.ID, func(q cms.PageQuery) {
		for _, limit := range []int{1, 7, 20, 100} {
			for _, locale := range []cms.ID{cms.NoID, french} {
				if limit == 1 && locale != cms.NoID {
					continue // the longest walk is worth its time once
				}
				q.Limit, q.LocaleID = limit, locale
				what := fmt.Sprintf("%s, descending %t, limit %d", q.Sort, q.Descending, limit)
				walkViews(t, store, q).check(t, what, pages, nil)
			}
		}
	})
	close(stop)
	others.Wait()
}

// walkViews walks a list as callers do: each step in a view of its own.
func walkViews(t *testing.T, store cms.Store, q cms.PageQuery) meetings {
	t.Helper()
	met := meetings{}
	for steps := 0; ; steps++ {
		if steps > 5000 {
			t.Fatal("the walk does not end")
		}
		var list cms.List[cms.ListedPage]
		must(t, store.View(t.Context(), func(r cms.Reader) error {
			rows, err := r.Pages(t.Context(), q, true)
			list = cms.CutList(rows, q.Limit)
			return err
		}))
		for _, row := range list.Items {
			met[row.ID]++
		}
		if !list.HasMore {
			return met
		}
		q.After = new(list.Items[len(list.Items)-1].Position(q.Sort))
	}
}

// raceMovingCursor walks through the service and, between steps, deletes the
// page that is the cursor or gives it another place in the list.
func raceMovingCursor(t *testing.T, store cms.Store) {
	o := newOffice(t, store)
	french := aLocale(t, store, o.site.ID, "fr")
	everyQuery(o.site.ID, func(q cms.PageQuery) {
		for _, limit := range []int{1, 7, 20, 100} {
			fresh := newSite(o.site.WorkspaceID)
			createSite(t, store, fresh)
			pages := crowd(rand.New(rand.NewPCG(5, 6)), fresh.ID, french, 257)
			for i := range pages {
				pages[i].Localizations = map[cms.ID]cms.Localization{}
			}
			createPages(t, store, pages...)
			q.SiteID, q.Limit = fresh.ID, limit
			what := fmt.Sprintf("%s, descending %t, limit %d", q.Sort, q.Descending, limit)
			met, touched := o.walkAndTouch(t, q)
			met.check(t, what, pages, touched)
			if len(touched) < 257/limit/8 || len(touched) > 200 {
				t.Errorf("%s: %d cursors were touched", what, len(touched))
			}
		}
	})
}

// walkAndTouch returns what a walk met, and which pages were changed on the
// way: each once, or the walk might chase it for ever.
func (o office) walkAndTouch(t *testing.T, q cms.PageQuery) (meetings, map[cms.ID]bool) {
	t.Helper()
	met, touched := meetings{}, map[cms.ID]bool{}
	ask := service.ReadPages{Query: q}
	for step := 0; ; step++ {
		list := value(o.Pages(t.Context(), o.who, ask))(t)
		list.OnSend()
		for _, p := range list.Items {
			met[p.ID]++
		}
		if !list.HasMore {
			return met, touched
		}
		ask.After = list.Items[len(list.Items)-1].ID
		if touched[ask.After] || (q.Limit == 1 && step%4 != 0) {
			continue
		}
		touched[ask.After] = true
		must(t, o.touch(t, ask.After, step))
	}
}

func (o office) touch(t *testing.T, id cms.ID, step int) error {
	first, last := "", "\U0010FFFF"
	ref := service.Ref{ID: id}
	switch step % 3 {
	case 0:
		return o.DeletePage(t.Context(), o.who, ref, "", nil)
	case 1:
		return o.patch(t, id, "", cms.PagePatch{
			Pathname: cms.Some(new("/" + id.String())), Title: cms.Some(&first), Description: cms.Some(&first),
		})
	}
	return o.patch(t, id, "", cms.PagePatch{
		Pathname: cms.Some(new("/\U0010FFFF/" + id.String())), Title: cms.Some(&last), Description: cms.Some(&last),
	})
}
