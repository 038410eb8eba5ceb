package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"galley/internal/cms"
)

// A set is stored as a list or whole, and read as it was.
func TestPageSetsAreKept(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 2, 254, 255, 256, 257, blockSize} {
		var set, got pageSet
		for set.count() < size {
			set.add(random.Int64N(blockSize))
		}
		packed := set.pack()
		if len(packed) > setBytes {
			t.Errorf("%d pages take %d bytes", size, len(packed))
		}
		do(t, got.unpack(packed))
		if got != set || len(slices.Collect(got.numbers())) != size {
			t.Errorf("%d pages were stored, and %d are there", size, got.count())
		}
	}
	for _, damaged := range [][]byte{{1}, {0xff, 0xff}, make([]byte, setBytes+2)} {
		if new(pageSet).unpack(damaged) == nil {
			t.Errorf("%d bytes are a set", len(damaged))
		}
	}
}

// Pages from before the index exist without marks: a search finds them before, while
// and after they are indexed.
func TestSearchFindsPagesFromBeforeTheIndex(t *testing.T) {
	for name, s := range map[string]*Store{"sqlite": sqliteForTest(t), "postgres": postgresForTest(t)} {
		t.Run(name, func(t *testing.T) {
			site, ctx := seedSite(t, s), t.Context()
			var pages []cms.Page
			for i := range 2*indexChunk + 7 {
				pages = append(pages, seedPage(site.ID, fmt.Sprintf("/needle-%04d", i)))
			}
			do(t, s.InTx(ctx, func(tx cms.Tx) error { return tx.CreatePages(ctx, pages...) }))
			do(t, s.run(ctx, `delete from search_mark where site_id = ?`, site.ID))
			do(t, s.run(ctx, `insert into search_site (site_id, pages, unindexed) values (?, 0, ?)`, site.ID, cms.NoID))
			check := func(when string) {
				t.Helper()
				for _, i := range []int{0, indexChunk - 1, indexChunk, 2*indexChunk + 6} {
					found, err := s.Pages(ctx, cms.PageQuery{SiteID: site.ID, Search: fmt.Sprintf("needle-%04d", i), Sort: cms.SortPath, Limit: 20}, false)
					if err != nil || len(found) != 1 || found[0].ID != pages[i].ID {
						t.Errorf("%s: %d pages were found as number %d: %v", when, len(found), i, err)
					}
				}
			}
			check("before")
			// One that is written meanwhile is indexed first.
			after := pages[5]
			after.Title = new("Written")
			do(t, s.InTx(ctx, func(tx cms.Tx) error { return tx.UpdatePage(ctx, pages[5], after) }))
			if got, err := s.UnindexedSite(ctx, cms.NoID); err != nil || got != site.ID {
				t.Fatal(got, err)
			}
			for more := true; more; {
				do(t, s.InTx(ctx, func(tx cms.Tx) (err error) {
					more, err = tx.IndexPages(ctx, site.ID)
					return err
				}))
				check("meanwhile")
			}
			if _, err := s.UnindexedSite(ctx, cms.NoID); cms.CodeOf(err) != cms.CodeNotFound {
				t.Errorf("something is left to be indexed: %v", err)
			}
			state, err := s.searchSite(ctx, site.ID, "")
			if err != nil || int(state.pages) != len(pages) || state.unindexed != nil {
				t.Errorf("%+v, %v", state, err)
			}
		})
	}
}
