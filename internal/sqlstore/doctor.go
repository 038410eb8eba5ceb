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

func fine(check, format string, args ...any) Finding {
	return Finding{check, LevelOK, fmt.Sprintf(format, args...), ""}
}

func warned(check, found, todo string) Finding { return Finding{check, LevelWarn, found, todo} }

func failed(check, found, todo string) Finding { return Finding{check, LevelFail, found, todo} }

// broken is a check that could not be run.
func broken(check string, err error) Finding {
	return failed(check, err.Error(), "see what the message says")
}

// reachTimeout bounds how long a database may take to answer at all.
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
		return []Finding{broken("schema", err)}
	}
	found := []Finding{judgeSchema(version, latestSchema)}
	schema := &schema{}
	if version > 0 && version <= latestSchema {
		if schema, err = schemaAt(ctx, version); err != nil {
			return append(found, broken("schema", err))
		}
		found = append(found, s.queries.examineTables(ctx, schema), s.queries.examineIndexes(ctx, schema))
	}
	return append(found, s.dialect.examine(ctx, s.queries, schema, deep)...)
}

func judgeSchema(version, latest int64) Finding {
	const check = "schema"
	switch {
	case version == 0:
		return warned(check, "the store has no schema yet", "start 'galley serve' or run 'galley migrate': both make it")
	case version < latest:
		return warned(check, fmt.Sprintf("version %d, and this program's is %d", version, latest), "make a backup, then start 'galley serve' or run 'galley migrate'")
	case version > latest:
		return failed(check, fmt.Sprintf("version %d, and this program knows versions up to %d", version, latest), "run the newer galley that the store was used with")
	}
	return fine(check, "version %d, up to date", version)
}

// examineTables checks that every table has every column.
func (q queries) examineTables(ctx context.Context, schema *schema) Finding {
	const check = "tables"
	for _, t := range schema.tables {
		if _, err := q.names(ctx, `select `+strings.Join(t.columnNames(), ", ")+` from `+t.name+` limit 0`); err != nil {
			return failed(check, fmt.Sprintf("table %s can't be read: %s", t.name, err), "restore the last backup into an empty store")
		}
	}
	return fine(check, "all %d are there with all their columns", len(schema.tables))
}

func (q queries) examineIndexes(ctx context.Context, schema *schema) Finding {
	const check = "indexes"
	names, err := q.names(ctx, q.dialect.indexes)
	if err != nil {
		return broken(check, err)
	}
	missing := slices.DeleteFunc(slices.Clone(schema.indexes), func(name string) bool { return slices.Contains(names, name) })
	if len(missing) > 0 {
		return failed(check, "missing or not valid: "+strings.Join(missing, ", "), "fill an empty store with 'galley copy': it has them all")
	}
	return fine(check, "all %d are there", len(schema.indexes))
}

// examineSQLite runs the checks that only SQLite has.
func examineSQLite(ctx context.Context, q queries, _ *schema, deep bool) []Finding {
	return []Finding{q.examineJournal(ctx), q.examineFile(ctx, deep)}
}

// examineJournal checks the settings that make a commit durable.
func (q queries) examineJournal(ctx context.Context) Finding {
	const check = "journal"
	mode, err := q.names(ctx, `pragma journal_mode`)
	if err != nil {
		return broken(check, err)
	}
	sync, err := q.names(ctx, `pragma synchronous`)
	if err != nil {
		return broken(check, err)
	}
	const wal, full = "wal", "2"
	if mode[0] != wal || sync[0] != full {
		return failed(check, fmt.Sprintf("mode %s and synchronous %s instead of %s and %s", mode[0], sync[0], wal, full), "keep the data folder on a local disk: network file systems can't do it")
	}
	return fine(check, "write-ahead log, synced at every commit")
}

// examineFile lets SQLite check the file itself.
func (q queries) examineFile(ctx context.Context, deep bool) Finding {
	check, queries := "quick check", []string{`pragma quick_check(5)`}
	if deep {
		check, queries = "deep check", []string{`pragma integrity_check(5)`,
			`select "table" || ' has a row without its ' || parent from pragma_foreign_key_check limit 5`}
	}
	var problems []string
	for _, query := range queries {
		said, err := q.names(ctx, query)
		if err != nil {
			said = []string{err.Error()}
		}
		problems = append(problems, slices.DeleteFunc(said, func(line string) bool { return line == "ok" })...)
	}
	if len(problems) > 0 {
		return failed(check, "the database file is damaged: "+strings.Join(problems, "; "), "stop the server, put the data folder aside, and restore the last backup into a new one")
	}
	return fine(check, "the database file is sound")
}
