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
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"time"
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
