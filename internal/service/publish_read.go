package service

import (
	"context"

	"galley/internal/cms"
)

// GetPublish reads a publish.
func (s *Service) GetPublish(ctx context.Context, who Caller, id cms.ID) (cms.Publish, error) {
	return viewSite(ctx, s, who, ofPublish(id), func(ctx context.Context, r cms.Reader, f siteSnapshot) (cms.Publish, error) {
		return r.Publish(ctx, f.site.ID, id)
	})
}

// Publishes lists the publishes of a site, newest first.
func (s *Service) Publishes(ctx context.Context, who Caller, siteID cms.ID, q cms.ListQuery) (cms.List[cms.Publish], error) {
	return viewSite(ctx, s, who, ofSite(siteID), func(ctx context.Context, r cms.Reader, _ siteSnapshot) (list cms.List[cms.Publish], err error) {
		err = checkCursor(q, func() error {
			_, err := r.Publish(ctx, siteID, q.After)
			return err
		})
		if err != nil {
			return list, err
		}
		publishes, err := r.Publishes(ctx, siteID, cms.NoID, q)
		return cms.CutList(publishes, q.Limit), err
	})
}

// ScheduledPublishes lists the scheduled publishes of all sites that the caller
// reaches, oldest first.
func (s *Service) ScheduledPublishes(ctx context.Context, who Caller, q cms.ListQuery) (cms.List[cms.Publish], error) {
	return view(ctx, s, func(r cms.Reader) (list cms.List[cms.Publish], err error) {
		err = checkCursor(q, func() error {
			siteID, err := r.SiteOf(ctx, cms.KindPublish, q.After)
			if err != nil {
				return err
			}
			site, err := r.Site(ctx, siteID)
			if err == nil && who.reaches(site) != nil {
				err = cms.ErrCursor
			}
			return err
		})
		if err != nil {
			return list, err
		}
		publishes, err := r.ScheduledPublishes(ctx, who.WorkspaceID(), who.App.SiteIDs, q)
		return cms.CutList(publishes, q.Limit), err
	})
}

// PagePublishes lists the publishes that changed a page, newest first. A page
// that was ever live has a history, deleted or not.
func (s *Service) PagePublishes(ctx context.Context, who Caller, id cms.ID, q cms.ListQuery) (cms.List[cms.Publish], error) {
	t := target{kind: cms.KindPage, ref: Ref{ID: id}, exists: pageEverExisted}
	return viewSite(ctx, s, who, t, func(ctx context.Context, r cms.Reader, f siteSnapshot) (list cms.List[cms.Publish], err error) {
		err = checkCursor(q, func() error { return changedPage(ctx, r, f.site.ID, q.After, id) })
		if err != nil {
			return list, err
		}
		publishes, err := r.Publishes(ctx, f.site.ID, id, q)
		if err == nil && len(publishes) == 0 && q.After == cms.NoID {
			err = hasDraftOrLive(ctx, r, f.site.ID, id)
		}
		return cms.CutList(publishes, q.Limit), err
	})
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
