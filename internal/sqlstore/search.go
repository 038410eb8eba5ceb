package sqlstore

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"galley/internal/cms"
)

// A search has two ways to its result: to walk, which reads the list in its order until
// enough pages were found, and to collect, which reads the pages that the index names
// and sorts them. Either reads few columns, and the pages found in full at the end.
const (
	// fewGrams is how many rows of the index a search for fewer than three characters
	// reads at first. If there are more, it reads shortWalk pages before the others.
	fewGrams  = 1000
	shortWalk = 2000
	// fewNamed is how many pages are collected at once, and how many marks a search
	// takes: if there are more, the index has still to be filled.
	fewNamed = 1000
	// firstWalk and mostWalked are how many pages are read at a time.
	firstWalk  = 200
	mostWalked = 2000
	// maxGrams is how many grams of a text are looked up.
	maxGrams = 12
)

// search is a search for pages and what it has found so far, in order.
type search struct {
	queries
	cms.PageQuery // the position moves
	found         []cms.ListedPage
	chunk         int
}

func (q queries) searchPages(ctx context.Context, pq cms.PageQuery, withPaths bool) ([]cms.ListedPage, error) {
	s := &search{queries: q, PageQuery: pq, chunk: max(firstWalk, pq.Limit+1)}
	if err := s.run(ctx); err != nil || len(s.found) == 0 {
		return nil, err
	}
	ids := make([]cms.ID, len(s.found))
	for i, l := range s.found {
		ids[i] = l.ID
	}
	pages, err := q.PagesByID(ctx, pq.SiteID, pq.Version, ids)
	if err != nil {
		return nil, err
	}
	revision, err := q.Revision(ctx, pq.SiteID)
	if err != nil {
		return nil, err
	}
	list := make([]cms.ListedPage, 0, len(ids))
	for _, l := range s.found {
		page := pages[l.ID]
		if page == nil {
			continue // it was read without a snapshot
		}
		l.PageRow, l.Revision = page.In(pq.LocaleID), revision
		l.Values.Content = nil // lists leave it out
		if withPaths {
			l.Paths = page.Paths()
		}
		list = append(list, l)
	}
	return list, nil
}

// run walks if a page is found soon, and collects otherwise. A walk that was mistaken
// is given up when it has cost as much as to collect.
func (s *search) run(ctx context.Context) error {
	named, whole, err := s.named(ctx, fewGrams)
	if err == nil && !whole {
		if done, err := s.walk(ctx, shortWalk); done || err != nil {
			return err
		}
		named, _, err = s.named(ctx, math.MaxInt32)
	}
	if err != nil {
		return err
	}
	count := named.count()
	if named == nil || count > named.pages/4 {
		_, err := s.walk(ctx, -1)
		return err
	}
	if count > fewNamed && count*count > (s.Limit+1)*named.pages {
		if done, err := s.walk(ctx, count); done || err != nil {
			return err
		}
	}
	return s.collect(ctx, named)
}

// searchColumns are those that decide whether and where a page is listed.
const searchColumns = `id, locale_id, name, pathname, title, description, is_online, created_at, updated_at, published_at, deleted_at, `

func scanSearched(r row) (l cms.ListedPage, err error) {
	v := &l.Values
	return l, r.Scan(&l.ID, &l.LocaleID, &l.Name, &v.Pathname, &v.Title, &v.Description, &v.IsOnline,
		scanTime(&l.CreatedAt), scanTime(&l.UpdatedAt), scanNullTime(&l.PublishedAt), scanNullTime(&l.DeletedAt), &l.Dirty)
}

// walk reads up to so many pages of the list, or all for -1, and reports whether the
// search is over.
func (s *search) walk(ctx context.Context, most int) (done bool, err error) {
	for walked := 0; most < 0 || walked < most; {
		pq := s.PageQuery
		pq.Limit = s.chunk - 1 // a list reads one more
		dirty, args := dirtyColumn(pq)
		query, args, keyed := s.listQuery(pq, func(source) string { return searchColumns + dirty }, args)
		listed, err := all(ctx, s.queries, func(r row) (cms.ListedPage, error) {
			if keyed {
				r = withColumns(r, ignored{})
			}
			return scanSearched(r)
		}, query, args...)
		if err != nil {
			return false, err
		}
		for _, l := range listed {
			if s.Finds(l.PageRow) {
				s.found = append(s.found, l)
			}
		}
		if len(listed) < s.chunk || len(s.found) > s.Limit {
			s.found = s.found[:min(len(s.found), s.Limit+1)]
			return true, nil
		}
		s.After = new(listed[len(listed)-1].Position(s.Sort))
		walked += len(listed)
		s.chunk = min(2*s.chunk, mostWalked)
	}
	return false, nil
}

// namedPages are the pages that the index names for a search, by block, and those that
// have a mark.
type namedPages struct {
	pages  int // in the index
	blocks map[int64]*pageSet
	marked []cms.ID
}

func (n *namedPages) count() (count int) {
	if n != nil {
		count = len(n.marked)
		for _, set := range n.blocks {
			count += set.count()
		}
	}
	return count
}

// named asks the index, and returns nil if it does not have most of the site. A search
// for fewer than three characters reads so many of its rows, and reports whether these
// are all. The marks are read first: a page that is indexed meanwhile is in the index
// then.
func (s *search) named(ctx context.Context, rows int) (named *namedPages, whole bool, err error) {
	site, err := s.searchSite(ctx, s.SiteID, "")
	if err != nil && cms.CodeOf(err) != cms.CodeNotFound { // it has marks alone
		return nil, false, err
	}
	_, marked, err := s.marks(ctx, s.SiteID, fewNamed+1)
	if err != nil || site.unindexed != nil || len(marked) > fewNamed {
		return nil, true, err
	}
	named = &namedPages{int(site.pages), map[int64]*pageSet{}, marked}
	text := []rune(s.Search)
	const from = `select gram, block, pages from search_gram where site_id = ? and `
	if len(text) < 3 {
		last, n := slices.Clone(text), 0
		last[len(last)-1]++
		err := s.eachGram(ctx, from+`gram >= ? and gram < ?`+atMost(rows), []any{s.SiteID, gramOf(text), gramOf(last)},
			func(_, block int64, pages *pageSet) {
				n++
				if named.blocks[block] == nil {
					named.blocks[block] = &pageSet{}
				}
				for i, word := range pages {
					named.blocks[block][i] |= word
				}
			})
		return named, n < rows, err
	}
	grams := gramsToFind(text)
	where, args := s.dialect.among("gram", anys(grams))
	have := map[int64]int{} // how many of the grams a block has
	err = s.eachGram(ctx, from+where, append([]any{s.SiteID}, args...), func(_, block int64, pages *pageSet) {
		have[block]++
		if have[block] == 1 {
			named.blocks[block] = new(*pages)
			return
		}
		for i, word := range pages {
			named.blocks[block][i] &= word
		}
	})
	maps.DeleteFunc(named.blocks, func(block int64, _ *pageSet) bool { return have[block] < len(grams) })
	return named, true, err
}

// gramsToFind are grams of a text of three characters or more, evenly spread if there
// are too many.
func gramsToFind(text []rune) []int64 {
	var grams []int64
	for i := range len(text) - 2 {
		grams = append(grams, gramOf(text[i:]))
	}
	if n := len(grams); n > maxGrams {
		for i := range maxGrams {
			grams[i] = grams[i*(n-1)/(maxGrams-1)]
		}
		grams = grams[:maxGrams]
	}
	slices.Sort(grams)
	return slices.Compact(grams)
}

// collect reads the named pages, and adds the first that are found after the position.
func (s *search) collect(ctx context.Context, named *namedPages) error {
	rest := s.found
	s.found = nil
	ids := named.marked
	for block, set := range named.blocks {
		var numbers []int64
		for n := range set.numbers() {
			numbers = append(numbers, block*blockSize+n)
		}
		for chunk := range slices.Chunk(numbers, idChunk) {
			where, args := s.dialect.among("number", anys(chunk))
			more, err := values[cms.ID](ctx, s.queries, `select id from search_page where site_id = ? and `+where, append([]any{s.SiteID}, args...)...)
			if err != nil {
				return err
			}
			ids = append(ids, more...)
		}
	}
	for chunk := range slices.Chunk(cms.SortIDs(ids), idChunk) {
		if err := s.collectSome(ctx, chunk); err != nil {
			return err
		}
		slices.SortFunc(s.found, func(a, b cms.ListedPage) int { return s.Compare(a.Position(s.Sort), b.Position(s.Sort)) })
		s.found = s.found[:min(len(s.found), s.Limit+1-len(rest))]
	}
	s.found = append(rest, s.found...)
	return nil
}

func (s *search) collectSome(ctx context.Context, ids []cms.ID) error {
	shown := map[cms.ID]cms.ListedPage{}
	dirty := map[cms.ID]bool{}
	for _, from := range sources(s.SiteID, s.Version) {
		column, locale, args := "dirty", `p.locale_id = ?`, append(slices.Clone(from.args), cms.NoID)
		if s.Version != cms.Draft {
			column = "false"
		}
		if s.LocaleID != cms.NoID {
			locale, args = `p.locale_id in (?, ?)`, append(args, s.LocaleID)
		}
		rows, err := rowsByID(ctx, s.queries, scanSearched, ids, `select `+searchColumns+column+` from `+from.table+` p
			where `+from.where+` and `+locale, args...)
		if err != nil {
			return err
		}
		for _, l := range rows {
			dirty[l.ID] = dirty[l.ID] || l.Dirty
			if _, ok := shown[l.ID]; !ok || l.LocaleID == s.LocaleID {
				shown[l.ID] = l
			}
		}
	}
	states := listedStates(s.PageQuery)
	for id, l := range shown {
		l.Dirty = dirty[id]
		pathname := l.Values.Pathname
		switch {
		case !slices.ContainsFunc(states, func(of listedState) bool { return of.state == pageState(l.PageRow) }),
			!strings.HasPrefix(pathname, s.PathPrefix),
			s.Under != "" && s.Under != "/" && pathname != s.Under && !strings.HasPrefix(pathname, s.Under+"/"),
			s.After != nil && s.Compare(l.Position(s.Sort), *s.After) <= 0,
			!s.Finds(l.PageRow):
		default:
			s.found = append(s.found, l)
		}
	}
	return nil
}
