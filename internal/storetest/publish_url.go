package storetest

import (
	"fmt"
	"slices"
	"testing"

	"galley/internal/cms"
)

// publishURLs are URLs, of which every third is removed.
func publishURLs(n int) []cms.PublishURL {
	var urls []cms.PublishURL
	for i := range n {
		u := cms.PublishURL{URL: fmt.Sprintf("https://example.com/%05d", i), Change: cms.URLChanged}
		if i%3 == 0 {
			u.Change = cms.URLRemoved
		}
		urls = append(urls, u)
	}
	return urls
}

func addPublishURLs(t *testing.T, store cms.Store, siteID, publishID cms.ID, urls []cms.PublishURL) {
	t.Helper()
	write(t, store, func(tx cms.Tx) error { return tx.AddPublishURLs(t.Context(), siteID, publishID, urls) })
}

func publishURLsKept(t *testing.T, store cms.Store) {
	site, id := aSite(t, store), cms.NewID()
	all := publishURLs(2_500)
	addPublishURLs(t, store, site.ID, id, all)
	addPublishURLs(t, store, site.ID, cms.NewID(), publishURLs(3))
	read := func(from, limit int) []cms.PublishURL {
		t.Helper()
		return value(store.PublishURLs(t.Context(), site.ID, id, from, limit))(t)
	}
	for _, from := range []int{0, 1, 950, 999, 1_000, 1_001, 1_999, 2_000, 2_450} {
		sameList(t, fmt.Sprint("from ", from), read(from, 50), all[from:from+50])
	}
	sameList(t, "all", read(0, 10_000), all)
	sameList(t, "the last", read(2_490, 50), all[2_490:])
	for _, from := range []int{2_500, 2_999, 3_000, 1 << 30} {
		sameList(t, fmt.Sprint("from ", from), read(from, 50), nil)
	}
	sameList(t, "of another site", value(store.PublishURLs(t.Context(), aSite(t, store).ID, id, 0, 50))(t), nil)
}

func publishURLsOfEvents(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	for _, n := range []int{0, 2, cms.MaxEventURLs, cms.MaxEventURLs + 1, 3 * cms.MaxEventURLs} {
		id := cms.NewID()
		addPublishURLs(t, store, site.ID, id, publishURLs(n))
		shown := value(store.EventURLs(t.Context(), site.ID, id))(t)
		same(t, fmt.Sprint(n, " URLs"), len(shown.Changed)+len(shown.Removed), min(n, cms.MaxEventURLs))
		same(t, fmt.Sprint(n, " URLs, truncated"), shown.Truncated, n > cms.MaxEventURLs)
		if n == 2 {
			sameList(t, "changed", shown.Changed, []string{"https://example.com/00001"})
			sameList(t, "removed", shown.Removed, []string{"https://example.com/00000"})
		}
	}
}

func publishURLsPurged(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	old, last := newPublish(site.ID, 1), newPublish(site.ID, 2)
	createPublishes(t, store, old, last)
	for _, p := range []cms.Publish{old, last} {
		addPublishURLs(t, store, site.ID, p.ID, publishURLs(1_200))
	}
	count := func(p cms.Publish) int {
		t.Helper()
		return len(value(store.PublishURLs(t.Context(), site.ID, p.ID, 0, 10_000))(t))
	}
	write(t, store, func(tx cms.Tx) error { return tx.PurgeHistory(t.Context(), site.ID, last.Seq) })
	same(t, "of the old publish", count(old), 0)
	same(t, "of the last publish", count(last), 1_200)
	write(t, store, func(tx cms.Tx) error {
		gone := site
		gone.DeletedAt = new(at)
		if err := tx.UpdateSite(t.Context(), gone); err != nil {
			return err
		}
		_, err := tx.PurgeSites(t.Context(), later(1), 10)
		return err
	})
	same(t, "of the purged site", count(last), 0)
}

func redirectsLeading(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	same(t, "none", value(store.HasRedirects(t.Context(), site.ID))(t), false)
	var lives []cms.Redirect
	for i, target := range []string{"/t", "/t/*", "/t/u", "/tu", "/t/u/v", "https://example.com/t", "/s"} {
		r := newRedirect(site.ID, fmt.Sprint("/", i), target)
		saveRedirects(t, store, newRedirect(site.ID, fmt.Sprint("/draft", i), target))
		r.Version, r.Since, r.Dirty = cms.Live, 1, false
		lives = append(lives, r)
	}
	same(t, "drafts", value(store.HasRedirects(t.Context(), site.ID))(t), false)
	write(t, store, func(tx cms.Tx) error { return tx.SaveRedirects(t.Context(), lives...) })
	same(t, "any", value(store.HasRedirects(t.Context(), site.ID))(t), true)
	for name, c := range map[string]struct{ targets, below, want []string }{
		"targets":  {[]string{"/t", "/s", "/none"}, nil, []string{"/0 /t", "/6 /s"}},
		"below":    {nil, []string{"/t", "/none"}, []string{"/1 /t/*", "/2 /t/u", "/4 /t/u/v"}},
		"the root": {nil, []string{"/"}, []string{"/0 /t", "/1 /t/*", "/2 /t/u", "/3 /tu", "/4 /t/u/v", "/6 /s"}},
		"nothing":  {},
	} {
		found := sourcesOf(value(store.RedirectsLeading(t.Context(), site.ID, c.targets, c.below))(t))
		slices.Sort(found)
		sameList(t, name, found, c.want)
	}
}
