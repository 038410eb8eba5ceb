package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// examineSQLite looks at what is SQLite's own.
func examineSQLite(ctx context.Context, q queries, _ *schema, deep bool) []Finding {
	return []Finding{q.examineJournal(ctx), q.examineFile(ctx, deep)}
}

// examineJournal checks what an answered write rests on.
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
		return Finding{
			check, LevelFail, fmt.Sprintf("mode %s and synchronous %s instead of %s and %s", mode[0], sync[0], wal, full),
			"keep the data folder on a local disk: network file systems can't do it",
		}
	}
	return fine(check, "write-ahead log, synced at every commit")
}

// examineFile lets SQLite check the file itself.
func (q queries) examineFile(ctx context.Context, deep bool) Finding {
	check, looks := "quick check", []string{`pragma quick_check(5)`}
	if deep {
		check, looks = "deep check", []string{`pragma integrity_check(5)`,
			`select "table" || ' has a row without its ' || parent from pragma_foreign_key_check limit 5`}
	}
	var problems []string
	for _, look := range looks {
		said, err := q.names(ctx, look)
		if err != nil {
			said = []string{err.Error()}
		}
		problems = append(problems, slices.DeleteFunc(said, func(line string) bool { return line == "ok" })...)
	}
	if len(problems) > 0 {
		return Finding{
			check, LevelFail, "the database file is damaged: " + strings.Join(problems, "; "),
			"stop the server, put the data folder aside, and restore the last backup into a new one",
		}
	}
	return fine(check, "the database file is sound")
}
