package sqlstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"galley/internal/cms"
)

// A site that has grown since PostgreSQL gathered statistics is taken for small,
// until its statistics are refreshed.
func TestThePlannerLearnsOfALargeSite(t *testing.T) {
	for name, others := range map[string][]int{
		"among large sites": slices.Repeat([]int{1500}, 20),
		"among small sites": append(slices.Repeat([]int{5}, 200), 30_000),
	} {
		t.Run(name, func(t *testing.T) {
			s := postgresForTest(t)
			ctx := t.Context()
			fill := func(pages int) cms.ID {
				site := seedSite(t, s)
				all := make([]cms.Page, pages)
				for i := range all {
					all[i] = seedPage(site.ID, fmt.Sprintf("/p/%d", i))
				}
				do(t, s.InTx(ctx, func(tx cms.Tx) error { return tx.CreatePages(ctx, all...) }))
				return site.ID
			}
			for _, pages := range others {
				fill(pages)
			}
			_, err := s.db.ExecContext(ctx, `alter table page set (autovacuum_enabled = false); analyze page`)
			do(t, err)
			site := fill(largeSite)
			knows := func() bool {
				guess, err := s.guessPages(ctx, site)
				do(t, err)
				return guess > largeSite/2
			}
			if knows() {
				t.Fatal("the planner knows the site before it has looked")
			}
			do(t, s.InTx(ctx, func(tx cms.Tx) error { q, _ := tx.(queries); return q.refreshStatistics(ctx, site, manyRows) }))
			if !knows() {
				t.Error("the planner takes the site for small after it has looked")
			}
		})
	}
}

// Large writes must not wait for statistics of tables that they do not read, or that have
// changed without growing.
func TestThePlannerLooksAtNothingInVain(t *testing.T) {
	s := postgresForTest(t)
	ctx := t.Context()
	site := seedSite(t, s)
	run := func(statement string) {
		t.Helper()
		_, err := s.db.ExecContext(ctx, statement+`; select pg_stat_force_next_flush()`) // or it is counted some time later
		do(t, err)
	}
	fill := func() {
		pages := make([]cms.Page, 2000)
		for i := range pages {
			pages[i] = seedPage(site.ID, "/"+cms.NewID().String())
		}
		do(t, s.InTx(ctx, func(tx cms.Tx) error { return tx.CreatePages(ctx, pages...) }))
	}
	run(`alter table page set (autovacuum_enabled = false); alter table audit_entry set (autovacuum_enabled = false)`)
	fill()
	run(`insert into audit_entry (workspace_id, id, site_id, resource_id, app_id, request_id, kind, operation, states)
		select gen_random_uuid(), gen_random_uuid(), id, id, id, id, '', '', '' from page`)
	unseen := func() []string {
		t.Helper()
		tables, err := values[string](ctx, s.queries, s.dialect.unseen)
		do(t, err)
		return tables
	}
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"filled", func() {}, []string{"page"}},
		{"looked at", func() { run(`analyze page`) }, nil},
		{"changed", func() { run(`update page set updated_at = updated_at + 1`) }, nil},
		{"grown", fill, []string{"page"}},
	} {
		step.do()
		run(`select 1`)
		if got := unseen(); !slices.Equal(got, step.want) {
			t.Errorf("%s: the planner has to look at %v, want %v", step.name, got, step.want)
		}
	}
}

// PostgreSQL takes the table in which a copy notes its ids for empty, since it is
// when statistics are gathered. A copy must not read the whole site for each page
// then.
func TestACopyIsNotTakenForSmall(t *testing.T) {
	s := postgresForTest(t)
	ctx := t.Context()
	const pages = 6000
	inTx := func(write func(queries) error) {
		t.Helper()
		do(t, s.InTx(ctx, func(tx cms.Tx) error {
			q, _ := tx.(queries)
			if err := write(q); err != nil {
				return err
			}
			return q.run(ctx, `select pg_stat_force_next_flush()`) // or it is counted some time later
		}))
	}
	site, twin := seedSite(t, s), seedSite(t, s)
	var ids []cms.ID
	for _, siteID := range []cms.ID{site.ID, seedSite(t, s).ID, seedSite(t, s).ID, seedSite(t, s).ID} {
		all := make([]cms.Page, pages)
		for i := range all {
			all[i] = seedPage(siteID, fmt.Sprintf("/p/%d", i))
			ids = append(ids, all[i].ID)
		}
		inTx(func(q queries) error { return q.CreatePages(ctx, all...) })
	}
	inTx(func(q queries) error { return q.noteNewIDs(ctx, site.ID, cms.KindPage, ids) })
	_, err := s.db.ExecContext(ctx, `alter table copy_id set (autovacuum_enabled = false); delete from copy_id; analyze copy_id; analyze page`)
	do(t, err)
	read := func() (blocks int) {
		do(t, s.db.QueryRowContext(ctx, `select idx_blks_hit + idx_blks_read from pg_statio_user_tables where relname = 'page'`).Scan(&blocks))
		return blocks
	}
	before := read()
	inTx(func(q queries) error { _, err := q.CopySite(ctx, site.ID, twin.ID, nil, time.Now()); return err })
	copied := 0
	do(t, s.db.QueryRowContext(ctx, `select count(*) from page where site_id = $1`, twin.ID.String()).Scan(&copied))
	if got := (read() - before) / pages; copied != pages || got < 1 || got > 40 {
		t.Errorf("a copy of %d pages read %d blocks of their indexes for each", copied, got)
	}
}

// However much of a site is translated, a list in a locale reads about as
// many rows as it shows: once at each, once at what overrides it, and once at
// where those end.
func TestAListLooksAtWhatItShows(t *testing.T) {
	ctx := t.Context()
	for name, every := range map[string]int{"all translated": 1, "a fifth translated": 5, "nothing translated": 1000} {
		t.Run(name, func(t *testing.T) {
			s := postgresForTest(t)
			site, locale := seedSite(t, s), cms.NewID()
			all := make([]cms.Page, 900)
			for i := range all {
				all[i] = seedPage(site.ID, fmt.Sprintf("/p/%d", i))
				all[i].Title = new(fmt.Sprint("Title ", i))
				if i%every == every-1 {
					all[i] = cms.PagePatch{Title: cms.Some(new(fmt.Sprintf("Title %d, translated", i)))}.Apply(all[i], locale)
				}
			}
			do(t, s.InTx(ctx, func(tx cms.Tx) error { return tx.CreatePages(ctx, all...) }))
			_, err := s.db.ExecContext(ctx, `analyze page`)
			do(t, err)
			for _, sort := range cms.PageSorts {
				for _, descending := range []bool{false, true} {
					pq := cms.PageQuery{SiteID: site.ID, LocaleID: locale, Sort: sort, Descending: descending, Limit: 20}
					if got := lookedAt(t, s, pq); got < 20 || got > 120 {
						t.Errorf("by %s, descending %t: %d rows were looked at", sort, descending, got)
					}
				}
			}
		})
	}
}

// lookedAt counts the rows that a list reads.
func lookedAt(t *testing.T, s *Store, pq cms.PageQuery) int {
	t.Helper()
	query, args, _ := s.listQuery(pq, source.columns, nil)
	return carriedOut(t, s, query, args...).rows()
}

// carriedOut is how PostgreSQL carried a query out.
func carriedOut(t *testing.T, s *Store, query string, args ...any) planNode {
	t.Helper()
	var text []byte
	do(t, s.db.QueryRowContext(t.Context(), `explain (analyze, format json) `+rebind(query), arguments(args)...).Scan(&text))
	var plans []struct{ Plan planNode }
	do(t, json.Unmarshal(text, &plans))
	return plans[0].Plan
}

// rows counts each look into an index as one, found or not.
func (n planNode) rows() (sum int) {
	if n.Relation != "" {
		sum = int(n.Loops * max(1, n.Rows+n.Removed))
	}
	for _, child := range n.Plans {
		sum += child.rows()
	}
	return sum
}

func TestTheSameSiteIsLookedAtSeldom(t *testing.T) {
	var l statistics
	site, other, now := cms.NewID(), cms.NewID(), time.Now()
	if !l.due(site, now) || l.due(site, now.Add(analyzeEvery-1)) || !l.due(other, now) || !l.due(site, now.Add(analyzeEvery)) {
		t.Error("a site is looked at other than once in a while")
	}
	for range 2 * maxAnalyzed {
		l.due(cms.NewID(), now)
	}
	if len(l.last) > maxAnalyzed {
		t.Errorf("%d looks are remembered, want at most %d", len(l.last), maxAnalyzed)
	}
}
