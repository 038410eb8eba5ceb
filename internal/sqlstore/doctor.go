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
	LevelWarn Level = "warn" // it works, and will not for ever
	LevelFail Level = "fail"
)

// Finding is what a look at one thing found, and what to do about it.
type Finding struct {
	Check string
	Level Level
	Found string
	Todo  string // "": nothing
}

func fine(check, format string, args ...any) Finding {
	return Finding{check, LevelOK, fmt.Sprintf(format, args...), ""}
}

// broken is a look that failed itself.
func broken(check string, err error) Finding {
	return Finding{check, LevelFail, err.Error(), "see what the message says"}
}

// reachTimeout bounds how long a database may take to answer at all.
const reachTimeout = 5 * time.Second

// IsNew tells whether nothing has been made of a database yet.
func (s *Store) IsNew(ctx context.Context) (bool, error) {
	version, err := s.queries.schemaVersion(ctx)
	return version == 0, err
}

// Reach tells whether the store answers. It changes nothing.
func (s *Store) Reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	_, err := s.queries.schemaVersion(ctx)
	return err
}

// Examine looks at everything that can be wrong with a store that answers; a
// deep look reads all of it. It changes nothing.
func (s *Store) Examine(ctx context.Context, deep bool) []Finding {
	version, err := s.queries.schemaVersion(ctx)
	if err != nil {
		return []Finding{broken("schema", err)}
	}
	latest, err := LatestSchema()
	if err != nil {
		return []Finding{broken("schema", err)}
	}
	found := []Finding{judgeSchema(version, latest)}
	schema := &schema{}
	if version > 0 && version <= latest {
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
		return Finding{check, LevelWarn, "the store has no schema yet", "start 'galley serve' or run 'galley migrate': both make it"}
	case version < latest:
		return Finding{check, LevelWarn, fmt.Sprintf("version %d, and this program's is %d", version, latest), "make a backup, then start 'galley serve' or run 'galley migrate'"}
	case version > latest:
		return Finding{check, LevelFail, fmt.Sprintf("version %d, and this program knows versions up to %d", version, latest), "run the newer galley that the store was used with"}
	}
	return fine(check, "version %d, up to date", version)
}

// examineTables checks that every table has every column.
func (q queries) examineTables(ctx context.Context, schema *schema) Finding {
	const check = "tables"
	for _, t := range schema.tables {
		if _, err := q.names(ctx, `select `+strings.Join(t.columnNames(), ", ")+` from `+t.name+` limit 0`); err != nil {
			return Finding{check, LevelFail, fmt.Sprintf("table %s can't be read: %s", t.name, err), "restore the last backup into an empty store"}
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
		return Finding{
			check, LevelFail, "missing or not valid: " + strings.Join(missing, ", "),
			"fill an empty store with 'galley copy': it has them all",
		}
	}
	return fine(check, "all %d are there", len(schema.indexes))
}
