package modeltest

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"galley/internal/backup"
	"galley/internal/sqlstore"
)

// TestModelIsTheSameInACopy takes random steps, backs the store up to a file, restores that
// on the other engine, and copies it back: each of the stores shows what the model says,
// draft, live and past, and goes on like it.
func TestModelIsTheSameInACopy(t *testing.T) {
	t.Parallel()
	for from, to := range map[string]string{"sqlite": "postgres", "postgres": "sqlite"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			first := newEngine(t, opened(t, stores[from]), nil)
			w := newWorld(t, first)
			for _, st := range beforeCopy {
				w.do(st)
			}
			w.takeRandom(t, 0, 25)
			restored := opened(t, stores[to])
			backUp(t, w.store, restored)
			w.continueOn(t, restored)
			w.takeRandom(t, 100, 15)
			copied := opened(t, stores[from])
			copyStore(t, w.store, copied)
			w.continueOn(t, copied)
			w.takeRandom(t, 200, 5)
		})
	}
}

// beforeCopy gives a site contents and redirects in the draft, live and past: of each kind,
// in a locale and in all.
var beforeCopy = []step{
	{op: "putContent", set: Fields{"content": "one"}},
	{op: "putContent", locale: 1, set: Fields{"content": "two"}},
	{op: "createRedirect", path: "/c", target: "/b", locale: 1},
	{op: "createRedirect", path: "/a/*", target: "https://example.org/x", every: true},
	{op: "publish", confirm: true},
	{op: "updatePage", set: Fields{"pathname": "/"}}, // leaves an automatic redirect at /a
	{op: "putContent", set: Fields{"content": "two"}},
	{op: "deleteRedirect", redirect: 0},
	{op: "publish", confirm: true},
	{op: "putContent", page: 1, set: Fields{"content": "one"}},
	{op: "updateRedirect", redirect: 1, path: "/b/*", target: "/a/x", every: true},
	{op: "duplicateSite"},
}

// takeRandom takes steps that depend on the seed alone.
func (w *world) takeRandom(t *testing.T, seed, n int) {
	t.Helper()
	for i := range n {
		draw := oneOf(redirectOps...)
		if i%3 == 0 {
			draw = oneOf(ops...)
		}
		w.do(drawStep(draw).Example(seed + i))
	}
}

// continueOn goes on with a copy of the store.
func (w *world) continueOn(t *testing.T, store *sqlstore.Store) {
	t.Helper()
	e := *w.engine
	e.start(t, store, nil)
	w.engine = &e
	for range 12 { // each checks some of the versions that publishes left
		w.steps++
		w.check()
	}
	for _, s := range w.sites {
		for name, ref := range versionsOf(s) {
			want := map[string]Redirects{"draft": s.Redirects, "live": s.LiveRedirects}[name]
			for _, p := range s.wentLive {
				if p.ID == ref.Publish {
					want = p.Redirects
				}
			}
			if !s.Deleted {
				w.checkRedirects(s, name, ref, want, nil)
			}
		}
	}
}

// backUp writes a store to a file, and restores the file to another store.
func backUp(t *testing.T, from, to *sqlstore.Store) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "backup")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	err = from.Snapshot(t.Context(), func(s *sqlstore.Snapshot) error {
		w, err := backup.NewWriter(out, backup.Header{Schema: s.Schema})
		if err == nil {
			err = s.Dump(t.Context(), w)
		}
		if err == nil {
			err = w.Close()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := backup.Open(t.Context(), name, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	err = to.Load(t.Context(), file.Schema, func(sink sqlstore.Sink) error { return file.Replay(t.Context(), sink) })
	if err != nil {
		t.Fatal(err)
	}
}

// copyStore copies a store to another.
func copyStore(t *testing.T, from, to *sqlstore.Store) {
	t.Helper()
	err := from.Snapshot(t.Context(), func(s *sqlstore.Snapshot) error {
		return to.Load(t.Context(), s.Schema, func(sink sqlstore.Sink) error { return s.Dump(t.Context(), sink) })
	})
	if err != nil {
		t.Fatal(err)
	}
}
