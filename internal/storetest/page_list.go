package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
)

// listed walks a list to its end and returns the rows; by path and 100 at a
// time unless the query says otherwise.
func listed(t *testing.T, store cms.Store, q cms.PageQuery) []cms.PageRow {
	t.Helper()
	q.Limit, q.Sort = cmp.Or(q.Limit, 100), cmp.Or(q.Sort, cms.SortPath)
	var rows []cms.PageRow
	for {
		got := rowsOf(t, store, q)
		list := cms.CutList(got, q.Limit)
		rows = append(rows, list.Items...)
		if !list.HasMore {
			return rows
		}
		if len(rows) > 10_000 {
			t.Fatal("the walk does not end")
		}
		q.After = new(rows[len(rows)-1].Position(q.Sort))
	}
}

// rowsOf reads one page of a list, and one row more. They are the same with their
// paths and without.
func rowsOf(t *testing.T, r cms.Reader, q cms.PageQuery) []cms.PageRow {
	t.Helper()
	revision := value(r.Revision(t.Context(), q.SiteID))(t)
	read := func(withPaths bool) (rows []cms.PageRow) {
		for _, l := range value(r.Pages(t.Context(), q, withPaths))(t) {
			same(t, "Shape", l.Revision, revision)
			rows = append(rows, l.PageRow)
		}
		return rows
	}
	rows := read(false)
	sameList(t, "with paths", read(true), rows)
	return rows
}

func pathnames(rows []cms.PageRow) []string {
	list := make([]string, len(rows))
	for i, r := range rows {
		list[i] = r.Values.Pathname
	}
	return list
}

// directions checks a list in ascending order, and the reverse in descending.
func directions(t *testing.T, store cms.Store, q cms.PageQuery, want []string) {
	t.Helper()
	want = slices.Clone(want)
	for _, q.Descending = range []bool{false, true} {
		for _, q.Limit = range []int{1, 2, 100} {
			sameList(t, fmt.Sprintf("%s, descending %t, limit %d", q.Sort, q.Descending, q.Limit), pathnames(listed(t, store, q)), want)
		}
		slices.Reverse(want)
	}
}

// shuffled returns pages in an order that no list has.
func shuffled(pages []cms.Page) []cms.Page {
	pages = slices.Clone(pages)
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
	return pages
}

func listByCodePoint(t *testing.T, store cms.Store) {
	// UTF-16 order would put the last two before U+E000, and a language's
	// order would put é next to e and a before Z.
	ordered := []string{"", "!", "-", "0", "A", "B", "Z", "Zz", "_", "a", "a b", "aa", "b", "e\u0301", "z", "é", "ß", "Ω", "я",
		"日", "\uD7FF", "\uE000", "\uFFFD", "\U00010000", "\U0001F600", "\U0010FFFF"}
	slices.SortFunc(ordered, byCodePoint)
	site := aSite(t, store)
	var pages []cms.Page
	var want []string
	for _, text := range ordered {
		p := newPage(site.ID, "/"+text)
		p.Title, p.Description = new(text), new(text)
		pages, want = append(pages, p), append(want, p.Pathname)
	}
	createPages(t, store, shuffled(pages)...)
	for _, sort := range []cms.PageSort{cms.SortPath, cms.SortTitle, cms.SortDescription} {
		directions(t, store, cms.PageQuery{SiteID: site.ID, Sort: sort}, want)
	}
}

// byCodePoint is written without string comparison, which is what it checks.
func byCodePoint(a, b string) int { return slices.Compare([]rune(a), []rune(b)) }

func listNullsLast(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	var pages []cms.Page
	for i, text := range []*string{new(""), new(" "), new("a"), new("~"), new("\U0010FFFF\U0010FFFF"), nil, nil} {
		p := newPage(site.ID, fmt.Sprintf("/%d", i))
		p.Title, p.Description = text, text
		pages = append(pages, p)
	}
	createPages(t, store, shuffled(pages)...)
	for _, sort := range []cms.PageSort{cms.SortTitle, cms.SortDescription} {
		directions(t, store, cms.PageQuery{SiteID: site.ID, Sort: sort}, []string{"/0", "/1", "/2", "/3", "/4", "/5", "/6"})
	}
}

func listTiesByID(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	var pages []cms.Page
	var want []string
	for i := range 9 {
		p := newPage(site.ID, fmt.Sprintf("/%d", 8-i)) // in id order, not in that of the pathnames
		p.Title, p.Description = new("same"), new("same")
		pages, want = append(pages, p), append(want, p.Pathname)
	}
	createPages(t, store, shuffled(pages)...)
	for _, sort := range []cms.PageSort{cms.SortTitle, cms.SortDescription, cms.SortCreatedAt, cms.SortUpdatedAt} {
		directions(t, store, cms.PageQuery{SiteID: site.ID, Sort: sort}, want)
	}
}

func listPrefix(t *testing.T, store cms.Store) {
	all := []string{"/", "/%", "/A", "/_", "/a", "/a%", "/a%b", "/a'b", "/aX", "/a\\", "/a\\b", "/a_", "/a_b", "/ab", "/a*", "/a?b", "/b",
		"/blog", "/blog/x", "/blogger", "/Blog", "/bloh", "/a\uD7FF", "/a\uD7FFx", "/a\uE000", "/a\uFFFF", "/a\U00010000",
		"/a\U0010FFFF", "/a\U0010FFFFx", "/a\U0010FFFF\U0010FFFF", "/\U0010FFFF", "/é", "/e\u0301", "/e"}
	slices.SortFunc(all, byCodePoint)
	prefixes := append([]string{"", "/c", "/blog/", "a", "%", "/a\U0010FFFF\U0010FFFF\U0010FFFF"}, all...)
	site := aSite(t, store)
	french := aLocale(t, store, site.ID, "fr")
	var pages []cms.Page
	for i, pathname := range all {
		p := newPage(site.ID, fmt.Sprintf("%s/default", pathname))
		if i%2 == 0 {
			p.Pathname = pathname
		} else {
			p = localize(p, french, pathnamePatch(pathname))
		}
		pages = append(pages, p)
	}
	createPages(t, store, shuffled(pages)...)
	for _, prefix := range prefixes {
		var want []string
		for _, pathname := range all {
			if strings.HasPrefix(pathname, prefix) {
				want = append(want, pathname)
			}
		}
		q := cms.PageQuery{SiteID: site.ID, LocaleID: french, PathPrefix: prefix, Sort: cms.SortPath}
		sameList(t, fmt.Sprintf("%q", prefix), pathnames(listed(t, store, q)), want)
		for _, q.Sort = range []cms.PageSort{cms.SortTitle, cms.SortCreatedAt} {
			got := pathnames(listed(t, store, q))
			slices.SortFunc(got, byCodePoint)
			sameList(t, fmt.Sprintf("%q by %s", prefix, q.Sort), got, want)
		}
	}
}

func listUnder(t *testing.T, store cms.Store) {
	all := []string{"/", "/a/blog", "/blog", "/blog-x", "/blog/a", "/blog/a/b", "/blog/\U0010FFFF", "/blog0", "/blogger", "/é", "/é/x"}
	site := aSite(t, store)
	french := aLocale(t, store, site.ID, "fr")
	var pages []cms.Page
	for i, pathname := range all {
		p := newPage(site.ID, pathname)
		if i%2 == 0 {
			p = localize(newPage(site.ID, "/blog/default"+pathname), french, pathnamePatch(pathname))
		}
		pages = append(pages, p)
	}
	createPages(t, store, shuffled(pages)...)
	for _, under := range append([]string{"", "/none"}, all...) {
		var want []string
		for _, pathname := range all {
			if (cms.Preview{PathPrefix: cmp.Or(under, "/")}).Covers(pathname) {
				want = append(want, pathname)
			}
		}
		for _, sort := range []cms.PageSort{cms.SortPath, cms.SortTitle, cms.SortCreatedAt} {
			q := cms.PageQuery{SiteID: site.ID, LocaleID: french, PathPrefix: "/", Under: under, Sort: sort}
			got := pathnames(listed(t, store, q))
			slices.SortFunc(got, byCodePoint)
			sameList(t, fmt.Sprintf("%q by %s", under, sort), got, want)
		}
	}
}

func listStates(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	french := aLocale(t, store, site.ID, "fr")
	online, offline, gone := newPage(site.ID, "/1"), newPage(site.ID, "/2"), newPage(site.ID, "/3")
	offline.IsOnline = false
	gone.DeletedAt = new(at)
	off, on := cms.PagePatch{IsOnline: cms.Some(new(false))}, cms.PagePatch{IsOnline: cms.Some(new(true))}
	offThere, onThere := localize(newPage(site.ID, "/4"), french, off), newPage(site.ID, "/5")
	onThere.IsOnline = false
	onThere = localize(onThere, french, on)
	createPages(t, store, online, offline, gone, offThere, onThere, newPage(other.ID, "/6"))
	published := gone
	published.DeletedAt = nil
	putLive(t, store, offline, published)

	for _, c := range []struct {
		name    string
		version cms.Version
		locale  cms.ID
		offline bool
		want    []string
	}{
		{"online", cms.Draft, cms.NoID, false, []string{"/1", "/4"}},
		{"all", cms.Draft, cms.NoID, true, []string{"/1", "/2", "/4", "/5"}},
		{"online in a locale", cms.Draft, french, false, []string{"/1", "/5"}},
		{"all in a locale", cms.Draft, french, true, []string{"/1", "/2", "/4", "/5"}},
		{"live", cms.Live, cms.NoID, false, []string{"/3"}},
		{"all that is live", cms.Live, french, true, []string{"/2", "/3"}},
	} {
		q := cms.PageQuery{SiteID: site.ID, Version: c.version, LocaleID: c.locale, IncludeOffline: c.offline, Sort: cms.SortPath}
		sameList(t, c.name, pathnames(listed(t, store, q)), c.want)
	}
}

func listLimit(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	french := aLocale(t, store, site.ID, "fr")
	all := []string{"/1", "/2", "/3", "/4", "/5"}
	for i, pathname := range all {
		p := newPage(site.ID, pathname)
		p.IsOnline = i%2 == 0
		if i > 2 {
			p = localize(p, french, titlePatch("T"))
		}
		createPages(t, store, p)
	}
	for _, locale := range []cms.ID{cms.NoID, french} {
		for limit := 1; limit <= 6; limit++ {
			q := cms.PageQuery{SiteID: site.ID, LocaleID: locale, Sort: cms.SortPath, IncludeOffline: true, Limit: limit}
			sameList(t, fmt.Sprintf("limit %d", limit), pathnames(rowsOf(t, store, q)), all[:min(len(all), limit+1)])
		}
	}
}

// variety is pages that differ and agree in everything that lists depend on.
func variety(siteID, some, all cms.ID) []cms.Page {
	random := rand.New(rand.NewPCG(3, 4))
	texts := []*string{nil, new(""), new("a"), new("B"), new("é"), new("\uFFFD"), new("\U0001F600"), new("same"), new("same")}
	pick := func() *string { return texts[random.IntN(len(texts))] }
	moment := func() time.Time { return at.Add(time.Duration(random.IntN(9)) * time.Millisecond) }
	var pages []cms.Page
	for i := range 60 {
		p := newPage(siteID, fmt.Sprintf("/%c/%d", []rune("aZé\U0001F600")[random.IntN(4)], i))
		p.Title, p.Description, p.CreatedAt, p.UpdatedAt = pick(), pick(), moment(), moment()
		p.IsOnline = random.IntN(4) > 0
		if random.IntN(8) == 0 {
			p.DeletedAt = new(at)
		}
		if random.IntN(2) == 0 {
			p = localize(p, some, cms.PagePatch{
				Title: cms.Some(pick()), Description: cms.Some(pick()), IsOnline: cms.Some(new(random.IntN(3) > 0)),
			})
		}
		pages = append(pages, localize(p, all, pathnamePatch(fmt.Sprintf("/%d/all", 99-i))))
	}
	return pages
}

// oracle is the list that the contract asks for.
func oracle(pages []cms.Page, q cms.PageQuery) []cms.PageRow {
	var rows []cms.PageRow
	for _, p := range pages {
		row := p.In(q.LocaleID)
		if p.DeletedAt == nil && (row.Values.IsOnline || q.IncludeOffline) && strings.HasPrefix(row.Values.Pathname, q.PathPrefix) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b cms.PageRow) int {
		order := cmp.Or(compareRows(a, b, q.Sort), strings.Compare(a.ID.String(), b.ID.String()))
		if q.Descending {
			return -order
		}
		return order
	})
	return rows
}

func compareRows(a, b cms.PageRow, sort cms.PageSort) int {
	switch sort {
	case cms.SortTitle:
		return compareNullable(a.Values.Title, b.Values.Title)
	case cms.SortDescription:
		return compareNullable(a.Values.Description, b.Values.Description)
	case cms.SortCreatedAt:
		return a.CreatedAt.Compare(b.CreatedAt)
	case cms.SortUpdatedAt:
		return a.UpdatedAt.Compare(b.UpdatedAt)
	}
	return byCodePoint(a.Values.Pathname, b.Values.Pathname)
}

func compareNullable(a, b *string) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return byCodePoint(*a, *b)
}

// everyQuery calls f with each order and direction of a list.
func everyQuery(siteID cms.ID, f func(q cms.PageQuery)) {
	for _, sort := range cms.PageSorts {
		for _, descending := range []bool{false, true} {
			f(cms.PageQuery{SiteID: siteID, Sort: sort, Descending: descending})
		}
	}
}

func listEveryOrder(t *testing.T, store cms.Store) {
	site, some, all := twoLocales(t, store)
	none := aLocale(t, store, site.ID, "it")
	pages := variety(site.ID, some, all)
	createPages(t, store, shuffled(pages)...)
	everyQuery(site.ID, func(q cms.PageQuery) {
		for name, locale := range map[string]cms.ID{"default": cms.NoID, "some": some, "all": all, "none": none} {
			for _, prefix := range []string{"", "/a"} {
				for _, limit := range []int{1, 7, 100} {
					for _, offline := range []bool{false, true} {
						q.LocaleID, q.PathPrefix, q.Limit, q.IncludeOffline = locale, prefix, limit, offline
						what := fmt.Sprintf("locale %s, prefix %q, %s, descending %t, limit %d, offline %t",
							name, prefix, q.Sort, q.Descending, limit, offline)
						sameList(t, what, listed(t, store, q), oracle(pages, q))
					}
				}
			}
		}
	})
}

// pageListStatus lists pages of the draft by whether they may differ from what is
// live, and by their states.
func pageListStatus(t *testing.T, store cms.Store) {
	site, french, _ := twoLocales(t, store)
	pages := map[string]cms.Page{}
	published := at
	for _, name := range []string{"/changed", "/deleted", "/live", "/new", "/offline"} {
		p := newPage(site.ID, name)
		p.IsOnline = name != "/offline"
		if name == "/deleted" {
			p.DeletedAt = &published
		}
		if name == "/changed" {
			p = localize(p, french, pathnamePatch("/autre"))
		}
		pages[name] = p
		createPages(t, store, p)
	}
	write(t, store, func(tx cms.Tx) error {
		if err := tx.MarkPages(t.Context(), site.ID, []cms.ID{pages["/changed"].ID}, &published, true); err != nil {
			return err
		}
		return tx.MarkPages(t.Context(), site.ID, []cms.ID{pages["/live"].ID, pages["/offline"].ID}, &published, false)
	})
	for _, c := range []struct {
		q    cms.PageQuery
		want []string
	}{
		{cms.PageQuery{}, []string{"/changed", "/live", "/new"}},
		{cms.PageQuery{Deleted: true}, []string{"/deleted"}},
		{cms.PageQuery{Status: cms.FilterNew}, []string{"/changed", "/new"}}, // the service tells these apart
		{cms.PageQuery{Status: cms.FilterLive}, []string{"/changed", "/live"}},
		{cms.PageQuery{Status: cms.FilterLive, IncludeOffline: true}, []string{"/changed", "/live", "/offline"}},
		{cms.PageQuery{Status: cms.FilterOffline}, []string{"/offline"}},
		{cms.PageQuery{Status: cms.FilterOffline | cms.FilterDeleted}, []string{"/deleted", "/offline"}},
		{cms.PageQuery{Status: cms.FilterChanged, LocaleID: french}, []string{"/autre", "/new"}},
		{cms.PageQuery{Status: cms.FilterLive | cms.FilterDeleted, LocaleID: french}, []string{"/autre", "/deleted", "/live"}},
	} {
		c.q.SiteID = site.ID
		for _, c.q.Limit = range []int{1, 100} {
			rows := listed(t, store, c.q)
			sameList(t, fmt.Sprintf("%+v", c.q), pathnames(rows), c.want)
			same(t, "CountPaths", value(store.CountPaths(t.Context(), c.q))(t), min(len(c.want), c.q.Limit+1))
		}
	}
	for _, l := range value(store.Pages(t.Context(), cms.PageQuery{SiteID: site.ID, Sort: cms.SortPath, Limit: 9}, true))(t) {
		same(t, l.Values.Pathname+" is dirty", l.Dirty, l.Values.Pathname != "/live")
	}
}
