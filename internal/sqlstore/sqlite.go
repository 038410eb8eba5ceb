package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var sqliteDialect = &dialect{
	name:  "sqlite",
	local: true,
	goose: goose.DialectSQLite3,
	size:  `select page_count * page_size from pragma_page_count, pragma_page_size`,
	words: map[string]string{
		"UUID": "blob", "Text": "text", "Bytes": "blob",
		"Clustered": " without rowid", "Statistics": sqliteStatistics, "Counters": sqliteCounters, "ContentCounters": sqliteContentCounters,
		"NoID": "zeroblob(16)", "Transaction": "0", "MarkWritten": sqliteMarks, // there is one writer
		"Number": "bigint primary key",
	},
	among: func(column string, values []any) (string, []any) {
		return column + ` in (` + marks(len(values)) + `)`, values
	},
	// It reads the selects alternately, a row at a time.
	merge: func(selects []string, order string) string {
		return strings.Join(selects, ` union all `) + order
	},
	pathList: `group_concat(hex(o.locale_id) || ' ' || o.pathname, char(10))`,
	classify: classifySQLite,

	tables:      `select name from sqlite_master where type = 'table'`,
	indexes:     `select name from sqlite_master where type = 'index'`,
	definitions: `select name, sql from sqlite_master where type = 'index' and sql is not null`,
	// Sorting for an index takes this much memory before it uses the disk.
	fill: []string{`pragma temp_store = file`, `pragma cache_size = -32768`},
	// The log of one big transaction is as big as the database.
	filled:  func([]string) []string { return []string{sqliteGuesses + `pragma wal_checkpoint(truncate)`} },
	examine: examineSQLite,
}

// sqliteStatistics give SQLite's planner the statistics of large tables: the number
// of rows, and how many share the first one, two and more columns of an index.
// Without them any index on the site seems as good as one on the page. An index
// that is created again has lost its own.
const sqliteStatistics = `
analyze;` + sqliteGuesses

const sqliteGuesses = `
delete from sqlite_stat1;
insert into sqlite_stat1 (tbl, idx, stat) values
  ('site', 'site', '1000 1'),
  ('site', 'site_workspace', '1000 1000 1'),
  ('locale', 'locale', '5000 5 1'),
  ('directory', 'directory', '1000000 1'),
  ('pathname', 'pathname', '1000000 10000 5000 1 1'),
  ('page', 'sqlite_autoindex_page_1', '1000000 10000 5000 2 1'),
  ('page', 'page_dirty', '10000 100 1'),
  ('page', 'page_since', '500000 5000 50 2'),
  ('page', 'page_by_path', '1000000 10000 5000 2500 2000 1 1'),
  ('page', 'page_by_title', '1000000 10000 5000 2500 2000 2 1'),
  ('page', 'page_by_description', '1000000 10000 5000 2500 2000 20 1'),
  ('page', 'page_by_created', '1000000 10000 5000 2500 2000 2 1'),
  ('page', 'page_by_updated', '1000000 10000 5000 2500 2000 2 1'),
  ('page_past', 'sqlite_autoindex_page_past_1', '1000000 10000 10 2 1'),
  ('page_past', 'page_past_since', '1000000 10000 100 2'),
  ('page_past', 'page_past_until', '1000000 10000 100 2'),
  ('page_past', 'page_past_by_path', '1000000 10000 5000 4000 10 10'),
  ('publish', 'sqlite_autoindex_publish_1', '10000 100 1'),
  ('publish', 'publish_created', '10000 100 1 1'),
  ('publish', 'publish_seq', '10000 100 1'),
  ('audit', 'sqlite_autoindex_audit_1', '1000000 100000 1'),
  ('audit', 'audit_site', '1000000 100000 1000 1'),
  ('audit', 'audit_resource', '1000000 100000 5 1'),
  ('audit', 'audit_app', '1000000 100000 50000 1');`

// sqliteMarks mark the pages to be indexed for searches.
const sqliteMarks = `
create trigger search_created after insert on page when new.version = 0 begin
  insert into search_mark (site_id, id) values (new.site_id, new.id) on conflict do nothing;
end;
create trigger search_changed after update of name, pathname, title on page
when new.version = 0 and (new.name is not old.name or new.pathname is not old.pathname or new.title is not old.title) begin
  insert into search_mark (site_id, id) values (new.site_id, new.id) on conflict do nothing;
end;`

// DatabaseFile is the name of the database in the data folder.
const DatabaseFile = "galley.db"

// A write touches about a dozen pages all over the file, so that SQLite's default
// cache of 2 MB would read most of them again each time: these take a sixth off
// writes and lists. A checkpoint after 16,000 pages instead of 1,000 allows more
// writes a second; the log then takes 64 MB, and a checkpoint some 100 ms.
const (
	writerCache     = "cache_size(-32768)" // KiB
	readerCache     = "cache_size(-8192)"  // of each connection that reads
	checkpointAfter = "wal_autocheckpoint(16000)"
	maxReaders      = 16 // half of the pool's size
)

// OpenSQLite opens the database in a folder, which it creates if need be.
//
// One connection writes, so that writers queue in Go and the database is never
// busy; others read, each on a snapshot of its own. Every commit is synced to the
// disk before it returns.
func OpenSQLite(dir string, observe Observe) (*Store, error) {
	if err := makeFolder(dir); err != nil {
		return nil, fmt.Errorf("can't create the data folder: %w", err)
	}
	file := filepath.Join(dir, DatabaseFile)
	// SQLite's own message for a folder that can't be written is misleading.
	probe, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("can't write to the data folder: %w", err)
	}
	was, err := probe.Stat()
	if err := errors.Join(err, probe.Close()); err != nil {
		return nil, fmt.Errorf("can't write to the data folder: %w", err)
	}
	at := place{file, was}
	e := &sqliteEngine{
		place:   at,
		reading: newSessions(sqliteConnector(at, "deferred", "query_only(1)", readerCache), 2*min(max(4, runtime.NumCPU()), maxReaders), "begin"),
	}
	toWrite := sqliteConnector(at, "immediate", writerCache, checkpointAfter)
	e.writing = newSessions(toWrite, 1, "begin immediate")
	e.writer = newWriter(func(ctx context.Context) (*sessionTx, error) {
		if err := at.check(); err != nil {
			return nil, err
		}
		return e.writing.start(ctx)
	}, sqliteDialect.fail)
	db := sql.OpenDB(toWrite)
	db.SetMaxOpenConns(1)
	s := newStore(sqliteDialect, e, db, observe)
	s.listen = listenSQLite(e.writing)
	return s, nil
}

// errMoved reports that the data folder was moved or replaced under a running
// server. SQLite would go on writing to the file that it has open and read another,
// so the file is checked before each write and each new connection.
var errMoved = errors.New("the database file was moved, replaced or removed while it was in use: put it back, or restart")

// place is a database's file, as it was when the store was opened.
type place struct {
	file string
	was  os.FileInfo
}

// check returns an error if the file is no longer there.
func (p place) check() error {
	is, err := os.Stat(p.file)
	if err != nil {
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	if !os.SameFile(p.was, is) {
		return errMoved
	}
	return nil
}

// placeConnector opens connections to the file that the store was opened with.
type placeConnector struct {
	place
	name string // with the settings of connections
}

func (c placeConnector) Driver() driver.Driver { return &sqlite.Driver{} }

func (c placeConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.name)
	if moved := c.check(); moved != nil {
		if err == nil {
			err = conn.Close()
		}
		return nil, errors.Join(moved, err)
	}
	return conn, err
}

// makeFolder creates a folder and its parents, and syncs them, so that a power cut
// does not remove the folder of a database that was synced.
func makeFolder(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if parent != dir {
		if err := makeFolder(parent); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	above, err := os.Open(parent)
	if err != nil {
		return err
	}
	return errors.Join(above.Sync(), above.Close())
}

func sqliteConnector(at place, txLock string, pragmas ...string) placeConnector {
	query := url.Values{"_txlock": {txLock}, "mode": {"rw"}} // "rw": it must exist
	usual := []string{"busy_timeout(10000)", "journal_mode(wal)", "synchronous(full)", "foreign_keys(1)", "temp_store(memory)"}
	for _, pragma := range append(usual, pragmas...) {
		query.Add("_pragma", pragma)
	}
	name := url.URL{Scheme: "file", Opaque: url.PathEscape(at.file), RawQuery: query.Encode()}
	return placeConnector{at, name.String()}
}

// Damaged reports whether SQLite found a file to be no database, or a corrupt one.
func Damaged(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_NOTADB || e.Code()&0xff == sqlite3.SQLITE_CORRUPT)
}

func classifySQLite(err error) failure {
	if errors.Is(err, errMoved) {
		return failUnavailable
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return failOther
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return failUnique
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return failBusy
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return failUnavailable
	}
	return failOther
}
