package sqlstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/pgtest"
)

// dumpEngines open an empty database of each engine.
var dumpEngines = map[string]func(t *testing.T) *Store{
	"sqlite": func(t *testing.T) *Store {
		t.Helper()
		s, err := OpenSQLite(t.TempDir(), nil)
		return openForTest(t, s, err)
	},
	"postgres": func(t *testing.T) *Store {
		t.Helper()
		s, err := OpenPostgres(pgtest.URL(t), nil)
		return openForTest(t, s, err)
	},
}

func openForTest(t *testing.T, s *Store, err error) *Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// rowSet is rows by table, each written down as text.
type rowSet struct {
	columns map[string][]string
	rows    map[string][]string
	table   string
}

func (r *rowSet) Table(name string, columns []string) error {
	if r.rows == nil {
		r.columns, r.rows = map[string][]string{}, map[string][]string{}
	}
	r.table, r.columns[name], r.rows[name] = name, columns, nil
	return nil
}

func (r *rowSet) Row(values []any) error {
	r.rows[r.table] = append(r.rows[r.table], fmt.Sprintf("%#v", values))
	return nil
}

func (r *rowSet) check(t *testing.T, want *rowSet) {
	t.Helper()
	if len(r.rows) != len(want.rows) {
		t.Errorf("%d tables, want %d", len(r.rows), len(want.rows))
	}
	for name := range want.rows {
		slices.Sort(r.rows[name])
		slices.Sort(want.rows[name])
		if !slices.Equal(r.columns[name], want.columns[name]) || !slices.Equal(r.rows[name], want.rows[name]) {
			t.Errorf("%s\n got %v\n     %v\nwant %v\n     %v", name, r.columns[name], r.rows[name], want.columns[name], want.rows[name])
		}
	}
}

// dumped is everything that a store holds, and the version of its schema.
func dumped(t *testing.T, s *Store) (*rowSet, int64) {
	t.Helper()
	var all rowSet
	var version int64
	err := s.Snapshot(t.Context(), func(sn *Snapshot) error {
		version = sn.Schema
		total, err := sn.Count(t.Context())
		if err != nil {
			return err
		}
		if err := sn.Dump(t.Context(), &all); err != nil {
			return err
		}
		for _, rows := range all.rows {
			total -= int64(len(rows))
		}
		if total != 0 {
			t.Errorf("the count is %d away from the number of rows", total)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return &all, version
}

func latestForTest(t *testing.T) int64 {
	t.Helper()
	return LatestSchema()
}

// madeUp is four rows for every table: extremes, plain values, and nulls where
// the schema admits them. Ids of the same row are the same in every table, so
// that references hold.
type madeUp struct {
	t      *testing.T
	schema *schema
	// only names the columns that must have a certain value.
	only map[string]any
	null map[string]bool
}

func newMadeUp(t *testing.T, version int64) *madeUp {
	t.Helper()
	m := &madeUp{t: t, only: map[string]any{"installation.id": int64(1)}, null: map[string]bool{}}
	var err error
	if m.schema, err = schemaAt(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	s := dumpEngines["sqlite"](t)
	provider, err := s.provider()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	for _, table := range m.schema.tables {
		rows, err := s.db.QueryContext(t.Context(), `select name from pragma_table_info(?) where "notnull" = 0 and pk = 0`, table.name)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			m.null[table.name+"."+name] = true
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *madeUp) send(to Sink) error {
	for _, name := range m.schema.stored() { // in their order
		table := m.schema.tables[name]
		if err := to.Table(table.name, table.names); err != nil {
			return err
		}
		for n := range m.count(table.name) {
			values := make([]any, len(table.columns))
			for i, c := range table.columns {
				values[i] = m.value(table.name, c, n)
			}
			if err := to.Row(values); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *madeUp) count(table string) int {
	if table == "installation" {
		return 1
	}
	return 4
}

func (m *madeUp) value(table string, c column, n int) any {
	name := table + "." + c.name
	if v, ok := m.only[name]; ok {
		return v
	}
	if n == 3 && m.null[name] {
		return nil
	}
	whole := func(bits int) any {
		return []int64{math.MinInt64 >> (64 - bits), math.MaxInt64 >> (64 - bits), 0, int64(n)}[n]
	}
	switch c.word {
	case "uuid":
		id := bytes.Repeat([]byte{0xfe}, 16)
		binary.BigEndian.PutUint32(id, uint32(n))
		return id
	case "text":
		return []string{"", "/é\U0001F4C1 'quoted' \"twice\" ?", "\u0001\t\n\\\uFFFF", strings.Repeat("long ", 5000)}[n] + fmt.Sprint(n)
	case "bytes":
		return [][]byte{{}, {0}, {255, 0, 254}, bytes.Repeat([]byte{1}, 5000)}[n]
	case "bigint":
		return whole(64)
	case "integer":
		return whole(32)
	case "smallint":
		return whole(16)
	case "boolean":
		return n%2 == 1
	case "double precision":
		return []float64{0.1, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1}[n]
	}
	m.t.Fatalf("column %s has the type %q, for which there are no values", name, c.word)
	return nil
}

// Every column of every table goes from each engine to each other and back, and
// nothing is lost or changed.
func TestEveryValueGoesBetweenEngines(t *testing.T) {
	made := newMadeUp(t, latestForTest(t))
	var want rowSet
	if err := made.send(&want); err != nil {
		t.Fatal(err)
	}
	for from, openFrom := range dumpEngines {
		for to, openTo := range dumpEngines {
			t.Run(from+" to "+to, func(t *testing.T) {
				source, target := openFrom(t), openTo(t)
				if err := source.Load(t.Context(), latestForTest(t), made.send); err != nil {
					t.Fatal(err)
				}
				err := source.Snapshot(t.Context(), func(sn *Snapshot) error {
					return target.Load(t.Context(), sn.Schema, func(sink Sink) error { return sn.Dump(t.Context(), sink) })
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range []*Store{source, target} {
					got, version := dumped(t, s)
					got.check(t, &want)
					if version != latestForTest(t) {
						t.Errorf("schema version %d", version)
					}
				}
			})
		}
	}
}

// SQLite keeps a value of any type in any column; the store's own statements
// only find those of the right one.
func TestLoadGivesSQLiteItsOwnTypes(t *testing.T) {
	s := dumpEngines["sqlite"](t)
	made := newMadeUp(t, latestForTest(t))
	if err := s.Load(t.Context(), latestForTest(t), made.send); err != nil {
		t.Fatal(err)
	}
	types := map[string]string{
		"uuid": "blob", "text": "text", "bytes": "blob", "bigint": "integer", "integer": "integer", "smallint": "integer",
		"boolean": "integer", "double precision": "real",
	}
	for _, name := range made.schema.stored() {
		table := made.schema.tables[name]
		for _, c := range table.columns {
			found, err := s.queries.names(t.Context(), fmt.Sprintf(`select distinct typeof(%s) from %s where %s is not null`, c.name, table.name, c.name))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(found, []string{types[c.word]}) {
				t.Errorf("%s.%s is %v", table.name, c.name, found)
			}
		}
	}
}

// What the migrations make in memory is what they make in the databases.
func TestSchemaIsThatOfTheDatabases(t *testing.T) {
	catalogs := map[string]string{
		"sqlite": `select m.name || '.' || c.name from sqlite_master m, pragma_table_info(m.name) c
			where m.type = 'table' and m.name not like 'sqlite_%' order by m.name, c.cid`,
		"postgres": `select table_name || '.' || column_name from information_schema.columns
			where table_schema = current_schema() order by table_name collate "C", ordinal_position`,
	}
	schema, err := schemaAt(t.Context(), latestForTest(t))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, table := range schema.tables {
		for _, c := range table.columns {
			want = append(want, table.name+"."+c.name)
		}
	}
	slices.SortStableFunc(want, func(a, b string) int {
		first, _, _ := strings.Cut(a, ".")
		second, _, _ := strings.Cut(b, ".")
		return strings.Compare(first, second)
	})
	for name, open := range dumpEngines {
		s := readyForTest(t, open(t), nil)
		got, err := s.queries.names(t.Context(), catalogs[name])
		if err != nil {
			t.Fatal(err)
		}
		got = slices.DeleteFunc(got, func(column string) bool {
			return strings.HasPrefix(column, versionTable) || strings.HasPrefix(column, countTable+".")
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, want)
		}
	}
}

func TestTablesComeAfterThoseTheyReferTo(t *testing.T) {
	s := sqliteForTest(t)
	schema, err := schemaAt(t.Context(), latestForTest(t))
	if err != nil {
		t.Fatal(err)
	}
	names, references := schema.names, 0
	for i, name := range names {
		to, err := s.queries.names(t.Context(), `select "table" from pragma_foreign_key_list('`+name+`')`)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range to {
			references++
			if slices.Index(names, other) >= i {
				t.Errorf("%s comes before %s", name, other)
			}
		}
	}
	if references < 5 {
		t.Errorf("only %d references were seen", references)
	}
}

// writeWorkspaces makes workspaces, each with an app in the same transaction,
// until it is stopped, and tells how many there are.
func writeWorkspaces(t *testing.T, s *Store) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	made := 0
	writing.Go(func() {
		for ; ctx.Err() == nil; made++ {
			w := cms.Workspace{ID: cms.NewID(), Name: "W", CreatedAt: time.Now()}
			app := cms.App{ID: cms.NewID(), WorkspaceID: w.ID, Name: "A", Scopes: cms.Scopes, CreatedAt: time.Now()}
			err := s.InTx(t.Context(), func(tx cms.Tx) error {
				if err := tx.CreateWorkspace(t.Context(), w); err != nil {
					return err
				}
				return tx.CreateApp(t.Context(), app, cms.NewAppKey().Hash())
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	return func() int { cancel(); writing.Wait(); return made }
}

// waiting is a sink that goes on with a table only when others have written
// more rows to it.
type waiting struct {
	rowSet
	t     *testing.T
	store *Store
}

func (w *waiting) Table(name string, columns []string) error {
	count := func() int64 {
		n, err := value[int64](w.t.Context(), w.store.queries, `select count(*) from workspace`)
		if err != nil {
			w.t.Fatal(err)
		}
		return n
	}
	for before, end := count(), time.Now().Add(2*time.Minute); count() < before+2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal("nobody writes")
		}
	}
	return w.rowSet.Table(name, columns)
}

func TestDumpIsOfOneMomentWhileOthersWrite(t *testing.T) {
	for name, open := range dumpEngines {
		t.Run(name, func(t *testing.T) {
			s := readyForTest(t, open(t), nil)
			stop := writeWorkspaces(t, s)
			var at int64
			all := &waiting{t: t, store: s}
			err := s.Snapshot(t.Context(), func(sn *Snapshot) error {
				var err error
				if at, err = sn.Count(t.Context()); err != nil {
					return err
				}
				return sn.Dump(t.Context(), all)
			})
			if err != nil {
				t.Fatal(err)
			}
			made := stop()
			workspaces, apps, keys := len(all.rows["workspace"]), len(all.rows["app"]), len(all.rows["app_key"])
			if workspaces != apps || apps != keys || int64(workspaces+apps+keys) != at {
				t.Errorf("%d workspaces, %d apps and %d keys of %d rows", workspaces, apps, keys, at)
			}
			if made < workspaces+len(all.rows) {
				t.Errorf("%d of %d workspaces were seen: the writer did not write meanwhile", workspaces, made)
			}
		})
	}
}

func TestSnapshotOfAStoreThatIsNotOurs(t *testing.T) {
	for name, open := range dumpEngines {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			use := func(*Snapshot) error { t.Error("it was used"); return nil }
			if err := s.Snapshot(t.Context(), use); !errors.Is(err, ErrNoSchema) {
				t.Errorf("an unused store: %v", err)
			}
			if _, err := s.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := s.db.ExecContext(t.Context(), `insert into goose_db_version (version_id, is_applied) values (999, true)`); err != nil {
				t.Fatal(err)
			}
			if _, ok := errors.AsType[*NewerStoreError](s.Snapshot(t.Context(), use)); !ok {
				t.Error("a newer store was read")
			}
		})
	}
}
