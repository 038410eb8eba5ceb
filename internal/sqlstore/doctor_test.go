package sqlstore

import (
	"slices"
	"strings"
	"testing"
	"time"

	"galley/internal/pgtest"
)

// findings are what an examination found, by check.
func findings(t *testing.T, s *Store, deep bool) map[string]Finding {
	t.Helper()
	found := map[string]Finding{}
	for _, f := range s.Examine(t.Context(), deep) {
		if _, twice := found[f.Check]; twice {
			t.Errorf("%s was checked twice", f.Check)
		}
		if (f.Todo == "") != (f.Level == LevelOK) || f.Found == "" {
			t.Errorf("%v does not say what to do", f)
		}
		found[f.Check] = f
	}
	return found
}

// notOK are the checks that found something.
func notOK(found map[string]Finding) []string {
	var checks []string
	for check, f := range found {
		if f.Level != LevelOK {
			checks = append(checks, check)
		}
	}
	slices.Sort(checks)
	return checks
}

// usual is what is always found in a test: the server does not sync.
var usual = map[string][]string{"sqlite": nil, "postgres": {"durability"}}

func TestExamine(t *testing.T) {
	for name, c := range map[string]struct {
		engines string // on which it can be done
		do      string
		check   string
		level   Level
		says    string
	}{
		"nothing":          {"sqlite postgres", `select 1`, "", "", ""},
		"no index":         {"sqlite postgres", `drop index page_by_path`, "indexes", LevelFail, "page_by_path"},
		"no column":        {"sqlite postgres", `alter table app drop column rate`, "tables", LevelFail, "app"},
		"no table":         {"sqlite postgres", `drop table copy_id`, "tables", LevelFail, "copy_id"},
		"newer":            {"sqlite postgres", `insert into goose_db_version (version_id, is_applied) values (999, true)`, "schema", LevelFail, "999"},
		"index not valid":  {"postgres", `update pg_index set indisvalid = false where indexrelid = 'page_by_path'::regclass`, "indexes", LevelFail, "page_by_path"},
		"other collation":  {"postgres", `alter table page alter column title_sort type text collate "default"`, "text", LevelFail, "page.title_sort"},
		"a stranger's own": {"postgres", `create table stranger (t text)`, "", "", ""},
	} {
		for engine := range strings.FieldsSeq(c.engines) {
			t.Run(name+"/"+engine, func(t *testing.T) {
				s := readyForTest(t, dumpEngines[engine](t), nil)
				if _, err := s.db.ExecContext(t.Context(), c.do); err != nil {
					t.Fatal(err)
				}
				found, want := findings(t, s, true), slices.Clone(usual[engine])
				if c.check != "" {
					want = append(want, c.check)
				}
				slices.Sort(want)
				if got := notOK(found); !slices.Equal(got, want) {
					t.Errorf("found %v, want %v: %v", got, want, found)
				}
				if f := found[c.check]; c.check != "" && (f.Level != c.level || !strings.Contains(f.Found, c.says)) {
					t.Errorf("found %v", f)
				}
			})
		}
	}
}

func TestExamineOfAnUnusedStore(t *testing.T) {
	for name, open := range dumpEngines {
		s := open(t)
		if f := findings(t, s, false)["schema"]; f.Level != LevelWarn {
			t.Errorf("%s: %v", name, f)
		}
		if there, err := s.queries.names(t.Context(), s.dialect.tables); err != nil || len(there) > 0 {
			t.Errorf("%s: an examination made %v (%v)", name, there, err)
		}
	}
}

func TestExamineSeesAnOlderSchema(t *testing.T) {
	for name, open := range dumpEngines {
		s := open(t)
		provider, err := s.provider()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := provider.UpTo(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		found := findings(t, s, false)
		if f := found["schema"]; f.Level != LevelWarn || !strings.Contains(f.Found, "version 1") {
			t.Errorf("%s: %v", name, f)
		}
		for _, check := range []string{"tables", "indexes"} { // of that schema
			if found[check].Level != LevelOK {
				t.Errorf("%s: %v", name, found[check])
			}
		}
	}
}

// Only a deep look sees rows that refer to nothing.
func TestDeepLookAtSQLite(t *testing.T) {
	s := sqliteForTest(t)
	conn, err := s.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`pragma foreign_keys = 0`,
		`insert into app_key (hash, workspace_id, app_id) values (x'01', x'02', x'03')`,
		`pragma foreign_keys = 1`,
	} {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	_ = conn.Close()
	if got := notOK(findings(t, s, false)); len(got) > 0 {
		t.Errorf("a quick look found %v", got)
	}
	f := findings(t, s, true)["deep check"]
	if f.Level != LevelFail || !strings.Contains(f.Found, "app_key has a row without its app") || strings.Contains(f.Found, "ok") {
		t.Errorf("a deep look found %v", f)
	}
}

func TestJournalThatIsNotAsItShouldBe(t *testing.T) {
	for _, pragma := range []string{`pragma journal_mode = delete`, `pragma synchronous = normal`} {
		pool := writingSessions(t, t.TempDir()+"/db")
		s, err := pool.take(t.Context())
		do(t, err)
		defer pool.give(s)
		q := queries{conn: s, dialect: sqliteDialect}
		if f := q.examineJournal(t.Context()); f.Level != LevelOK {
			t.Errorf("at first: %v", f)
		}
		if err := q.run(t.Context(), pragma); err != nil {
			t.Fatal(err)
		}
		if f := q.examineJournal(t.Context()); f.Level != LevelFail {
			t.Errorf("after %s: %v", pragma, f)
		}
	}
}

func TestJudgementsOfAServer(t *testing.T) {
	good := server{number: 150004, version: "15.4", syncs: true, synchronousCommit: "on", connections: 100, reserved: 3}
	change := func(do func(*server)) server { s := good; do(&s); return s }
	for name, c := range map[string]struct {
		got  Finding
		want Level
	}{
		"version":             {good.judgeVersion(), LevelOK},
		"old version":         {change(func(s *server) { s.number = 140009 }).judgeVersion(), LevelWarn},
		"too old":             {change(func(s *server) { s.number = 120022 }).judgeVersion(), LevelFail},
		"syncs":               {good.judgeDurability(), LevelOK},
		"does not sync":       {change(func(s *server) { s.syncs = false }).judgeDurability(), LevelFail},
		"commits early":       {change(func(s *server) { s.synchronousCommit = "off" }).judgeDurability(), LevelFail},
		"connections":         {good.judgeConnections(), LevelOK},
		"just enough":         {change(func(s *server) { s.connections = nodeConns + 3 }).judgeConnections(), LevelOK},
		"too few connections": {change(func(s *server) { s.connections = nodeConns + 2 }).judgeConnections(), LevelWarn},
		"clock":               {judgeClock(0, 0), LevelOK},
		"clock a bit off":     {judgeClock(-time.Second, 0), LevelOK},
		"clock ahead":         {judgeClock(1001*time.Millisecond, 0), LevelWarn},
		"clock behind":        {judgeClock(-1001*time.Millisecond, 0), LevelWarn},
		"slow answer":         {judgeClock(1400*time.Millisecond, time.Second), LevelOK},
		"slow and off":        {judgeClock(1600*time.Millisecond, time.Second), LevelWarn},
		"schema":              {judgeSchema(3, 3), LevelOK},
		"schema newer":        {judgeSchema(4, 3), LevelFail},
	} {
		if c.got.Level != c.want {
			t.Errorf("%s: %v", name, c.got)
		}
	}
}

// A listener that can be reached is of no use unless it receives notifications.
func TestExamineListener(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	store, err := OpenPostgres(url, nil)
	s := readyForTest(t, store, err)
	for name, c := range map[string]struct {
		url   string
		level Level
		says  string
	}{
		"the same database":    {url, LevelOK, "receives"},
		"another database":     {pgtest.URL(t), LevelFail, "does not receive"},
		"no server":            {"postgres://127.0.0.1:1/none", LevelFail, "can't be reached"},
		"no URL of a database": {"http://127.0.0.1", LevelFail, ""},
	} {
		got := s.ExamineListener(t.Context(), c.url)
		for try := 1; try < 5 && got.Level != c.level; try++ { // a busy machine may not hear in time
			got = s.ExamineListener(t.Context(), c.url)
		}
		if got.Level != c.level || !strings.Contains(got.Found, c.says) || (got.Todo == "") != (c.level == LevelOK) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
