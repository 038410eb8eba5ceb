package service

import (
	"context"
	"slices"
	"time"

	"galley/internal/cms"
)

// ReadSitemap asks for the URLs of a site at one of its origins.
type ReadSitemap struct {
	SiteID  cms.ID
	Origin  string // "": the site's own
	Version VersionRef
}

// Sitemap is the pages of a version that are online and not excluded from search
// engines, at one origin. A live version stays as it was when the sitemap was opened.
type Sitemap struct {
	Origin string
	// Under is the pathname at and below which the pages are; "/": all.
	Under   string
	who     Caller
	version cms.Version
	site    siteSnapshot
	store   cms.Source
	// About are the subjects of the sitemap.
	About []cms.Subject
}

// SitemapURL is an entry of a sitemap.
type SitemapURL struct {
	URL         string
	PublishedAt *time.Time
	Frequency   *cms.Frequency
	Priority    *float64
	Alternates  []Alternate // none if the site has one locale
}

// SitemapPlace is a place in a sitemap between two pages; nil is its beginning.
type SitemapPlace = *cms.PagePosition

var (
	errNoOrigin      = cms.Conflict("The site has no hostOrigin, so its pages have no URLs")
	errUnknownOrigin = &cms.Error{Code: cms.CodeNotFound, Message: "The site has no such origin"}
)

// OpenSitemap checks the right to a sitemap, and that there is one.
func (s *Service) OpenSitemap(ctx context.Context, who Caller, q ReadSitemap) (Sitemap, error) {
	return viewSite(ctx, s, who, ofSite(q.SiteID), func(ctx context.Context, r cms.Reader, f siteSnapshot) (m Sitemap, err error) {
		m = Sitemap{Under: "/", who: who, site: f, store: s.store, About: cms.SubjectsOf(q.SiteID, q.Version.Version)}
		if who.Preview != nil {
			m.Under = who.Preview.PathPrefix
		}
		if m.version, err = f.version(ctx, r, who, q.Version); err != nil {
			return m, err
		}
		if m.Origin, err = f.sitemapOrigin(q.Origin); err != nil || m.version != cms.Live {
			return m, err
		}
		last, err := r.LastPublish(ctx, q.SiteID)
		if cms.CodeOf(err) == cms.CodeNotFound {
			return m, nil // nothing is live
		}
		m.version = cms.AfterPublish(last.Seq)
		return m, err
	})
}

func (f siteSnapshot) sitemapOrigin(asked string) (string, error) {
	switch {
	case asked == "" && f.site.HostOrigin == nil:
		return "", errNoOrigin
	case asked == "":
		return *f.site.HostOrigin, nil
	case !slices.Contains(f.locales.Origins(f.site), asked):
		return "", errUnknownOrigin
	}
	return asked, nil
}

// sitemapChunk is how many pages are read at a time.
const sitemapChunk = 500

// Next returns the entries of some pages after a place, and the place after them,
// which is nil at the end.
func (m Sitemap) Next(ctx context.Context, after SitemapPlace) (entries []SitemapURL, next SitemapPlace, err error) {
	q := cms.PageQuery{
		SiteID: m.site.site.ID, Version: m.version, PathPrefix: "/", Sort: cms.SortPath, IncludeOffline: true, After: after, Limit: sitemapChunk - 1,
	}
	if !m.site.localized() {
		q.Under = m.Under
	}
	err = m.store.View(ctx, func(r cms.Reader) error {
		rows, err := r.Pages(ctx, q, false)
		if err != nil {
			return err
		}
		ids := make([]cms.ID, len(rows))
		for i, row := range rows {
			ids[i] = row.ID
		}
		pages := map[cms.ID]*cms.Page{}
		if m.site.localized() {
			if pages, err = r.PagesByID(ctx, q.SiteID, m.version, ids); err != nil {
				return err
			}
		}
		for _, row := range rows {
			page := pages[row.ID]
			if page == nil {
				page = &cms.Page{Values: row.Values, PublishedAt: row.PublishedAt}
			}
			entries = append(entries, m.entries(*page)...)
		}
		if len(rows) == sitemapChunk {
			next = new(rows[len(rows)-1].Position(cms.SortPath))
		}
		return nil
	})
	return entries, next, err
}

// entries are those of one page, a locale each.
func (m Sitemap) entries(page cms.Page) []SitemapURL {
	var entries []SitemapURL
	var all []Alternate
	shown := 0
	for _, l := range m.site.locales {
		if l.DeletedAt != nil {
			continue
		}
		shown++
		row := page.In(l.ID)
		url, ok := m.indexed(l, row.Values)
		if !ok {
			continue
		}
		all = append(all, Alternate{l.Code, url})
		if l.ID == m.site.site.DefaultLocaleID {
			all = append(all, Alternate{"x-default", url})
		}
		if m.site.site.Place(l).Origin == m.Origin {
			entries = append(entries, SitemapURL{
				URL: url, PublishedAt: row.PublishedAt, Frequency: row.Values.SitemapFrequency, Priority: row.Values.SitemapPriority,
			})
		}
	}
	if shown > 1 {
		for i := range entries {
			entries[i].Alternates = all
		}
	}
	return entries
}

// maxSitemapURL is the longest address that the sitemap protocol allows.
const maxSitemapURL = 2048

// indexed returns the URL of a page in a locale if it is in a sitemap: the page is
// online there, not excluded, within the preview if it is for one, and no other
// locale has the address.
func (m Sitemap) indexed(l cms.Locale, v cms.Values) (string, bool) {
	url, ok := m.site.site.URL(l, v.Pathname)
	if !ok || m.who.maySee(v.Pathname) != nil || len(url) > maxSitemapURL || !v.IsOnline || (v.ExcludedFromSearchEngines != nil && *v.ExcludedFromSearchEngines) {
		return "", false
	}
	place := m.site.site.Place(l)
	return url, place.Prefix != "" || !m.site.locales.Shadows(m.site.site, place.Origin, v.Pathname)
}
