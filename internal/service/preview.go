package service

import (
	"context"
	"time"

	"galley/internal/cms"
)

// PreviewView is a preview as a reader sees it.
type PreviewView struct {
	cms.Preview
	Locale string // the code; "": the default one of the site
}

func (f siteSnapshot) preview(p cms.Preview) PreviewView {
	locale, _ := f.locales.ByID(p.LocaleID) // a deleted one is shown, too
	return PreviewView{p, locale.Code}
}

// Preview reads a preview.
func (s *Service) Preview(ctx context.Context, who Caller, id cms.ID) (PreviewView, error) {
	return viewSite(ctx, s, who, ofPreview(id), func(ctx context.Context, r cms.Reader, f siteSnapshot) (PreviewView, error) {
		preview, err := existingPreview(r.Preview(ctx, f.site.ID, id))
		return f.preview(preview), err
	})
}

func existingPreview(preview cms.Preview, err error) (cms.Preview, error) {
	if err == nil && preview.DeletedAt != nil {
		err = cms.NotFound(cms.KindPreview)
	}
	return preview, err
}

// Previews lists the previews of a site.
func (s *Service) Previews(ctx context.Context, who Caller, siteID cms.ID, q cms.ListQuery) (cms.List[PreviewView], error) {
	return viewSite(ctx, s, who, ofSite(siteID), func(ctx context.Context, r cms.Reader, f siteSnapshot) (list cms.List[PreviewView], err error) {
		err = checkCursor(q, func() error {
			_, err := r.Preview(ctx, siteID, q.After)
			return err
		})
		if err != nil {
			return list, err
		}
		previews, err := r.Previews(ctx, siteID, q)
		views := make([]PreviewView, len(previews))
		for i, preview := range previews {
			views[i] = f.preview(preview)
		}
		return cms.CutList(views, q.Limit), err
	})
}

// NewPreview is a preview with its token and URL, which are shown once.
type NewPreview struct {
	PreviewView
	Token cms.PreviewToken
	URL   *string // nil: the site has no template
}

// CreatePreview creates a preview of what the caller may read, for no longer than its
// own key lasts.
func (s *Service) CreatePreview(ctx context.Context, who Caller, in Input[cms.NewPreview]) (NewPreview, error) {
	n, err := in()
	if err != nil {
		return NewPreview{}, err
	}
	token := cms.NewPreviewToken()
	return inSite(ctx, s, who, ofSite(n.SiteID.Value), cms.LockShared, func(tx cms.Tx, f siteSnapshot) (made NewPreview, _ []written, err error) {
		lv, err := f.in(orEmpty(n.Locale.Value))
		if err != nil {
			return made, nil, err
		}
		version := VersionRef{Version: cms.Live, Publish: n.PublishID}
		if _, err := f.version(ctx, tx, who, version); err != nil {
			return made, nil, err
		}
		now := s.now()
		preview := cms.Preview{
			ID: cms.NewID(), SiteID: f.site.ID, Name: n.Name.Value, PublishID: n.PublishID, PathPrefix: n.PathPrefix.Or("/"),
			CreatedAt: now, CreatedBy: who.ID(), ExpiresAt: n.Ends(now, who.App.ExpiresAt),
		}
		if n.Locale.Value != nil {
			preview.LocaleID = lv.id
		}
		if end := who.App.ExpiresAt; end != nil && preview.ExpiresAt.After(*end) {
			return made, nil, cms.Forbidden("A preview can't outlast the app that creates it")
		}
		made = NewPreview{PreviewView: f.preview(preview), Token: token}
		if template := f.site.PreviewURLTemplate; template != nil {
			made.URL = new(cms.FillPreviewTemplate(*template, preview.PathPrefix, lv.code, string(token)))
		}
		return made, wrotePreview(nil, made.PreviewView), tx.CreatePreview(ctx, preview, token.Hash())
	})
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// DeletePreview ends a preview.
func (s *Service) DeletePreview(ctx context.Context, who Caller, id cms.ID, match Match[PreviewView]) error {
	_, err := inSite(ctx, s, who, ofPreview(id), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (view PreviewView, _ []written, err error) {
		preview, err := existingPreview(tx.Preview(ctx, f.site.ID, id))
		if err != nil {
			return view, nil, err
		}
		before := f.preview(preview)
		if err := match.check(before); err != nil {
			return view, nil, err
		}
		view = before
		view.DeletedAt = new(s.now())
		return view, wrotePreview(before, view), tx.EndPreview(ctx, f.site.ID, id, *view.DeletedAt)
	})
	return err
}

// wrotePreview is a write of a preview; before is nil for a new one.
func wrotePreview(before any, after PreviewView) []written {
	return []written{{kind: cms.KindPreview, id: after.ID, siteID: after.SiteID, before: before, after: after}}
}

// previewRetention is how long a preview that has ended is listed.
const previewRetention = 30 * 24 * time.Hour

// PurgePreviews removes for good the previews that ended long ago.
func (s *Service) PurgePreviews(ctx context.Context) error {
	before := s.now().Add(-previewRetention)
	return s.inChunks(ctx, func(tx cms.Tx, limit int) (int, error) { return tx.PurgePreviews(ctx, before, limit) })
}
