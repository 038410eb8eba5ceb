package backup

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

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
