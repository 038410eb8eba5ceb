package backup

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// maxLine bounds the first and the last line of a file.
const maxLine = 64 << 10

// File is a backup that was found whole.
type File struct {
	Header

	file     *os.File
	rows     map[string]int64
	from, to int64 // where the body is
}

// Open opens a backup and checks all of it: nothing of a damaged or cut file
// is ever handed out. progress is written every byte that is checked.
func Open(ctx context.Context, name string, progress io.Writer) (*File, error) {
	// What comes through a pipe can't be read again once it is checked.
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file: save the backup to one first", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("can't read the backup: %w", err)
	}
	f := &File{file: file}
	if err := f.check(ctx, progress); err != nil {
		return nil, errors.Join(fmt.Errorf("%s %w", name, err), file.Close())
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Rows is how many rows there are.
func (f *File) Rows() (n int64) {
	for _, rows := range f.rows {
		n += rows
	}
	return n
}

// Size is how many bytes a file has, to tell how far a check of it is.
func Size(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

func damaged(what string) error { return fmt.Errorf("is damaged or cut: %s", what) }

func (f *File) check(ctx context.Context, progress io.Writer) error {
	if err := f.readHeader(); err != nil {
		return err
	}
	last, size, err := f.lastLine()
	if err != nil {
		return err
	}
	var said trailer
	if err := json.Unmarshal(last, &said); err != nil {
		return damaged("its last line is not that of a backup")
	}
	f.rows, f.to = said.Rows, size-int64(len(last))-1 // the line's and the body's ends
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, progress), f.section(ctx, 0, f.to+1)); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != said.SHA256 {
		return damaged("its checksum is wrong")
	}
	return f.checkBody(ctx, last, sum)
}

// section is a part of the file that can be read until the context ends.
func (f *File) section(ctx context.Context, from, to int64) io.Reader {
	return sectionReader{ctx, io.NewSectionReader(f.file, from, to-from)}
}

type sectionReader struct {
	ctx  context.Context //nolint:containedctx // of the one reading that it is for
	from io.Reader
}

func (s sectionReader) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.from.Read(p)
}

func (f *File) readHeader() error {
	in := bufio.NewReaderSize(io.LimitReader(f.file, maxLine), maxLine)
	begin, err := in.Peek(len(magic))
	if err != nil || string(begin) != magic {
		return errors.New("is not a backup of Galley")
	}
	line, err := in.ReadBytes('\n')
	if err != nil {
		return damaged("its first line has no end")
	}
	if err := json.Unmarshal(line[len(magic):], &f.Header); err != nil {
		return damaged("its first line can't be read")
	}
	if f.Format > Format {
		return fmt.Errorf("is a backup of format %d, and this program knows formats up to %d: use a newer galley", f.Format, Format)
	}
	f.from = int64(len(line))
	return nil
}

// lastLine returns the last line, with its end, and the size of the file.
func (f *File) lastLine() ([]byte, int64, error) {
	info, err := f.file.Stat()
	if err != nil {
		return nil, 0, err
	}
	size := info.Size()
	end := make([]byte, min(size-f.from, maxLine))
	if _, err := f.file.ReadAt(end, size-int64(len(end))); err != nil {
		return nil, 0, err
	}
	if len(end) == 0 || end[len(end)-1] != '\n' {
		return nil, 0, damaged("its last line has no end")
	}
	begin := bytes.LastIndexByte(end[:len(end)-1], '\n') + 1
	if begin == 0 {
		return nil, 0, damaged("it has no last line")
	}
	return end[begin:], size, nil
}

// checkBody reads every row, and holds the last line against what a writer of
// these rows would have written, letter for letter.
func (f *File) checkBody(ctx context.Context, last []byte, sum hash.Hash) error {
	found := counts{rows: map[string]int64{}}
	if err := f.Replay(ctx, &found); err != nil {
		return cmp.Or(ctx.Err(), damaged(err.Error()))
	}
	if !bytes.Equal(last, newTrailer(found.rows, sum).line()) {
		return damaged("it does not have the rows that its last line tells")
	}
	return nil
}

// Replay passes every table and row on. It can be called again and again.
func (f *File) Replay(ctx context.Context, to Sink) error {
	body, err := zstd.NewReader(f.section(ctx, f.from, f.to), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return err
	}
	defer body.Close()
	return readRecords(bufio.NewReaderSize(body, 64<<10), to)
}

// counts counts the rows of each table.
type counts struct {
	rows  map[string]int64
	table string
}

func (c *counts) Table(name string, _ []string) error {
	if _, twice := c.rows[name]; twice {
		return fmt.Errorf("the table %s comes twice", name)
	}
	c.table, c.rows[name] = name, 0
	return nil
}

func (c *counts) Row([]any) error {
	c.rows[c.table]++
	return nil
}
