package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"galley/internal/cms"
)

// searched is a site whose versions are known, by their pages.
type searched struct {
	site     cms.Site
	locales  []cms.ID // the default one first
	versions map[cms.Version][]cms.Page
	seq      int64
	random   *rand.Rand
}

// searchWords have letters that fold to others or to more, and what SQL takes for
// something else.
var searchWords = []string{
	"a", "b", "ab", "Ab", "shop", "SHOP", "Straße", "STRASSE", "İstanbul", "istanbul", "%", "_", "'", `"`, `\`, "50%", "é", "e\u0301",
	"ΣΊΣΥΦΟΣ", "σίσυφος", "日本語", "日", "😀", "👩‍👩‍👧", "\U0010FFFF", "x*", "--", ";", "ﬁn", "Finn", "K", "k", " ",
}

func (s *searched) word() string { return searchWords[s.random.IntN(len(searchWords))] }

func (s *searched) text() *string {
	switch n := s.random.IntN(6); n {
	case 0:
		return nil
	case 1:
		return new("")
	default:
		var text strings.Builder
		for range n - 1 {
			text.WriteString(s.word())
		}
		return new(text.String())
	}
}

// edited is a page with other values, and other overrides.
func (s *searched) edited(p cms.Page) cms.Page {
	p.Localizations = map[cms.ID]cms.Localization{}
	p.Name, p.Title, p.Description, p.IsOnline = s.text(), s.text(), s.text(), s.random.IntN(5) > 0
	p.Pathname = "/" + s.word() + "/" + fmt.Sprint(s.random.IntN(1_000_000))
	p.UpdatedAt = later(s.random.IntN(50))
	p.DeletedAt = nil
	if s.random.IntN(6) == 0 {
		p.DeletedAt = new(at)
	}
	for _, locale := range s.locales[1:] {
		if s.random.IntN(2) == 0 {
			p = localize(p, locale, cms.PagePatch{Title: cms.Some(s.text())})
		}
		if s.random.IntN(3) == 0 {
			p = localize(p, locale, pathnamePatch("/"+s.word()+"/"+s.word()+fmt.Sprint(s.random.IntN(1_000_000))))
		}
		if s.random.IntN(5) == 0 {
			p = localize(p, locale, cms.PagePatch{IsOnline: cms.Some(new(s.random.IntN(2) == 0))})
		}
	}
	return p
}

// edit writes some drafts anew.
func (s *searched) edit(t *testing.T, store cms.Store, share int) {
	t.Helper()
	drafts := slices.Clone(s.versions[cms.Draft])
	var changes []cms.PageChange
	for i, before := range drafts {
		if s.random.IntN(100) < share {
			drafts[i] = s.edited(before)
			changes = append(changes, cms.PageChange{Before: &before, After: &drafts[i]})
		}
	}
	write(t, store, func(tx cms.Tx) error { return tx.UpdatePages(t.Context(), changes) })
	s.versions[cms.Draft] = drafts
}

// publish puts about half of the drafts live.
func (s *searched) publish(t *testing.T, store cms.Store) {
	t.Helper()
	s.seq++
	live := map[cms.ID]cms.Page{}
	for _, p := range s.versions[cms.Live] {
		live[p.ID] = p
	}
	var changes []cms.PageChange
	for _, p := range s.versions[cms.Draft] {
		if s.random.IntN(2) == 0 {
			continue
		}
		var c cms.PageChange
		if was, ok := live[p.ID]; ok {
			c.Before = &was
		}
		delete(live, p.ID)
		if p.DeletedAt == nil {
			p.Version, p.Since, p.PublishedAt = cms.Live, s.seq, new(at)
			c.After, live[p.ID] = &p, p
		}
		if c.Before != nil || c.After != nil {
			changes = append(changes, c)
		}
	}
	write(t, store, func(tx cms.Tx) error { return tx.ReplaceLive(t.Context(), s.site.ID, s.seq, changes) })
	s.versions[cms.Live] = nil
	for _, p := range live {
		s.versions[cms.Live] = append(s.versions[cms.Live], p)
	}
	s.versions[cms.AfterPublish(s.seq)] = s.versions[cms.Live]
}

// query asks for something that may be there.
func (s *searched) query() cms.PageQuery {
	versions := []cms.Version{cms.Draft, cms.Draft, cms.Live}
	for seq := range s.seq {
		versions = append(versions, cms.AfterPublish(seq+1))
	}
	oneOf := func(n int) bool { return s.random.IntN(n) == 0 }
	q := cms.PageQuery{
		SiteID: s.site.ID, Version: versions[s.random.IntN(len(versions))], LocaleID: s.locales[s.random.IntN(len(s.locales))],
		Sort: cms.PageSorts[s.random.IntN(len(cms.PageSorts))], Descending: oneOf(2), IncludeOffline: oneOf(2), Limit: []int{2, 20, 100}[s.random.IntN(3)],
	}
	if q.Version == cms.Draft {
		q.Deleted = oneOf(6)
	}
	switch s.random.IntN(6) {
	case 0:
		q.PathPrefix = "/" + s.word()
	case 1:
		q.Under = "/" + s.word()
	}
	text := []rune(s.word() + s.word())
	if p := s.versions[cms.Draft][s.random.IntN(len(s.versions[cms.Draft]))].In(q.LocaleID); oneOf(2) && p.Values.Title != nil {
		text = []rune(*p.Values.Title)
	} else if oneOf(2) {
		text = []rune(p.Values.Pathname)
	}
	first := s.random.IntN(len(text) + 1)
	text = text[first:min(len(text), first+1+s.random.IntN(10))]
	q.Search = cms.Fold(strings.ToUpper(string(text)))
	if oneOf(2) || q.Search == "" {
		q.Search = cms.Fold(string(text) + strings.Repeat("a", s.random.IntN(2)))
	}
	if q.Search == "" {
		q.Search = "/"
	}
	return q
}

// want is what a query is to find.
func (s *searched) want(q cms.PageQuery) (rows []cms.PageRow) {
	for _, p := range s.versions[q.Version] {
		row := p.In(q.LocaleID)
		texts := []string{cms.Fold(row.Values.Pathname)}
		for _, text := range []*string{row.Name, row.Values.Title} {
			if text != nil {
				texts = append(texts, cms.Fold(*text))
			}
		}
		found := slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, q.Search) })
		under := q.Under == "" || q.Under == row.Values.Pathname || strings.HasPrefix(row.Values.Pathname, q.Under+"/")
		online := (row.DeletedAt != nil) == q.Deleted && (q.Deleted || q.IncludeOffline || row.Values.IsOnline)
		if found && under && online && strings.HasPrefix(row.Values.Pathname, q.PathPrefix) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b cms.PageRow) int { return q.Compare(a.Position(q.Sort), b.Position(q.Sort)) })
	return rows
}

func (s *searched) check(t *testing.T, store cms.Store, when string) {
	t.Helper()
	found := 0
	for range 60 {
		q := s.query()
		want := s.want(q)
		found += len(want)
		sameList(t, fmt.Sprintf("%s: %+q in %d", when, q.Search, q.Version), pathnames(listed(t, store, q)), pathnames(want))
	}
	if found == 0 {
		t.Errorf("%s: nothing was found", when)
	}
}

// indexAll indexes every page of every site, and returns the number of steps.
func indexAll(t *testing.T, store cms.Store) (steps int) {
	t.Helper()
	for site := cms.NoID; ; {
		var err error
		if site, err = store.UnindexedSite(t.Context(), site); cms.CodeOf(err) == cms.CodeNotFound {
			return steps
		}
		must(t, err)
		for more := true; more; steps++ {
			write(t, store, func(tx cms.Tx) (err error) {
				more, err = tx.IndexPages(t.Context(), site)
				return err
			})
		}
	}
}

func searchPages(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	s := &searched{site: site, locales: []cms.ID{cms.NoID, french, german}, versions: map[cms.Version][]cms.Page{}, random: rand.New(rand.NewPCG(7, 19))}
	for range 120 {
		s.versions[cms.Draft] = append(s.versions[cms.Draft], s.edited(newPage(site.ID, "/")))
	}
	write(t, store, func(tx cms.Tx) error { return tx.CreatePages(t.Context(), s.versions[cms.Draft]...) })
	s.check(t, store, "not indexed")
	indexAll(t, store)
	s.check(t, store, "indexed")
	// What was in a draft when it was indexed, or never, goes live and stays in the past.
	for range 3 {
		s.publish(t, store)
		s.edit(t, store, 50)
		s.publish(t, store)
		s.edit(t, store, 50)
		s.check(t, store, "published")
		indexAll(t, store)
		s.check(t, store, "published and indexed")
	}
	for range 3 {
		s.edit(t, store, 5)
		s.check(t, store, "edited")
	}
	same(t, "steps", indexAll(t, store) > 0, true)
	same(t, "steps with nothing to do", indexAll(t, store), 0)
}

// A copy of a site is found by its own text, and a purged one leaves nothing behind.
func searchCopied(t *testing.T, store cms.Store) {
	from, to := aSite(t, store), aSite(t, store)
	p := newPage(from.ID, "/needle")
	createPages(t, store, p)
	indexAll(t, store)
	write(t, store, func(tx cms.Tx) error {
		_, err := tx.CopySite(t.Context(), from.ID, to.ID, nil, at)
		return err
	})
	q := cms.PageQuery{SiteID: to.ID, Search: "needle"}
	same(t, "copied", pathnames(listed(t, store, q)), []string{"/needle"})
	indexAll(t, store)
	same(t, "copied and indexed", pathnames(listed(t, store, q)), []string{"/needle"})
	to.DeletedAt = new(at)
	write(t, store, func(tx cms.Tx) error { return tx.UpdateSite(t.Context(), to) })
	write(t, store, func(tx cms.Tx) error {
		_, err := tx.PurgeSites(t.Context(), later(1), 10)
		return err
	})
	q.SiteID = from.ID
	same(t, "left", pathnames(listed(t, store, q)), []string{"/needle"})
	same(t, "steps", indexAll(t, store), 0)
}

// searchMany has more pages than are collected at once, the first of them at the end
// of the list.
func searchMany(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	var pages []cms.Page
	for i := range 9000 {
		p := newPage(site.ID, fmt.Sprintf("/p/%05d", i))
		p.Title = new("odd")
		if i >= 7000 {
			p.Title = new("Zebra")
		}
		if i == 4321 {
			p.Title = new("Ostrich")
		}
		pages = append(pages, p)
	}
	write(t, store, func(tx cms.Tx) error { return tx.CreatePages(t.Context(), pages...) })
	for _, when := range []string{"not indexed", "indexed"} {
		for search, want := range map[string][]string{
			"zebra": {"/p/07000", "/p/07001", "/p/07002"}, "z": {"/p/07000", "/p/07001", "/p/07002"}, "ic": {"/p/04321"},
			"strich": {"/p/04321"}, "odd": {"/p/00000", "/p/00001", "/p/00002"}, "oz": {}, "ozz": {}, "8999": {"/p/08999"},
		} {
			q := cms.PageQuery{SiteID: site.ID, Search: search, Sort: cms.SortPath, Limit: 2}
			sameList(t, when+": "+search, pathnames(rowsOf(t, store, q)), want)
		}
		indexAll(t, store)
	}
	q := cms.PageQuery{SiteID: site.ID, Search: "zebra", Limit: 100}
	same(t, "all", len(listed(t, store, q)), 2000)
}

// searchWhileIndexed looks for what was just written, while others write and index.
func searchWhileIndexed(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	var pages []cms.Page
	for i := range 20 {
		pages = append(pages, newPage(site.ID, fmt.Sprintf("/%d", i)))
	}
	createPages(t, store, pages...)
	stop := make(chan struct{})
	var indexing, writing sync.WaitGroup
	for range 2 {
		indexing.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := store.InTx(t.Context(), func(tx cms.Tx) error {
					_, err := tx.IndexPages(t.Context(), site.ID)
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for writer := range 4 {
		writing.Go(func() {
			for round := range 40 {
				p := &pages[4*(round%5)+writer]
				before := *p
				p.Title = new(fmt.Sprintf("token%dx%dend", writer, round))
				err := store.InTx(t.Context(), func(tx cms.Tx) error { return tx.UpdatePage(t.Context(), before, *p) })
				if err != nil {
					t.Error(err)
					return
				}
				q := cms.PageQuery{SiteID: site.ID, Search: *p.Title, Sort: cms.SortPath, Limit: 10}
				found, err := store.Pages(t.Context(), q, false)
				if err != nil || len(found) != 1 || found[0].ID != p.ID {
					t.Errorf("%s is on %d pages: %v", *p.Title, len(found), err)
				}
			}
		})
	}
	writing.Wait()
	close(stop)
	indexing.Wait()
	indexAll(t, store)
	for _, p := range pages {
		q := cms.PageQuery{SiteID: site.ID, Search: *p.Title}
		same(t, *p.Title, pathnames(listed(t, store, q)), []string{p.Pathname})
	}
}
