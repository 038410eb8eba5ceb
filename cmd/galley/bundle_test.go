package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/internal/pgtest"
	galley "galley/sdk/go"
)

// asClient are the variables by which commands find a server.
func asClient(t *testing.T, p *process) []string {
	t.Helper()
	return []string{"GALLEY_URL=" + p.url, "GALLEY_KEY=" + p.key(t)}
}

// filesOf reads a folder.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// exportTo exports a site to a folder and returns its files.
func exportTo(t *testing.T, p *process, site, dir string, flags ...string) map[string]string {
	t.Helper()
	mustRun(t, asClient(t, p), append([]string{"export", site, dir}, flags...)...)
	return filesOf(t, dir)
}

func emptySite(t *testing.T, p *process) string {
	t.Helper()
	return ok[galley.Site](t)(newClient(t, p).Sites.Create(t.Context(), galley.SiteCreate{Name: "Empty"})).ID
}

// twoServers are one on each engine.
func twoServers(t *testing.T) (sqlite, postgres *process) {
	t.Helper()
	return serve(t, nil), serve(t, nil, "--database-url", pgtest.URL(t))
}

const nothingToDo = "Nothing to do: the site is what the bundle has.\n"

func TestBundleRoundTrip(t *testing.T) {
	t.Parallel()
	sqlite, postgres := twoServers(t)
	for i, way := range []struct{ from, to *process }{{sqlite, postgres}, {postgres, sqlite}} {
		site := newRandomSite(t, newClient(t, way.from), uint64(i), 120)
		dir := filepath.Join(t.TempDir(), "site")
		before := exportTo(t, way.from, site.id, dir)

		copied := emptySite(t, way.to)
		mustRun(t, asClient(t, way.to), "apply", dir, "--site", copied, "--yes")
		after := exportTo(t, way.to, copied, filepath.Join(t.TempDir(), "copy"))
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("the copy differs:\n%s", diff)
		}
		if out := mustRun(t, asClient(t, way.to), "apply", dir, "--site", copied); out != nothingToDo {
			t.Errorf("a second time: %s", out)
		}
		if out := mustRun(t, asClient(t, way.from), "plan", dir, "--site", site.id); out != nothingToDo {
			t.Errorf("the site itself: %s", out)
		}
	}
}

// Any site can be made any other, whatever pathnames pages, routes and redirects of the one
// and the other have.
func TestBundleReplacesAnotherSite(t *testing.T) {
	t.Parallel()
	sqlite, postgres := twoServers(t)
	for i, p := range []*process{sqlite, postgres} {
		var dirs []string
		var want []map[string]string
		for seed := range 3 {
			site := newRandomSite(t, newClient(t, p), uint64(10*i+seed), 80)
			dirs = append(dirs, filepath.Join(t.TempDir(), "site"))
			want = append(want, exportTo(t, p, site.id, dirs[seed]))
		}
		target := emptySite(t, p)
		for seed, dir := range dirs {
			mustRun(t, asClient(t, p), "apply", dir, "--site", target, "--yes", "--publish", "--confirm")
			got := exportTo(t, p, target, filepath.Join(t.TempDir(), "copy"))
			// Publishes add automatic redirects, which plans leave alone.
			delete(got, "redirects.yaml")
			delete(want[seed], "redirects.yaml")
			if diff := cmp.Diff(want[seed], got); diff != "" {
				t.Fatalf("site %d differs:\n%s", seed, diff)
			}
			if out := mustRun(t, asClient(t, p), "plan", dir, "--site", target); out != nothingToDo {
				t.Errorf("a second time: %s", out)
			}
		}
	}
}
