package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"galley/internal/cms"
)

const publishColumns = `p.site_id, p.id, p.seq, p.name, p.status, p.publish_at, p.published_at, p.change_count, p.previous_id,
	p.restored_from, p.reason, p.created_at, p.created_by, p.page_ids, p.locale_ids, p.confirm, p.plan`

func scanPublish(r row) (cms.Publish, error) {
	var (
		p              cms.Publish
		pages, locales *string
	)
	err := r.Scan(&p.SiteID, &p.ID, &p.Seq, &p.Name, &p.Status, scanNullTime(&p.PublishAt), scanNullTime(&p.PublishedAt),
		&p.ChangeCount, &p.PreviousID, &p.RestoredFrom, &p.Reason, scanTime(&p.CreatedAt), &p.CreatedBy,
		&pages, &locales, &p.Confirm, &p.Plan)
	if err != nil {
		return p, err
	}
	if p.Select.PageIDs, err = splitIDs(pages); err != nil {
		return p, err
	}
	p.Select.Locales, err = splitIDs(locales)
	return p, err
}

func publishArgs(p cms.Publish) []any {
	return []any{
		p.SiteID, p.ID, p.Seq, p.Name, p.Status, p.PublishAt, p.PublishedAt, p.ChangeCount, p.PreviousID,
		p.RestoredFrom, p.Reason, p.CreatedAt, p.CreatedBy, joinIDs(p.Select.PageIDs), joinIDs(p.Select.Locales), p.Confirm, p.Plan,
	}
}

func joinIDs(ids []cms.ID) *string {
	if ids == nil {
		return nil
	}
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	return new(strings.Join(list, ","))
}

func splitIDs(joined *string) ([]cms.ID, error) {
	if joined == nil {
		return nil, nil
	}
	var ids []cms.ID
	for s := range strings.SplitSeq(*joined, ",") {
		var id cms.ID
		if err := id.UnmarshalText([]byte(s)); err != nil {
			return nil, fmt.Errorf("a stored list of ids has %q: %w", s, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (q queries) Publish(ctx context.Context, siteID, id cms.ID) (cms.Publish, error) {
	return q.publish(ctx, "", siteID, id)
}

func (q queries) LockPublish(ctx context.Context, siteID, id cms.ID) (cms.Publish, error) {
	return q.publish(ctx, q.dialect.lockUpdate, siteID, id)
}

func (q queries) publish(ctx context.Context, lock string, siteID, id cms.ID) (cms.Publish, error) {
	p, err := one(ctx, q, scanPublish, `select `+publishColumns+` from publish p where p.site_id = ? and p.id = ?`+lock, siteID, id)
	return found(cms.KindPublish, p, err)
}

func (q queries) LastPublish(ctx context.Context, siteID cms.ID) (cms.Publish, error) {
	p, err := one(ctx, q, scanPublish, `select `+publishColumns+` from publish p
		where p.site_id = ? and p.seq > 0 order by p.seq desc limit 1`, siteID)
	return found(cms.KindPublish, p, err)
}

func (q queries) Publishes(ctx context.Context, siteID, pageID cms.ID, list cms.ListQuery) ([]cms.Publish, error) {
	where, args := `p.site_id = ?`, []any{siteID}
	if pageID != cms.NoID {
		where += ` and p.seq in (select since from page where site_id = ? and version = ? and id = ?
			union select since from page_past where site_id = ? and id = ?
			union select until from page_past where site_id = ? and id = ?)`
		args = append(args, siteID, cms.Live, pageID, siteID, pageID, siteID, pageID)
	}
	if list.After != cms.NoID {
		where += ` and (p.created_at, p.id) < (select c.created_at, c.id from publish c where c.site_id = ? and c.id = ?)`
		args = append(args, siteID, list.After)
	}
	return all(ctx, q, scanPublish, `select `+publishColumns+` from publish p where `+where+`
		order by p.created_at desc, p.id desc`+atMost(list.Limit+1), args...)
}

func (q queries) CreatePublish(ctx context.Context, p cms.Publish) error {
	args := publishArgs(p)
	err := q.run(ctx, `insert into publish (`+strings.ReplaceAll(publishColumns, "p.", "")+`) values (`+marks(len(args))+`)`, args...)
	if err != nil {
		return err
	}
	return q.addToDirectory(ctx, cms.KindPublish, p.ID, p.SiteID)
}

func (q queries) UpdatePublish(ctx context.Context, p cms.Publish) error {
	return q.run(ctx, `update publish set seq = ?, status = ?, published_at = ?, change_count = ?, previous_id = ?, reason = ?
		where site_id = ? and id = ?`, p.Seq, p.Status, p.PublishedAt, p.ChangeCount, p.PreviousID, p.Reason, p.SiteID, p.ID)
}

func (q queries) TakeDuePublish(ctx context.Context, now time.Time, notOf []cms.ID) (cms.Publish, error) {
	where, args := `p.status = 'scheduled' and p.publish_at <= ?`, []any{now}
	if len(notOf) > 0 {
		these, more := q.dialect.among("p.site_id", anys(notOf))
		where, args = where+` and not (`+these+`)`, append(args, more...)
	}
	p, err := one(ctx, q, scanPublish, `select `+publishColumns+` from publish p
		where `+where+` order by p.publish_at, p.id limit 1`+q.dialect.skipLocked, args...)
	return found(cms.KindPublish, p, err)
}

func (q queries) DirtyPages(ctx context.Context, siteID, after cms.ID, limit int) ([]cms.ID, error) {
	return all(ctx, q, scanID, `select id from page where site_id = ? and dirty and id > ? order by id`+atMost(limit), siteID, after)
}

func (q queries) PublishedPages(ctx context.Context, siteID cms.ID, seq int64, after cms.ID, limit int) ([]cms.ID, error) {
	part := func(table, column, more string) string {
		return `select id from (select distinct id from ` + table + ` where site_id = ? and ` + column + ` = ? and id > ?` + more + `
			order by id limit ?) as ` + table + `_` + column
	}
	return all(ctx, q, scanID, part("page", "since", " and version = 1")+` union `+part("page_past", "since", "")+`
		union `+part("page_past", "until", "")+` order by id limit ?`,
		siteID, seq, after, limit, siteID, seq, after, limit, siteID, seq, after, limit, limit)
}

func (q queries) PagesSince(ctx context.Context, siteID cms.ID, seq int64) ([]cms.ID, error) {
	live, err := all(ctx, q, scanID, `select id from page where site_id = ? and version = 1 and since > ?`, siteID, seq)
	if err != nil {
		return nil, err
	}
	past, err := all(ctx, q, scanID, `select id from page_past where site_id = ? and until > ?`, siteID, seq)
	return cms.SortIDs(append(live, past...)), err
}

func (q queries) CountLive(ctx context.Context, siteID cms.ID) (pages, rows int, err error) {
	counts, err := one(ctx, q, func(r row) (n [2]int, err error) {
		return n, r.Scan(&n[0], &n[1])
	}, `select coalesce(sum(case when locale_id = ? then 1 else 0 end), 0), count(*) from page
		where site_id = ? and `+is(cms.Live), cms.NoID, siteID)
	return counts[0], counts[1], err
}

// pastColumns are the columns that a row keeps when it is put aside.
const pastColumns = `site_id, id, since, locale_id, own, state, name, pathname, title, description, canonical_url,
	social_image_url, sitemap_priority, sitemap_frequency, is_online, no_index, title_sort, description_sort,
	created_at, updated_at, published_at, deleted_at`

// pastWidth is how many those are, with until when.
const pastWidth = 23

func (q queries) ReplaceLive(ctx context.Context, siteID cms.ID, seq int64, changes []cms.PageChange) error {
	// What is put aside and what is changed are the same rows: each part is
	// changed while the engine still has it at hand.
	for some := range slices.Chunk(changes, idChunk) {
		var was []cms.ID
		for _, c := range some {
			if c.Before != nil {
				was = append(was, c.Before.ID)
			}
		}
		if len(was) > 0 {
			where, args := q.dialect.among("id", anys(was))
			err := q.run(ctx, `insert into page_past (`+pastColumns+`, until) select `+pastColumns+`, cast(? as bigint)
				from page where site_id = ? and `+is(cms.Live)+` and `+where, slices.Concat([]any{seq, siteID}, args)...)
			if err != nil {
				return err
			}
		}
		var drafts, others []cms.PageChange
		for _, c := range some {
			// Where statements are cheap, it is cheaper to name what changes.
			if c.AsDraft && (c.Before == nil || !q.dialect.near) {
				drafts = append(drafts, c)
			} else {
				others = append(others, c)
			}
		}
		if err := q.putDrafts(ctx, siteID, drafts); err != nil {
			return err
		}
		if err := q.UpdatePages(ctx, others); err != nil {
			return err
		}
	}
	return nil
}

// putDrafts makes the live rows of pages what their drafts have. The values are
// in the database, so they are not sent to it again.
func (q queries) putDrafts(ctx context.Context, siteID cms.ID, changes []cms.PageChange) error {
	if len(changes) == 0 {
		return nil
	}
	var ids []cms.ID
	var gone []cms.PageRow
	for _, c := range changes {
		ids = append(ids, c.After.ID)
		if c.Before != nil {
			for locale := range c.Before.Localizations {
				if _, ok := c.After.Localizations[locale]; !ok {
					gone = append(gone, c.Before.In(locale))
				}
			}
		}
	}
	if err := q.deleteRows(ctx, gone); err != nil {
		return err
	}
	where, args := q.dialect.among("id", anys(ids))
	first := changes[0].After // all go live at once
	return q.run(ctx, copyDrafts+where+` on conflict (`+rowKey+`) do update set `+overwritten,
		slices.Concat([]any{first.PublishedAt, first.Since, siteID}, args)...)
}

// copyDrafts copies rows of drafts into the live version, and overwritten is
// what they replace of a row that is there.
var copyDrafts, overwritten = func() (insert, update string) {
	live := map[string]string{"version": strconv.Itoa(int(cms.Live)), "published_at": "cast(? as bigint)", "since": "cast(? as bigint)", "dirty": "false"}
	var values, set []string
	for i, column := range storedColumns {
		value, ok := live[column]
		if !ok {
			value = column
		}
		values = append(values, value)
		if i >= keyColumns {
			set = append(set, column+" = excluded."+column)
		}
	}
	return `insert into page (` + strings.Join(storedColumns, ", ") + `) select ` + strings.Join(values, ", ") + `
		from page where site_id = ? and ` + is(cms.Draft) + ` and `, strings.Join(set, ", ")
}()

func (q queries) MarkPages(ctx context.Context, siteID cms.ID, ids []cms.ID, publishedAt *time.Time, dirty bool) error {
	for chunk := range slices.Chunk(ids, idChunk) {
		named, args := q.dialect.among("id", anys(chunk))
		where := ` where site_id = ? and ` + is(cms.Draft) + ` and ` + named
		args = slices.Concat([]any{siteID}, args)
		var err error
		if publishedAt != nil {
			err = q.run(ctx, `update page set published_at = ?, dirty = (cast(? as boolean) and locale_id = ?)`+where,
				append([]any{publishedAt, dirty, cms.NoID}, args...)...)
		} else {
			err = q.run(ctx, `update page set dirty = ?`+where+` and locale_id = ?`, append(append([]any{dirty}, args...), cms.NoID)...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

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

// LookAround matters on PostgreSQL, which gathers statistics about a minute
// after a table has filled: until then it takes a site for a handful of rows. It
// then passes the key by, and reads all of the site for each chunk of ids.
func (q queries) LookAround(ctx context.Context, siteID cms.ID) error {
	if q.dialect.unseen == "" {
		return nil
	}
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
		if err := q.run(ctx, q.dialect.look+table); err != nil {
			return err
		}
	}
	return nil
}

// manyPages are so many that to read them all takes longer than to find a chunk
// of them by their keys.
const manyPages = 5_000

// misjudged are the tables to look at because the planner takes a site of many
// pages for one of few, unless it has looked for that site's sake before.
func (q queries) misjudged(ctx context.Context, siteID cms.ID) ([]string, error) {
	guess, err := q.guessPages(ctx, siteID)
	if err != nil || guess >= manyPages {
		return nil, err
	}
	many, err := one(ctx, q, func(r row) (many bool, err error) { return many, r.Scan(&many) },
		`select count(*) = ? from (`+draftsOf+atMost(manyPages)+`) as pages`, manyPages, siteID)
	if err != nil || !many || !q.looks.due(siteID, time.Now()) {
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

// looks remembers for which sites the planner was made to look: if it still
// misjudges one, that is too small a part of all for it to notice.
type looks struct {
	mu   sync.Mutex
	last map[cms.ID]time.Time
}

const (
	lookAgain = 10 * time.Minute
	maxLooks  = 1_000
)

func (l *looks) due(siteID cms.ID, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.last[siteID]) < lookAgain {
		return false
	}
	if l.last == nil || len(l.last) >= maxLooks {
		l.last = map[cms.ID]time.Time{}
	}
	l.last[siteID] = now
	return true
}
