package bench

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The big work: publishing 10,000 changes among 100,000 pages, and copying
// such a site, while readers of the live version go on.
const (
	bigPages   = 100_000
	bigChanges = 10_000
	readers    = 4
)

func BenchmarkBig(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		site := f.fillBig(b)
		b.Run("publish", func(b *testing.B) {
			for range b.N {
				f.rounds++
				f.edit(b, site, f.rounds)
				usual := f.readWhile(b, site, func() { time.Sleep(3 * time.Second) })
				var took time.Duration
				during := f.readWhile(b, site, func() {
					start := time.Now()
					var publish struct{ ChangeCount int }
					f.call(b, "POST", "/v2/sites/"+site+"/publish", "{}", &publish)
					took = time.Since(start)
					if publish.ChangeCount != bigChanges {
						b.Fatalf("published %d changes", publish.ChangeCount)
					}
				})
				b.ReportMetric(bigChanges/took.Seconds(), "rows/s")
				b.ReportMetric(float64(usual.Microseconds()), "p99-us")
				b.ReportMetric(float64(during.Microseconds()), "p99-during-us")
			}
		})
		b.Run("changes10", func(b *testing.B) {
			f.call(b, "POST", "/v6/pages/batch", f.edits(site, 1_000_000, f.bigIDs[:10]), nil)
			for b.Loop() {
				f.call(b, "GET", "/v2/sites/"+site+"/changes", "", nil)
			}
		})
		b.Run("duplicate", func(b *testing.B) {
			for range b.N {
				start := time.Now()
				f.call(b, "POST", "/v2/sites/"+site+"/duplicate", `{"name":"Copy"}`, nil)
				b.ReportMetric(2*bigPages/time.Since(start).Seconds(), "rows/s") // draft and live
			}
		})
	})
}

func (f *fixture) fillBig(b *testing.B) string {
	b.Helper()
	var site struct{ ID string }
	f.call(b, "POST", "/v2/sites", `{"name":"Big"}`, &site)
	for start := 0; start < bigPages; start += 1000 {
		var operations []string
		for i := range 1000 {
			operations = append(operations, fmt.Sprintf(`{"op":"create","pathname":"/big/%d","title":"Page %d"}`, start+i, start+i))
		}
		var batch struct{ Results []page }
		f.call(b, "POST", "/v6/pages/batch", fmt.Sprintf(`{"siteId":%q,"operations":[%s]}`, site.ID, strings.Join(operations, ",")), &batch)
		var ids []string
		for _, p := range batch.Results {
			ids = append(ids, p.ID)
		}
		f.bigIDs = append(f.bigIDs, ids...)
		f.call(b, "POST", "/v2/sites/"+site.ID+"/publish", fmt.Sprintf(`{"pageIds":["%s"]}`, strings.Join(ids, `","`)), nil)
	}
	return site.ID
}

// edit changes the titles of some pages in the draft.
func (f *fixture) edit(b *testing.B, site string, round int) {
	b.Helper()
	for ids := range slices.Chunk(f.bigIDs[:bigChanges], 1000) {
		f.call(b, "POST", "/v6/pages/batch", f.edits(site, round, ids), nil)
	}
}

func (f *fixture) edits(site string, round int, ids []string) string {
	var operations []string
	for _, id := range ids {
		operations = append(operations, fmt.Sprintf(`{"op":"update","pageId":%q,"title":"Round %d"}`, id, round))
	}
	return fmt.Sprintf(`{"siteId":%q,"operations":[%s]}`, site, strings.Join(operations, ","))
}

// readWhile reads live pages while something happens, and returns how long all
// but one in a hundred reads took at most.
func (f *fixture) readWhile(b *testing.B, site string, happens func()) time.Duration {
	b.Helper()
	done := make(chan struct{})
	times := make([][]time.Duration, readers)
	var wg sync.WaitGroup
	for i := range readers {
		wg.Go(func() {
			for n := i; ; n += 7 {
				select {
				case <-done:
					return
				default:
				}
				start := time.Now()
				f.call(b, "GET", "/v6/pages/"+f.bigIDs[n%len(f.bigIDs)]+"?versionRef=ref:live", "", nil)
				times[i] = append(times[i], time.Since(start))
				time.Sleep(time.Millisecond)
			}
		})
	}
	happens()
	close(done)
	wg.Wait()
	all := slices.Concat(times...)
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}
