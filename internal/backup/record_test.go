package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// forge makes a file whose checksum is right, whatever is in it.
func forge(t *testing.T, body []byte, rows map[string]int64) string {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	data := append(encoder.EncodeAll(body, append([]byte(magic), jsonLine(Header{Format: Format})...)), '\n')
	sum := sha256.New()
	sum.Write(data)
	data = append(data, trailerLine(rows, sum)...)
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A right checksum is not enough: a writer may have been wrong.
func TestForgedFilesAreRefused(t *testing.T) {
	site := appendTable(nil, "site", []string{"id"})
	row := []byte{rowRecord, kindTrue}
	one := map[string]int64{"site": 1}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, c := range map[string]struct {
		body []byte
		rows map[string]int64
		ok   bool
	}{
		"as it should be":      {join(site, row), one, true},
		"a row too few":        {site, one, false},
		"a row too many":       {join(site, row, row), one, false},
		"another table":        {join(site, row), map[string]int64{"page": 1}, false},
		"a table twice":        {join(site, site, row), one, false},
		"a row and no table":   {row, map[string]int64{}, false},
		"an unknown record":    {join(site, []byte("X"), row), one, false},
		"an unknown kind":      {join(site, []byte{rowRecord, 99}), one, false},
		"an end in a row":      {join(site, []byte{rowRecord}), one, false},
		"an end in a table":    {site[:3], map[string]int64{}, false},
		"an end in a value":    {join(site, []byte{rowRecord, kindText, 5, 'a'}), one, false},
		"a value too long":     {join(site, []byte{rowRecord, kindBytes, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 'a'}), one, false},
		"a value of a GB":      {join(site, []byte{rowRecord, kindBytes, 0x80, 0x80, 0x80, 0x80, 0x04, 'a'}), one, false},
		"too many columns":     {[]byte{tableRecord, 1, 'a', 0xff, 0xff, 0x7f}, map[string]int64{"a": 0}, false},
		"an endless number":    {join(site, append([]byte{rowRecord, kindInt}, bytes.Repeat([]byte{0xff}, 20)...)), one, false},
		"nothing at all in it": {nil, map[string]int64{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := Open(t.Context(), forge(t, c.body, c.rows), io.Discard)
			if (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
			if err == nil {
				_ = file.Close()
			}
		})
	}
}

type failing struct{ counts }

var errSink = errors.New("the sink is full")

func (failing) Row([]any) error { return errSink }

func TestASinksErrorEndsTheReplay(t *testing.T) {
	body := append(appendTable(nil, "site", []string{"id"}), rowRecord, kindTrue)
	sink := failing{counts{rows: map[string]int64{}}}
	if err := readRecords(bufio.NewReader(bytes.NewReader(body)), &sink); !errors.Is(err, errSink) {
		t.Errorf("got %v", err)
	}
}

// keeping writes down again what it is sent.
type keeping struct{ body []byte }

func (k *keeping) Table(name string, columns []string) error {
	k.body = appendTable(k.body, name, columns)
	return nil
}

func (k *keeping) Row(values []any) (err error) {
	k.body, err = appendRow(k.body, values)
	return err
}

// Whatever is read without an error reads the same when it is written again.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{})
	f.Add(appendTable(nil, "site", []string{"id", "name"}))
	row, err := appendRow(appendTable(nil, "page", strings.Split("abcdefg", "")), []any{nil, true, false, int64(-5), 0.5, "text", []byte("bytes")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(row)
	f.Fuzz(func(t *testing.T, body []byte) {
		var once, twice keeping
		if readRecords(bufio.NewReader(bytes.NewReader(body)), &once) != nil {
			return
		}
		if err := readRecords(bufio.NewReader(bytes.NewReader(once.body)), &twice); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(once.body, twice.body) {
			t.Errorf("%x became %x", once.body, twice.body)
		}
	})
}
