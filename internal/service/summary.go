package service

import (
	"context"
	"time"

	"galley/internal/cms"
)

// SiteSummary is how much the draft of a site has, and what is published and scheduled.
type SiteSummary struct {
	Pages, Online, Offline int
	Changed                int // pages that a publish would change
	Redirects, Routes      int
	Locales                []LocaleCount
	LastPublish            *cms.Publish // nil: nothing was published
	Scheduled              int
	NextPublishAt          *time.Time
}

// LocaleCount is how many pages a locale overrides something of; of the default locale,
// how many pages there are.
type LocaleCount struct {
	Locale    string
	Localized int
}

// SiteSummary reads the summary of a site from counters. A site that has none yet is
// counted once.
func (s *Service) SiteSummary(ctx context.Context, who Caller, siteID cms.ID) (SiteSummary, error) {
	type read struct {
		siteSnapshot
		*SiteSummary
	}
	found, err := viewSite(ctx, s, who, ofSite(siteID), func(ctx context.Context, r cms.Reader, f siteSnapshot) (read, error) {
		summary, err := f.summary(ctx, r)
		return read{f, summary}, err
	})
	if err == nil && found.SiteSummary == nil {
		err = s.write(ctx, func(tx cms.Tx) error {
			if err := tx.CountSite(ctx, siteID); err != nil {
				return err
			}
			found.SiteSummary, err = found.summary(ctx, tx)
			return err
		})
	}
	if err != nil {
		return SiteSummary{}, err
	}
	return *found.SiteSummary, nil
}

// summary is nil if the site has not been counted.
func (f siteSnapshot) summary(ctx context.Context, r cms.Reader) (*SiteSummary, error) {
	counts, err := r.SiteCounts(ctx, f.site.ID)
	if err != nil || counts == nil {
		return nil, err
	}
	own := counts[cms.NoID]
	sum := &SiteSummary{
		Pages: own.Online + own.Offline, Online: own.Online, Offline: own.Offline, Redirects: own.Redirects, Routes: own.Routes,
	}
	for _, l := range f.locales {
		if l.DeletedAt != nil {
			continue
		}
		in := counts[l.ID]
		sum.Redirects += in.Redirects
		localized := in.Online + in.Offline
		if l.ID == f.site.DefaultLocaleID {
			localized = sum.Pages
		}
		sum.Locales = append(sum.Locales, LocaleCount{l.Code, localized})
	}
	if sum.Changed, err = f.countChanged(ctx, r, own.Dirty); err != nil {
		return nil, err
	}
	if sum.Scheduled, sum.NextPublishAt, err = r.Scheduled(ctx, f.site.ID); err != nil {
		return nil, err
	}
	last, err := r.LastPublish(ctx, f.site.ID)
	switch {
	case err == nil:
		sum.LastPublish = &last
	case cms.CodeOf(err) != cms.CodeNotFound:
		return nil, err
	}
	return sum, nil
}

// countChanged counts the pages that a publish would change. If more than fewDirty were
// edited it returns their number, so that the cost is bounded.
func (f siteSnapshot) countChanged(ctx context.Context, r cms.Reader, dirty int) (changed int, err error) {
	if dirty > fewDirty {
		return dirty, nil
	}
	err = f.eachChange(ctx, r, cms.Selection{}, dirtyWalk{}, func(_ cms.PageChange, changes []cms.Change) bool {
		if len(changes) > 0 {
			changed++
		}
		return true
	})
	return changed, err
}
