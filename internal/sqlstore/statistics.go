package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"galley/internal/cms"
)

// manyRows is how many ids or pathnames a statement names before it is worth
// having good statistics.
const manyRows = 100

// refreshStatistics matters on PostgreSQL, which gathers statistics about a minute
// after a table has filled. Until then the planner takes a site for a handful of
// rows, and reads all of it for each chunk of ids. It runs once in a transaction
// that writes.
func (q queries) refreshStatistics(ctx context.Context, siteID cms.ID, rows int) error {
	if q.statistics == nil || q.dialect.unseen == "" || rows < manyRows || *q.analyzed {
		return nil
	}
	*q.analyzed = true
	tables, err := all(ctx, q, func(r row) (name string, err error) { return name, r.Scan(&name) }, q.dialect.unseen)
	if err == nil && !slices.Contains(tables, "page") {
		var more []string
		more, err = q.misjudged(ctx, siteID)
		tables = append(tables, more...)
	}
	if err != nil {
		return err
	}
	for _, table := range tables {
		if err := q.run(ctx, q.dialect.analyze+table); err != nil {
			return err
		}
	}
	return nil
}

// largeSite is a site with so many pages that to read them all takes longer than
// to find a chunk of them by their keys.
const largeSite = 5_000

// misjudged are the tables to analyze because the planner takes a site of many
// pages for one of few, unless they were analyzed for that site lately.
func (q queries) misjudged(ctx context.Context, siteID cms.ID) ([]string, error) {
	guess, err := q.guessPages(ctx, siteID)
	if err != nil || guess >= largeSite {
		return nil, err
	}
	many, err := one(ctx, q, func(r row) (many bool, err error) { return many, r.Scan(&many) },
		`select count(*) = ? from (`+draftsOf+atMost(largeSite)+`) as pages`, largeSite, siteID)
	if err != nil || !many || !q.statistics.due(siteID, time.Now()) {
		return nil, err
	}
	return []string{"page", "page_past"}, nil
}

var draftsOf = `select 1 from page where site_id = ? and ` + is(cms.Draft)

// guessPages is how many rows the planner expects a site's draft to have.
func (q queries) guessPages(ctx context.Context, siteID cms.ID) (float64, error) {
	text, err := one(ctx, q, func(r row) (text []byte, err error) { return text, r.Scan(&text) }, q.dialect.guess+draftsOf, siteID)
	if err != nil {
		return 0, err
	}
	var plans []struct {
		Plan struct {
			Rows float64 `json:"Plan Rows"`
		}
	}
	if err := json.Unmarshal(text, &plans); err != nil {
		return 0, err
	}
	if len(plans) != 1 {
		return 0, fmt.Errorf("a query has %d plans: %s", len(plans), text)
	}
	return plans[0].Plan.Rows, nil
}

// statistics remembers for which sites tables were analyzed: if the planner still
// misjudges one, that is too small a part of the table to show.
type statistics struct {
	mu   sync.Mutex
	last map[cms.ID]time.Time
}

const (
	analyzeEvery = 10 * time.Minute
	maxAnalyzed  = 1_000
)

func (l *statistics) due(siteID cms.ID, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.last[siteID]) < analyzeEvery {
		return false
	}
	if l.last == nil || len(l.last) >= maxAnalyzed {
		l.last = map[cms.ID]time.Time{}
	}
	l.last[siteID] = now
	return true
}
