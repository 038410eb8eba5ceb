package storetest

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
)

func contentPatch(c cms.Content) cms.PagePatch { return cms.PagePatch{Content: cms.Some(&c)} }

func putContents(t *testing.T, store cms.Store, siteID cms.ID, now time.Time, contents ...cms.Content) {
	t.Helper()
	write(t, store, func(tx cms.Tx) error { return tx.PutContents(t.Context(), siteID, contents, now) })
}

func contentKept(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	values := []string{`{}`, `["` + strings.Repeat("abc", 300_000) + `"]`, "{\"é\":\"\\u0000\u2028\"}", `[0.10]`, `[0.1]`}
	contents := make([]cms.Content, len(values))
	for i, v := range values {
		contents[i] = cms.NewContent([]byte(v))
	}
	putContents(t, store, site.ID, at, slices.Concat(contents, contents[:1])...)
	putContents(t, store, site.ID, later(5), contents...) // they are there
	putContents(t, store, site.ID, at)
	for _, c := range contents {
		if got := value(store.Content(t.Context(), site.ID, c.Digest))(t); !bytes.Equal(got, c.Value) {
			t.Errorf("%.40s was stored, and %.40s is there", c.Value, got)
		}
		_, err := store.Content(t.Context(), other.ID, c.Digest)
		wantNotFound(t, "of another site", cms.KindContent, err)
	}
	_, err := store.Content(t.Context(), site.ID, cms.Digest{})
	wantNotFound(t, "unknown", cms.KindContent, err)
}

// A page refers to contents in the draft and the live version, in every locale and
// in the past.
func contentPurged(t *testing.T, store cms.Store) {
	site, french, _ := twoLocales(t, store)
	var contents []cms.Content
	for _, text := range []string{"draft", "french", "past", "live", "unused", "unused too", "new"} {
		contents = append(contents, cms.NewContent([]byte(`["`+text+`"]`)))
	}
	draft, localized, past, live, unused, unusedToo, young := contents[0], contents[1], contents[2], contents[3], contents[4], contents[5], contents[6]
	putContents(t, store, site.ID, at, draft, localized, past, live, unused, unusedToo)
	putContents(t, store, site.ID, later(10), young)
	page := localize(contentPatch(draft).Apply(newPage(site.ID, "/p"), cms.NoID), french, contentPatch(localized))
	createPages(t, store, page)
	was, is := contentPatch(past).Apply(newPage(site.ID, "/p"), cms.NoID), contentPatch(live).Apply(newPage(site.ID, "/p"), cms.NoID)
	was.ID, was.Version, was.Since, was.PublishedAt = page.ID, cms.Live, 1, new(at)
	is.ID, is.Version, is.Since, is.PublishedAt = page.ID, cms.Live, 2, new(at)
	write(t, store, func(tx cms.Tx) error {
		if err := tx.ReplaceLive(t.Context(), site.ID, 1, []cms.PageChange{{After: &was}}); err != nil {
			return err
		}
		return tx.ReplaceLive(t.Context(), site.ID, 2, []cms.PageChange{{Before: &was, After: &is}})
	})
	same(t, "the past state", value(store.Page(t.Context(), site.ID, cms.AfterPublish(1), page.ID))(t), was)

	// Another site with the same contents, all of them unused, is left alone.
	other := aSite(t, store)
	putContents(t, store, other.ID, at, contents...)
	sites := []cms.ID{site.ID, other.ID}
	slices.SortFunc(sites, cms.CompareIDs)
	first := value(store.ContentSite(t.Context(), cms.NoID))(t)
	second := value(store.ContentSite(t.Context(), first))(t)
	same(t, "sites with contents", []cms.ID{first, second}, sites)
	_, err := store.ContentSite(t.Context(), second)
	wantNotFound(t, "after the last", cms.KindSite, err)

	unusedNow := func() []cms.Digest { return value(store.UnusedContents(t.Context(), site.ID, later(5)))(t) }
	if got := unusedNow(); len(got) != 2 || !slices.Contains(got, unused.Digest) || !slices.Contains(got, unusedToo.Digest) {
		t.Errorf("unused: %v", got)
	}

	// One that is stored again, after some time, is not purged.
	putContents(t, store, site.ID, later(60), unusedToo)
	same(t, "unused and old", unusedNow(), []cms.Digest{unused.Digest})
	write(t, store, func(tx cms.Tx) error {
		n, err := tx.PurgeContents(t.Context(), site.ID, later(5), []cms.Digest{unused.Digest, unusedToo.Digest, young.Digest})
		same(t, "purged", n, 1)
		return err
	})
	for _, c := range contents {
		_, err := store.Content(t.Context(), site.ID, c.Digest)
		if c.Digest == unused.Digest {
			wantNotFound(t, "purged", cms.KindContent, err)
		} else {
			must(t, err)
		}
		_, err = store.Content(t.Context(), other.ID, c.Digest)
		must(t, err)
	}
	sameList(t, "unused afterwards", unusedNow(), nil)

	// A content that was purged can be stored again.
	putContents(t, store, site.ID, later(20), unused)
	_, err = store.Content(t.Context(), site.ID, unused.Digest)
	must(t, err)
}

func contentCopied(t *testing.T, store cms.Store) {
	site, french, _ := twoLocales(t, store)
	draft, live, localized, past := cms.NewContent([]byte(`["draft"]`)), cms.NewContent([]byte(`["live"]`)), cms.NewContent([]byte(`["fr"]`)), cms.NewContent([]byte(`["past"]`))
	putContents(t, store, site.ID, at, draft, live, localized, past)
	page := localize(contentPatch(draft).Apply(newPage(site.ID, "/p"), cms.NoID), french, contentPatch(localized))
	createPages(t, store, page)
	published := contentPatch(live).Apply(page, cms.NoID)
	putLive(t, store, published)
	published.Version = cms.Live

	twin, moved := copySite(t, store, site)
	id := pageIDs(t, store, twin.ID, cms.Draft)["/p"]
	page.PublishedAt, published.PublishedAt = new(copied), new(copied)
	for _, p := range []cms.Page{page, published} {
		same(t, "copy", value(store.Page(t.Context(), twin.ID, p.Version, id))(t), copyOf(p, id, twin, moved))
	}
	for _, c := range []cms.Content{draft, live, localized} {
		same(t, "value", value(store.Content(t.Context(), twin.ID, c.Digest))(t), c.Value)
	}
	_, err := store.Content(t.Context(), twin.ID, past.Digest)
	wantNotFound(t, "what the copy does not refer to", cms.KindContent, err)
}
