// Package backup reads and writes backup files. It knows tables, rows and plain
// values, and neither databases nor the meaning of rows.
//
// A file is a header line, a compressed body, and a trailer line with the number
// of rows of each table and the SHA-256 of everything before it:
//
//	galley-backup {"format":1,"schema":3,...}
//	(zstd: a record for each table and for each of its rows)
//	{"rows":{"app":2,...},"sha256":"..."}
package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Format is the version of the file format that this program writes, and the
// newest that it reads.
const Format = 1

// magic starts every file.
const magic = "galley-backup "

// Header describes the origin of a backup.
type Header struct {
	Format    int       `json:"format"`
	Schema    int64     `json:"schema"` // schema version of the rows
	CreatedAt time.Time `json:"createdAt"`
	Engine    string    `json:"engine"`
	Program   string    `json:"program"` // version of the program that wrote it
}

// Sink receives the rows of one table after another. A value is nil, a bool, an
// int64, a float64, a string or a []byte.
type Sink interface {
	Table(name string, columns []string) error
	Row(values []any) error
}

// trailer is the last line of a file.
type trailer struct {
	Rows   map[string]int64 `json:"rows"`
	SHA256 string           `json:"sha256"`
}

// trailerLine returns the last line of a file whose other bytes have the sum.
func trailerLine(rows map[string]int64, sum hash.Hash) []byte {
	return jsonLine(trailer{Rows: rows, SHA256: hex.EncodeToString(sum.Sum(nil))})
}

func jsonLine(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain fields always encode
	}
	return append(text, '\n')
}

// counts has the number of rows of each table.
type counts struct {
	rows  map[string]int64
	table string // the last one
}

// Table adds a table, which must not be there yet.
func (c *counts) Table(name string, _ []string) error {
	if _, exists := c.rows[name]; exists {
		return fmt.Errorf("the table %s appears twice", name)
	}
	c.table, c.rows[name] = name, 0
	return nil
}

// Row counts a row of the last table.
func (c *counts) Row([]any) error {
	c.rows[c.table]++
	return nil
}

// Writer writes a backup. Readers refuse a backup that was not closed.
type Writer struct {
	out    io.Writer // file, sum and size
	file   io.Writer
	sum    hash.Hash
	size   int64
	body   *zstd.Encoder
	record []byte

	counts
	columns int
}

// NewWriter starts a backup.
func NewWriter(file io.Writer, h Header) (*Writer, error) {
	w := &Writer{file: file, sum: sha256.New(), counts: counts{rows: map[string]int64{}}}
	w.out = io.MultiWriter(file, w.sum, (*counter)(&w.size))
	h.Format = Format
	if _, err := w.out.Write(append([]byte(magic), jsonLine(h)...)); err != nil {
		return nil, err
	}
	var err error
	w.body, err = zstd.NewWriter(w.out)
	return w, err
}

// Table starts a table.
func (w *Writer) Table(name string, columns []string) error {
	if err := w.counts.Table(name, columns); err != nil {
		return err
	}
	w.columns = len(columns)
	w.record = appendTable(w.record[:0], name, columns)
	_, err := w.body.Write(w.record)
	return err
}

// Row adds a row to the last table.
func (w *Writer) Row(values []any) (err error) {
	if w.table == "" || len(values) != w.columns {
		return fmt.Errorf("a row of %d values for the %d columns of %q", len(values), w.columns, w.table)
	}
	if w.record, err = appendRow(w.record[:0], values); err != nil {
		return fmt.Errorf("%s: %w", w.table, err)
	}
	if _, err := w.body.Write(w.record); err != nil {
		return err
	}
	return w.counts.Row(values)
}

// Close ends the backup; the file stays open.
func (w *Writer) Close() error {
	if err := w.body.Close(); err != nil {
		return err
	}
	if _, err := w.out.Write([]byte("\n")); err != nil {
		return err
	}
	n, err := w.file.Write(trailerLine(w.rows, w.sum)) // not part of the sum
	w.size += int64(n)
	return err
}

// Size returns the number of bytes written.
func (w *Writer) Size() int64 { return w.size }

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
