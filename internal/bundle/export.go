package bundle

import (
	"bytes"
	"context"
	"encoding/json"

	"os"
	"path"

	galley "galley/sdk/go"
)

// Export is a request to write the draft of a site to a folder.
type Export struct {
	Client   *galley.Client
	SiteID   string
	Dir      string
	IDs      bool // whether to write ids
	Progress Progress
}

// Exported counts what an export wrote.
type Exported struct {
	Pages     int `json:"pages"`
	Contents  int `json:"contents"`
	Locales   int `json:"locales"`
	Routes    int `json:"routes"`
	Redirects int `json:"redirects"`
	Written   int `json:"filesWritten"` // those that changed
	Removed   int `json:"filesRemoved"`
}

// Run writes the files. Those of pages that are gone are removed, and files that are not of
// a bundle stay.
func (e Export) Run(ctx context.Context) (Exported, error) {
	if err := os.MkdirAll(e.Dir, 0o755); err != nil { //nolint:gosec // a folder for others to read, too
		return Exported{}, err
	}
	root, err := os.OpenRoot(e.Dir)
	if err != nil {
		return Exported{}, err
	}
	defer func() { _ = root.Close() }()
	w, err := newWriter(root)
	if err != nil {
		return Exported{}, err
	}
	contents := 0
	f := fetcher{client: e.Client, siteID: e.SiteID, progress: e.Progress}
	f.onContent = func(p *page, locale string, value json.RawMessage) error {
		var b bytes.Buffer
		if err := json.Indent(&b, value, "", "  "); err != nil {
			return err
		}
		b.WriteByte('\n')
		return w.write(path.Join(contentDir, stem(p.pathname())+"."+locale+contentEnding), b.Bytes(), &contents)
	}
	s, err := f.fetch(ctx)
	if err != nil {
		return Exported{}, err
	}
	for _, p := range s.pages {
		if err := w.write(path.Join(pagesDir, stem(p.pathname())+pageEnding), pageYAML(p, e.IDs), nil); err != nil {
			return Exported{}, err
		}
	}
	for _, file := range []struct {
		name    string
		content []byte
	}{
		{localesFile, listYAML(localeFields, s.locales, e.IDs)},
		{routesFile, listYAML(routeFields, s.routes, e.IDs)},
		{redirectsFile, listYAML(redirectFields, s.redirects, e.IDs)},
		{siteFile, siteYAML(s.site)}, // last: without it, a folder is no bundle
	} {
		if err := w.write(file.name, file.content, nil); err != nil {
			return Exported{}, err
		}
	}
	return Exported{
		Pages: len(s.pages), Contents: contents, Locales: len(s.locales), Routes: len(s.routes), Redirects: len(s.redirects),
		Written: w.changed, Removed: len(w.stale),
	}, w.removeStale()
}
