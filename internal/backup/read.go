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

// File is a verified backup.
type File struct {
	Header

	file     *os.File
	rows     map[string]int64
	from, to int64 // of the body
}

// Open opens a backup and verifies all of it. It writes every verified byte to
// progress.
func Open(ctx context.Context, name string, progress io.Writer) (*File, error) {
	// A pipe can't be read again after the verification.
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

// Rows returns the number of rows.
func (f *File) Rows() (n int64) {
	for _, rows := range f.rows {
		n += rows
	}
	return n
}

// Size returns the size of a file in bytes, or 0 if it can't be read.
func Size(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

func damaged(what string) error { return fmt.Errorf("is damaged or truncated: %s", what) }

func (f *File) check(ctx context.Context, progress io.Writer) error {
	if err := f.readHeader(); err != nil {
		return err
	}
	last, size, err := f.lastLine()
	if err != nil {
		return err
	}
	var stated trailer
	if err := json.Unmarshal(last, &stated); err != nil {
		return damaged("its last line is not that of a backup")
	}
	f.rows, f.to = stated.Rows, size-int64(len(last))-1 // before the newline of the body
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, progress), f.section(ctx, 0, f.to+1)); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != stated.SHA256 {
		return damaged("its checksum is wrong")
	}
	return f.checkBody(ctx, last, sum)
}

// section returns a reader of a part of the file, which fails when the context
// ends.
func (f *File) section(ctx context.Context, from, to int64) io.Reader {
	return sectionReader{ctx, io.NewSectionReader(f.file, from, to-from)}
}

type sectionReader struct {
	ctx  context.Context //nolint:containedctx // the context of one Replay or check
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
		return fmt.Errorf("is a backup of format %d, and this program reads formats up to %d: use a newer galley", f.Format, Format)
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

// checkBody reads every row, and compares the last line with the one that a
// writer of these rows writes.
func (f *File) checkBody(ctx context.Context, last []byte, sum hash.Hash) error {
	found := counts{rows: map[string]int64{}}
	if err := f.Replay(ctx, &found); err != nil {
		return cmp.Or(ctx.Err(), damaged(err.Error()))
	}
	if !bytes.Equal(last, trailerLine(found.rows, sum)) {
		return damaged("its rows are not those in its last line")
	}
	return nil
}

// Replay sends every table and row to a sink. It can be called repeatedly.
func (f *File) Replay(ctx context.Context, to Sink) error {
	body, err := zstd.NewReader(f.section(ctx, f.from, f.to), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return err
	}
	defer body.Close()
	return readRecords(bufio.NewReaderSize(body, 64<<10), to)
}
