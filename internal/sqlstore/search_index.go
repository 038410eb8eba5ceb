package sqlstore

import (
	"context"
	"slices"

	"galley/internal/cms"
)

// indexChunk is how many pages one transaction adds to the index of searches.
const indexChunk = 500

func (q queries) UnindexedSite(ctx context.Context, after cms.ID) (cms.ID, error) {
	var sites []cms.ID
	for _, from := range []string{`search_mark where`, `search_site where unindexed is not null and`} {
		first, err := values[cms.ID](ctx, q, `select site_id from `+from+` site_id > ? order by site_id limit 1`, after)
		if err != nil {
			return cms.NoID, err
		}
		sites = append(sites, first...)
	}
	if len(sites) == 0 {
		return cms.NoID, cms.NotFound(cms.KindSite)
	}
	return cms.SortIDs(sites)[0], nil
}

// searchSite is how far a site is indexed.
type searchSite struct {
	pages     int64
	unindexed *cms.ID
}

func (q queries) searchSite(ctx context.Context, siteID cms.ID, lock string) (searchSite, error) {
	return one(ctx, q, cms.KindSite, func(r row) (s searchSite, err error) {
		return s, r.Scan(&s.pages, &s.unindexed)
	}, `select pages, unindexed from search_site where site_id = ?`+lock, siteID)
}

// searchMark is a row of search_mark.
type searchMark struct {
	id cms.ID
	tx int64
}

// marks are marks of a site. Pages are read after them: what a page was marked for is
// stored by then.
func (q queries) marks(ctx context.Context, siteID cms.ID, limit int) (marks []searchMark, ids []cms.ID, err error) {
	marks, err = all(ctx, q, func(r row) (m searchMark, err error) { return m, r.Scan(&m.id, &m.tx) },
		`select id, tx from search_mark where site_id = ? order by id, tx`+atMost(limit), siteID)
	for _, m := range marks {
		ids = append(ids, m.id)
	}
	return marks, slices.Compact(ids), err
}

func (q queries) IndexPages(ctx context.Context, siteID cms.ID) (more bool, err error) {
	if err := q.run(ctx, `insert into search_site (site_id, pages) values (?, 0) on conflict do nothing`, siteID); err != nil {
		return false, err
	}
	site, err := q.searchSite(ctx, siteID, q.dialect.skipLocked)
	if cms.CodeOf(err) == cms.CodeNotFound {
		return false, nil // another node indexes the site
	}
	if err != nil {
		return false, err
	}
	marks, ids, err := q.marks(ctx, siteID, indexChunk)
	if err != nil {
		return false, err
	}
	if len(marks) == 0 && site.unindexed != nil {
		ids, err = values[cms.ID](ctx, q, `select id from page where site_id = ? and `+is(cms.Draft)+` and id > ? and locale_id = ?
			order by id`+atMost(indexChunk), siteID, *site.unindexed, cms.NoID)
		if err != nil {
			return false, err
		}
		if len(ids) < indexChunk {
			site.unindexed = nil
		} else {
			site.unindexed = &ids[len(ids)-1]
		}
	}
	if len(ids) > 0 {
		if err := q.indexPages(ctx, siteID, &site.pages, ids); err != nil {
			return false, err
		}
	}
	var done []any
	for _, m := range marks {
		done = append(done, siteID, m.id, m.tx)
	}
	if err := q.deleteEach(ctx, "search_mark", `site_id = ? and id = ? and tx = ?`, 3, done); err != nil {
		return false, err
	}
	return len(marks) == indexChunk || site.unindexed != nil,
		q.run(ctx, `update search_site set pages = ?, unindexed = ? where site_id = ?`, site.pages, site.unindexed, siteID)
}

// indexPages adds the grams of all rows of pages. It removes none: a search that they
// mislead reads a page in vain.
func (q queries) indexPages(ctx context.Context, siteID cms.ID, pages *int64, ids []cms.ID) error {
	numbers, err := q.pageNumbers(ctx, siteID, pages, ids)
	if err != nil {
		return err
	}
	blocks := map[int64]map[int64]*pageSet{} // of the pages to add, by block and gram
	for _, from := range []string{`page where site_id = ? and version in (0, 1)`, `page_past where site_id = ?`} {
		_, err := rowsByID(ctx, q, func(r row) (none struct{}, err error) {
			var id cms.ID
			var texts [3]*string
			if err := r.Scan(&id, &texts[0], &texts[1], &texts[2]); err != nil {
				return none, err
			}
			block, n := numbers[id]/blockSize, numbers[id]%blockSize
			if blocks[block] == nil {
				blocks[block] = map[int64]*pageSet{}
			}
			for _, text := range texts {
				if text == nil {
					continue
				}
				for gram := range gramsIn(cms.Fold(*text)) {
					if blocks[block][gram] == nil {
						blocks[block][gram] = &pageSet{}
					}
					blocks[block][gram].add(n)
				}
			}
			return none, nil
		}, ids, `select id, pathname, name, title from `+from, siteID)
		if err != nil {
			return err
		}
	}
	for block, added := range blocks {
		if err := q.addGrams(ctx, siteID, block, added); err != nil {
			return err
		}
	}
	return nil
}

// pageNumbers returns the numbers of pages, and gives one to each that has none.
func (q queries) pageNumbers(ctx context.Context, siteID cms.ID, pages *int64, ids []cms.ID) (map[cms.ID]int64, error) {
	numbers := make(map[cms.ID]int64, len(ids))
	_, err := rowsByID(ctx, q, func(r row) (none struct{}, err error) {
		var id cms.ID
		var n int64
		err = r.Scan(&id, &n)
		numbers[id] = n
		return none, err
	}, ids, `select id, number from search_page where site_id = ?`, siteID)
	if err != nil {
		return nil, err
	}
	var created []any
	for _, id := range ids {
		if _, ok := numbers[id]; !ok {
			numbers[id] = *pages
			created = append(created, siteID, *pages, id)
			*pages++
		}
	}
	_, err = q.insert(ctx, false, `search_page (site_id, number, id)`, 3, created, "")
	return numbers, err
}

// addGrams adds pages to the grams of a block.
func (q queries) addGrams(ctx context.Context, siteID cms.ID, block int64, added map[int64]*pageSet) error {
	var grams []int64
	for gram := range added {
		grams = append(grams, gram)
	}
	slices.Sort(grams) // in the order of the index
	for chunk := range slices.Chunk(grams, idChunk) {
		where, args := q.dialect.among("gram", anys(chunk))
		err := q.eachGram(ctx, `select gram, block, pages from search_gram where site_id = ? and block = ? and `+where,
			slices.Concat([]any{siteID, block}, args), func(gram, _ int64, there *pageSet) {
				more := false
				for i, word := range there {
					more = more || added[gram][i]&^word != 0
					added[gram][i] |= word
				}
				if !more {
					delete(added, gram)
				}
			})
		if err != nil {
			return err
		}
	}
	var rows []any
	for _, gram := range grams {
		if set := added[gram]; set != nil {
			rows = append(rows, siteID, gram, block, set.pack())
		}
	}
	_, err := q.insert(ctx, false, `search_gram (site_id, gram, block, pages)`, 4, rows,
		` on conflict (site_id, gram, block) do update set pages = excluded.pages`)
	return err
}

// eachGram calls a function with each row of a query for grams. The set is valid until
// it returns.
func (q queries) eachGram(ctx context.Context, query string, args []any, each func(gram, block int64, pages *pageSet)) error {
	var set pageSet
	_, err := all(ctx, q, func(r row) (none struct{}, err error) {
		var gram, block int64
		var packed []byte
		if err := r.Scan(&gram, &block, &packed); err != nil {
			return none, err
		}
		if err := set.unpack(packed); err != nil {
			return none, err
		}
		each(gram, block, &set)
		return none, nil
	}, query, args...)
	return err
}
