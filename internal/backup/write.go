package backup

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Writer writes a backup. Without Close it is cut, and no reader takes it.
type Writer struct {
	out    io.Writer // the file, counted and summed
	file   io.Writer
	sum    hash.Hash
	size   int64
	body   *zstd.Encoder
	record []byte

	rows    map[string]int64
	table   string
	columns int
}

// NewWriter begins a backup.
func NewWriter(file io.Writer, h Header) (*Writer, error) {
	w := &Writer{file: file, sum: sha256.New(), rows: map[string]int64{}}
	w.out = io.MultiWriter(file, w.sum, (*counter)(&w.size))
	h.Format = Format
	if _, err := w.out.Write(h.line()); err != nil {
		return nil, err
	}
	var err error
	w.body, err = zstd.NewWriter(w.out)
	return w, err
}

// Table begins a table.
func (w *Writer) Table(name string, columns []string) error {
	if _, twice := w.rows[name]; twice {
		return fmt.Errorf("the table %s comes twice", name)
	}
	w.table, w.columns, w.rows[name] = name, len(columns), 0
	w.record = appendTable(w.record[:0], name, columns)
	_, err := w.body.Write(w.record)
	return err
}

// Row adds a row to the table.
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
	w.rows[w.table]++
	return nil
}

// Close ends the backup; the file stays open.
func (w *Writer) Close() error {
	if err := w.body.Close(); err != nil {
		return err
	}
	if _, err := w.out.Write([]byte("\n")); err != nil {
		return err
	}
	last := newTrailer(w.rows, w.sum).line()
	n, err := w.file.Write(last) // its sum can't be in it
	w.size += int64(n)
	return err
}

// Size is how many bytes were written.
func (w *Writer) Size() int64 { return w.size }

// counter counts what is written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
