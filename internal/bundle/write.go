package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"
)

// writer writes the files of a bundle. It changes only those that differ, so that tools that
// watch the folder are left alone.
type writer struct {
	root    *os.Root
	mu      sync.Mutex
	stale   map[string]string // files that were there and were not written, by their name in NFC
	changed int
}

// newWriter looks for the files of the bundle in a folder. A folder whose files are not of a
// bundle is refused.
func newWriter(root *os.Root) (*writer, error) {
	w := &writer{root: root, stale: map[string]string{}}
	fsys := root.FS()
	for dir, ending := range map[string]string{pagesDir: pageEnding, contentDir: contentEnding} {
		err := fs.WalkDir(fsys, dir, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist) && name == dir:
				return fs.SkipAll
			case err != nil:
				return err
			case entry.IsDir() && name != dir && strings.HasPrefix(entry.Name(), "."):
				return fs.SkipDir
			case entry.Type().IsRegular() && path.Ext(name) == ending && !strings.HasPrefix(entry.Name(), "."):
				w.stale[norm.NFC.String(name)] = name
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var alien []string
	for _, name := range w.stale {
		alien = append(alien, name)
	}
	for _, name := range []string{siteFile, localesFile, routesFile, redirectsFile} {
		if _, err := fs.Stat(fsys, name); err == nil {
			alien = append(alien, name)
		}
	}
	if len(alien) > 0 && !isBundle(fsys) {
		return nil, fmt.Errorf("%s has %s and is not a bundle: choose another folder", root.Name(), slices.Min(alien))
	}
	return w, nil
}

// isBundle reports whether a folder has a site.yaml of a bundle.
func isBundle(fsys fs.FS) bool {
	content, err := fs.ReadFile(fsys, siteFile)
	return err == nil && (bytes.HasPrefix(content, []byte(formatField+":")) || bytes.Contains(content, []byte("\n"+formatField+":")))
}

// write writes a file, unless it has that content already.
func (w *writer) write(name string, content []byte, count *int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if count != nil {
		*count++
	}
	if there, ok := w.stale[name]; ok {
		delete(w.stale, name)
		name = there
	}
	if old, err := w.root.ReadFile(name); err == nil && bytes.Equal(old, content) {
		return nil
	}
	w.changed++
	err := w.root.WriteFile(name, content, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err = w.root.MkdirAll(path.Dir(name), 0o755); err == nil {
			err = w.root.WriteFile(name, content, 0o644)
		}
	}
	return err
}

// removeStale removes the files of the bundle that were not written, and folders that are
// empty then.
func (w *writer) removeStale() error {
	for _, name := range w.stale {
		if err := w.root.Remove(name); err != nil {
			return err
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if w.root.Remove(dir) != nil {
				break // it has other files
			}
		}
	}
	return nil
}
