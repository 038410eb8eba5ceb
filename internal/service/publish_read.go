package service

import (
	"context"

	"galley/internal/cms"
)

// GetPublish reads a publish.
func (s *Service) GetPublish(ctx context.Context, who Caller, id cms.ID) (cms.Publish, error) {
	var p cms.Publish
	err := s.viewSite(ctx, who, ofPublish(id), func(ctx context.Context, r cms.Reader, f siteSnapshot) (err error) {
		p, err = r.Publish(ctx, f.site.ID, id)
		return err
	})
	return p, err
}

// Publishes lists the publishes of a site, newest first.
func (s *Service) Publishes(ctx context.Context, who Caller, siteID cms.ID, q cms.ListQuery) (cms.List[cms.Publish], error) {
	var list cms.List[cms.Publish]
	err := s.viewSite(ctx, who, ofSite(siteID), func(ctx context.Context, r cms.Reader, _ siteSnapshot) error {
		if q.After != cms.NoID {
			if _, err := r.Publish(ctx, siteID, q.After); err != nil {
				return cursorError(err)
			}
		}
		publishes, err := r.Publishes(ctx, siteID, cms.NoID, q)
		list = cms.CutList(publishes, q.Limit)
		return err
	})
	return list, err
}

// PagePublishes lists the publishes that changed a page, newest first. A page
// that was ever live has a history, deleted or not.
func (s *Service) PagePublishes(ctx context.Context, who Caller, id cms.ID, q cms.ListQuery) (cms.List[cms.Publish], error) {
	var list cms.List[cms.Publish]
	t := target{kind: cms.KindPage, ref: Ref{ID: id}, exists: pageEverExisted}
	err := s.viewSite(ctx, who, t, func(ctx context.Context, r cms.Reader, f siteSnapshot) error {
		if q.After != cms.NoID {
			if err := changedPage(ctx, r, f.site.ID, q.After, id); err != nil {
				return cursorError(err)
			}
		}
		publishes, err := r.Publishes(ctx, f.site.ID, id, q)
		if err != nil {
			return err
		}
		list = cms.CutList(publishes, q.Limit)
		if len(publishes) > 0 || q.After != cms.NoID {
			return nil
		}
		return hasDraftOrLive(ctx, r, f.site.ID, id)
	})
	return list, err
}

// changedPage returns NotFound unless a publish changed a page.
func changedPage(ctx context.Context, r cms.Reader, siteID, publishID, pageID cms.ID) error {
	p, err := r.Publish(ctx, siteID, publishID)
	if err != nil {
		return err
	}
	after, err := liveAfter(ctx, r, siteID, p.Seq, []cms.ID{pageID})
	if err != nil {
		return err
	}
	before, err := liveAfter(ctx, r, siteID, max(p.Seq-1, 0), []cms.ID{pageID})
	if err != nil {
		return err
	}
	was, is := before[pageID], after[pageID]
	if (was == nil && is == nil) || (was != nil && is != nil && was.Since == is.Since) {
		return cms.NotFound(cms.KindPublish)
	}
	return nil
}

// version finds the version that the caller asks for, if it may read it.
func (f siteSnapshot) version(ctx context.Context, r cms.Reader, who Caller, ref VersionRef) (cms.Version, error) {
	if err := who.mayRead(f.site, ref); err != nil || ref.Publish == cms.NoID {
		return ref.Version, err
	}
	p, err := r.Publish(ctx, f.site.ID, ref.Publish)
	if err != nil {
		return ref.Version, err
	}
	seq, err := leftBy(ctx, r, p)
	return cms.AfterPublish(seq), err
}

// leftBy is the number of the version that a publish left. One that found
// nothing to do left the one before, or nothing.
func leftBy(ctx context.Context, r cms.Reader, p cms.Publish) (int64, error) {
	if p.Status != cms.StatusPublished {
		return 0, cms.NotFound(cms.KindPublish)
	}
	if p.Seq > 0 || p.PreviousID == nil {
		return p.Seq, nil
	}
	last, err := r.Publish(ctx, p.SiteID, *p.PreviousID)
	return last.Seq, err
}

// VersionRef names a version: the draft or live one, or by the publish that
// left it.
type VersionRef struct {
	Version cms.Version
	Publish cms.ID
}
