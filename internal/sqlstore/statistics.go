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

// manyRows is the number of ids or pathnames from which on good statistics pay.
const manyRows = 100

// refreshStatistics matters on PostgreSQL, which gathers statistics about a minute
// after a table was filled. Until then the planner expects a site to have a handful
// of rows, and reads all of it for each chunk of ids. It runs once in a transaction.
func (q queries) refreshStatistics(ctx context.Context, siteID cms.ID, rows int) error {
	if q.statistics == nil || q.dialect.unseen == "" || rows < manyRows || *q.analyzed {
		return nil
	}
	*q.analyzed = true
	tables, err := values[string](ctx, q, q.dialect.unseen)
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

// largeSite is the number of pages from which on reading all of a site takes longer
// than finding a chunk of them by their keys.
const largeSite = 5_000

// misjudged returns the tables to analyze because the planner expects few pages in
// a large site, unless they were analyzed for that site lately.
func (q queries) misjudged(ctx context.Context, siteID cms.ID) ([]string, error) {
	guess, err := q.guessPages(ctx, siteID)
	if err != nil || guess >= largeSite {
		return nil, err
	}
	many, err := value[bool](ctx, q, `select count(*) = ? from (`+draftsOf+atMost(largeSite)+`) as pages`, largeSite, siteID)
	if err != nil || !many || !q.statistics.due(siteID, time.Now()) {
		return nil, err
	}
	return []string{"page", "page_past"}, nil
}

var draftsOf = `select 1 from page where site_id = ? and ` + is(cms.Draft)

// guessPages returns how many rows the planner expects a site's draft to have.
func (q queries) guessPages(ctx context.Context, siteID cms.ID) (float64, error) {
	text, err := value[[]byte](ctx, q, q.dialect.guess+draftsOf, siteID)
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

// statistics are the sites for which tables were analyzed: one that the planner still
// misjudges is too small a part of the table.
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
