package backup_test

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"galley/internal/backup"
)

var header = backup.Header{
	Format: backup.Format, Schema: 3, CreatedAt: time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC), Engine: "sqlite", Program: "0.1.0",
}

// content is tables with rows, as they are sent and as they come back.
type content []tableContent

type tableContent struct {
	name    string
	columns []string
	rows    [][]any
}

func (c *content) Table(name string, columns []string) error {
	*c = append(*c, tableContent{name: name, columns: columns})
	return nil
}

func (c *content) Row(values []any) error {
	last := &(*c)[len(*c)-1]
	last.rows = append(last.rows, values)
	return nil
}

func (c content) write(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := backup.NewWriter(&file, header)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range c {
		if err := w.Table(table.name, table.columns); err != nil {
			t.Fatal(err)
		}
		for _, row := range table.rows {
			if err := w.Row(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Size() != int64(file.Len()) {
		t.Errorf("%d bytes were counted and %d written", w.Size(), file.Len())
	}
	return file.Bytes()
}

func open(t *testing.T, data []byte) (*backup.File, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := backup.Open(t.Context(), name, io.Discard)
	if err == nil {
		t.Cleanup(func() { _ = file.Close() })
	}
	return file, err
}

var some = content{
	{"values", []string{"a", "b"}, [][]any{
		{nil, true},
		{false, int64(0)},
		{int64(math.MaxInt64), int64(math.MinInt64)},
		{0.1, -math.MaxFloat64},
		{math.SmallestNonzeroFloat64, math.Inf(1)},
		{"", []byte{}},
		{"/é\x00\xff\U0001F4C1", []byte{0, 1, 255}},
		{strings.Repeat("long ", 50_000), bytes.Repeat([]byte{7}, 70_000)},
	}},
	{"empty", []string{"id"}, nil},
	{"bare", []string{}, [][]any{{}, {}}},
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for name, want := range map[string]content{"values": some, "nothing": nil} {
		t.Run(name, func(t *testing.T) {
			file, err := open(t, want.write(t))
			if err != nil {
				t.Fatal(err)
			}
			if file.Header != header {
				t.Errorf("header %v, want %v", file.Header, header)
			}
			rows := 0
			for _, table := range want {
				rows += len(table.rows)
			}
			if file.Rows() != int64(rows) {
				t.Errorf("%d rows, want %d", file.Rows(), rows)
			}
			for range 2 {
				var got content
				if err := file.Replay(t.Context(), &got); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got %v\nwant %v", got, want)
				}
			}
		})
	}
}

func TestLinesAreForPeople(t *testing.T) {
	lines := bytes.Split(some.write(t), []byte("\n"))
	if got := string(lines[0]); got != `galley-backup {"format":1,"schema":3,"createdAt":"2030-01-31T12:00:00Z","engine":"sqlite","program":"0.1.0"}` {
		t.Errorf("the first line is %s", got)
	}
	if got := string(lines[len(lines)-2]); !strings.HasPrefix(got, `{"rows":{"bare":2,"empty":0,"values":8},"sha256":"`) {
		t.Errorf("the last line is %s", got)
	}
}

// small is a backup of few bytes, each of which a test changes.
func small(t *testing.T) []byte {
	t.Helper()
	return content{{"site", []string{"id", "name"}, [][]any{{[]byte{1, 2}, "Shop"}, {[]byte{1, 3}, nil}}}}.write(t)
}

func TestEveryChangedByteIsRefused(t *testing.T) {
	data := small(t)
	name := filepath.Join(t.TempDir(), "file")
	for i := range data {
		// 0x20 turns letters into the other case, which some parsers overlook.
		for _, change := range []byte{0x01, 0x20, 0x80, 0xff} {
			bad := bytes.Clone(data)
			bad[i] ^= change
			if err := os.WriteFile(name, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if file, err := backup.Open(t.Context(), name, io.Discard); err == nil {
				_ = file.Close()
				t.Errorf("byte %d changed by %#x was taken", i, change)
			}
		}
	}
}

func TestCutAndLengthenedFilesAreRefused(t *testing.T) {
	data := small(t)
	for n := range data {
		if _, err := open(t, data[:n]); err == nil {
			t.Errorf("the first %d of %d bytes were taken", n, len(data))
		}
	}
	for _, more := range []string{"\n", "x", string(data)} {
		if _, err := open(t, append(bytes.Clone(data), more...)); err == nil {
			t.Errorf("%d bytes more were taken", len(more))
		}
	}
}

func TestRefusalsSayWhy(t *testing.T) {
	data := small(t)
	newer := bytes.Replace(data, []byte(`"format":1`), []byte(`"format":2`), 1)
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"empty":        {nil, "is not a backup"},
		"another file": {[]byte(strings.Repeat("no backup ", 1000)), "is not a backup"},
		"newer format": {newer, "newer galley"},
		"cut":          {data[:len(data)-20], "damaged or truncated"},
		"damaged":      {bytes.Replace(data, []byte("sqlite"), []byte("sqlits"), 1), "checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := open(t, c.data); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q in it", err, c.says)
			}
		})
	}
	if _, err := backup.Open(t.Context(), filepath.Join(t.TempDir(), "none"), io.Discard); err == nil {
		t.Error("a file that is not there was opened")
	}
}

func TestEveryByteIsCountedAsProgress(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	data := some.write(t)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var seen bytes.Buffer
	file, err := backup.Open(t.Context(), name, &seen)
	if err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	// All but the last line is summed.
	if !bytes.HasPrefix(data, seen.Bytes()) || len(data)-seen.Len() > 200 {
		t.Errorf("%d of %d bytes were told", seen.Len(), len(data))
	}
}

func TestWriterRefusesWhatIsNoTable(t *testing.T) {
	w, err := backup.NewWriter(io.Discard, header)
	if err != nil {
		t.Fatal(err)
	}
	if w.Row([]any{"x"}) == nil {
		t.Error("a row without a table was taken")
	}
	if err := w.Table("site", []string{"id", "name"}); err != nil {
		t.Fatal(err)
	}
	for _, row := range [][]any{{}, {"a"}, {"a", "b", "c"}, {"a", 1}, {"a", time.Now()}} {
		if w.Row(row) == nil {
			t.Errorf("the row %v was taken", row)
		}
	}
	if w.Table("site", nil) == nil {
		t.Error("a table was taken twice")
	}
}
