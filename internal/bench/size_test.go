package bench

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/internal/pgtest"
	"galley/internal/sqlstore"
)

// What docs/scaling.md says about bytes and big sites comes from here.

// sizing asks an engine for the bytes of each table, with its indexes.
type sizing struct{ driver, settle, query string }

var (
	sqliteSizing = sizing{"sqlite", `select 1`, `select coalesce(m.tbl_name, s.name), sum(s.pgsize)
		from dbstat s left join sqlite_master m on m.name = s.name where s.aggregate = true group by 1`}
	// Without a vacuum, rows that were replaced would count for ever.
	postgresSizing = sizing{"pgx", `vacuum analyze`, `select t.relname, pg_total_relation_size(t.oid) from pg_class t
		where t.relkind = 'r' and t.relnamespace = current_schema()::regnamespace
		union all select t.relname || ' indexes', pg_indexes_size(t.oid) from pg_class t
		where t.relname in ('page', 'page_past', 'audit_entry') and t.relnamespace = current_schema()::regnamespace`}
)

const (
	sizedSites = 20
	sizedPages = 1000 // of each: as many as a batch takes
)

// BenchmarkSize tells how many bytes a page takes in each table. It measures no
// time: run it with -benchtime 1x.
func BenchmarkSize(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		dir := b.TempDir()
		store, err := sqlstore.OpenSQLite(dir, nil)
		tellSizes(b, newFixture(b, store, err), sqliteSizing, filepath.Join(dir, sqlstore.DatabaseFile))
	})
	b.Run("postgres", func(b *testing.B) {
		url := pgtest.URL(b)
		store, err := sqlstore.OpenPostgres(url, nil)
		tellSizes(b, newFixture(b, store, err), postgresSizing, url)
	})
}

// sizedSite is a site whose pages are weighed.
type sizedSite struct {
	id    string
	pages []page
}

// tellSizes takes sites through the life of their pages, and tells after each
// step how much was added for each page.
func tellSizes(b *testing.B, f *fixture, s sizing, source string) {
	b.Helper()
	db, err := sql.Open(s.driver, source)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	added := make([]sizedSite, sizedSites)
	before := s.ask(b, db)
	for _, step := range []struct {
		name string
		do   func(*sizedSite)
	}{
		{"made", func(site *sizedSite) { *site = f.newSite(b, sizedPages) }},
		{"published", func(site *sizedSite) { f.publish(b, site.id) }},
		{"translated", func(site *sizedSite) {
			f.edit(b, *site, `"locale":"fr","pathname":"/rubrique-%d/page-%04d","title":"Page %d : coats Winter"`)
		}},
		{"translation published", func(site *sizedSite) { f.publish(b, site.id) }},
		{"edited", func(site *sizedSite) {
			f.edit(b, *site, `"description":"Nothing is left in section %d of what was told on %04d, so those who look for %d are asked to come back."`)
		}},
		{"edit published", func(site *sizedSite) { f.publish(b, site.id) }},
	} {
		for i := range added {
			step.do(&added[i])
		}
		after := s.ask(b, db)
		b.Logf("%s: %s", step.name, growthOf(before, after))
		before = after
	}
}

// ask reads the size of each table.
func (s sizing) ask(b *testing.B, db *sql.DB) map[string]int64 {
	b.Helper()
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, s.settle); err != nil {
		b.Fatal(err)
	}
	rows, err := db.QueryContext(ctx, s.query)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err tells what matters
	sizes := map[string]int64{}
	for rows.Next() {
		var name string
		var bytes int64
		if err := rows.Scan(&name, &bytes); err != nil {
			b.Fatal(err)
		}
		sizes[name] = bytes
		if !strings.HasSuffix(name, " indexes") {
			sizes["all"] += bytes
		}
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return sizes
}

// growthOf is what was added for each page, by table.
func growthOf(before, after map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if grown := (after[name] - before[name]) / (sizedSites * sizedPages); grown != 0 {
			parts = append(parts, fmt.Sprintf("%s %d", name, grown))
		}
	}
	return strings.Join(parts, ", ")
}

// newSite makes a site of two locales and so many pages, at most a thousand at
// a time.
func (f *fixture) newSite(b *testing.B, pages int) sizedSite {
	b.Helper()
	var site sizedSite
	var made struct{ ID string }
	f.call(b, "POST", "/v2/sites", `{"name":"Sized","hostOrigin":"https://www.example.com"}`, &made)
	f.call(b, "POST", "/v2/locales", fmt.Sprintf(`{"siteId":%q,"locale":"fr"}`, made.ID), nil)
	site.id = made.ID
	for len(site.pages) < pages {
		var operations []string
		for i := len(site.pages); i < min(pages, len(site.pages)+1000); i++ {
			operations = append(operations, fmt.Sprintf(`{"op":"create","pathname":"/section-%d/page-%04d","title":"Winter coats %d",
				"description":"Everything that we know about winter coats, collected in one place for those who look for number %d."}`, i%20, i, i, i))
		}
		var batched struct{ Results []page }
		f.call(b, "POST", "/v6/pages/batch", batch(site.id, operations), &batched)
		site.pages = append(site.pages, batched.Results...)
	}
	return site
}

// edit changes every page of a site. The fields take three numbers.
func (f *fixture) edit(b *testing.B, site sizedSite, fields string) {
	b.Helper()
	var operations []string
	for i, p := range site.pages {
		operations = append(operations, fmt.Sprintf(`{"op":"update","pageId":%q,%s}`, p.ID, fmt.Sprintf(fields, i%20, i, i)))
	}
	f.call(b, "POST", "/v6/pages/batch", batch(site.id, operations), nil)
}

func (f *fixture) publish(b *testing.B, siteID string) {
	b.Helper()
	f.call(b, "POST", "/v2/sites/"+siteID+"/publish", "{}", nil)
}

// BenchmarkPublishSite puts a whole site live in one request. Run it with
// -benchtime 1x: a site is new only once.
func BenchmarkPublishSite(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		for _, pages := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprint(pages), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					site := f.newSite(b, pages)
					runtime.GC()
					peak := watchHeap()
					b.StartTimer()
					f.publish(b, site.id)
					b.StopTimer()
					b.ReportMetric(float64(peak())/1e6, "MB-more")
					b.StartTimer()
				}
				b.ReportMetric(float64(pages*b.N)/b.Elapsed().Seconds(), "pages/s")
			})
		}
	})
}

// BenchmarkPublishChanges puts the changes of a tenth of a site's pages live,
// alone and with some who read its live pages meanwhile.
func BenchmarkPublishChanges(b *testing.B) {
	const pages, changes = 100_000, 10_000
	onBothEngines(b, func(b *testing.B, f *fixture) {
		site := f.newSite(b, pages)
		f.publish(b, site.id)
		var changed []page
		for i := 0; i < pages; i += pages / changes { // all over the site
			changed = append(changed, site.pages[i])
		}
		round := 0
		for name, readers := range map[string]int{"alone": 0, "read": 4} {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					round++
					for some := range slices.Chunk(changed, 1000) {
						f.edit(b, sizedSite{site.id, some}, fmt.Sprintf(`"title":"Edit %d of %%d, %%d and %%d"`, round))
					}
					stop := make(chan struct{})
					var reading sync.WaitGroup
					for range readers {
						reading.Go(func() {
							for {
								select {
								case <-stop:
									return
								case <-time.After(time.Millisecond):
									f.send(b, "GET", "/v6/pages/"+site.pages[rand.IntN(1000)].ID+"?versionRef=ref:live", "")
								}
							}
						})
					}
					b.StartTimer()
					f.publish(b, site.id)
					b.StopTimer()
					close(stop)
					reading.Wait()
					b.StartTimer()
				}
				b.ReportMetric(float64(changes*b.N)/b.Elapsed().Seconds(), "pages/s")
			})
		}
	})
}

// BenchmarkReview reads pages of a list of 10,000 changes: the first one after an edit, for
// which the whole list is read, and later ones.
func BenchmarkReview(b *testing.B) {
	const pages, changes = 20_000, 10_000
	onBothEngines(b, func(b *testing.B, f *fixture) {
		site := f.newSite(b, pages)
		f.publish(b, site.id)
		for some := range slices.Chunk(site.pages[:changes], 1000) {
			f.edit(b, sizedSite{site.id, some}, `"title":"Edit of %d, %d and %d"`)
		}
		list := "/v2/sites/" + site.id + "/changes?limit=100"
		b.Run("first", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				f.send(b, "PATCH", "/v6/pages/"+site.pages[0].ID, `{"title":"`+strconv.Itoa(rand.IntN(1_000_000))+`"}`)
				b.StartTimer()
				f.send(b, "GET", list, "")
			}
		})
		b.Run("next", func(b *testing.B) {
			for b.Loop() {
				f.send(b, "GET", list+"&startingAfter="+site.pages[rand.IntN(changes)].ID, "")
			}
		})
	})
}

// BenchmarkSummary reads the summaries of a small and a large site after an edit of each.
func BenchmarkSummary(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		for _, pages := range []int{100, 100_000} {
			site := f.newSite(b, pages)
			f.publish(b, site.id)
			b.Run(strconv.Itoa(pages), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					f.send(b, "PATCH", "/v6/pages/"+site.pages[0].ID, `{"title":"`+strconv.Itoa(rand.IntN(1_000_000))+`"}`)
					b.StartTimer()
					f.send(b, "GET", "/v2/sites/"+site.id+"/summary", "")
				}
			})
		}
	})
}

// watchHeap looks at the heap until it is asked how much larger it was at most.
func watchHeap() (peak func() uint64) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	stop, highest := make(chan struct{}), make(chan uint64)
	first := heap()
	go func() {
		most := first
		for {
			most = max(most, heap())
			select {
			case <-stop:
				highest <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(stop); return <-highest - first }
}
