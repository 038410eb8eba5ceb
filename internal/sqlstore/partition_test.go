package sqlstore

import (
	"os"
	"slices"
	"strings"
	"testing"

	"galley/internal/cms"
	"galley/internal/pgtest"
	"galley/internal/storetest"
)

// partitionedForTest opens a PostgreSQL whose large tables are split by site,
// by what operators run, but in fewer parts.
func partitionedForTest(t *testing.T) *Store {
	t.Helper()
	s, err := OpenPostgres(pgtest.URL(t), nil)
	s = readyForTest(t, s, err)
	text, err := os.ReadFile("../../packaging/partition.sql")
	do(t, err)
	const many, few = "partitions constant int := 64;", "partitions constant int := 2;"
	if !strings.Contains(string(text), many) {
		t.Fatal("packaging/partition.sql does not say how many partitions it makes")
	}
	if _, err := s.db.ExecContext(t.Context(), strings.Replace(string(text), many, few, 1)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoreInPartitions(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) cms.Store { return partitionedForTest(t) })
}

// Nothing of the schema is lost: doctor finds all of it, and each part has
// every index.
func TestPartitionsHaveTheWholeSchema(t *testing.T) {
	s := partitionedForTest(t)
	if got := notOK(findings(t, s, true)); !slices.Equal(got, usual["postgres"]) {
		t.Errorf("doctor found %v", got)
	}
	checkParts(t, s)
	references, err := s.queries.names(t.Context(), `select conrelid::regclass::text from pg_constraint
		where contype = 'f' and confrelid = 'site'::regclass and conparentid = 0`)
	do(t, err)
	if len(references) != 14 {
		t.Errorf("%v refer to site", references)
	}
}

// Filling them drops every index and makes it anew.
func TestLoadIntoPartitions(t *testing.T) {
	s, whole := partitionedForTest(t), dumpEngines["postgres"](t)
	for _, to := range []*Store{s, whole} {
		do(t, to.Load(t.Context(), latestForTest(t), newMadeUp(t, latestForTest(t)).send))
	}
	checkParts(t, s)
	got, _ := dumped(t, s)
	want, _ := dumped(t, whole)
	got.check(t, want)
}

// checkParts holds the indexes of each part against those of its table.
func checkParts(t *testing.T, s *Store) {
	t.Helper()
	indexes, led := indexesOf(t, s, "postgres")
	count := map[string]int{}
	for _, i := range indexes {
		count[i.table]++
	}
	for _, table := range []string{"page", "page_past", "content", "pathname", "publish", "publish_url", "redirect", "redirect_past", "search_gram", "search_page"} {
		for _, part := range []string{"_0", "_1"} {
			if count[table+part] == 0 || count[table+part] != count[table] || !led[table+part] {
				t.Errorf("%s%s has %d indexes where %s has %d; by site: %t", table, part, count[table+part], table, count[table], led[table+part])
			}
		}
	}
}

// One with rows in it is refused, and left as it is.
func TestPartitionsOfAStoreInUse(t *testing.T) {
	s := postgresForTest(t)
	site := seedSite(t, s)
	page := seedPage(site.ID, "/here")
	do(t, s.InTx(t.Context(), func(tx cms.Tx) error { return tx.CreatePages(t.Context(), page) }))
	text, err := os.ReadFile("../../packaging/partition.sql")
	do(t, err)
	if _, err := s.db.ExecContext(t.Context(), string(text)); err == nil || !strings.Contains(err.Error(), "table page is not empty") {
		t.Errorf("got %v", err)
	}
	if _, err := s.queries.Page(t.Context(), site.ID, cms.Draft, page.ID); err != nil {
		t.Error(err)
	}
}

// A page that is asked for by its id alone is looked for in the part of its
// site, once that is known, also when several ask together.
func TestAPageByItsIDIsReadFromOnePartition(t *testing.T) {
	s := partitionedForTest(t)
	page := seedPage(seedSite(t, s).ID, "/here")
	do(t, s.InTx(t.Context(), func(tx cms.Tx) error {
		if err := tx.CreatePages(t.Context(), page); err != nil {
			return err
		}
		return tx.TakePathnames(t.Context(), page.SiteID, []cms.Claim{{Pathname: page.Pathname, Owner: page.ID}})
	}))
	undone(t, s, func(c conn) {
		// A table of one row would be read whole.
		for _, way := range []string{"seqscan", "hashjoin", "mergejoin"} {
			_, err := c.exec(t.Context(), true, "set local enable_"+way+" = off", nil)
			do(t, err)
		}
		r := recorder{c, map[string]statement{}}
		q := queries{conn: r, dialect: s.dialect}
		_, err := q.FindPage(t.Context(), cms.Draft, page.ID)
		do(t, err)
		if found, err := q.FindPages(t.Context(), page.SiteID, cms.Draft, page.Pathname); len(found) != 1 || err != nil {
			t.Fatal(found, err)
		}
		for _, sent := range r.sent {
			plan, err := all(t.Context(), queries{conn: c, dialect: s.dialect}, func(r row) (line string, err error) { return line, r.Scan(&line) },
				`explain (analyze, costs off, timing off) `+sent.query, sent.args...)
			do(t, err)
			var parts, read int
			for _, line := range plan {
				if strings.Contains(line, " on page_") {
					parts++
					if !strings.Contains(line, "never executed") {
						read++
					}
				}
			}
			// By pathname, the site is known when the statement is planned.
			if parts > 2 || read != 1 {
				t.Errorf("of %d partitions %d were read:\n%s", parts, read, strings.Join(plan, "\n"))
			}
		}
	})
}
