package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"galley/internal/cms"
	"galley/internal/pgtest"
)

func sqliteForTest(t *testing.T) *Store {
	t.Helper()
	s, err := OpenSQLite(t.TempDir(), nil)
	return readyForTest(t, s, err)
}

func postgresForTest(t *testing.T) *Store {
	t.Helper()
	s, err := OpenPostgres(pgtest.URL(t), nil)
	return readyForTest(t, s, err)
}

func readyForTest(t *testing.T, s *Store, err error) *Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRebind(t *testing.T) {
	for query, want := range map[string]string{
		"select 1":                        "select 1",
		"?":                               "$1",
		"a = ? and b in (?, ?) limit ?":   "a = $1 and b in ($2, $3) limit $4",
		strings.Repeat("?,", 11) + " '$'": "$1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11, '$'",
	} {
		if got := rebind(query); got != want {
			t.Errorf("%q became %q", query, got)
		}
	}
}

func TestArguments(t *testing.T) {
	id := cms.NewID()
	moment := time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.FixedZone("", 3600))
	for _, c := range []struct{ in, want any }{
		{"text", "text"},
		{cms.KindPage, "page"},
		{new("text"), "text"},
		{new(cms.Frequency("daily")), "daily"},
		{(*string)(nil), nil},
		{(*cms.Frequency)(nil), nil},
		{7, int64(7)},
		{cms.Live, int64(1)},
		{cms.AllFields, int64(1023)},
		{true, true},
		{new(false), false},
		{(*bool)(nil), nil},
		{new(0.1), 0.1},
		{(*float64)(nil), nil},
		{moment, moment.UnixMicro()},
		{&moment, moment.UnixMicro()},
		{(*time.Time)(nil), nil},
		{cms.KeyHash{1, 2}, append([]byte{1, 2}, make([]byte, 30)...)},
		{new(cms.Digest{1, 2}), append([]byte{1, 2}, make([]byte, 30)...)},
		{(*cms.Digest)(nil), nil},
	} {
		for name, got := range map[string]any{"SQLite": new(session).bind([]any{c.in})[0].Value, "PostgreSQL": arguments([]any{c.in})[0]} {
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: %T %v became %T %v, want %T %v", name, c.in, c.in, got, got, c.want, c.want)
			}
		}
	}
	if got := new(session).bind([]any{id})[0].Value; !reflect.DeepEqual(got, id[:]) {
		t.Errorf("SQLite: an id became %v", got)
	}
	if got := arguments([]any{id})[0]; got != (pgtype.UUID{Bytes: id, Valid: true}) {
		t.Errorf("PostgreSQL: an id became %v", got)
	}
}

func TestPrefixEnd(t *testing.T) {
	for prefix, want := range map[string]string{
		"/": "0", "/a": "/b", "/a%": "/a&", "/a_": "/a`", "/\x7f": "/\u0080", "/\u07FF": "/\u0800", "/\uFFFF": "/\U00010000",
		"/a\uD7FF": "/a\uE000", "/a\U0010FFFF": "/b", "/a\U0010FFFF\U0010FFFF": "/b", "/\uD7FF\U0010FFFF": "/\uE000",
		"": "", "\U0010FFFF": "", "\U0010FFFF\U0010FFFF": "",
	} {
		got, ok := prefixEnd(prefix)
		if got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %t, want %q", prefix, got, ok, want)
		}
	}
}

func createWorkspace(t *testing.T, s *Store) error {
	t.Helper()
	return s.InTx(t.Context(), func(tx cms.Tx) error {
		return tx.CreateWorkspace(t.Context(), cms.Workspace{ID: cms.NewID(), Name: strings.Repeat("W", 5000), CreatedAt: time.Now()})
	})
}

// setOnWriter sets something on the connection that writes.
func setOnWriter(t *testing.T, s *Store, pragma string) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx cms.Tx) error {
		_, err := tx.(queries).conn.exec(t.Context(), true, pragma, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSQLiteThatCanNotWrite(t *testing.T) {
	for name, c := range map[string]struct{ breakIt, mendIt string }{
		"full":      {"pragma max_page_count = 1", "pragma max_page_count = 1000000"},
		"read-only": {"pragma query_only = 1", ""}, // it can't begin what would mend it
	} {
		s := sqliteForTest(t)
		setOnWriter(t, s, c.breakIt)
		var err error
		for range 100 { // until the pages it has are full
			if err = createWorkspace(t, s); err != nil {
				break
			}
		}
		if cms.CodeOf(err) != cms.CodeUnavailable {
			t.Errorf("%s: got %v, want unavailable", name, err)
		}
		if c.mendIt == "" {
			continue
		}
		setOnWriter(t, s, c.mendIt)
		if err := createWorkspace(t, s); err != nil {
			t.Errorf("%s: it did not recover: %v", name, err)
		}
	}
}

func TestSQLiteLockedByAnother(t *testing.T) {
	s := sqliteForTest(t)
	setOnWriter(t, s, "pragma busy_timeout = 50")
	other := sql.OpenDB(sqliteConnector(placeForTest(t, fileOf(t, s)), "immediate"))
	defer func() { _ = other.Close() }()
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := createWorkspace(t, s); cms.CodeOf(err) != cms.CodeUnavailable {
		t.Errorf("got %v, want unavailable", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := createWorkspace(t, s); err != nil {
		t.Error(err)
	}
}

func fileOf(t *testing.T, s *Store) string {
	t.Helper()
	var seq int
	var name, file string
	if err := s.db.QueryRowContext(t.Context(), "pragma database_list").Scan(&seq, &name, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// Two transactions that take two sites in opposite order block each other. The
// engine ends one of them, which has to run again without an error.
func TestPostgresDeadlockRunsAgain(t *testing.T) {
	s := postgresForTest(t)
	sites := []cms.Site{seedSite(t, s), seedSite(t, s)}
	var runs atomic.Int32
	held := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	errs := make(chan error)
	for i := range 2 {
		go func() {
			first := true
			errs <- s.InTx(t.Context(), func(tx cms.Tx) error {
				runs.Add(1)
				if _, err := tx.LockSite(t.Context(), sites[i].ID, cms.LockExclusive); err != nil {
					return err
				}
				if first {
					first = false
					close(held[i])
					<-held[1-i]
				}
				_, err := tx.LockSite(t.Context(), sites[1-i].ID, cms.LockExclusive)
				return err
			})
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := runs.Load(); n < 3 {
		t.Errorf("the callbacks ran %d times: no deadlock was met", n)
	}
}

func TestPostgresOutOfReach(t *testing.T) {
	s, err := OpenPostgres("postgres://galley@/galley?host="+t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	_, readErr := s.Workspaces(t.Context())
	for what, err := range map[string]error{
		"read":  readErr,
		"view":  s.View(t.Context(), func(cms.Reader) error { return nil }),
		"write": createWorkspace(t, s),
		"ping":  s.Ping(t.Context()),
	} {
		if cms.CodeOf(err) != cms.CodeUnavailable {
			t.Errorf("%s: got %v, want unavailable", what, err)
		}
	}
}

func TestPostgresConnectionThatIsCut(t *testing.T) {
	s := postgresForTest(t)
	err := s.InTx(t.Context(), func(tx cms.Tx) error {
		pid, err := value[int](t.Context(), tx.(queries), "select pg_backend_pid()")
		if err != nil {
			return err
		}
		if _, err := s.db.ExecContext(t.Context(), fmt.Sprintf("select pg_terminate_backend(%d, 60000)", pid)); err != nil {
			return err
		}
		_, err = tx.Workspaces(t.Context())
		return err
	})
	if cms.CodeOf(err) != cms.CodeUnavailable {
		t.Errorf("got %v, want unavailable", err)
	}
	if err := createWorkspace(t, s); err != nil {
		t.Errorf("it did not recover: %v", err)
	}
}

func TestPostgresStatementThatTakesTooLong(t *testing.T) {
	s := postgresForTest(t)
	err := s.InTx(t.Context(), func(tx cms.Tx) error {
		q := tx.(queries)
		if err := q.run(t.Context(), `set local statement_timeout = '10ms'`); err != nil {
			return err
		}
		return q.run(t.Context(), `select pg_sleep(60)`)
	})
	if cms.CodeOf(err) != cms.CodeUnavailable {
		t.Errorf("got %v, want unavailable", err)
	}
}

func TestPostgresURLThatCanNotBeRead(t *testing.T) {
	for _, url := range []string{"postgres://u:s3cret@host:port/db", "postgres://u:s3cret@[::1/db", "postgres://u:s3cret@h/db?sslmode=maybe"} {
		_, err := OpenPostgres(url, nil)
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", url, err)
		}
	}
}

// A database's own collation may be a language's, which the lists must not
// follow. The tests' database would not show it.
func TestPostgresComparesTextByCodePoint(t *testing.T) {
	s := postgresForTest(t)
	columns, err := values[string](t.Context(), s.queries, `select table_name || '.' || column_name from information_schema.columns where table_schema = 'public'
			and data_type in ('text', 'character varying', 'character') and collation_name is distinct from 'C'`)
	if err != nil || len(columns) > 0 {
		t.Errorf("columns with another collation: %v, %v", columns, err)
	}
}

func TestErrorsOfOtherKinds(t *testing.T) {
	for name, s := range map[string]*Store{"SQLite": sqliteForTest(t), "PostgreSQL": postgresForTest(t)} {
		_, err := s.db.ExecContext(t.Context(), "select nothing from nowhere")
		if err == nil || s.dialect.classify(err) != failOther || s.dialect.classify(errors.New("other")) != failOther {
			t.Errorf("%s: a faulty statement counts as %d (%v)", name, s.dialect.classify(err), err)
		}
	}
}
