package sqlstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"galley/internal/cms"
)

// pastColumns are the columns that a row keeps when it is put aside.
const pastColumns = `site_id, id, since, locale_id, own, state, name, pathname, title, description, canonical_url,
	social_image_url, sitemap_priority, sitemap_frequency, is_online, no_index, title_sort, description_sort,
	created_at, updated_at, published_at, deleted_at`

// pastWidth is how many those are, with until when.
var pastWidth = strings.Count(pastColumns, ",") + 2

func (q queries) PastLocalized(ctx context.Context, siteID, localeID cms.ID) ([]cms.ID, error) {
	ids, err := all(ctx, q, scanID, `select id from page_past where site_id = ? and locale_id = ? and own >= 0`, siteID, localeID)
	return cms.SortIDs(ids), err
}

// pastState is a state that a page had, by the publish that put it live.
type pastState struct {
	id    cms.ID
	since int64
}

func (q queries) PastPages(ctx context.Context, siteID cms.ID, ids []cms.ID) ([]cms.Page, error) {
	var pages []cms.Page
	for chunk := range slices.Chunk(ids, idChunk) {
		where, args := q.dialect.among("id", anys(chunk))
		rows, err := all(ctx, q, scanPageRow, `select `+source{table: "page_past"}.columns()+` from page_past
			where site_id = ? and `+where, append([]any{siteID}, args...)...)
		if err != nil {
			return nil, err
		}
		states := map[pastState][]cms.PageRow{}
		for _, r := range rows {
			states[pastState{r.ID, r.Since}] = append(states[pastState{r.ID, r.Since}], r)
		}
		for _, rows := range states {
			pages = append(pages, cms.PageFromRows(rows))
		}
	}
	return pages, nil
}

func (q queries) UpdatePastPages(ctx context.Context, siteID cms.ID, changes []cms.PageChange) error {
	for chunk := range slices.Chunk(changes, rowChunk) {
		ended, err := q.pastUntil(ctx, siteID, chunk)
		if err != nil {
			return err
		}
		var gone, rows []any
		for _, c := range chunk {
			gone = append(gone, siteID, c.Before.ID, c.Before.Since)
			for _, r := range c.After.Rows() {
				v := r.Values
				rows = append(rows, r.SiteID, r.ID, r.Since, r.LocaleID, r.Own, pageState(r), r.Name, v.Pathname, v.Title, v.Description,
					v.CanonicalURL, v.SocialImageURL, v.SitemapPriority, v.SitemapFrequency, v.IsOnline, v.ExcludedFromSearchEngines,
					cms.NullableSort(v.Title), cms.NullableSort(v.Description), r.CreatedAt, r.UpdatedAt, r.PublishedAt, r.DeletedAt,
					ended[pastState{r.ID, r.Since}])
			}
		}
		state := `(site_id = ? and id = ? and since = ?)`
		if err := q.run(ctx, `delete from page_past where `+state+strings.Repeat(` or `+state, len(chunk)-1), gone...); err != nil {
			return err
		}
		for some := range slices.Chunk(rows, rowChunk*pastWidth) {
			row := `(` + marks(pastWidth) + `)`
			err := q.run(ctx, `insert into page_past (`+pastColumns+`, until) values `+row+strings.Repeat(`, `+row, len(some)/pastWidth-1), some...)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// pastUntil is until when states were live.
func (q queries) pastUntil(ctx context.Context, siteID cms.ID, changes []cms.PageChange) (map[pastState]int64, error) {
	ids := make([]cms.ID, len(changes))
	for i, c := range changes {
		ids[i] = c.Before.ID
	}
	where, args := q.dialect.among("id", anys(cms.SortIDs(ids)))
	until := map[pastState]int64{}
	_, err := all(ctx, q, func(r row) (s pastState, err error) {
		var n int64
		err = r.Scan(&s.id, &s.since, &n)
		until[s] = n
		return s, err
	}, `select id, since, until from page_past where site_id = ? and locale_id = ? and `+where, append([]any{siteID, cms.NoID}, args...)...)
	return until, err
}

func (q queries) LastLive(ctx context.Context, siteID, id cms.ID) (cms.Page, error) {
	rows, err := all(ctx, q, scanPageRow, `select `+source{table: "page_past"}.columns()+` from page_past
		where site_id = ? and id = ? and since = (select max(since) from page_past where site_id = ? and id = ?)`,
		siteID, id, siteID, id)
	if err == nil && len(rows) == 0 {
		err = cms.NotFound(cms.KindPage)
	}
	if err != nil {
		return cms.Page{}, err
	}
	return cms.PageFromRows(rows), nil
}

func (q queries) HiddenLive(ctx context.Context, siteID cms.ID, ids []cms.ID) (map[cms.ID]cms.Page, error) {
	pages := map[cms.ID]cms.Page{}
	for chunk := range slices.Chunk(ids, idChunk) {
		where, args := q.dialect.among("id", anys(chunk))
		rows, err := all(ctx, q, scanPageRow, `select `+source{table: "page_past"}.columns()+` from page_past
			where site_id = ? and `+where+` and until = (select max(l.until) from page_past l where l.site_id = page_past.site_id and l.id = page_past.id)
			and exists (select 1 from locale l join publish p on p.site_id = l.site_id and p.seq = page_past.until and p.seq > 0
				where l.site_id = page_past.site_id and l.id = page_past.locale_id and l.deleted_at <= p.published_at)`,
			append([]any{siteID}, args...)...)
		if err != nil {
			return nil, err
		}
		of := map[cms.ID][]cms.PageRow{}
		for _, r := range rows {
			of[r.ID] = append(of[r.ID], r)
		}
		for id, rows := range of {
			pages[id] = cms.PageFromRows(rows)
		}
	}
	return pages, nil
}

func (q queries) OldHistory(ctx context.Context, before time.Time) (map[cms.ID]int64, error) {
	type last struct {
		site cms.ID
		seq  int64
	}
	kept, err := all(ctx, q, func(r row) (l last, err error) {
		return l, r.Scan(&l.site, &l.seq)
	}, `select site_id, max(seq) from publish where seq > 0 and published_at < ? group by site_id having count(*) > 1`, before)
	sites := make(map[cms.ID]int64, len(kept))
	for _, l := range kept {
		sites[l.site] = l.seq
	}
	return sites, err
}

func (q queries) PurgeHistory(ctx context.Context, siteID cms.ID, seq int64) error {
	old := ` from publish where site_id = ? and seq > 0 and seq < ?`
	// Those that found nothing to do are what was left by one before.
	idle := ` from publish where site_id = ? and seq = 0 and status = 'published' and previous_id in (select id` + old + `)`
	for _, s := range []struct {
		statement string
		args      []any
	}{
		{`delete from page_past where site_id = ? and until < ?`, []any{siteID, seq}},
		{`delete from directory where id in (select id` + idle + `)`, []any{siteID, siteID, seq}},
		{`delete` + idle, []any{siteID, siteID, seq}},
		{`delete from directory where id in (select id` + old + `)`, []any{siteID, seq}},
		{`delete` + old, []any{siteID, seq}},
	} {
		if err := q.run(ctx, s.statement, s.args...); err != nil {
			return err
		}
	}
	return nil
}
