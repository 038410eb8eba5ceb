package sqlstore_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	sqlComment = regexp.MustCompile(`(?m)--.*$`)
	newTable   = regexp.MustCompile(`^create table (\w+)`)
	newIndex   = regexp.MustCompile(`^create (?:unique )?index \w+ on (\w+)`)
	// quick matches what is fast on tables of any size: a default that is
	// no constant would be written into every row. Triggers only wait for writers.
	quick = regexp.MustCompile(`^(alter table \w+ add column \w+ [\w{}. ]+( default \d+)?|drop index \w+|{{\.(Statistics|Counters|ContentCounters)}}|{{\.MarkWritten}} insert into search_site .* from site)$`)
)

// smallTables have at most some rows for each site, so an index on them takes no more
// than a second or two.
var smallTables = []string{"site", "locale"}

// Others serve while a migration holds its tables: see docs/adr/0010.
func TestMigrationsAreQuick(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files[1:] { // before the first there are no rows
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		made := slices.Clone(smallTables)
		for statement := range strings.SplitSeq(sqlComment.ReplaceAllString(string(text), ""), ";") {
			statement = strings.Join(strings.Fields(statement), " ")
			if m := newTable.FindStringSubmatch(statement); m != nil {
				made = append(made, m[1])
				continue
			}
			index := newIndex.FindStringSubmatch(statement)
			if statement != "" && !quick.MatchString(statement) && (index == nil || !slices.Contains(made, index[1])) {
				t.Errorf("%s: this may take long on large tables: %s", file, statement)
			}
		}
	}
}
