package sqlstore

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Sites can be spread over partitions or machines as long as a row is found by
// its site, and a statement is about one site. docs/scaling.md says what these
// tests hold up; a table, index or statement that is not listed fails.

// notBySite are the tables whose key does not lead with the site, and why.
var notBySite = map[string]string{
	"installation":   "it has one row",
	"workspace":      "sites belong to it; there are few",
	"app":            "it belongs to a workspace, whose sites may be anywhere; there are few",
	"app_key":        "a key comes before anybody knows which site it is for; there are few",
	"site_key":       "a key comes before anybody knows which site it is for; one or two a site",
	"site_label":     "a workspace's sites are listed by label; a few a site",
	"directory":      "an id comes before anybody knows which site it is of",
	"replica_mark":   "it belongs to a node; there are few",
	"kept_answer":    "it belongs to a credential, and the request may be about no site; kept for a day",
	"webhook":        "it belongs to a workspace, whose sites may be anywhere; there are few",
	"webhook_replay": "it belongs to a webhook; there are few",
	"delivery":       "it belongs to a webhook, and its event may be of no site",
	"audit":          "it is replaced by audit_entry",
	"audit_entry":    "it belongs to a workspace, and the write may be about no site",
	"event":          "it belongs to a workspace, and is in the order of the workspace",
	"event_pending":  "all events are numbered in one order; there are few",
}

// notBySiteIndexes are indexes of the other tables that do not lead with the
// site, and why. None of them is unique.
var notBySiteIndexes = map[string]string{
	"site_workspace":    "a workspace's sites are listed",
	"site_trash":        "a workspace's deleted sites are listed",
	"site_origin":       "a URL leads to its site",
	"locale_origin":     "a URL leads to its site",
	"site_deleted":      "deleted sites are purged, whosever they are",
	"publish_due":       "scheduled publishes are run, whosever they are",
	"publish_published": "old publishes are purged, whosever they are",
	"preview_token":     "a token comes before anybody knows which site it is for",
	"preview_end":       "previews that have ended are purged, whosever they are",
}

// crossing are the statements that are not about one site, by a part of their
// text, and why.
var crossing = map[string]string{
	"(select d.site_id from directory d":          "a page is asked for by its id alone",
	"join site_key k":                             "a Site key leads to its site",
	"select s.id from site s where s.host_origin": "a URL leads to its site",
	"where s.workspace_id = ":                     "a workspace's sites are listed",
	"join site_label b":                           "a workspace's sites are listed by label",
	"select id, workspace_id from site":           "an app is given some sites",
	"where s.deleted_at < ":                       "deleted sites are purged",
	"p.status = 'scheduled'":                      "scheduled publishes are run, and listed",
	"where token_hash = ":                         "a token leads to its preview",
	"from preview where expires_at < ":            "previews that have ended are purged",
	"group by site_id":                            "old publishes are purged",
	"from content where site_id > ":               "unused contents are purged, site by site",
	"from search_mark where site_id > ":           "written pages are indexed, site by site",
	"unindexed is not null and site_id > ":        "pages are indexed, site by site",
	"from content c join site s":                  "a site is duplicated: one is read, the other written",
	"join copy_id c":                              "a site is duplicated: one is read, the other written",
}

// index is an index as an engine describes it. A table's key is one.
type index struct {
	table, name, first string
	primary, unique    bool
}

// indexQueries ask for every index and its first column.
var indexQueries = map[string]string{
	"sqlite": `select m.name, l.name, coalesce(i.name, ''), l.origin = 'pk', l."unique"
		from sqlite_master m join pragma_index_list(m.name) l join pragma_index_info(l.name) i on i.seqno = 0
		where m.type = 'table'`,
	"postgres": `select t.relname, c.relname, pg_get_indexdef(i.indexrelid, 1, true), i.indisprimary, i.indisunique
		from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
		where t.relnamespace = current_schema()::regnamespace`,
}

// referenceQueries ask for every table that refers to another one, and the
// first column that does.
var referenceQueries = map[string]string{
	"sqlite": `select m.name, f."from" from sqlite_master m join pragma_foreign_key_list(m.name) f
		where m.type = 'table' and f.seq = 0`,
	"postgres": `select t.relname, a.attname from pg_constraint k join pg_class t on t.oid = k.conrelid
		join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
		where k.contype = 'f' and t.relnamespace = current_schema()::regnamespace`,
}

func scanIndex(r row) (i index, err error) {
	return i, r.Scan(&i.table, &i.name, &i.first, &i.primary, &i.unique)
}

// bySite reports whether an index leads with the site.
func (i index) bySite() bool {
	return i.first == "site_id" || (i.table == "site" && i.first == "id")
}

// tableNames are the schema's tables.
func tableNames(t *testing.T) []string {
	t.Helper()
	schema, err := schemaAt(t.Context(), latestForTest(t))
	do(t, err)
	return schema.names
}

// indexesOf are all indexes of a store, and for each table with a key whether
// that leads with the site.
func indexesOf(t *testing.T, s *Store, engine string) (indexes []index, led map[string]bool) {
	t.Helper()
	indexes, err := all(t.Context(), s.queries, scanIndex, indexQueries[engine])
	do(t, err)
	led = map[string]bool{}
	for _, i := range indexes {
		if i.primary {
			led[i.table] = i.bySite()
		}
	}
	return indexes, led
}

func TestEveryKeyLeadsWithTheSite(t *testing.T) {
	for name, s := range map[string]*Store{"sqlite": sqliteForTest(t), "postgres": postgresForTest(t)} {
		t.Run(name, func(t *testing.T) {
			tables := tableNames(t)
			indexes, led := indexesOf(t, s, name)
			for _, table := range tables {
				bySite, hasKey := led[table]
				_, excepted := notBySite[table]
				if !hasKey || bySite == excepted {
					t.Errorf("%s: has a key: %t, that leads with the site: %t, is listed as one that does not: %t",
						table, hasKey, bySite, excepted)
				}
			}
			for table := range notBySite {
				if !slices.Contains(tables, table) {
					t.Errorf("%s is listed, and there is no such table", table)
				}
			}
			checkIndexes(t, indexes, led)
			checkReferences(t, s, name, led)
		})
	}
}

// checkIndexes checks all indexes of the tables that are led by the site: one
// that is unique can only be so within its site.
func checkIndexes(t *testing.T, indexes []index, led map[string]bool) {
	t.Helper()
	seen := map[string]bool{}
	for _, i := range indexes {
		if !led[i.table] || i.bySite() {
			continue
		}
		seen[i.name] = true
		if _, excepted := notBySiteIndexes[i.name]; !excepted || i.unique {
			t.Errorf("index %s of %s leads with %s, unique: %t", i.name, i.table, i.first, i.unique)
		}
	}
	for name := range notBySiteIndexes {
		if !seen[name] {
			t.Errorf("index %s is listed, and there is none that does not lead with the site", name)
		}
	}
}

// checkReferences checks that rows of a site refer to rows of that site.
func checkReferences(t *testing.T, s *Store, engine string, led map[string]bool) {
	t.Helper()
	type reference struct{ table, first string }
	references, err := all(t.Context(), s.queries, func(r row) (f reference, err error) {
		return f, r.Scan(&f.table, &f.first)
	}, referenceQueries[engine])
	do(t, err)
	if len(references) < 7 {
		t.Errorf("only %d references were seen", len(references))
	}
	for _, f := range references {
		if led[f.table] && f.first != "site_id" {
			t.Errorf("%s refers to another table by %s", f.table, f.first)
		}
	}
}

var (
	// usedTable is a table that a statement reads or writes.
	usedTable = regexp.MustCompile(`\b(?:from|join|into|update) (\w+)`)
	// namedSite is a place where a statement names a site.
	namedSite = regexp.MustCompile(`\b(?:site_id|s\.id|site where id|shape = shape \+ 1 where id) = \$(\d+)`)
	// filedRow is a new row that names its site.
	filedRow = regexp.MustCompile(`^insert into (?:site \(id|\w+ \([^)]*\bsite_id)\b[^)]*\) values`)
)

// sitesOf returns the sites that a statement names.
func sitesOf(t *testing.T, query string, args []any) map[any]bool {
	t.Helper()
	sites := map[any]bool{}
	for _, found := range namedSite.FindAllStringSubmatch(query, -1) {
		n, err := strconv.Atoi(found[1])
		do(t, err)
		sites[args[n-1]] = true
	}
	return sites
}

// The engines share one text, but for how lists are passed, so one of them is
// enough.
func TestNoStatementCrossesSitesWithoutNeed(t *testing.T) {
	s := postgresForTest(t)
	_, led := indexesOf(t, s, "postgres")
	site := seedSite(t, s)
	r := recorder{nil, map[string]statement{}}
	undone(t, s, func(c conn) {
		r.conn = c
		useEverything(t, queries{conn: r, dialect: s.dialect}, site)
	})
	if len(r.sent) < 80 {
		t.Errorf("only %d statements were seen", len(r.sent))
	}
	needed := map[string]bool{}
	for _, sent := range r.sent {
		query := strings.Join(strings.Fields(rebind(sent.query)), " ")
		ofSites := slices.ContainsFunc(usedTable.FindAllStringSubmatch(query, -1), func(used []string) bool { return led[used[1]] })
		sites := sitesOf(t, query, sent.args)
		if !ofSites || len(sites) == 1 || (len(sites) == 0 && filedRow.MatchString(query)) {
			continue
		}
		excepted := false
		for part := range crossing {
			if strings.Contains(query, part) {
				excepted, needed[part] = true, true
			}
		}
		if !excepted {
			t.Errorf("this is about %d sites:\n%s", len(sites), query)
		}
	}
	for part := range crossing {
		if !needed[part] {
			t.Errorf("%q is listed, and no statement that has it crosses sites", part)
		}
	}
}

func TestScalingTellsOfEveryTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/scaling.md")
	do(t, err)
	for _, table := range tableNames(t) {
		if !strings.Contains(string(text), "\n| `"+table+"` |") {
			t.Errorf("docs/scaling.md has no row for the table %s", table)
		}
	}
}
