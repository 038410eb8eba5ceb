package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	galley "galley/sdk/go"
)

// Progress is told how much of a step is done.
type Progress func(step string, done, total int)

// requestsAtATime is how many reads are under way at once.
const requestsAtATime = 8

const draft = "ref:draft"

// fetcher reads a site.
type fetcher struct {
	client   *galley.Client
	siteID   string
	progress Progress
	// onContent is given each content, by several goroutines; nil: digests are enough.
	onContent func(p *page, locale string, value json.RawMessage) error
}

// fetch reads the draft of a site.
func (f fetcher) fetch(ctx context.Context) (*state, error) {
	s := &state{}
	site, err := f.client.Sites.Get(ctx, f.siteID)
	if err != nil {
		return nil, err
	}
	s.site = siteFields.keep(values{
		nameField: site.Name, "hostOrigin": orNil(site.HostOrigin), defaultLocaleField: site.DefaultLocale,
		"siteKeyAccess": site.SiteKeyAccess, "localeManagementMode": site.LocaleManagementMode,
		"autoRedirects": site.AutoRedirects, "previewUrlTemplate": orNil(site.PreviewURLTemplate), "labels": site.Labels,
	})
	if s.locales, err = collect(f.client.Locales.All(ctx, galley.LocaleQuery{SiteID: f.siteID}), func(l galley.Locale) resource {
		return resource{id: l.ID, values: localeFields.keep(values{
			localeField: l.Locale, "domain": orNil(l.Domain), pathPrefixField: orNil(l.PathPrefix),
		})}
	}); err != nil {
		return nil, err
	}
	if s.routes, err = collect(f.client.Routes.All(ctx, galley.RouteQuery{SiteID: f.siteID}), func(r galley.Route) resource {
		return resource{id: r.ID, values: values{pathnameField: r.Pathname}}
	}); err != nil {
		return nil, err
	}
	if s.redirects, err = collect(f.client.Redirects.All(ctx, galley.RedirectQuery{SiteID: f.siteID, VersionRef: draft}), newRedirect); err != nil {
		return nil, err
	}
	s.redirects = slices.DeleteFunc(s.redirects, func(r resource) bool { return r.isAutomatic && !canBeWritten(r) })
	if err := f.fetchPages(ctx, s); err != nil {
		return nil, err
	}
	s.sort()
	return s, f.fetchContents(ctx, s)
}

func newRedirect(r galley.Redirect) resource {
	return resource{id: r.ID, isAutomatic: r.IsAutomatic, values: redirectFields.keep(values{
		sourceField: r.Source, targetField: r.Target, "status": float64(r.Status), localeField: orNil(r.Locale),
	})}
}

// canBeWritten reports whether the interface takes a redirect: automatic ones of pages with a
// star in their pathname it does not.
func canBeWritten(r resource) bool {
	for _, name := range []string{sourceField, targetField} {
		f, _ := redirectFields.find(name)
		if _, err := f.parse(r.text(name)); err != nil {
			return false
		}
	}
	return true
}

// orNil returns what a pointer leads to, or nil.
func orNil[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// collect reads a whole list.
func collect[T, R any](all iter.Seq2[T, error], convert func(T) R) ([]R, error) {
	var list []R
	for item, err := range all {
		if err != nil {
			return nil, err
		}
		list = append(list, convert(item))
	}
	return list, nil
}

// fetchPages reads the pages, and then what each locale overrides.
func (f fetcher) fetchPages(ctx context.Context, s *state) error {
	summary, err := f.client.Sites.Summary(ctx, f.siteID)
	if err != nil {
		return err
	}
	byID, localized := map[string]*page{}, map[string]bool{}
	for found, err := range f.client.Pages.All(ctx, f.pageQuery("")) {
		if err != nil {
			return err
		}
		p := newPage(found)
		s.pages, byID[p.id] = append(s.pages, p), p
		for _, l := range found.Localizations {
			localized[l.Locale] = true
		}
		f.progress("Reading pages", len(s.pages), max(summary.Pages, len(s.pages)))
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(requestsAtATime)
	var mu sync.Mutex
	for code := range localized {
		group.Go(func() error {
			for found, err := range f.client.Pages.All(ctx, f.pageQuery(code)) {
				if err != nil {
					return err
				}
				if p := byID[found.ID]; p != nil && len(found.Overrides) > 0 {
					mu.Lock()
					p.locales[code] = overrides(found)
					mu.Unlock()
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (f fetcher) pageQuery(locale string) galley.PageQuery {
	return galley.PageQuery{SiteID: f.siteID, Locale: locale, IncludeOffline: true, VersionRef: draft}
}

func newPage(found galley.Page) *page {
	p := &page{resource: resource{id: found.ID, values: sentFields.keep(pageValues(found))}, locales: map[string]values{}, updatedAt: found.UpdatedAt}
	if p.text(nameField) == p.derivedName() {
		delete(p.values, nameField)
	}
	return p
}

// pageValues are the values of a page in the locale that it was read in.
func pageValues(p galley.Page) values {
	v := values{
		pathnameField: p.Pathname, nameField: p.Name, "title": orNil(p.Title), "description": orNil(p.Description),
		"canonicalUrl": orNil(p.CanonicalURL), "socialImageUrl": orNil(p.SocialImageURL),
		"sitemapPriority": orNil(p.SitemapPriority), "sitemapFrequency": nil,
		"isOnline": p.IsOnline, "excludedFromSearchEngines": orNil(p.ExcludedFromSearchEngines),
	}
	if p.SitemapFrequency != nil {
		v["sitemapFrequency"] = string(*p.SitemapFrequency)
	}
	return v
}

// overrides are the values that are a locale's own. Content is read later.
func overrides(p galley.Page) values {
	all, own := pageValues(p), values{}
	for _, name := range p.Overrides {
		own[name] = all[name]
	}
	return own
}

// fetchContents reads the digests of the contents, and gives the values to onContent.
func (f fetcher) fetchContents(ctx context.Context, s *state) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(requestsAtATime)
	var mu sync.Mutex
	done := 0
	for _, p := range s.pages {
		group.Go(func() error {
			if err := f.fetchContent(ctx, p, s.defaultLocale(), "", p.values); err != nil {
				return err
			}
			for _, code := range p.localeCodes() {
				if own := p.locales[code]; has(own, contentField) {
					if err := f.fetchContent(ctx, p, code, code, own); err != nil {
						return err
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			f.progress("Reading content", done, len(s.pages))
			return nil
		})
	}
	return group.Wait()
}

func has(v values, field string) bool {
	_, ok := v[field]
	return ok
}

func (f fetcher) fetchContent(ctx context.Context, p *page, code, locale string, own values) error {
	content, err := f.client.Content.Get(ctx, p.id, galley.ContentQuery{Locale: locale, VersionRef: draft})
	if errors.Is(err, galley.ErrNotFound) {
		return nil // there is none
	}
	if err != nil {
		return err
	}
	own[contentField] = content.Digest
	if f.onContent == nil {
		return nil
	}
	return f.onContent(p, code, content.Value)
}
