package service

import (
	"context"
	"slices"

	"galley/internal/cms"
)

// PublishURL is a URL of a publish, with its id.
type PublishURL struct {
	ID cms.ID
	cms.PublishURL
}

// PublishURLs lists the URLs at which visitors get something else since a publish.
func (s *Service) PublishURLs(ctx context.Context, who Caller, id cms.ID, q cms.ListQuery) (cms.List[PublishURL], error) {
	return viewSite(ctx, s, who, ofPublish(id), func(ctx context.Context, r cms.Reader, f siteSnapshot) (list cms.List[PublishURL], err error) {
		if _, err := r.Publish(ctx, f.site.ID, id); err != nil {
			return list, err
		}
		from, skip := 0, 0
		if q.After != cms.NoID {
			// The cursor is read, too: an id beyond the end is no item.
			position, ok := cms.PublishURLPosition(id, q.After)
			if !ok {
				return list, cms.ErrCursor
			}
			from, skip = position, 1
		}
		urls, err := r.PublishURLs(ctx, f.site.ID, id, from, skip+q.Limit+1)
		if err == nil && len(urls) < skip {
			err = cms.ErrCursor
		}
		if err != nil {
			return list, err
		}
		items := make([]PublishURL, 0, len(urls))
		for i, u := range urls[skip:] {
			items = append(items, PublishURL{cms.PublishURLID(id, from+skip+i), u})
		}
		return cms.CutList(items, q.Limit), nil
	})
}

// urls are the URLs that the release changes. Nothing of it may be live yet.
func (rel *release) urls(ctx context.Context, r cms.Reader) ([]cms.PublishURL, error) {
	f := rel.redirects.siteSnapshot
	return cms.PublishURLs(f.site, f.locales, rel.pages, rel.redirects.sorted(), liveFinder{ctx, r, f})
}

// liveFinder finds what is live, for cms.PublishURLs.
type liveFinder struct {
	ctx context.Context //nolint:containedctx // of the publish, whose callbacks have none
	r   cms.Reader
	siteSnapshot
}

// HasRedirects implements cms.LiveFinder.
func (find liveFinder) HasRedirects() (bool, error) {
	return find.r.HasRedirects(find.ctx, find.site.ID)
}

// From implements cms.LiveFinder.
func (find liveFinder) From(sources []string) ([]cms.Redirect, error) {
	return find.r.RedirectsFrom(find.ctx, find.site.ID, cms.Live, sources)
}

// Leading implements cms.LiveFinder.
func (find liveFinder) Leading(targets, below []string) ([]cms.Redirect, error) {
	leading, err := find.r.RedirectsLeading(find.ctx, find.site.ID, targets, below)
	if err != nil {
		return nil, err
	}
	away, err := find.r.RedirectsAway(find.ctx, find.site.ID, cms.Live)
	return append(leading, away...), err
}

// Held implements cms.LiveFinder.
func (find liveFinder) Held(pathnames []string) ([]cms.HeldPath, error) {
	var claims []cms.Claim
	var ids []cms.ID
	for some := range slices.Chunk(pathnames, dirtyChunk) {
		found, err := find.r.Claims(find.ctx, find.site.ID, cms.Live, some)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			if !c.ByRedirect {
				claims = append(claims, c)
			}
			if c.ByPage() && c.LocaleID == cms.NoID {
				ids = append(ids, c.Owner)
			}
		}
	}
	pages := map[cms.ID]*cms.Page{} // which may have another pathname in some locales
	if find.localized() {
		var err error
		if pages, err = find.r.PagesByID(find.ctx, find.site.ID, cms.Live, cms.SortIDs(ids)); err != nil {
			return nil, err
		}
	}
	var held []cms.HeldPath
	for _, c := range claims {
		for _, l := range find.locales {
			page := pages[c.Owner]
			elsewhere := page != nil && page.In(l.ID).Values.Pathname != c.Pathname
			if c.LocaleID == l.ID || (c.LocaleID == cms.NoID && !elsewhere) {
				held = append(held, cms.HeldPath{LocalePath: cms.LocalePath{LocaleID: l.ID, Pathname: c.Pathname}, Owner: c.Owner})
			}
		}
	}
	return held, nil
}
