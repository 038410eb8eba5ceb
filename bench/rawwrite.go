package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver that the service uses
)

// rawWriter is the limit of durable writes: one goroutine writes the rows that
// Galley would, into a copy of its database and with the same driver, and
// commits together whatever has queued up meanwhile. It decides nothing and
// answers nobody.
type rawWriter struct {
	model  *galley
	from   string // Galley's folder
	folder string // of the copy

	creates, updates []statement
	db               *sql.DB
	queue            chan write
	next             atomic.Int64
}

// databaseFile is the name of the database in Galley's folder.
const databaseFile = "galley.db"

func (w *rawWriter) name() string           { return rawWriteLimit }
func (w *rawWriter) does(op operation) bool { return op.action == create || op.action == update }
func (w *rawWriter) service() []int         { return []int{os.Getpid()} }
func (w *rawWriter) database() []int        { return nil }

// statement is one that a write of Galley's comes down to. Its arguments are
// values as they were stored, or what stands in their place.
type statement struct {
	text string
	args []any
}

// slot is an argument that differs from write to write.
type slot int

const (
	slotPage slot = iota
	slotSite
	slotPathname
	slotTitle
	slotTime
	slotNew // the id of a row that only tells of the write
)

// write is one that waits for its commit.
type write struct {
	statements []statement
	values     map[slot]any
	done       chan error
}

func (w *rawWriter) start(context.Context) error {
	file := filepath.Join(w.folder, databaseFile)
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return nil // nothing was loaded yet
	}
	// With the settings of Galley's own writer.
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)"+
		"&_pragma=synchronous(full)&_pragma=foreign_keys(1)&_pragma=cache_size(-32768)&_pragma=wal_autocheckpoint(16000)")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	w.db, w.queue = db, make(chan write, connections)
	go w.commitAll()
	return nil
}

func (w *rawWriter) stop() error {
	if w.db == nil {
		return nil
	}
	close(w.queue)
	err := w.db.Close()
	w.db = nil
	return err
}

// load learns what Galley writes, from its database before and after a write,
// and takes a copy of the database.
func (w *rawWriter) load(ctx context.Context, _ dataset) error {
	if err := w.learn(ctx); err != nil {
		return err
	}
	if err := w.model.stop(); err != nil {
		return err
	}
	if err := copyFolder(w.from, w.folder); err != nil {
		return err
	}
	return w.model.start(ctx)
}

func (w *rawWriter) learn(ctx context.Context) error {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.from, databaseFile)+"?_pragma=query_only(1)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // it was only read
	siteID := w.model.loaded.siteIDs[0]
	var made struct{ ID string }
	body := map[string]any{"siteId": siteID, "pathname": "/raw", "title": "Raw", "description": w.model.loaded.pages[0].description}
	if err := w.model.call(ctx, "POST", "/v6/pages", body, &made); err != nil {
		return err
	}
	id, err1 := hex.DecodeString(strings.ReplaceAll(made.ID, "-", ""))
	site, err2 := hex.DecodeString(strings.ReplaceAll(siteID, "-", ""))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	slots := map[string]slot{string(id): slotPage, string(site): slotSite, "/raw": slotPathname, "Raw": slotTitle, "Other": slotTitle}
	before, err := rowsOf(ctx, db, id)
	if err != nil {
		return err
	}
	if err := w.model.call(ctx, "PATCH", "/v6/pages/"+made.ID, map[string]any{"title": "Other"}, nil); err != nil {
		return err
	}
	after, err := rowsOf(ctx, db, id)
	if err != nil {
		return err
	}
	for _, r := range before {
		w.creates = append(w.creates, r.insert(slots))
	}
	for _, r := range after {
		i := slices.IndexFunc(before, r.sameKey)
		if i < 0 {
			w.updates = append(w.updates, r.insert(slots))
		} else if s, changed := r.update(before[i], slots); changed {
			w.updates = append(w.updates, s)
		}
	}
	if len(w.creates) == 0 || len(w.updates) == 0 || len(before) > len(after) {
		return fmt.Errorf("the database does not show what Galley writes (%d rows, %d after an update): see rawwrite.go", len(before), len(after))
	}
	return nil
}

// storedRow is a row of some table.
type storedRow struct {
	table   string
	columns []string
	keys    []bool // which columns are of the primary key
	values  []any
}

// rowsOf finds the rows of all tables that mention a page.
func rowsOf(ctx context.Context, db *sql.DB, id []byte) ([]storedRow, error) {
	tables, err := texts(ctx, db, `select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name`)
	if err != nil {
		return nil, err
	}
	var found []storedRow
	for _, table := range tables {
		columns, err := texts(ctx, db, `select name from pragma_table_info(?)`, table)
		if err != nil {
			return nil, err
		}
		keys, err := texts(ctx, db, `select name from pragma_table_info(?) where pk > 0`, table)
		if err != nil {
			return nil, err
		}
		rows, err := db.QueryContext(ctx, fmt.Sprintf(`select * from %s where ? in (%s)`, table, strings.Join(columns, ", ")), id)
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			r := storedRow{table: table, columns: columns, values: make([]any, len(columns)), keys: make([]bool, len(columns))}
			into := make([]any, len(columns))
			for i, column := range columns {
				into[i] = &r.values[i]
				for _, key := range keys {
					r.keys[i] = r.keys[i] || key == column
				}
			}
			if err := rows.Scan(into...); err != nil {
				return nil, errors.Join(err, rows.Close())
			}
			found = append(found, r)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func texts(ctx context.Context, db *sql.DB, query string, args ...any) ([]string, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// slotted puts a slot in place of a value that differs from write to write.
func (r storedRow) slotted(i int, slots map[string]slot) any {
	if number, ok := r.values[i].(int64); ok && number > 0 && strings.HasSuffix(r.columns[i], "_at") {
		return slotTime
	}
	var text string
	switch v := r.values[i].(type) {
	case []byte:
		text = string(v)
	case string:
		text = strings.TrimPrefix(v, "=") // the mark of a column to sort by
	}
	if s, ok := slots[text]; ok {
		return s
	}
	if r.keys[i] && r.columns[i] == "id" {
		return slotNew
	}
	return r.values[i]
}

func (r storedRow) insert(slots map[string]slot) statement {
	s := statement{text: fmt.Sprintf(`insert into %s (%s) values (?%s)`, r.table, strings.Join(r.columns, ", "), strings.Repeat(", ?", len(r.columns)-1))}
	for i := range r.columns {
		s.args = append(s.args, r.slotted(i, slots))
	}
	return s
}

// update is the statement that made a row what it is, if it was another.
func (r storedRow) update(before storedRow, slots map[string]slot) (statement, bool) {
	var set, where []string
	var values, keys []any
	for i, column := range r.columns {
		switch {
		case r.keys[i]:
			where = append(where, column+" = ?")
			keys = append(keys, r.slotted(i, slots))
		case fmt.Sprint(r.values[i]) != fmt.Sprint(before.values[i]):
			set = append(set, column+" = ?")
			values = append(values, r.slotted(i, slots))
		}
	}
	return statement{
		text: fmt.Sprintf(`update %s set %s where %s`, r.table, strings.Join(set, ", "), strings.Join(where, " and ")),
		args: append(values, keys...),
	}, len(set) > 0
}

func (r storedRow) sameKey(other storedRow) bool {
	if r.table != other.table {
		return false
	}
	for i := range r.columns {
		if r.keys[i] && fmt.Sprint(r.values[i]) != fmt.Sprint(other.values[i]) {
			return false
		}
	}
	return true
}

func (w *rawWriter) driver(op operation) (driver, error) {
	c := w.model.loaded
	sites, pages := make([][]byte, len(c.siteIDs)), make([][]byte, len(c.pageIDs))
	for i, id := range c.siteIDs {
		sites[i], _ = hex.DecodeString(strings.ReplaceAll(id, "-", "")) // Galley made it
	}
	for i, id := range c.pageIDs {
		pages[i], _ = hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	}
	return workers{connections, func(_ context.Context, _ int, r *mathrand.Rand) error {
		p := &c.pages[r.IntN(len(c.pages))]
		number := w.next.Add(1)
		write := write{statements: w.updates, done: make(chan error, 1), values: map[slot]any{
			slotPage: pages[p.number], slotSite: sites[p.site], slotTitle: fmt.Sprintf("Title %d", number), slotTime: time.Now().UnixMicro(),
			slotNew: newID(),
		}}
		if op.action == create {
			write.statements = w.creates
			write.values[slotPage] = newID()
			write.values[slotPathname] = fmt.Sprintf("/new/%d", number)
			write.values[slotTitle] = p.title
		}
		w.queue <- write
		return <-write.done
	}, func() {}}, nil
}

// newID is a UUID of version 7, as Galley's are: it begins with the time.
func newID() []byte {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // it never fails
	milli := time.Now().UnixMilli()
	for i := range 6 {
		id[i] = byte(milli >> (40 - 8*i))
	}
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}

// commitAll is the one writer: what waits is committed together.
func (w *rawWriter) commitAll() {
	ctx := context.Background()
	conn, err := w.db.Conn(ctx)
	prepared := map[string]*sql.Stmt{}
	for first := range w.queue {
		writes := []write{first}
		for len(writes) < connections && len(w.queue) > 0 {
			writes = append(writes, <-w.queue)
		}
		if err == nil {
			err = commit(ctx, conn, prepared, writes)
		}
		for _, write := range writes {
			write.done <- err
		}
	}
}

func commit(ctx context.Context, conn *sql.Conn, prepared map[string]*sql.Stmt, writes []write) error {
	if _, err := conn.ExecContext(ctx, "begin immediate"); err != nil {
		return err
	}
	for _, write := range writes {
		for _, s := range write.statements {
			stmt := prepared[s.text]
			if stmt == nil {
				var err error
				if stmt, err = conn.PrepareContext(ctx, s.text); err != nil {
					return err
				}
				prepared[s.text] = stmt
			}
			args := make([]any, len(s.args))
			for i, arg := range s.args {
				args[i] = arg
				if slot, ok := arg.(slot); ok {
					args[i] = write.values[slot]
				}
			}
			done, err := stmt.ExecContext(ctx, args...)
			if err != nil {
				return fmt.Errorf("%s: %w", s.text, err)
			}
			n, err := done.RowsAffected()
			if err != nil {
				return err
			}
			if n != 1 {
				return fmt.Errorf("%s: %d rows", s.text, n)
			}
		}
	}
	_, err := conn.ExecContext(ctx, "commit")
	return err
}
