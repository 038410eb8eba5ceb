package storetest

import (
	"testing"
	"time"

	"galley/internal/cms"
)

func newPreview(siteID cms.ID) cms.Preview {
	return cms.Preview{ID: cms.NewID(), SiteID: siteID, PathPrefix: "/", CreatedAt: at, CreatedBy: cms.NewID(), ExpiresAt: later(60)}
}

// createPreview stores a preview and returns the hash of its token.
func createPreview(t *testing.T, store cms.Store, p cms.Preview) cms.KeyHash {
	t.Helper()
	hash := cms.NewPreviewToken().Hash()
	write(t, store, func(tx cms.Tx) error { return tx.CreatePreview(t.Context(), p, hash) })
	return hash
}

func previewKept(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	full := newPreview(site.ID)
	full.Name, full.PublishID, full.LocaleID, full.PathPrefix = new("For \"us\""), cms.NewID(), cms.NewID(), "/blog"
	full.LastUsedAt = new(later(1))
	for name, want := range map[string]cms.Preview{"full": full, "bare": newPreview(site.ID)} {
		hash := createPreview(t, store, want)
		same(t, name+": Preview", value(store.Preview(t.Context(), site.ID, want.ID))(t), want)
		same(t, name+": PreviewByToken", value(store.PreviewByToken(t.Context(), hash, at))(t), want)
		same(t, name+": SiteOf", value(store.SiteOf(t.Context(), cms.KindPreview, want.ID))(t), site.ID)
	}
}

func previewAbsent(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	preview := newPreview(site.ID)
	createPreview(t, store, preview)
	_, err := store.Preview(t.Context(), site.ID, cms.NewID())
	wantNotFound(t, "unknown", cms.KindPreview, err)
	_, err = store.Preview(t.Context(), other.ID, preview.ID)
	wantNotFound(t, "of another site", cms.KindPreview, err)
	_, err = store.PreviewByToken(t.Context(), cms.NewPreviewToken().Hash(), at)
	wantNotFound(t, "unknown token", cms.KindPreview, err)
}

func previewEnd(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	preview, bystander := newPreview(site.ID), newPreview(site.ID)
	hash, other := createPreview(t, store, preview), createPreview(t, store, bystander)
	for _, i := range around(preview.ExpiresAt) {
		got, err := store.PreviewByToken(t.Context(), hash, i.at)
		if i.works {
			same(t, i.name, value(got, err)(t), preview)
		} else {
			wantNotFound(t, i.name, cms.KindPreview, err)
		}
	}
	preview.DeletedAt = new(later(1))
	write(t, store, func(tx cms.Tx) error { return tx.EndPreview(t.Context(), site.ID, preview.ID, later(1)) })
	same(t, "deleted", value(store.Preview(t.Context(), site.ID, preview.ID))(t), preview)
	_, err := store.PreviewByToken(t.Context(), hash, at)
	wantNotFound(t, "token of a deleted one", cms.KindPreview, err)
	same(t, "another", value(store.PreviewByToken(t.Context(), other, at))(t), bystander)
}

func previewList(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	previews := make([]cms.Preview, 6)
	for i := range previews {
		previews[i] = newPreview(site.ID)
		createPreview(t, store, newPreview(other.ID))
	}
	previews[2].DeletedAt = new(at)
	for _, i := range []int{4, 1, 5, 0, 2, 3} {
		createPreview(t, store, previews[i])
	}
	checkIDList(t, previews, 2, func(p cms.Preview) cms.ID { return p.ID },
		func(q cms.ListQuery) ([]cms.Preview, error) { return store.Previews(t.Context(), site.ID, q) })
}

func previewTouch(t *testing.T, store cms.Store) {
	preview := newPreview(aSite(t, store).ID)
	createPreview(t, store, preview)
	for _, step := range []struct{ use, want time.Time }{
		{later(5), later(5)}, {later(3), later(5)}, {later(5), later(5)}, {later(6), later(6)},
	} {
		write(t, store, func(tx cms.Tx) error { return tx.TouchPreview(t.Context(), preview.SiteID, preview.ID, step.use) })
		preview.LastUsedAt = &step.want
		same(t, "used at "+step.use.String(), value(store.Preview(t.Context(), preview.SiteID, preview.ID))(t), preview)
	}
}

func previewPurge(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	var previews []cms.Preview
	for _, minute := range []int{3, 1, 2} {
		p := newPreview(site.ID)
		p.ExpiresAt = later(minute)
		createPreview(t, store, p)
		previews = append(previews, p)
	}
	purged := func(before time.Time, limit, want int) {
		t.Helper()
		write(t, store, func(tx cms.Tx) error {
			n, err := tx.PurgePreviews(t.Context(), before, limit)
			same(t, "purged", n, want)
			return err
		})
	}
	purged(later(1), 10, 0)
	purged(later(60), 1, 1)
	purged(later(3), 10, 1)
	for i, gone := range []bool{false, true, true} {
		_, err := store.Preview(t.Context(), site.ID, previews[i].ID)
		_, siteErr := store.SiteOf(t.Context(), cms.KindPreview, previews[i].ID)
		if (err != nil) != gone || (siteErr != nil) != gone {
			t.Errorf("preview %d: %v, %v, want it gone: %t", i, err, siteErr, gone)
		}
	}
}
