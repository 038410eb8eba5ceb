// Package backup is the form of backup files. It knows tables, rows and plain
// values, and neither a database nor what the rows mean.
//
// A file is one line of text that says what it is, a compressed body, and one
// line of text that says what the body holds, with the SHA-256 of everything
// before it:
//
//	galley-backup {"format":1,"schema":3,...}
//	(zstd: a record for each table and for each of its rows)
//	{"rows":{"app":2,...},"sha256":"..."}
package backup

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"hash"
	"time"
)

// Format is the version of the form that this program writes. It reads no
// newer one.
const Format = 1

// magic begins every file.
const magic = "galley-backup "

// Header says where a backup is from.
type Header struct {
	Format    int       `json:"format"`
	Schema    int64     `json:"schema"` // version of the schema that the rows are of
	CreatedAt time.Time `json:"createdAt"`
	Engine    string    `json:"engine"`
	Program   string    `json:"program"` // version of the program that wrote it
}

// Sink takes the rows of one table after another. A value is nil, a bool, an
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

func newTrailer(rows map[string]int64, sum hash.Hash) trailer {
	return trailer{Rows: rows, SHA256: hex.EncodeToString(sum.Sum(nil))}
}

func (t trailer) line() []byte { return append(mustJSON(t), '\n') }

func (h Header) line() []byte {
	return append(append([]byte(magic), mustJSON(h)...), '\n')
}

func mustJSON(v any) []byte {
	var buf bytes.Buffer
	if err := json.NewEncoder(&buf).Encode(v); err != nil {
		panic(err) // plain fields always encode
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}
