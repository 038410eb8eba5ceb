package backup

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// A record starts with its kind.
const (
	tableRecord = 'T' // a name, a number of columns, their names
	rowRecord   = 'R' // a value for each column
)

// A value starts with its kind. Integers are varints, and text and bytes follow
// their length.
const (
	kindNull = iota
	kindFalse
	kindTrue
	kindInt
	kindFloat
	kindText
	kindBytes
)

func appendTable(b []byte, name string, columns []string) []byte {
	b = appendText(append(b, tableRecord), name)
	b = binary.AppendUvarint(b, uint64(len(columns)))
	for _, column := range columns {
		b = appendText(b, column)
	}
	return b
}

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendRow(b []byte, values []any) ([]byte, error) {
	b = append(b, rowRecord)
	for _, value := range values {
		switch v := value.(type) {
		case nil:
			b = append(b, kindNull)
		case bool:
			b = append(b, kindFalse)
			if v {
				b[len(b)-1] = kindTrue
			}
		case int64:
			b = binary.AppendVarint(append(b, kindInt), v)
		case float64:
			b = binary.BigEndian.AppendUint64(append(b, kindFloat), math.Float64bits(v))
		case string:
			b = appendText(append(b, kindText), v)
		case []byte:
			b = appendText(append(b, kindBytes), v)
		default:
			return nil, fmt.Errorf("a backup can't have a value of type %T", value)
		}
	}
	return b, nil
}

// readRecords sends every record to a sink.
func readRecords(in *bufio.Reader, to Sink) error {
	columns := -1 // no table yet
	for {
		kind, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		r := &recordReader{in: in, err: err}
		switch {
		case err != nil:
		case kind == tableRecord:
			name, names := string(r.bytes()), make([]string, r.length(maxColumns))
			for i := range names {
				names[i] = string(r.bytes())
			}
			if columns = len(names); r.err == nil {
				r.err = to.Table(name, names)
			}
		case kind == rowRecord && columns >= 0:
			values := make([]any, columns)
			for i := range values {
				values[i] = r.value()
			}
			if r.err == nil {
				r.err = to.Row(values)
			}
		default:
			return fmt.Errorf("unexpected record kind %d", kind)
		}
		if errors.Is(r.err, io.EOF) { // inside of a record
			return io.ErrUnexpectedEOF
		}
		if r.err != nil {
			return r.err
		}
	}
}

// Bounds of the memory that a bad length can take. The memory of a value that is
// not small grows as its bytes are read.
const (
	maxColumns = 1000
	smallValue = 64 << 10
)

// recordReader reads the parts of a record. After its first error, it reads nothing
// and returns zero values.
type recordReader struct {
	in  *bufio.Reader
	err error
}

// length reads a length up to a limit.
func (r *recordReader) length(limit uint64) uint64 {
	if r.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(r.in)
	if err == nil && n > limit {
		n, err = 0, fmt.Errorf("a length of %d, more than %d", n, limit)
	}
	r.err = err
	return n
}

func (r *recordReader) bytes() []byte {
	n := r.length(math.MaxInt32)
	if r.err != nil {
		return nil
	}
	if n <= smallValue {
		b := make([]byte, n)
		_, r.err = io.ReadFull(r.in, b)
		return b
	}
	var b bytes.Buffer
	_, r.err = io.CopyN(&b, r.in, int64(n))
	return b.Bytes()
}

func (r *recordReader) value() (v any) {
	if r.err != nil {
		return nil
	}
	var kind byte
	switch kind, r.err = r.in.ReadByte(); kind {
	case kindNull:
	case kindFalse, kindTrue:
		v = kind == kindTrue
	case kindInt:
		v, r.err = binary.ReadVarint(r.in)
	case kindFloat:
		var number float64
		r.err = binary.Read(r.in, binary.BigEndian, &number)
		v = number
	case kindText:
		v = string(r.bytes())
	case kindBytes:
		v = r.bytes()
	default:
		r.err = fmt.Errorf("unknown value kind %d", kind)
	}
	return v
}
