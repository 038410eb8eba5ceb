package sqlstore

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"galley/internal/cms"
)

// A site from before is counted once, and right whatever is written meanwhile by nodes that
// know nothing of counters.
func TestSiteFromBeforeIsCounted(t *testing.T) {
	for name, s := range map[string]*Store{"sqlite": sqliteForTest(t), "postgres": postgresForTest(t)} {
		t.Run(name, func(t *testing.T) {
			site := seedSite(t, s)
			create := func(pathname string) {
				p := seedPage(site.ID, pathname)
				do(t, s.InTx(t.Context(), func(tx cms.Tx) error { return tx.CreatePages(t.Context(), p) }))
			}
			put := func(text string) {
				content := cms.NewContent([]byte(text))
				do(t, s.InTx(t.Context(), func(tx cms.Tx) error { return tx.PutContents(t.Context(), site.ID, []cms.Content{content}, time.Now()) }))
			}
			for i := range 10 {
				create(fmt.Sprintf("/before/%d", i))
				put(fmt.Sprintf(`["before %03d"]`, i))
			}
			one, err := s.Usage(t.Context(), site.WorkspaceID)
			do(t, err)
			_, err = s.db.ExecContext(t.Context(), `delete from site_count`)
			do(t, err)
			create("/after")
			put(`["after  000"]`)
			counts, err := s.SiteCounts(t.Context(), site.ID)
			do(t, err)
			if counts != nil {
				t.Fatalf("got %v before the site was counted", counts)
			}
			var writers sync.WaitGroup
			for w := range 4 {
				writers.Go(func() {
					for i := range 25 {
						create(fmt.Sprintf("/meanwhile/%d/%d", w, i))
						put(fmt.Sprintf(`["again  %03d"]`, 25*w+i))
					}
				})
				writers.Go(func() {
					for range 5 {
						do(t, s.InTx(t.Context(), func(tx cms.Tx) error { return tx.CountSite(t.Context(), site.ID) }))
					}
				})
			}
			writers.Wait()
			counts, err = s.SiteCounts(t.Context(), site.ID)
			do(t, err)
			if want := (cms.SiteCounts{Online: 111, Dirty: 111, ContentBytes: 111 * one.ContentBytes / 10}); counts[cms.NoID] != want {
				t.Errorf("got %v, want %v", counts[cms.NoID], want)
			}
		})
	}
}
