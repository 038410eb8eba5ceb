package service

import (
	"context"
	"slices"

	"galley/internal/cms"
)

// readContent reads the content that a page has in its locale.
func (p *localizedPage) readContent(ctx context.Context, r cms.Reader) error {
	view := PageView{PageRow: p.In(p.lv.localeID)}
	err := view.readContent(ctx, r)
	p.content = view.Content
	return err
}

func (v *PageView) readContent(ctx context.Context, r cms.Reader) (err error) {
	if digest := v.Values.Content; digest != nil {
		v.Content, err = r.Content(ctx, v.SiteID, *digest)
	}
	return err
}

// InheritsContent reports whether the content is that of the default locale, in
// another one.
func (v PageView) InheritsContent() bool {
	return v.Localized && (v.LocaleID == cms.NoID || !v.Own.Has(cms.FieldContent))
}

// Content reads a page with its content, which it must have.
func (s *Service) Content(ctx context.Context, who Caller, q ReadPage) (PageView, error) {
	q.Content = true
	view, err := s.Page(ctx, who, q)
	if err == nil && view.Content == nil {
		err = cms.NotFound(cms.KindContent)
	}
	return view, err
}

// PutContent sets the content of a page's draft: its own, or that of a locale. The
// condition is about the one that it replaces, nil for none.
func (s *Service) PutContent(ctx context.Context, who Caller, id cms.ID, locale string, in Input[cms.Content], match func(own *cms.Digest) error) (PageView, error) {
	var content cms.Content
	view, err := s.changeContent(ctx, who, id, locale, func(own *cms.Digest, _ bool) (*cms.Content, error) {
		var err error
		if content, err = in(); err == nil {
			err = match(own)
		}
		return &content, err
	})
	view.Content = content.Value
	return view, err
}

// DeleteContent clears the content of a page's draft, or that of a locale, which
// then inherits it.
func (s *Service) DeleteContent(ctx context.Context, who Caller, id cms.ID, locale string, match func(own *cms.Digest) error) error {
	_, err := s.changeContent(ctx, who, id, locale, func(own *cms.Digest, owned bool) (*cms.Content, error) {
		if !owned {
			return nil, cms.NotFound(cms.KindContent)
		}
		return nil, match(own)
	})
	return err
}

// changeContent replaces the content that a locale has of its own. The lock of the
// site is shared, since no pathname changes.
func (s *Service) changeContent(ctx context.Context, who Caller, id cms.ID, locale string, next func(own *cms.Digest, owned bool) (*cms.Content, error)) (PageView, error) {
	ref := Ref{ID: id}
	return inSite(ctx, s, who, ofPage(ref, cms.Draft), cms.LockShared, func(tx cms.Tx, f siteSnapshot) (view PageView, _ []written, err error) {
		lv, err := f.in(locale)
		if err != nil {
			return view, nil, err
		}
		before, err := lockPage(ctx, tx, f.site, lv, ref)
		if err != nil {
			return view, nil, err
		}
		live, err := liveOf(ctx, tx, before)
		if err != nil {
			return view, nil, err
		}
		content, err := next(before.OwnContent(lv.localeID))
		if err != nil {
			return view, nil, err
		}
		patch := cms.PagePatch{Content: cms.Some(content)}
		after := patch.Apply(before, lv.localeID)
		changed, err := s.savePage(ctx, tx, who, f, before, &after)
		view = lv.draft(after, live)
		if err == nil && changed {
			err = tx.PutContents(ctx, f.site.ID, patch.Contents(), after.UpdatedAt)
		}
		if err == nil && changed {
			err = checkQuota(ctx, tx, who, cms.Usage{ContentBytes: len(patch.Contents())})
		}
		if err != nil || !changed {
			return view, nil, err
		}
		return view, wrotePage(lv.draft(before, live), view), nil
	})
}

// ContentDiff is the content of a page in two versions. Nil is none.
type ContentDiff struct {
	SiteID   cms.ID
	Locale   string // the code
	From, To []byte
}

// DiffContent reads the content of a page in two versions. A version that does not
// have the page has no content. The caller must call release when it is done with
// the comparison, which takes memory.
func (s *Service) DiffContent(ctx context.Context, who Caller, id cms.ID, from, to VersionRef, locale string) (diff ContentDiff, release func(), err error) {
	if release, err = s.acquireReview(ctx, who.WorkspaceID()); err != nil {
		return diff, nil, err
	}
	t := target{kind: cms.KindPage, ref: Ref{ID: id}, exists: pageEverExisted}
	diff, err = viewSite(ctx, s, who, t, func(ctx context.Context, r cms.Reader, f siteSnapshot) (diff ContentDiff, err error) {
		if err := pageEverExisted(ctx, r, f.site.ID, id); err != nil {
			return diff, err
		}
		lv, err := f.in(locale)
		if err != nil {
			return diff, err
		}
		diff.SiteID, diff.Locale = f.site.ID, lv.code
		if diff.From, err = f.contentIn(ctx, r, who, id, from, lv); err == nil {
			diff.To, err = f.contentIn(ctx, r, who, id, to, lv)
		}
		return diff, err
	})
	if err != nil {
		release()
		return diff, nil, err
	}
	return diff, release, nil
}

// contentIn reads the content of a page in a version and locale; nil if there is
// none.
func (f siteSnapshot) contentIn(ctx context.Context, r cms.Reader, who Caller, id cms.ID, ref VersionRef, lv localeView) ([]byte, error) {
	version, err := f.version(ctx, r, who, ref)
	if err != nil {
		return nil, err
	}
	page := localizedPage{lv: lv}
	page.Page, err = existingPage(r.Page(ctx, f.site.ID, version, id))
	if cms.CodeOf(err) == cms.CodeNotFound {
		return nil, nil
	}
	if err == nil {
		err = page.readContent(ctx, r)
	}
	return page.content, err
}

// contentChunk is how many contents one transaction purges.
const contentChunk = 200

// PurgeContents removes for good the contents that no page refers to, in any
// version, and returns how many.
func (s *Service) PurgeContents(ctx context.Context) (int, error) {
	total := 0
	for siteID := cms.NoID; ; {
		var err error
		if siteID, err = s.store.ContentSite(ctx, siteID); cms.CodeOf(err) == cms.CodeNotFound {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		n, err := s.purgeContentsOf(ctx, siteID)
		total += n
		if err != nil && cms.CodeOf(err) != cms.CodeNotFound { // the site may be gone by now
			return total, err
		}
	}
}

// purgeContentsOf looks for unused contents without a lock. A page that refers to
// one of them since then has stored it again, which the transaction sees under the
// lock of the site: every other write takes its contents from another page.
func (s *Service) purgeContentsOf(ctx context.Context, siteID cms.ID) (total int, err error) {
	before := s.now().Add(-cms.ContentAge)
	digests, err := s.store.UnusedContents(ctx, siteID, before)
	if err != nil {
		return 0, err
	}
	for chunk := range slices.Chunk(digests, contentChunk) {
		n := 0
		err := s.write(ctx, func(tx cms.Tx) error {
			if _, err := tx.LockSite(ctx, siteID, cms.LockExclusive); err != nil {
				return err
			}
			n, err = tx.PurgeContents(ctx, siteID, before, chunk)
			return err
		})
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
