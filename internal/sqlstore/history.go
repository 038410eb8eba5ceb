package sqlstore

import (
	"context"
	"strings"
	"time"

	"galley/internal/cms"
)

// pastColumns are the columns of page_past, without until.
const pastColumns = `site_id, id, since, locale_id, own, state, name, pathname, title, description, canonical_url,
	social_image_url, sitemap_priority, sitemap_frequency, is_online, no_index, content, title_sort, description_sort,
	created_at, updated_at, published_at, deleted_at`

// pastWidth is their number, with until.
var pastWidth = strings.Count(pastColumns, ",") + 2

func (q queries) PastLocalized(ctx context.Context, siteID, localeID cms.ID) ([]cms.ID, error) {
	ids, err := values[cms.ID](ctx, q, `select id from page_past where site_id = ? and locale_id = ? and own >= 0`, siteID, localeID)
	return cms.SortIDs(ids), err
}

// pastState is a state that a page had, by the publish that put it live.
type pastState struct {
	id    cms.ID
	since int64
}

func pastStateOf(r cms.PageRow) pastState { return pastState{r.ID, r.Since} }

// pastPage reads rows of page_past.
var pastPage = `select ` + source{table: "page_past"}.columns() + ` from page_past p where site_id = ?`

func (q queries) PastPages(ctx context.Context, siteID cms.ID, ids []cms.ID) ([]cms.Page, error) {
	rows, err := rowsByID(ctx, q, scanPageRow, ids, pastPage, siteID)
	var pages []cms.Page
	for _, p := range pagesBy(rows, pastStateOf) {
		pages = append(pages, *p)
	}
	return pages, err
}

func (q queries) UpdatePastPages(ctx context.Context, siteID cms.ID, changes []cms.PageChange) error {
	var ids []cms.ID
	var gone, rows []any
	for _, c := range changes {
		ids = append(ids, c.Before.ID)
		gone = append(gone, siteID, c.Before.ID, c.Before.Since)
	}
	ended, err := q.pastUntil(ctx, siteID, cms.SortIDs(ids))
	if err != nil {
		return err
	}
	for _, c := range changes {
		for _, r := range c.After.Rows() {
			v := r.Values
			rows = append(rows, r.SiteID, r.ID, r.Since, r.LocaleID, r.Own, pageState(r), r.Name, v.Pathname, v.Title, v.Description,
				v.CanonicalURL, v.SocialImageURL, v.SitemapPriority, v.SitemapFrequency, v.IsOnline, v.ExcludedFromSearchEngines, v.Content,
				cms.NullableSort(v.Title), cms.NullableSort(v.Description), r.CreatedAt, r.UpdatedAt, r.PublishedAt, r.DeletedAt,
				ended[pastStateOf(r)])
		}
	}
	if err := q.deleteEach(ctx, "page_past", `site_id = ? and id = ? and since = ?`, 3, gone); err != nil {
		return err
	}
	_, err = q.insert(ctx, false, `page_past (`+pastColumns+`, until)`, pastWidth, rows, "")
	return err
}

// pastUntil returns until when the states of pages were live.
func (q queries) pastUntil(ctx context.Context, siteID cms.ID, ids []cms.ID) (map[pastState]int64, error) {
	until := map[pastState]int64{}
	_, err := rowsByID(ctx, q, func(r row) (s pastState, err error) {
		var n int64
		err = r.Scan(&s.id, &s.since, &n)
		until[s] = n
		return s, err
	}, ids, `select id, since, until from page_past where site_id = ? and locale_id = ?`, siteID, cms.NoID)
	return until, err
}

func (q queries) LastLive(ctx context.Context, siteID, id cms.ID) (cms.Page, error) {
	return onePage(all(ctx, q, scanPageRow, pastPage+` and id = ? and since = (select max(since) from page_past where site_id = ? and id = ?)`,
		siteID, id, siteID, id))
}

func (q queries) HiddenLive(ctx context.Context, siteID cms.ID, ids []cms.ID) (map[cms.ID]*cms.Page, error) {
	rows, err := rowsByID(ctx, q, scanPageRow, ids, pastPage+`
		and until = (select max(l.until) from page_past l where l.site_id = p.site_id and l.id = p.id)
		and exists (select 1 from locale l join publish e on e.site_id = l.site_id and e.seq = p.until and e.seq > 0
			where l.site_id = p.site_id and l.id = p.locale_id and l.deleted_at <= e.published_at)`, siteID)
	return pagesBy(rows, pageID), err
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
	// A publish that changed nothing refers to the one before it.
	idle := ` from publish where site_id = ? and seq = 0 and status = 'published' and previous_id in (select id` + old + `)`
	for _, s := range []struct {
		statement string
		args      []any
	}{
		{`delete from page_past where site_id = ? and until < ?`, []any{siteID, seq}},
		{`delete from redirect_past where site_id = ? and until < ?`, []any{siteID, seq}},
		{`delete from publish_url where site_id = ? and publish_id in (select id` + old + `)`, []any{siteID, siteID, seq}},
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
