package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Level is how bad a finding is.
type Level string

// Levels of findings.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn" // it works now, and may fail later
	LevelFail Level = "fail"
)

// Finding is the result of one check, and what to do about it.
type Finding struct {
	Check string
	Level Level
	Found string
	Todo  string // "": nothing
}

func fine(format string, args ...any) Finding {
	return Finding{Level: LevelOK, Found: fmt.Sprintf(format, args...)}
}

func warned(found, todo string) Finding { return Finding{Level: LevelWarn, Found: found, Todo: todo} }

func failed(found, todo string) Finding { return Finding{Level: LevelFail, Found: found, Todo: todo} }

// broken is the finding of a check that could not be run.
func broken(err error) Finding { return failed(err.Error(), "fix the error above") }

// named sets the name of a check.
func (f Finding) named(check string) Finding {
	f.Check = check
	return f
}

// reachTimeout bounds how long a database may take to respond.
const reachTimeout = 5 * time.Second

// IsNew reports whether a database has no schema yet.
func (s *Store) IsNew(ctx context.Context) (bool, error) {
	version, err := s.queries.schemaVersion(ctx)
	return version == 0, err
}

// Reach reports whether the database responds. It changes nothing.
func (s *Store) Reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	_, err := s.queries.schemaVersion(ctx)
	return err
}

// Examine checks a store that can be reached; a deep check reads all of it. It
// changes nothing.
func (s *Store) Examine(ctx context.Context, deep bool) []Finding {
	version, err := s.queries.schemaVersion(ctx)
	if err != nil {
		return []Finding{broken(err).named("schema")}
	}
	found := []Finding{judgeSchema(version, latestSchema).named("schema")}
	schema := &schema{}
	if version > 0 && version <= latestSchema {
		if schema, err = schemaAt(ctx, version); err != nil {
			return append(found, broken(err).named("schema"))
		}
		found = append(found, s.queries.examineTables(ctx, schema).named("tables"), s.queries.examineIndexes(ctx, schema).named("indexes"))
	}
	return append(found, s.dialect.examine(ctx, s.queries, schema, deep)...)
}

func judgeSchema(version, latest int64) Finding {
	switch {
	case version == 0:
		return warned("the store has no schema yet", "create it with 'galley serve' or 'galley migrate'")
	case version < latest:
		return warned(fmt.Sprintf("version %d; the latest is %d", version, latest), "make a backup, then start 'galley serve' or run 'galley migrate'")
	case version > latest:
		return failed(fmt.Sprintf("version %d; this program supports up to %d", version, latest), "use the newer galley that wrote the store")
	}
	return fine("version %d, up to date", version)
}

// examineTables checks that every table has every column.
func (q queries) examineTables(ctx context.Context, schema *schema) Finding {
	for _, name := range schema.names {
		if _, err := q.names(ctx, `select `+strings.Join(schema.tables[name].names, ", ")+` from `+name+` limit 0`); err != nil {
			return failed(fmt.Sprintf("can't read table %s: %s", name, err), "restore the last backup to an empty store")
		}
	}
	return fine("all %d tables have all their columns", len(schema.names))
}

func (q queries) examineIndexes(ctx context.Context, schema *schema) Finding {
	names, err := q.names(ctx, q.dialect.indexes)
	if err != nil {
		return broken(err)
	}
	missing := slices.DeleteFunc(slices.Clone(schema.indexes), func(name string) bool { return slices.Contains(names, name) })
	if len(missing) > 0 {
		return failed("missing or invalid: "+strings.Join(missing, ", "), "copy the store to an empty one with 'galley copy', which creates them")
	}
	return fine("all %d indexes exist", len(schema.indexes))
}

// examineSQLite runs the checks that only SQLite has.
func examineSQLite(ctx context.Context, q queries, _ *schema, deep bool) []Finding {
	check, statements := "quick check", []string{`pragma quick_check(5)`}
	if deep {
		check, statements = "deep check", []string{`pragma integrity_check(5)`,
			`select "table" || ' has a row without its ' || parent from pragma_foreign_key_check limit 5`}
	}
	return []Finding{q.examineJournal(ctx).named("journal"), q.examineFile(ctx, statements).named(check)}
}

// examineJournal checks the settings that make a commit durable.
func (q queries) examineJournal(ctx context.Context) Finding {
	const wal, full = "wal", "2"
	mode, err := value[string](ctx, q, `pragma journal_mode`)
	if err != nil {
		return broken(err)
	}
	sync, err := value[string](ctx, q, `pragma synchronous`)
	if err != nil {
		return broken(err)
	}
	if mode != wal || sync != full {
		return failed(fmt.Sprintf("mode %s and synchronous %s instead of %s and %s", mode, sync, wal, full), "move the data folder to a local disk: network file systems don't support it")
	}
	return fine("write-ahead log, synced at every commit")
}

// examineFile runs SQLite's own checks of the file.
func (q queries) examineFile(ctx context.Context, statements []string) Finding {
	var problems []string
	for _, statement := range statements {
		lines, err := q.names(ctx, statement)
		if err != nil {
			lines = []string{err.Error()}
		}
		problems = append(problems, slices.DeleteFunc(lines, func(line string) bool { return line == "ok" })...)
	}
	if len(problems) > 0 {
		return failed("the database file is damaged: "+strings.Join(problems, "; "), "stop the server, move the data folder away, and restore the last backup to a new one")
	}
	return fine("the database file is intact")
}
