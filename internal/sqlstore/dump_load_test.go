package sqlstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/pgtest"
)

// isEmpty checks that a store has the schema and no row.
func isEmpty(t *testing.T, s *Store) {
	t.Helper()
	got, _ := dumped(t, s)
	for table, rows := range got.rows {
		if len(rows) > 0 {
			t.Errorf("%s has %d rows", table, len(rows))
		}
	}
}

var errCut = errors.New("the sender gave up")

// cut is a sink that fails after some rows.
type cut struct {
	Sink
	rows int
}

func (c *cut) Row(values []any) error {
	if c.rows--; c.rows < 0 {
		return errCut
	}
	return c.Sink.Row(values)
}

func TestLoadIsAllOrNothing(t *testing.T) {
	for name, open := range dumpEngines {
		t.Run(name, func(t *testing.T) {
			s, made := open(t), newMadeUp(t, latestForTest(t))
			for _, rows := range []int{0, 1, 7, 40} {
				err := s.Load(t.Context(), latestForTest(t), func(sink Sink) error { return made.send(&cut{sink, rows}) })
				if !errors.Is(err, errCut) {
					t.Fatalf("after %d rows: %v", rows, err)
				}
				isEmpty(t, s)
			}
			if err := s.Load(t.Context(), latestForTest(t), made.send); err != nil {
				t.Errorf("the store was not left as it was: %v", err)
			}
		})
	}
}

func TestLoadRefusesAStoreThatIsNotEmpty(t *testing.T) {
	for name, open := range dumpEngines {
		t.Run(name, func(t *testing.T) {
			s := readyForTest(t, open(t), nil)
			if err := createWorkspace(t, s); err != nil {
				t.Fatal(err)
			}
			before, _ := dumped(t, s)
			err := s.Load(t.Context(), latestForTest(t), func(Sink) error { t.Error("the sender was asked"); return nil })
			if !errors.Is(err, ErrNotEmpty) {
				t.Errorf("got %v", err)
			}
			after, _ := dumped(t, s)
			after.check(t, before)
		})
	}
}

// A server that starts on a store that is being filled must not take it for
// empty.
func TestFirstStartBesideALoad(t *testing.T) {
	dir, url := t.TempDir(), pgtest.URL(t)
	for name, open := range map[string]func() (*Store, error){
		"sqlite":   func() (*Store, error) { return OpenSQLite(dir, nil) },
		"postgres": func() (*Store, error) { return OpenPostgres(url, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open()
			openForTest(t, s, err)
			other, err := open()
			openForTest(t, other, err)
			var starting sync.WaitGroup
			made := newMadeUp(t, latestForTest(t))
			err = s.Load(t.Context(), latestForTest(t), func(sink Sink) error {
				if err := made.send(sink); err != nil {
					return err
				}
				starting.Go(func() {
					err := other.InTx(t.Context(), func(tx cms.Tx) error {
						empty, err := tx.Install(t.Context(), time.Now())
						if empty {
							t.Error("the store was taken for empty")
						}
						return err
					})
					if err != nil {
						t.Error(err)
					}
				})
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			starting.Wait()
		})
	}
}

func TestLoadRefusesWhatTheSchemaDoesNotHave(t *testing.T) {
	latest := latestForTest(t)
	cases := map[string]func(Sink) error{
		"unknown table":  func(s Sink) error { return s.Table("secret", []string{"id"}) },
		"unknown column": func(s Sink) error { return s.Table("workspace", []string{"id", "name", "created_at", "color"}) },
		"missing column": func(s Sink) error { return s.Table("workspace", []string{"id", "name"}) },
		"other order":    func(s Sink) error { return s.Table("workspace", []string{"name", "id", "created_at"}) },
		"short row":      workspaceRow("x"),
		"no table":       func(s Sink) error { return s.Row([]any{int64(1)}) },
		"id of 15 bytes": workspaceRow(make([]byte, 15), "W", int64(1)),
		"id as text":     workspaceRow("01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b", "W", int64(1)),
		"text for time":  workspaceRow(make([]byte, 16), "W", "now"),
		"null":           workspaceRow(make([]byte, 16), nil, int64(1)),
		"no such parent": func(s Sink) error {
			if err := s.Table("app_key", []string{"hash", "workspace_id", "app_id", "expires_at"}); err != nil {
				return err
			}
			return s.Row([]any{[]byte("hash"), make([]byte, 16), make([]byte, 16), nil})
		},
	}
	for name, open := range dumpEngines {
		s := open(t)
		for what, send := range cases {
			t.Run(name+"/"+what, func(t *testing.T) {
				if err := s.Load(t.Context(), latest, send); err == nil {
					t.Error("it was loaded")
				}
				isEmpty(t, s)
			})
		}
		if err := s.Load(t.Context(), latest+1, func(Sink) error { return nil }); err == nil || !strings.Contains(err.Error(), "newer") {
			t.Errorf("%s: rows of a newer schema: %v", name, err)
		}
	}
}

func workspaceRow(values ...any) func(Sink) error {
	return func(s Sink) error {
		if err := s.Table("workspace", []string{"id", "name", "created_at"}); err != nil {
			return err
		}
		return s.Row(values)
	}
}

// Rows of every older schema go through the same migrations as a store that
// was there all along.
func TestLoadOfOlderSchemas(t *testing.T) {
	latest := latestForTest(t)
	for version := int64(1); version < latest; version++ {
		made := newMadeUp(t, version)
		var want *rowSet
		for name, open := range dumpEngines {
			t.Run(fmt.Sprintf("%d/%s", version, name), func(t *testing.T) {
				old := open(t)
				provider, err := old.provider()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := provider.UpTo(t.Context(), version); err != nil {
					t.Fatal(err)
				}
				fill(t, old, made)
				kept, was := dumped(t, old)
				if was != version {
					t.Fatalf("the old store is at version %d, want %d", was, version)
				}
				if len(kept.rows["site"]) != made.count("site") {
					t.Fatal("the old store is not filled")
				}

				loaded := open(t)
				err = old.Snapshot(t.Context(), func(sn *Snapshot) error {
					return loaded.Load(t.Context(), sn.Schema, func(sink Sink) error { return sn.Dump(t.Context(), sink) })
				})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := old.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want, _ = dumped(t, old)
				}
				got, now := dumped(t, loaded)
				if now != latest {
					t.Errorf("the schema was left at version %d", now)
				}
				got.check(t, want)
			})
		}
	}
}

// The rows come before the migrations that have to see them.
func TestLoadMigratesAfterTheRows(t *testing.T) {
	for name, open := range dumpEngines {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			err := s.Load(t.Context(), 1, func(sink Sink) error { return newMadeUp(t, 1).send(&cut{sink, 30}) })
			if !errors.Is(err, errCut) {
				t.Fatal(err)
			}
			if _, version := dumped(t, s); version != 1 {
				t.Errorf("the schema was at version %d when the rows came", version)
			}
		})
	}
}

// A store that is refused is left as it was, its schema too.
func TestLoadRefusesBeforeItMigrates(t *testing.T) {
	for name, open := range dumpEngines {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			provider, err := s.provider()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := provider.UpTo(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if err := createWorkspace(t, s); err != nil {
				t.Fatal(err)
			}
			if err := s.Load(t.Context(), latestForTest(t), func(Sink) error { return nil }); !errors.Is(err, ErrNotEmpty) {
				t.Error(err)
			}
			if _, version := dumped(t, s); version != 1 {
				t.Errorf("the schema was brought to version %d", version)
			}
		})
	}
}

// fill puts rows into a store without migrating it.
func fill(t *testing.T, s *Store, made *madeUp) {
	t.Helper()
	err := s.engine.tx(t.Context(), func(c conn) error {
		l := &loader{ctx: t.Context(), queries: queries{conn: c, dialect: s.dialect}, schema: made.schema}
		if err := made.send(l); err != nil {
			return err
		}
		return l.flush()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An empty store whose schema is newer than the rows can't give them what the
// migrations between would have done to them.
func TestLoadOfAnOlderSchemaIntoANewerOneIsRefused(t *testing.T) {
	for name, open := range dumpEngines {
		t.Run(name, func(t *testing.T) {
			s := readyForTest(t, open(t), nil)
			err := s.Load(t.Context(), 1, newMadeUp(t, 1).send)
			if err == nil || !strings.Contains(err.Error(), "without tables") {
				t.Errorf("got %v", err)
			}
			isEmpty(t, s)
		})
	}
}

// The indexes that are taken away for a load are all back after it, the same as
// before.
func TestLoadBringsEveryIndexBack(t *testing.T) {
	for name, open := range dumpEngines {
		t.Run(name, func(t *testing.T) {
			want, got := readyForTest(t, open(t), nil), open(t)
			if err := got.Load(t.Context(), latestForTest(t), newMadeUp(t, latestForTest(t)).send); err != nil {
				t.Fatal(err)
			}
			definitions := func(s *Store) []string {
				list, err := all(t.Context(), s.queries, func(r row) (text string, err error) {
					var name string
					err = r.Scan(&name, &text)
					return name + ": " + text, err
				}, s.dialect.definitions)
				if err != nil {
					t.Fatal(err)
				}
				slices.Sort(list)
				return list
			}
			if list := definitions(got); len(list) < 10 || !slices.Equal(list, definitions(want)) {
				t.Errorf("got %v\nwant %v", list, definitions(want))
			}
		})
	}
}

// SQLite drops the statistics of an index with the index.
func TestLoadLeavesStatisticsOfSQLite(t *testing.T) {
	statistics := func(s *Store) []string {
		rows, err := values[string](t.Context(), s.queries, `select tbl || ' ' || idx || ' ' || stat from sqlite_stat1 order by tbl, idx`)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	fresh, loaded := dumpEngines["sqlite"](t), dumpEngines["sqlite"](t)
	if _, err := fresh.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := loaded.Load(t.Context(), latestForTest(t), newMadeUp(t, latestForTest(t)).send); err != nil {
		t.Fatal(err)
	}
	if want, got := statistics(fresh), statistics(loaded); len(want) == 0 || !slices.Equal(want, got) {
		t.Errorf("want\n%s\ngot\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// PostgreSQL's planner must know the tables, or it reads them from end to end.
func TestLoadLeavesStatistics(t *testing.T) {
	s := dumpEngines["postgres"](t)
	if err := s.Load(t.Context(), latestForTest(t), newMadeUp(t, latestForTest(t)).send); err != nil {
		t.Fatal(err)
	}
	n, err := value[int64](t.Context(), s.queries, `select count(*) from pg_class where relname in ('page', 'site') and relkind = 'r' and reltuples = 4`)
	if err != nil || n != 2 {
		t.Errorf("%d tables have statistics: %v", n, err)
	}
}
